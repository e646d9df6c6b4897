"""A gold set as a spreadsheet keeps it: a question a row, what it names in cells.

Columns go by their names, in English or Korean, whatever their case; others are kept with the question. A
cell with several names holds them between `;`, `|` or line breaks, tags between commas as well. A name with a
`;` of its own stands in a JSON list, which is also how it is written.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.tables import (
    QUESTION_NAMES,
    TableWriter,
    delimiter_of,
    guarded,
    read_table,
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "id": (*QUESTION_NAMES, "example_id", "no", "번호"),
    "query": ("query", "question", "msg", "text", "질문"),
    "reference_entities": ("reference_entities", "references", "reference", "gold", "정답"),
    "highly_relevant_entities": ("highly_relevant_entities", "highly_relevant", "핵심_정답"),
    "irrelevant_entities": ("irrelevant_entities", "irrelevant", "오답"),
    "seed_entities": ("seed_entities", "seeds", "seed", "출발_개체"),
    "ground_truth": ("ground_truth", "answer", "answers", "답", "답변"),
    "tags": ("tags", "tag", "태그"),
    "context": ("context", "앞_대화"),
    "expected_types": ("expected_types",),
    "reference_texts": ("reference_texts",),
    "group": ("group", "묶음"),
}
_PLAIN = ("id", "query", "group")  # one value a cell
_REQUIRED = ("query", "reference_entities")
_SIGNS = {"tags": ",;|\n", "ground_truth": "|\n", "context": "\n", "reference_texts": "\n"}
_NAMES_SIGNS = ";|\n"


def places(names: Sequence[str]) -> dict[str, str]:
    """Field → the column that holds it; of several the one named first above."""
    folded = {"_".join(name.casefold().split()): name for name in reversed(names)}
    return {
        field: folded[found]
        for field, spellings in COLUMNS.items()
        if (found := next((each for each in spellings if each in folded), None)) is not None
    }


def is_sheet(head: Head) -> bool:
    """Whether the header names a question and its references."""
    if head.is_json or head.is_parquet:
        return False
    found = places([each.strip().strip('"') for each in head.line.split(delimiter_of(head.line))])
    return all(field in found for field in _REQUIRED)


def reads_as_sheet(path: Path) -> bool:
    """Whether the file is one, or by its name should be: then what its header lacks can be said."""
    head = Head.of(path)
    named = path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    return is_sheet(head) or (named and not head.is_json)


def sheet_rows(path: Path, required: Sequence[str] = _REQUIRED) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Number, place and fields of each question, as a line of our own format has them.

    Rows without anything in them are left out. Raises DatasetError where a required column is missing.
    """
    names, rows = read_table(path)
    found = places(names)
    missing = [field for field in required if field not in found]
    if missing:
        raise DatasetError(_lacking(path, missing[0], names, found))
    taken = set(found.values())
    for number, (place, cells) in enumerate(rows, start=2):  # as a spreadsheet counts them
        texts = {name: _text(value) for name, value in cells.items()}
        if not any(texts.values()):
            continue
        row: dict[str, Any] = {}
        for field, column in found.items():
            cell = texts[column]
            if field in _PLAIN:
                if cell or field == "query":
                    row[field] = cell
            elif cell or field == "reference_entities":
                row[field] = _listed(cell, _SIGNS.get(field, _NAMES_SIGNS))
        row |= {name: cell for name, cell in texts.items() if name and cell and name not in taken}
        yield number, place, row


def sheet_parts(rows: Sequence[dict[str, Any]], delimiter: str) -> Iterator[bytes]:
    """The file's content, with a mark, so that spreadsheets show Hangul. rows: lines of our own format."""
    fields = [field for field in COLUMNS if field in _REQUIRED or any(row.get(field) for row in rows)]
    text = io.StringIO()
    table = TableWriter(text, delimiter)
    table.writerow(fields)
    for row in rows:
        cells = (
            str(row.get(field) or "")
            if field in _PLAIN
            else _cell(row.get(field), _SIGNS.get(field, _NAMES_SIGNS))
            for field in fields
        )
        table.writerow(list(map(guarded, cells)))
    yield b"\xef\xbb\xbf" + text.getvalue().encode()


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _listed(cell: str, signs: str) -> list[str]:
    if cell[:1] == "[" and cell[-1:] == "]":
        try:
            found = parse_json(cell)
        except NotJsonError:
            found = None
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return found
    sign = next((each for each in reversed(signs) if each in cell), None)  # the rarest of them counts
    return [part for each in (cell.split(sign) if sign else [cell]) if (part := each.strip())]


def _cell(value: Any, signs: str) -> str:
    """What `_listed` reads back."""
    listed = [value] if isinstance(value, str) else list(value or ())
    if any(sign in each for each in listed for sign in signs) or (listed and listed[0][:1] == "["):
        return json.dumps(listed, ensure_ascii=False)
    return "; ".join(listed) if ";" in signs else signs[0].join(listed)


def _lacking(path: Path, field: str, names: Sequence[str], found: dict[str, str]) -> str:
    wanted = " or ".join(map(repr, COLUMNS[field][:2]))
    listed = ", ".join(name for name in names if name)
    said = f"{path.name}:1: no column {wanted}; it has: {listed}."
    if field == "reference_entities":
        said += " It holds the names of the entities to be found, several between ';'."
        if "ground_truth" in found:
            said += (
                f" {found['ground_truth']!r} is read as the answer in words: where it holds names, call it "
                "'references'."
            )
    return said.removesuffix(".")
