"""A comparison in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import p_value, t, three
from tiny_graph_rag.messages import shown as in_words
from tiny_graph_rag.report.plain import cell_width
from tiny_graph_rag.report.tables import Cell, View, compared, compared_head, speeds
from tiny_graph_rag.report.terminal import Shown, escape, unreliable
from tiny_graph_rag.study.compare import SURE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tiny_graph_rag.study.compare import Comparison, Rows

FLIPS_SHOWN = 10  # of each system; the file holds them all


def comparison_lines(found: Comparison, *, by_tag: bool = False) -> Iterator[Shown]:
    """The verdict first, then what differs, then the figures. by_tag: the same table for every tag."""
    for verdict in found.verdicts():
        yield f"[bold]{escape(in_words(verdict))}[/bold]"
    for setting, values in found.differs.items():
        if _is_unset(setting, values):
            continue
        of_systems = zip(values, found.systems, strict=True)
        listed = ", ".join(_value_of(value, system.name) for value, system in of_systems)
        yield escape(t("different setting: {setting}: {values}", setting=setting, values=listed))
    if not found.differs:
        yield t("different settings: none in the files")
    for note in found.notes:
        yield escape(t("note: {note}", note=in_words(note)))
    yield _table(t("all"), found.overall)
    if found.by_tag and by_tag:
        for tag, rows in found.by_tag.items():
            yield _table(tag, rows)
    elif found.by_tag:
        yield t("by tag ({n}): add --by-tag to print them; the file has them all", n=len(found.by_tag))
    yield from _explained(found, by_tag)
    took = speeds({system.name: system.speed for system in found.systems})
    if took is not None:
        yield took
    for system in found.systems[1:]:
        yield from _flips_lines(found, system.name)


def _value_of(value: object, system: str) -> str:
    """`4 (deep)`: a setting's value, and the system that has it where the value isn't its name anyway."""
    text = "–" if value is None else str(value)
    return text if text == system else f"{text} ({system})"


def _is_unset(setting: str, values: Sequence[object]) -> bool:
    """Whether a setting differs only because a run that another program made has none: the file says it."""
    section, _, name = setting.partition(".")
    given = [value for value in values if value is not None]
    default = getattr(getattr(Config(), section, None), name, None)
    return len(given) < len(values) and all(value == default for value in given)


def _explained(found: Comparison, by_tag: bool) -> Iterator[str]:
    slices = [found.overall, *(found.by_tag.values() if by_tag else ())]
    rows = [row for part in slices for item in part.values() for row in item if row.wins is not None]
    tests = sum(len(row_list) - 1 for row_list in found.overall.values())
    yield t(
        "differences to {baseline} with 95 % intervals, not corrected for the number of tests ({mark}); "
        "p: paired randomisation test, p (t): paired t-test, both not corrected; p (Holm): corrected for "
        "{tests} over all questions, or for those of all tags together",
        baseline=escape(found.systems[0].name),
        mark=unreliable(),
        tests=in_words(amount(tests, "test")),
    )
    if found.groups is not None:
        yield t(
            "{groups} of questions: each group counts as one observation",
            groups=in_words(amount(found.groups, "group")),
        )
    if any(row.p_randomisation >= SURE and (row.low > 0 or row.high < 0) for row in rows):
        yield t(
            "some intervals exclude 0 although p is .05 or more: so few {observations} differ, or so few "
            "go the other way, that this may be chance",
            observations=t("groups") if found.groups is not None else t("questions"),
        )


def _table(title: str, measures: Rows) -> View:
    """All measures below one another, with the two p that are not corrected."""
    rows: list[tuple[Cell, ...]] = []
    for measure, part in measures.items():
        for place, row in enumerate(part):
            *first, p_holm, won, n = compared(asdict(row))
            others = ("", "") if row.wins is None else (p_value(row.p_randomisation), p_value(row.p_ttest))
            rows.append(("" if place else measure, *first, *others, p_holm, won, n))
    *heads, p_holm, won, n = compared_head()
    return View(
        (t("measure"), *heads, "p", "p (t)", p_holm, won, n),
        tuple(rows),
        (0, 1),
        title,
        spare={5: 2, 6: 3, 8: 1},
        whole=(0, 4, 8),
    )


def _flips_lines(found: Comparison, system: str) -> Iterator[Shown]:
    mine = [flip for flip in found.flips if flip.system == system]
    won, lost = (sum(flip.change == change for flip in mine) for change in ("won", "lost"))
    mixed = len(mine) - won - lost
    yield t(
        "{system}: {questions} flipped ({won} won, {lost} lost, {mixed} mixed)",
        system=escape(system),
        questions=in_words(amount(len(mine), "question")),
        won=won,
        lost=lost,
        mixed=mixed,
    )
    for flip in mine[:FLIPS_SHOWN]:
        verdicts = "; ".join(
            f"{name}: {t(before.replace('_', ' '))} → {t(after.replace('_', ' '))}"
            for name, before, after in flip.references
        )
        if not verdicts:
            measure, (before, after) = next(iter(flip.values.items()))
            verdicts = f"{measure} {three(before)} → {three(after)}"
        change = t(flip.change)
        room = " " * max(5 - cell_width(change), 0)
        yield escape(f"  {change}{room} {flip.id}: {verdicts}")
    if len(mine) > FLIPS_SHOWN:
        yield t("  … and {n} more in the file", n=f"{len(mine) - FLIPS_SHOWN:,}")
