"""A comparison in the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import amount
from tiny_graph_rag.measures.statistics import RELIABLE_FROM, Mean
from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.report.terminal.summary import interval, shown

if TYPE_CHECKING:
    from tiny_graph_rag.study.compare import Compared, Comparison, Rows

FLIPS_SHOWN = 10  # of each system; the file holds them all


def print_comparison(found: Comparison, console: Console) -> None:
    for note in found.notes:
        console.print(f"note: {escape(note)}")
    console.print(_table("all", found.overall))
    for tag, rows in found.by_tag.items():
        console.print(_table(tag, rows))
    tests = sum(
        not math.isnan(row.p_holm)
        for rows in (found.overall, *found.by_tag.values())
        for each in rows.values()
        for row in each
    )
    console.print(
        f"differences to {escape(found.systems[0].name)}, with 95 % paired bootstrap intervals (* below "
        f"{RELIABLE_FROM} questions: too few to trust); p of a paired randomisation test and t-test; "
        f"Holm over the {tests} tests shown"
    )
    for system in found.systems[1:]:
        _print_flips(found, system.name, console)


def _table(title: str, rows: Rows) -> Table:
    table = Table(title=escape(title))
    table.add_column("measure", no_wrap=True)
    table.add_column("system")
    for column, spare in (
        ("mean", 0),
        ("difference", 0),
        ("95 % interval", 0),
        ("p", 2),
        ("p (t)", 3),
        ("p (Holm)", 0),
        ("win/tie/loss", 1),
        ("n", 0),
    ):
        whole = column in ("95 % interval", "win/tie/loss")
        table.add_column(column, justify="right", no_wrap=whole, spare=spare)
    for measure, each in rows.items():
        for place, row in enumerate(each):
            table.add_row(measure if not place else "", escape(row.system), *_cells(row))
    return table


def _cells(row: Compared) -> tuple[str, ...]:
    mean = interval(Mean(row.mean, row.mean_low, row.mean_high, row.n))
    if row.wins is None:
        return (mean, "", "", "", "", "", "", f"{row.n:,}")
    few = "*" if row.n < RELIABLE_FROM else ""
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
    mine = [each for each in found.flips if each.system == system]
    won, lost = (sum(each.change == change for each in mine) for change in ("won", "lost"))
    mixed = len(mine) - won - lost
    console.print(
        f"{escape(system)}: {amount(len(mine), 'question')} flipped ({won} won, {lost} lost, {mixed} mixed)"
    )
    for each in mine[:FLIPS_SHOWN]:
        verdicts = "; ".join(f"{name}: {before} → {after}" for name, before, after in each.references)
        if not verdicts:
            measure, (before, after) = next(iter(each.values.items()))
            verdicts = f"{measure} {shown(before)} → {shown(after)}"
        console.print(escape(f"  {each.change:5} {each.id}: {verdicts}"), soft_wrap=True)
    if len(mine) > FLIPS_SHOWN:
        console.print(f"  … and {len(mine) - FLIPS_SHOWN} more in the file")
