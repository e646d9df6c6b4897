"""Neighbourhoods with hops: this project, igraph and networkx, the same starts in one process.

    uv run --group benchmarks python benchmarks/traversal.py [--graph some-KG.json] [--entities 1000000]

Without --graph, or beside it, on a generated graph (benchmarks/generate.py: preferential attachment, 5
relations an entity, seed 1). Starts are drawn uniformly. All on one thread. Checks first, on 100 starts, that
the reached sets are igraph's and the hops networkx's.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path

import igraph
import networkx
import numpy as np
from generate import preferential_edges

from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.bfs import BreadthFirst
from tiny_graph_rag.graph.tables import Adjacency

CHECKED = 100
ENOUGH_SECONDS = 3.0  # of each measurement


def per_start(work: Callable[[list[int]], object], starts: list[int]) -> float:
    """Milliseconds a start, over as many starts as fit into the time, best of three blocks."""
    began = time.perf_counter()
    work(starts[:4])
    once = (time.perf_counter() - began) / 4
    block = starts[: max(4, min(len(starts), int(ENOUGH_SECONDS / 3 / max(once, 1e-9))))]
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work(block)
        times.append((time.perf_counter() - began) / len(block))
    return min(times) * 1000


def compare(title: str, entities: int, sources: np.ndarray, targets: np.ndarray) -> None:
    adjacency = Adjacency.of(entities, sources, targets)
    one = igraph.Graph(n=entities, edges=np.stack([sources, targets], axis=1))
    other: networkx.Graph[int] = networkx.Graph()
    other.add_nodes_from(range(entities))
    other.add_edges_from(zip(sources.tolist(), targets.tolist(), strict=True))
    gc.collect()
    gc.freeze()  # nobody's measurement should pay for looking through networkx's millions of objects
    starts = np.random.default_rng(1).integers(0, entities, 20_000).tolist()
    search = BreadthFirst(adjacency)
    print(f"\n{title}: {entities:,} entities, {len(sources):,} relations")
    for hops in (2, 3):
        measure(hops, starts, search, one, other)


def measure(
    hops: int,
    starts: list[int],
    search: BreadthFirst,
    one: igraph.Graph,
    other: networkx.Graph[int],
) -> None:
    same = all(
        sorted(search.reach([start], hops).entities.tolist()) == sorted(one.neighborhood(start, order=hops))
        for start in starts[:CHECKED]
    )
    equal = True
    for start in starts[:CHECKED]:
        reached = search.reach([start], hops)
        found = dict(zip(reached.entities.tolist(), reached.hops.tolist(), strict=True))
        equal &= found == networkx.single_source_shortest_path_length(other, start, cutoff=hops)
    size = np.mean([len(search.reach([start], hops)) for start in starts[:CHECKED]])
    times = {
        "ours": per_start(lambda some: [search.reach(start, hops) for start in some], starts),
        "igraph": per_start(lambda some: one.neighborhood(some, order=hops), starts),
        "networkx": per_start(
            lambda some: [networkx.single_source_shortest_path_length(other, s, cutoff=hops) for s in some],
            starts,
        ),
    }
    print(f"  {hops} hops, {size:,.0f} entities reached on average")
    print(f"    sets equal igraph's: {same}; hops equal networkx's: {equal} ({CHECKED} starts)")
    ours = times["ours"]
    for name, milliseconds in times.items():
        print(f"    {name:<16} {milliseconds:10.4f} ms a start   {milliseconds / ours:7.1f} x ours")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph", type=Path, help="a knowledge graph to measure too")
    parser.add_argument(
        "--entities", type=int, default=1_000_000, help="size of the generated graph; 0: none"
    )
    given = parser.parse_args()
    if given.graph:
        graph = read_graph(given.graph)
        compare(graph.name, len(graph), graph.relations.sources, graph.relations.targets)
    if given.entities:
        compare("generated", given.entities, *preferential_edges(given.entities, 5, 1))


if __name__ == "__main__":
    main()
