"""A graph of 20 million entities and 100 million relations: loaded out of core, asked, evaluated.

    uv run python benchmarks/large.py FOLDER [--entities 20000000] [--edges 5] [--part ours,peers]

Writes `big.parquet` and `big-eval.jsonl` (1,000 questions) to FOLDER, once, and keeps the graph cache there
(10 GB in all), then prints medians of seconds, processor seconds and peak memory (mapped pages included) of
each step as a whole process. `--part peers` loads DuckDB and asks it for the same neighbours, has igraph
take our columns and walk them, and networkx a hundredth of the graph (packages duckdb, igraph and networkx).
Targets are drawn as entities * uniform ** 3.65: the first entity has one relation in a hundred.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from generate import RELATIONS, SYLLABLES
from numpy.typing import NDArray
from pyarrow import parquet

SKEW = 3.65
ROWS = 1 << 20
FIRST = pa.array([(a + b).title() for a in SYLLABLES for b in SYLLABLES])
SECOND = pa.array([(a + b + c).title() for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES])


def names(rows: NDArray[np.int64]) -> Any:
    """Two words and a number an entity."""
    mixed = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    first = (mixed & np.uint64(len(FIRST) - 1)).astype(np.int32)
    second = ((mixed >> np.uint64(8)) & np.uint64(len(SECOND) - 1)).astype(np.int32)
    words = FIRST.take(pa.array(first)), SECOND.take(pa.array(second)), pc.cast(pa.array(rows), pa.string())
    return pc.binary_join_element_wise(*words, " ")


def write_graph(path: Path, entities: int, edges: int) -> None:
    schema = pa.schema([(name, pa.string()) for name in ("source", "relation", "target")])
    kinds = pa.array(RELATIONS)
    with parquet.ParquetWriter(path, schema, compression="zstd", use_dictionary=["relation"]) as out:
        for start in range(0, entities * edges, ROWS):
            count = min(ROWS, entities * edges - start)
            random = np.random.default_rng([1, start])
            sources = np.arange(start, start + count) // edges
            targets = (entities * random.random(count) ** SKEW).astype(np.int64)
            its = kinds.take(pa.array(random.integers(0, len(kinds), count)))
            out.write_table(pa.table([names(sources), its, names(targets)], schema=schema))


def write_questions(path: Path, entities: int, count: int = 1000) -> None:
    chosen = np.random.default_rng([1, 7]).integers(0, entities, (2, count))
    asked, wanted = (names(item).to_pylist() for item in chosen)
    with path.open("w", encoding="utf-8") as out:
        for number, (seed, answer) in enumerate(zip(asked, wanted, strict=True)):
            row = {"id": f"q{number}", "query": f"Who works with {seed}?", "reference_entities": [answer]}
            out.write(json.dumps({**row, "seed_entities": [seed]}) + "\n")


def measured(what: str, *command: str, folder: Path, runs: int = 1) -> None:
    """Medians of whole processes."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    rows, codes = [], set()
    for _ in range(runs):
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        rows.append((seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
        codes.add(process.returncode)
    seconds, processor, memory = (statistics.median(part) for part in zip(*rows, strict=True))
    print(
        f"{what:44} {seconds:8.1f} s {processor:8.2f} s of processor time {memory:7,.0f} MB"
        f"{'' if codes == {0} else f'  exit codes {codes}'}",
        flush=True,
    )


DUCKDB_LOAD = """
import sys, duckdb
graph, database = sys.argv[1:]
with duckdb.connect(database, config={'memory_limit': '5GB', 'threads': 2}) as db:
    db.sql(f"create or replace table e as select source, target from '{graph}'")
"""
DUCKDB = """
import sys, duckdb
database, name = sys.argv[1:]
with duckdb.connect(database, config={'memory_limit': '5GB', 'threads': 2}, read_only=True) as db:
    print(db.execute('''
      with one as (
        select target b from e where source = $name union select source from e where target = $name),
      two as (select target b from e semi join one on e.source = one.b
        union select source from e semi join one on e.target = one.b)
      select count(*) from (from one union from two)''', {'name': name}).fetchall(), file=sys.stderr)
"""
IGRAPH = """
import resource, statistics, sys, time, igraph, numpy as np
from pathlib import Path
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.formats.graphs import read_graph
graph = read_graph(Path(sys.argv[1]), cache_folder())
started = time.process_time()
ends = np.column_stack([graph.relations.sources, graph.relations.targets])
made = igraph.Graph(n=len(graph), edges=ends)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f'  igraph built: {time.process_time() - started:.1f} s, {peak:,.0f} MB', file=sys.stderr)
rows = np.random.default_rng(1).integers(0, len(graph), 1000).tolist()
for what, seeds in (('1,000 starts', rows), ('the small entity', [len(graph) * 3 // 5]), ('the hub', [0])):
    seconds, found = [], 0
    for _ in range(3):
        started = time.process_time()
        found = sum(len(made.neighborhood(seed, order=2)) for seed in seeds)
        seconds.append(time.process_time() - started)
    said = f'{what}: {statistics.median(seconds):.3f} s, {found:,} entities'
    print(f'  igraph, 2 hops, {said}', file=sys.stderr)
"""
OURS = """
import statistics, sys, time, numpy as np
from pathlib import Path
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.bfs import BreadthFirst
graph = read_graph(Path(sys.argv[1]), cache_folder())
rows = np.random.default_rng(1).integers(0, len(graph), 1000).tolist()
search = BreadthFirst(graph.adjacency)
search.reach([0], 0)
for what, seeds in (('1,000 starts', rows), ('the small entity', [len(graph) * 3 // 5]), ('the hub', [0])):
    seconds, found = [], 0
    for _ in range(3):
        started = time.process_time()
        found = sum(len(search.reach([seed], 2)) for seed in seeds)
        seconds.append(time.process_time() - started)
    said = f'{what}: {statistics.median(seconds):.3f} s, {found:,} entities'
    print(f'  ours, 2 hops, {said}', file=sys.stderr)
"""
NETWORKX = """
import resource, sys, networkx as nx, numpy as np
edges = int(sys.argv[1])
dice = np.random.default_rng(1)
entities = edges // 5
ends = np.arange(edges) // 5, (entities * dice.random(edges) ** 3.65).astype(np.int64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = nx.MultiDiGraph()
made.add_edges_from(zip(*(each.tolist() for each in ends)))
peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(f'  networkx: {peak / edges:,.0f} bytes a relation of {edges:,}', file=sys.stderr)
"""
HUB_ASKERS = ("bfs", "bfs-plain")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--entities", type=int, default=20_000_000)
    parser.add_argument("--edges", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--part", default="ours", help="ours,peers or one of them")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    graph, gold, folder = given.folder / "big.parquet", given.folder / "big-eval.jsonl", given.folder
    if not graph.exists():
        write_graph(graph, given.entities, given.edges)
        write_questions(gold, given.entities)
    small = names(np.array([given.entities * 3 // 5]))[0].as_py()
    hub = names(np.array([0]))[0].as_py()
    ask = ("main.py", "query", "-g", str(graph), "--hops")
    evaluate = ("main.py", "eval", "-g", str(graph), "--dataset", str(gold), "--hops", "2")
    if "ours" in given.part:
        measured("load and first question", *ask, "2", f"Who works with {small}?", folder=folder)
        for what, seed in (("a small entity", small), ("the hub", hub)):
            question = f"Who works with {seed}?"
            measured(f"{what}, 2 hops", *ask, "2", question, folder=folder, runs=given.runs)
        for asker in HUB_ASKERS:
            question = f"Who works with {hub}?"
            measured(f"the hub, 6 hops, {asker}", *ask, "6", "--retriever", asker, question, folder=folder)
        saved = ("--skip-generation", "-o", str(folder / "big-results.json"))
        measured("1,000 questions, 2 hops", *evaluate, *saved, folder=folder, runs=(given.runs + 1) // 2)
    if "peers" in given.part:
        database = str(folder / "big.duckdb")
        measured("DuckDB, table loaded", "-c", DUCKDB_LOAD, str(graph), database, folder=folder)
        for what, seed in (("small entity", small), ("hub", hub)):
            measured(f"DuckDB, {what}, 2 hops", "-c", DUCKDB, database, seed, folder=folder, runs=3)
        Path(database).unlink()
        measured("ours, 2 hops without ranking", "-c", OURS, str(graph), folder=folder)
        measured("igraph", "-c", IGRAPH, str(graph), folder=folder)
        measured(
            "networkx, a hundredth", "-c", NETWORKX, str(given.entities * given.edges // 100), folder=folder
        )


if __name__ == "__main__":
    main()
