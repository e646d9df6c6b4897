"""Full rankings a second: linked questions in, a hundred ranked entities with their walks out.

    uv run --group benchmarks python benchmarks/ranking.py ../shared/data/metaqa/metaqa-KG.json \\
        ../shared/data/metaqa/metaqa-3hop-eval.jsonl [--hops 3] [--runs 5] [--sample 200]

Compared on the same questions: `bfs` with numba, and without it (a sample); and what a naive
walk costs with networkx (a sample): everything within the hops, nearest first, then by name. Linking is not
counted. Prints the median of the runs; what is compiled is in memory before the first of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, make_linker
from tiny_graph_rag.retrieval import make_retriever

Ranks = Callable[[Sequence[LinkedQuestion]], object]


def median_seconds(rank: Ranks, questions: Sequence[LinkedQuestion], runs: int) -> float:
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        rank(questions)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def by_networkx(graph: KnowledgeGraph, hops: int, depth: int) -> Ranks:
    peer: nx.Graph[int] = nx.Graph()
    peer.add_nodes_from(range(len(graph)))
    peer.add_edges_from(zip(graph.relations.sources.tolist(), graph.relations.targets.tolist(), strict=True))
    rank = graph.name_rank.tolist()

    def ranked(questions: Sequence[LinkedQuestion]) -> list[list[int]]:
        found = []
        for question in questions:
            near: dict[int, int] = {}
            for seed in question.seeds:
                for entity, hop in nx.single_source_shortest_path_length(peer, seed.entity, hops).items():
                    near[entity] = min(hop, near.get(entity, hop))
            found.append(sorted(near, key=lambda entity: (near[entity], rank[entity]))[:depth])
        return found

    return ranked


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--hops", type=int, default=3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sample", type=int, default=200, help="questions for what is slow")
    given = parser.parse_args()
    graph, examples = read_graph(given.graph), read_eval_set(given.dataset)
    names = NameIndex.of(graph)
    judgments = resolve(examples, names, len(graph))
    linked = make_linker(graph, names, Config()).link(examples.examples)
    print(
        f"{len(linked):,} questions, {len(graph):,} entities, {given.hops} hops, median of {given.runs} runs"
    )

    def bfs(compiled: bool = True) -> Ranks:
        config = Config().override(hops=given.hops)
        config = replace(config, running=replace(config.running, compiled=compiled))
        return make_retriever(graph, config, examples, judgments).retrieve

    every_nth = linked[:: max(1, len(linked) // given.sample)]
    ways: list[tuple[str, Ranks, Sequence[LinkedQuestion]]] = [
        ("bfs without numba", bfs(compiled=False), every_nth),
        ("networkx, hop then name", by_networkx(graph, given.hops, Config().retrieval.depth), every_nth),
        ("bfs", bfs(), linked),
    ]
    for title, rank, questions in ways:
        rank(linked[:1000] if questions is linked else questions[:2])
        seconds = median_seconds(rank, questions, given.runs)
        print(f"{title:<24} {len(questions) / seconds:9,.0f} questions a second ({len(questions):,} asked)")


if __name__ == "__main__":
    main()
