"""`score` against a script over pytrec_eval: whole processes, the same files, eight measures.

    uv run python benchmarks/scoring.py [--questions 20000] [--depth 100] [--repeat 5]
    uv run --with ranx python benchmarks/scoring.py    # ranx beside them

Prints the median seconds and processor seconds and the peak memory of each, ours beside the rival's; then, up
to four million lines, `score()` from Python dictionaries beside pytrec_eval's own time. All keep their
bytecode, as an installed Python does, in a folder of this benchmark, filled by one run of a small file that
does not count; --no-bytecode compiles every module anew at each start. --folder keeps the large files for
another time.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

HERE = Path(__file__).resolve().parent
DICTS_UP_TO = 4_000_000  # lines
MEASURES = "precision@5,recall@{5,10},mrr,map,ndcg@{5,10},hit@5"


def write_files(folder: Path, questions: int, depth: int) -> tuple[Path, Path]:
    """A run with six decimals, best first, and qrels of some seven documents a question."""
    rng = np.random.default_rng(0)
    run, qrels = folder / "run.trec", folder / "qrels.txt"
    lines: list[str] = []
    with run.open("w") as stream, qrels.open("w") as gold:
        for question in range(questions):
            documents = rng.choice(1_000_000, depth, replace=False)
            scores = np.sort(rng.random(depth) * 20)[::-1]
            pairs = zip(documents.tolist(), scores.tolist(), strict=True)
            lines += [f"q{question} Q0 doc{d} {n} {s:.6f} me\n" for n, (d, s) in enumerate(pairs, start=1)]
            judged = np.unique(np.concatenate([rng.choice(documents, 4), rng.integers(0, 1_000_000, 3)]))
            gold.writelines(
                f"q{question} 0 doc{d} {rng.integers(0, 3) if n else 1}\n"
                for n, d in enumerate(judged.tolist())
            )
            if len(lines) > 100_000:
                stream.writelines(lines)
                lines.clear()
        stream.writelines(lines)
    return run, qrels


@dataclass(frozen=True, slots=True)
class Cost:
    """seconds: on the clock. processor: of all threads, user and system. memory: peak, in MB."""

    seconds: float
    processor: float
    memory: float


def middle(costs: Sequence[Cost]) -> Cost:
    """Median seconds of either kind, the largest memory."""
    return Cost(
        median(cost.seconds for cost in costs),
        median(cost.processor for cost in costs),
        max(cost.memory for cost in costs),
    )


def measured(command: list[str], environment: dict[str, str]) -> tuple[Cost, str]:
    """A process from outside, and what it printed."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent, env=environment)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), printed


def commands(run: Path, qrels: Path, folder: Path, *, ours_only: bool) -> dict[str, list[str]]:
    """Name → command line of each program to be measured."""
    options = ["--run", str(run), "--gold", str(qrels), "--measures", MEASURES]
    found = {"score": [sys.executable, "main.py", "score", *options, "-o", str(folder / "score.json")]}
    if not ours_only:
        for name in ("pytrec_eval", "ranx"):
            if find_spec(name):
                script = str(HERE / f"score_with_{name}.py")
                found[name] = [sys.executable, script, str(run), str(qrels), str(folder / f"{name}.json")]
    return found


def print_dicts(run_file: Path, qrels_file: Path, repeat: int) -> None:
    """The library against pytrec_eval where both are handed the same dictionaries."""
    import pytrec_eval
    from score_with_pytrec_eval import MEASURES as THEIRS

    from tiny_graph_rag import score

    with run_file.open() as stream:
        run = pytrec_eval.parse_run(stream)
    with qrels_file.open() as stream:
        qrels = pytrec_eval.parse_qrel(stream)

    def seconds(work: Callable[[], object]) -> float:
        gc.collect()
        began = time.process_time()
        work()
        return time.process_time() - began

    score(dict(list(run.items())[:10]), qrels, MEASURES)  # loads pandas
    pairs = [
        (
            seconds(lambda: score(run, qrels, MEASURES)),
            seconds(lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run)),
        )
        for _ in range(repeat)
    ]
    ours, theirs = (median(part) for part in zip(*pairs, strict=True))
    print(f"from dictionaries: score() {ours:.2f} s, pytrec_eval {theirs:.2f} s: {ours / theirs:.2f} of it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-bytecode", action="store_true")
    parser.add_argument("--ours-only", action="store_true", help="for sizes that the rival can't hold")
    parser.add_argument("--folder", type=Path, help="of the large files, made where they are missing")
    given = parser.parse_args()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    costs: dict[str, list[Cost]] = {}
    first: dict[str, Cost] = {}
    ranx_again: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not given.no_bytecode:
            environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
            few = write_files(folder, 2_000, 100)
            for key, command in commands(*few, folder, ours_only=given.ours_only).items():
                first[key] = measured(command, environment)[0]
        kept = given.folder or folder
        run, qrels = kept / "run.trec", kept / "qrels.txt"
        if given.folder is None or not run.exists():
            kept.mkdir(parents=True, exist_ok=True)
            write_files(kept, given.questions, given.depth)
        with run.open("rb") as stream:
            lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
        for _ in range(given.repeat):
            for key, command in commands(run, qrels, folder, ours_only=given.ours_only).items():
                cost, printed = measured(command, environment)
                costs.setdefault(key, []).append(cost)
                if key == "ranx":
                    ranx_again.append(float(printed.split()[-1]))
        found = {key: middle(some) for key, some in costs.items()}
        print(f"{lines:,} lines; medians of {given.repeat}")
        for key, cost in found.items():
            print(f"{key:12} {cost.seconds:7.2f} s {cost.processor:7.2f} s CPU {cost.memory:7.0f} MB")
        if "ranx" in found:
            print(f"ranx, evaluating once more in the same process (no files): {median(ranx_again):.2f} s")
            if "ranx" in first:
                print(f"ranx, its first run, 200,000 lines (compiles): {first['ranx'].seconds:.2f} s")
        elif not given.ours_only:
            print("ranx: not installed; uv run --with ranx python benchmarks/scoring.py")
        if "pytrec_eval" in found:
            ours, theirs = found["score"], found["pytrec_eval"]
            print(
                f"{theirs.seconds / ours.seconds:.2f} times as fast as pytrec_eval "
                f"({theirs.processor / ours.processor:.2f} by processor time), "
                f"{ours.memory / theirs.memory:.2f} of its memory"
            )
            if lines <= DICTS_UP_TO:
                print_dicts(run, qrels, given.repeat)


if __name__ == "__main__":
    main()
