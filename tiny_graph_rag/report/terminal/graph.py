"""Graph statistics in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.messages import t
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
    quantiles = {0.0: t("least"), 0.5: t("median"), 0.95: t("95 % up to"), 1.0: t("most")}
    degrees = ", ".join(f"{label} {found.degrees[q]:g}" for q, label in quantiles.items())
    written_by = found.origin.writer or t("this program")
    for label, value in (
        (t("written by"), written_by),
        (t("entities"), f"{found.entities:,}"),
        (f"  {t('types')}", _listed(f"{each} {count:,}" for each, count in found.entity_types.items())),
        (t("relations"), f"{found.relations:,}"),
        (f"  {t('types')}", _listed(f"{each} {count:,}" for each, count in found.relation_types.items())),
        (t("relations an entity"), f"{t('mean')} {found.mean_degree:.2f}, {degrees}"),
        (f"  {t('hubs')}", _listed(f"{each} {degree:,}" for each, degree in found.hubs)),
        (t("components"), f"{len(components):,} ({t('sizes')} {_listed(components)})"),
        (
            t("aliases"),
            t(
                "{n} on {entities} entities",
                n=f"{found.aliases:,}",
                entities=f"{found.entities_with_aliases:,}",
            ),
        ),
        (
            t("names borne by several"),
            _listed(f"{each} ×{count}" for each, count in found.shared_names) or t("none"),
        ),
        (t("duplicate relations"), f"{found.duplicate_relations:,}"),
        (t("dangling relations"), t("{n} (left out)", n=f"{found.dangling_relations:,}")),
        (t("self-loops"), f"{found.self_loops:,}"),
    ):
        table.add_row(label, escape(value))
    console.print(table)
    if found.origin.columns:
        _print_origin(found.origin, console)


def _print_origin(origin: Origin, console: Console) -> None:
    """What became of every column of the file, and of what is no entity and no relation."""
    table = Table(title=escape(t("what {writer} wrote", writer=origin.writer)))
    for column in (t("in the file"), t("became")):
        table.add_column(column)
    for place, column, became in origin.columns:
        table.add_row(escape(f"{place}: {column}"), escape(became))
    for each in origin.dropped:
        table.add_row(
            escape(each.what),
            escape(t("dropped: {n}, such as {example}", n=f"{each.count:,}", example=each.examples[0])),
        )
    console.print(table)


def _listed(items: Any) -> str:
    everything = list(items)
    left = len(everything) - SHOWN
    return ", ".join(everything[:SHOWN]) + (" " + t("… and {n} more", n=f"{left:,}") if left > 0 else "")


def print_question(found: dict[str, Any], console: Console, shown: int) -> None:
    """One question as results files hold it: its seeds, then its ranking, hits against references marked."""
    console.print(f"[bold]{escape(found['query'])}[/bold]")
    if not found["linked"]:
        tried = ", ".join(found.get("tried") or ())
        linked_to_nothing = (
            t("the question links to nothing; looked for: {words}", words=tried)
            if tried
            else t("the question links to nothing")
        )
        console.print(escape(linked_to_nothing))
    for seed in found["linked"]:
        place = (
            "" if seed["start"] is None else " " + t("at {start}–{end}", start=seed["start"], end=seed["end"])
        )
        how = t("({rule}, weight {weight})", rule=seed["rule"], weight=f"{seed['weight']:.2g}")
        console.print(escape(f"  {seed['mention']!r}{place} → {seed['name']} {how}"))
    table = Table()
    for column in (t("rank"), t("entity"), t("score"), t("hop"), t("walk")):
        table.add_column(column, justify="left" if column in (t("entity"), t("walk")) else "right")
    if cut := found.get("walks_cut"):
        most = f"{cut['most']:,}"
        console.print(
            t(
                "Walks ended after {hops} hops: the next would go beyond {limit} ({most}).",
                hops=cut["hops"],
                limit=f"running.{cut['limit']}",
                most=most,
            )
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
        console.print(t("hop –: no walk leads there; ranked by the words of its texts and relations alone"))
    for each in found["references"]:
        ranks = [n for n, row in enumerate(found["ranked"], start=1) if row["id"] in each["entity_ids"]]
        missing = t("not ranked") if each["entity_ids"] else t("not in the graph")
        became = t("rank {n}", n=ranks[0]) if ranks else missing
        console.print(escape(f"  {t('reference')} {each['name']}: {became}"))


def print_reasons(ranked: Sequence[dict[str, Any]], console: Console) -> None:
    """For each ranked entity that has reasons: its parts, the words each explains or leaves, its price."""
    table = Table()
    for column, justify in ((t("entity"), "left"), (t("part"), "left"), (t("words"), "left")):
        table.add_column(column, justify=justify)
    table.add_column(t("price"), justify="right")
    for rank, each in enumerate(ranked, start=1):
        parts = each.get("reasons") or ()
        for place, part in enumerate(parts):
            name = f"{rank} {each['name']} ({each['score']:.3f})" if place == 0 else ""
            words = ", ".join(part["words"])
            table.add_row(escape(name), escape(part["what"]), escape(words), f"{part['price']:.3f}")
        if parts:
            energy = sum(part["price"] for part in parts)
            table.add_row("", t("together"), "", f"{energy:.3f}", style="bold", end_section=True)
    console.print(table if table.rows else t("this retriever gives no reasons"))
