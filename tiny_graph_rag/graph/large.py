"""A graph larger than memory, from triples: DuckDB numbers the names and sorts, on disk where memory lacks.

What comes out is written piece by piece into files of the graph's cache. A load that was interrupted begins
again. docs/benchmarks.md says how long it takes, and how much memory and disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.graph.building import LOOPS, SHOWN_EXAMPLES, UNKNOWN_RELATION, UNKNOWN_TYPE
from tiny_graph_rag.graph.tables import (
    DANGLING,
    DEFAULT_WEIGHT,
    Adjacency,
    Entities,
    LoadNotes,
    Origin,
    Relations,
    Tables,
)
from tiny_graph_rag.messages import said

LARGE_FROM_ROWS = 20_000_000  # triples; fewer are read into memory in less time
MOST_ROWS = np.iinfo(np.int32).max - 1  # entities and relations each: rows are 32-bit numbers
BYTES_A_RELATION = 200  # on disk at the most, with what is deleted at the end
MEMORY = "4GB"  # of DuckDB; our own arrays need 20 bytes an entity besides
LONGEST_REASON = 200  # characters of what DuckDB says of a file that it can't read
WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
SPACE_AT_AN_END = r"'^[\pZ\pC\s]|[\pZ\pC\s]$'"  # trimming texts without any takes ten times as long

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Triples:
    """A file's triples. rows: how many, as far as that is known beforehand; an upper bound where not.

    names: "source", "relation", "target" → the file's name for that column; left_out: its other columns.
    table, ends: DuckDB's SQL for the file, and for the columns of "source", "target" and "relation".
    """

    path: Path
    rows: int
    names: Mapping[str, str]
    left_out: Sequence[str]
    table: str
    ends: Mapping[str, str]

    @property
    def origin(self) -> Origin:
        """What became of the file's columns; only names and types fit where descriptions would not."""
        became = {"source": "name of an entity", "relation": "type", "target": "name of an entity"}
        columns = [("file", self.names[end], became[end]) for end in became]
        columns += [("file", name, "left out: too large to keep") for name in self.left_out]
        return Origin("triples, out of core", tuple(columns))


def build(triples: Triples, folder: Path, say: Say) -> Tables:
    """The graph's tables, their columns memory-mapped files of the folder.

    say: called with what is being done. Raises GraphError where the disk or 32-bit rows have no room for it,
    MissingExtraError without duckdb or pyarrow.
    """
    duckdb = optional("duckdb", said("loading {rows} relations", rows=f"{triples.rows:,}"), "duckdb")
    optional("pyarrow", said("loading {rows} relations", rows=f"{triples.rows:,}"), "parquet")
    _check_rows("relations", triples.rows, triples.path)
    needed, free = triples.rows * BYTES_A_RELATION, shutil.disk_usage(folder).free
    say(
        said(
            "{name}: {rows} relations are loaded once into {folder}; this needs up to {needed} GB of disk "
            "space ({free} GB are free)",
            name=triples.path.name,
            rows=f"{triples.rows:,}",
            folder=folder.parent,
            needed=f"{needed / 1e9:.1f}",
            free=f"{free / 1e9:.1f}",
        )
    )
    work = folder / "work"
    work.mkdir()
    settings = {"memory_limit": MEMORY, "temp_directory": str(work / "spilled")}
    try:
        with duckdb.connect(str(work / "triples.duckdb"), config=settings) as database:
            database.execute("SET enable_progress_bar = false")  # it is drawn where results are printed
            tables = _Loading(triples, database, folder, say).tables()
    except duckdb.Error as error:
        why = " ".join(str(error).split())[:LONGEST_REASON]
        raise GraphError.at(triples.path, "DuckDB: {why}", why=why) from error
    shutil.rmtree(work)
    return tables


def _check_rows(what: str, rows: int, path: Path) -> None:
    if rows > MOST_ROWS:
        raise GraphError(
            "{path}: {rows} {what}; at most {most_rows} are possible, because row numbers have 32 bits. "
            "Split the graph",
            path=path,
            rows=f"{rows:,}",
            what=said(what),
            most_rows=f"{MOST_ROWS:,}",
        )


class _Loading:
    """DuckDB's tables: triples, names and ends; an entity's and a relation's row is its rowid in the last
    two."""

    def __init__(self, triples: Triples, database: Any, folder: Path, say: Say) -> None:
        self.triples, self.database, self.folder, self.say = triples, database, folder, say

    def tables(self) -> Tables:
        self._read()
        self.say(said("entities and relation types"))
        kinds = self._number()
        lost = self._flaw("triples", "source = '' or target = ''")
        self.database.execute("drop table triples")
        loops = self._flaw("ends", "source = target")
        entities, relations = self._count("names"), self._count("ends")
        _check_rows("entities", entities, self.triples.path)
        names = self._names()
        no_texts, no_lists = Strings.blank(entities), StringLists.blank(entities)
        types = Categories(np.zeros(entities, np.int32), (UNKNOWN_TYPE,))
        self.say(said("the order of names"))
        rank = np.empty(entities, np.int32)
        (rows,) = self._columns("select rowid from names order by nfc_normalize(name), name")
        rank[rows] = np.arange(entities, dtype=np.int32)
        blank = Strings.blank(relations)
        table = Relations(
            ids=blank,
            sources=self._file("source", "ends", np.int32),
            targets=self._file("target", "ends", np.int32),
            types=Categories(self._file("kind", "ends", np.int32), tuple(kinds)),
            descriptions=blank,
            weights=np.broadcast_to(DEFAULT_WEIGHT, (relations,)),
            source_chunks=StringLists.blank(relations),
            details=blank,
        )
        self.say(said("the neighbours of each entity"))
        return Tables(
            Entities(names, names, types, no_texts, no_lists, no_lists, no_texts),
            table,
            self._adjacency(entities),
            rank,
            LoadNotes(tuple((kind, *flaw) for kind, flaw in ((DANGLING, lost), (LOOPS, loops)) if flaw[0])),
            self.triples.origin,
        )

    def _read(self) -> None:
        """The file's triples as they are, without white space around them; a triple's row is its rowid."""
        columns = []
        for end in ("source", "target", "relation"):
            text = f"coalesce({self.triples.ends[end]}::varchar, '')"
            has_space = f"regexp_matches({text}, {SPACE_AT_AN_END})"
            columns.append(f"case when {has_space} then trim({text}, $white_space) else {text} end as {end}")
        self.database.execute(
            f"create table triples as select {', '.join(columns)} from {self.triples.table}",
            {"path": str(self.triples.path), "white_space": WHITE_SPACE},
        )
        self.database.execute("update triples set relation = ? where relation = ''", [UNKNOWN_RELATION])

    def _number(self) -> list[str]:
        """Entities in the order in which they first stand as a source, then as a target; types by name."""
        self.database.execute(
            """create table names as select name from (
                select name, min(place) as first from (
                    select source as name, rowid as place from triples
                    union all select target, rowid + (select count(*) from triples) from triples)
                where name <> '' group by name) order by first"""
        )
        self.database.execute(
            "create table kinds as select relation from (select distinct relation from triples) order by 1"
        )
        self.database.execute(
            """create table ends as select source.rowid::integer as source, target.rowid::integer as target,
                kinds.rowid::integer as kind
            from triples join names source on triples.source = source.name
                join names target on triples.target = target.name
                join kinds on triples.relation = kinds.relation
            order by triples.rowid"""
        )
        return [name for (name,) in self.database.execute("select relation from kinds").fetchall()]

    def _names(self) -> Strings:
        """The names, which are the ids too."""
        names = self.database.sql("select name from names").to_arrow_table().column(0)
        _, offsets, data = names.cast("large_string").combine_chunks().buffers()
        return Strings(np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64)[: len(names) + 1])

    def _adjacency(self, entities: int) -> Adjacency:
        """By entity and neighbour, slots along their relation first."""
        sides = """
            select source as entity, target as neighbour, rowid::integer as relation, true as forward
                from ends where source <> target
            union all select target, source, rowid::integer, false from ends where source <> target"""
        indptr = np.zeros(entities + 1, np.int64)
        rows, degrees = self._columns(f"select entity, count(*) from ({sides}) group by entity")
        indptr[rows + 1] = degrees
        self.database.execute(
            f"""create table slots as select neighbour, relation, forward from ({sides})
            order by entity, neighbour, forward desc, relation"""
        )
        neighbours, relations = (self._file(name, "slots", np.int32) for name in ("neighbour", "relation"))
        return Adjacency(np.cumsum(indptr), neighbours, relations, self._file("forward", "slots", np.bool_))

    def _count(self, table: str) -> int:
        ((number,),) = self.database.execute(f"select count(*) from {table}").fetchall()
        return int(number)

    def _flaw(self, table: str, condition: str) -> tuple[int, tuple[str, ...]]:
        """How many rows of a table are so, and the numbers of the first."""
        (rows,) = self._columns(
            f"select rowid from {table} where {condition} order by 1 limit {SHOWN_EXAMPLES}"
        )
        return self._count(f"{table} where {condition}"), tuple(f"relation {row + 1}" for row in rows)

    def _columns(self, query: str) -> list[NDArray[Any]]:
        """A result's columns, of numbers."""
        return [column.to_numpy() for column in self.database.sql(query).to_arrow_table().columns]

    def _file(self, column: str, table: str, kind: type[np.generic]) -> NDArray[Any]:
        """A table's column, written into the folder and mapped: no two are in memory at once."""
        path = self.folder / f"{column}.npy"
        (values,) = self._columns(f"select {column} from {table}")
        np.save(path, values.astype(kind, copy=False))
        mapped: NDArray[Any] = np.load(path, mmap_mode="r")
        return mapped
