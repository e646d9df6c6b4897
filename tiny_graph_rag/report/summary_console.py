"""Means in the terminal, drawn by rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from tiny_graph_rag.evaluation.summary import Summary
from tiny_graph_rag.report.summary_table import summary_notes, summary_table

if TYPE_CHECKING:
    from rich.console import Console


def print_summary(summary: Summary, console: Console) -> None:
    """Means with intervals: overall, then by tag; and what a reader must know of them."""
    columns, rows = summary_table(summary)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left")
    for row in rows:
        table.add_row(*map(escape, row.cells), style="bold" if row.bold else "")
    console.print(table)
    for each in summary_notes(summary):
        console.print(each)
