"""Named arrays in one file, for memory-mapping: what a cache is made of.

Layout: MAGIC, the header's length and CRC-32 (two little-endian uint32), the header (JSON: a note of the
writer's and for each array its type, shape, place and CRC-32, and True where one value stands for all
rows), then the arrays, each aligned to 64 bytes.

A file is trusted when all checksums hold. That was found out when it was written, and is remembered in a
seal next to it together with the file's size, inode and times; where any of these differ, all content is
checked again. Checksums say nothing of a file that somebody made on purpose: a seal says, too, whether this
program made or checked what the numbers point to. It can't be brought along with a file, since nobody can
choose a file's inode and change time.

A stamp tells without reading it whether a file is the one that was read before: it is what the file system
says of a file. Every write through it changes one of the times, also where a program puts the old
modification time back (the change time can't be set). Only a write within the clock's grain after another
could pass unseen, so a stamp counts only once the file has been still for longer.
"""

from __future__ import annotations

import json
import mmap
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.outputs import write_atomically

MAGIC = b"TGRarr01"
ALIGNMENT = 64
CHECKED_BYTES = 1 << 22
# Linux keeps what one write gave as one piece of memory, and counts the whole piece as that of a process that
# looks at one byte of it: in large writes, a question would take as much memory as the graph.
WRITTEN_BYTES = 1 << 14

Arrays = dict[str, NDArray[Any]]


class BadArraysError(Exception):
    """The file is missing, cut off, damaged, or not one of ours."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A column that lies in a file of its own until it is written among others. checksum: CRC-32."""

    path: Path
    kind: np.dtype[Any]
    rows: int
    checksum: int

    def parts(self) -> Iterator[bytes]:
        with self.path.open("rb") as stream:
            while part := stream.read(WRITTEN_BYTES):
                yield part


class ColumnWriter:
    """A column of numbers written piece by piece, so that it never is in memory as a whole."""

    def __init__(self, path: Path, kind: type[np.generic]) -> None:
        self.path, self.kind, self.rows, self.checksum = path, np.dtype(kind), 0, 0
        self._stream = path.open("wb")

    def add(self, values: NDArray[Any]) -> None:
        raw = np.ascontiguousarray(values, dtype=self.kind).view(np.uint8)
        self.rows += len(values)
        self.checksum = zlib.crc32(raw.data, self.checksum)
        raw.tofile(self._stream)

    def done(self) -> OnDisk:
        self._stream.close()
        return OnDisk(self.path, self.kind, self.rows, self.checksum)


class ColumnInMemory:
    """The same for a column that memory holds."""

    def __init__(self, kind: type[np.generic]) -> None:
        self.pieces: list[NDArray[Any]] = [np.zeros(0, kind)]

    def add(self, values: NDArray[Any]) -> None:
        self.pieces.append(values.astype(self.pieces[0].dtype, copy=False))

    def done(self) -> NDArray[Any]:
        return np.concatenate(self.pieces)


def repeated(value: Any, rows: int) -> NDArray[Any]:
    """A column of one value, which takes the room of one row, in memory and in a file."""
    return np.broadcast_to(value, (rows,))


def write_arrays(
    path: Path,
    arrays: Mapping[str, NDArray[Any] | OnDisk],
    note: Mapping[str, Any],
    *,
    sound: bool = False,
) -> None:
    """Write and seal the file, whole or not at all. note: JSON to give back. Raises OSError.

    An array that has two names is written once. sound: all that its numbers point to exists.
    """
    table: dict[str, Any] = {}
    blocks: list[tuple[int, Iterable[bytes | memoryview]]] = []
    place = 0
    written: dict[int, str] = {}
    for name, array in arrays.items():
        if id(array) in written:
            table[name] = table[written[id(array)]]
            continue
        written[id(array)] = name
        if isinstance(array, OnDisk):
            length = array.rows * array.kind.itemsize
            table[name] = [array.kind.str, [array.rows], place, array.checksum]
            blocks.append((length, array.parts()))
        else:
            one_value = array.ndim == 1 and array.strides == (0,) and len(array) > 1
            block = np.ascontiguousarray(array[:1] if one_value else array)
            raw = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
            length = len(raw)
            table[name] = [block.dtype.str, list(array.shape), place, zlib.crc32(raw)]
            table[name] += [True] if one_value else []
            blocks.append((length, _pieces(raw)))
        place += -(-length // ALIGNMENT) * ALIGNMENT
    header = json.dumps({"note": note, "arrays": table, "bytes": place}).encode()
    header += b" " * (-(len(MAGIC) + 8 + len(header)) % ALIGNMENT)

    def parts() -> Iterator[bytes | memoryview]:
        yield MAGIC
        yield np.array([len(header), zlib.crc32(header)], dtype="<u4").tobytes()
        yield header
        for length, pieces in blocks:
            yield from pieces
            yield b"\0" * (-length % ALIGNMENT)

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, parts())
    _seal(path, stamp_of(path), sound)


def _pieces(raw: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(raw), WRITTEN_BYTES):
        yield raw[start : start + WRITTEN_BYTES]


def read_arrays(
    path: Path, sound: Callable[[Arrays, dict[str, Any]], bool] | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """The arrays, memory-mapped and read-only, and the note. Raises BadArraysError.

    sound: asked of a file that no seal vouches for, whether what its numbers point to exists. Everything is
    taken from the file as it was opened: another may be moved into its place meanwhile.
    """
    try:
        with path.open("rb") as stream:
            stamp = stamp_of(stream.fileno())
            start, table, note, total = _header(stream, path)
            if stamp.size != start + total:
                raise BadArraysError(f"{path}: cut off")
            sealed = read_note(_seal_path(path))
            known = sealed is not None and sealed.get("stamp") == stamp.as_list()
            if not known:
                _check(stream, path, start, table)
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise BadArraysError(str(error)) from error
    except (ValueError, TypeError, KeyError, UnicodeDecodeError) as error:
        raise BadArraysError(f"{path}: {error}") from error
    whole = np.frombuffer(mapping, dtype=np.uint8)
    arrays: Arrays = {}
    for name, (kind, shape, place, _, *one_value) in table.items():
        raw = whole[start + place : start + place + _stored_bytes(kind, shape, one_value)]
        found = raw.view(kind)
        arrays[name] = repeated(found[0], shape[0]) if one_value else found.reshape(shape)
    vouched = known and sealed is not None and sealed.get("sound") is True
    if sound is not None and not vouched and not sound(arrays, note):
        raise BadArraysError(f"{path}: not what this program writes")
    if not known or (sound is not None and not vouched):
        _seal(path, stamp, sound is not None)
    return arrays, note


def _header(stream: BinaryIO, path: Path) -> tuple[int, dict[str, Any], dict[str, Any], int]:
    if stream.read(len(MAGIC)) != MAGIC:
        raise BadArraysError(f"{path}: not an array file")
    length, checksum = np.frombuffer(stream.read(8), dtype="<u4").tolist()
    header = stream.read(length)
    if zlib.crc32(header) != checksum:
        raise BadArraysError(f"{path}: its header is damaged")
    document = json.loads(header)
    return len(MAGIC) + 8 + length, document["arrays"], document["note"], document["bytes"]


def _check(stream: BinaryIO, path: Path, start: int, table: Mapping[str, Any]) -> None:
    for name, (kind, shape, place, checksum, *one_value) in table.items():
        left = _stored_bytes(kind, shape, one_value)
        stream.seek(start + place)
        found = 0
        while left:
            piece = stream.read(min(left, CHECKED_BYTES))
            if not piece:
                break
            found = zlib.crc32(piece, found)
            left -= len(piece)
        if left or found != checksum:
            raise BadArraysError(f"{path}: {name} is damaged")


def _stored_bytes(kind: str, shape: list[int], one_value: list[bool]) -> int:
    return int(np.prod([1] if one_value else shape, dtype=np.int64)) * np.dtype(kind).itemsize


def _seal_path(path: Path) -> Path:
    return path.with_name(path.name + ".seal")


def _seal(path: Path, checked: FileStamp, sound: bool) -> None:
    """Remember that the file with this stamp is undamaged, and whether it is sound."""
    if settled_stamp(path) == checked:
        write_note(_seal_path(path), {"stamp": checked.as_list(), "sound": sound})


GRAIN_NS = 50_000_000  # Linux keeps file times by the timer tick, 1 to 10 ms
COARSE_GRAIN_NS = 2_000_000_000  # FAT keeps two seconds, some network file systems one
SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class FileStamp:
    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int

    def as_list(self) -> list[int]:
        return list(astuple(self))

    @property
    def grain_ns(self) -> int:
        whole_seconds = self.modified_ns % SECOND_NS == 0 and self.changed_ns % SECOND_NS == 0
        return COARSE_GRAIN_NS if whole_seconds else GRAIN_NS


def stamp_of(file: Path | int) -> FileStamp:
    """file: a path or an open file's descriptor. Raises OSError where there is no such file."""
    found = os.fstat(file) if isinstance(file, int) else file.stat()
    return FileStamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


def settled_stamp(path: Path) -> FileStamp | None:
    """The stamp of a file that was just written or read; waits out the grain. None where it is coarse."""
    stamp = stamp_of(path)
    wait_ns = max(stamp.modified_ns, stamp.changed_ns) + stamp.grain_ns - time.time_ns()
    if wait_ns > GRAIN_NS:
        return None
    if wait_ns > 0:
        time.sleep(wait_ns / SECOND_NS)
    return stamp if stamp_of(path) == stamp else None


def known_sha256(path: Path, folder: Path) -> str:
    """SHA-256 of a file's bytes, from the note in `folder` where the file's stamp is still the same.

    Otherwise the file is read, and the note written for the next time.
    """
    place = str(path.resolve())
    note_path = (
        folder / f"{zlib.crc32(place.encode('utf-8', 'surrogateescape')):08x}-{path.stat().st_size}.json"
    )
    note = read_note(note_path)
    before = settled_stamp(path)
    if before is not None and note is not None and _is_of(note, place, before):
        return str(note["sha256"])
    found = sha256_of(path)
    if before is not None and stamp_of(path) == before:
        write_note(note_path, {"path": place, "stamp": before.as_list(), "sha256": found})
    return found


def _is_of(note: dict[str, Any], place: str, stamp: FileStamp) -> bool:
    return note.get("path") == place and note.get("stamp") == stamp.as_list() and "sha256" in note


def read_note(path: Path) -> dict[str, Any] | None:
    """What write_note wrote; None where it is missing or damaged."""
    try:
        checksum, _, body = path.read_bytes().partition(b" ")
        if int(checksum, 16) != zlib.crc32(body):
            return None
        note = json.loads(body)
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None


def write_note(path: Path, note: dict[str, Any]) -> None:
    """Notes only save time: one that can't be written is done without."""
    body = json.dumps(note).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, [f"{zlib.crc32(body):08x} ".encode(), body])
    except OSError:
        return
