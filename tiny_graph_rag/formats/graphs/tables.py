"""Columns of Parquet and CSV files, for the graphs that come as tables.

Parquet columns become the graph's own string columns without a Python object a row.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError, Problems
from tiny_graph_rag.files import PARQUET_MAGIC, decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs.rows import detail_text, strings_of, text_of, unfolded
from tiny_graph_rag.formats.tables import check_parquet, csv_rows, first_names, reading_parquet

if TYPE_CHECKING:
    import pyarrow

Number = TypeVar("Number", np.int32, np.int64, np.float64)


class Table(ABC):
    """A file's columns by name. names: as they stand in the file, each once."""

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
    def values(self, name: str, most: int | None = None) -> list[Any]:
        """(rows,) Python values. most: the first so many of them."""

    @abstractmethod
    def coded(self, *names: str) -> tuple[NDArray[np.int32], Sequence[str]]:
        """Of one column, or several one below the other: (rows,) places in a list of texts, which need not
        all occur and may hold one twice."""

    def filled(self, name: str | None, missing: str) -> Categories:
        """`strings`, with `missing` where they are empty; of few different values."""
        if name is None or name not in self.names:
            return Categories(np.zeros(len(self), np.int32), (missing,))
        codes, texts = self.coded(name)
        return Categories(codes, tuple(text or missing for text in texts))

    def is_blank(self, name: str) -> bool:
        """Whether a column holds nothing but nulls and empty texts."""
        return all(value is None or value == "" for value in self.values(name))

    def details(self, taken: Collection[str]) -> Sequence[str]:
        """JSON of every column that is not taken, a text a row."""
        rest = [name for name in self.names if name not in taken and not self.is_blank(name)]
        if not rest:
            return Strings.blank(len(self))
        columns = zip(*(self.values(name) for name in rest), strict=True)
        rows = (zip(rest, row, strict=True) for row in columns)
        kept = ({name: item for name, item in row if item is not None and item != ""} for row in rows)
        return [detail_text(unfolded(record)) for record in kept]

    def records(self) -> Iterator[dict[str, Any]]:
        columns = [self.values(name) for name in self.names]
        return (dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True))


class ListedTable(Table):
    """Columns of texts, as CSV has them."""

    def __init__(self, columns: Mapping[str, list[str]]) -> None:
        self.names = list(columns)
        self._columns = columns
        self._rows = len(next(iter(columns.values()), ()))

    def __len__(self) -> int:
        return self._rows

    def strings(self, name: str) -> Strings:
        return Strings.of(self.values(name))

    def lists(self, name: str) -> StringLists:
        return StringLists.of([list_of_text(value) for value in self.values(name)])

    def numbers(self, name: str) -> NDArray[np.float64]:
        values = self.values(name)
        try:
            return np.fromiter(map(float, values), dtype=np.float64, count=len(values))
        except ValueError:  # one of them is empty, or no number
            return np.array([_number(value) for value in values], dtype=np.float64)

    def values(self, name: str, most: int | None = None) -> list[Any]:
        return self._columns.get(name, [""] * self._rows)[:most]

    def coded(self, *names: str) -> tuple[NDArray[np.int32], Sequence[str]]:
        place_of: dict[str, int] = {}
        texts = chain.from_iterable(map(self.values, names))
        codes = np.array([place_of.setdefault(text, len(place_of)) for text in texts], dtype=np.int32)
        return codes, list(place_of)


class ArrowTable(Table):
    """Arrow's columns of texts, numbers or lists. clean: what is done to each text; None leaves them."""

    def __init__(
        self,
        path: Path,
        columns: Mapping[str, pyarrow.ChunkedArray],
        clean: Callable[[str], str] | None = None,
    ) -> None:
        self.path, self.clean, self._columns = path, clean, columns
        self.names = list(columns)

    def __len__(self) -> int:
        return len(self.column(self.names[0]))

    def column(self, name: str, *, coded: bool = False) -> pyarrow.ChunkedArray:
        """coded: as a dictionary, where it can come so."""
        return self._columns[name]

    def strings(self, name: str) -> Strings:
        if name not in self.names:
            return Strings.blank(len(self))
        return strings_of_arrow(self._cleaned(self.column(name)), self.path, name)

    def lists(self, name: str) -> StringLists:
        import pyarrow

        if name not in self.names:
            return StringLists.blank(len(self))
        column = self.column(name)
        if not (pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)):
            return StringLists.of([strings_of(value) for value in column.to_pylist()])
        try:
            column = column.cast(pyarrow.large_list(pyarrow.large_string()))
        except pyarrow.ArrowException as error:
            raise GraphError.at(
                self.path, "column {name} must hold lists of texts: {error}", name=repr(name), error=error
            ) from error
        if not column.num_chunks:
            return StringLists.blank(len(self))
        whole = pyarrow.concat_arrays(column.chunks)
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(numbers_of_arrow(whole.value_lengths(), np.int64, 0), out=offsets[1:])
        return StringLists(
            strings_of_arrow(pyarrow.chunked_array([whole.flatten()]), self.path, name), offsets
        )

    def numbers(self, name: str) -> NDArray[np.float64]:
        import pyarrow

        if name not in self.names:
            return np.full(len(self), np.nan)
        column = self.column(name)
        try:
            if not (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)):
                column = self._cleaned(column)
            chunks = column.cast(pyarrow.float64(), safe=False).chunks
        except pyarrow.ArrowException:  # one of them is empty, or no number
            return np.array([_number(value) for value in column.to_pylist()], dtype=np.float64)
        parts = (numbers_of_arrow(chunk, np.float64, np.nan) for chunk in chunks)
        return np.concatenate([np.zeros(0, np.float64), *parts])

    def values(self, name: str, most: int | None = None) -> list[Any]:
        column = self.column(name)[:most]
        found: list[Any] = (self._cleaned(column) if is_texts(column.type) else column).to_pylist()
        return found

    def coded(self, *names: str) -> tuple[NDArray[np.int32], Sequence[str]]:
        import pyarrow

        columns = [self.column(name, coded=True) for name in names]
        if self.clean is None and not is_texts(columns[0].type):
            return np.arange(len(self), dtype=np.int32), self.strings(names[0])
        column = columns[0]
        if len(columns) > 1:
            text = pyarrow.large_string()
            chunks = [chunk for part in columns for chunk in strings_as_written(part).cast(text).chunks]
            column = pyarrow.chunked_array(chunks, text)
        return self._coded(column, names[0])

    def _coded(self, column: pyarrow.ChunkedArray, name: str) -> tuple[NDArray[np.int32], Strings]:
        if self.clean is None:
            return coded_of_arrow(column, self.path, name)
        column = strings_as_written(column)
        codes, written = coded_of_arrow(column, self.path, name)
        cells = strings_of_arrow(self._cleaned(arrow_of_strings(written)), self.path, name)
        if not column.null_count and np.array_equal(cells.data, written.data):
            return codes, Strings(written.data, written.offsets[:-1])  # the last is null's
        place_of: dict[str, int] = {}
        place = np.array([place_of.setdefault(cell, len(place_of)) for cell in cells], dtype=np.int32)
        return place[codes], Strings.of(place_of)

    def _cleaned(self, column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
        """Every cell cleaned; null is "". As it is where nothing is to be done to texts."""
        from pyarrow import compute, large_string

        if self.clean is None:
            return strings_as_written(column)
        column = strings_as_written(column).cast(large_string())
        if (
            self.clean is not str.strip
            and compute.any(compute.match_substring_regex(column, "['\"]")).as_py()
        ):
            texts = strings_of_arrow(column, self.path, "")
            return arrow_of_strings(Strings.of([self.clean(text) for text in texts]))
        if column.null_count:
            column = arrow_of_strings(strings_of_arrow(column, self.path, ""))
        return compute.utf8_trim_whitespace(column)


class ParquetTable(ArrowTable):
    """Columns are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        with reading_parquet(path, GraphError) as parquet:
            self._file = parquet.ParquetFile(path)
        check_parquet(self._file, path)
        self.path, self.clean = path, None
        self.names = list(self._file.schema_arrow.names)
        for name, count in Counter(self.names).items():
            if count > 1:
                raise GraphError.at(path, "several columns are named {name}", name=repr(name))

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def column(self, name: str, *, coded: bool = False) -> pyarrow.ChunkedArray:
        """coded: texts that the file holds as a dictionary stay one: each is looked at once, however many
        rows have it. Raises GraphError, also for texts that are no UTF-8.
        """
        coded = coded and is_texts(self._file.schema_arrow.field(name).type)
        with reading_parquet(self.path, GraphError) as parquet:
            file = parquet.ParquetFile(self.path, read_dictionary=[name]) if coded else self._file
            column = file.read(columns=[name]).column(name)
            column.validate(full=True)
            if len(column) != len(self):
                raise OSError(f"column {name!r} has {len(column):,} rows, the file says {len(self):,}")
        return column


def read_columns(path: Path) -> Table:
    """Parquet or CSV, by content. Raises GraphError, MissingExtraError without pyarrow."""
    with path.open("rb") as stream:
        is_parquet = stream.read(4) == PARQUET_MAGIC or path.suffix == ".parquet"
    return ParquetTable(path) if is_parquet else _csv_table(path)


def _csv_table(path: Path) -> ListedTable:
    """A row of another length than the header is refused."""
    header, *rows = csv_lists(path, ",") or [[]]
    names = [name.strip() for name in header]
    problems = Problems(GraphError)
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            problems.add(
                path,
                "row {number}: wanted {n} fields ({names}), got {got}",
                number=number,
                n=len(names),
                names=first_names(names),
                got=len(row),
            )
    problems.check()
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return ListedTable(dict(zip(names, map(list, columns), strict=True)))


def strings_as_written(column: Any) -> Any:
    """Without the dictionary that a column was read as."""
    import pyarrow

    return column.cast(column.type.value_type) if pyarrow.types.is_dictionary(column.type) else column


def is_texts(kind: Any) -> bool:
    """Whether a column's Arrow type is text, as a dictionary or plain."""
    import pyarrow

    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def numbers_of_arrow(array: Any, dtype: type[Number], missing: float) -> NDArray[Number]:
    """An array's numbers, `missing` for null.

    By its buffers: `to_numpy`, `fill_null` and the like import pandas wherever that is installed, a second.
    """
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(0, dtype)
    numbers = np.frombuffer(buffer, dtype=dtype)[array.offset : array.offset + len(array)]
    return np.where(_is_null(array), np.array(missing, dtype=dtype), numbers) if array.null_count else numbers


def _is_null(array: Any) -> NDArray[np.bool_]:
    """(rows,), of an array that has some."""
    bits = np.unpackbits(np.frombuffer(array.buffers()[0], dtype=np.uint8), bitorder="little")
    nulls: NDArray[np.bool_] = bits[array.offset : array.offset + len(array)] == 0
    return nulls


def arrow_of_strings(texts: Strings) -> pyarrow.ChunkedArray:
    import pyarrow

    buffers = [None, pyarrow.py_buffer(texts.offsets), pyarrow.py_buffer(texts.data)]
    return pyarrow.chunked_array([pyarrow.Array.from_buffers(pyarrow.large_string(), len(texts), buffers)])


def coded_of_arrow(column: Any, path: Path, name: str) -> tuple[NDArray[np.int32], Strings]:
    """A column of texts: (rows,) places in a list of its different texts, as `ParquetTable.coded`."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return np.zeros(0, np.int32), Strings.blank(1)
    texts = column.chunk(0).dictionary
    chunks = []
    for chunk in column.chunks:
        chunks.append(numbers_of_arrow(chunk.indices.cast(pyarrow.int32()), np.int32, len(texts)))
    codes = np.concatenate([np.zeros(0, np.int32), *chunks])
    values = strings_of_arrow(pyarrow.chunked_array([texts]), path, name)
    return codes, Strings(values.data, np.append(values.offsets, values.offsets[-1]))  # the last is null's


def strings_of_arrow(column: Any, path: Path, name: str) -> Strings:
    """A chunked column as the graph's own; null is "". Raises GraphError for what holds no texts."""
    import pyarrow

    column = strings_as_written(column)
    kind = column.type
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        column = column.cast(pyarrow.large_string())
        if not column.num_chunks:
            return Strings.blank(0)
        array = pyarrow.concat_arrays(column.chunks)
        _, offsets, data = array.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        if array.null_count and np.diff(bounds)[_is_null(array)].any():  # bytes that nothing shows
            return strings_of_arrow(pyarrow.chunked_array([array.fill_null("")]), path, name)
        block = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, np.uint8)
        if not len(bounds):
            bounds = np.zeros(1, np.int64)
        return Strings(block[bounds[0] : bounds[-1]], bounds - bounds[0])
    if pyarrow.types.is_binary(kind) or pyarrow.types.is_nested(kind):
        raise GraphError.at(path, "column {name} must hold texts, got {kind}", name=repr(name), kind=kind)
    return Strings.of([text_of(value) for value in column.to_pylist()])


def csv_lists(path: Path, delimiter: str | None = None) -> list[list[str]]:
    """All rows. Raises GraphError for what is no CSV. delimiter: None for what the first line says."""
    text = decode_utf8(read_bytes(path), path)
    return [row for _, row in csv_rows(path, text, GraphError, delimiter)]


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
        return [part.strip(" '\"\n") for part in value.strip("[]").split(",")]
    return [str(item) for item in found] if isinstance(found, list) else [value]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
