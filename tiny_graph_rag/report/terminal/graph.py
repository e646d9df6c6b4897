"""Graph statistics in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.run import NO_HOP

if TYPE_CHECKING:
    from tiny_graph_rag.graph.statistics import GraphStatistics
    from tiny_graph_rag.graph.tables import Origin


SHOWN = 8  # types, hubs, components or shared names a line


def print_statistics(name: str, found: GraphStatistics, console: Console) -> None:
    table = Table(show_header=False, title=escape(name))
    table.add_column(style="bold")
    table.add_column()
    components = [f"{size:,}" for size in found.components]
    degrees = ", ".join(f"{label} {found.degrees[q]:g}" for q, label in _QUANTILES.items())
    written_by = found.origin.writer or "this program"
    for label, value in (
        ("written by", written_by),
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
    if found.origin.columns:
        _print_origin(found.origin, console)


def _print_origin(origin: Origin, console: Console) -> None:
    """What became of every column of the file, and of what is no entity and no relation."""
    table = Table(title=escape(f"what {origin.writer} wrote"))
    for column in ("in the file", "became"):
        table.add_column(column)
    for place, column, became in origin.columns:
        table.add_row(escape(f"{place}: {column}"), escape(became))
    for each in origin.dropped:
        table.add_row(escape(each.what), escape(f"dropped: {each.count:,}, such as {each.examples[0]}"))
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
        tried = f"; looked for: {', '.join(found['tried'])}" if found.get("tried") else ""
        console.print(escape(f"no entity of the graph found in the question{tried}"))
    for seed in found["linked"]:
        place = "" if seed["start"] is None else f" at {seed['start']}–{seed['end']}"
        how = f"({seed['rule']}, weight {seed['weight']:.2g})"
        console.print(escape(f"  {seed['mention']!r}{place} → {seed['name']} {how}"))
    table = Table()
    for column in ("rank", "entity", "score", "hop", "walk"):
        table.add_column(column, justify="left" if column in ("entity", "walk") else "right")
    if cut := found.get("walks_cut"):
        most = f"{cut['most']:,}"
        console.print(
            f"walks ended after {cut['hops']} hops: the next would go beyond running.{cut['limit']} ({most})"
        )
    wanted = {entity for each in found["references"] for entity in each["entity_ids"]}
    for rank, each in enumerate(found["ranked"][:shown], start=1):
        hit = each["id"] in wanted
        name = ("✓ " if hit else "") + escape(each["name"])
        hop = "–" if each["hop"] == NO_HOP else str(each["hop"])
        cells = (str(rank), name, f"{each['score']:.3f}", hop, escape(each["walk_text"]))
        table.add_row(*cells, style="green" if hit else "")
    if table.rows:
        console.print(table)
    if any(each["hop"] == NO_HOP for each in found["ranked"][:shown]):
        console.print("hop –: no walk leads there; ranked by the words of its texts and relations alone")
    for each in found["references"]:
        ranks = [n for n, row in enumerate(found["ranked"], start=1) if row["id"] in each["entity_ids"]]
        missing = "not ranked" if each["entity_ids"] else "not in the graph"
        console.print(escape(f"  reference {each['name']}: {f'rank {ranks[0]}' if ranks else missing}"))


def print_reasons(ranked: Sequence[dict[str, Any]], console: Console) -> None:
    """For each ranked entity that has reasons: its parts, the words each explains or leaves, its price."""
    table = Table()
    for column in ("entity", "part", "words", "price"):
        table.add_column(column, justify="right" if column == "price" else "left")
    for rank, each in enumerate(ranked, start=1):
        parts = each.get("reasons") or ()
        for place, part in enumerate(parts):
            name = f"{rank} {each['name']} ({each['score']:.3f})" if place == 0 else ""
            words = ", ".join(part["words"])
            table.add_row(escape(name), escape(part["what"]), escape(words), f"{part['price']:.3f}")
        if parts:
            energy = sum(part["price"] for part in parts)
            table.add_row("", "together", "", f"{energy:.3f}", style="bold", end_section=True)
    console.print(table if table.rows else "this retriever gives no reasons")
