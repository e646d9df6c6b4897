"""A comparison in the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import amount
from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import shown as in_words
from tiny_graph_rag.messages import t
from tiny_graph_rag.report.plain import speed_figure
from tiny_graph_rag.report.terminal import Console, Table, cell_width, escape
from tiny_graph_rag.report.terminal.summary import interval, shown, unreliable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tiny_graph_rag.study.compare import Compared, Comparison, Rows

SURE = 0.05  # of a p
SPEED_WORDS = {
    "latency.mean": "seconds per question",
    "latency.p50": "p50",
    "latency.p95": "p95",
    "throughput": "questions per second",
}
FLIPS_SHOWN = 10  # of each system; the file holds them all


def print_comparison(found: Comparison, console: Console, *, by_tag: bool = False) -> None:
    """The verdict first, then what differs, then the figures. by_tag: the same table for every tag."""
    for verdict in found.verdicts():
        console.print(f"[bold]{escape(t(verdict.said, **verdict.values))}[/bold]", soft_wrap=True)
    for setting, values in found.differs.items():
        if _is_unset(setting, values):
            continue
        named = zip(found.systems, values, strict=True)
        said = ", ".join(f"{system.name} {'–' if value is None else value}" for system, value in named)
        console.print(
            escape(t("different setting: {setting}: {values}", setting=setting, values=said)), soft_wrap=True
        )
    if not found.differs:
        console.print(t("different settings: none in the files"))
    for note in found.notes:
        console.print(escape(t("note: {note}", note=in_words(note))), soft_wrap=True)
    console.print(_table(t("all"), found.overall))
    if found.by_tag and by_tag:
        for tag, rows in found.by_tag.items():
            console.print(_table(tag, rows))
    elif found.by_tag:
        console.print(
            t("by tag ({n}): add --by-tag to print them; the file has them all", n=len(found.by_tag))
        )
    for line in _explained(found, by_tag):
        console.print(line, soft_wrap=True)
    if any(system.speed for system in found.systems):
        console.print(_speeds(found))
    for system in found.systems[1:]:
        _print_flips(found, system.name, console)


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


def _speeds(found: Comparison) -> Table:
    """Seconds a question and questions a second, as each file says them."""
    names = list(dict.fromkeys(name for system in found.systems for name in system.speed))
    table = Table()
    table.add_column(t("system"))
    for name in names:
        table.add_column(t(SPEED_WORDS.get(name, name)), justify="right")
    for system in found.systems:
        table.add_row(escape(system.name), *(speed_figure(system.speed.get(name)) for name in names))
    return table


def _table(title: str, rows: Rows) -> Table:
    table = Table(title=escape(title))
    table.add_column(t("measure"), no_wrap=True)
    table.add_column(t("system"))
    for column, whole, spare in (
        (t("mean"), False, 0),
        (t("difference"), False, 0),
        (t("95 % interval"), True, 0),
        ("p", False, 2),
        ("p (t)", False, 3),
        (t("p (Holm)"), False, 0),
        (t("win/tie/loss"), True, 1),
        ("n", False, 0),
    ):
        table.add_column(column, justify="right", no_wrap=whole, spare=spare)
    for measure, part in rows.items():
        for place, row in enumerate(part):
            table.add_row(measure if not place else "", escape(row.system), *_cells(row))
    return table


def _cells(row: Compared) -> tuple[str, ...]:
    mean = interval(Mean(row.mean, row.mean_low, row.mean_high, row.n, reliable=row.mean_reliable))
    if row.wins is None:
        return (mean, "", "", "", "", "", "", f"{row.n:,}")
    few = "" if row.reliable else "?"
    return (
        mean,
        _signed(row.difference),
        f"{_signed(row.low)} … {_signed(row.high)}{few}",
        _p(row.p_randomisation),
        _p(row.p_ttest),
        _p(row.p_holm),
        f"{row.wins}/{row.ties}/{row.losses}",
        f"{row.n:,}",
    )


def _signed(value: float) -> str:
    return shown(value) if math.isnan(value) else f"{value:+.3f}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "<.001" if value < 0.001 else f"{value:.3f}"


def _print_flips(found: Comparison, system: str, console: Console) -> None:
    mine = [flip for flip in found.flips if flip.system == system]
    won, lost = (sum(flip.change == change for flip in mine) for change in ("won", "lost"))
    mixed = len(mine) - won - lost
    console.print(
        t(
            "{system}: {questions} flipped ({won} won, {lost} lost, {mixed} mixed)",
            system=escape(system),
            questions=in_words(amount(len(mine), "question")),
            won=won,
            lost=lost,
            mixed=mixed,
        )
    )
    for flip in mine[:FLIPS_SHOWN]:
        verdicts = "; ".join(
            f"{name}: {t(before.replace('_', ' '))} → {t(after.replace('_', ' '))}"
            for name, before, after in flip.references
        )
        if not verdicts:
            measure, (before, after) = next(iter(flip.values.items()))
            verdicts = f"{measure} {shown(before)} → {shown(after)}"
        change = t(flip.change)
        room = " " * max(5 - cell_width(change), 0)
        console.print(escape(f"  {change}{room} {flip.id}: {verdicts}"), soft_wrap=True)
    if len(mine) > FLIPS_SHOWN:
        console.print(t("  … and {n} more in the file", n=f"{len(mine) - FLIPS_SHOWN:,}"))
