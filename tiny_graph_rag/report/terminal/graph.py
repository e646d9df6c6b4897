"""Graph statistics in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.linking.base import TEXT
from tiny_graph_rag.messages import t
from tiny_graph_rag.report.json.paths import seed_of
from tiny_graph_rag.report.plain import cost_figure
from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.run import COST_PARTS, NO_HOP

if TYPE_CHECKING:
    from tiny_graph_rag.graph.statistics import GraphStatistics
    from tiny_graph_rag.graph.tables import Origin


SHOWN = 8  # types, hubs, components or shared names a line


def print_statistics(name: str, found: GraphStatistics, console: Console) -> None:
    table = Table(show_header=False, title=escape(name))
    table.add_column(style="bold")
    table.add_column()
    components = [f"{size:,}" for size in found.components]
    quantiles = {0.0: t("min"), 0.5: t("median"), 0.95: t("95th percentile"), 1.0: t("max")}
    degrees = ", ".join(f"{label} {found.degrees[q]:g}" for q, label in quantiles.items())
    written_by = found.origin.writer or t("this program")
    for label, value in (
        (t("written by"), written_by),
        (t("entities"), f"{found.entities:,}"),
        (f"  {t('types')}", _listed(f"{key} {count:,}" for key, count in found.entity_types.items())),
        (t("relations"), f"{found.relations:,}"),
        (f"  {t('types')}", _listed(f"{key} {count:,}" for key, count in found.relation_types.items())),
        (t("relations per entity"), f"{t('mean')} {found.mean_degree:.2f}, {degrees}"),
        (f"  {t('hubs')}", _listed(f"{hub} {degree:,}" for hub, degree in found.hubs)),
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
            t("ambiguous names"),
            _listed(f"{name} ×{count}" for name, count in found.shared_names) or t("none"),
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
    table = Table(title=escape(t("columns of the file ({writer})", writer=origin.writer)))
    for column in (t("in the file"), t("read as")):
        table.add_column(column)
    for place, column, became in origin.columns:
        table.add_row(escape(f"{t(place)}: {column}"), escape(t(became)))
    for drop in origin.dropped:
        table.add_row(
            escape(t(drop.what)),
            escape(t("dropped: {n}, such as {example}", n=f"{drop.count:,}", example=drop.examples[0])),
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
            t("no entity of the question was recognised; looked for: {words}", words=tried)
            if tried
            else t("no entity of the question was recognised")
        )
        console.print(escape(linked_to_nothing))
    for seed in found["linked"]:
        place = (
            ""
            if seed["start"] is None
            else " " + t("characters {start}–{end}", start=seed["start"], end=seed["end"])
        )
        how = t("({rule}, weight {weight})", rule=rule_words(seed["rule"]), weight=f"{seed['weight']:.2g}")
        console.print(escape(f"  {seed['mention']!r}{place} → {seed['name']} {how}"))
    table = Table()
    costs = any("cost" in row for row in found["ranked"][:shown])
    for column, justify, spare in (
        ("rank", "right", 0),
        ("entity", "left", 0),
        ("score", "right", 0),
        *((("cost", "right", 2),) if costs else ()),
        ("hop", "right", 0),
        ("seed", "left", 1),
        ("path", "left", 0),
    ):
        table.add_column(t(column), justify=justify, spare=spare)
    if cut := found.get("walks_cut"):
        most = f"{cut['most']:,}"
        console.print(
            t(
                "The search stopped after {hops} hops: the next hop would exceed {limit} ({most}).",
                hops=cut["hops"],
                limit=f"running.{cut['limit']}",
                most=most,
            )
        )
    wanted = {entity for reference in found["references"] for entity in reference["entity_ids"]}
    for rank, item in enumerate(found["ranked"][:shown], start=1):
        hit = item["id"] in wanted
        name = ("✓ " if hit else "") + escape(item["name"])
        hop = "–" if item["hop"] == NO_HOP else str(item["hop"])
        cost = (cost_figure(item["cost"]["total"]),) if "cost" in item else ("",) if costs else ()
        seed = seed_of(item, found["linked"])
        start = "" if seed is None else escape(f"{seed['name']} ({rule_words(seed['rule'])})")
        cells = (str(rank), name, f"{item['score']:.3f}", *cost, hop, start, escape(item["walk_text"]))
        table.add_row(*cells, style="green" if hit else "")
    if table.rows:
        console.print(table)
    if any(entity["hop"] == NO_HOP for entity in found["ranked"][:shown]):
        console.print(t("hop –: no path is known; it was found without following relations"))
    for reference in found["references"]:
        ranks = [n for n, row in enumerate(found["ranked"], start=1) if row["id"] in reference["entity_ids"]]
        missing = t("not ranked") if reference["entity_ids"] else t("not in the graph")
        became = t("rank {n}", n=ranks[0]) if ranks else missing
        console.print(escape(f"  {t('reference')} {reference['name']}: {became}"))


def rule_words(rule: str) -> str:
    """How a seed was linked: by its texts, or by a name and which rule found it."""
    return t("by text") if rule == TEXT else t("by name: {rule}", rule=t(rule))


COST_WORDS = {name: "PageRank" if name == "pagerank" else name for name in COST_PARTS}
COST_LEGEND = (
    "cost = link + path + text + neighbour + PageRank; score = 1 / (1 + cost). link: the path starts at "
    "a seed found by text; path: its relations and the question's words that they don't explain; text, "
    "neighbour, PageRank: how far the entity's text score, the best text score of a neighbour and its "
    "personalised PageRank are below the best"
)


def print_costs(ranked: Sequence[dict[str, Any]], console: Console) -> None:
    """The five parts of each cost, adding up to it; then what its retriever says of them."""
    table = Table()
    table.add_column(t("rank"), justify="right")
    table.add_column(t("entity"))
    for name in ("cost", *COST_WORDS.values()):
        table.add_column(t(name), justify="right")
    for rank, row in enumerate(ranked, start=1):
        if "cost" in row:
            parts = [cost_figure(row["cost"][part]) for part in COST_WORDS]
            table.add_row(str(rank), escape(row["name"]), cost_figure(row["cost"]["total"]), *parts)
    if table.rows:
        console.print(table)
        console.print(t(COST_LEGEND), soft_wrap=True)
    if not table.rows or any(row.get("reasons") for row in ranked):
        print_reasons(ranked, console)


def print_reasons(ranked: Sequence[dict[str, Any]], console: Console) -> None:
    """For each ranked entity that has reasons: what each is, the words it explains or leaves, its cost."""
    table = Table()
    for column, justify in ((t("entity"), "left"), (t("part"), "left"), (t("words"), "left")):
        table.add_column(column, justify=justify)
    table.add_column(t("cost"), justify="right")
    for rank, entity in enumerate(ranked, start=1):
        parts = entity.get("reasons") or ()
        for place, part in enumerate(parts):
            name = f"{rank} {entity['name']} ({entity['score']:.3f})" if place == 0 else ""
            words = ", ".join(part["words"])
            table.add_row(escape(name), escape(t(part["what"])), escape(words), f"{part['price']:.3f}")
        if parts:
            cost = sum(part["price"] for part in parts)
            table.add_row("", t("total"), "", f"{cost:.3f}", style="bold", end_section=True)
    console.print(table if table.rows else t("this retriever doesn't explain its ranking"))
