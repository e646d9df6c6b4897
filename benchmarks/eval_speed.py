"""`eval` as a whole process on a large gold set: seconds and memory, and how they grow with the questions.

    uv run python benchmarks/eval_speed.py ../shared/data/metaqa/metaqa-KG.json \\
        ../shared/data/metaqa/metaqa-3hop-eval.jsonl [--retriever bfs] [--hops 3] [--sizes 0] [--check 0]

Retrieval only, results written. The first run warms the caches and is shown apart. Then, in turn with it,
pytrec_eval reads and scores a run of two million lines (benchmarks/scoring.py writes it): the yardstick for
the whole set. All keep their bytecode, as an installed Python does, in a
folder of this benchmark. Ends with a check that results are the same bytes, times aside, with and
without the compiled path, with and without the graph cache.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from processes import Cost, cost
from scoring import write_files

TIMES = ("latency_seconds", "questions_per_second", "latency", "seconds", "made")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--retriever", default="bfs")
    parser.add_argument("--hops", default="3")
    parser.add_argument("--sizes", default="1000,2000,5000,10000,0", help="questions; 0 is all of them")
    parser.add_argument("--repeat", type=int, default=3, help="turns beside pytrec_eval; 0: none")
    parser.add_argument("--check", type=int, default=500, help="questions of the check at the end; 0: none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        base = (
            *("main.py", "eval", "--dataset", given.dataset.resolve(), "-g", given.graph.resolve()),
            *(
                "--hops",
                given.hops,
                "--retriever",
                given.retriever,
                "--skip-generation",
                "--set",
                "retrieval.depth=100",
            ),
        )
        home = {
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        out = folder / "r.json"

        def run(*more: str) -> Cost:
            return cost(*base, "-o", out, *more, environment=home)

        for title, size in [("first run", 1000), *(("", int(part)) for part in given.sizes.split(","))]:
            took = run(*(("--limit", str(size)) if size else ()))
            found = json.loads(out.read_text(encoding="utf-8"))["summary"]
            print(
                f"{found['questions']:7,} questions {took.seconds:7.2f} s {took.busy:7.2f} s CPU "
                f"{took.megabytes:7,.0f} MB peak "
                f"{found['questions_per_second']:9,.0f} questions a second in linking and ranking  {title}",
                flush=True,
            )
        if given.repeat:
            files = write_files(folder, 20_000, 100)
            script = Path(__file__).with_name("score_with_pytrec_eval.py")
            sides: dict[str, Callable[[], Cost]] = {
                "pytrec_eval": lambda: cost(script, *files, folder / "peer.json", environment=home),
                "eval": run,
            }
            turns = [{name: side() for name, side in sides.items()} for _ in range(given.repeat)]
            for name in sides:
                mine = [turn[name] for turn in turns]
                ratios = [turn[name].seconds / turn["pytrec_eval"].seconds for turn in turns]
                busy = [turn[name].busy / turn["pytrec_eval"].busy for turn in turns]
                print(
                    f"{name:14} {median(flip.seconds for flip in mine):7.2f} s "
                    f"{median(flip.busy for flip in mine):7.2f} s CPU "
                    f"{max(flip.megabytes for flip in mine):7,.0f} MB; of pytrec_eval's clock "
                    f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
                    f"of its CPU {median(busy):.2f}",
                    flush=True,
                )
        if not given.check:
            return
        limit = ("--limit", str(given.check))
        slow = folder / "slow.yaml"
        slow.write_text("running:\n  compiled: false\n", encoding="utf-8")
        ways = {
            "as it is": (),
            "not compiled": ("--config", str(slow)),
            "no graph cache": (
                "--set",
                "running.graph_cache=false",
            ),
        }
        digests = {}
        for way, flags in ways.items():
            run(*limit, *flags)
            digests[way] = hashlib.sha256(without_times(out)).hexdigest()[:16]
        same = len(set(digests.values())) == 1
        print(f"the same results, times aside, on {given.check:,} questions: {same} {digests}")


def without_times(path: Path) -> bytes:
    def strip(value: object) -> object:
        if isinstance(value, dict):
            return {key: strip(part) for key, part in value.items() if key not in TIMES}
        return [strip(part) for part in value] if isinstance(value, list) else value

    return json.dumps(strip(json.loads(path.read_text(encoding="utf-8")))).encode()


if __name__ == "__main__":
    main()
