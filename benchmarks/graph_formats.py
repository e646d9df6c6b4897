"""How long a large graph takes to load from each format, beside KG JSON of the same content.

    uv run python benchmarks/graph_formats.py [--entities 1000000] [--edges 5] [--folder /tmp/graph-formats]

Writes the graph of benchmarks/generate.py (without its descriptions) as KG JSON, triples and
GraphML, then loads each in a process of its own, without the graph cache: seconds, of
processor time too (other work on the machine lengthens only the first), megabytes a second of that, the most
memory, and how many times slower a byte is read than one of KG JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

LOAD = (
    "import resource, sys, time; from pathlib import Path;"
    "from tiny_graph_rag.formats.graphs import read_graph;"
    "started, used = time.perf_counter(), time.process_time(); graph = read_graph(Path(sys.argv[1]));"
    "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
    "print(time.perf_counter() - started, time.process_time() - used, peak)"
)
TARGETS = {
    "KG JSON": "graph-KG.json",
    "triples": "graph.tsv",
    "GraphML": "graph.graphml",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/graph-formats"))
    parser.add_argument("--only", help="formats, such as triples,GraphML", default=",".join(TARGETS))
    given = parser.parse_args()
    wanted = ["KG JSON", *(part for part in given.only.split(",") if part != "KG JSON")]
    write(given.folder, given.entities, given.edges, wanted)
    base = 0.0
    print("format           MB      seconds processor   MB/s   peak MB   times KG JSON, per byte")
    for name in wanted:
        path = given.folder / TARGETS[name]
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        megabytes = sum(file.stat().st_size for file in files) / 1e6
        told = subprocess.run([sys.executable, "-c", LOAD, path], capture_output=True, text=True, check=True)
        seconds, used, peak = map(float, told.stdout.split())
        base = base or megabytes / used
        print(
            f"{name:14} {megabytes:7.1f} {seconds:9.2f} {used:9.2f} {megabytes / used:7.1f} "
            f"{peak / 1024:8.0f} {base / (megabytes / used):7.2f}"
        )


def write(folder: Path, entities: int, edges: int, wanted: list[str]) -> None:
    from generate import RELATIONS, TYPES, preferential_edges

    from tiny_graph_rag.formats.graphs import read_graph
    from tiny_graph_rag.formats.graphs.writing import GRAPH_FORMS, write_graph
    from tiny_graph_rag.formats.writing import form_of

    source = folder / TARGETS["KG JSON"]
    if not source.exists():
        folder.mkdir(parents=True, exist_ok=True)
        sources, targets = preferential_edges(entities, edges, 1)
        with source.open("w", encoding="utf-8") as stream:
            stream.write('{"entities": {')
            for row in range(entities):
                record = {"name": f"entity {row}", "entity_type": TYPES[row % len(TYPES)]}
                stream.write(f'{"," * (row > 0)}"e{row}": {json.dumps(record)}')
            stream.write('}, "relationships": [')
            for row, (start, end) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
                record = {
                    "source_entity_id": f"e{start}",
                    "target_entity_id": f"e{end}",
                    "relationship_type": RELATIONS[row % len(RELATIONS)],
                }
                stream.write(f"{',' * (row > 0)}{json.dumps(record)}")
            stream.write("]}")
    if all((folder / TARGETS[name]).exists() for name in wanted):
        return
    graph = read_graph(source)
    for name in wanted:
        if not (folder / TARGETS[name]).exists():
            write_graph(
                graph,
                folder / TARGETS[name],
                form_of(GRAPH_FORMS, folder / TARGETS[name]),
            )


if __name__ == "__main__":
    main()
