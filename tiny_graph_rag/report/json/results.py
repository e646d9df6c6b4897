"""The results file of `eval`: everything a report or another program needs, under fixed names. What each
question was linked to, what was ranked, what became of its references.

Described in docs/results.md; its types are those of tiny_graph_rag/results.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import UNSET

from tiny_graph_rag.graph.bfs import NOT_REACHED
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import latency_of, summary_fields
from tiny_graph_rag.messages import verbatim
from tiny_graph_rag.report.json import (
    Made,
    Spelled,
    dataset_json,
    head,
    linked_seeds,
    ranking,
    said_json,
    with_lines,
)
from tiny_graph_rag.results import Entity, Question, Reference, as_read, encoded
from tiny_graph_rag.run import Relation
from tiny_graph_rag.study.advice import recommendations
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.waterfall import NO_ENTITY, NO_RANK, Verdict

EXPLAINED = ("verdicts", "oracle_recall", "waterfall", "waterfall_by_tag", "ties")
VERDICTS, HIT = tuple(map(str, Verdict)), str(Verdict.HIT)
OWN_FIELDS = ("error", "answer", "context", "usage")


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
    for reply in did.replies:
        used.update({name: value for name, value in reply.usage.items() if isinstance(value, int | float)})
    answers = [reply.answer for reply in did.replies]
    rows = scores_of_own(answers, evaluation.examples)
    means = {name: mean_of(np.array([row[name] for row in rows])) for name in (rows[0] if rows else ())}
    return {
        "own_retriever": {
            "failed": sum(reply.error is not None for reply in did.replies),
            "not_in_graph": len(did.graph) - did.known,
            "answered": len(answers) - answers.count(None),
            "answer_scores": {
                name: {"mean": mean.mean, "n": mean.n} for name, mean in means.items() if mean.n
            },
            "usage": used,
            "wall_seconds": did.wall_seconds,
        }
    }


def question(evaluation: Evaluation, row: int, spelled: Spelled) -> Question:
    """One object of `results`."""
    example, written = evaluation.examples[row], evaluation.config.evaluation.shown_ranks
    reasons = () if evaluation.reasons is None else evaluation.reasons[row]
    right, wrong = top_entities(evaluation, row)
    references = references_of(evaluation, row, written, spelled)
    return Question(
        id=example.id,
        query=example.query,
        context=list(example.context) or UNSET,
        ground_truth=list(example.ground_truth) or UNSET,
        tags=list(example.tags),
        group=UNSET if example.group is None else example.group,
        linked=linked_seeds(evaluation.linked[row], spelled),
        **_of_others(evaluation, row, spelled),
        ranked=ranking(evaluation.run, row, written, spelled, reasons),
        references=references,
        metrics={str(measure): column.item(row) for measure, column in evaluation.scores.items()},
        tp=[spelled.names[entity] for entity in right],
        fp=[spelled.names[entity] for entity in wrong],
        fn=[reference.name for reference in references if reference.verdict != HIT],
        latency_seconds=float(evaluation.latency.seconds[row]),
    )


def _of_others(evaluation: Evaluation, row: int, spelled: Spelled) -> dict[str, Any]:
    """What only some questions have: what a function of the user's said next to its ranking, a model's answer
    and what its links cost, relations and passages with their references and first ranks."""
    did, answered, linked = evaluation.foreign, evaluation.answered, evaluation.linked[row]
    found: dict[str, Any] = {}
    if did is not None:
        found["own_retriever"] = {name: getattr(did.replies[row], name) for name in OWN_FIELDS}
    if answered is not None or linked.spent is not None:
        from tiny_graph_rag.report.json import answers  # retrieval alone loads none

        found["answer"] = None if answered is None else answers.answer(answered.answers, row, spelled)
        found["linking"] = UNSET if linked.spent is None else answers.linking(linked)
    for kind, judged in evaluation.judged.kinds.items():
        if judged is not None:
            references = zip(judged.references[row], judged.ranks[row], strict=True)
            ranked = judged.rankings[row][: evaluation.config.evaluation.shown_ranks]
            found[kind] = {
                "references": [{**_reference(reference), "rank": rank} for reference, rank in references],
                "ranked": [item._asdict() for item in ranked],
            }
    return found


def _reference(reference: Relation | str) -> dict[str, str]:
    if isinstance(reference, str):  # a passage: its id or its text
        return {"reference": reference}
    return {name: getattr(reference, name) for name in ("source", "target", "type", "id")}


def top_entities(evaluation: Evaluation, row: int) -> tuple[list[int], list[int]]:
    """The entities that the first k of a question hold correctly and wrongly."""
    judged, cutoff, ranked = evaluation.judged, evaluation.config.evaluation.top_k, evaluation.run.entities
    ranks = list(zip(judged.rows[row, :cutoff].tolist(), judged.items[row, :cutoff].tolist(), strict=True))
    return (
        [int(ranked[place]) for place, item in ranks if item != NO_ITEM],
        [int(ranked[place]) for place, item in ranks if item == NO_ITEM and place != NO_ROW],
    )


def references_of(evaluation: Evaluation, row: int, written_ranks: int, spelled: Spelled) -> list[Reference]:
    """The references of a question: as written, and what became of them with what shows it.

    written_ranks: how much of the ranking the file holds; a path that stands there is not repeated here.
    """
    explanation, judgments, run = evaluation.explanation, evaluation.judgments, evaluation.run
    diagnosis, references, rows = explanation.diagnosis, judgments.references[row], run.rows(row)
    first, last = judgments.item_offsets[row : row + 2].tolist()
    columns = (diagnosis.verdicts, diagnosis.entities, diagnosis.ranks, diagnosis.hops, diagnosis.rows)
    became = list(zip(*(column[first:last].tolist() for column in columns), strict=True))
    wanted = {entity for reference in references for entity in reference.entities}
    first_ranks = run.entities[rows][: diagnosis.cutoff].tolist()
    above = [spelled.ids[entity] for entity in first_ranks if entity not in wanted]  # would have to make room
    not_in_graph, no_seed, below_k = Verdict.NOT_IN_GRAPH, Verdict.NO_SEED, Verdict.RANKED_BELOW_K
    records = []
    for reference in references:
        verdict, entity, rank, hop, ranked_at = became[reference.item]
        record = Reference(
            reference.name,
            reference.grade,
            [spelled.ids[entity] for entity in reference.entities],
            reference.resolved_by,
            len(reference.entities) > 1,
            reference.shares_entity,
            VERDICTS[verdict],
            None if rank == NO_RANK else rank,
            None if hop == NOT_REACHED else hop,
        )
        is_listed = verdict >= below_k  # so is a hit
        if is_listed and entity != NO_ENTITY:
            record.matched = spelling_of(spelled, entity, reference.name)
        elif verdict == not_in_graph:
            record.nearest = [near.name for near in explanation.nearest.get(reference.name, ())]
        elif verdict == no_seed:
            record.tried = list(evaluation.linked[row].tried)
        if verdict == below_k:
            record.above = above
        if (path := explanation.missed.get(first + reference.item)) is not None:
            record.path = spelled.path(entity, path)
        elif is_listed and run.walks is not None and ranked_at - rows.start >= written_ranks:
            record.path = spelled.path(entity, run.walks[ranked_at].tolist())
        records.append(record)
    return records


def spelling_of(spelled: Spelled, entity: int, reference: str) -> str:
    """The name or alias of the entity that the reference matched."""
    if spelled.names[entity] == reference:
        return reference
    known = [spelled.names[entity], *spelled.graph.entities.aliases[entity]]
    exact: Iterator[str] = (name for name in known if nfc(name) == nfc(reference))
    return next(exact, next((name for name in known if fold(name) == fold(reference)), known[0]))
