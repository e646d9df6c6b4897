"""Generated gold sets: how long they take, how evenly they ask, how hard they are, and whether they rank
retrievers as sets that people wrote do.

    uv run python benchmarks/generated.py GRAPH … [--human GOLDSET …] [--n 200] [--seed 0] [--limit 500]

Prints how many questions each graph gives, by hops, and the share of the most used relation against its fair
share; then seconds and peak memory of generating, nDCG@10 of each retriever by shape, and Kendall's τ between
the order of the retrievers on the generated set and on each set of --human (of five retrievers τ = 1 comes by
chance in 1 of 120 orders, τ >= .8 in 5).
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Selection
from tiny_graph_rag.gold.generate import Generated, Wanted, generate
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


def hops_of(made: Generated) -> str:
    """How many questions have 0, 1, 2 … hops."""
    hops = [question.unknown["hops"] for question in made.questions]
    return "/".join(str(hops.count(hop)) for hop in range(max(hops, default=0) + 1))


def print_scores(graph: KnowledgeGraph, made: Generated, humans: Sequence[Path], limit: int) -> None:
    names = NameIndex.of(graph)
    shapes = [
        str(question.unknown.get("variant") or question.unknown["shape"]) for question in made.questions
    ]
    scores = scores_of(graph, EvalSet(made.questions, name="generated"), names)
    print(f"\n| {graph.name} | n | " + " | ".join(SHOWN) + " |")
    print("|---|---:|" + "---:|" * len(SHOWN))
    kept = [shape for shape in dict.fromkeys(shapes) if shape != "no-answer"]
    for shape in ("all", *kept):
        rows = np.array([shape in ("all", kind) for kind in shapes])
        counted = int((rows & ~np.isnan(scores["bfs"])).sum())
        cells = [f"{np.nanmean(scores[name][rows]):.3f}".lstrip("0") for name in SHOWN]
        print(f"| {shape} | {counted} | " + " | ".join(cells) + " |", flush=True)
    order = [float(np.nanmean(scores[name])) for name in RANKED]
    for path in humans:
        human = read_eval_set(path)
        if len(human) > limit:
            human = human.select(Selection(limit=limit))
        theirs = scores_of(graph, human, names)
        means = [float(np.nanmean(theirs[name])) for name in RANKED]
        listed = ", ".join(f"{name} {mean:.3f}" for name, mean in zip(RANKED, means, strict=True))
        print(f"\n{human.name} ({len(human)} questions): τ = {kendall(order, means):.2f}; {listed}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", type=Path, nargs="+", metavar="GRAPH")
    parser.add_argument("--human", type=Path, nargs="*", default=[])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=500, help="questions of each human set, at most")
    parser.add_argument("--no-eval", action="store_true", help="generate only")
    given = parser.parse_args()
    generated, times = [], []
    print("| graph | entities, relations | questions | hops 0/1/2/… | relations, most over fair |")
    print("|---|---|---|---|---|")
    for path in given.graphs:
        graph = read_graph(path, cache_folder())
        started = time.perf_counter()
        made = generate(graph, NameIndex.of(graph), Wanted(given.n, seed=given.seed))
        times.append(f"{graph.name} {time.perf_counter() - started:.1f} s")
        generated.append((graph, made))
        size = f"{len(graph):,}, {len(graph.relations):,}"
        asked = [row.unknown["asks"] for row in made.questions if not row.unknown["variant"]]
        uses = Counter(type for asks in asked for type in set(re.findall(r"\[:([^]]+)\]", asks)))
        evenly = f"{len(uses)}, {max(uses.values()) * len(uses) / uses.total():.2f}"
        cells = (f"{path.parent.name}/{graph.name}", size, len(made.questions), hops_of(made), evenly)
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << (30 if sys.platform == "darwin" else 20)
    )
    print(f"\ngenerating: {', '.join(times)}; peak {memory:.2f} GiB with the graphs")
    for graph, made in generated if not given.no_eval else ():
        print_scores(graph, made, given.human, given.limit)


if __name__ == "__main__":
    main()
