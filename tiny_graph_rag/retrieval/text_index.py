"""Which entities a word speaks for, in bits: BM25F over what the graph says of each entity.

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
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import counted, expanded
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.columns.sums import Sums
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import without_accents
from tiny_graph_rag.language.words import (
    POSSESSIVE,
    WORD,
    folded_word,
    is_function_word,
    is_question_word,
    keys,
    words_of_name,
)
from tiny_graph_rag.linking.mentions import MentionFinder

K1, B = 0.9, 0.4  # Anserini's: lengths count less, for who has many relations has more to be told
# Weights of the fields, multiples of a half, so that sums are the same in any order. Equal ones did best over
# our sets: own texts at two gain where they are all there is and lose where names are.
OWN, TOLD, KIND, NEAR = 1.0, 1.0, 1.0, 1.0
TEXTS_READ = 200_000  # names and descriptions; an index over more would cost more memory than the graph
KEYWORDS = "keywords"  # a detail of relations that says what they are about
LONGEST_NAME = 10  # stems; what is longer is a sentence
MOST_BEARERS = 10  # of one name; more of them are no one thing
JOINED_FROM = 400  # thousandths of the longer name's bits that two nearly equal names share
TEXTS_AT_ONCE = 1 << 12  # searched for names together: it bounds the memory
KEPT_ROWS = 1 << 21  # of the words asked for, before they are forgotten
MILLI = 1000

Counts = NDArray[np.int64]


def content_stem(written: str) -> str | None:
    """What a word of a text is indexed under, accents folded; None for words that hold sentences together."""
    word = POSSESSIVE.sub("", folded_word(written))
    if is_function_word(word) or is_question_word(word):
        return None
    word = without_accents(word)
    return None if is_function_word(word) else keys(word)[-1]


def content_stems(text: str) -> list[str]:
    """Of the words of a text, in order, those of content."""
    return [stem for word in WORD.findall(text) if (stem := content_stem(word)) is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Where stems stand: from offsets[i] to offsets[i + 1] the rows of stem i, each once, and how often."""

    offsets: NDArray[np.unsignedinteger[Any]]
    rows: NDArray[np.unsignedinteger[Any]]
    counts: NDArray[np.unsignedinteger[Any]]

    def of(self, stem: int) -> tuple[NDArray[np.int32], Counts]:
        place = slice(int(self.offsets[stem]), int(self.offsets[stem + 1]))
        return self.rows[place].astype(np.int32), self.counts[place].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Bits:
    """entities: each once, which something speaks for (of a word: ascending); bits: int64, in thousandths."""

    entities: NDArray[np.signedinteger[Any]]
    bits: Counts

    def of(self, entity: int) -> int:
        return int(self.bits[self.entities == entity].sum())

    @property
    def most(self) -> int:
        return int(self.bits.max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class Joins:
    """Entities that belong together without a relation: indptr[i] to indptr[i + 1] those beside entity i.

    Their names are nearly one (weight: how much of the longer name's bits is the shorter one's, in
    thousandths), or one's description names the other (1000, as much as a relation).
    """

    indptr: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.uint16]


NO_ROWS = np.zeros(0, dtype=np.int32)
NOTHING = Bits(NO_ROWS, np.zeros(0, dtype=np.int64))


class TextIndex:
    """Made once a graph; of a cached graph its columns lie memory-mapped beside the graph's."""

    def __init__(self, graph: KnowledgeGraph, *, every_text: bool = False) -> None:
        """every_text: also so many that only who asks for them should pay; else it holds none of them."""
        self.graph = graph
        told = int(np.count_nonzero(np.diff(graph.relations.descriptions.offsets)))
        read = every_text or len(graph) + told <= TEXTS_READ
        kept = graph.derived("texts" if read else "no-texts", lambda: _columns(graph, read=read))
        self.stems = Strings(kept["stems.data"], kept["stems.offsets"])
        self.own, self.told, self.named, of_types = (
            Postings(kept[f"{name}.offsets"], kept[f"{name}.rows"], kept[f"{name}.counts"])
            for name in ("own", "told", "named", "types")
        )
        self._of_types = of_types if read else None
        self.joins = Joins(kept["joins.indptr"], kept["joins.neighbours"], kept["joins.weights"])
        lengths = kept["lengths"].astype(np.float64)
        average = float(lengths.sum()) / max(1, int(np.count_nonzero(lengths)))
        self._norm = 1 - B + B * lengths / (average or 1.0)
        self._sums = Sums(len(graph))
        self._known: dict[str, Bits] = {}
        self._halved: dict[str, Bits] = {}
        self._numbers: dict[str, int | None] = {}
        self._kept_rows = 0

    def __bool__(self) -> bool:
        return len(self.stems) > 0

    def number(self, stem: str) -> int | None:
        if stem not in self._numbers:
            row = bisect_left(self.stems, stem)
            self._numbers[stem] = row if row < len(self.stems) and self.stems[row] == stem else None
        return self._numbers[stem]

    def bits(self, stem: str) -> Bits:
        """idf × saturated frequency, idf in bits (log2). Source: Robertson & Zaragoza, BM25F (2009)."""
        found = self._known.get(stem)
        if found is None:
            found = self._bits(stem)
            if self._kept_rows > KEPT_ROWS:
                self._known, self._halved, self._numbers, self._kept_rows = {}, {}, {}, 0
            self._known[stem] = found
            self._kept_rows += len(found.entities)
        return found

    def halved(self, stem: str) -> Bits:
        """Half of `bits`, each rounded down."""
        found = self._halved.get(stem)
        if found is None:
            whole = self.bits(stem)
            found = self._halved[stem] = Bits(whole.entities, whole.bits // 2)
            self._kept_rows += len(found.entities)
        return found

    def rarity(self, bearers: int) -> float:
        """idf of what so many entities bear, in bits."""
        return math.log2(1 + (len(self.graph) - bearers + 0.5) / (bearers + 0.5))

    def relations(self, stem: str) -> NDArray[np.int32]:
        """Rows of the relations whose description holds the stem."""
        number = self.number(stem)
        return self.told.of(number)[0] if number is not None else NO_ROWS

    def types(self, stem: str) -> NDArray[np.int32]:
        """Relation types whose name holds the stem."""
        if self._of_types is None:
            return self._types.get(stem, NO_ROWS)
        number = self.number(stem)
        return self._of_types.of(number)[0] if number is not None else NO_ROWS

    def _bits(self, stem: str) -> Bits:
        entities, halves = self._sums.of(list(self._fields(stem)))
        often = halves / 2 / self._norm[entities]
        impact = self.rarity(len(entities)) * (K1 + 1) * often / (K1 + often)
        return Bits(entities.astype(np.int32), np.rint(impact * MILLI).astype(np.int64))

    def _fields(self, stem: str) -> Iterator[tuple[NDArray[np.int32], Counts]]:
        """Entities, some of them more than once, and weighted counts in halves, field by field."""
        relations, adjacency = self.graph.relations, self.graph.adjacency
        ends = relations.sources, relations.targets
        number = self.number(stem)
        if number is not None:
            rows, counts = self.own.of(number)
            if len(rows):
                yield rows, counts * int(2 * OWN)
            told, counts = self.told.of(number)
            if len(told):
                yield from ((each[told], counts * int(2 * TOLD)) for each in ends)
            rows, counts = self.named.of(number)
            if len(rows):
                first = adjacency.indptr[rows]
                owner, slots = expanded(first, adjacency.indptr[rows + 1] - first)
                yield adjacency.neighbours[slots], counts[owner] * int(2 * NEAR)
        types = self.types(stem)
        if len(types):
            order, starts = self._by_type
            _, places = expanded(starts[types], starts[types + 1] - starts[types])
            bearers = order[places]
            weights = np.full(len(bearers), int(2 * KIND))
            yield from ((each[bearers], weights) for each in ends)

    @cached_property
    def _types(self) -> dict[str, NDArray[np.int32]]:
        found: dict[str, list[int]] = {}
        for type_, name in enumerate(self.graph.relations.types.names):
            for stem in set(content_stems(" ".join(words_of_name(name)))):
                found.setdefault(stem, []).append(type_)
        return {stem: np.array(types, dtype=np.int32) for stem, types in found.items()}

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
        return [number for word in WORD.findall(text) if (number := self._number(word)) >= 0]

    def _number(self, word: str) -> int:
        number = self._known.get(word)
        if number is None:
            stem = content_stem(word)
            number = -1 if stem is None else self.stems.setdefault(stem, len(self.stems))
            self._known[word] = number
        return number


def _columns(graph: KnowledgeGraph, *, read: bool) -> dict[str, NDArray[Any]]:
    known, relations = graph.entities, graph.relations
    numbers = _Numbers()
    said = _said_of_relations(graph) if read else {}
    told_rows = np.array(list(said), dtype=np.int64)
    names: list[list[int]] = []
    own: list[list[int]] = []
    kinds = [numbers.of(" ".join(words_of_name(name))) for name in known.types.names] if read else []
    codes = known.types.codes.tolist()
    for row in range(len(graph) if read else 0):
        names.append(numbers.of(known.names[row]))
        more = ". ".join((*known.aliases[row], known.descriptions[row]))
        own.append(names[-1] + kinds[codes[row]] + numbers.of(more))
    told = [numbers.of(text) for text in said.values()]
    words = [numbers.of(" ".join(words_of_name(name))) for name in relations.types.names] if read else []
    order = sorted(numbers.stems)
    place = np.zeros(len(order), dtype=np.int64)  # from the order of appearance to that of the stems
    for index, stem in enumerate(order):
        place[numbers.stems[stem]] = index
    stems = Strings.of(order)
    lengths = np.zeros(len(graph))
    if read:
        own_length, name_length = (np.array([len(each) for each in texts]) for texts in (own, names))
        per_relation = np.array([len(each) for each in words], dtype=np.int64)[relations.types.codes]
        per_relation[told_rows] += np.array([len(each) for each in told], dtype=np.int64)
        lengths += own_length
        for ends, others in ((relations.sources, relations.targets), (relations.targets, relations.sources)):
            lengths += np.bincount(ends, per_relation + name_length[others], len(graph))
    return {
        "stems.data": stems.data,
        "stems.offsets": stems.offsets.astype(np.int32),
        "lengths": narrow(lengths.astype(np.int64)),
        **_joins(names, _named_in(graph) if read else (), len(graph)),
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
    lengths = [len(each) for each in texts]
    stem = place[np.array([number for each in texts for number in each], dtype=np.int64)]
    row = np.repeat(np.asarray(rows, dtype=np.int64)[: len(lengths)], lengths)
    width = int(row.max(initial=0)) + 1
    pairs, counts = counted(stem * width + row)
    return {
        f"{name}.offsets": narrow(np.searchsorted(pairs // width, np.arange(len(place) + 1))),
        f"{name}.rows": narrow(pairs % width),
        f"{name}.counts": narrow(np.minimum(counts, np.iinfo(np.uint16).max)),
    }


def _named_in(graph: KnowledgeGraph) -> Iterator[tuple[int, int]]:
    """Pairs of entities, the lower row first, of which one's description names the other and few others."""
    descriptions = graph.entities.descriptions
    rows = np.flatnonzero(np.diff(descriptions.offsets)).tolist()
    if not rows:
        return
    finder = MentionFinder(graph, NameIndex.of(graph))
    for start in range(0, len(rows), TEXTS_AT_ONCE):
        part = rows[start : start + TEXTS_AT_ONCE]
        for row, mentions in zip(part, finder.find([descriptions[each] for each in part]), strict=True):
            for mention in mentions:
                if len(mention.entities) <= MOST_BEARERS:
                    yield from ((min(row, each), max(row, each)) for each in mention.entities if each != row)


def _joins(
    names: Sequence[Sequence[int]], named_in: Iterable[tuple[int, int]], entities: int
) -> dict[str, NDArray[Any]]:
    """Columns of Joins. Nearly one are `Tulsa` and `Tulsa, Oklahoma`: the shorter name's stems stand together
    in the longer one and hold a good part of its bits."""
    bearers: dict[tuple[int, ...], list[int]] = {}
    often: dict[int, int] = {}
    for row, stems in enumerate(names):
        if stems:
            bearers.setdefault(tuple(stems), []).append(row)
        for stem in set(stems):
            often[stem] = often.get(stem, 0) + 1
    bits = {stem: math.log2(1 + len(names) / count) for stem, count in often.items()}
    shares: dict[tuple[int, int], int] = dict.fromkeys(named_in, MILLI)
    for row, stems in enumerate(names):
        if not 0 < len(stems) <= LONGEST_NAME:
            continue
        whole = sum(bits[stem] for stem in stems)
        for start, end in combinations(range(len(stems) + 1), 2):
            part = tuple(stems[start:end])
            others = bearers.get(part, ())
            if not others or len(others) > MOST_BEARERS:
                continue
            share = round(MILLI * sum(bits[stem] for stem in part) / whole)
            if share >= JOINED_FROM:
                for other in others:
                    pair = (row, other) if row < other else (other, row)
                    if other != row:
                        shares[pair] = max(share, shares.get(pair, 0))
    pairs = np.array(sorted(shares), dtype=np.int64).reshape(-1, 2)
    weights = np.array([shares[one, other] for one, other in pairs.tolist()], dtype=np.int64)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return {
        "joins.indptr": np.searchsorted(ends[order, 0], np.arange(entities + 1)).astype(np.int32),
        "joins.neighbours": ends[order, 1].astype(np.int32),
        "joins.weights": np.concatenate([weights, weights])[order].astype(np.uint16),
    }
