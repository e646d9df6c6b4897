"""The results file: everything a report or another program needs, under fixed names.

Described in docs/results.md; its types are those of tiny_graph_rag/results.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import latency_of, summary_fields
from tiny_graph_rag.messages import verbatim
from tiny_graph_rag.report.json.questions import question
from tiny_graph_rag.report.json.spelled import Made, Spelled, dataset_json, head, said_json, with_lines
from tiny_graph_rag.results import Entity, as_read, encoded
from tiny_graph_rag.study.advice import recommendations
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.waterfall import WITHIN_HOPS

EXPLAINED = ("verdicts", "causes", "waterfall", "waterfall_by_tag", "ties")


def document_parts(
    evaluation: Evaluation, made: Made | None = None, found: dict[str, Any] | None = None
) -> Iterator[bytes]:
    """The file, piece by piece, one question a line. found: its `summary`, where that has been made
    already."""
    spelled = Spelled(evaluation.graph)
    yield from with_lines(
        content_head(evaluation, found or summary(evaluation), made),
        "results",
        (encoded(question(evaluation, row, spelled)) for row in range(len(evaluation.examples))),
        lambda: {"entities": entities(evaluation.graph, spelled.mentioned)},
    )


def content_head(evaluation: Evaluation, found: dict[str, Any], made: Made | None = None) -> dict[str, Any]:
    """Everything that the file holds but its questions and entities. found: its `summary`."""
    return head(
        "eval",
        made,
        graph={"name": evaluation.graph.name, "sha256": evaluation.graph.sha256},
        dataset=dataset_json(evaluation.examples),
        config=evaluation.config.as_dict(),
        summary=_with_answers(found, evaluation),
    )


def _with_answers(found: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """`summary` with what it says of answers and of links that a model made."""
    if evaluation.answered is None and all(linked.spent is None for linked in evaluation.linked):
        return found
    from tiny_graph_rag.report.json.answers import add_answers, add_linking  # retrieval alone loads none

    if evaluation.answered is not None:
        return add_answers(found, evaluation.answered)
    return add_linking(found, evaluation.linked, evaluation.examples)


def entities(graph: KnowledgeGraph, rows: Iterable[int]) -> dict[str, Entity]:
    """`entities` of a results file, by id, in the order of `rows`."""
    known, wanted = graph.entities, np.array(list(rows), dtype=np.int64)
    ids, names, texts = (column.take(wanted) for column in (known.ids, known.names, known.descriptions))
    return {
        id: Entity(name, known.types[row], text)
        for id, name, text, row in zip(ids, names, texts, wanted.tolist(), strict=True)
    }


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """`summary` of the file, as its readers get it."""
    explained, decision = evaluation.explanation, evaluation.decision
    linking = None if explained.gold_seeds is None else as_read(explained.gold_seeds)
    found = {
        **summary_fields(
            evaluation.summary,
            evaluation.config.evaluation.top_k,
            lambda measure: mean_of(measure.compute(evaluation.judged)).mean,
        ),
        **{name: getattr(explained, name) for name in EXPLAINED},
        "oracle_recall": next(
            (step.recall for step in explained.waterfall if step.step == WITHIN_HOPS), None
        ),
        "waterfall_gold_seeds": (linking.pop("from_gold") or None) if linking else None,
        "linking": linking,
        "recommendations": [
            as_read(advice) | said_json(advice.text) for advice in recommendations(explained, decision)
        ],
        "latency": latency_of(evaluation.latency.seconds),
        "questions_per_second": evaluation.latency.questions_per_second,
        **_own_summary(evaluation),
    }
    if explained.unlinked is not None:
        found["not_recognised"] = explained.unlinked
    if decision is not None:
        found["decision"] = as_read(decision) | said_json(verbatim(decision.reason))
    return dict(as_read(found))


def _own_summary(evaluation: Evaluation) -> dict[str, Any]:
    """Where a user's function retrieved: what failed, what it used, how it answered."""
    did = evaluation.foreign
    if did is None:
        return {}
    from tiny_graph_rag.study.answer_scores import scores_of_own  # our own retrieval loads nothing of answers

    used: Counter[str] = Counter()
    for usage in did.usage:
        used.update({name: value for name, value in usage.items() if isinstance(value, int | float)})
    rows = scores_of_own(did.answers, did.errors, evaluation.examples)
    means = {name: mean_of(np.array([row[name] for row in rows])) for name in (rows[0] if rows else ())}
    return {
        "own_retriever": {
            "failed": sum(error is not None for error in did.errors),
            "not_in_graph": len(did.graph) - did.known,
            "answered": sum(answer is not None for answer in did.answers),
            "answer_scores": {
                name: {"mean": mean.mean, "n": mean.n} for name, mean in means.items() if mean.n
            },
            "usage": used,
            "wall_seconds": did.wall_seconds,
        }
    }
