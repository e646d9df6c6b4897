"""Named arrays in a folder of `.npy` files, opened memory-mapped: what a cache is made of.

Next to the arrays lies NOTE (JSON): the writer's note and, for each name, its file and, where one value
stands for all rows, their number. A folder is written under another name and moved into place whole.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.outputs import remove_leftovers, write_atomically

NOTE = "note.json"

Arrays = dict[str, NDArray[Any]]


class BadArraysError(Exception):
    """The folder is missing, damaged, or not one of ours."""


def repeated(value: Any, rows: int) -> NDArray[Any]:
    """A column of one value, which takes the room of one row, in memory and in a file."""
    return np.broadcast_to(value, (rows,))


class ArraysWriter:
    """Writes arrays into a folder, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table: dict[str, tuple[str, int | None]] = {}  # name → file, rows of one value

    def add(self, name: str, array: NDArray[Any]) -> None:
        one_value = array.ndim == 1 and array.strides == (0,) and len(array) > 1
        np.save(self.folder / f"{name}.npy", array[:1] if one_value else array)
        self.table[name] = name, len(array) if one_value else None

    def add_pieces(
        self, name: str, kind: type[np.generic], rows: int, pieces: Iterable[NDArray[Any]]
    ) -> None:
        """A column that never is in memory as a whole. rows: of all pieces together."""
        dtype = np.dtype(kind)
        with (self.folder / f"{name}.npy").open("wb") as stream:
            header = {"descr": dtype.str, "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_1_0(stream, header)
            for piece in pieces:
                np.ascontiguousarray(piece, dtype).tofile(stream)
        self.table[name] = name, None

    def again(self, name: str, other: str) -> None:
        """The same array under another name."""
        self.table[name] = self.table[other]


@contextmanager
def writing(folder: Path, note: Mapping[str, Any]) -> Iterator[ArraysWriter]:
    """What writes the folder, whole or not at all. note: JSON, written at the end. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}-{get_ident()}.tmp")
    temporary.mkdir()
    try:
        writer = ArraysWriter(temporary)
        yield writer
        (temporary / NOTE).write_text(json.dumps({"note": note, "arrays": writer.table}), encoding="utf-8")
        _move(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _move(temporary: Path, folder: Path) -> None:
    try:
        temporary.rename(folder)
    except OSError:  # it is there already: from another process, or damaged
        replaced = temporary / "replaced"
        folder.rename(replaced)
        if replaced.is_dir():
            shutil.rmtree(replaced)
        else:
            replaced.unlink()
        temporary.rename(folder)


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]], note: Mapping[str, Any]) -> None:
    """Write the folder, whole or not at all; an array with two names is written once. Raises OSError."""
    with writing(folder, note) as writer:
        written: dict[int, str] = {}
        for name, array in arrays.items():
            if id(array) in written:
                writer.again(name, written[id(array)])
            else:
                writer.add(name, array)
                written[id(array)] = name


def read_arrays(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays, memory-mapped and read-only, and the note. Raises BadArraysError."""
    opened: Arrays = {}
    arrays: Arrays = {}
    try:
        document = json.loads((folder / NOTE).read_bytes())
        for name, (file, rows) in document["arrays"].items():
            if file not in opened:
                opened[file] = np.asarray(np.load(folder / f"{file}.npy", mmap_mode="r"))
            arrays[name] = opened[file] if rows is None else repeated(opened[file][0], rows)
        return arrays, dict(document["note"])
    except (OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise BadArraysError(f"{folder}: {error}") from error


def stamp_of(path: Path) -> list[int]:
    """What the file system says of a file; every write changes one of these. Raises OSError."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def known_sha256(path: Path, folder: Path) -> str:
    """SHA-256 of a file's bytes, from the note in `folder` where the file's stamp is still the same.

    Otherwise the file is read, and the note written for the next time.
    """
    name = str(path.resolve())
    key = zlib.crc32(name.encode("utf-8", "surrogateescape"))
    before = stamp_of(path)
    note_path = folder / f"{key:08x}-{before[0]}.json"
    try:
        note = json.loads(note_path.read_bytes())
        if note["path"] == name and note["stamp"] == before:
            return str(note["sha256"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    sha256 = sha256_of(path)
    if stamp_of(path) == before:
        with suppress(OSError):  # it only saves time
            folder.mkdir(parents=True, exist_ok=True)
            note = {"path": name, "stamp": before, "sha256": sha256}
            write_atomically(note_path, [json.dumps(note).encode()])
    return sha256
