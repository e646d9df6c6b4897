"""How well retrievers rank, by hop limit, and what each part of `bfs` brings.

    uv run python benchmarks/quality.py                     # MetaQA dev and our own sets, hops 1 to 4
    uv run python benchmarks/quality.py --limit 1000        # a sample, the same for any hash seed
    uv run python benchmarks/quality.py --ablation          # MetaQA at hops 3 and our hardsets, part by part

Real data is read from ../shared/data (--data FOLDER), MetaQA with seeds excluded, with and without
`metaqa-vocabulary.yaml`. A cell is Hits@1/MRR/recall@5/recall@10/nDCG@5. Parts are taken out by their
settings in config.yaml. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.vocabulary import read_vocabulary
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.measures import judge, parse_measures, score
from tiny_graph_rag.retrieval import make_retriever

HERE = Path(__file__).resolve().parent
MEASURES = parse_measures("hit@1,mrr,recall@5,recall@10,ndcg@5")
SHUFFLED = 1  # seed of the sample that --limit takes
PARTS: Mapping[str, Mapping[str, float]] = {
    "all parts": {},
    "no lemmas, stems, compounds": {"same_stem": 0.0, "related_word": 0.0},
    "no descriptions and types": {"description_word": 0.0, "entity_word": 0.0},
    "no focus": {"off_focus": 0.0},
    "no head": {"off_head": 0.0},
    "no order": {"early": 0.0},
    "no way back": {"there_and_back": 0.0, "repeated": 0.0},
    "no price for walking again": {"again": 0.0},
    "long questions like short ones": {"long_question": 0.0},
    "direction free": {"against": 0.0},
    "steps ten times as dear": {"step": 1.0},
    "other mentions a tenth": {"other_seed": 0.12},
}


@dataclass(frozen=True, slots=True)
class Case:
    """A gold set on its graph, with the settings that it is judged with."""

    label: str
    graph: KnowledgeGraph
    examples: EvalSet
    settings: Mapping[str, Any]


def cases(data: Path, limit: int | None) -> Iterator[Case]:
    """MetaQA's three sets, with and without vocabulary, then our own, then the Korean ones."""
    metaqa = data / "metaqa" / "metaqa-KG.json"
    if metaqa.exists():
        plain = read_graph(metaqa)
        words = replace(plain, vocabulary=read_vocabulary(HERE / "metaqa-vocabulary.yaml", plain))
        for graph, known in ((plain, "no vocabulary"), (words, "vocabulary")):
            for hops in (1, 2, 3):
                examples = sample(read_eval_set(metaqa.with_name(f"metaqa-{hops}hop-eval.jsonl")), limit)
                yield Case(f"metaqa {hops}-hop, {known}", graph, examples, {"exclude_seeds": True})
    folders = (
        (HERE.parent / "data" / "kg", HERE.parent / "data" / "eval"),
        (data / "tiny-graph-rag" / "kg-original", data / "tiny-graph-rag" / "eval"),
    )
    for graphs, sets in folders:
        for path in sorted(graphs.glob("*-KG.json")):
            graph = read_graph(path)
            for gold in sorted(sets.glob(f"{graph.name}-*.jsonl")):
                kind, examples = gold.stem.removeprefix(f"{graph.name}-"), read_eval_set(gold)
                yield Case(f"{graph.name} {kind}", graph, examples, {})
                hard = tagged(examples, "multi-hop")
                if kind == "hardset" and len(hard):
                    yield Case(f"{graph.name} multi-hop", graph, hard, {})


def sample(examples: EvalSet, limit: int | None) -> EvalSet:
    if limit is None or limit >= len(examples):
        return examples
    rows = np.sort(np.random.default_rng(SHUFFLED).choice(len(examples), limit, replace=False))
    return replace(examples, examples=tuple(examples.examples[row] for row in rows))


def tagged(examples: EvalSet, tag: str) -> EvalSet:
    return replace(
        examples, examples=tuple(question for question in examples.examples if tag in question.tags)
    )


def means(case: Case, **flags: Any) -> list[float]:
    """The mean of each measure over questions with gold."""
    config = Config().override(**{**case.settings, **flags})
    names = NameIndex.of(case.graph)
    judgments = resolve(case.examples, names, len(case.graph))
    linker = make_linker(case.graph, names, config)
    retriever = make_retriever(case.graph, config, case.examples, judgments)
    run = retriever.retrieve(linker.link(case.examples.examples))
    found = score(judge(run, judgments), MEASURES)
    return [float(np.nanmean(found[measure])) for measure in MEASURES]


def row(*cells: object) -> str:
    return "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |"


def header(*cells: str) -> str:
    return row(*cells) + "\n|" + "---|" * len(cells)


def by_hops(every: Sequence[Case], retrievers: Sequence[str], hops: Sequence[int], linker: str) -> None:
    """A row for each gold set and retriever; a cell holds the measures at one hop limit."""
    print(header("gold set", "retriever", *(f"{limit} hops" for limit in hops)))
    for case in every:
        for retriever in retrievers:
            found = [means(case, retriever=retriever, hops=limit, linker=linker) for limit in hops]
            cells = ["/".join(f"{mean:.3f}".removeprefix("0") for mean in part) for part in found]
            print(row(case.label, retriever, *cells), flush=True)


def by_parts(every: Sequence[Case], linker: str) -> None:
    chosen = [case for case in every if "metaqa" in case.label or "multi-hop" in case.label]
    print(header("gold set", "part taken out", *map(str, MEASURES)))
    for case in chosen:
        for part, settings in PARTS.items():
            hops = 3 if "metaqa" in case.label else 4
            found = means(case, retriever="bfs", hops=hops, linker=linker, **settings)
            print(row(case.label, part, *found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--limit", type=int, help="questions a MetaQA set")
    parser.add_argument("--hops", default="1,2,3,4")
    parser.add_argument("--retrievers", default="bfs,bfs-plain")
    parser.add_argument("--linker", default="names")
    parser.add_argument("--sets", default="", help="only gold sets whose label holds this")
    parser.add_argument("--ablation", action="store_true")
    given = parser.parse_args()
    every = [case for case in cases(given.data, given.limit) if given.sets in case.label]
    if given.ablation:
        by_parts(every, given.linker)
    else:
        by_hops(
            every, given.retrievers.split(","), [int(part) for part in given.hops.split(",")], given.linker
        )


if __name__ == "__main__":
    main()
