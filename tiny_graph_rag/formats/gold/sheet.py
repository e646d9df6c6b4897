"""A gold set as a spreadsheet keeps it: a question a row, what it names in cells.

Columns go by their names, in English or Korean, whatever their case; others are kept with the question. A
cell with several names holds them between `;`, `|` or line breaks, tags between commas as well. A name with a
`;` of its own stands in a JSON list, which is also how it is written.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tiny_graph_rag.files import BYTE_ORDER_MARK
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.gold.records import folded
from tiny_graph_rag.formats.tables import TableWriter, guarded
from tiny_graph_rag.formats.words import DOCUMENT_NAMES, FIELDS, QUERY_KEYS

_PLAIN = ("id", "query", "group")  # one value a cell
_REQUIRED = ("query", "reference_entities")
_SIGNS = {"tags": ",;|\n", "ground_truth": "|\n", "context": "\n", "reference_texts": "\n"}
_NAMES_SIGNS = ";|\n"
_NO_QUESTION = ("text", "input", "messages")  # a column of a run too, where ids of documents are next to it


def is_sheet(head: Head) -> bool:
    """Whether the header names a column of questions, and none of documents that were judged or retrieved."""
    if head.is_json:
        return False
    names = {folded(name) for name in head.columns}
    asked = names & {*QUERY_KEYS}
    judged = bool(names & {folded(name) for name in DOCUMENT_NAMES if name != "name"})
    return bool(asked) and not (judged and (asked <= {*_NO_QUESTION} or not names & _answers()))


def _answers() -> set[str]:
    return {
        key for field in ("reference_entities", "ground_truth", "reference_texts") for key in FIELDS[field]
    }


def sheet_parts(rows: Sequence[dict[str, Any]], delimiter: str) -> Iterator[bytes]:
    """The file's content, with a mark, so that spreadsheets show Hangul. rows: lines of our own format; what
    has no field of ours gets a column of its own, values that are no text as JSON."""
    known = [name for name in FIELDS if name in _REQUIRED or any(row.get(name) for row in rows)]
    own = dict.fromkeys(name for row in rows for name in row if name not in FIELDS)
    text = io.StringIO()
    table = TableWriter(text, delimiter)
    table.writerow([*known, *own])
    for row in rows:
        cells = [
            str(row.get(name) or "")
            if name in _PLAIN
            else _cell(row.get(name), _SIGNS.get(name, _NAMES_SIGNS))
            for name in known
        ]
        table.writerow([guarded(cell) for cell in (*cells, *(_own_cell(row.get(name)) for name in own))])
    yield BYTE_ORDER_MARK + text.getvalue().encode()


def _own_cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any, signs: str) -> str:
    """What `listed` reads back."""
    listed = [value] if isinstance(value, str) else list(value or ())
    texts = all(isinstance(part, str) for part in listed)
    if (
        not texts
        or any(sign in part for part in listed for sign in signs)
        or (listed and listed[0][:1] == "[")
    ):
        return json.dumps(listed, ensure_ascii=False)
    return "; ".join(listed) if ";" in signs else signs[0].join(listed)
