"""A large graph: first load, and `query` as a whole process from the cache.

    uv run python benchmarks/generate.py /tmp/big-KG.json
    uv run python benchmarks/loading.py /tmp/big-KG.json [--runs 5] [--peer]

Whole processes, several runs of each: the median of seconds with the least and the most, of processor time,
and the most memory. Questions name the graph's second entity, one of its largest hubs, and one from the
middle. With --peer, json.load of the standard library beside them: half a minute and 6 GB.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from processes import Cost, cost

LOAD = (
    "import sys; from pathlib import Path; from tiny_graph_rag.formats.graphs import read_graph; "
    "g = read_graph(Path(sys.argv[1])); print(g.entities.names[1], g.entities.names[len(g) // 2], sep='\\n')"
)
STANDARD_LIBRARY = "import json, sys; print(len(json.load(open(sys.argv[1], encoding='utf-8'))['entities']))"
LIBRARIES = "import numpy, yaml, typer, rich"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer", action="store_true", help="json.load too")
    given = parser.parse_args()
    graph = given.graph.resolve()
    print(f"{graph.name}: {graph.stat().st_size / 1e9:.2f} GB; {given.runs} runs each")
    print(f"  {'':<40} {'seconds':>8} {'least–most':>14} {'processor':>10} {'peak MB':>8}")

    def rows(title: str, run: Callable[[], Cost]) -> Cost:
        found = [run() for _ in range(given.runs)]
        seconds = [item.seconds for item in found]
        print(
            f"  {title:<40} {median(seconds):8.2f} {f'{min(seconds):.2f}–{max(seconds):.2f}':>14} "
            f"{median(item.busy for item in found):10.2f} {max(item.megabytes for item in found):8,.0f}",
            flush=True,
        )
        return found[0]

    def query(name: str, hops: int, cache: str) -> Cost:
        words = ("main.py", "query", f"Who works with {name}?", "-g", graph, "--hops", str(hops))
        return cost(*words, environment={"XDG_CACHE_HOME": cache})

    hub, other = rows("load, no cache", lambda: cost("-c", LOAD, graph)).printed.split("\n")[:2]

    def first() -> Cost:
        with tempfile.TemporaryDirectory() as empty:
            return query(hub, 2, empty)

    rows("first query, cache written", first)
    with tempfile.TemporaryDirectory() as cache:
        query(hub, 2, cache)
        for title, name in (("a hub", hub), ("a small entity", other)):
            for hops in (2, 3):
                rows(
                    f"query from cache, {title}, {hops} hops",
                    partial(query, name, hops, cache),
                )
    rows("import of numpy, yaml, typer, rich alone", lambda: cost("-c", LIBRARIES))
    if given.peer:
        rows("json.load of the standard library", lambda: cost("-c", STANDARD_LIBRARY, graph))


if __name__ == "__main__":
    main()
