"""Graph statistics in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiny_graph_rag.report.console import Console, Table, escape

if TYPE_CHECKING:
    from tiny_graph_rag.graph.statistics import GraphStatistics

SHOWN = 8  # types, hubs, components or shared names a line


def print_statistics(name: str, found: GraphStatistics, console: Console) -> None:
    table = Table(show_header=False, title=escape(name))
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
