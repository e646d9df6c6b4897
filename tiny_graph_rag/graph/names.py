"""Names and aliases → entities: a dictionary of folded spellings, for gold sets and for linking.

It is a table of keys (columns/arrays.py), so that one of a million names is built in seconds, is the same in
a file as in memory, and is asked without being read. Equal keys are candidates; whoever asks compares the
spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import KeyTable, key_of, keys_of
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import Text, fold, folded_letters, nfc, spaced, without_accents
from tiny_graph_rag.language.function_words import HONORIFICS
from tiny_graph_rag.language.kinds import Kind, kinds_of_entities

# A name → the entities it means and the level that found them.
Meanings = dict[str, tuple[tuple[int, ...], str | None]]

NAME, ALIAS, VARIANT = 0, 1, 2  # kinds of spelling, best first

CHUNK = 1 << 14  # names folded at once
MOST_SLOT_BITS = 26  # log2; from 16 million spellings on several share a slot
BEGINNING = 6  # characters; of spellings with the same beginning the longest one's length is kept
MOST_BEGINNINGS = 1 << 20
MOST_BEGINNINGS_KNOWN = 1 << 15  # of texts, before they are forgotten
LONGEST = np.iinfo(np.uint16).max
AND = re.compile(r"\band\b", re.IGNORECASE)
ARTICLE = re.compile(r"(?:[Tt]he|[Aa]n?)\s+(?=[A-Z]\w)")  # of a name: `the Nautilus` may lack it


class NameIndex:
    """The spellings of a graph. A spelling is a row: the entities' names first, then `others`.

    columns: as files keep them. others, owners, kinds: the aliases, and spellings that nobody wrote down; the
    entity each belongs to; ALIAS or VARIANT (Watson for Dr. Watson, `and` for `&`). table: finds rows, by
    folded spellings without accents.
    """

    def __init__(self, names: Strings, columns: Mapping[str, NDArray[Any]]) -> None:
        self.names, self.columns, self.others = names, columns, Strings.kept(columns, "others")
        self.owners, self.kinds = columns["owners"], columns["kinds"]
        self.table = SpellingTable(columns)

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> NameIndex:
        """Built once a graph; of a cached graph it lies memory-mapped next to the graph's columns."""
        return cls(graph.entities.names, graph.derived("names", lambda: _columns(graph)))

    def spelling(self, row: int) -> str:
        text: str = self.names[row] if row < len(self.names) else self.others[row - len(self.names)]
        return text

    def entity(self, row: int) -> int:
        return row if row < len(self.names) else int(self.owners[row - len(self.names)])

    def kind(self, row: int) -> int:
        return NAME if row < len(self.names) else int(self.kinds[row - len(self.names)])

    def rows_of(self, folded: str) -> list[int]:
        """Spellings that may be this one, accents aside: with its key."""
        return self.table.rows_of(key_of(without_accents(folded))) if folded else []

    def resolve(self, name: str) -> tuple[tuple[int, ...], str | None]:
        """All entities that `name` means, ascending, and the rule that found them.

        By exact name ("name"), else exact alias ("alias"), else folded name or alias ("folded"); the first
        level that finds anything decides. Nothing found: ((), None).
        """
        folded = fold(name)
        rows = self.rows_of(folded)
        if len(rows) == 1 and rows[0] < len(self.names) and self.spelling(rows[0]) == name:
            return (rows[0],), "name"  # what nearly all names are
        written = nfc(name)
        candidates = [
            (kind, spelling, self.entity(row))
            for row in rows
            if (kind := self.kind(row)) <= ALIAS and fold(spelling := self.spelling(row)) == folded
        ]
        exact = [(kind, entity) for kind, spelling, entity in candidates if nfc(spelling) == written]
        for level, entities in (
            ("name", [entity for kind, entity in exact if kind == NAME]),
            ("alias", [entity for _, entity in exact]),
            ("folded", [entity for _, _, entity in candidates]),
        ):
            if entities:
                return tuple(sorted(set(entities))), level
        return (), None

    def resolve_reference(self, name: str) -> tuple[tuple[int, ...], str | None]:
        """`resolve`; where that finds nothing, the one entity whose name is another form of it ("form"): the
        long or the short form, without article, title, `and` or accents. Of two entities neither."""
        entities, level = self.resolve(name)
        folded = fold(name)
        if entities or not folded:
            return entities, level
        plain = without_accents(folded)
        rows = self.rows_of(folded)
        forms = {self.entity(row) for row in rows if without_accents(fold(self.spelling(row))) == plain}
        if not forms:
            forms = {row for _, form in _variants(name, may_have_title=True) for row in self.resolve(form)[0]}
        if len(forms) != 1:
            return (), None
        from tiny_graph_rag.graph.name_forms import are_distinct  # few names need it

        one = forms.pop()
        return ((), None) if are_distinct(name, self.names[one]) else ((one,), "form")

    def resolve_references(self, names: Iterable[str]) -> Meanings:
        """`resolve_reference` for many names, each once."""
        return {name: self.resolve_reference(name) for name in dict.fromkeys(names)}

    def resolve_all(self, names: Iterable[str]) -> Meanings:
        """`resolve` for many names, each once."""
        return {name: self.resolve(name) for name in dict.fromkeys(names)}

    def meant_by(self, names: Iterable[str]) -> frozenset[int]:
        """Every entity that one of these names means."""
        return frozenset(entity for name in names for entity in self.resolve(name)[0])


def entities_returned(graph: KnowledgeGraph, names: NameIndex, id: str, name: str) -> tuple[int, ...]:
    """The entities that an item of a ranking means: by its id, else by its name, ascending; a text alone is a
    name, or else an id. Empty where the graph has neither."""
    rows = graph.row_of_id
    if id in rows:
        return (rows[id],)
    text = name or id
    entities, _ = names.resolve(text)
    return entities or ((rows[text],) if text in rows else ())


class SpellingTable(KeyTable):
    """The keys of folded spellings. reach: uint16, for the first characters of spellings the most that one
    has."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        super().__init__(columns)
        self.reach: Sequence[int] = columns["reach"].data
        self.mask = len(self.reach) - 1
        self.longest = lru_cache(MOST_BEGINNINGS_KNOWN)(self._longest_of)

    def _longest_of(self, beginning: str) -> int:
        """The most characters that a spelling has which begins like this, at least; it may have fewer."""
        return max(self.reach[key_of(beginning) & self.mask], BEGINNING - 1)


def _columns(graph: KnowledgeGraph) -> Mapping[str, NDArray[Any]]:
    """All that an index holds next to the graph's own columns, by name."""
    names, aliases = graph.entities.names, graph.entities.aliases
    is_person = kinds_of_entities(graph.entities.types) == Kind.PERSON
    variants: list[tuple[int, int, str]] = []
    for row, (name, may_have_title) in enumerate(zip(names, is_person.tolist(), strict=True)):
        is_plain = "and" not in name and {"&", "(", "[", "（"}.isdisjoint(name)
        if may_have_title or name[:1] in "TtAa" or not is_plain:
            variants += [(row, kind, text) for kind, text in _variants(name, may_have_title)]
    owners = np.repeat(np.arange(len(names), dtype=np.int32), np.diff(aliases.offsets))
    kinds = np.full(len(owners), ALIAS, dtype=np.uint8)
    short = [text for _, _, text in variants]
    others = Strings.of([*aliases.items, *short]) if variants else aliases.items
    return {
        **others.arrays("others"),
        "owners": np.concatenate([owners, np.array([row for row, _, _ in variants], dtype=np.int32)]),
        "kinds": np.concatenate([kinds, np.array([kind for _, kind, _ in variants], dtype=np.uint8)]),
        **_table(names, others),
    }


def _in_chunks(spellings: Strings) -> Iterator[tuple[list[str], list[str]]]:
    """Parts of a column: spellings, and each with spaces for all white space and punctuation, case and
    accents as they are."""
    rows = iter(spellings)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk, [spaced(name if name.isascii() else nfc(name)) for name in chunk]


def _folded(written: Iterable[str]) -> str:
    """Names with spaces for punctuation, folded in one go, a line each."""
    return nfc("\n".join(written).casefold())


def _joined(parts: Iterable[tuple[NDArray[Any], ...]]) -> list[NDArray[Any]]:
    """Columns of several parts, one after the other."""
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _table(names: Strings, others: Strings) -> dict[str, NDArray[Any]]:
    """The columns of a Table of spellings."""

    def spellings() -> Iterator[tuple[NDArray[Any], ...]]:
        for chunk, written in chain(_in_chunks(names), _in_chunks(others)):
            folded = _folded(written).replace(" ", "").split("\n")
            if "" in folded:  # punctuation alone, or nothing
                folded = [text or fold(name) for text, name in zip(folded, chunk, strict=True)]
            folded = list(map(without_accents, folded))
            lengths = np.fromiter(map(len, folded), dtype=np.int64, count=len(folded))
            beginnings = keys_of([text[:BEGINNING] for text in folded])
            yield keys_of(folded), np.minimum(lengths, LONGEST).astype(np.uint16), beginnings

    key, length, beginning = _joined(spellings())
    bits = min(max(len(key), 32).bit_length() + 2, MOST_SLOT_BITS)
    reach = np.zeros(min(1 << bits, MOST_BEGINNINGS), dtype=np.uint16)
    np.maximum.at(reach, beginning & np.uint32(len(reach) - 1), length)
    rows = np.flatnonzero(length).astype(np.int32)
    return {**KeyTable.columns(key[rows], rows, bits), "reach": reach}


def _variants(name: str, may_have_title: bool) -> Iterator[tuple[int, str]]:
    """Spellings of a name that people use and nobody wrote down, each with its kind."""
    if may_have_title:
        words = spaced(folded_letters(name)).split()
        if len(words) > 1 and words[0] in HONORIFICS:
            yield from _without_title(name, first=True)
        if len(words) > 1 and words[-1] in HONORIFICS:
            yield from _without_title(name, first=False)
    if "and" in name and "and" in spaced(folded_letters(name)).split()[1:-1]:
        yield VARIANT, AND.sub(" ", name)
    if "&" in name:
        yield VARIANT, name.replace("&", " and ")
    if name[:1] in "TtAa" and ARTICLE.match(name):
        yield VARIANT, ARTICLE.sub("", name)
    if "(" in name or "[" in name or "（" in name:
        from tiny_graph_rag.graph.name_forms import long_and_short  # few names need it

        yield from ((VARIANT, form) for form in long_and_short(name) or ())


def _without_title(name: str, *, first: bool) -> Iterator[tuple[int, str]]:
    text = Text.of(name)
    rest = text.whole[text.bounds(0)[1] :] if first else text.whole[: text.bounds(len(text.words) - 1)[0]]
    if len(fold(rest)) > 1:
        yield VARIANT, rest.strip(" .,")
