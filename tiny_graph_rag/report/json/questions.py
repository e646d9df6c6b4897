"""Questions of a results file: what each was linked to, what was ranked, what became of its references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from tiny_graph_rag.graph.bfs import NOT_REACHED
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW
from tiny_graph_rag.report.json.spelled import Spelled, linked_seeds, ranking
from tiny_graph_rag.results import Question, Reference
from tiny_graph_rag.run import Relation
from tiny_graph_rag.study.waterfall import NO_ENTITY, NO_RANK, Verdict

if TYPE_CHECKING:  # a single question has no evaluation
    from tiny_graph_rag.study.evaluate import Evaluation

VERDICTS = tuple(map(str, Verdict))


def question(evaluation: Evaluation, row: int, spelled: Spelled) -> Question:
    """One object of `results`."""
    config, example = evaluation.config, evaluation.examples[row]
    written = config.evaluation.shown_ranks
    reasons = () if evaluation.reasons is None else evaluation.reasons[row]
    right, wrong, missed = confusion(evaluation, row)
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
        references=references_of(evaluation, row, written, spelled),
        metrics={str(measure): float(column[row]) for measure, column in evaluation.scores.items()},
        tp=[spelled.names[entity] for entity in right],
        fp=[spelled.names[entity] for entity in wrong],
        fn=missed,
        latency_seconds=float(evaluation.latency.seconds[row]),
    )


def _of_others(evaluation: Evaluation, row: int, spelled: Spelled) -> dict[str, Any]:
    """What only some questions have: what a function of the user's said next to its ranking, a model's answer
    and what its links cost, relations and passages with their references and first ranks."""
    did, answered, linked = evaluation.foreign, evaluation.answered, evaluation.linked[row]
    found: dict[str, Any] = {}
    if did is not None:
        own = (did.errors[row], did.answers[row], did.contexts[row], did.usage[row])
        found["own_retriever"] = dict(zip(("error", "answer", "context", "usage"), own, strict=True))
    if answered is not None or linked.spent is not None:
        from tiny_graph_rag.report.json import answers  # retrieval alone loads nothing of it

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


def confusion(evaluation: Evaluation, row: int) -> tuple[list[int], list[int], list[str]]:
    """The entities that the first k of a question hold correctly and wrongly, and the references missed."""
    judged, cutoff = evaluation.judged, evaluation.config.evaluation.top_k
    ranks = list(zip(judged.rows[row, :cutoff].tolist(), judged.items[row, :cutoff].tolist(), strict=True))
    ranked, first_item = evaluation.run.entities, int(evaluation.judgments.item_offsets[row])
    filled = {item - first_item for _, item in ranks if item != NO_ITEM}
    return (
        [int(ranked[place]) for place, item in ranks if item != NO_ITEM],
        [int(ranked[place]) for place, item in ranks if item == NO_ITEM and place != NO_ROW],
        [one.name for one in evaluation.judgments.references[row] if one.item not in filled],
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
        is_listed = verdict >= Verdict.RANKED_BELOW_K  # so is a hit
        if is_listed and entity != NO_ENTITY:
            record.matched = spelling_of(spelled, entity, reference.name)
        elif verdict == Verdict.NOT_IN_GRAPH:
            record.nearest = [near.name for near in explanation.nearest.get(reference.name, ())]
        elif verdict == Verdict.NO_SEED:
            record.tried = list(evaluation.linked[row].tried)
        if verdict == Verdict.RANKED_BELOW_K:
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
