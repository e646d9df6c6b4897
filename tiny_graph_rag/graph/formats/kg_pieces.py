"""A large KG JSON file, some megabytes at a time.

The top level is found by one quick scan of the memory-mapped file. Each of its two parts is then cut where
one record seems to end and the next to begin, and a piece is decoded between brackets of its own. The
decoder is the judge of a cut: a piece that starts at a record and is balanced JSON ends with a whole
record, so that a cut inside a string or a nested object can't go unnoticed; the next place is tried.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
import numpy as np

from tiny_graph_rag.graph.formats.kg_records import Entity, Extras, Relation, Row, made

PIECE_BYTES = 1 << 23  # large enough that cutting costs nothing, small beside any graph that needs it
CUT_TRIES = 50  # wrong places in a row after which the file is no usual KG JSON
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Buffer = bytes | mmap.mmap
EntityPiece = tuple[list[str], list[Entity], Extras]
RelationPiece = tuple[list[Relation], Extras]
Decoded = TypeVar("Decoded")

_ENTITY_CUT = re.compile(rb'\}\s*,\s*(?="(?:[^"\\]|\\.)*"\s*:\s*\{)')
_RELATION_CUT = re.compile(rb"\}\s*,\s*(?=\{)")


class NotPlainError(Exception):
    """The file can't be read piece by piece; reading it with care tells why."""


class _Parts(msgspec.Struct):
    entities: msgspec.Raw
    relationships: msgspec.Raw


class Pieces:
    """The two parts of a file in memory or memory-mapped. Raises NotPlainError from anywhere."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        text: Buffer | memoryview = buffer
        if buffer[:3] == BYTE_ORDER_MARK:
            text = memoryview(buffer)[3:]
        try:
            parts = msgspec.json.decode(text, type=_Parts)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NotPlainError from error
        base = _address(buffer)
        self.entities_at = self._body(parts.entities, base, b"{")
        self.relations_at = self._body(parts.relationships, base, b"[")
        self._forget(len(buffer))

    def _body(self, part: msgspec.Raw, base: int, opening: bytes) -> tuple[int, int]:
        """Start and end of what stands between a part's brackets."""
        text = memoryview(part)
        if bytes(text[:1]) != opening:
            raise NotPlainError
        start = _address(text) - base
        return start + 1, start + len(text) - 1

    def entities(self) -> Iterator[EntityPiece]:
        return self._decoded(self.entities_at, _ENTITY_CUT, _entities, b"{", b"}")

    def relations(self) -> Iterator[RelationPiece]:
        return self._decoded(self.relations_at, _RELATION_CUT, _relations, b"[", b"]")

    def _decoded(
        self,
        part: tuple[int, int],
        cut: re.Pattern[bytes],
        decode: Callable[[bytes], Decoded],
        opening: bytes,
        closing: bytes,
    ) -> Iterator[Decoded]:
        at, end = part
        while end - at > 2 * PIECE_BYTES:
            for tried, place in enumerate(cut.finditer(self.buffer, at + PIECE_BYTES, end)):
                try:
                    piece = decode(opening + self.buffer[at : place.start() + 1] + closing)
                    break
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    if tried == CUT_TRIES:
                        raise NotPlainError from error
            else:
                break
            yield piece
            at = place.end()
            self._forget(at)
        try:
            last = decode(opening + self.buffer[at:end] + closing)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotPlainError from error
        yield last

    def _forget(self, end: int) -> None:
        """Give mapped pages back: read once, they'd only count as this process's memory."""
        if isinstance(self.buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.buffer.madvise(mmap.MADV_DONTNEED, 0, end)


def _address(buffer: Buffer | memoryview) -> int:
    address: int = np.frombuffer(buffer, dtype=np.uint8).ctypes.data
    return address


def _entities(piece: bytes) -> EntityPiece:
    try:
        rows = msgspec.json.decode(piece, type=dict[str, Entity])
    except msgspec.ValidationError:
        document = _document(piece)
        extras: Extras = {}
        return list(document), _all_made(Entity, list(document.values()), extras), extras
    if not all(row.name.strip() for row in rows.values()):
        raise NotPlainError
    return list(rows), list(rows.values()), {}


def _relations(piece: bytes) -> RelationPiece:
    try:
        return msgspec.json.decode(piece, type=list[Relation]), {}
    except msgspec.ValidationError:
        extras: Extras = {}
        return _all_made(Relation, _document(piece), extras), extras


def _document(piece: bytes):  # type: ignore[no-untyped-def]
    """The piece without a schema; unknown keys need it. msgspec.DecodeError where it is no whole piece."""
    msgspec.json.decode(piece)
    return json.loads(piece)


def _all_made(kind: type[Row], documents: list[object], extras: Extras) -> list[Row]:
    problems: list[str] = []
    rows = [made(kind, row, "", problems, extras, number) for number, row in enumerate(documents)]
    if problems:
        raise NotPlainError
    return [row for row in rows if row is not None]
