"""What `fix` found, in about ten lines."""

from __future__ import annotations

from collections.abc import Iterator

from tiny_graph_rag.messages import t
from tiny_graph_rag.report.fix_words import (
    NOT_KEPT,
    PROVEN,
    TO_ASK,
    TO_JUDGE,
    Json,
    Row,
    blocks_of,
    summary_line,
)
from tiny_graph_rag.report.plain import one_line

MOST = {PROVEN: 2, TO_JUDGE: 3, TO_ASK: 1, NOT_KEPT: 2}  # rows of a block
LONGEST = 200  # characters of a line


def fix_lines(content: Json) -> Iterator[str]:
    """Summary, then a head and a few rows for each of the four blocks."""
    yield summary_line(content)
    for head, rows in blocks_of(content, whole=False):
        if not rows:
            yield f"{t(head)} – {t('nothing')}"
            continue
        yield t(head)
        for row in rows[: MOST[head]]:
            yield f"  {one_line(row_words(row), LONGEST)}"
        if len(rows) > MOST[head]:
            yield "  " + t("and {n} more in the file", n=f"{len(rows) - MOST[head]:,}")
    if content["stopped"]:
        yield t(content["stopped"])


def row_words(row: Row) -> str:
    measured = " · ".join(part for part in (row.gain, row.control) if part)
    return " · ".join(part for part in (row.what, measured, row.note) if part)
