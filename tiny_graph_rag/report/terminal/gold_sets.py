"""What was made, merged, parted and counted of gold sets, in the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.report.terminal import Console, Table, escape

if TYPE_CHECKING:
    from tiny_graph_rag.gold.generate import Generated
    from tiny_graph_rag.gold.keep import Contents, Diff

SHOWN = 12  # ids or changes of a kind; --all shows every one
LONGEST_VALUE = 60


def print_generated(found: Generated, wanted: int, console: Console) -> None:
    table = Table(title=f"{len(found.questions):,} questions of {wanted:,} wanted")
    table.add_column("shape")
    for header in ("wanted", "found"):
        table.add_column(header, justify="right")
    for shape, asked in found.asked.items():
        made = found.found.get(shape, 0)
        table.add_row(shape, f"{asked:,}", f"{made:,}", style="" if made >= asked else "yellow")
    console.print(table)
    lacking = [shape for shape, asked in found.asked.items() if found.found.get(shape, 0) < asked]
    if lacking:
        console.print(f"the graph holds no more of: {', '.join(lacking)}")
    if found.relations:
        name, most = next(iter(found.relations.items()))
        console.print(
            f"relations asked about: {len(found.relations):,}; most often {escape(name)}, in {most:,} "
            f"questions ({found.most_over_fair:.2f} times its fair share)"
        )


def print_diff(found: Diff, one: str, other: str, console: Console, *, every: bool) -> None:
    console.print(
        f"{escape(one)} → {escape(other)}: {found.same:,} the same, {len(found.added):,} added, "
        f"{len(found.removed):,} removed, {len(found.renamed):,} renamed, "
        f"{len({each.id for each in found.changed}):,} changed"
    )
    most = None if every else SHOWN
    for what, ids in (("added", found.added), ("removed", found.removed)):
        for each in ids[:most]:
            console.print(f"  {what} {escape(each)}")
        _more(len(ids), most, console)
    for before, after in found.renamed[:most]:
        console.print(f"  renamed {escape(before)} → {escape(after)}")
    _more(len(found.renamed), most, console)
    for change in found.changed[:most]:
        console.print(f"  {escape(change.id)}: {change.field}: {_said(change.before, change.after)}")
    _more(len(found.changed), most, console)


def _more(count: int, most: int | None, console: Console) -> None:
    if most is not None and count > most:
        console.print(f"  … and {count - most:,} more (--all)")


def _said(before: Any, after: Any) -> str:
    """Of lists what came and went, of other values both."""
    if isinstance(before or [], list) and isinstance(after or [], list):
        gone = [each for each in before or [] if each not in (after or [])]
        come = [each for each in after or [] if each not in (before or [])]
        return escape(
            " ".join([*(f"-{_short(each)}" for each in gone), *(f"+{_short(each)}" for each in come)])
        )
    return escape(f"{_short(before)} → {_short(after)}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


def print_contents(name: str, found: Contents, effect: float, console: Console) -> None:
    references = found.references
    without = sum(count == 0 for count in references)
    held = [count for count in references if count]
    console.print(
        f"{escape(name)}: {found.whole.questions:,} questions in {found.whole.groups:,} groups, "
        f"{without:,} without gold; references a question: "
        + (f"median {held[len(held) // 2]:,}, most {held[-1]:,}" if held else "none")
    )
    for what, counts in found.counts.items():
        console.print(f"{what}: " + ", ".join(f"{escape(each)} {count:,}" for each, count in counts.items()))
    quotas = any(each.quota is not None for each in found.slices)
    table = Table()
    table.add_column("tag")
    for header in ("questions", "groups", "share", *(["quota"] if quotas else []), "shows differences from"):
        table.add_column(header, justify="right")
    for each in (found.whole, *found.slices):
        quota = [] if not quotas else ["" if each.quota is None else f"{each.quota:.0%}"]
        seen = "—" if not each.groups else f".{round(each.seen * 100):02d}" if each.seen < 0.995 else "never"
        table.add_row(
            escape(each.name), f"{each.questions:,}", f"{each.groups:,}", f"{each.share:.0%}", *quota, seen
        )
    console.print(table)
    for each in found.slices:
        if each.off_quota:
            console.print(
                f"warning: {escape(each.name)}: {each.share:.0%} of the questions, wanted {each.quota:.0%}"
            )
    small = [each.name for each in (found.whole, *found.slices) if each.groups < found.needed]
    if small:
        console.print(
            f"warning: too small to show a difference of {effect:g} at 80 % power, which takes "
            f"{found.needed:,} groups: {escape(', '.join(small))}"
        )
