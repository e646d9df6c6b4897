"""Names and aliases → entities: one index for gold sets, for linking and for nothing else.

Every spelling's folded form becomes a 64-bit key; the keys lie sorted in one array beside the rows they came
from, so that an index of a million names is built in a second, lies in a file as it lies in memory, and is
asked for thousands of stretches of text at once. Equal keys are candidates; equal characters decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import counted
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.characters import (
    Keys,
    Places,
    among,
    characters,
    code_points,
    keys,
    keys_of,
    keys_of_rows,
    running,
)
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.language.function_words import HONORIFICS
from tiny_graph_rag.language.kinds import Kind, kinds_of_entities

MARKS_AT_ONCE = 1 << 24
FILTER_BITS = 4  # log2 of the filter's bits a key: 6 % of the stretches that are no name pass it

# A name → the entities it means and the level that found them.
Meanings = dict[str, tuple[tuple[int, ...], str | None]]

NAME, ALIAS, VARIANT = 0, 1, 2  # kinds of spelling, best first


@dataclass(frozen=True, slots=True, eq=False)
class NameIndex:
    """The spellings of a graph, by key. A spelling is a row: the entities' names first, then `others`.

    others, owners, kinds: the aliases, and variants that nobody wrote down (Watson for Dr. Watson, `and` for
    `&`); the entity each belongs to; ALIAS or VARIANT. keys: uint64, ascending, and rows: int32, the spelling
    of each. lengths: the different lengths of folded spellings, ascending. filter: bits, one set for the
    first digits of each key. words, counts: keys of the words that at least two names hold, ascending, and in
    how many places. function_words: keys of those that title-case names write in lower case.
    """

    names: Strings
    others: Strings
    owners: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    keys: Keys
    rows: NDArray[np.int32]
    lengths: NDArray[np.int32]
    filter: NDArray[np.uint8]
    words: Keys
    counts: NDArray[np.int32]
    function_words: Keys

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> NameIndex:
        """Built once a graph; of a cached graph it lies memory-mapped beside the graph's columns."""
        kept = dict(graph.derived("names", lambda: _columns(cls._built(graph))))
        others = Strings(kept.pop("others.data"), kept.pop("others.offsets"))
        return cls(graph.entities.names, others, **kept)

    @classmethod
    def _built(cls, graph: KnowledgeGraph) -> NameIndex:
        from tiny_graph_rag.graph.spellings import Spellings

        names, aliases = graph.entities.names, graph.entities.aliases
        spellings = Spellings(keys_of(HONORIFICS), kinds_of_entities(graph.entities.types) == Kind.PERSON)
        spellings.add(names, are_names=True)
        owners = np.repeat(np.arange(len(names), dtype=np.int32), np.diff(aliases.offsets))
        others, kinds = aliases.items, np.full(len(owners), ALIAS, dtype=np.uint8)
        spellings.add(others)
        if spellings.variants:
            short = Strings.of(text for _, text in spellings.variants)
            spellings.add(short)
            others = Strings.of([*others, *short])
            owners = np.concatenate(
                [owners, np.array([row for row, _ in spellings.variants], dtype=np.int32)]
            )
            kinds = np.concatenate([kinds, np.full(len(short), VARIANT, dtype=np.uint8)])
        words, counts = spellings.word_counts()
        words, counts, function_words = words[counts > 1], counts[counts > 1], spellings.function_words()
        key, length = np.concatenate(spellings.keys), np.concatenate(spellings.lengths)
        del spellings  # of a large graph as much as all that follows
        order = np.argsort(key, kind="stable").astype(np.int32)
        order = order[length[order] > 0]
        key = key[order]
        return cls(
            names,
            others,
            owners,
            kinds,
            key,
            order,
            counted(length[length > 0])[0].astype(np.int32),
            _filter(key),
            words,
            counts,
            function_words,
        )

    def spelling(self, row: int) -> str:
        text: str = self.names[row] if row < len(self.names) else self.others[row - len(self.names)]
        return text

    def entity(self, row: int) -> int:
        return row if row < len(self.names) else int(self.owners[row - len(self.names)])

    def kind(self, row: int) -> int:
        return NAME if row < len(self.names) else int(self.kinds[row - len(self.names)])

    def may_hold(self, wanted: Keys) -> NDArray[np.bool_]:
        """False where no spelling has the key; True where one may."""
        slot = wanted >> np.uint64(64 - _slots(len(self.filter)))
        bit = self.filter[slot >> np.uint64(3)] >> (slot & np.uint64(7)).astype(np.uint8)
        passes: NDArray[np.bool_] = (bit & np.uint8(1)) > 0
        return passes

    def find(self, wanted: Keys) -> tuple[Places, Places]:
        """For each key the bounds, in `rows`, of the spellings that have it."""
        return np.searchsorted(self.keys, wanted), np.searchsorted(self.keys, wanted, side="right")

    def count_of(self, words: Keys) -> NDArray[np.int32]:
        """In how many places of names each word stands; 1 for a word that stands in one or none."""
        counts = np.ones(len(words), dtype=np.int32)
        known = among(words, self.words)
        counts[known] = self.counts[np.searchsorted(self.words, words[known])]
        return counts

    def resolve(self, name: str) -> tuple[tuple[int, ...], str | None]:
        """All entities that `name` means, ascending, and the rule that found them.

        By exact name ("name"), else exact alias ("alias"), else folded name or alias ("folded"); the first
        level that finds anything decides. Nothing found: ((), None).
        """
        codes = code_points([fold(name)])
        whole = np.zeros(1, dtype=np.int64)
        first, last = self.find(keys(running(codes), whole, whole + len(codes)))
        return self._level(name, self.rows[first[0] : last[0]].tolist() if len(codes) else [])

    def resolve_all(self, names: Iterable[str]) -> Meanings:
        """`resolve` for many names at once: the same answers, a hundred times as fast."""
        wanted = list(dict.fromkeys(names))
        bounds, key = keys_of_rows(characters(wanted), len(wanted))
        first, last = self.find(key)
        return {
            name: self._level(name, self.rows[low:high].tolist() if length else [])
            for name, low, high, length in zip(
                wanted, first.tolist(), last.tolist(), np.diff(bounds).tolist(), strict=True
            )
        }

    def _level(self, name: str, rows: Sequence[int]) -> tuple[tuple[int, ...], str | None]:
        if len(rows) == 1 and rows[0] < len(self.names) and self.spelling(rows[0]) == name:
            return (rows[0],), "name"  # what nearly all names are
        folded, written = fold(name), nfc(name)
        candidates = [(self.kind(row), self.spelling(row), self.entity(row)) for row in rows]
        candidates = [each for each in candidates if each[0] != VARIANT and fold(each[1]) == folded]
        exact = [each for each in candidates if nfc(each[1]) == written]
        for level, found in (
            ("name", [entity for kind, _, entity in exact if kind == NAME]),
            ("alias", [entity for _, _, entity in exact]),
            ("folded", [entity for _, _, entity in candidates]),
        ):
            if found:
                return tuple(sorted(set(found))), level
        return (), None


def _columns(index: NameIndex) -> dict[str, NDArray[Any]]:
    """What an index holds beside the graph's own columns, by name."""
    columns = {each.name: getattr(index, each.name) for each in fields(index)[2:]}
    return {"others.data": index.others.data, "others.offsets": index.others.offsets, **columns}


def _slots(filter_bytes: int) -> int:
    return int(filter_bytes).bit_length() + 2


def _filter(key: Keys) -> NDArray[np.uint8]:
    """key: ascending. Of a large graph the marks are made a part at a time: a byte each, they are 8 times as
    long as the filter."""
    bits = max(len(key), 64).bit_length() + FILTER_BITS
    size, shift, parts = min(1 << bits, MARKS_AT_ONCE), 64 - bits, []
    for first in range(0, 1 << bits, size):
        last = first + size - 1
        low = np.searchsorted(key, np.uint64(first << shift))
        high = np.searchsorted(key, np.uint64((last << shift) + (1 << shift) - 1), side="right")
        marks = np.zeros(size, dtype=bool)
        marks[(key[low:high] >> np.uint64(shift)) - np.uint64(first)] = True
        parts.append(np.packbits(marks, bitorder="little"))
    return np.concatenate(parts)
