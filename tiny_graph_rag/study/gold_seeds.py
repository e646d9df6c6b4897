"""What linking costs: the same retrieval from the seeds that the gold set names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.linking.gold import GoldLinker
from tiny_graph_rag.measures import judge
from tiny_graph_rag.retrieval.base import Retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.hops import FreeHops
from tiny_graph_rag.study.verdicts import Limits, Step, diagnose, waterfall


@dataclass(frozen=True, slots=True)
class GoldSeeds:
    """Over the questions with gold and seed_entities.

    waterfall: from the gold seeds; linked_waterfall: from the linked ones, over the same questions: what lies
    between the two is linking's. precision: mean share of linked entities that are gold seeds, over the
    questions that linked to something (NaN without any); recall: mean share of gold seeds that were linked.
    """

    questions: int
    waterfall: tuple[Step, ...]
    linked_waterfall: tuple[Step, ...]
    precision: float
    recall: float


def gold_links(examples: Sequence[Example], names: NameIndex) -> list[LinkedQuestion]:
    """Each question with its seed_entities as seeds."""
    return GoldLinker(names).link(examples)


def with_gold_seeds(
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion],
    gold: Sequence[LinkedQuestion],
    run: Run,
    judgments: Judgments,
    retriever: Retriever,
    limits: Limits,
    cutoff: int,
    distances: FreeHops,
) -> GoldSeeds | None:
    """None where no question with gold names its seeds. Only questions whose seeds differ are asked again.

    `linked_waterfall` is left for the caller, who has the diagnosis of the linked seeds.
    """
    given = [row for row, each in enumerate(examples) if each.seed_entities is not None]
    rows = np.array(given, dtype=np.int64)
    rows = rows[judgments.relevant[rows] > 0]
    if not len(rows):
        return None
    other = [row for row in rows.tolist() if _weights(gold[row]) != _weights(linked[row])]
    ideal = list(linked)
    again = dict(zip(other, range(len(other)), strict=True))
    for row in other:
        ideal[row] = gold[row]
    asked = retriever.retrieve([gold[row] for row in other])
    whole = _spliced(run, asked, again)
    found = diagnose(graph, ideal, whole, judgments, judge(whole, judgments), limits, cutoff, distances)
    steps = waterfall(found, judgments.relevant, rows)
    linked_entities = [{seed.entity for seed in linked[row].seeds} for row in rows.tolist()]
    gold_entities = [{seed.entity for seed in gold[row].seeds} for row in rows.tolist()]
    common = [len(one & two) for one, two in zip(linked_entities, gold_entities, strict=True)]
    precision = [c / len(one) for c, one in zip(common, linked_entities, strict=True) if one]
    recall = [c / len(two) for c, two in zip(common, gold_entities, strict=True) if two]
    return GoldSeeds(
        len(rows),
        steps,
        (),
        float(np.mean(precision)) if precision else float("nan"),
        float(np.mean(recall)) if recall else float("nan"),
    )


def _weights(question: LinkedQuestion) -> dict[int, float]:
    return {seed.entity: seed.weight for seed in question.seeds}


def _spliced(run: Run, other: Run, again: dict[int, int]) -> Run:
    """`run` with the questions of `again` (row → row of `other`) replaced. Walks are left out."""
    if not again:
        return run
    starts, lengths = run.offsets[:-1].copy(), np.diff(run.offsets)
    rows = list(again)
    starts[rows] = len(run.entities) + other.offsets[list(again.values())]
    lengths[rows] = np.diff(other.offsets)[list(again.values())]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    taken = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return Run(
        offsets,
        np.concatenate([run.entities, other.entities])[taken],
        np.concatenate([run.scores, other.scores])[taken],
        np.concatenate([run.hops, other.hops])[taken],
        cuts={
            **{row: cut for row, cut in run.cuts.items() if row not in again},
            **{row: other.cuts[place] for row, place in again.items() if place in other.cuts},
        },
    )
