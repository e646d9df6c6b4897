"""The part of a results file that says why: verdicts with their evidence, waterfalls, ties, hop tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tiny_graph_rag.config.sections import COMPACT
from tiny_graph_rag.gold.references import Reference
from tiny_graph_rag.graph.distances import NOT_REACHED
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.report.json.numbers import number, steps_json
from tiny_graph_rag.report.json.spelled import Spelled, plain_json
from tiny_graph_rag.run import NO_HOP, NO_STEP
from tiny_graph_rag.study.advice import recommendations
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.explanation import Explanation
from tiny_graph_rag.study.ties import Ties
from tiny_graph_rag.study.verdicts import NO_RANK, Verdict

if TYPE_CHECKING:
    from tiny_graph_rag.study.advice import Trial
    from tiny_graph_rag.study.evaluate import Perturbed

VERDICTS = tuple(Verdict)
LISTED = (Verdict.RANKED_BELOW_K, Verdict.HIT)


def explained_summary(found: Explanation, trials: Sequence[Trial] = ()) -> dict[str, Any]:
    gold = found.gold_seeds
    return {
        "verdicts": found.verdicts,
        "waterfall": steps_json(found.waterfall),
        "waterfall_by_tag": {tag: steps_json(each) for tag, each in found.waterfall_by_tag.items()},
        "waterfall_gold_seeds": steps_json(gold.waterfall) if gold else None,
        "linking": {
            "questions": gold.questions,
            "seed_precision": number(gold.precision),
            "seed_recall": number(gold.recall),
            "waterfall": steps_json(gold.linked_waterfall),
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
            {
                "rule": each.rule,
                "text": each.text,
                "said": each.said,
                "values": each.values,
                "evidence": each.evidence,
            }
            for each in recommendations(found, trials)
        ],
    }


def walks_cut(evaluation: Evaluation) -> dict[str, Any]:
    """`walks_cut` of a summary, where a limit ended the walks of any question; hops: walked → questions."""
    limits: dict[str, dict[str, Any]] = {}
    for limit in sorted({each.limit for each in evaluation.run.cuts.values()}):
        cuts = [each for each in evaluation.run.cuts.values() if each.limit == limit]
        hops = Counter(each.hops for each in cuts)
        limits[limit] = {
            "most": cuts[0].most,
            "questions": len(cuts),
            "hops": {str(each): hops[each] for each in sorted(hops)},
        }
    return {"walks_cut": {"questions": len(evaluation.run.cuts), "limits": limits}} if limits else {}


def references_json(
    evaluation: Evaluation, questions: range, written_ranks: int, spelled: Spelled
) -> Iterator[bytes]:
    """JSON of the references of each question: as written, and what became of them with what shows it.

    written_ranks: how much of the ranking the file holds; a walk that stands there is not repeated here.
    """
    found, judgments = evaluation.explanation.diagnosis, evaluation.judgments
    first, last = judgments.item_offsets[[questions.start, questions.stop]].tolist()
    listed, hops = np.flatnonzero(found.rows >= 0), found.hops.copy()
    steps = evaluation.run.steps(found.rows[listed])
    hops[listed] = np.where(steps == NO_HOP, hops[listed], steps)
    columns = (found.verdicts, found.ranks, hops, found.entities)
    items = list(zip(*(each[first:last].tolist() for each in columns), strict=True))
    compact = evaluation.config.running.results == COMPACT
    paths = {} if compact else _paths(evaluation, slice(first, last), written_ranks, spelled)
    for question in questions:
        offset = int(judgments.item_offsets[question])
        blocking = None
        parts = []
        for reference in judgments.references[question]:
            item = offset + reference.item
            verdict, rank, hop, entity = items[item - first]
            part = _written(reference, spelled) + _outcome(verdict, rank, hop)
            if verdict in LISTED:
                part += b',"matched":' + spelled.shown[spelling_of(spelled, entity, reference)]
            if item in paths:
                part += b',"path":' + paths[item]
            if verdict == Verdict.RANKED_BELOW_K and not compact:
                blocking = blocking or b',"above":' + _blocking(evaluation, question, spelled)
                part += blocking
            elif verdict == Verdict.NOT_IN_GRAPH:
                near = evaluation.explanation.nearest.get(reference.name, ())
                part += b',"nearest":' + spelled.encoded([one.name for one in near])
            elif verdict == Verdict.NO_SEED:
                part += b',"tried":' + spelled.encoded(list(evaluation.linked[question].tried))
            parts.append(part)
        yield b"[%b}]" % b"},".join(parts) if parts else b"[]"


def _written(reference: Reference, spelled: Spelled) -> bytes:
    """A reference as the gold set has it, open for what became of it."""
    key = reference.name, reference.grade, reference.shares_entity
    written = spelled.references.get(key)
    if written is None:
        fields = {
            "name": reference.name,
            "grade": reference.grade,
            "entity_ids": [spelled.ids[entity] for entity in reference.entities],
            "resolved_by": reference.resolved_by,
            "ambiguous": reference.is_ambiguous,
            "shares_entity": reference.shares_entity,
        }
        written = spelled.references[key] = spelled.encoded(fields).removesuffix(b"}")
    return written


@lru_cache(maxsize=1 << 14)
def _outcome(verdict: int, rank: int, hop: int) -> bytes:
    fields = {
        "verdict": str(VERDICTS[verdict]),
        "rank": None if rank == NO_RANK else rank,
        "hop": None if hop == NOT_REACHED else hop,
    }
    return b"," + plain_json(fields)[1:-1]


def _paths(evaluation: Evaluation, items: slice, written_ranks: int, spelled: Spelled) -> dict[int, bytes]:
    """Item → the walk to a reference that stands below what is written, or would have been reached."""
    found, run, missed = evaluation.explanation.diagnosis, evaluation.run, evaluation.explanation.missed
    paths: dict[int, bytes] = {}
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


def _blocking(evaluation: Evaluation, row: int, spelled: Spelled) -> bytes:
    """JSON of the entities within the first k that are no reference: what would have to make room."""
    relevant = {entity for each in evaluation.judgments.references[row] for entity in each.entities}
    start, stop = evaluation.run.offsets[row : row + 2].tolist()
    above = evaluation.run.entities[start : min(stop, start + evaluation.explanation.diagnosis.cutoff)]
    return b"[%b]" % b",".join(spelled.id_json[each] for each in above.tolist() if each not in relevant)


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
