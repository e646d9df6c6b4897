"""Telling without reading it whether a file is the one that was read before.

A stamp is what the file system says of a file. Every write through it changes one of the times, also where
a program puts the old modification time back (the change time can't be set). Only a write within the
clock's grain after another could pass unseen, so a stamp counts only once the file has been still for longer.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.outputs import write_atomically

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
