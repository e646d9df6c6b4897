"""Columns of Parquet and CSV files, for the graphs that come as tables.

Parquet columns become the graph's own string columns without a Python object a row.
"""

from __future__ import annotations

import ast
import csv
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError, MissingExtraError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs.rows import detail_text, strings_of, text_of, unfolded

if TYPE_CHECKING:
    import pyarrow

LONGEST_FIELD = 1 << 24  # characters; no description is longer


class Table(ABC):
    """A file's columns by name. names: as they stand in the file."""

    names: list[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def strings(self, name: str) -> Strings:
        """(rows,) texts; "" for null and where there is no such column."""

    @abstractmethod
    def lists(self, name: str) -> StringLists:
        """(rows,) lists of texts; empty for null and where there is no such column."""

    @abstractmethod
    def numbers(self, name: str) -> NDArray[np.float64]:
        """(rows,) numbers; NaN for null and for what is no number."""

    @abstractmethod
    def values(self, name: str) -> list[Any]:
        """(rows,) Python values."""

    def filled(self, name: str, missing: str) -> Sequence[str]:
        """`strings`, with `missing` where they are empty; of few different values."""
        column = self.strings(name)
        if (np.diff(column.offsets) > 0).all():
            return column
        return [each or missing for each in column]

    def is_blank(self, name: str) -> bool:
        """Whether a column holds nothing but nulls and empty texts."""
        return all(each is None or each == "" for each in self.values(name))

    def details(self, taken: Collection[str]) -> Sequence[str]:
        """JSON of every column that is not taken, a text a row."""
        rest = [name for name in self.names if name not in taken and not self.is_blank(name)]
        if not rest:
            return Strings.blank(len(self))
        columns = zip(*(self.values(name) for name in rest), strict=True)
        rows = (zip(rest, row, strict=True) for row in columns)
        kept = ({name: each for name, each in row if each is not None and each != ""} for row in rows)
        return [detail_text(unfolded(each)) for each in kept]

    def records(self) -> Iterator[dict[str, Any]]:
        columns = [self.values(name) for name in self.names]
        return (dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True))


def read_columns(path: Path) -> Table:
    """Parquet or CSV, by content. Raises GraphError, MissingExtraError without pyarrow."""
    with path.open("rb") as stream:
        is_parquet = stream.read(4) == b"PAR1" or path.suffix == ".parquet"
    return ParquetTable(path) if is_parquet else CsvTable(path)


class ParquetTable(Table):
    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError("reading Parquet", "pyarrow", "parquet") from error
        try:
            # Not `read_table`, which takes columns from the names of the folders above.
            self._table: pyarrow.Table = pyarrow.parquet.ParquetFile(path).read()
            self._table.validate(full=True)  # texts that are no UTF-8 among it
        except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
            what = str(error).split("\n", 1)[0]
            raise GraphError(f"{path}: can't be read as Parquet: {what}") from error
        self.path = path
        self.names = list(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def strings(self, name: str) -> Strings:
        if name not in self.names:
            return Strings(np.zeros(0, np.uint8), np.zeros(len(self) + 1, np.int64))
        return strings_of_arrow(self._table.column(name), self.path, name)

    def filled(self, name: str, missing: str) -> Sequence[str]:
        import pyarrow

        if name not in self.names or not pyarrow.types.is_string(self._table.column(name).type):
            return super().filled(name, missing)
        coded = categories_of_arrow(self._table.column(name))
        return Categories(coded.codes, tuple(each or missing for each in coded.names))

    def is_blank(self, name: str) -> bool:
        import pyarrow

        column = self._table.column(name)
        is_text = pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)
        return (
            not strings_of_arrow(column, self.path, name).offsets[-1] if is_text else super().is_blank(name)
        )

    def lists(self, name: str) -> StringLists:
        import pyarrow

        empty = Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))
        if name not in self.names:
            return StringLists(empty, np.zeros(len(self) + 1, np.int64))
        column = self._table.column(name)
        if not (pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)):
            return StringLists.of([strings_of(each) for each in column.to_pylist()])
        try:
            column = column.cast(pyarrow.large_list(pyarrow.large_string()))
        except pyarrow.ArrowException as error:
            raise GraphError(f"{self.path}: column {name!r} must hold lists of texts: {error}") from error
        whole = column.combine_chunks()
        lengths = whole.value_lengths().fill_null(0)
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(lengths.to_numpy(zero_copy_only=False), out=offsets[1:])
        return StringLists(
            strings_of_arrow(pyarrow.chunked_array([column.combine_chunks().flatten()]), self.path, name),
            offsets,
        )

    def numbers(self, name: str) -> NDArray[np.float64]:
        import pyarrow

        if name not in self.names:
            return np.full(len(self), np.nan)
        column = self._table.column(name)
        if pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type):
            return np.asarray(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)
        return np.array([_number(each) for each in column.to_pylist()], dtype=np.float64)

    def values(self, name: str) -> list[Any]:
        found: list[Any] = self._table.column(name).to_pylist()
        return found


def categories_of_arrow(column: Any) -> Categories:
    """A column of texts with few different values; null is ""."""
    import pyarrow

    coded = pyarrow.concat_arrays(column.chunks).dictionary_encode() if column.num_chunks else None
    if coded is None:
        return Categories(np.zeros(0, np.int32), ())
    codes = coded.indices
    missing = codes.null_count > 0
    if missing:
        codes = codes.fill_null(len(coded.dictionary))
    names = (*coded.dictionary.to_pylist(), *([""] if missing else []))
    return Categories(np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32), names)


def strings_of_arrow(column: Any, path: Path, name: str) -> Strings:
    """A chunked column as the graph's own; null is "". Raises GraphError for what holds no texts."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        array = column.cast(pyarrow.large_string()).combine_chunks()
        array = array.fill_null("") if array.null_count else array
        if isinstance(array, pyarrow.ChunkedArray):
            array = pyarrow.concat_arrays(array.chunks)
        _, offsets, data = array.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        block = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, np.uint8)
        if not len(bounds):
            bounds = np.zeros(1, np.int64)
        return Strings(block[bounds[0] : bounds[-1]], bounds - bounds[0])
    if pyarrow.types.is_binary(kind) or pyarrow.types.is_nested(kind):
        raise GraphError(f"{path}: column {name!r} must hold texts, got {kind}")
    return Strings.of([text_of(each) for each in column.to_pylist()])


class CsvTable(Table):
    """A row of another length than the header is refused."""

    def __init__(self, path: Path, delimiter: str = ",") -> None:
        header, *rows = csv_rows(path, delimiter) or [[]]
        self.path = path
        self.names = [name.strip() for name in header]
        wrong = [
            f"{path}: row {number}: wanted {len(self.names)} fields ({', '.join(self.names)}), got {len(row)}"
            for number, row in enumerate(rows, start=2)
            if len(row) != len(self.names)
        ]
        if wrong:
            raise GraphError(*wrong)
        self._columns = dict(zip(self.names, map(list, zip(*rows, strict=True)), strict=False))
        self._rows = len(rows)

    def __len__(self) -> int:
        return self._rows

    def strings(self, name: str) -> Strings:
        return Strings.of(self.values(name))

    def lists(self, name: str) -> StringLists:
        return StringLists.of([list_of_text(each) for each in self.values(name)])

    def numbers(self, name: str) -> NDArray[np.float64]:
        return np.array([_number(each) for each in self.values(name)], dtype=np.float64)

    def values(self, name: str) -> list[Any]:
        return self._columns.get(name) or [""] * self._rows


def csv_rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    """Raises GraphError for what is no CSV. Empty lines are left out."""
    text = decode_utf8(read_bytes(path), path)
    csv.field_size_limit(LONGEST_FIELD)
    try:
        return [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if row]
    except csv.Error as error:
        raise GraphError(f"{path}: not CSV: {error}") from error


def list_of_text(value: str) -> list[str]:
    """A list that a CSV file holds as text: `['a', 'b']`, `["a", "b"]`, or numpy's `['a' 'b']`."""
    value = value.strip()
    if not value or value in ("[]", "nan", "None"):
        return []
    if value[0] != "[":
        return [value]
    try:
        found = ast.literal_eval(value.replace("' '", "', '").replace("'\n '", "', '"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [each.strip(" '\"\n") for each in value.strip("[]").split(",")]
    return [str(each) for each in found] if isinstance(found, list) else [value]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
