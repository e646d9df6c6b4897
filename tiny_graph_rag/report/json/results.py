"""The results file: everything a report or another program needs, under fixed names.

Described in docs/results.md; its types are those of tiny_graph_rag/results.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from tiny_graph_rag.config.sections import COMPACT
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import latency_document, number, summary_fields
from tiny_graph_rag.report.json.explained import (
    explained_summary,
    references_of,
)
from tiny_graph_rag.report.json.spelled import (
    Made,
    Spelled,
    head,
    linked_seeds,
    numbers,
    opened,
    packed,
    ranked_json,
    rankings,
    selection_json,
)
from tiny_graph_rag.results import Entity, Linking, Question, WrittenAnswer
from tiny_graph_rag.run import Relation
from tiny_graph_rag.study.evaluate import Evaluation

QUESTIONS_AT_ONCE, ENTITIES_AT_ONCE = 1024, 8192

T = TypeVar("T")


def document_parts(
    evaluation: Evaluation, made: Made | None = None, found: dict[str, Any] | None = None
) -> Iterator[bytes]:
    """The file, piece by piece, one question a line so that people can read and diff it.

    found: its `summary`, where that has been made already.
    """
    yield opened(content_head(evaluation, found or summary(evaluation), made))
    spelled = Spelled(evaluation.graph)
    yield b',\n  "results": ['
    for first in range(0, len(evaluation.examples), QUESTIONS_AT_ONCE):
        block = range(first, min(first + QUESTIONS_AT_ONCE, len(evaluation.examples)))
        lines = map(packed, written_questions(evaluation, block, spelled))
        yield (b",\n    " if first else b"\n    ") + b",\n    ".join(lines)
    yield b'\n  ],\n  "entities": {'
    mentioned = spelled.mentioned
    for first in range(0, len(mentioned), ENTITIES_AT_ONCE):
        rows = mentioned[first : first + ENTITIES_AT_ONCE]
        yield (b",\n    " if first else b"\n    ") + b",\n    ".join(_entities_json(rows, spelled))
    yield b"\n  }\n}\n"


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
    """`summary` with what it says of answers; imported here, so that retrieval alone loads nothing of it."""
    if evaluation.answered is not None:
        from tiny_graph_rag.report.json.answers import add_answers

        return add_answers(found, evaluation.answered)
    if _links_by_model(evaluation):
        from tiny_graph_rag.report.json.answers import add_linking

        return add_linking(found, evaluation.linked, evaluation.examples)
    return found


def _links_by_model(evaluation: Evaluation) -> bool:
    return any(seed.spent is not None for seed in evaluation.linked)


def _entities_json(rows: Sequence[int], spelled: Spelled) -> Iterator[bytes]:
    """Objects of `entities`, each with its id as its key."""
    known = spelled.graph.entities
    spelled.mention(np.array(rows))
    names, descriptions = known.names.take(np.array(rows)), known.descriptions.take(np.array(rows))
    for row, name, description in zip(rows, names, descriptions, strict=True):
        yield packed(spelled.ids[row]) + b": " + packed(Entity(name, known.types[row], description))


def entities(graph: KnowledgeGraph, rows: Iterable[int]) -> dict[str, dict[str, str]]:
    """`entities` of a results file, by id: name, type and description of each, in the order of `rows`."""
    known = graph.entities
    return {
        known.ids[row]: {
            "name": known.names[row],
            "type": known.types[row],
            "description": known.descriptions[row],
        }
        for row in rows
    }


def summary(evaluation: Evaluation) -> dict[str, Any]:
    return {
        **summary_fields(
            evaluation.summary,
            evaluation.config.evaluation.top_k,
            lambda measure: mean_of(measure.compute(evaluation.judged)).mean,
        ),
        **explained_summary(evaluation.explanation, evaluation.decision),
        "latency": latency_document(evaluation.latency.seconds),
        "questions_per_second": evaluation.latency.questions_per_second,
        **_own_summary(evaluation),
    }


def _own_summary(evaluation: Evaluation) -> dict[str, Any]:
    """Where a user's function retrieved: what failed, what it used, how it answered."""
    did = evaluation.foreign
    if did is None:
        return {}
    from tiny_graph_rag.study.answer_scores import scores_of_own  # our own retrieval loads nothing of answers

    used: dict[str, float] = {}
    for usage in did.usage:
        for name, value in usage.items():
            if isinstance(value, int | float):
                used[name] = used.get(name, 0) + value
    rows = scores_of_own(did.answers, did.errors, evaluation.examples)
    scores = {
        name: np.array([row[name] for row in rows], dtype=np.float64) for name in (rows[0] if rows else ())
    }
    return {
        "own_retriever": {
            "failed": sum(error is not None for error in did.errors),
            "not_in_graph": len(did.graph) - did.known,
            "answered": sum(answer is not None for answer in did.answers),
            "answer_scores": {
                name: {"mean": number(float(np.nanmean(column))), "n": int((~np.isnan(column)).sum())}
                for name, column in scores.items()
                if not np.isnan(column).all()
            },
            "usage": used,
            "wall_seconds": did.wall_seconds,
        }
    }


def _own(evaluation: Evaluation, row: int) -> dict[str, Any]:
    did = evaluation.foreign
    if did is None:
        return {}
    return {
        "own_retriever": {
            "error": did.errors[row],
            "answer": did.answers[row],
            "context": did.contexts[row],
            "usage": did.usage[row],
        }
    }


def question(evaluation: Evaluation, row: int, spelled: Spelled | None = None) -> dict[str, Any]:
    """One object of `results`, without its answer."""
    unanswered = replace(evaluation, answered=None)
    (one,) = written_questions(unanswered, range(row, row + 1), spelled or Spelled(evaluation.graph))
    found: dict[str, Any] = msgspec.to_builtins(one, enc_hook=str)
    return found


def written_questions(evaluation: Evaluation, questions: range, spelled: Spelled) -> Iterator[Question]:
    """Objects of `results`, one a question."""
    config, run, block = evaluation.config, evaluation.run, slice(questions.start, questions.stop)
    written = config.evaluation.shown_ranks
    compact = config.running.results == COMPACT
    if compact:
        written = config.evaluation.top_k
    measures = [str(measure) for measure in evaluation.scores]
    columns = [numbers(column[block]) for column in evaluation.scores.values()]
    parts = zip(
        questions,
        rankings(run, questions, written, spelled, evaluation.reasons, walks=not compact),
        references_of(evaluation, questions, written, spelled),
        zip(*columns, strict=True) if columns else [()] * len(questions),
        confusions(evaluation, questions),
        numbers(evaluation.latency.seconds[block]),
        strict=True,
    )
    for row, ranked, references, values, (right, wrong, missed), seconds in parts:
        example = evaluation.examples[row]
        yield Question(
            id=example.id,
            query=example.query,
            context=list(example.context) or UNSET,
            ground_truth=list(example.ground_truth) or UNSET,
            tags=list(example.tags),
            group=UNSET if example.group is None else example.group,
            linked=linked_seeds(evaluation.linked[row], spelled),
            **_own(evaluation, row),
            **_kinds(evaluation, row),
            ranked=ranked,
            references=references,
            metrics=dict(zip(measures, values, strict=True)),
            answer=_answer(evaluation, row, spelled),
            tp=[spelled.names[entity] for entity in right],
            fp=[spelled.names[entity] for entity in wrong],
            fn=missed,
            latency_seconds=seconds,
            linking=_linking(evaluation, row),
        )


def _answer(evaluation: Evaluation, row: int, spelled: Spelled) -> WrittenAnswer | None:
    if evaluation.answered is None:
        return None
    from tiny_graph_rag.report.json.answers import answer  # retrieval alone loads nothing of it

    return WrittenAnswer(**answer(evaluation.answered.answers, row, spelled))


def _linking(evaluation: Evaluation, row: int) -> Linking | UnsetType:
    """What a question's links cost, where a model was asked for them."""
    if evaluation.linked[row].spent is None:
        return UNSET
    from tiny_graph_rag.report.json.answers import linking

    return Linking(**linking(evaluation.linked[row]))


def _reference(reference: Relation | str) -> dict[str, str]:
    if isinstance(reference, str):  # a passage: its id or its text
        return {"reference": reference}
    return {name: getattr(reference, name) for name in ("source", "target", "type", "id")}


def _kinds(evaluation: Evaluation, row: int) -> dict[str, Any]:
    """Relations and passages of a question, where they were judged: references, and the first ranks."""
    most = evaluation.config.evaluation.shown_ranks
    return {
        kind: {
            "references": [
                {**_reference(reference), "rank": rank}
                for reference, rank in zip(judged.references[row], judged.ranks[row], strict=True)
            ],
            "ranked": [item._asdict() for item in judged.rankings[row][:most]],
        }
        for kind, judged in evaluation.judged.kinds.items()
        if judged is not None
    }


def confusions(evaluation: Evaluation, questions: range) -> Iterator[tuple[list[int], list[int], list[str]]]:
    """Of each question the entities that the first k hold correctly and wrongly, and the references
    missed."""
    judged, cutoff = evaluation.judged, evaluation.config.evaluation.top_k
    block = slice(questions.start, questions.stop)
    rows, items = judged.rows[block, :cutoff], judged.items[block, :cutoff]
    right, wrong = items != NO_ITEM, (items == NO_ITEM) & (rows != NO_ROW)
    filled = np.zeros(len(evaluation.judgments.grades), dtype=bool)
    filled[items[right]] = True
    references = evaluation.judgments.references.of_questions(np.asarray(questions))
    owner = references.questions
    missed = ~filled[evaluation.judgments.item_offsets[block][owner] + references.items]
    names = [references.named[code].name for code in references.codes[missed].tolist()]
    ranked = evaluation.run.entities
    yield from zip(
        _split(ranked[rows[right]].tolist(), right.sum(axis=1)),
        _split(ranked[rows[wrong]].tolist(), wrong.sum(axis=1)),
        _split(names, np.bincount(owner[missed], minlength=len(questions))),
        strict=True,
    )


def _split(values: list[T], counts: NDArray[np.integer[Any]]) -> Iterator[list[T]]:
    """Of each question its values. counts: how many each has."""
    for low, high in pairwise([0, *np.cumsum(counts).tolist()]):
        yield values[low:high]


def ranked(evaluation: Evaluation, row: int, most: int, spelled: Spelled) -> list[dict[str, Any]]:
    """The first `most` entities of a question's ranking."""
    reasons = None if evaluation.reasons is None else evaluation.reasons[row]
    return ranked_json(evaluation.run, row, most, spelled, reasons)


def dataset_json(examples: EvalSet) -> dict[str, Any]:
    """`dataset` of a results file: which gold set, and what was left of it."""
    selection = selection_json(examples.selection)
    return {"name": examples.name, "sha256": examples.sha256, "selection": selection}
