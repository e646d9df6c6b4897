"""Which questions went worst: one of each kind of loss before a second of any."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from tiny_graph_rag.report.plain import worst_by
from tiny_graph_rag.study.waterfall import Verdict

Json = dict[str, Any]

BEST = 1.0
VERDICTS = {verdict.name.lower(): verdict for verdict in Verdict}


def worst_rows(
    values: Sequence[float | None], losses: Sequence[Hashable], nothing_lost: Hashable
) -> list[int]:
    """Rows of the questions below 1, worst first, but one of each kind of loss before a second of any.

    Of equal values the earlier one. The kind that costs most questions comes first, questions that lost
    nothing (their references are only ranked late) come last.

    values: of the measure that tells it, None or NaN where undefined. losses: the kind of loss of each.
    """
    known = [(value, row) for row, value in enumerate(values) if value is not None and value < BEST]
    kinds: dict[Hashable, list[int]] = {}
    for _, row in sorted(known):
        kinds.setdefault(losses[row], []).append(row)
    order = sorted(kinds, key=lambda kind: (kind == nothing_lost, -len(kinds[kind]), kinds[kind][0]))
    turns = range(max(map(len, kinds.values()), default=0))
    return [kinds[kind][turn] for turn in turns for kind in order if turn < len(kinds[kind])]


def worst_questions(content: Json) -> tuple[str, list[int]]:
    """(the measure that tells it, rows of `results`) of a results document; ("", []) where none tells it. The
    questions that lost nothing come after all others."""
    measure = worst_by(list(content["summary"]["measures"]))
    losses = [_loss(row) for row in content["results"]]
    rows = worst_rows([row["metrics"].get(measure) for row in content["results"]], losses, Verdict.HIT)
    return measure, sorted(rows, key=lambda row: losses[row] == Verdict.HIT)


def _loss(question: Json) -> Verdict:
    """The first place where one of its references was lost; where nobody diagnosed it, whether one was."""
    if any("verdict" not in reference for reference in question["references"]):
        return Verdict.RANKED_BELOW_K if question.get("fn") else Verdict.HIT
    ends = [VERDICTS.get(reference["verdict"], Verdict.HIT) for reference in question["references"]]
    return min(ends, default=Verdict.HIT)
