"""The part of a results file that says why: verdicts with their evidence, waterfalls, ties, hop tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import UNSET

from tiny_graph_rag.columns.arrays import found_in, stretches
from tiny_graph_rag.config.sections import COMPACT
from tiny_graph_rag.graph.bfs import NOT_REACHED
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.measures.summary import number
from tiny_graph_rag.messages import verbatim
from tiny_graph_rag.report.json.spelled import Remembered, Spelled, said_json, steps_json
from tiny_graph_rag.results import Reference, Step
from tiny_graph_rag.run import NO_STEP
from tiny_graph_rag.study.advice import recommendations
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.explanation import Explanation, Ties
from tiny_graph_rag.study.waterfall import NO_ENTITY, NO_RANK, WITHIN_HOPS, Verdict, WaterfallStep

if TYPE_CHECKING:
    from tiny_graph_rag.results import Decision

VERDICTS = tuple(map(str, Verdict))
LISTED = (Verdict.RANKED_BELOW_K, Verdict.HIT)


def explained_summary(found: Explanation, decision: Decision | None = None) -> dict[str, Any]:
    gold = found.gold_seeds
    return {
        "verdicts": found.verdicts,
        "causes": found.causes,
        "waterfall": steps_json(found.waterfall),
        "waterfall_by_tag": {tag: steps_json(part) for tag, part in found.waterfall_by_tag.items()},
        "oracle_recall": oracle_recall(found.waterfall),
        "waterfall_names": steps_json(found.waterfall_names) or None,
        "waterfall_gold_seeds": steps_json(gold.waterfall) or None if gold else None,
        "linking": {
            "questions": gold.questions,
            "seed_precision": number(gold.precision),
            "seed_recall": number(gold.recall),
            "waterfall": steps_json(gold.linked_waterfall),
        }
        if gold
        else None,
        **({} if found.unlinked is None else {"not_recognised": asdict(found.unlinked)}),
        "hop_tags": {
            tag: {
                "questions": slice_.questions,
                "agree": slice_.agree,
                "differ": slice_.differ,
                "unmeasured": slice_.unmeasured,
                "measured": {str(hops): count for hops, count in slice_.measured.items()},
            }
            for tag, slice_ in found.hop_tags.items()
        },
        "ties": _ties(found.ties),
        "recommendations": [
            {
                "rule": recommendation.rule,
                "text": str(recommendation.text),
                **said_json(recommendation.text),
                "evidence": {
                    name: number(value) if isinstance(value, float) else value
                    for name, value in recommendation.evidence.items()
                },
            }
            for recommendation in recommendations(found, decision)
        ],
        **({} if decision is None else {"decision": decision_json(decision)}),
    }


def decision_json(decision: Decision) -> dict[str, Any]:
    """What was tried and what is recommended, with its sentence for other languages."""
    plain = msgspec.structs.replace(decision, reason=str(decision.reason))
    found: dict[str, Any] = msgspec.to_builtins(plain)
    return found | said_json(verbatim(decision.reason))


def oracle_recall(steps: Sequence[WaterfallStep]) -> float | None:
    """The share of references that any ranking within the hops could return; None where hops bound none."""
    return next((number(step.recall) for step in steps if step.name == WITHIN_HOPS), None)


def references_of(
    evaluation: Evaluation, questions: range, written_ranks: int, spelled: Spelled
) -> Iterator[list[Reference]]:
    """The references of each question: as written, and what became of them with what shows it.

    written_ranks: how much of the ranking the file holds; a walk that stands there is not repeated here.
    """
    found, judgments = evaluation.explanation.diagnosis, evaluation.judgments
    compact = evaluation.config.running.results == COMPACT
    references = judgments.references.of_questions(np.asarray(questions))
    question = references.questions + questions.start
    items = judgments.item_offsets[question] + references.items
    verdicts, entities = found.verdicts[items], found.entities[items].tolist()
    ids: Remembered[int, list[str]] = Remembered(
        lambda code: [spelled.ids[entity] for entity in references.named[code].entities]
    )
    written: list[Reference] = []
    for code, grade, shares, verdict, rank, hop, entity in zip(
        *(column.tolist() for column in (references.codes, references.grades, references.shares)),
        *(column.tolist() for column in (verdicts, found.ranks[items], found.hops[items])),
        entities,
        strict=True,
    ):
        named, is_listed = references.named[code], verdict >= min(LISTED) and entity != NO_ENTITY
        written.append(
            Reference(
                named.name,
                grade,
                ids[code],
                named.resolved_by,
                len(named.entities) > 1,
                bool(shares),
                VERDICTS[verdict],
                None if rank == NO_RANK else rank,
                None if hop == NOT_REACHED else hop,
                spelling_of(spelled, entity, named.name) if is_listed else UNSET,
            )
        )
    if not compact:
        block = slice(*judgments.item_offsets[[questions.start, questions.stop]].tolist())
        paths = _paths(evaluation, block, written_ranks, spelled)
        for reference, item in zip(written, items.tolist(), strict=True):
            reference.path = paths.get(item, UNSET)
        above = _above(evaluation, questions, spelled)
        for row in np.flatnonzero(verdicts == Verdict.RANKED_BELOW_K).tolist():
            written[row].above = above[int(question[row]) - questions.start]
    for row in np.flatnonzero(verdicts == Verdict.NOT_IN_GRAPH).tolist():
        near = evaluation.explanation.nearest.get(written[row].name, ())
        written[row].nearest = [one.name for one in near]
    for row in np.flatnonzero(verdicts == Verdict.NO_SEED).tolist():
        written[row].tried = list(evaluation.linked[int(question[row])].tried)
    for low, high in pairwise(references.offsets.tolist()):
        yield written[low:high]


def _paths(
    evaluation: Evaluation, items: slice, written_ranks: int, spelled: Spelled
) -> dict[int, list[Step]]:
    """Item → the walk to a reference that stands below what is written, or would have been reached."""
    found, run, missed = evaluation.explanation.diagnosis, evaluation.run, evaluation.explanation.missed
    paths: dict[int, list[Step]] = {}
    if run.walks is not None:
        rows = found.rows[items]
        low = rows - run.offsets[found.questions[items]] >= written_ranks
        at = np.flatnonzero(low & (found.verdicts[items] >= min(LISTED)))
        below = spelled.walks(found.entities[items][at], run.walks[rows[at]])
        paths.update(zip((at + items.start).tolist(), below, strict=True))
    beyond = [item for item in range(items.start, items.stop) if item in missed]
    walks = np.full((len(beyond), max((len(missed[item]) for item in beyond), default=0)), NO_STEP, np.int32)
    for row, item in enumerate(beyond):
        walks[row, : len(missed[item])] = missed[item]
    paths.update(zip(beyond, spelled.walks(found.entities[beyond], walks), strict=True))
    return paths


def spelling_of(spelled: Spelled, entity: int, reference: str) -> str:
    """The name or alias of the entity that the reference matched."""
    name = spelled.names[entity]
    if name == reference:
        return name
    written = nfc(reference)
    if nfc(name) == written:
        return name
    known, folded = [name, *spelled.graph.entities.aliases[entity]], fold(reference)
    exact = [candidate for candidate in known if nfc(candidate) == written]
    return str([*exact, *(candidate for candidate in known if fold(candidate) == folded), known[0]][0])


def _above(evaluation: Evaluation, questions: range, spelled: Spelled) -> list[list[str]]:
    """Of each question what stands within the first k and is no reference: it would have to make room."""
    run, judgments = evaluation.run, evaluation.judgments
    offsets = run.offsets[questions.start : questions.stop + 1]
    lengths = np.minimum(np.diff(offsets), evaluation.explanation.diagnosis.cutoff)
    owner = np.repeat(np.arange(len(questions)), lengths)
    entities = run.entities[stretches(offsets[:-1], lengths)]
    keys = (owner + questions.start) * judgments.universe + entities
    kept = ~found_in(judgments.pair_keys, keys)
    ids = list(map(spelled.ids.__getitem__, entities[kept].tolist()))
    bounds = [0, *np.cumsum(np.bincount(owner[kept], minlength=len(questions))).tolist()]
    return [ids[low:high] for low, high in pairwise(bounds)]


def _ties(found: Ties) -> dict[str, Any]:
    return {
        "k": found.cutoff,
        "rate": number(found.rate),
        "questions": found.questions,
        "measures": {
            str(measure): {"worst": number(worst), "best": number(best)}
            for measure, (worst, best) in found.measures.items()
        },
    }
