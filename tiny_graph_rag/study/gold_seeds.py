"""What linking costs: the same retrieval from the seeds that the gold set names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.linking.gold import GoldLinker
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.measures import judge
from tiny_graph_rag.retrieval.base import Retriever
from tiny_graph_rag.study.verdicts import Diagnosis, Step, diagnose, waterfall


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


def gold_links(
    graph: KnowledgeGraph,
    names: NameIndex,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion] | None = None,
) -> list[LinkedQuestion]:
    """Each question with its seed_entities as seeds. linked: the questions as linked already, if they are."""
    linker = GoldLinker(NameLinker(graph, names))
    return linker.link(examples) if linked is None else linker.from_linked(examples, linked)


def with_gold_seeds(
    graph: KnowledgeGraph,
    linked: Sequence[LinkedQuestion],
    gold: Sequence[LinkedQuestion],
    rows: NDArray[np.int64],
    judgments: Judgments,
    retriever: Retriever,
    found: Diagnosis,
) -> GoldSeeds | None:
    """rows: the questions with gold that name their seeds; None where there are none. found: of what was
    linked. Only questions whose seeds differ are asked again."""
    if not len(rows):
        return None
    other = [row for row in rows.tolist() if _weights(gold[row]) != _weights(linked[row])]
    ideal = found
    if other:
        asked, mine = [gold[row] for row in other], judgments.of_questions(np.array(other))
        again = retriever.retrieve(asked)
        told = diagnose(graph, asked, again, mine, judge(again, mine), found.limits, found.cutoff)
        ideal = replace(found, verdicts=found.verdicts.copy())
        ideal.verdicts[stretches(judgments.item_offsets[other], judgments.relevant[other])] = told.verdicts
    linked_entities = [{seed.entity for seed in linked[row].seeds} for row in rows.tolist()]
    gold_entities = [{seed.entity for seed in gold[row].seeds} for row in rows.tolist()]
    common = [len(one & two) for one, two in zip(linked_entities, gold_entities, strict=True)]
    precision = [c / len(one) for c, one in zip(common, linked_entities, strict=True) if one]
    recall = [c / len(two) for c, two in zip(common, gold_entities, strict=True) if two]
    return GoldSeeds(
        len(rows),
        waterfall(ideal, judgments.relevant, rows),
        waterfall(found, judgments.relevant, rows),
        float(np.mean(precision)) if precision else float("nan"),
        float(np.mean(recall)) if recall else float("nan"),
    )


def _weights(question: LinkedQuestion) -> dict[int, float]:
    return {seed.entity: seed.weight for seed in question.seeds}
