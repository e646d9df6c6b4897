"""A large graph: first load, and `query` as a whole process from the cache.

    uv run python benchmarks/generate.py /tmp/big-KG.json
    uv run python benchmarks/loading.py /tmp/big-KG.json

Prints the standard library's json.load of the same file beside it, and this project's `stats`-free load in a
process of its own, so that peak memory is the load's alone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from processes import measured

LOAD = (
    "import sys; from pathlib import Path; from tiny_graph_rag.graph.formats import read_graph; "
    "g = read_graph(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None); "
    "print(f'{len(g):,} entities, {len(g.relations):,} relations, first {g.entities.names[1]}')"
)
STANDARD_LIBRARY = "import json, sys; print(len(json.load(open(sys.argv[1], encoding='utf-8'))['entities']))"
NUMPY = "import numpy, yaml, typer, rich"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument(
        "--question", default=None, help="for `query`; default: names the graph's second entity"
    )
    parser.add_argument("--peer", action="store_true", help="json.load too: half a minute and 6 GB")
    given = parser.parse_args()
    graph = given.graph.resolve()
    with tempfile.TemporaryDirectory() as cache:
        rows = [("first load, no cache", measured("-c", LOAD, graph))]
        name = rows[0][1][2].strip().rpartition("first ")[2]
        question = given.question or f"Who works with {name}?"
        home = {"XDG_CACHE_HOME": cache}
        query = ("main.py", "query", question, "-g", graph, "--hops", "2")
        rows.append(("first query, cache written", measured(*query, environment=home)))
        for number in (1, 2, 3):
            rows.append((f"query from cache, run {number}", measured(*query, environment=home)))
        rows.append(("import of the libraries alone", measured("-c", NUMPY)))
    if given.peer:
        rows.append(("json.load of the standard library", measured("-c", STANDARD_LIBRARY, graph)))
    print(f"{graph.name}: {graph.stat().st_size / 1e9:.2f} GB")
    for title, (seconds, megabytes, _) in rows:
        print(f"  {title:<36} {seconds:7.2f} s   {megabytes:7,.0f} MB peak")


if __name__ == "__main__":
    main()
