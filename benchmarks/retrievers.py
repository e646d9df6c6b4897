"""Every offline retriever on gold sets with their graphs, by hops: Hits@1, MRR, recall@10, nDCG@5.

    uv run python benchmarks/retrievers.py                       # the project's own hardsets
    uv run python benchmarks/retrievers.py GRAPH GOLDSET [--limit 1000] [--exclude-seeds] [--vocabulary FILE]

After each table: bfs against the others in nDCG@5 on the tag multi-hop (on all questions where there is no
such tag), the mean difference question by question with a 95 % bootstrap interval.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph, read_vocabulary
from tiny_graph_rag.gold.examples import EvalSet, Selection
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.measures import judge, parse_measures, score
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.run import Run

ROOT = Path(__file__).resolve().parent.parent
RETRIEVERS = ("bfs", "bfs-plain", "pagerank", "bm25", "hybrid:bfs+bm25", "oracle")
RIVALS = ("bfs-plain", "pagerank", "bm25")
MEASURES = parse_measures("hit@1,mrr,recall@10,ndcg@5")
RESAMPLES = 2000


def runs(
    graph: KnowledgeGraph,
    examples: EvalSet,
    judgments: Judgments,
    name: str,
    tried: Sequence[int],
    config: Config,
) -> Iterator[Run]:
    """A run for each hop limit, from shared work where the retriever has any."""
    linker = make_linker(graph, NameIndex.of(graph), config)
    linked = linker.link(examples.examples)
    made = make_retriever(graph, config.override(retriever=name, hops=max(tried)), examples, judgments)
    shared = made.retrieve_within(linked, tried)
    if shared is not None:
        yield from shared
        return
    for hops in tried:
        limited = config.override(retriever=name, hops=hops)
        yield make_retriever(graph, limited, examples, judgments).retrieve(linked)


def table(graph: KnowledgeGraph, examples: EvalSet, tried: Sequence[int], config: Config) -> None:
    print(f"\n{examples.name}: {len(examples):,} questions, {len(graph):,} entities\n")
    print("| retriever | hops | " + " | ".join(map(str, MEASURES)) + " |")
    print("|---" * (len(MEASURES) + 2) + "|")
    judgments = resolve(examples, NameIndex.of(graph), len(graph))
    chosen = [row for row, question in enumerate(examples) if "multi-hop" in question.tags] or range(
        len(examples)
    )
    columns: dict[tuple[str, int], np.ndarray] = {}
    for name in RETRIEVERS:
        limits = tried[:1] if name == "bm25" else tried  # bm25 walks nowhere
        for hops, run in zip(limits, runs(graph, examples, judgments, name, limits, config), strict=True):
            found = score(judge(run, judgments), MEASURES)
            means = [f"{np.nanmean(found[measure]):.3f}" for measure in MEASURES]
            print(f"| {name} | {'–' if name == 'bm25' else hops} | {' | '.join(means)} |", flush=True)
            columns[name, hops] = found[MEASURES[-1]][list(chosen)]
    print()
    for name in RIVALS:
        for hops in tried:
            other = columns[name, hops if name != "bm25" else tried[0]]
            difference = columns["bfs", hops] - other
            difference = difference[~np.isnan(difference)]
            low, high = interval(difference)
            print(
                f"bfs − {name:<10} nDCG@5, {hops} hops, {len(difference):,} questions: "
                f"{difference.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
            )


def interval(difference: np.ndarray) -> tuple[float, float]:
    """95 %, percentile bootstrap over questions."""
    random = np.random.default_rng(0)
    means = [
        difference[random.integers(0, len(difference), len(difference))].mean() for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="GRAPH GOLDSET; the project's own without")
    parser.add_argument("--hops", default="1,2,3,4")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--exclude-seeds", action="store_true")
    parser.add_argument("--vocabulary", type=Path, help="words for the graph's relations")
    given = parser.parse_args()
    if len(given.files) not in (0, 2):
        sys.exit("wanted a graph and a gold set")
    pairs = (
        [tuple(given.files)]
        if given.files
        else [
            (ROOT / "data/kg" / f"{gold.name.removesuffix('-hardset.jsonl')}-KG.json", gold)
            for gold in sorted((ROOT / "data/eval").glob("*-hardset.jsonl"))
        ]
    )
    for graph, gold in pairs:
        examples = read_eval_set(gold).select(Selection(limit=given.limit))
        config = Config().override(exclude_seeds=given.exclude_seeds)
        known = read_graph(graph)
        if given.vocabulary:
            known = replace(known, vocabulary=read_vocabulary(given.vocabulary, known))
        table(known, examples, tuple(map(int, given.hops.split(","))), config)


if __name__ == "__main__":
    main()
