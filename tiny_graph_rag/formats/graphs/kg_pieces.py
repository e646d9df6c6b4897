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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeVar, get_type_hints

import msgspec
import numpy as np

from tiny_graph_rag.documents import parse_json
from tiny_graph_rag.errors import GraphError, Problems
from tiny_graph_rag.files import BYTE_ORDER_MARK
from tiny_graph_rag.graph.building import Entity, Extras, Relation, RepeatedIdError, Row, made

PIECE_BYTES = 1 << 18  # its records fit the processor's second cache: larger ones take twice the time
BLANKED_BYTES = 1 << 20
CUT_TRIES = 50  # wrong places in a row after which the file is no usual KG JSON

Buffer = bytes | bytearray | mmap.mmap
WritableBuffer = bytearray | mmap.mmap
EntityPiece = tuple[list[str], list[Entity], Extras]
RelationPiece = tuple[list[Relation], Extras]
Decoded = TypeVar("Decoded")

_ENTITY_CUT = re.compile(rb'\}\s*,\s*(?="(?:[^"\\]|\\.)*"\s*:\s*\{)')
_RELATION_CUT = re.compile(rb"\}\s*,\s*(?=\{)")


class _TopLevel(msgspec.Struct):
    entities: msgspec.Raw
    relationships: msgspec.Raw


def _struct(kind: type[Entity] | type[Relation]) -> type[Any]:
    """A record of the same fields that msgspec decodes quickest, and only where no unknown key stands."""
    hints = get_type_hints(kind)
    columns = [
        (field.name, hints[field.name])
        if field.default is MISSING
        else (field.name, hints[field.name], field.default)
        for field in fields(kind)
    ]
    return msgspec.defstruct(kind.__name__, columns, forbid_unknown_fields=True, gc=False)


_ENTITIES: msgspec.json.Decoder[dict[str, Entity]]
_ENTITIES = msgspec.json.Decoder(GenericAlias(dict, (str, _struct(Entity))))
_RELATIONS: msgspec.json.Decoder[list[Relation]]
_RELATIONS = msgspec.json.Decoder(GenericAlias(list, (_struct(Relation),)))


class NotPlainError(Exception):
    """The file can't be read piece by piece; a look at the whole of it tells why."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Start and end of what stands between the brackets of each part."""

    entities: tuple[int, int]
    relations: tuple[int, int]


def parts_of(buffer: Buffer) -> Parts:
    """Where a file's two parts lie. Raises NotPlainError, its cause the decoder's word on the file."""
    text: Buffer | memoryview = buffer
    if buffer[:3] == BYTE_ORDER_MARK:
        text = memoryview(buffer)[3:]
    try:
        found = msgspec.json.decode(text, type=_TopLevel)
        base = _address(buffer)
        parts = Parts(_body(found.entities, base, b"{"), _body(found.relationships, base, b"["))
        _check_once(buffer, parts)
        return parts
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotPlainError from error
    finally:
        forget(buffer, len(buffer))


def _check_once(buffer: Buffer, parts: Parts) -> None:
    """Raises NotPlainError where one of the two keys is given twice: the decoder takes the last silently."""
    (first, its_end), (second, last_end) = sorted((parts.entities, parts.relations))
    around = buffer[:first] + buffer[its_end:second] + buffer[last_end:]
    if around.count(b'"entities"') != 1 or around.count(b'"relationships"') != 1:
        twice: list[str] = []
        try:
            parse_json(bytes(around).decode("utf-8-sig"), twice=twice, halves=True)
        except ValueError as error:
            raise NotPlainError from error
        if twice:
            raise NotPlainError from RepeatedIdError(f"the key {twice[0]!r} is given twice")


def parts_beside_non_finite(buffer: WritableBuffer) -> Parts:
    """The same for a file with NaN or Infinity in it, which JSON lacks and the standard library reads.

    Overwrites them in the buffer with numbers of their length; where that hits a string, the places stay.
    """
    for start in range(0, len(buffer), BLANKED_BYTES):
        block = buffer[start : start + BLANKED_BYTES + len("Infinity") - 1]
        for sign, number in ((b"NaN", b"0.0"), (b"Infinity", b"1.000000")):
            place = block.find(sign)
            while place >= 0:
                buffer[start + place : start + place + len(sign)] = number
                place = block.find(sign, place + len(sign))
    return parts_of(buffer)


def _body(part: msgspec.Raw, base: int, opening: bytes) -> tuple[int, int]:
    text = memoryview(part)
    if bytes(text[:1]) != opening:
        raise NotPlainError
    start = _address(text) - base
    return start + 1, start + len(text) - 1


class RecordPieces:
    """The records of a file in memory or memory-mapped; raises NotPlainError from anywhere.

    problems: what is wrong with records so far. While there are some, pieces have rows left out.
    """

    def __init__(self, buffer: Buffer, parts: Parts, path: Path) -> None:
        self.buffer, self.parts, self.path = buffer, parts, path
        self.problems = Problems(GraphError)
        self._relations_before = 0

    def entities(self) -> Iterator[EntityPiece]:
        return self._decoded(self.parts.entities, _ENTITY_CUT, self._entities, b"{", b"}")

    def relations(self) -> Iterator[RelationPiece]:
        return self._decoded(self.parts.relations, _RELATION_CUT, self._relations, b"[", b"]")

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
                except (ValueError, RecursionError) as error:
                    if tried == CUT_TRIES:
                        raise NotPlainError from error
            else:
                break
            yield piece
            at = place.end()
            forget(self.buffer, at)
        try:
            last = decode(opening + self.buffer[at:end] + closing)
        except (ValueError, RecursionError) as error:
            raise NotPlainError from error
        yield last

    def _entities(self, piece: bytes) -> EntityPiece:
        try:
            rows = _ENTITIES.decode(piece)
            if piece.count(b'"name"') > len(rows):
                _check_ids(piece)
            if all(row.name.strip() for row in rows.values()):
                return list(rows), list(rows.values()), {}
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        documents: dict[str, object] = json.loads(piece)
        places = [f"entities[{entity_id!r}]" for entity_id in documents]
        made_rows, extras = self._made(Entity, list(documents.values()), places)
        return list(documents), made_rows, extras

    def _relations(self, piece: bytes) -> RelationPiece:
        first = self._relations_before
        try:
            rows, extras = _RELATIONS.decode(piece), Extras()
            self._relations_before += len(rows)
        except (msgspec.DecodeError, UnicodeDecodeError):
            documents: list[object] = json.loads(piece)
            self._relations_before += len(documents)
            places = [f"relationships[{number}]" for number in range(first, self._relations_before)]
            rows, extras = self._made(Relation, documents, places)
        return rows, extras

    def _made(
        self, kind: type[Row], documents: Sequence[object], places: Sequence[str]
    ) -> tuple[list[Row], Extras]:
        """Records that msgspec leaves to us: unknown keys, NaN, mistakes."""
        extras: Extras = {}
        rows = [
            made(kind, row, f"{self.path}: {place}", self.problems, extras, number)
            for number, (row, place) in enumerate(zip(documents, places, strict=True))
        ]
        return [row for row in rows if row is not None], extras


def _check_ids(piece: bytes) -> None:
    """Raises RepeatedIdError where an id is given twice in a piece: the decoder takes the last silently."""
    twice: list[str] = []
    parse_json(piece.decode(), twice=twice, halves=True)
    if twice:
        raise RepeatedIdError


def forget(buffer: Buffer, end: int) -> None:
    """Give mapped pages back: read once, they'd only count as this process's memory."""
    if isinstance(buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        buffer.madvise(mmap.MADV_DONTNEED, 0, end)


def _address(buffer: Buffer | memoryview) -> int:
    address: int = np.frombuffer(buffer, dtype=np.uint8).ctypes.data
    return address
