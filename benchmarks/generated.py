"""Generated gold sets: how long they take, how evenly they ask, how hard they are, and whether they rank
retrievers as sets that people wrote do.

    uv run python benchmarks/generated.py GRAPH [--human GOLDSET …] [--n 200] [--seed 0] [--limit 500]

Prints seconds and peak memory of generating (loading apart), the share of the most used relation against its
fair share, nDCG@10 of each retriever by shape, and Kendall's τ between the order of the retrievers on the
generated set and on each set of --human, with what it would take to be no chance (of five retrievers τ = 1
comes by chance in 1 of 120 orders, τ >= .8 in 5).
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config, cache_folder
from tiny_graph_rag.formats.gold.jsonl import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Selection
from tiny_graph_rag.gold.generate import Wanted, generate
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.measures import judge, parse_measures, score
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.retrieval import make_retriever

RANKED = ("bfs", "bfs-plain", "pagerank", "bm25", "hybrid:bfs+bm25")
SHOWN = (*RANKED, "oracle")
HOPS = 3
(MEASURE,) = parse_measures("ndcg@10")


def scores_of(graph: KnowledgeGraph, examples: EvalSet, names: NameIndex) -> dict[str, Column]:
    """Retriever → nDCG@10 a question, NaN without gold."""
    found = {}
    judgments = resolve(examples, names, len(graph))
    for name in SHOWN:
        config = Config().override(retriever=name, hops=HOPS, exclude_seeds=True)
        linked = make_linker(graph, names, config).link(examples.examples)
        made = make_retriever(graph, config, examples, judgments)
        made.prepare(lambda linked=linked: linked)  # type: ignore[misc]
        found[name] = score(judge(made.retrieve(linked), judgments), [MEASURE])[MEASURE]
    return found


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """τ-a: concordant less discordant pairs over all pairs."""
    pairs = list(combinations(range(len(one)), 2))
    return sum(float(np.sign((one[a] - one[b]) * (other[a] - other[b]))) for a, b in pairs) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("--human", type=Path, nargs="*", default=[])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=500, help="questions of each human set, at most")
    parser.add_argument("--no-eval", action="store_true", help="generate only")
    given = parser.parse_args()
    graph = read_graph(given.graph, cache_folder())
    names = NameIndex.of(graph)
    started = time.perf_counter()
    made = generate(graph, names, Wanted(given.n, seed=given.seed))
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << (30 if sys.platform == "darwin" else 20)
    )
    print(f"{graph.name}: {len(graph):,} entities, {len(graph.relations):,} relations")
    print(f"{len(made.questions)} questions in {seconds:.1f} s, peak {memory:.2f} GiB with the graph")
    hops: dict[int, int] = {}
    for question in made.questions:
        hops[question.unknown["hops"]] = hops.get(question.unknown["hops"], 0) + 1
    print("by shape:", ", ".join(f"{shape} {count}" for shape, count in made.found.items()))
    print("by hops:", ", ".join(f"{hop}: {count}" for hop, count in sorted(hops.items())))
    print(f"relations: {len(made.relations)}, the most used {made.most_over_fair:.2f} times its fair share\n")
    if given.no_eval:
        return
    shapes = [
        str(question.unknown.get("variant") or question.unknown["shape"]) for question in made.questions
    ]
    scores = scores_of(graph, EvalSet(made.questions, name="generated"), names)
    print("| nDCG@10 | n | " + " | ".join(SHOWN) + " |")
    print("|---|---:|" + "---:|" * len(SHOWN))
    kept = [shape for shape in dict.fromkeys(shapes) if shape != "no-answer"]
    for shape in ("all", *kept):
        rows = np.array([shape in ("all", kind) for kind in shapes])
        counted = int((rows & ~np.isnan(scores["bfs"])).sum())
        cells = [f"{np.nanmean(scores[name][rows]):.3f}".lstrip("0") for name in SHOWN]
        print(f"| {shape} | {counted} | " + " | ".join(cells) + " |")
    order = [float(np.nanmean(scores[name])) for name in RANKED]
    for path in given.human:
        human = read_eval_set(path)
        if len(human) > given.limit:
            human = human.select(Selection(limit=given.limit))
        theirs = scores_of(graph, human, names)
        means = [float(np.nanmean(theirs[name])) for name in RANKED]
        told = ", ".join(f"{name} {mean:.3f}" for name, mean in zip(RANKED, means, strict=True))
        print(f"\n{human.name} ({len(human)} questions): τ = {kendall(order, means):.2f}; {told}")


if __name__ == "__main__":
    main()
