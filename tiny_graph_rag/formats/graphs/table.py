"""A table of entities or of relations: the one form that CSV, Parquet, worksheets, databases and JSON take
before their columns are understood (roles.py).

A column is a list of values, or `Categories` where a file has texts as codes: twenty million relations then
are no twenty million objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.tables import check_parquet, column_names, is_number, literal, reading_parquet
from tiny_graph_rag.formats.words import INNER_KEYS, NODE_KEYS, Role

if TYPE_CHECKING:
    import pyarrow

SEPARATOR = "<SEP>"
SAMPLE = 10_000  # values of a column that are looked at
HEADLESS = ("field 1", "field 2", "field 3")  # columns of a table without a header

Cells = Sequence[Any]
Coded = tuple[NDArray[np.int32], list[str]]  # (rows,) places in a list of texts, which may hold one twice


class Table:
    """name: what messages call it. names: its columns', each once. roles: column → `Role`, in the order in
    which they count. is_edges: whether it holds relations; None where only its columns tell. label: what its
    rows are, where its name says so. is_directed: what the file says of its relations. row_label, first: what
    a relation without an id is called, such as `line 2`. unread: columns that stay in the file, and why.
    strange: what is no row, by its place."""

    def __init__(
        self,
        names: Sequence[str],
        load: Callable[[str], Cells],
        name: str = "",
        *,
        row_label: str = "",
        first: int = 1,
    ) -> None:
        self.names, self._load, self.name = list(names), load, name
        self.row_label, self.first = row_label, first
        self.roles: Mapping[str, str] = {}
        self.is_edges: bool | None = None
        self.label = ""
        self.is_directed = True
        self.unread: dict[str, str] = {}
        self.strange: dict[int, Any] = {}
        self._cells: dict[str, Cells] = {}
        self._texts: dict[str, list[str]] = {}

    @classmethod
    def of_records(cls, records: Sequence[Any], name: str = "", is_edges: bool | None = None) -> Table:
        """records: objects; a column is a key of any of them, or of what stands under `properties` and the
        like. What is no object is `strange`."""
        rows = [record for record in flat(records) if isinstance(record, dict)]
        table = cls(columns_of(rows), lambda column: [row.get(column) for row in rows], name)
        table.is_edges = is_edges
        table.strange = {at: row for at, row in enumerate(records) if not isinstance(row, dict)}
        return table

    @classmethod
    def stacked(cls, tables: Sequence[Table]) -> Table:
        """One of several, each below the one before; of entities, equal rows once."""
        rows: list[Any] = [
            {name: cell for name, cell in zip(table.names, cells, strict=True) if cell is not None}
            for table in tables
            for cells in zip(*map(table.cells, table.names), strict=True)
        ]
        rows += [row for table in tables for row in table.strange.values()]
        is_edges = tables[0].is_edges
        rows = rows if is_edges else list({repr(row): row for row in rows}.values())
        found = cls.of_records(rows, "relations" if is_edges else tables[0].name, is_edges)
        found.label, found.is_directed = tables[0].label, tables[0].is_directed
        return found

    @classmethod
    def of_columns(cls, columns: Mapping[str, Cells], name: str = "", **more: Any) -> Table:
        return cls(list(columns), columns.__getitem__, name, **more)

    @classmethod
    def of_header(cls, names: Sequence[str], name: str = "") -> Table:
        """A table of which no row is known."""
        return cls(names, lambda column: (), name)

    @property
    def rows(self) -> int:
        return len(self.cells(self.names[0])) if self.names else 0

    def cells(self, name: str) -> Cells:
        """(rows,) values of a column. Raises GraphError for what its file can't give."""
        if name not in self._cells:
            self._cells[name] = self._load(name)
        return self._cells[name]

    def texts(self, name: str) -> list[str]:
        """The first values of a column that say something, as text."""
        if name not in self._texts:
            filled = (cell for cell in self.cells(name) if cell is not None and cell != "")
            self._texts[name] = [text_of(cell).strip() for cell in islice(filled, SAMPLE)]
        return self._texts[name]

    def put(self, name: str, cells: Cells) -> None:
        """Replace a column, or add one."""
        if name not in self.names:
            self.names.append(name)
        self._cells[name] = cells
        self._texts.pop(name, None)

    def first_of(self, names: Sequence[str]) -> Cells | None:
        """A column's cells, where they are empty those of the next one; None without a column."""
        if not names:
            return None
        cells = self.cells(names[0])
        for name in names[1:]:
            pairs = zip(cells, self.cells(name), strict=True)
            cells = [other if cell is None or cell == "" else cell for cell, other in pairs]
        return cells

    def columns(self, role: str) -> list[str]:
        """The columns of a role that the table has, in the order in which they count."""
        there = set(self.names)
        return [column for column, own in self.roles.items() if own == role and column in there]

    def of(self, role: str) -> Cells:
        """(rows,) values of a role; None each where no column has it."""
        found = self.first_of(self.columns(role))
        return [None] * self.rows if found is None else found

    def only(self, rows: Sequence[int]) -> Table:
        """The table of some of its rows, without the columns that say nothing there."""
        if len(rows) == self.rows:
            return self
        columns = {name: [self.cells(name)[row] for row in rows] for name in self.names}
        found = Table.of_columns(
            {name: cells for name, cells in columns.items() if not _is_blank(cells)}, self.name
        )
        found.roles, found.unread, found.is_directed = self.roles, self.unread, self.is_directed
        return found

    def details(self) -> Sequence[str]:
        """(rows,) JSON of what no role takes: of a role's columns those behind the first that says
        something."""
        left: dict[str, Cells] = {name: self.cells(name) for name in self.names}
        for role in dict.fromkeys(self.roles.values()):
            columns = self.columns(role) if role != Role.DETAIL else []
            for place, name in enumerate(columns):
                before = self.first_of(columns[:place])
                if before is None or role in (Role.UNUSED, Role.ALIASES):
                    del left[name]
                    continue
                pairs = zip(before, self.cells(name), strict=True)
                left[name] = [None if first in (None, "", cell) else cell for first, cell in pairs]
        rest = [name for name, cells in left.items() if not _is_blank(cells)]
        if not rest:
            return Strings.blank(self.rows)
        columns_of_rest = zip(*(left[name] for name in rest), strict=True)
        rows = (zip(rest, row, strict=True) for row in columns_of_rest)
        return [
            detail_text(_unfolded({name: cell for name, cell in row if cell is not None and cell != ""}))
            for row in rows
        ]


def columns_of(records: Iterable[Any]) -> list[str]:
    """The keys of all objects, in the order in which they first stand."""
    return list(dict.fromkeys(key for record in records if isinstance(record, dict) for key in record))


def flat(records: Sequence[Any]) -> list[Any]:
    """Records with what stands under `properties`, `data` and the like next to their other keys."""
    there = columns_of(records)
    inner = [key for key in INNER_KEYS if key in there]
    return [_flattened(record, inner) if isinstance(record, dict) else record for record in records]


def _flattened(record: dict[str, Any], inner: list[str]) -> dict[str, Any]:
    parts = [record[key] for key in inner if isinstance(record.get(key), dict)]
    if not parts:
        return record
    below = {key: value for part in parts for key, value in part.items()}
    for key, value in record.items():
        if not (key in inner and isinstance(value, dict)) and (value not in (None, "") or key not in below):
            below[key] = value
    return below


def _is_blank(cells: Cells) -> bool:
    if isinstance(cells, Categories):
        return all(not name for name in cells.names)
    return all(cell is None or cell == "" for cell in cells)


# --- how columns are spelled

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-zà-ÿ]+|[A-Z]+|\d+|[^\W\d_a-zA-Zà-ÿ]+")
_ADMIN = re.compile(
    r"(?P<name>[^:]*):(?P<kind>ID|START_ID|END_ID|TYPE|LABEL|IGNORE|[a-z]+(?:\[\])?)"
    r"(?:\((?P<space>[^()]*)\))?(?:\{.*\})?",
)


class AdminColumn(NamedTuple):
    """A column as neo4j-admin's import names it: `personId:ID(Person)`, `since:int`, `:TYPE`."""

    name: str
    kind: str
    space: str


def admin_column(column: str) -> AdminColumn | None:
    """None for a plain name."""
    match = _ADMIN.fullmatch(column.strip())
    return AdminColumn(match["name"], match["kind"], match["space"] or "") if match else None


def admin_kind(column: str) -> str:
    """`ID`, `LABEL`, `START_ID` and so on; empty for a plain name or a property with its type."""
    admin = admin_column(column)
    return admin.kind if admin is not None and admin.kind.isupper() else ""


@lru_cache(maxsize=1 << 12)
def words_of(column: str) -> tuple[str, ...]:
    """`sourceEntityID`, `source_entity_id` → source, entity, id."""
    admin = admin_column(column)
    if admin is not None:
        column = admin.kind if admin.kind.isupper() else admin.name
    return tuple(word.casefold() for word in _WORD.findall(column))


def key_of(column: str) -> str:
    """`Entity Type`, `entityType` → `entitytype`."""
    return "".join(words_of(column))


def bare(label: str) -> str:
    """`__Chunk__`, `text_chunk` → `chunk`, `textchunk`."""
    return label.replace("_", "").casefold()


# --- values


def text_of(value: Any) -> str:
    """A value as text: strings as they are, null as nothing, the rest as JSON says it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def end_text(value: Any) -> str:
    """An end's id or name, of an object its `id` or `name`."""
    if isinstance(value, dict):
        value = flat([value])[0]
        by_key = {key_of(key): value[key] for key in reversed(value) if value[key] not in (None, "")}
        keys = (*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME], "label", "value", "type")
        value = next((by_key[key] for key in keys if key in by_key), None)
    return "" if isinstance(value, list | dict) else text_of(value).strip()


def strings_of(value: Any) -> list[str]:
    """A list of strings of whatever came: a list, one value, nothing."""
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple):
        return [text_of(part) for part in value if part is not None]
    return [text_of(value)]


def list_of(value: Any) -> list[str]:
    """A list of texts, also one that a text holds: `['a', 'b']`, `["a", "b"]`, numpy's `['a' 'b']`,
    LightRAG's `a<SEP>b`."""
    if isinstance(value, str) and SEPARATOR in value:
        return [part.strip() for part in value.split(SEPARATOR) if part.strip()]
    if not isinstance(value, str) or value.strip()[:1] != "[":
        return strings_of(value)
    text = value.strip()
    found = literal(text.replace("' '", "', '").replace("'\n '", "', '"))
    if isinstance(found, list):
        return [str(item) for item in found]
    return [part.strip(" '\"\n") for part in text.strip("[]").split(",") if part.strip(" '\"\n")]


def detail_text(details: Mapping[str, Any] | None) -> str:
    """JSON of what no column takes; "" where there is nothing. Values that JSON lacks are written as text."""
    return json.dumps(details, ensure_ascii=False, default=str) if details else ""


def _unfolded(rest: dict[str, Any]) -> dict[str, Any]:
    """Details with those taken out that `convert` packed under the one column `details`."""
    packed = rest.get("details")
    inner = literal(packed) if isinstance(packed, str) and packed[:1] == "{" else None
    if not isinstance(inner, dict):
        return rest
    return {**{key: value for key, value in rest.items() if key != "details"}, **inner}


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
    return np.array([_number(cell) for cell in cells], dtype=np.float64)


def _number(value: Any) -> float:
    return float(value) if is_number(value) else float("nan")


# --- files


def parquet_table(path: Path, clean: Callable[[str], str] = str) -> Table:
    """A Parquet file; a column is read when it is asked for. clean: what is done to each text.

    Lists of numbers (embeddings) and bytes are no columns of it; `unread` says so. Raises GraphError,
    MissingExtraError.
    """
    with reading_parquet(path, GraphError) as parquet:
        file = parquet.ParquetFile(path)
    check_parquet(file, path)
    column_names(file.schema_arrow.names, path)
    kinds = {field.name: field.type for field in file.schema_arrow}

    def load(name: str) -> Cells:
        with reading_parquet(path, GraphError):
            column = file.read(columns=[name]).column(name)
            column.validate(full=True)
            if len(column) != file.metadata.num_rows:
                raise OSError(
                    f"column {name!r} has {len(column):,} rows, the file says {file.metadata.num_rows:,}"
                )
            return arrow_cells(column, clean)

    table = Table([name for name, kind in kinds.items() if not _is_opaque(kind)], load, path.name)
    table.row_label = "row "
    table.unread = {name: f"{Role.UNUSED}: {kind}" for name, kind in kinds.items() if name not in table.names}
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
