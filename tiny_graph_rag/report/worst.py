"""Which questions went worst: one of each kind of loss before a second of any."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from tiny_graph_rag.report.plain import worst_by
from tiny_graph_rag.study.verdicts import Verdict

Json = dict[str, Any]

BEST = 1.0


def worst_rows(values: Sequence[float | None], losses: Sequence[Hashable], nothing_lost: Hashable) -> list[int]:
    """Rows of the questions below 1, worst first, but one of each kind of loss before a second of any; of equal
    values the earlier one. The kind that costs most questions comes first, questions that lost nothing (their
    references are only ranked late) come last.

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
    """(the measure that tells it, rows of `results`) of a results document; ("", []) where none tells it."""
    measure = worst_by(list(content["summary"]["measures"]))
    values = [row["metrics"].get(measure) for row in content["results"]]
    return measure, worst_rows(values, [_loss(row) for row in content["results"]], int(Verdict.HIT))


def _loss(question: Json) -> int:
    """The first place where one of its references was lost; HIT where none was, or where nobody judged it."""
    known = {verdict.name.lower(): int(verdict) for verdict in Verdict}
    return min((known.get(row.get("verdict"), int(Verdict.HIT)) for row in question["references"]), default=int(Verdict.HIT))
