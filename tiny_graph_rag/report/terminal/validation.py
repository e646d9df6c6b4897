"""What `validate` found, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import amount
from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.report.terminal.summary import shown

if TYPE_CHECKING:
    from tiny_graph_rag.gold.checks import Finding
    from tiny_graph_rag.gold.stamp import Drift
    from tiny_graph_rag.gold.validate import Validation
    from tiny_graph_rag.study.hops import HopTag

SHOWN = 10  # findings of a kind; --all shows every one
NAMES_SHOWN = 8


def print_validation(
    found: Validation,
    broken: Sequence[str],
    hop_tags: dict[str, HopTag],
    drift: Drift | None,
    console: Console,
) -> None:
    """broken: schema errors, lines that were left out."""
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    for label, value, said in (
        ("questions", f"{found.questions:,}", f"{found.without_gold:,} without a reference"),
        ("broken lines", f"{len(broken):,}", "left out below"),
        ("references", f"{found.references:,}", ""),
        ("  not in the graph", f"{found.missing:,}", f"{len(found.missing_names):,} different names"),
        ("  by an alias only", f"{found.by_alias:,}", ""),
        ("  borne by several", f"{found.ambiguous:,}", ""),
        ("  sharing an entity", f"{found.shared:,}", "two names of one entity count once"),
        ("recall ceiling", shown(found.ceiling), "no retrieval finds more than the graph has"),
        ("name all references", f"{found.names_all:,}", _share(found.names_all, found.questions)),
    ):
        table.add_row(label, value, said)
    console.print(table)
    for tag, each in hop_tags.items():
        spread = ", ".join(f"{hops}: {count:,}" for hops, count in each.measured.items()) or "none"
        console.print(
            escape(
                f"tag {tag}: of {each.questions:,} questions {each.agree:,} agree with the graph, "
                f"{each.differ:,} differ, {each.unmeasured:,} can't be measured "
                f"(hops measured → questions: {spread})"
            )
        )
    _print_drift(drift, console)


def print_findings(findings: Sequence[Finding], broken: Sequence[str], every: bool, console: Console) -> None:
    for line in broken:
        console.print(f"[red]error[/red] schema: {escape(line)}", soft_wrap=True)
    by_kind: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        by_kind.setdefault((each.severity, each.kind), []).append(each)
    for (severity, kind), group in by_kind.items():
        style = "red" if severity == "error" else "yellow"
        for each in group if every else group[:SHOWN]:
            console.print(f"[{style}]{severity}[/{style}] {escape(each.message)}", soft_wrap=True)
        if not every and len(group) > SHOWN:
            console.print(f"  … and {len(group) - SHOWN:,} more of this kind ({kind}); --all shows them")


def _print_drift(drift: Drift | None, console: Console) -> None:
    if drift is None:
        console.print("no stamp: `validate --stamp` records the graph that this gold set fits")
        return
    if not drift.graph_changed:
        console.print(f"stamped for this very graph ({escape(drift.stamped_for)})")
    else:
        console.print(
            f"[red]the graph has changed since the gold set was stamped for {escape(drift.stamped_for)}[/red]"
        )
        for what, names in (("with no meaning now", drift.lost), ("with another meaning now", drift.moved)):
            if names:
                more = f" … and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
                listed = ", ".join(names[:NAMES_SHOWN]) + more
                count = amount(len(names), "reference")
                console.print(escape(f"  {count} {what}: {listed}"), soft_wrap=True)
    if drift.gold_changed:
        console.print("the gold set has changed since it was stamped: `validate --stamp` stamps it anew")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} of the questions test linking, not retrieval" if whole else ""
