"""What `fix` found, in about ten lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tiny_graph_rag.messages import t
from tiny_graph_rag.report.fix_words import (
    NOT_KEPT,
    PROVEN,
    TO_ASK,
    TO_JUDGE,
    Json,
    Row,
    asked,
    batches,
    not_kept,
    proven,
    summary_line,
)
from tiny_graph_rag.report.plain import one_line

BLOCKS: tuple[tuple[str, Callable[[Json], Iterator[Row]], int], ...] = (
    (PROVEN, proven, 2),
    (TO_JUDGE, batches, 3),
    (TO_ASK, asked, 1),
    (NOT_KEPT, not_kept, 2),
)
LONGEST = 200  # characters of a line


def fix_lines(content: Json) -> Iterator[str]:
    """Summary, then a head and a few rows for each of the four blocks."""
    yield summary_line(content)
    for head, rows_of, most in BLOCKS:
        rows = list(rows_of(content))
        if not rows:
            yield f"{t(head)} – {t('nothing')}"
            continue
        yield t(head)
        for row in islice(rows, most):
            yield f"  {one_line(row_words(row), LONGEST)}"
        if len(rows) > most:
            yield "  " + t("and {n} more in the file", n=f"{len(rows) - most:,}")
    if content["stopped"]:
        yield t(content["stopped"])


def row_words(row: Row) -> str:
    measured: Sequence[str] = [part for part in (row.gain, row.control) if part]
    parts = (row.what, " · ".join(measured), row.note)
    return " · ".join(part for part in parts if part)
