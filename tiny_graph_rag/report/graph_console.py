"""Graph statistics and single questions in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from tiny_graph_rag.graph.statistics import GraphStatistics

SHOWN = 8  # types, hubs, components or shared names a line


def print_statistics(name: str, found: GraphStatistics, console: Console) -> None:
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_header=False, title=escape(name), title_justify="left"
    )
    table.add_column(style="bold")
    table.add_column()
    components = [f"{size:,}" for size in found.components]
    degrees = ", ".join(f"{label} {found.degrees[q]:g}" for q, label in _QUANTILES.items())
    for label, value in (
        ("entities", f"{found.entities:,}"),
        ("  types", _listed(f"{each} {count:,}" for each, count in found.entity_types.items())),
        ("relations", f"{found.relations:,}"),
        ("  types", _listed(f"{each} {count:,}" for each, count in found.relation_types.items())),
        ("relations an entity", f"mean {found.mean_degree:.2f}, {degrees}"),
        ("  hubs", _listed(f"{each} {degree:,}" for each, degree in found.hubs)),
        ("components", f"{len(components):,} (sizes {_listed(components)})"),
        ("aliases", f"{found.aliases:,} on {found.entities_with_aliases:,} entities"),
        (
            "names borne by several",
            _listed(f"{each} ×{count}" for each, count in found.shared_names) or "none",
        ),
        ("duplicate relations", f"{found.duplicate_relations:,}"),
        ("dangling relations", f"{found.dangling_relations:,} (left out)"),
        ("self-loops", f"{found.self_loops:,}"),
    ):
        table.add_row(label, escape(value))
    console.print(table)


_QUANTILES = {0.0: "least", 0.5: "median", 0.95: "95 % up to", 1.0: "most"}


def _listed(items: Any) -> str:
    everything = list(items)
    more = f" … and {len(everything) - SHOWN:,} more" if len(everything) > SHOWN else ""
    return ", ".join(everything[:SHOWN]) + more


def print_question(found: dict[str, Any], console: Console, shown: int) -> None:
    """One question as results files hold it: its seeds, then its ranking, hits against references marked."""
    console.print(f"[bold]{escape(found['query'])}[/bold]")
    if not found["linked"]:
        console.print("no entity of the graph found in the question")
    for seed in found["linked"]:
        place = "" if seed["start"] is None else f" at {seed['start']}–{seed['end']}"
        console.print(
            escape(
                f"  {seed['mention']!r}{place} → {seed['name']} ({seed['rule']}, weight {seed['weight']:.2g})"
            )
        )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, justify in (
        ("rank", "right"),
        ("entity", "left"),
        ("score", "right"),
        ("hop", "right"),
        ("walk", "left"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    wanted = {entity: each["name"] for each in found["references"] for entity in each["entity_ids"]}
    for rank, each in enumerate(found["ranked"][:shown], start=1):
        hit = each["id"] in wanted
        table.add_row(
            str(rank),
            ("✓ " if hit else "") + escape(each["name"]),
            f"{each['score']:.3f}",
            str(each["hop"]),
            escape(each["walk_text"]),
            style="green" if hit else "",
        )
    console.print(table)
    for each in found["references"]:
        ranks = [n for n, row in enumerate(found["ranked"], start=1) if row["id"] in each["entity_ids"]]
        missing = "not ranked" if each["entity_ids"] else "not in the graph"
        console.print(escape(f"  reference {each['name']}: {f'rank {ranks[0]}' if ranks else missing}"))


def print_reasons(ranked: Sequence[dict[str, Any]], console: Console) -> None:
    """For each ranked entity that has reasons: its parts, the words each explains or leaves, its price."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, justify in (("entity", "left"), ("part", "left"), ("words", "left"), ("price", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for rank, each in enumerate(ranked, start=1):
        parts = each.get("reasons") or ()
        for place, part in enumerate(parts):
            name = f"{rank} {each['name']} ({each['score']:.3f})" if place == 0 else ""
            words = ", ".join(part["words"])
            table.add_row(escape(name), escape(part["what"]), escape(words), f"{part['price']:.3f}")
        if parts:
            energy = sum(part["price"] for part in parts)
            table.add_row("", "together", "", f"{energy:.3f}", style="bold", end_section=True)
    console.print(table if table.row_count else "this retriever gives no reasons")
