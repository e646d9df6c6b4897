"""The records of a JSON file with their places, however the file wraps them: one a line, in a list, or in one
object that holds them. Gold sets, runs and graphs are read so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import Problems
from tiny_graph_rag.files import lines_of


class Record(NamedTuple):
    """number: line, row as a spreadsheet counts, or place in the list, from 1. place: for messages."""

    number: int
    place: str
    row: Any


@dataclass(slots=True)
class Records:
    """Iterated once. head: the object that holds the list of records, without them; list_key: where it
    holds them. kind: lines, list or table."""

    rows: Iterator[Record]
    kind: str
    head: dict[str, Any] = field(default_factory=dict)
    list_key: str = ""

    def __iter__(self) -> Iterator[Record]:
        return self.rows


def json_records(
    path: Path,
    text: str,
    problems: Problems,
    is_record: Callable[[dict[str, Any]], bool],
    rows_of: Callable[[Any], tuple[list[Any], str]],
) -> Records:
    """problems: get the lines that are no JSON. Raises their `failure` for a file without JSON.

    is_record: whether an object is one record, not the file's one object around them. rows_of: the records in
    the file's one value, and under which key of it they stand ("" where they stand otherwise).
    """
    document, in_lines = _document(path, text, problems, is_record)
    if in_lines:
        return Records(json_lines(path, text, problems), "lines")
    rows, key = rows_of(document)
    head = {name: None if name == key else value for name, value in document.items()} if key else {}
    listed = (Record(number, f"{path.name}: question {number}", row) for number, row in enumerate(rows, 1))
    return Records(listed, "list", head, key)


def json_lines(
    path: Path, text: str, problems: Problems, parse: Callable[[str], Any] = parse_json
) -> Iterator[Record]:
    """The value of each line that says anything; what is no JSON goes to `problems`."""
    last = text.count("\n") + 1
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except NotJsonError as error:
            problems.append(error.at(path.name, number, is_last=number == last))
            continue
        yield Record(number, f"{path.name}:{number}", row)


def _document(
    path: Path, text: str, problems: Problems, is_record: Callable[[dict[str, Any]], bool]
) -> tuple[Any, bool]:
    """The whole file's value, and whether it is one object a line instead."""
    line, _, rest = text.lstrip().partition("\n")
    first = _object(line) if line[:1] == "{" else None
    if first is not None and (rest.strip() or is_record(first)):
        return None, True
    try:
        return parse_json(text), False
    except NotJsonError as error:
        if line[:1] == "{" and (line.strip() != "{" or not rest.strip()) and _object(text) is None:
            return None, True
        raise problems.failure(error.at(path.name)) from error


def _object(text: str) -> dict[str, Any] | None:
    """A key that is given twice, or half a character, is for the reader of the line to say."""
    try:
        value = parse_json(text, twice=[], halves=True)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None
