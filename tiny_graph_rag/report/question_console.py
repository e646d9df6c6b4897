"""Single questions in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.report.screen import Column, Row, Screen

RANKING = (
    Column("rank", right=True),
    Column("entity"),
    Column("score", right=True),
    Column("hop", right=True),
    Column("walk"),
)
REASONS = (Column("entity"), Column("part"), Column("words"), Column("price", right=True))


def print_question(found: dict[str, Any], screen: Screen, shown: int) -> None:
    """One question as results files hold it: its seeds, then its ranking, hits against references marked."""
    screen.line(found["query"], bold=True)
    if not found["linked"]:
        screen.line("no entity of the graph found in the question")
    for seed in found["linked"]:
        place = "" if seed["start"] is None else f" at {seed['start']}–{seed['end']}"
        how = f"({seed['rule']}, weight {seed['weight']:.2g})"
        screen.line(f"  {seed['mention']!r}{place} → {seed['name']} {how}")
    wanted = {entity for each in found["references"] for entity in each["entity_ids"]}
    rows = []
    for rank, each in enumerate(found["ranked"][:shown], start=1):
        hit = each["id"] in wanted
        name = ("✓ " if hit else "") + each["name"]
        cells = (str(rank), name, f"{each['score']:.3f}", str(each["hop"]), each["walk_text"])
        rows.append(Row(cells, good=hit))
    screen.table(RANKING, rows)
    for each in found["references"]:
        ranks = [n for n, row in enumerate(found["ranked"], start=1) if row["id"] in each["entity_ids"]]
        missing = "not ranked" if each["entity_ids"] else "not in the graph"
        screen.line(f"  reference {each['name']}: {f'rank {ranks[0]}' if ranks else missing}")


def print_reasons(ranked: Sequence[dict[str, Any]], screen: Screen) -> None:
    """For each ranked entity that has reasons: its parts, the words each explains or leaves, its price."""
    rows = []
    for rank, each in enumerate(ranked, start=1):
        parts = each.get("reasons") or ()
        for place, part in enumerate(parts):
            name = f"{rank} {each['name']} ({each['score']:.3f})" if place == 0 else ""
            rows.append(Row((name, part["what"], ", ".join(part["words"]), f"{part['price']:.3f}")))
        if parts:
            energy = sum(part["price"] for part in parts)
            rows.append(Row(("", "together", "", f"{energy:.3f}"), bold=True, last=True))
    if rows:
        screen.table(REASONS, rows)
    else:
        screen.line("this retriever gives no reasons")
