"""A graph larger than memory, from triples: read piece by piece into columns on disk.

Names become rows in a hash table that holds 30 bytes an entity next to the names themselves; everything
else passes by in pieces. A stage that is done stays done: a load that was killed goes on behind its last
one, and a file that was half written is written again. docs/scale.md says what each takes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import can_compile, compiled
from tiny_graph_rag.columns.stored import ColumnWriter, OnDisk, read_note, repeated, write_arrays, write_note
from tiny_graph_rag.columns.strings import Strings, StringsBuilder
from tiny_graph_rag.errors import GraphError, MissingExtraError
from tiny_graph_rag.graph.building import LOOPS, SHOWN_EXAMPLES, UNKNOWN_RELATION, UNKNOWN_TYPE
from tiny_graph_rag.graph.tables import DANGLING, DEFAULT_WEIGHT, SLOTS_AT_ONCE, Origin, entity_ranges
from tiny_graph_rag.journals import lock_file
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said

if TYPE_CHECKING:
    import pyarrow

LARGE_FROM_ROWS = 10_000_000  # triples; fewer are read into memory in less time
ROWS_AT_ONCE = 1 << 22  # of the columns of relations
NAMES_AT_ONCE = 1 << 18
MOST_ROWS = np.iinfo(np.int32).max - 1  # entities and relations each: rows are 32-bit numbers
BYTES_A_RELATION = 130  # on disk at the most, with what is deleted at the end
NOBODY = -1
FIRST_SLOTS = 1 << 16
RELATION_LABEL = "relation"
ENDS = ("source", "target", "relation")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Triples:
    """A file's triples. rows: how many, as far as that is known beforehand; an upper bound where not.

    names: "source", "relation", "target" → the file's name for that column; left_out: its other columns.
    column: one of these three → its texts in pieces of arrow's string arrays, in file order.
    """

    path: Path
    rows: int
    names: Mapping[str, str]
    left_out: Sequence[str]
    column: Callable[[str], Iterator[pyarrow.Array]]

    @property
    def origin(self) -> Origin:
        """What became of the file's columns; only names and types fit where descriptions would not."""
        became = {"source": "name of an entity", "relation": "type", "target": "name of an entity"}
        columns = [("file", self.names[end], became[end]) for end in became]
        columns += [("file", name, "left out: too large to keep") for name in self.left_out]
        return Origin("triples, out of core", tuple(columns))


def build(triples: Triples, home: Path, target: Path, note: Mapping[str, Any], say: Say) -> None:
    """Write the graph's columns to `target`, under `home`. note: what the file's note holds besides.

    say: called with what is being done. Raises GraphError where the disk or 32-bit rows have no room for it,
    MissingExtraError without numba or pyarrow.
    """
    if not can_compile():
        raise MissingExtraError(said("loading {rows} relations", rows=f"{triples.rows:,}"), "numba", "fast")
    building = home / "building"
    with _alone(building):
        if target.exists():  # made by another process while this one waited
            return
        _check_room(triples, building, say)
        work = _Building(triples, building, say)
        arrays, found = work.columns()
        say(said("writing the graph's file"))
        write_arrays(target, arrays, {**note, **found}, sound=True)
    shutil.rmtree(building, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time builds in a folder; a killed one leaves no lock behind."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        lock_file(lock.fileno(), wait=True)
        yield


def _check_room(triples: Triples, folder: Path, say: Say) -> None:
    if triples.rows > MOST_ROWS:
        raise GraphError(
            "{path}: {rows} relations; at most {most_rows} are possible, because row numbers have 32 "
            "bits. Split the graph, or leave out relations",
            path=triples.path,
            rows=f"{triples.rows:,}",
            most_rows=f"{MOST_ROWS:,}",
        )
    needed = triples.rows * BYTES_A_RELATION
    free = shutil.disk_usage(folder).free + sum(path.stat().st_size for path in folder.iterdir())
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
    if needed > free:
        raise GraphError(
            "{folder}: the graph needs {needed} GB of disk space, {free} GB are free. Free some space, "
            "or set XDG_CACHE_HOME to a folder on a larger disk",
            folder=folder,
            needed=f"{needed / 1000000000.0:.1f}",
            free=f"{free / 1000000000.0:.1f}",
        )


class _Building:
    """The stages, each a method that returns its columns by name."""

    def __init__(self, triples: Triples, folder: Path, say: Say) -> None:
        self.triples, self.folder, self.say = triples, folder, say

    def columns(self) -> tuple[dict[str, NDArray[Any] | OnDisk], dict[str, Any]]:
        """The arrays of a graph's file and the part of its note that follows from them."""
        ends, counted = self._stage("ends", "entities and relation types", self._ends)
        order, _ = self._stage("order", "the order of names", lambda: self._order(ends))
        slots, flaws = self._stage("slots", "the neighbours of each entity", lambda: self._slots(ends))
        entities, relations = ends["names.offsets"].rows - 1, ends["sources"].rows
        nothing, no_row = np.zeros(0, np.uint8), np.zeros(1, np.int64)
        none, no_lists = repeated(np.int64(0), entities + 1), repeated(np.int64(0), relations + 1)
        found: dict[str, NDArray[Any] | OnDisk] = {
            "entities.ids.data": ends["names.data"],
            "entities.ids.offsets": ends["names.offsets"],
            "entities.names.data": ends["names.data"],
            "entities.names.offsets": ends["names.offsets"],
            "entities.types.codes": np.zeros(entities, np.int32),
            "relations.sources": ends["sources"],
            "relations.targets": ends["targets"],
            "relations.types.codes": ends["kinds"],
            "relations.weights": repeated(np.float64(DEFAULT_WEIGHT), relations),
            **{f"adjacency.{name}": column for name, column in slots.items()},
            "name_rank": order["rank"],
        }
        for table, offsets in (("entities", none), ("relations", no_lists)):
            for name in ("descriptions", "details"):
                found |= {f"{table}.{name}.data": nothing, f"{table}.{name}.offsets": offsets}
            lists = ("aliases", "source_chunks") if table == "entities" else ("source_chunks",)
            for name in lists:
                found |= {f"{table}.{name}.offsets": offsets}
                found |= {f"{table}.{name}.items.data": nothing, f"{table}.{name}.items.offsets": no_row}
        dangling = [(DANGLING, counted["dropped"], counted["examples"])] if counted["dropped"] else []
        loops = [(LOOPS, flaws["loops"], flaws["examples"])] if flaws["loops"] else []
        return found, {
            "entity_types": [UNKNOWN_TYPE],
            "relation_types": counted["kinds"],
            "relation_ids": [RELATION_LABEL, relations],
            "flaws": dangling + loops,
        }

    def _stage(
        self, name: str, what: str, make: Callable[[], tuple[dict[str, OnDisk], dict[str, Any]]]
    ) -> tuple[dict[str, OnDisk], dict[str, Any]]:
        """What `make` gives, or gave before the load was interrupted."""
        path = self.folder / f"{name}.done"
        done = read_note(path)
        if done is not None:
            columns = {
                key: OnDisk(self.folder / key, np.dtype(kind), rows, checksum)
                for key, (kind, rows, checksum) in done["columns"].items()
            }
            if all(_is_whole(column) for column in columns.values()):
                self.say(said("{what}: already done", what=what))
                return columns, done["found"]
        self.say(what)
        columns, found = make()
        written = {key: (column.kind.str, column.rows, column.checksum) for key, column in columns.items()}
        write_note(path, json.loads(json.dumps({"columns": written, "found": found})))
        return columns, found

    def _writer(self, name: str, kind: type[np.generic]) -> ColumnWriter:
        return ColumnWriter(self.folder / name, kind)

    def _ends(self) -> tuple[dict[str, OnDisk], dict[str, Any]]:
        """Entities in the order in which they first stand as a source, then as a target; types by name."""
        names, kinds = NameTable(), NameTable()
        raw = {}
        for column, table in (("source", names), ("target", names), ("relation", kinds)):
            writer = self._writer(f"raw-{column}", np.int32)
            for piece in self.triples.column(column):
                writer.add(table.rows(piece, missing=UNKNOWN_RELATION if table is kinds else ""))
            raw[column] = writer.done()
        counts = {column.rows for column in raw.values()}
        if len(counts) > 1:
            raise GraphError(
                "{path}: its columns differ in length; the file is damaged", path=self.triples.path
            )
        data, offsets = self._writer("names.data", np.uint8), self._writer("names.offsets", np.int64)
        data.add(names.text)
        offsets.add(names.bounds)
        types = list(kinds.strings())
        in_order = sorted(range(len(types)), key=types.__getitem__)
        code = np.argsort(np.array(in_order, dtype=np.int32)).astype(np.int32)
        written = {name: self._writer(name, np.int32) for name in ("sources", "targets", "kinds")}
        dropped, examples, first = 0, list[str](), 0
        for sources, targets, its_kinds in _together(
            [raw[text] for text in ("source", "target", "relation")]
        ):
            kept = (sources != NOBODY) & (targets != NOBODY)
            if not kept.all():
                gone = np.flatnonzero(~kept)
                dropped += len(gone)
                more = gone[: SHOWN_EXAMPLES - len(examples)]
                examples += [f"{RELATION_LABEL} {first + row + 1}" for row in more.tolist()]
            written["sources"].add(sources[kept])
            written["targets"].add(targets[kept])
            written["kinds"].add(code[its_kinds[kept]])
            first += len(kept)
        columns = {name: part.done() for name, part in written.items()}
        columns |= {"names.data": data.done(), "names.offsets": offsets.done()}
        for item in raw.values():
            item.path.unlink()
        names_in_order = [types[place] for place in in_order]
        return columns, {"kinds": names_in_order, "dropped": dropped, "examples": examples}

    def _order(self, ends: Mapping[str, OnDisk]) -> tuple[dict[str, OnDisk], dict[str, Any]]:
        """The place of each name among all, by code point of its NFC form, then as it is written."""
        import pyarrow
        from pyarrow import compute

        names = Strings(_read(ends["names.data"]), _read(ends["names.offsets"]))
        columns = {"written": _arrow(names)}
        if bool((names.data >= 0x80).any()):
            columns = {"composed": _arrow(_composed(names)), **columns}
        rows = len(names)
        keys = [(name, "ascending") for name in columns]
        order = compute.sort_indices(pyarrow.table(columns), sort_keys=keys).to_numpy()
        rank = np.empty(rows, dtype=np.int32)
        rank[order] = np.arange(rows, dtype=np.int32)
        writer = self._writer("rank", np.int32)
        writer.add(rank)
        return {"rank": writer.done()}, {}

    def _slots(self, ends: Mapping[str, OnDisk]) -> tuple[dict[str, OnDisk], dict[str, Any]]:
        """The adjacency, for as many entities at once as have SLOTS_AT_ONCE slots together."""
        entities = ends["names.offsets"].rows - 1
        columns = [ends["sources"], ends["targets"]]
        degrees, loops, examples, first = np.zeros(entities, np.int64), 0, list[str](), 0
        for sources, targets in _together(columns):
            walked = sources != targets
            loops += len(walked) - int(walked.sum())
            more = np.flatnonzero(~walked)[: SHOWN_EXAMPLES - len(examples)]
            examples += [f"{RELATION_LABEL} {first + row + 1}" for row in more.tolist()]
            for ends_here in (sources[walked], targets[walked]):
                degrees += np.bincount(ends_here, minlength=entities)
            first += len(sources)
        indptr = np.zeros(entities + 1, np.int64)
        np.cumsum(degrees, out=indptr[1:])
        del degrees
        kinds = {"neighbours": np.int32, "relations": np.int32, "forward": np.bool_}
        written = {name: self._writer(name, kind) for name, kind in kinds.items()}
        for low, high in entity_ranges(indptr, SLOTS_AT_ONCE):
            for name, values in zip(written, _slots_of(columns, low, high), strict=True):
                written[name].add(values)
        pointers = self._writer("indptr", np.int64)
        pointers.add(indptr)
        found = {"indptr": pointers.done(), **{name: part.done() for name, part in written.items()}}
        return found, {"loops": loops, "examples": examples}


def _slots_of(
    columns: Iterable[OnDisk], low: int, high: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Neighbours, relations and direction of the slots of the entities from low to high: by entity and
    neighbour, those along their relation first."""
    along: list[tuple[NDArray[np.int32], ...]] = []
    against: list[tuple[NDArray[np.int32], ...]] = []
    first = 0
    for sources, targets in _together(columns):
        walked = sources != targets
        for starts, ends, found in ((sources, targets, along), (targets, sources, against)):
            at = np.flatnonzero((starts >= low) & (starts < high) & walked)
            found.append((starts[at] - np.int32(low), ends[at], (at + first).astype(np.int32)))
        first += len(sources)
    forward = sum(len(direction[0]) for direction in along)
    starts, ends, relations = (np.concatenate(part) for part in zip(*along, *against, strict=True))
    del along, against
    pairs = (starts.astype(np.uint64) << np.uint64(32)) | ends.astype(np.uint64)
    order = np.argsort(pairs, kind="stable")
    return ends[order], relations[order], order < forward


def _arrow(names: Strings) -> pyarrow.LargeStringArray:
    import pyarrow

    buffers = pyarrow.py_buffer(names.offsets), pyarrow.py_buffer(names.data)
    return pyarrow.LargeStringArray.from_buffers(len(names), *buffers)


def _composed(names: Strings) -> Strings:
    builder, rows = StringsBuilder(), map(nfc, names)
    while piece := list(islice(rows, NAMES_AT_ONCE)):
        builder.add(piece)
    return builder.done()


def _read(column: OnDisk) -> NDArray[Any]:
    return np.fromfile(column.path, dtype=column.kind)


def _is_whole(column: OnDisk) -> bool:
    return column.path.is_file() and column.path.stat().st_size == column.rows * column.kind.itemsize


def _together(columns: Iterable[OnDisk]) -> Iterator[list[NDArray[Any]]]:
    """The same rows of several columns, in pieces."""
    columns = list(columns)
    for first in range(0, columns[0].rows, ROWS_AT_ONCE):
        yield [
            np.fromfile(column.path, column.kind, ROWS_AT_ONCE, offset=first * column.kind.itemsize)
            for column in columns
        ]


class NameTable:
    """Texts → rows, in the order in which they first come: open addressing over hashes; bytes decide."""

    def __init__(self) -> None:
        self.known = 0
        self._text = np.empty(FIRST_SLOTS, np.uint8)
        self._bounds = np.zeros(FIRST_SLOTS + 1, np.int64)
        self._hashes = np.empty(FIRST_SLOTS, np.uint64)
        self._table = np.full(2 * FIRST_SLOTS, NOBODY, np.int32)

    @property
    def text(self) -> NDArray[np.uint8]:
        return self._text[: self._bounds[self.known]]

    @property
    def bounds(self) -> NDArray[np.int64]:
        return self._bounds[: self.known + 1]

    def strings(self) -> Strings:
        return Strings(self.text, self.bounds)

    def rows(self, column: pyarrow.Array, missing: str) -> NDArray[np.int32]:
        """The row of each text, without white space around it; NOBODY for an empty one, unless `missing`
        stands for it. Raises GraphError where there are too many."""
        import pyarrow
        from pyarrow import compute

        if pyarrow.types.is_dictionary(column.type):
            codes = self.rows(column.dictionary, missing)
            indices = column.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
            codes = np.append(codes, self.rows(pyarrow.array([""]), missing))
            return np.asarray(codes[indices], dtype=np.int32)
        texts = compute.utf8_trim_whitespace(column.cast(pyarrow.large_string())).fill_null("")
        if missing:
            texts = compute.if_else(compute.equal(texts, ""), missing, texts)
        _, offsets, data = texts.buffers()
        bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        block = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        self._make_room(len(texts), int(bounds[-1] - bounds[0]) if len(bounds) else 0)
        found = np.empty(len(texts), np.int32)
        self.known = compiled(take_rows)(
            block, bounds, self._text, self._bounds, self._hashes, self._table, self.known, found
        )
        return found

    def _make_room(self, rows: int, characters: int) -> None:
        wanted, end = self.known + rows, int(self._bounds[self.known])
        if self.known > MOST_ROWS - rows:
            raise GraphError(
                "more than {most_rows} entities: row numbers have 32 bits. Split the graph",
                most_rows=f"{MOST_ROWS:,}",
            )
        if wanted > len(self._hashes):
            room = max(wanted, len(self._hashes) * 3 // 2)
            self._hashes = _grown(self._hashes, self.known, room)
            self._bounds = _grown(self._bounds, self.known + 1, room + 1)
        if end + characters > len(self._text):
            self._text = _grown(self._text, end, max(end + characters, len(self._text) * 3 // 2))
        slots = len(self._table)
        while 3 * wanted > 2 * slots:
            slots *= 2
        if slots > len(self._table):
            self._table = np.full(slots, NOBODY, np.int32)
            compiled(place_rows)(self._hashes, self.known, self._table)


def _grown(column: NDArray[Any], used: int, room: int) -> NDArray[Any]:
    grown = np.empty(room, column.dtype)
    grown[:used] = column[:used]
    return grown


def take_rows(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    table: NDArray[np.int32],
    known: int,
    found: NDArray[np.int32],
) -> int:
    """Write the row of each text to `found`, and new texts to the table; -> rows known then.

    The hash is FNV-1a with a last mix.
    """
    last = len(table) - 1
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        if low == high:
            found[row] = -1
            continue
        key = np.uint64(0xCBF29CE484222325)
        for place in range(low, high):
            key = (key ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(last))
        while True:
            held = table[slot]
            if held < 0:
                table[slot] = known
                hashes[known] = key
                start = bounds[known]
                for place in range(high - low):
                    text[start + place] = data[low + place]
                bounds[known + 1] = start + high - low
                found[row] = known
                known += 1
                break
            start = bounds[held]
            if hashes[held] == key and bounds[held + 1] - start == high - low:
                same = True
                for place in range(high - low):
                    if text[start + place] != data[low + place]:
                        same = False
                        break
                if same:
                    found[row] = held
                    break
            slot = (slot + 1) & last
    return known


def place_rows(hashes: NDArray[np.uint64], known: int, table: NDArray[np.int32]) -> None:
    """Fill an empty table with the rows known."""
    last = len(table) - 1
    for row in range(known):
        slot = np.int64(hashes[row] & np.uint64(last))
        while table[slot] >= 0:
            slot = (slot + 1) & last
        table[slot] = row
