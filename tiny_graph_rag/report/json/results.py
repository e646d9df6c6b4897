"""The results file: everything a report or another program needs, under fixed names.

Described in docs/results.md; `results.schema.json` beside this module is tested against what is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW
from tiny_graph_rag.report.json.explained import (
    explained_summary,
    perturbed_json,
    reference_evidence,
)
from tiny_graph_rag.report.json.numbers import (
    Made,
    head,
    headline,
    latency_document,
    number,
    opened,
    slice_document,
)
from tiny_graph_rag.report.json.spelled import Spelled, linked_json, ranked_json
from tiny_graph_rag.study.evaluate import Evaluation


def document_parts(evaluation: Evaluation, made: Made | None = None) -> Iterator[bytes]:
    """The file, piece by piece, one question a line so that people can read and diff it."""
    fields = {
        "graph": {"name": evaluation.graph.name, "sha256": evaluation.graph.sha256},
        "dataset": dataset_json(evaluation.examples),
        "config": evaluation.config.as_dict(),
        "summary": _with_answers(summary(evaluation), evaluation),
    }
    yield opened(head("eval", made, **fields))
    spelled = Spelled(evaluation.graph)
    encode = msgspec.json.Encoder().encode
    yield b',\n  "results": ['
    for row in range(len(evaluation.examples)):
        found = question(evaluation, row, spelled) | _answer(evaluation, row, spelled)
        yield (b",\n    " if row else b"\n    ") + encode(found)
    yield b'\n  ],\n  "entities": {'
    for place, (entity_id, each) in enumerate(entities(evaluation.graph, spelled.mentioned).items()):
        yield (b",\n    " if place else b"\n    ") + encode(entity_id) + b": " + encode(each)
    yield b"\n  }\n}\n"


def _with_answers(found: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """`summary` with what it says of answers; imported here, so that retrieval alone loads nothing of it."""
    if evaluation.perturbed:
        found = {**found, "perturbations": [perturbed_json(each) for each in evaluation.perturbed]}
    if evaluation.answered is not None:
        from tiny_graph_rag.report.json.answers import add_answers

        return add_answers(found, evaluation.answered)
    if _links_by_model(evaluation):
        from tiny_graph_rag.report.json.answers import add_linking

        return add_linking(found, evaluation.linked, evaluation.examples)
    return found


def _links_by_model(evaluation: Evaluation) -> bool:
    return any(each.spent is not None for each in evaluation.linked)


def _answer(evaluation: Evaluation, row: int, spelled: Spelled) -> dict[str, Any]:
    """What a question's links and answer cost and say, where a model was asked for them."""
    found: dict[str, Any] = {}
    if evaluation.linked[row].spent is not None:
        from tiny_graph_rag.report.json.answers import linking

        found["linking"] = linking(evaluation.linked[row])
    if evaluation.answered is not None:
        from tiny_graph_rag.report.json.answers import answer

        found["answer"] = answer(evaluation.answered.answers, row, spelled)
    return found


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
    overall = evaluation.summary.overall
    cutoff = evaluation.config.evaluation.top_k
    return {
        "k": cutoff,
        **headline(overall.measures, cutoff),
        "total_token_usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        "estimated_cost_usd": 0.0,
        **slice_document(overall),
        "by_tag": {tag: slice_document(each) for tag, each in evaluation.summary.by_tag.items()},
        **explained_summary(evaluation.explanation, evaluation.trials),
        "latency": latency_document(evaluation.latency.seconds),
        "questions_per_second": evaluation.latency.questions_per_second,
    }


def question(evaluation: Evaluation, row: int, spelled: Spelled | None = None) -> dict[str, Any]:
    """One object of `results`. spelled: shared by questions that are written together."""
    example, spelled = evaluation.examples[row], spelled or Spelled(evaluation.graph)
    written = evaluation.config.evaluation.shown_ranks
    return {
        "id": example.id,
        "query": example.query,
        **({"context": list(example.context)} if example.context else {}),
        **({"ground_truth": list(example.ground_truth)} if example.ground_truth else {}),
        "tags": list(example.tags),
        "linked": linked_json(evaluation.linked[row], spelled),
        "ranked": ranked(evaluation, row, written, spelled),
        "references": [
            {
                "name": reference.name,
                "grade": reference.grade,
                "entity_ids": [spelled.ids[entity] for entity in reference.entities],
                "resolved_by": reference.resolved_by,
                "ambiguous": reference.is_ambiguous,
                "shares_entity": reference.shares_entity,
                **evidence,
            }
            for reference, evidence in zip(
                evaluation.judgments.references[row],
                reference_evidence(evaluation, row, written, spelled),
                strict=True,
            )
        ],
        "metrics": {str(each): number(column[row]) for each, column in evaluation.scores.items()},
        "answer": None,
        **confusion(evaluation, row, spelled),
        "latency_seconds": number(evaluation.latency.seconds[row]),
    }


def confusion(evaluation: Evaluation, row: int, spelled: Spelled) -> dict[str, list[str]]:
    """Names of what the first k hold rightly (tp) and wrongly (fp), and of the references they miss (fn)."""
    judged, cutoff = evaluation.judged, evaluation.config.evaluation.top_k
    places = [
        (spelled.names[int(evaluation.run.entities[at])], int(item))
        for at, item in zip(
            judged.rows[row, :cutoff].tolist(), judged.items[row, :cutoff].tolist(), strict=True
        )
        if at != NO_ROW
    ]
    first = int(evaluation.judgments.item_offsets[row])
    filled = {item - first for _, item in places if item != NO_ITEM}
    return {
        "tp": [name for name, item in places if item != NO_ITEM],
        "fp": [name for name, item in places if item == NO_ITEM],
        "fn": [each.name for each in evaluation.judgments.references[row] if each.item not in filled],
    }


def ranked(evaluation: Evaluation, row: int, most: int, spelled: Spelled) -> list[dict[str, Any]]:
    """The first `most` entities of a question's ranking."""
    reasons = None if evaluation.reasons is None else evaluation.reasons[row]
    return ranked_json(evaluation.run, row, most, spelled, reasons)


def dataset_json(examples: EvalSet) -> dict[str, Any]:
    """`dataset` of a results file: which gold set, and what was left of it."""
    chosen = examples.selection
    return {
        "name": examples.name,
        "sha256": examples.sha256,
        "selection": {"limit": chosen.limit, "tags": list(chosen.tags), "ids": list(chosen.ids)}
        if chosen
        else None,
    }
