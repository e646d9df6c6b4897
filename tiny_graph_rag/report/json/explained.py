"""The part of a results file that says why: verdicts with their evidence, waterfalls, ties, hop tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.graph.distances import NOT_REACHED
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.report.json.numbers import number
from tiny_graph_rag.report.json.spelled import Spelled
from tiny_graph_rag.study.advice import recommendations
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.explanation import Explanation
from tiny_graph_rag.study.ties import Ties
from tiny_graph_rag.study.verdicts import NO_RANK, Step, Verdict

if TYPE_CHECKING:
    from tiny_graph_rag.study.evaluate import Perturbed

VERDICTS = tuple(Verdict)


def explained_summary(found: Explanation) -> dict[str, Any]:
    gold = found.gold_seeds
    return {
        "verdicts": found.verdicts,
        "waterfall": _steps(found.waterfall),
        "waterfall_by_tag": {tag: _steps(each) for tag, each in found.waterfall_by_tag.items()},
        "waterfall_gold_seeds": _steps(gold.waterfall) if gold else None,
        "linking": {
            "questions": gold.questions,
            "seed_precision": number(gold.precision),
            "seed_recall": number(gold.recall),
            "waterfall": _steps(gold.linked_waterfall),
        }
        if gold
        else None,
        "hop_tags": {
            tag: {
                "questions": each.questions,
                "agree": each.agree,
                "differ": each.differ,
                "unmeasured": each.unmeasured,
                "measured": {str(hops): count for hops, count in each.measured.items()},
            }
            for tag, each in found.hop_tags.items()
        },
        "ties": _ties(found.ties),
        "recommendations": [
            {"rule": each.rule, "text": each.text, "evidence": each.evidence}
            for each in recommendations(found)
        ],
    }


def reference_evidence(
    evaluation: Evaluation, row: int, written_ranks: int, spelled: Spelled
) -> list[dict[str, Any]]:
    """Of each reference of a question: verdict, rank, hop and what shows it.

    written_ranks: how much of the ranking the file holds; a walk that stands there is not repeated here.
    """
    found, judgments = evaluation.explanation.diagnosis, evaluation.judgments
    offset, end = judgments.item_offsets[row : row + 2].tolist()
    start = int(evaluation.run.offsets[row])
    columns = (found.verdicts, found.ranks, found.hops, found.rows, found.entities)
    items = list(zip(*(each[offset:end].tolist() for each in columns), strict=True))
    evidence = []
    blocking: list[str] | None = None
    for reference in judgments.references[row]:
        item = offset + reference.item
        code, rank, hop, place, entity = items[reference.item]
        verdict = VERDICTS[code]
        each: dict[str, Any] = {
            "verdict": str(verdict),
            "rank": None if rank == NO_RANK else rank,
            "hop": None if hop == NOT_REACHED else hop,
        }
        if verdict in (Verdict.HIT, Verdict.RANKED_BELOW_K):
            each["matched"] = spelling_of(spelled, entity, reference)
            if evaluation.run.walks is not None and place - start >= written_ranks:
                each["path"] = spelled.walk(entity, evaluation.run.walks[place].tolist())
        if item in evaluation.explanation.missed:
            each["path"] = spelled.walk(entity, evaluation.explanation.missed[item])
        if verdict is Verdict.RANKED_BELOW_K:
            if blocking is None:
                blocking = _blocking(evaluation, row, spelled)
            each["above"] = blocking
        if verdict is Verdict.NOT_IN_GRAPH:
            near = evaluation.explanation.nearest.get(reference.name, ())
            each["nearest"] = [one.name for one in near]
        if verdict is Verdict.NO_SEED:
            each["tried"] = list(evaluation.linked[row].tried)
        evidence.append(each)
    return evidence


def spelling_of(spelled: Spelled, entity: int, reference: Reference) -> str:
    """The name or alias of the entity that the reference matched."""
    name = spelled.names[entity]
    if name == reference.name:
        return name
    written = nfc(reference.name)
    if nfc(name) == written:
        return name
    known, folded = [name, *spelled.graph.entities.aliases[entity]], fold(reference.name)
    exact = [each for each in known if nfc(each) == written]
    return str([*exact, *(each for each in known if fold(each) == folded), known[0]][0])


def _blocking(evaluation: Evaluation, row: int, spelled: Spelled) -> list[str]:
    """The entities within the first k that are no reference: what would have to make room."""
    relevant = {entity for each in evaluation.judgments.references[row] for entity in each.entities}
    start, stop = evaluation.run.offsets[row : row + 2].tolist()
    above = evaluation.run.entities[start : min(stop, start + evaluation.explanation.diagnosis.cutoff)]
    return [spelled.ids[entity] for entity in above.tolist() if entity not in relevant]


def _steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [{"step": each.name, "recall": number(each.recall), "loss": number(each.loss)} for each in steps]


def _ties(found: Ties) -> dict[str, Any]:
    return {
        "k": found.cutoff,
        "rate": number(found.rate),
        "questions": found.questions,
        "measures": {
            str(each): {"worst": number(worst), "best": number(best)}
            for each, (worst, best) in found.measures.items()
        },
    }


def perturbed_json(each: Perturbed) -> dict[str, Any]:
    """One kind of altered questions: what each measure lost, and which questions broke."""
    return {
        "kind": each.kind,
        "altered": each.altered,
        "measures": {
            str(measure): {
                "mean": number(drop.mean),
                "drop": number(drop.drop),
                "low": number(drop.low),
                "high": number(drop.high),
                "n": drop.n,
            }
            for measure, drop in each.measures.items()
        },
        "broken": [{"id": question, "query": query} for question, query in each.broken],
    }
