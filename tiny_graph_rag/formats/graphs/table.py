"""A table of entities or of relations: the one form that CSV, Parquet, worksheets, databases and JSON take
before their columns are understood (keys.py).

A column is a list of values, or `Categories` where a file has texts as codes: twenty million relations then
are no twenty million objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs.rows import detail_text, strings_of, text_of, unfolded
from tiny_graph_rag.formats.graphs.spelling import is_number
from tiny_graph_rag.formats.tables import check_parquet, literal, reading_parquet, sheets
from tiny_graph_rag.formats.words import Role

if TYPE_CHECKING:
    import pyarrow

Cells = Sequence[Any]
Coded = tuple[NDArray[np.int32], list[str]]  # (rows,) places in a list of texts, which may hold one twice


class Table:
    """name: what messages call it. names: its columns', each once. is_edges: whether it holds relations; None
    where only its columns tell. label: what its rows are, where its name says so. row_label, first: what a
    relation without an id is called, such as `line 2`. unread: columns that stay in the file, and why."""

    def __init__(
        self,
        names: Sequence[str],
        rows: int,
        load: Callable[[str], Cells],
        name: str = "",
        *,
        is_edges: bool | None = None,
        label: str = "",
        row_label: str = "row ",
        first: int = 1,
    ) -> None:
        self.names, self.rows, self._load, self.name = list(names), rows, load, name
        self.is_edges, self.label, self.row_label, self.first = is_edges, label, row_label, first
        self.unread: dict[str, str] = {}
        self._cells: dict[str, Cells] = {}

    @classmethod
    def of_records(cls, records: Sequence[dict[str, Any]], name: str = "", **more: Any) -> Table:
        return cls(
            columns_of(records),
            len(records),
            lambda column: [record.get(column) for record in records],
            name,
            **more,
        )

    @classmethod
    def of_columns(cls, columns: Mapping[str, Cells], name: str = "", **more: Any) -> Table:
        rows = len(next(iter(columns.values()), ()))
        return cls(list(columns), rows, columns.__getitem__, name, **more)

    def cells(self, name: str) -> Cells:
        """(rows,) values of a column. Raises GraphError for what its file can't give."""
        if name not in self._cells:
            self._cells[name] = self._load(name)
        return self._cells[name]

    def put(self, name: str, cells: Cells) -> None:
        """Replace a column, or add one."""
        if name not in self.names:
            self.names.append(name)
        self._cells[name] = cells

    def first_of(self, names: Sequence[str]) -> Cells | None:
        """A column's cells, where they are empty those of the next one; None without a column."""
        if not names:
            return None
        cells = self.cells(names[0])
        for name in names[1:]:
            pairs = zip(cells, self.cells(name), strict=True)
            cells = [other if cell is None or cell == "" else cell for cell, other in pairs]
        return cells

    def details(self, taken: Collection[str]) -> Sequence[str] | None:
        """(rows,) JSON of every column that is not taken; None where nothing is left."""
        rest = [name for name in self.names if name not in taken and not _is_blank(self.cells(name))]
        if not rest:
            return None
        columns = zip(*(self.cells(name) for name in rest), strict=True)
        rows = (zip(rest, row, strict=True) for row in columns)
        return [
            detail_text(unfolded({name: cell for name, cell in row if cell is not None and cell != ""}))
            for row in rows
        ]

    def records(self) -> Iterator[dict[str, Any]]:
        columns = [self.cells(name) for name in self.names]
        return (dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True))


def columns_of(records: Iterable[Any]) -> list[str]:
    """The keys of all objects, in the order in which they first stand."""
    seen: dict[str, None] = {}
    keys: Any = None
    for record in records:  # most have the keys of the one before
        if isinstance(record, dict) and record.keys() != keys:
            keys = record.keys()
            seen.update(dict.fromkeys(keys))
    return list(seen)


def of_matrix(table: Table) -> Table | None:
    """The relations of a matrix: a row and a column an entity, a number where they are related; None for any
    other table. Columns that name the rows again say that it is square, else it holds nothing but 0 and 1."""
    if len(table.names) < len(("row", "one", "two")):
        return None
    first, *names = table.names
    sources = [text_of(cell).strip() for cell in table.cells(first)]
    if len(set(sources)) < len(sources) or not all(sources):
        return None
    columns = [[text_of(cell).strip() or "0" for cell in table.cells(name)] for name in names]
    is_square = sources == names
    different = set().union(*map(set, columns))
    if not (all(map(is_number, different)) if is_square else different == {"0", "1"}):
        return None
    found = [
        (source, target, float(cell))
        for target, column in zip(names, columns, strict=True)
        for source, cell in zip(sources, column, strict=True)
        if float(cell)
    ]
    rows = sorted(found, key=lambda row: sources.index(row[0]))
    keys = ("source", "target", "weight")
    related = [dict(zip(keys, row, strict=True)) for row in rows]
    is_mutual = is_square and {row[:2] for row in rows} == {(target, source) for source, target, _ in rows}
    for record in related:
        record["directed"] = not is_mutual
    return Table.of_records(related, table.name, row_label="", is_edges=True)


def cells_of(records: Sequence[Any]) -> Callable[[str], list[Any]]:
    """Column → its values in all objects."""
    return lambda column: [record.get(column) for record in records if isinstance(record, dict)]


def _is_blank(cells: Cells) -> bool:
    if isinstance(cells, Categories):
        return all(not name for name in cells.names)
    return all(cell is None or cell == "" for cell in cells)


def coded(cells: Cells, of: Callable[[Any], str] = text_of) -> Coded:
    """A column as codes. of: what is done to each value, of `Categories` to each different one."""
    if isinstance(cells, Categories):
        return cells.codes, [of(name) for name in cells.names]
    place_of: dict[str, int] = {}
    codes = [place_of.setdefault(of(cell), len(place_of)) for cell in cells]
    return np.array(codes, dtype=np.int32), list(place_of)


def joined(columns: Sequence[Coded]) -> tuple[list[NDArray[np.int32]], list[str]]:
    """Columns with codes into one list of texts, each there once; -1 for the empty text."""
    place_of: dict[str, int] = {}
    found = []
    for codes, texts in columns:
        places = [place_of.setdefault(text, len(place_of)) if text else -1 for text in texts]
        found.append(np.array(places, dtype=np.int32)[codes] if len(codes) else codes)
    return found, list(place_of)


def numbers_of(cells: Cells) -> NDArray[np.float64]:
    """(rows,) numbers; NaN for what is none."""
    if isinstance(cells, Categories):
        return np.array([_number(name) for name in cells.names], dtype=np.float64)[cells.codes]
    try:
        return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except (TypeError, ValueError, OverflowError):  # one of them is empty, or no number
        return np.array([_number(cell) for cell in cells], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def list_of(value: Any) -> list[str]:
    """A list of texts, also one that CSV holds as text: `['a', 'b']`, `["a", "b"]`, numpy's `['a' 'b']`."""
    if not isinstance(value, str) or value.strip()[:1] != "[":
        return strings_of(value)
    text = value.strip()
    found = literal(text.replace("' '", "', '").replace("'\n '", "', '"))
    if isinstance(found, list):
        return [str(item) for item in found]
    return [part.strip(" '\"\n") for part in text.strip("[]").split(",") if part.strip(" '\"\n")]


# --- files


def worksheet_tables(path: Path) -> list[Table]:
    """The sheets of a workbook that hold a header and a row."""
    return [Table.of_records([row for _, row in rows], name, first=2) for name, _, rows in sheets(path)]


def parquet_table(path: Path, clean: Callable[[str], str] = str, **more: Any) -> Table:
    """A Parquet file; a column is read when it is asked for. clean: what is done to each text.

    Lists of numbers (embeddings) and bytes are no columns of it; `unread` says so. Raises GraphError,
    MissingExtraError.
    """
    with reading_parquet(path, GraphError) as parquet:
        file = parquet.ParquetFile(path)
    check_parquet(file, path)
    kinds = {}
    for field in file.schema_arrow:
        if field.name in kinds:
            raise GraphError.at(path, "several columns are named {name}", name=repr(field.name))
        kinds[field.name] = field.type

    def load(name: str) -> Cells:
        with reading_parquet(path, GraphError):
            column = file.read(columns=[name]).column(name)
            column.validate(full=True)
            if len(column) != file.metadata.num_rows:
                raise OSError(
                    f"column {name!r} has {len(column):,} rows, the file says {file.metadata.num_rows:,}"
                )
            return arrow_cells(column, clean)

    names = [name for name, kind in kinds.items() if not _is_opaque(kind)]
    table = Table(names, file.metadata.num_rows, load, path.name, **more)
    table.unread = {name: f"{Role.UNUSED}: {kind}" for name, kind in kinds.items() if name not in names}
    return table


def _is_opaque(kind: pyarrow.DataType) -> bool:
    """Whether a column holds bytes, or lists of numbers."""
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return bool(types.is_primitive(kind.value_type))
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def arrow_cells(column: pyarrow.ChunkedArray, clean: Callable[[str], str] = str) -> Cells:
    """Arrow's column: texts as `Categories`, decimals and times as text, the rest as Python values."""
    from pyarrow import string, types

    kind = column.type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_decimal(kind) or types.is_temporal(kind):
        column, kind = column.cast(string()), string()
    if not (types.is_string(kind) or types.is_large_string(kind)):
        cells: list[Any] = column.to_pylist()
        return cells
    column = column.cast(kind).fill_null("").dictionary_encode().unify_dictionaries()
    codes = [np.zeros(0, np.int32)]
    for chunk in column.chunks:  # by its buffers: `to_numpy` imports pandas wherever it is installed
        whole = np.frombuffer(chunk.indices.buffers()[1] or b"", dtype=np.int32)
        codes.append(whole[chunk.offset : chunk.offset + len(chunk)])
    texts = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    return Categories(np.concatenate(codes), tuple(map(clean, texts)))
