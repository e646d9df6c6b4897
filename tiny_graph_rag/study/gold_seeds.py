"""What linking costs: the same retrieval from names alone, and from the seeds of the gold set.

Questions in which no entity was recognised by name (`NotRecognised`) are the first thing to mend, whatever
texts find instead.
"""

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
from tiny_graph_rag.linking.names import GoldLinker, NameLinker
from tiny_graph_rag.measures import judge
from tiny_graph_rag.results import NearestName, NotRecognised
from tiny_graph_rag.retrieval.base import Retriever
from tiny_graph_rag.study.verdicts import diagnose
from tiny_graph_rag.study.waterfall import Diagnosis, WaterfallStep, waterfall

ASKED_AGAIN = 2000  # questions retrieved again, at most, for the waterfall from other seeds


@dataclass(frozen=True, slots=True)
class GoldSeeds:
    """Over the questions with gold and seed_entities.

    waterfall: from the gold seeds, () where too many questions would be asked again; linked_waterfall: from
    the linked ones, over the same questions: what lies between the two is linking's. precision: mean share of
    the entities linked by name that are gold seeds, over the questions that linked to something (NaN without
    any); recall: mean share of gold seeds linked by name.
    """

    questions: int
    waterfall: tuple[WaterfallStep, ...]
    linked_waterfall: tuple[WaterfallStep, ...]
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


@dataclass(slots=True, eq=False)
class OtherSeeds:
    """Diagnoses of one gold set from other seeds than those linked.

    known: seeds and the diagnosis from them, of which a question with the same seeds takes its part: only the
    others are retrieved again.
    """

    graph: KnowledgeGraph
    judgments: Judgments
    retriever: Retriever
    known: list[tuple[Sequence[LinkedQuestion], Diagnosis]]

    def _unknown(self, seeds: Sequence[LinkedQuestion], rows: NDArray[np.int64]) -> list[int]:
        """The questions of `rows` that no known diagnosis speaks of."""
        return [
            row
            for row in rows.tolist()
            if not any(_weights(seeds[row]) == _weights(linked[row]) for linked, _ in self.known)
        ]

    def of(self, seeds: Sequence[LinkedQuestion], rows: NDArray[np.int64]) -> Diagnosis | None:
        """What becomes of the references of `rows` from these seeds; those of other questions are as linked.
        None where too many questions would be asked again."""
        judgments, found = self.judgments, self.known[0][1]
        verdicts = found.verdicts.copy()
        other = self._unknown(seeds, rows)
        if len(other) > ASKED_AGAIN:
            return None
        for linked, diagnosis in reversed(self.known):
            same = [row for row in rows.tolist() if _weights(seeds[row]) == _weights(linked[row])]
            items = stretches(judgments.item_offsets[same], judgments.relevant[same])
            verdicts[items] = diagnosis.verdicts[items]
        if other:
            asked, mine = [seeds[row] for row in other], judgments.of_questions(np.array(other))
            again = self.retriever.retrieve(asked)
            of_other = diagnose(
                self.graph, asked, again, mine, judge(again, mine), found.limits, found.cutoff
            )
            verdicts[stretches(judgments.item_offsets[other], judgments.relevant[other])] = of_other.verdicts
        diagnosis = replace(found, verdicts=verdicts)
        self.known.append((seeds, diagnosis))
        return diagnosis


def by_names_alone(other: OtherSeeds, relevant: NDArray[np.int64]) -> Diagnosis | None:
    """From the seeds that the questions name; None where too many would be asked again."""
    named = [replace(question, seeds=question.named) for question in other.known[0][0]]
    return other.of(named, np.flatnonzero(relevant > 0))


def from_gold_seeds(
    other: OtherSeeds, gold: Sequence[LinkedQuestion], rows: NDArray[np.int64]
) -> GoldSeeds | None:
    """rows: the questions with gold that name their seeds; None where there are none."""
    if not len(rows):
        return None
    relevant, (linked, as_run) = other.judgments.relevant, other.known[0]
    ideal = other.of(gold, rows)
    named = [{seed.entity for seed in linked[row].named} for row in rows.tolist()]
    given = [{seed.entity for seed in gold[row].seeds} for row in rows.tolist()]
    common = [len(one & two) for one, two in zip(named, given, strict=True)]
    precision = [c / len(one) for c, one in zip(common, named, strict=True) if one]
    recall = [c / len(two) for c, two in zip(common, given, strict=True) if two]
    return GoldSeeds(
        len(rows),
        () if ideal is None else waterfall(ideal, relevant, rows),
        waterfall(as_run, relevant, rows),
        float(np.mean(precision)) if precision else float("nan"),
        float(np.mean(recall)) if recall else float("nan"),
    )


def _weights(question: LinkedQuestion) -> dict[tuple[int, bool], float]:
    """What a retriever starts from. A gold seed is one that the question names."""
    return {(seed.entity, seed.is_text): seed.weight for seed in question.seeds}


SHOWN = 3  # questions whose nearest names are looked up
LIKELY = 0.8  # likeness of a name worth showing: "looking" is .73 like Loki, "Bertrram" .93 like Bertram


def unlinked_questions(
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion],
    relevant: NDArray[np.int64],
) -> NotRecognised | None:
    """Of the questions with a reference, those that name something by the gold set or may do so.

    None where every question was recognised. One whose gold `seed_entities` are empty names nothing, and
    one that failed was never linked: neither counts."""
    rows = [
        row
        for row in np.flatnonzero(relevant > 0).tolist()
        if examples[row].seed_entities != () and linked[row].error is None
    ]
    without = [row for row in rows if not linked[row].named]
    if not without:
        return None
    return NotRecognised(
        len(without),
        len(rows),
        sum(bool(linked[row].by_text) for row in without),
        _nearest(graph, [examples[row] for row in without]),
    )


def _nearest(graph: KnowledgeGraph, examples: Sequence[Example]) -> list[NearestName]:
    """Of the first questions with a name that is like some of their words."""
    from tiny_graph_rag.graph.nearest import nearest_names

    names, found = NameIndex.of(graph), list[NearestName]()
    for example in examples[: 4 * SHOWN]:
        found += [
            NearestName(example.id, near.words, near.name)
            for near in nearest_names(example.query, names, 1)
            if near.likeness >= LIKELY
        ]
        if len(found) == SHOWN:
            break
    return found
