"""`score` against a script over pytrec_eval: whole processes, the same files, eight measures.

    uv run python benchmarks/scoring.py [--questions 20000] [--depth 100] [--shuffled] [--repeat 3]

Prints the least seconds and the peak memory of each, and ours as a share of the rival's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MEASURES = "precision@5,recall@{5,10},mrr,map,ndcg@{5,10},hit@5"


def write_files(folder: Path, questions: int, depth: int, shuffled: bool) -> tuple[Path, Path]:
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
            if not shuffled and len(lines) > 100_000:
                stream.writelines(lines)
                lines.clear()
        if shuffled:
            rng.shuffle(lines)
        stream.writelines(lines)
    return run, qrels


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MB of a process."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=HERE.parent)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ours-only", action="store_true", help="for sizes that the rival can't hold")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run, qrels = write_files(Path(name), given.questions, given.depth, given.shuffled)
        options = ["--run", str(run), "--gold", str(qrels), "--measures", MEASURES, "-o", f"{name}/o.json"]
        commands = {"score": [sys.executable, "main.py", "score", *options]}
        if not given.ours_only:
            rival = str(HERE / "score_with_pytrec_eval.py")
            commands["pytrec_eval"] = [sys.executable, rival, str(run), str(qrels), f"{name}/p.json"]
        best: dict[str, tuple[float, float]] = {}
        for _ in range(given.repeat):
            for each, command in commands.items():
                seconds, memory = measured(command)
                before = best.get(each, (float("inf"), 0.0))
                best[each] = (min(seconds, before[0]), max(memory, before[1]))
    print(f"{given.questions * given.depth:,} lines{', shuffled' if given.shuffled else ''}")
    for each, (seconds, memory) in best.items():
        print(f"{each:12} {seconds:7.2f} s {memory:7.0f} MB")
    if "pytrec_eval" in best:
        ours, theirs = best["score"], best["pytrec_eval"]
        print(f"{theirs[0] / ours[0]:.2f} times as fast, {ours[1] / theirs[1]:.2f} of its memory")


if __name__ == "__main__":
    main()
