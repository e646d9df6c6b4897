"""What several results files have in common, and why they may not be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.evaluation.comparison.results_file import System
from tiny_graph_rag.metrics import Measure


def incomparable(systems: Sequence[System]) -> list[str]:
    """Why the files do not speak of the same thing; empty where they do."""
    if len(systems) < 2:
        raise UsageError("wanted two results files or more; the first is the baseline")
    first, reasons = systems[0], []
    for other in systems[1:]:
        pair = f"{other.path.name} and {first.path.name}"
        if other.dataset_sha256 != first.dataset_sha256:
            reasons.append(
                f"{pair} were scored against different gold sets (SHA-256 "
                f"{_short(other.dataset_sha256)} and {_short(first.dataset_sha256)})"
            )
        elif other.selection != first.selection:
            reasons.append(
                f"{pair} hold different selections of the gold set "
                f"({_selected(other.selection)} and {_selected(first.selection)})"
            )
        elif set(other.ids) != set(first.ids):
            reasons.append(f"{pair} hold different questions")
        if other.k != first.k:
            reasons.append(f"{pair} cut at different ranks (k {other.k} and {first.k})")
    return reasons


def _selected(selection: dict[str, Any] | None) -> str:
    """`--limit 1`, `--tags a,b`; `all questions` where none was made."""
    given = [
        f"--{name} {','.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in (selection or {}).items()
        if value
    ]
    return " ".join(given) or "all questions"


def _short(sha256: str) -> str:
    return f"{sha256[:8]}…" if sha256 else "none"


def align(systems: Sequence[System]) -> list[System]:
    """The questions that all have, in the first one's order. Raises UsageError where there are none."""
    places = [{each: row for row, each in enumerate(system.ids)} for system in systems]
    ids = [each for each in systems[0].ids if all(each in place for place in places)]
    if not ids:
        raise UsageError("the results files have no question (id) in common")
    aligned = []
    names: dict[str, int] = {}
    for system, place in zip(systems, places, strict=True):
        rows = [place[each] for each in ids]
        names[system.name] = names.get(system.name, 0) + 1
        name = system.name if names[system.name] == 1 else f"{system.name} ({names[system.name]})"
        aligned.append(
            replace(
                system,
                name=name,
                ids=tuple(ids),
                queries=tuple(system.queries[row] for row in rows),
                tags=tuple(system.tags[row] for row in rows),
                columns={measure: column[rows] for measure, column in system.columns.items()},
                verdicts=tuple(system.verdicts[row] for row in rows),
                groups=tuple(system.groups[row] for row in rows),
            )
        )
    return aligned


def measures_in_common(systems: Sequence[System], wanted: Sequence[str]) -> list[str]:
    """Those wanted, else all that every file holds. Raises UsageError for what can't be compared."""
    common = [each for each in systems[0].columns if all(each in system.columns for system in systems)]
    for each in wanted:
        if Measure.parse(each).kind.weight is not None:
            raise UsageError(
                f"measure {each!r} pools its counts over questions and can't be compared by question"
            )
    common = [each for each in common if Measure.parse(each).kind.weight is None]
    for each in wanted:
        if each not in common:
            raise UsageError(
                f"measure {each!r} is not in every results file{nearest(each, common)}. "
                f"They have in common: {', '.join(common) or 'none'}. Run eval with --measures {each}"
            )
    if not common:
        raise UsageError("the results files have no measure in common; run eval with the same --measures")
    return list(wanted) or common
