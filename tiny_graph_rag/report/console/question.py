"""Single questions in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.report.console import Console, Table, escape


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
    wanted = {entity for each in found["references"] for entity in each["entity_ids"]}
    for rank, each in enumerate(found["ranked"][:shown], start=1):
        hit = each["id"] in wanted
        name = ("✓ " if hit else "") + escape(each["name"])
        cells = (str(rank), name, f"{each['score']:.3f}", str(each["hop"]), escape(each["walk_text"]))
        table.add_row(*cells, style="green" if hit else "")
    if table.rows:
        console.print(table)
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
