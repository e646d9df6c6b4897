"""What it takes to start: `eval` on the sample hardsets beside the import of the libraries that it needs.

    uv run python benchmarks/starting.py [--runs 7]

Whole processes in turn, warm caches, seconds of processor time (user and system, all threads), medians; the
ratios are of one turn each. With bytecode kept and without (PYTHONDONTWRITEBYTECODE=1).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from processes import ROOT, cost

LIBRARIES = "import numpy, typer, rich, msgspec, yaml"
SETS = {"동백꽃": "김유정-동백꽃", "The Speckled Band": "conan-doyle-speckled-band"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--hops", default="3")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for kept in (False, True):
            bytecode = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
            environment = {
                "XDG_CACHE_HOME": str(folder / "cache"),
                **(bytecode if kept else {"PYTHONDONTWRITEBYTECODE": "1"}),
            }
            print(f"bytecode {'kept' if kept else 'not kept'}")
            busy: dict[str, list[float]] = {"libraries": [], **{title: [] for title in SETS}}
            for run in range(given.runs + 1):
                turn = {"libraries": cost("-c", LIBRARIES, environment=environment).busy}
                for title, name in SETS.items():
                    turn[title] = cost(
                        *(ROOT / "main.py", "eval", "--dataset", f"{name}-hardset.jsonl"),
                        *("-g", f"{name}-KG.json", "--hops", given.hops, "--skip-generation"),
                        *("-o", folder / "r.json"),
                        environment=environment,
                    ).busy
                if run:  # the first one writes the caches
                    for title, seconds in turn.items():
                        busy[title].append(seconds)
            for title, mine in busy.items():
                ratios = [flip / other for flip, other in zip(mine, busy["libraries"], strict=True)]
                print(
                    f"  {title:18} {median(mine):.3f} s, {median(ratios):.2f} times the libraries "
                    f"({min(ratios):.2f} to {max(ratios):.2f})"
                )


if __name__ == "__main__":
    main()
