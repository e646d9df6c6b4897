"""Tables with a header: CSV, TSV, Parquet and worksheets, for both gold sets and runs."""

from __future__ import annotations

import ast
import csv
import datetime
import io
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tiny_graph_rag.documents import NotJsonError, Record, parse_json, read_yaml
from tiny_graph_rag.errors import InputError, Problems, json_kind, optional, unknown
from tiny_graph_rag.files import (
    PARQUET_MAGIC,
    check_declared,
    check_unpacked,
    decode_utf8,
    lines_of,
    read_bytes,
    read_start,
    stamp_of,
    text_in,
)
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.messages import said

LISTED = 20  # columns that a message names
CELL_BYTES = 8  # of a column in memory, at least
LONGEST_CELL = 1 << 27  # characters; csv's own 128 KiB are less than the contexts of one question
csv.field_size_limit(LONGEST_CELL)


def read_table(path: Path, *, others: bool = False) -> tuple[list[str], Iterator[tuple[str, dict[str, Any]]]]:
    """The column names, and (place, row) of each row; place is for messages (`file:line`). Cells of text are
    as they were before `guarded`. others: as `text_in` has it.

    Raises InputError for an empty file and a row of another length than the header.
    """
    text = text_in(path, others=others)
    if text is None:
        if read_start(path, 4) == PARQUET_MAGIC:
            return _parquet(path)
        _, columns, found = next(sheets(path), ("", [], iter(())))  # the first with anything in it
        return columns or column_names([], path), found
    if "\0" in text:  # UTF-16 without its mark, or no text at all: a score of it would mean nothing
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError.at(f"{path.name}:{line}", "contains the character NUL; save the file as text")
    rows = csv_rows(path, text, InputError, strict=True)
    first = next(rows, (0, []))
    names = columns_of_data(first[1])
    if names:
        rows = chain([first], rows)
    else:
        names = column_names(first[1], path)
    return names, _checked(rows, names, path)


def columns_of_data(cells: Sequence[str]) -> list[str]:
    """The columns of a table whose first row is data: a question, an id and its question, or a question and
    its answers; [] where the first row names the columns."""
    if len(cells) == 2 and _NUMBERED.fullmatch(cells[0]) and " " in cells[1]:
        return ["query_id", "question"]
    asks = len(cells) in (1, 2) and (len(cells[0].split()) > 4 or cells[0].endswith(("?", "？")))
    return ["question", "answers"][: len(cells)] if asks else []


def column_names(header: Iterable[Any], path: Path) -> list[str]:
    """A table's column names. Raises InputError where there are none, or one is given twice."""
    names = [str(name).strip() for name in header]
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise InputError.at(
            f"{path.name}:1",
            "the column {column} is given twice; keep one of them, or add a line of names above",
            column=repr(twice[0]),
        )
    if not any(names):
        raise InputError.at(path, "the file is empty; wanted a header such as query_id,doc_id,score")
    return names


@contextmanager
def reading_parquet(path: Path, failure: type[InputError]) -> Iterator[Any]:
    """`pyarrow.parquet`; what it can't read within is raised as `failure`. Raises MissingExtraError."""
    parquet = optional("pyarrow.parquet", said("reading Parquet"), "parquet")
    import pyarrow

    try:
        yield parquet
    except (OSError, OverflowError, ValueError, pyarrow.ArrowException) as error:  # no UTF-8, a date
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise failure.at(path, "can't be read as Parquet: {why}", why=why) from error


def check_parquet(file: Any, path: Path) -> None:
    """Refuse a `ParquetFile` whose footer declares far more than the file can be expected to hold: columns
    are made as long as the footer says. Raises InputError."""
    footer = file.metadata
    groups = sum(footer.row_group(number).num_rows for number in range(footer.num_row_groups))
    rows = max(footer.num_rows, groups)
    check_declared(path, rows * max(1, footer.num_columns) * CELL_BYTES, said("{n} rows", n=f"{rows:,}"))


def delimiter_of(header: str) -> str:
    """A tab, a comma, or the semicolon of spreadsheets where the comma marks decimals; a bar where none
    is.
    """
    if "\t" in header or "," in header:
        return "\t" if "\t" in header else ","
    return next((sign for sign in ";|" if sign in header), ",")


_NUMBERED = re.compile(r"\S*\d\S*")  # an id, not the name of a column


def _checked(
    rows: Iterator[tuple[int, list[str]]], names: list[str], path: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    for line, row in rows:
        place = f"{path.name}:{line}"
        if len(row) != len(names):
            raise InputError.at(
                place,
                "wanted {n} fields ({names}), got {got}; put a cell with a comma in quotes, and separate "
                "several names with ;",
                n=len(names),
                names=", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else ""),
                got=len(row),
            )
        yield place, dict(zip(names, map(unguarded, row), strict=True))


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def csv_rows(
    path: Path, text: str, failure: type[InputError], delimiter: str | None = None, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each row that has some. delimiter: None for what the first line says. strict: a
    quotation mark that none closes is refused, which takes in all lines below it.

    Raises `failure` for what is no CSV.
    """
    first = text.lstrip("\r\n").partition("\n")[0]
    if delimiter is None:
        delimiter = delimiter_of(first)
        if delimiter not in first:
            delimiter = "\x1f"  # one column, whose cells may hold any sign
    # Line ends as they are: a field may hold "\r", and csv says what it does not know itself.
    lines = (line[0] for line in _LINE.finditer(text))
    rows = csv.reader(lines, delimiter=delimiter, strict=strict)
    last = 0
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
            last = rows.line_num
    except csv.Error as error:
        if "end of data" not in str(error):
            raise failure.at(f"{path}:{rows.line_num}", "not CSV: {error}", error=error) from error
        raise failure.at(
            f"{path.name}:{last + 1}",
            "a quotation mark opens a cell and none closes it; close it, or remove it",
        ) from error


def literal(text: str) -> Any:
    """The value that a text spells as JSON or as Python writes it; None where it spells none. Nothing is
    run."""
    try:
        return parse_json(text)
    except NotJsonError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def table_text(rows: Iterable[Sequence[Any]], delimiter: str = ",") -> Iterator[str]:
    """CSV or TSV, in pieces, that reads back whatever the cells hold: csv alone leaves a "\\r" without quotes
    where lines end in "\\n"."""
    stream = io.StringIO()
    plain = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(stream, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        holds_return = any(isinstance(cell, str) and "\r" in cell for cell in row)
        (quoted if holds_return else plain).writerow(row)
        if stream.tell() > 1 << 20:
            yield stream.getvalue()
            stream.seek(0)
            stream.truncate()
    yield stream.getvalue()


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet may run


def guarded(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, and that `unguarded` turns back."""
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def unguarded(text: str) -> str:
    """Of a cell that `guarded` made, or anyone who marks text so."""
    return text[1:] if text[:1] == "'" and text.lstrip("'").startswith(_FORMULA) else text


def _parquet(path: Path) -> tuple[list[str], Iterator[tuple[str, dict[str, Any]]]]:
    with reading_parquet(path, InputError) as parquet:
        with parquet.ParquetFile(path) as file:
            check_parquet(file, path)
            names = column_names(file.schema_arrow.names, path)
        table = parquet.read_table(path)
        table.validate(full=True)
        rows = table.rename_columns(names).to_pylist()
    return names, ((f"{path.name}: row {number}", _plain(row)) for number, row in enumerate(rows, start=1))


def _plain(value: Any) -> Any:
    """A cell as JSON could hold it: dates, times, decimals and bytes are text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def fields_beside(path: Path, known: Collection[str], failure: type[InputError]) -> dict[str, str]:
    """What `NAME-columns.yaml` next to a gold set or a run calls its columns: column → field of ours; empty
    where there is none. Raises `failure` for what names no columns, UsageError for an unknown field."""
    beside = path.with_name(f"{bare_name(path)}-columns.yaml")
    if not beside.is_file():
        return {}
    return {column: field for field, column in columns_in(beside, known, failure).items()}


def columns_in(path: Path, known: Collection[str], failure: type[InputError]) -> dict[str, str]:
    """What a YAML file calls columns: our name, one of `known` → the file's column. Raises `failure`,
    UsageError."""
    columns: Any = read_yaml(path, failure)
    lines = columns.items() if isinstance(columns, dict) else [(None, None)]
    if not all(isinstance(text, str) for line in lines for text in line):
        raise failure.at(path, "wanted lines such as 'name: COLUMN', got {got}", got=json_kind(columns))
    for name in columns:
        if name not in known:
            raise unknown(str(path), name, list(known))
    return dict(columns)


def renamed(row: Any, fields: Mapping[str, str]) -> Any:
    """A record with our own names for those of its columns that the user names."""
    if not fields or not isinstance(row, dict):
        return row
    return {fields.get(name, name): value for name, value in row.items()}


Row = tuple[str, dict[str, Any]]  # the place, for messages, and the cells by column


def sheets(path: Path) -> Iterator[tuple[str, list[str], Iterator[Row]]]:
    """Name, columns and rows of each sheet that has a header and a row. Raises InputError."""
    for sheet, rows in worksheets(path, *stamp_of(path)):
        # A row of one cell above rows of more is a title.
        header = next((at for at, (_, row) in enumerate(rows) if sum(map(bool, row)) > 1), 0)
        if len(rows) > header + 1:
            names = column_names(rows[header][1], path)
            below = ((f"{path.name}: row {number}", row) for number, row in rows[header + 1 :])
            blank = [""] * len(names)
            filled = ((place, dict(zip(names, [*row, *blank], strict=False))) for place, row in below)
            yield sheet, names, filled


# --- worksheets (.xlsx), as openpyxl streams them

NumberedRow = tuple[int, list[str]]  # of the sheet from 1, and its texts as far as there are some
LAST_ROW = 1 << 20  # as Excel has them: a cell may say that it stands further down
EMPTY_CELLS = 20_000_000  # at most, some seconds: a small file may have one cell a row, in its last column


@lru_cache(maxsize=1)  # its format, its questions and what else it holds are asked for one by one
def worksheets(path: Path, *stamp: int) -> list[tuple[str, list[NumberedRow]]]:
    """Name of each sheet and those of its rows that hold a text. stamp: of the file, which is read again when
    it has changed. Raises InputError."""
    import zipfile

    from openpyxl import load_workbook  # a fifth of a second

    try:
        with (
            path.open("rb") as stream,
            zipfile.ZipFile(stream) as packed,
            warnings.catch_warnings(action="ignore"),  # of what a sheet has besides its cells
        ):
            check_unpacked(path, sum(part.file_size for part in packed.infolist()))
            book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            return [(sheet.title, list(_rows(path, sheet))) for sheet in book.worksheets]
    except InputError:
        raise
    except Exception as error:  # of broken archives and documents it raises what their parts do
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError.at(
            path.name, "can't be read as a worksheet: {error}. Save it as CSV", error=why
        ) from error


def _rows(path: Path, sheet: Any) -> Iterator[NumberedRow]:
    sheet.reset_dimensions()  # what a sheet says of its size may be wrong
    empty = 0
    for number, row in enumerate(sheet.iter_rows(max_row=LAST_ROW, values_only=True), start=1):
        cells = list(map(_text, row))
        empty += cells.count("")
        if empty > EMPTY_CELLS:
            raise InputError.at(
                path.name, "holds more than {n} empty cells. Save it as CSV", n=f"{EMPTY_CELLS:,}"
            )
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def _text(value: Any) -> str:
    """Numbers that are whole have no fraction, days are as 2026-01-31."""
    if isinstance(value, datetime.datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


_TREC_FIELD = re.compile(r"[^\x01-\x20]+")
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")


def trec_rows(path: Path, columns: Sequence[str], problems: Problems) -> Iterator[Record]:
    """The lines of qrels or of a run as rows: columns names the fields of each. Bytes from 1 to 32 divide
    fields and nothing else does, as in the quick way of large files (scoring/trec.py).

    problems: get the lines with another number of fields. Raises their `failure` for a NUL, InputError for
    what is not UTF-8.
    """
    text = decode_utf8(read_bytes(path), path)
    last = text.count("\n") + 1
    for number, line in enumerate(lines_of(text), start=1):
        place = f"{path.name}:{number}"
        if "\0" in line:
            raise problems.failure.at(place, "contains the character NUL; save the file as text")
        fields = _TREC_FIELD.findall(line)
        if len(fields) == len(columns):
            fields = list(map(decoded, fields)) if "%" in line else fields
            yield Record(number, place, dict(zip(columns, fields, strict=True)))
        elif fields:
            problems.add(
                place,
                "wanted {n} fields ({names}), got {got}{cut}",
                n=len(columns),
                names=" ".join(columns),
                got=len(fields),
                cut=said("; the file seems cut off") if number == last else "",
            )


def is_trec(line: str, fields: int) -> bool:
    """Whether a file that begins so is TREC's: 4 fields of qrels, the last a grade, or 6 of a run. An id may
    hold a comma, where the rest is no table's: none at a field's end, and a score that is a number."""
    found = _TREC_FIELD.findall(line)
    if len(found) != fields or any("," in (item[0], item[-1]) for item in found):
        return False
    if fields == 4:
        return _GRADE.fullmatch(found[3]) is not None
    return "," not in line or _NUMBER.fullmatch(found[4]) is not None


_SPACES = [sign for sign in map(chr, range(0x3001)) if sign.isspace()]
_ESCAPES = re.compile("|".join(quote(sign, safe="") for sign in (*_SPACES, "%")), re.IGNORECASE)
_NEEDS_ESCAPE = re.compile(r"[\s%]")


def encoded(identifier: str) -> str:
    """White space (and %, so that the way back is sure) percent-encoded; everything else as it is."""
    return _NEEDS_ESCAPE.sub(lambda found: quote(found[0], safe=""), identifier)


def decoded(identifier: str) -> str:
    """The way back. Escapes of anything but white space and % belong to the id and stay."""
    return _ESCAPES.sub(lambda found: unquote(found[0]), identifier) if "%" in identifier else identifier
