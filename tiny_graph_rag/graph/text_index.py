"""The texts of a graph's entities as an inverted index: BM25F scores of a word, in bits.

An entity's text has four fields: its own (name, aliases, type, description), what its relations'
descriptions tell, the words of their types, and its neighbours' names. Only own texts, names and relations'
descriptions are kept as postings; the rest follows from them by the graph. Words count by stem, function
words not at all.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import Summed, counted, expanded, summed
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import HAS_UNSPACED, folded_letters, without_accents
from tiny_graph_rag.language.words import (
    CACHED_WORDS,
    POSSESSIVE,
    is_dictionary_word,
    is_function_word,
    is_in_listed_language,
    is_question_word,
    text_key,
    words_in,
    words_of_name,
)

K1, B = 0.9, 0.4  # Anserini's: lengths count less, because an entity with many relations has more text
# All fields have one weight: own texts at two gain where they are all there is and lose where names are.
TEXTS_READ = 200_000  # names and descriptions; an index over more would cost more memory than the graph
KEYWORDS = "keywords"  # a detail of relations that says what they are about
BEGINNING = 5  # letters that the forms of a Latin word have in common
BEGUN = 3  # letters of a name that its forms keep, at least
LAST = "\U0010ffff"  # stands behind every letter
SAMPLE = 200  # types, and descriptions, that tell a graph's language
KEPT_ROWS = 1 << 21  # of the words asked for, before they are forgotten
MILLI = 1000

Counts = NDArray[np.int64]
Field = tuple[NDArray[np.int32], Counts]  # rows, and how often a stem stands in each


@lru_cache(CACHED_WORDS)
def content_stem(written: str) -> str | None:
    """What a word of a text is indexed under, accents folded; None for words that hold sentences together."""
    word = POSSESSIVE.sub("", folded_letters(written))
    if is_function_word(word) or is_question_word(word):
        return None
    word = without_accents(word)
    return None if is_function_word(word) else text_key(word)


def content_stems(text: str) -> list[str]:
    """Of the words of a text, in order, those of content."""
    return [stem for word in words_in(text) if (stem := content_stem(word)) is not None]


class Postings(Struct, frozen=True, eq=False):
    """Where stems stand: from offsets[i] to offsets[i + 1] the rows of stem i, each once, and how often."""

    offsets: NDArray[np.unsignedinteger[Any]]
    rows: NDArray[np.unsignedinteger[Any]]
    counts: NDArray[np.unsignedinteger[Any]]

    def of(self, stem: int) -> Field:
        place = slice(int(self.offsets[stem]), int(self.offsets[stem + 1]))
        return self.rows[place].astype(np.int32), self.counts[place].astype(np.int64)


class Bits(Struct, frozen=True, eq=False):
    """entities: each once, which something speaks for (of a word: ascending); bits: int64, in thousandths."""

    entities: NDArray[np.signedinteger[Any]]
    bits: Counts


NO_ROWS = np.zeros(0, dtype=np.int32)
NOWHERE = NO_ROWS, np.zeros(0, dtype=np.int64)


class TextIndex:
    """Made once a graph; of a cached graph its columns lie memory-mapped next to the graph's."""

    def __init__(self, graph: KnowledgeGraph, *, every_text: bool = False) -> None:
        """every_text: also so many that only who asks for them should pay; else it holds none of them."""
        self.graph = graph
        read = every_text or _are_few(graph)
        kept = graph.derived("texts" if read else "no-texts", lambda: _columns(graph, read=read))
        self.stems = Strings(kept["stems.data"], kept["stems.offsets"])
        self.own, self.told, self.named, self.of_types = (
            Postings(kept[f"{name}.offsets"], kept[f"{name}.rows"], kept[f"{name}.counts"])
            for name in ("own", "told", "named", "types")
        )
        self._norm: NDArray[np.float64] = np.broadcast_to(1 - B, len(graph))  # of texts without a word
        if read:
            lengths = kept["lengths"].astype(np.float64)
            average = float(lengths.sum()) / max(1, int(np.count_nonzero(lengths)))
            self._norm = 1 - B + B * lengths / (average or 1.0)
        self._known: dict[tuple[str, bool], Bits] = {}
        self._numbers: dict[str, range] = {}
        self._kept_rows = 0

    def numbers(self, stem: str) -> range:
        """Of the stems that count as this one: itself; of a Latin word that isn't English all that begin like
        it, in a graph whose language's endings we don't know."""
        if stem not in self._numbers:
            first = bisect_left(self.stems, stem)
            is_held = first < len(self.stems) and self.stems[first] == stem
            self._numbers[stem] = range(first, first + is_held)
            is_latin = stem.isascii() and stem.isalpha() and len(stem) >= BEGINNING
            if is_latin and not is_dictionary_word(stem) and self._is_inflected:
                start = stem[:BEGINNING]
                ends = (bisect_left(self.stems, text) for text in (start, start + LAST))
                self._numbers[stem] = range(*ends)
        return self._numbers[stem]

    @cached_property
    def _is_inflected(self) -> bool:
        """Whether the graph's first types and descriptions are neither in English nor in Korean."""
        known, relations = self.graph.entities, self.graph.relations
        types = islice(chain(known.types.names, relations.types.names), SAMPLE)
        described = islice(chain(known.descriptions, relations.descriptions), SAMPLE)
        spelled = (" ".join(words_of_name(name)) for name in types)
        return not is_in_listed_language(". ".join((*spelled, *described)))

    def bits(self, stem: str) -> Bits:
        """idf × saturated frequency, idf in bits (log2). Source: Robertson & Zaragoza, BM25F (2009)."""
        return self._scored(stem, own=False)

    def own_bits(self, stem: str) -> Bits:
        """The same, from an entity's own text and its relations' descriptions alone.

        Neither neighbours' names nor relation types count: paths lead to the first and are priced by the
        second.
        """
        return self._scored(stem, own=True)

    def total(self, scores: Iterable[Bits]) -> Summed:
        """The entities that something speaks for, and all that does."""
        return summed([(score.entities, score.bits) for score in scores], len(self.graph))

    def rarity(self, bearers: int) -> float:
        """idf of what so many entities have, in bits."""
        return math.log2(1 + (len(self.graph) - bearers + 0.5) / (bearers + 0.5))

    def holding(self, stem: str, postings: Postings) -> Field:
        """Rows that hold the stem in the texts of these postings, and how often."""
        fields = [postings.of(number) for number in self.numbers(stem)]
        if len(fields) < 2:
            return fields[0] if fields else NOWHERE
        rows, counts = summed(fields, max(len(self.graph), len(self.graph.relations)))
        return rows.astype(np.int32), counts

    def named_like(self, word: str, most: int) -> list[int]:
        """Rows of the entities whose name holds the word's stem, or in a script with spaces a word that
        begins like it: unless of more than `most`."""
        stem = content_stem(word)
        rows = [self.holding(stem, self.named)[0]] if stem is not None else []
        if HAS_UNSPACED.search(word) is None:
            begun = without_accents(folded_letters(word))[:BEGUN]
            stems = range(*(bisect_left(self.stems, text) for text in (begun, begun + LAST)))
            rows += [self.named.of(number)[0] for number in stems if len(stems) <= most]
        return sorted({entity for its in rows if len(its) <= most for entity in its.tolist()})

    def _scored(self, stem: str, *, own: bool) -> Bits:
        """Kept while there is room for it."""
        scores = self._known.get((stem, own))
        if scores is None:
            fields = self._own_fields(stem) if own else self._fields(stem)
            entities, counts = summed(list(fields), len(self.graph))
            often = counts / self._norm[entities]
            impact = self.rarity(len(entities)) * (K1 + 1) * often / (K1 + often)
            scores = Bits(entities.astype(np.int32), np.rint(impact * MILLI).astype(np.int64))
            if self._kept_rows > KEPT_ROWS:
                self._known, self._numbers, self._kept_rows = {}, {}, 0
            self._known[stem, own] = scores
            self._kept_rows += len(entities)
        return scores

    def _own_fields(self, stem: str) -> Iterator[Field]:
        """Entities, some of them more than once, and how often, field by field."""
        relations = self.graph.relations
        rows, counts = self.holding(stem, self.own)
        yield rows, counts
        told, counts = self.holding(stem, self.told)
        for ends in (relations.sources, relations.targets) if len(told) else ():
            yield ends[told], counts

    def _fields(self, stem: str) -> Iterator[Field]:
        """The own fields, then what stands around an entity: its neighbours' names, its relations' types."""
        relations, adjacency = self.graph.relations, self.graph.adjacency
        yield from self._own_fields(stem)
        rows, counts = self.holding(stem, self.named)
        if len(rows):
            first = adjacency.indptr[rows]
            owner, slots = expanded(first, adjacency.indptr[rows + 1] - first)
            yield adjacency.neighbours[slots], counts[owner]
        types, _ = self.holding(stem, self.of_types)
        if len(types):
            order, starts = self._by_type
            _, places = expanded(starts[types], starts[types + 1] - starts[types])
            described = order[places]
            weights = np.ones(len(described), dtype=np.int64)
            yield from ((ends[described], weights) for ends in (relations.sources, relations.targets))

    @cached_property
    def _by_type(self) -> tuple[Counts, Counts]:
        codes = self.graph.relations.types.codes
        order = np.argsort(codes, kind="stable")
        return order, np.searchsorted(codes[order], np.arange(len(self.graph.relations.types.names) + 1))


class _Numbers:
    """Gives each stem a number, each written word looked at once."""

    def __init__(self) -> None:
        self.stems: dict[str, int] = {}
        self._known: dict[str, int] = {}

    def of(self, text: str) -> list[int]:
        return [number for word in words_in(text) if (number := self._number(word)) >= 0]

    def _number(self, word: str) -> int:
        number = self._known.get(word)
        if number is None:
            stem = content_stem(word)
            number = -1 if stem is None else self.stems.setdefault(stem, len(self.stems))
            self._known[word] = number
        return number


def _are_few(graph: KnowledgeGraph) -> bool:
    """Whether its texts are read unasked. Relations are only counted where entities alone aren't too many."""
    if len(graph) > TEXTS_READ:
        return False
    return len(graph) + int(np.count_nonzero(np.diff(graph.relations.descriptions.offsets))) <= TEXTS_READ


def _columns(graph: KnowledgeGraph, *, read: bool) -> dict[str, NDArray[Any]]:
    known, relations = graph.entities, graph.relations
    numbers = _Numbers()
    said = _said_of_relations(graph) if read else {}
    told_rows = np.array(list(said), dtype=np.int64)
    names: list[list[int]] = []
    own: list[list[int]] = []
    kinds = [numbers.of(" ".join(words_of_name(name))) for name in known.types.names] if read else []
    codes = known.types.codes.tolist() if read else []
    for row in range(len(graph) if read else 0):
        names.append(numbers.of(known.names[row]))
        more = ". ".join((*known.aliases[row], known.descriptions[row]))
        own.append(names[-1] + kinds[codes[row]] + numbers.of(more))
    told = [numbers.of(text) for text in said.values()]
    words = [numbers.of(" ".join(words_of_name(name))) for name in relations.types.names]
    order = sorted(numbers.stems)
    place = np.argsort([numbers.stems[stem] for stem in order])  # from order of appearance to that of stems
    stems = Strings.of(order)
    lengths = np.zeros(len(graph))
    if read:
        own_length, name_length = (np.array([len(text_) for text_ in texts]) for texts in (own, names))
        per_relation = np.array([len(word) for word in words], dtype=np.int64)[relations.types.codes]
        per_relation[told_rows] += np.array([len(word_list) for word_list in told], dtype=np.int64)
        lengths += own_length
        for ends, others in ((relations.sources, relations.targets), (relations.targets, relations.sources)):
            lengths += np.bincount(ends, per_relation + name_length[others], len(graph))
    return {
        "stems.data": stems.data,
        "stems.offsets": stems.offsets.astype(np.int32),
        "lengths": narrow(lengths.astype(np.int64)),
        **_postings("own", own, range(len(own)), place),
        **_postings("told", told, told_rows, place),
        **_postings("named", names, range(len(names)), place),
        **_postings("types", words, range(len(words)), place),
    }


def narrow(values: NDArray[np.signedinteger[Any]]) -> NDArray[np.unsignedinteger[Any]]:
    """In the fewest bytes that hold them; values: from 0 to below 2^32."""
    most = int(values.max(initial=0))
    return values.astype(np.min_scalar_type(most))


def _said_of_relations(graph: KnowledgeGraph) -> dict[int, str]:
    """By row, ascending: the descriptions of relations and, as LightRAG keeps them, their `keywords`."""
    relations = graph.relations
    described = np.diff(relations.descriptions.offsets) > 0
    detailed = np.diff(relations.details.offsets) > 0
    said = {}
    for row in np.flatnonzero(described | detailed).tolist():
        details, keywords = relations.details[row], ""
        if f'"{KEYWORDS}"' in details:
            found = json.loads(details).get(KEYWORDS, "")
            keywords = " ".join(map(str, found)) if isinstance(found, list) else str(found)
        text = f"{relations.descriptions[row]} {keywords}".strip()
        if text:
            said[row] = text
    return said


def _postings(
    name: str, texts: Sequence[Sequence[int]], rows: Sequence[int] | Counts, place: Counts
) -> dict[str, NDArray[Any]]:
    """Columns of Postings. texts: numbers of stems; rows: of each text, ascending."""
    lengths = [len(text) for text in texts]
    stem = place[np.array([number for text in texts for number in text], dtype=np.int64)]
    row = np.repeat(np.asarray(rows, dtype=np.int64)[: len(lengths)], lengths)
    width = int(row.max(initial=0)) + 1
    pairs, counts = counted(stem * width + row)
    return {
        f"{name}.offsets": narrow(np.searchsorted(pairs // width, np.arange(len(place) + 1))),
        f"{name}.rows": narrow(pairs % width),
        f"{name}.counts": narrow(np.minimum(counts, np.iinfo(np.uint16).max)),
    }
