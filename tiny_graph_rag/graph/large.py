"""A graph larger than memory, from triples: DuckDB numbers the names and sorts, on disk where memory lacks.

What comes out is written piece by piece into the graph's cache. A load that was interrupted begins again.
docs/benchmarks.md says how long it takes, and how much memory and disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stored import ArraysWriter, repeated, writing
from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.graph.building import LOOPS, SHOWN_EXAMPLES, UNKNOWN_RELATION, UNKNOWN_TYPE
from tiny_graph_rag.graph.tables import DANGLING, DEFAULT_WEIGHT, Origin
from tiny_graph_rag.messages import said

LARGE_FROM_ROWS = 20_000_000  # triples; fewer are read into memory in less time
MOST_ROWS = np.iinfo(np.int32).max - 1  # entities and relations each: rows are 32-bit numbers
BYTES_A_RELATION = 200  # on disk at the most, with what is deleted at the end
MEMORY = "4GB"  # of DuckDB; our own arrays need 20 bytes an entity besides
RELATION_LABEL = "relation"
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


def build(triples: Triples, target: Path, note: Mapping[str, Any], say: Say) -> None:
    """Write the graph's columns into the folder `target`. note: what its note holds besides.

    say: called with what is being done. Raises GraphError where the disk or 32-bit rows have no room for it,
    MissingExtraError without duckdb or pyarrow.
    """
    duckdb = optional("duckdb", said("loading {rows} relations", rows=f"{triples.rows:,}"), "duckdb")
    optional("pyarrow", said("loading {rows} relations", rows=f"{triples.rows:,}"), "parquet")
    target.parent.mkdir(parents=True, exist_ok=True)
    _check_rows("relations", triples.rows, triples.path)
    needed, free = triples.rows * BYTES_A_RELATION, shutil.disk_usage(target.parent).free
    say(
        said(
            "{name}: {rows} relations are loaded once into {folder}; this needs up to {needed} GB of disk "
            "space ({free} GB are free)",
            name=triples.path.name,
            rows=f"{triples.rows:,}",
            folder=target.parent,
            needed=f"{needed / 1e9:.1f}",
            free=f"{free / 1e9:.1f}",
        )
    )
    whole_note = dict(note)
    try:
        with writing(target, whole_note) as writer:
            work = writer.folder / "work"
            work.mkdir()
            settings = {"memory_limit": MEMORY, "temp_directory": str(work / "spilled")}
            with duckdb.connect(str(work / "triples.duckdb"), config=settings) as database:
                database.execute("SET enable_progress_bar = false")  # it is drawn where results are printed
                whole_note |= _Loading(triples, database, writer, say).write()
            shutil.rmtree(work)
    except duckdb.Error as error:
        why = " ".join(str(error).split())[:LONGEST_REASON]
        raise GraphError.at(triples.path, "DuckDB: {why}", why=why) from error


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
    """Tables: triples, names (an entity's row is its rowid), ends (a relation's row is its rowid)."""

    def __init__(self, triples: Triples, database: Any, writer: ArraysWriter, say: Say) -> None:
        self.triples, self.database, self.writer, self.say = triples, database, writer, say

    def write(self) -> dict[str, Any]:
        """Writes every column of the graph; returns the part of its note that follows from them."""
        self._read()
        self.say(said("entities and relation types"))
        kinds = self._number()
        dropped = self._flaw("triples", "source = '' or target = ''")
        self.database.execute("drop table triples")
        entities, relations = self._count("names"), self._count("ends")
        _check_rows("entities", entities, self.triples.path)
        for name, column in (("sources", "source"), ("targets", "target"), ("types.codes", "kind")):
            pieces = (piece for (piece,) in self._columns(f"select {column} from ends"))
            self.writer.add_pieces(f"relations.{name}", np.int32, relations, pieces)
        self._write_names(entities)
        self.say(said("the neighbours of each entity"))
        loops = self._flaw("ends", "source = target")
        self._write_slots(entities, relations - loops[0])
        self._write_blanks(entities, relations)
        flaws = [(kind, *flaw) for kind, flaw in ((DANGLING, dropped), (LOOPS, loops)) if flaw[0]]
        return {
            "entity_types": [UNKNOWN_TYPE],
            "relation_types": kinds,
            "relation_ids": [RELATION_LABEL, relations],
            "flaws": flaws,
        }

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

    def _write_names(self, entities: int) -> None:
        """The names, which are the ids too, and the place of each: by code point of its NFC form, then as it
        is written."""
        size = self._number_of("select coalesce(sum(strlen(name)), 0) from names")
        lengths = np.zeros(entities + 1, np.int64)

        def texts() -> Iterator[NDArray[np.uint8]]:
            first = 1
            for (names,) in self._columns("select name from names", as_numbers=False):
                _, offsets, data = names.cast("large_string").buffers()
                bounds = np.frombuffer(offsets, np.int64)[names.offset : names.offset + len(names) + 1]
                lengths[first : first + len(names)] = np.diff(bounds)
                first += len(names)
                yield np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]

        self.writer.add_pieces("entities.ids.data", np.uint8, size, texts())
        self.writer.add("entities.ids.offsets", np.cumsum(lengths))
        for part in ("data", "offsets"):
            self.writer.again(f"entities.names.{part}", f"entities.ids.{part}")
        self.say(said("the order of names"))
        rank, first = np.empty(entities, np.int32), 0
        for (rows,) in self._columns("select rowid from names order by nfc_normalize(name), name"):
            rank[rows] = np.arange(first, first + len(rows), dtype=np.int32)
            first += len(rows)
        self.writer.add("name_rank", rank)

    def _write_slots(self, entities: int, walked: int) -> None:
        """The adjacency: by entity and neighbour, slots along their relation first."""
        sides = """
            select source as entity, target as neighbour, rowid::integer as relation, true as forward
                from ends where source <> target
            union all select target, source, rowid::integer, false from ends where source <> target"""
        indptr = np.zeros(entities + 1, np.int64)
        counts = f"select entity, count(*) from ({sides}) group by entity"
        for rows, degrees in self._columns(counts):
            indptr[rows + 1] = degrees
        self.writer.add("adjacency.indptr", np.cumsum(indptr))
        self.database.execute(
            f"""create table slots as select neighbour, relation, forward from ({sides})
            order by entity, neighbour, forward desc, relation"""
        )
        kinds = {"neighbours": np.int32, "relations": np.int32, "forward": np.bool_}
        for (name, kind), column in zip(kinds.items(), ("neighbour", "relation", "forward"), strict=True):
            pieces = (piece for (piece,) in self._columns(f"select {column} from slots"))
            self.writer.add_pieces(f"adjacency.{name}", kind, 2 * walked, pieces)

    def _write_blanks(self, entities: int, relations: int) -> None:
        """What triples have nothing of: descriptions, aliases, weights."""
        self.writer.add("entities.types.codes", np.zeros(entities, np.int32))
        self.writer.add("relations.weights", repeated(np.float64(DEFAULT_WEIGHT), relations))
        for table, rows in (("entities", entities), ("relations", relations)):
            lists = ("aliases", "source_chunks") if table == "entities" else ("source_chunks",)
            for name in ("descriptions", "details", *(f"{column}.items" for column in lists)):
                self.writer.add(f"{table}.{name}.data", np.zeros(0, np.uint8))
                length = 1 if name.endswith(".items") else rows + 1
                self.writer.add(f"{table}.{name}.offsets", repeated(np.int64(0), length))
            for name in lists:
                self.writer.add(f"{table}.{name}.offsets", repeated(np.int64(0), rows + 1))

    def _count(self, table: str) -> int:
        return self._number_of(f"select count(*) from {table}")

    def _number_of(self, query: str) -> int:
        ((number,),) = self.database.execute(query).fetchall()
        return int(number)

    def _flaw(self, table: str, condition: str) -> tuple[int, list[str]]:
        """How many rows of a table are so, and the labels of the first."""
        chosen = f"select rowid from {table} where {condition} order by 1 limit {SHOWN_EXAMPLES}"
        examples = [
            f"{RELATION_LABEL} {number + 1}" for (number,) in self.database.execute(chosen).fetchall()
        ]
        return self._count(f"{table} where {condition}"), examples

    def _columns(self, query: str, *, as_numbers: bool = True) -> Iterator[list[Any]]:
        """A result's columns in pieces: arrays of numbers, or of arrow's texts."""
        result = self.database.sql(query)
        read = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader  # of older releases
        for batch in read(1 << 20):
            yield [_numbers(column) if as_numbers else column for column in batch.columns]


def _numbers(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))
