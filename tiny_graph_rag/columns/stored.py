"""Named arrays in one file, for memory-mapping: what a cache is made of.

Layout: MAGIC, the header's length and CRC-32 (two little-endian uint32), the header (JSON: a note of the
writer's and for each array its type, shape, place and CRC-32, and True where one value stands for all
rows), then the arrays, each aligned to 64 bytes.

A file is trusted when all checksums hold. That was found out when it was written, and is remembered in a
seal next to it together with the file's size, inode and times; where any of these differ, all content is
checked again. Checksums say nothing of a file that somebody made on purpose: a seal says, too, whether this
program made or checked what the numbers point to. It can't be brought along with a file, since nobody can
choose a file's inode and change time.
"""

from __future__ import annotations

import json
import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stamps import FileStamp, read_note, settled_stamp, stamp_of, write_note
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
