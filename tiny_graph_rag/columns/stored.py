"""Named arrays in one file, for memory-mapping: what a cache is made of.

Layout: MAGIC, the header's length and CRC-32 (two little-endian uint32), the header (JSON: a note of the
writer's and for each array its type, shape, place and CRC-32), then the arrays, each aligned to 64 bytes.

A file is trusted when all checksums hold. That was found out when it was written, and is remembered in a
seal beside it together with the file's size, inode and times; where any of these differ, all content is
checked again.
"""

from __future__ import annotations

import json
import mmap
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stamps import Stamp, read_note, settled_stamp, stamp_of, write_note
from tiny_graph_rag.files import write_atomically

MAGIC = b"TGRarr01"
ALIGNMENT = 64
CHECKED_BYTES = 1 << 22
# Linux keeps what one write gave as one piece of memory, and counts the whole piece as that of a process that
# looks at one byte of it: in large writes, a question would take as much memory as the graph.
WRITTEN_BYTES = 1 << 14

Arrays = dict[str, NDArray[Any]]


class BadArraysError(Exception):
    """The file is missing, cut off, damaged, or not one of ours."""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], note: Mapping[str, Any]) -> None:
    """Write and seal the file, whole or not at all. note: JSON to give back. Raises OSError."""
    table: dict[str, Any] = {}
    blocks: list[memoryview] = []
    place = 0
    for name, array in arrays.items():
        block = np.ascontiguousarray(array)
        raw = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        table[name] = [block.dtype.str, list(block.shape), place, zlib.crc32(raw)]
        blocks.append(raw)
        place += -(-len(raw) // ALIGNMENT) * ALIGNMENT
    header = json.dumps({"note": note, "arrays": table, "bytes": place}).encode()
    header += b" " * (-(len(MAGIC) + 8 + len(header)) % ALIGNMENT)

    def parts() -> Iterator[bytes | memoryview]:
        yield MAGIC
        yield np.array([len(header), zlib.crc32(header)], dtype="<u4").tobytes()
        yield header
        for raw in blocks:
            for start in range(0, len(raw), WRITTEN_BYTES):
                yield raw[start : start + WRITTEN_BYTES]
            yield b"\0" * (-len(raw) % ALIGNMENT)

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, parts())
    _seal(path, stamp_of(path))


def read_arrays(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays, memory-mapped and read-only, and the note. Raises BadArraysError.

    Everything is taken from the file as it was opened: another may be moved into its place meanwhile.
    """
    try:
        with path.open("rb") as stream:
            stamp = stamp_of(stream.fileno())
            start, table, note, total = _header(stream, path)
            if stamp.size != start + total:
                raise BadArraysError(f"{path}: cut off")
            sealed = read_note(_seal_path(path))
            if sealed is None or sealed.get("stamp") != stamp.as_list():
                _check(stream, path, start, table)
                _seal(path, stamp)
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise BadArraysError(str(error)) from error
    except (ValueError, TypeError, KeyError, UnicodeDecodeError) as error:
        raise BadArraysError(f"{path}: {error}") from error
    whole = np.frombuffer(mapping, dtype=np.uint8)
    arrays: Arrays = {}
    for name, (kind, shape, place, _) in table.items():
        length = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        raw = whole[start + place : start + place + length]
        arrays[name] = raw.view(kind).reshape(shape)
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
    for name, (kind, shape, place, checksum) in table.items():
        left = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
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


def _seal_path(path: Path) -> Path:
    return path.with_name(path.name + ".seal")


def _seal(path: Path, checked: Stamp) -> None:
    """Remember that the file with this stamp is sound."""
    if settled_stamp(path) == checked:
        write_note(_seal_path(path), {"stamp": checked.as_list()})
