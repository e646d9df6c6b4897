"""A sweep in the terminal: a row a setting, then each tag's curve with what is recommended for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.report.terminal.summary import interval, shown
from tiny_graph_rag.study.choosing import rule

if TYPE_CHECKING:
    from tiny_graph_rag.study.sweep import Setting, Sweep

BAR = 10  # characters of a full bar
_BAR_SPARE = 100  # the bar says what the figure beside it says
_EIGHTHS = "▁▂▃▄▅▆▇█"


def print_sweep(found: Sweep, console: Console) -> None:
    shown_at = _deciding_cutoff(found)
    rows = [each for each in found.settings if each.top_k == shown_at]
    console.print(_settings(found, rows))
    if len(found.plan.cutoffs) > 1:
        others = ", ".join(str(each) for each in found.plan.cutoffs if each != shown_at)
        console.print(f"the file holds the measures at {others} too")
    if len(found.recommended) > 1:
        console.print(_tags(found, rows))
    whole = found.recommended[""]
    console.print(f"recommended: {_said(found, '')} – {escape(whole.reason)}")
    if whole.setting is not None:
        console.print(
            f"its {found.plan.decide_by} on questions that it was not chosen on: {interval(whole.held_out)}"
        )
    console.print(f"rule: {rule(str(found.plan.decide_by), found.plan.tolerance)}", soft_wrap=True)
    for flip in found.flips:
        console.print(
            escape(
                f"{flip.retriever} {flip.before} → {flip.after} hops: {len(flip.won)} won{_some(flip.won)}, "
                f"{len(flip.lost)} lost{_some(flip.lost)}"
            ),
            soft_wrap=True,
        )


def _deciding_cutoff(found: Sweep) -> int:
    """The cutoff of the deciding measure where it is swept, else the largest."""
    cutoff = found.plan.decide_by.cutoff
    return cutoff if cutoff in found.plan.cutoffs else max(found.plan.cutoffs)


def _settings(found: Sweep, rows: Sequence[Setting]) -> Table:
    table = Table()
    many = len(found.plan.retrievers) > 1
    heads = (("retriever", "left"),) if many else ()
    for name, justify in (
        *heads,
        ("hops", "right"),
        (str(found.plan.decide_by), "right"),
        ("95 %", "left"),
        ("", "left"),
    ):
        table.add_column(name, justify=justify, no_wrap=True, spare=0 if name else _BAR_SPARE)
    measures = [each for each in rows[0].overall.measures if each != found.plan.decide_by]
    for place, name in enumerate(map(str, measures), start=1):
        table.add_column(name, justify="right", spare=place)
    most = len(measures)
    for name, spare in (("n", 0), ("within hops", 0), ("all within", 3), ("reached", 1), ("p95", 4)):
        table.add_column(name, justify="right", spare=spare and most + spare)
    table.add_column("seconds", justify="right", spare=most + 5)
    chosen = found.recommended[""].setting
    picked = found.settings[chosen] if chosen is not None else None
    for each in rows:
        mean = each.overall.measures[found.plan.decide_by]
        bar = "" if math.isnan(mean.mean) else "█" * round(BAR * mean.mean)
        is_picked = picked and (each.retriever, each.hops) == (picked.retriever, picked.hops)
        table.add_row(
            *([escape(each.retriever)] if many else []),
            "–" if each.hops is None else f"{each.hops}{' ◀' if is_picked else '  '}",
            shown(mean.mean),
            f"{shown(mean.low)}–{shown(mean.high)}{'' if mean.reliable else '?'}",
            bar,
            *(interval(each.overall.measures[measure]) for measure in measures),
            f"{mean.n:,}",
            shown(each.overall.reach.oracle_recall),
            shown(each.overall.reach.oracle_all),
            _count(each.reached_mean),
            _count(each.reached_p95),
            f"{each.seconds:.2f}",
            style="bold" if is_picked else "",
        )
    return table


def _tags(found: Sweep, rows: Sequence[Setting]) -> Table:
    table = Table()
    for name in (
        "tag",
        "n",
        *dict.fromkeys(each.retriever for each in rows),
        "within hops",
        "recommended",
        "why",
    ):
        table.add_column(name, justify="right" if name == "n" else "left")
    names = list(dict.fromkeys(each.retriever for each in rows))
    tags = [tag for tag in found.recommended if tag]
    for tag in sorted(tags, key=lambda each: (-rows[0].by_tag[each].questions, each)):
        curves = []
        for name in names:
            mine = [
                each.by_tag[tag].measures[found.plan.decide_by].mean
                for each in rows
                if each.retriever == name
            ]
            curves.append(f"{sparkline(mine)} {shown(mine[0])} … {shown(mine[-1])}")
        reach = [each.by_tag[tag].reach.oracle_recall for each in rows if each.retriever == names[0]]
        n = rows[0].by_tag[tag].measures[found.plan.decide_by].n
        few = found.recommended[tag].setting is None
        reason = "too few questions" if few else found.recommended[tag].reason
        table.add_row(escape(tag), f"{n:,}", *curves, sparkline(reach), _said(found, tag), escape(reason))
    return table


def _said(found: Sweep, tag: str) -> str:
    setting = found.recommended[tag].setting
    if setting is None:
        return "none"
    chosen = found.settings[setting]
    hops = "" if chosen.hops is None else f"--hops {chosen.hops}"
    return (
        f"{chosen.retriever} {hops}".strip() if len(found.plan.retrievers) > 1 else hops or chosen.retriever
    )


def sparkline(values: Sequence[float]) -> str:
    """One character a value in [0, 1]; · where undefined."""
    return "".join("·" if math.isnan(each) else _EIGHTHS[min(7, int(8 * max(each, 0)))] for each in values)


def _count(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _some(ids: Sequence[str]) -> str:
    return f" ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''})" if ids else ""
