"""Every offline retriever on gold sets with their graphs, by hops: Hits@1, MRR, recall@10, nDCG@5.

    uv run python benchmarks/retrievers.py                       # the project's own hardsets
    uv run python benchmarks/retrievers.py GRAPH GOLDSET [--limit 1000] [--exclude-seeds]

After each table: bfs against the others in nDCG@5 on the tag multi-hop (on all questions where there is no
such tag), the mean difference question by question with a 95 % bootstrap interval.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.dataset.examples import EvalSet, Selection
from tiny_graph_rag.dataset.jsonl import read_eval_set
from tiny_graph_rag.evaluation.runner import evaluate
from tiny_graph_rag.graph.formats import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.metrics import parse_measures

ROOT = Path(__file__).resolve().parent.parent
RETRIEVERS = ("bfs", "bfs-plain", "pagerank", "bm25", "hybrid:bfs+bm25", "oracle")
MEASURES = parse_measures("hit@1,mrr,recall@10,ndcg@5")
RESAMPLES = 2000


def table(graph: KnowledgeGraph, examples: EvalSet, hops_tried: tuple[int, ...], exclude_seeds: bool) -> None:
    print(f"\n{examples.name}: {len(examples):,} questions, {len(graph):,} entities")
    print(f"  {'retriever':<16} hops  " + "  ".join(f"{each!s:>9}" for each in MEASURES))
    chosen = [row for row, each in enumerate(examples) if "multi-hop" in each.tags] or range(len(examples))
    columns: dict[tuple[str, int], np.ndarray] = {}
    for name in RETRIEVERS:
        for hops in hops_tried if name != "bm25" else hops_tried[:1]:
            config = Config().override(
                retriever=name, hops=hops, exclude_seeds=exclude_seeds, latency_sample=0
            )
            found = evaluate(graph, examples, config, MEASURES)
            means = [found.summary.overall.measures[each].mean for each in MEASURES]
            shown = "–" if name == "bm25" else str(hops)
            print(f"  {name:<16} {shown:>4}  " + "  ".join(f"{each:9.3f}" for each in means), flush=True)
            columns[name, hops] = found.scores[MEASURES[-1]][list(chosen)]
    for name in ("bfs-plain", "pagerank", "bm25"):
        for hops in hops_tried:
            other = columns[name, hops if name != "bm25" else hops_tried[0]]
            difference = columns["bfs", hops] - other
            difference = difference[~np.isnan(difference)]
            draws = np.random.default_rng(0).integers(0, len(difference), (RESAMPLES, len(difference)))
            low, high = np.quantile(difference[draws].mean(axis=1), [0.025, 0.975])
            print(
                f"  bfs − {name:<10} nDCG@5, {hops} hops, {len(difference):,} questions: "
                f"{difference.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="GRAPH GOLDSET; the project's own without")
    parser.add_argument("--hops", default="1,2,3,4")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--exclude-seeds", action="store_true")
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
        table(read_graph(graph), examples, tuple(map(int, given.hops.split(","))), given.exclude_seeds)


if __name__ == "__main__":
    main()
