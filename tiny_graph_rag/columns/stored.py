"""Records of arrays, kept in a folder: each array is a `.npy` file that is opened memory-mapped, and what
else a record holds is one JSON file, in which an array is the name of its file.

A folder is written under another name and moved into place whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from tokenize import TokenError
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr
from tiny_graph_rag.outputs import remove_leftovers

RECORD = "record.json"
T = TypeVar("T")


class BadRecordError(Exception):
    """The folder is missing, damaged, or holds no record of this kind."""


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to write into, which becomes `folder` at the end, or nothing. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}-{get_ident()}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        try:
            temporary.rename(folder)
        except OSError:  # it is there already: from another process, or damaged
            folder.rename(temporary / "replaced")
            temporary.rename(folder)
            with suppress(NotADirectoryError):
                shutil.rmtree(folder / "replaced")
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_record(folder: Path, record: Any) -> None:
    """Write a record's files. record: anything that msgspec writes as JSON, with arrays in it.

    An array that is a memory-mapped file of the folder stays that file, one that stands in two places is one
    file, and a column of one value takes the room of a row. Raises OSError, and ValueError for text that is
    no Unicode.
    """
    files: dict[int, str] = {}

    def file_of(array: NDArray[Any]) -> str | tuple[str, int]:
        is_one_value = array.strides == (0,) and len(array) > 1
        name = files.setdefault(id(array), str(len(files)))
        if isinstance(array, np.memmap) and array.filename and Path(array.filename).parent == folder:
            return Path(array.filename).stem
        np.save(folder / f"{name}.npy", array[:1] if is_one_value else array)
        return (name, len(array)) if is_one_value else name

    document = msgspec.json.encode(record, enc_hook=file_of)
    (folder / RECORD).write_bytes(document)


# What numpy and msgspec raise of damaged bytes: numpy parses the head of an array as Python.
DAMAGED = (
    *(OSError, EOFError, ValueError, TypeError, IndexError, OverflowError),
    *(SyntaxError, TokenError, msgspec.MsgspecError),
)


def read_record(folder: Path, kind: type[T]) -> T:
    """The record; its arrays are memory-mapped and read-only. Raises BadRecordError."""
    opened: dict[str, NDArray[Any]] = {}

    def array_of(_: type, written: str | list[Any]) -> NDArray[Any]:
        name, rows = (written, None) if isinstance(written, str) else written
        if name not in opened:
            opened[name] = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
        return opened[name] if rows is None else np.broadcast_to(opened[name][0], (rows,))

    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=kind, dec_hook=array_of)
    except DAMAGED as error:
        raise BadRecordError(f"{folder}: {error}") from error


# What follows from a graph alone, such as an index of its names: made once, and of a cached graph kept.
Arrays = Mapping[str, NDArray[Any]]
Build = Callable[[], Arrays]


class Kept(Struct, frozen=True):
    """Arrays in a folder. code: digest of the module that built them."""

    code: str
    arrays: dict[str, NDArray[Any]]


class Derived(Struct):
    """home: the folder in which arrays are kept, a folder each; None: in memory alone."""

    home: Path | None = None
    arrays: dict[str, Arrays] = {}
    shared: dict[object, Any] = {}

    __repr__ = short_repr

    def get(self, name: str, build: Build) -> Arrays:
        if name not in self.arrays:
            self.arrays[name] = build() if self.home is None else _kept(self.home / name, build)
        return self.arrays[name]


def _kept(folder: Path, build: Build) -> Arrays:
    """The arrays in a folder; built where it has none, or those of other code."""
    module = sys.modules.get(getattr(build, "__module__", ""))
    source = Path(getattr(module, "__file__", None) or "")
    code = hashlib.sha256(source.read_bytes() if source.is_file() else b"").hexdigest()
    with suppress(BadRecordError):
        kept = read_record(folder, Kept)
        if kept.code == code:
            return kept.arrays
    built = dict(build())
    with suppress(OSError, BadRecordError):
        with new_folder(folder) as new:
            write_record(new, Kept(code, built))
        return read_record(folder, Kept).arrays
    return built
