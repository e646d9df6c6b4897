"""What linking costs: how far the names alone lead, and the same retrieval from the seeds of the gold set.

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
from tiny_graph_rag.results import NotRecognised
from tiny_graph_rag.retrieval.base import Retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.verdicts import diagnose
from tiny_graph_rag.study.waterfall import Diagnosis, Verdict, WaterfallStep

ASKED_AGAIN = 2000  # questions retrieved again, at most, for the waterfall from gold seeds


@dataclass(frozen=True, slots=True)
class GoldSeeds:
    """Over the questions with gold and seed_entities.

    seed_precision: mean share of the entities linked by name that are gold seeds, over the questions that
    linked to something (NaN without any); seed_recall: mean share of gold seeds linked by name. waterfall:
    from the linked seeds; from_gold: from the gold ones, over the same questions: what lies between the two
    is linking's; () where too many questions would be asked again.
    """

    questions: int
    seed_precision: float
    seed_recall: float
    waterfall: tuple[WaterfallStep, ...]
    from_gold: tuple[WaterfallStep, ...]


def gold_links(
    graph: KnowledgeGraph,
    names: NameIndex,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion] | None = None,
) -> list[LinkedQuestion]:
    """Each question with its seed_entities as seeds. linked: the questions as linked already, if they are."""
    linker = GoldLinker(NameLinker(graph, names))
    return linker.link(examples) if linked is None else linker.from_linked(examples, linked)


def reached_by_names(
    graph: KnowledgeGraph, judgments: Judgments, linked: Sequence[LinkedQuestion], found: Diagnosis
) -> NDArray[np.int8]:
    """(items,): the verdicts, but of what was missed in a question with seeds by text: how far paths from the
    seeds that it names lead, BELOW_DEPTH where they lead to it within the hops."""
    missed = np.unique(found.questions[found.verdicts != Verdict.HIT]).tolist()
    rows = [row for row in missed if linked[row].by_text]
    named = [replace(linked[row], seeds=linked[row].named) for row in rows]
    return _verdicts_again(graph, judgments, named, rows, Run.empty(len(rows)), found)


def from_gold_seeds(
    graph: KnowledgeGraph,
    judgments: Judgments,
    retriever: Retriever,
    linked: Sequence[LinkedQuestion],
    gold: Sequence[LinkedQuestion],
    rows: NDArray[np.int64],
    found: Diagnosis,
) -> GoldSeeds | None:
    """rows: the questions with gold that name their seeds; None where there are none. Those whose gold seeds
    are others than linked are retrieved again."""
    if not len(rows):
        return None
    other = [row for row in rows.tolist() if _weights(gold[row]) != _weights(linked[row])]
    ideal: tuple[WaterfallStep, ...] = ()
    if len(other) <= ASKED_AGAIN:
        asked = [gold[row] for row in other]
        again = _verdicts_again(graph, judgments, asked, other, retriever.retrieve(asked), found)
        ideal = found.waterfalls({"": rows}, again)[""]
    named = [{seed.entity for seed in linked[row].named} for row in rows.tolist()]
    given = [{seed.entity for seed in gold[row].seeds} for row in rows.tolist()]
    common = [len(one & two) for one, two in zip(named, given, strict=True)]
    precision = [c / len(one) for c, one in zip(common, named, strict=True) if one]
    recall = [c / len(two) for c, two in zip(common, given, strict=True) if two]
    return GoldSeeds(
        len(rows),
        float(np.mean(precision)) if precision else float("nan"),
        float(np.mean(recall)) if recall else float("nan"),
        found.waterfalls({"": rows})[""],
        ideal,
    )


def _verdicts_again(
    graph: KnowledgeGraph,
    judgments: Judgments,
    asked: Sequence[LinkedQuestion],
    rows: Sequence[int],
    run: Run,
    found: Diagnosis,
) -> NDArray[np.int8]:
    """(items,): the verdicts, those of the questions `rows` by this run from these seeds."""
    verdicts, mine = found.verdicts.copy(), judgments.of_questions(np.array(rows, dtype=np.int64))
    again = diagnose(graph, asked, run, mine, judge(run, mine), found.limits, found.cutoff)
    verdicts[stretches(judgments.item_offsets[rows], judgments.relevant[rows])] = again.verdicts
    return verdicts


def _weights(question: LinkedQuestion) -> dict[tuple[int, bool], float]:
    """What a retriever starts from. A gold seed is one that the question names."""
    return {(seed.entity, seed.is_text): seed.weight for seed in question.seeds}


def unlinked_questions(
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
    )
