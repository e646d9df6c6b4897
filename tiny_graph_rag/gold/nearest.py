"""The names of a graph that are most like a name which it lacks.

A shortlist by shared byte trigrams over the whole column of names at once, then a comparison letter by
letter, Hangul taken apart, so that 점숭 is nearer to 점순 than to 점례.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.graph.tables import Entities
from tiny_graph_rag.language.folding import fold, nfd

SHORTLIST = 40  # names compared letter by letter: the trigrams' best
LEAST = 0.5  # likeness below which a name is no help
TRIGRAMS = 1 << 24
SEPARATORS = re.compile("[,/&+、，·]")  # what people write between names, besides the `;` that a table wants


@dataclass(frozen=True, slots=True)
class Near:
    """likeness: in (0, 1], twice the letters in common over all letters (Ratcliff/Obershelp)."""

    name: str
    entity: int
    likeness: float


def joined_names(name: str, nearest: Iterable[str]) -> list[str]:
    """The names that a missing name was put together of, such as "Anna, Ben"; empty where at most one of its
    parts is among the names `nearest` to it."""
    parts = [part.strip() for part in SEPARATORS.split(name)]
    return parts if len(set(parts) & set(nearest)) > 1 else []


@dataclass(frozen=True, slots=True, eq=False)
class NearestNames:
    """Build once a graph. spellings: names, then aliases; owners: the entity of each."""

    spellings: tuple[Strings, ...]
    owners: NDArray[np.int64]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, entities: Entities) -> NearestNames:
        aliases, rows = entities.aliases, np.arange(len(entities))
        owners = np.concatenate([rows, np.repeat(rows, np.diff(aliases.offsets))])
        return cls.of_spellings((entities.names, aliases.items), owners)

    @classmethod
    def of_spellings(cls, columns: tuple[Strings, ...], owners: NDArray[np.int64]) -> NearestNames:
        """Of spellings in one column after the other."""
        parts = [_trigrams(column) for column in columns]
        return cls(
            columns,
            owners,
            np.concatenate([codes for codes, _ in parts]),
            np.concatenate([counts for _, counts in parts]),
        )

    def of_all(self, names: Iterable[str], most: int = 3) -> dict[str, tuple[Near, ...]]:
        """Each name's nearest entities, at most `most`, best first; none below LEAST."""
        table = np.zeros(TRIGRAMS, dtype=bool)
        return {name: self._nearest(name, most, table) for name in dict.fromkeys(names)}

    def _nearest(self, name: str, most: int, table: NDArray[np.bool_]) -> tuple[Near, ...]:
        wanted, _ = _trigrams(Strings.of([name]))
        if not len(wanted) or not len(self.codes):
            return ()
        table[wanted] = True
        hits = np.concatenate([[0], np.cumsum(table[self.codes])])
        table[wanted] = False
        bounds = np.concatenate([[0], np.cumsum(self.counts)])
        shared = hits[bounds[1:]] - hits[bounds[:-1]]
        likeness = 2 * shared / (self.counts + len(wanted))
        rows = np.argsort(-likeness, kind="stable")[:SHORTLIST]
        letters = _letters(name)
        found: dict[int, Near] = {}
        for row in rows[shared[rows] > 0].tolist():
            spelling, entity = self._spelling(row), int(self.owners[row])
            ratio = SequenceMatcher(None, letters, _letters(spelling), autojunk=False).ratio()
            if ratio >= LEAST and (entity not in found or ratio > found[entity].likeness):
                found[entity] = Near(spelling, entity, ratio)
        best: Sequence[Near] = sorted(
            found.values(), key=lambda item: (-item.likeness, item.name, item.entity)
        )
        return tuple(best[:most])

    def _spelling(self, row: int) -> str:
        for column in self.spellings:
            if row < len(column):
                return str(column[row])
            row -= len(column)
        raise IndexError(row)


def _letters(name: str) -> str:
    return nfd(fold(name))


def _trigrams(column: Strings) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Codes of all byte trigrams row by row, capitals of ASCII made small, and how many each row has."""
    data = column.data.astype(np.int32)
    data = np.where((data >= ord("A")) & (data <= ord("Z")), data + 32, data)
    counts = np.maximum(np.diff(column.offsets) - 2, 0)
    if len(data) < 3:
        return np.zeros(0, dtype=np.int32), counts
    codes = (data[:-2] << 16) | (data[1:-1] << 8) | data[2:]
    starts = np.repeat(column.offsets[:-1] - np.cumsum(counts) + counts, counts)
    return codes[starts + np.arange(len(starts))].astype(np.int32), counts


LIKE_ENOUGH = 0.7  # likeness below which a guess would only cost the reader's time
FIELDS = ("reference_entities", "highly_relevant_entities")
NOTE = "suggested_renames"


def proposed_lines(lines: Iterable[str], proposals: dict[str, Near]) -> Iterator[bytes]:
    """The gold set line by line, with the proposals in place and noted under `suggested_renames`.

    A line without proposals, or one that is not sound, stays byte for byte as it is.
    """
    for line in lines:
        if line.strip():
            yield (_proposed(line, proposals) + "\n").encode()


def _proposed(line: str, proposals: dict[str, Near]) -> str:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(row, dict):
        return line
    made: dict[str, dict[str, object]] = {}
    for field in FIELDS:
        listed = row.get(field)
        if not isinstance(listed, list):
            continue
        for place, name in enumerate(listed):
            if isinstance(name, str) and name in proposals:
                near = proposals[name]
                listed[place] = near.name
                made[name] = {"to": near.name, "likeness": round(near.likeness, 3)}
    if not made:
        return line
    row[NOTE] = made
    return json.dumps(row, ensure_ascii=False)
