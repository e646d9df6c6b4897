"""From readings to mentions: the best evidence of each text, longest first, no two on the same place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import ALIAS, NAME, VARIANT, NameIndex
from tiny_graph_rag.language.characters import CASED, HANGUL
from tiny_graph_rag.language.folding import is_dropped, nfc
from tiny_graph_rag.language.kinds import Kind, kinds_of_entities, kinds_of_types
from tiny_graph_rag.language.particles import ParticleFit
from tiny_graph_rag.language.words import is_function_word, likeness, words_of_name
from tiny_graph_rag.linking.grades import COMMON, Grade, KnownWords, SpanEvidence, weigh
from tiny_graph_rag.linking.spans import Readings, Text, readings

# By kind: whether `the mill` may mean one of it where `Tom` stands beside it.
TANGIBLE = np.array([kind in (Kind.PERSON, Kind.PLACE, Kind.THING) for kind in Kind])


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text that names entities. start, end: its characters. entities: in the house order.

    rule: exact, folded, particle, misfit-particle, alias or variant. grade: how strong the evidence is.
    """

    start: int
    end: int
    entities: tuple[int, ...]
    rule: str
    grade: Grade


class MentionFinder:
    """Finds the names of a graph in texts."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        self._is_tangible = TANGIBLE[kinds_of_types(graph.entities.types.names)]
        self.known = KnownWords.of(names, [*graph.relations.types.names, *graph.entities.types.names])
        self._relation_words = [words_of_name(name) for name in graph.relations.types.names]

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """(entities,): only a question with turns before it asks for all of them."""
        return kinds_of_entities(self.graph.entities.types)

    def find(self, texts: Sequence[str]) -> list[tuple[Mention, ...]]:
        """The mentions of each text, in the order in which they stand there."""
        text = Text.of(texts)
        found = readings(text, self.names)
        evidence = weigh(text, found, self.names, self.known)
        mentions: list[list[Mention]] = [[] for _ in texts]
        meant = self._may_be_meant(found, evidence)
        rows = np.fromiter(_selected(text, found, evidence, meant), dtype=np.int64)
        starts = text.characters.starts[found.starts[rows]].tolist()
        ends = text.characters.ends[found.ends[rows] - 1].tolist()
        grades = [Grade(each) for each in evidence.grade[rows].tolist()]
        pairs = zip(found.pair_bounds[rows].tolist(), found.pair_bounds[rows + 1].tolist(), strict=True)
        for row, which, start, end, grade, (low, high) in zip(
            rows.tolist(), found.text[rows].tolist(), starts, ends, grades, pairs, strict=True
        ):
            spellings = found.spellings[low:high].tolist()
            if high - low > 1:
                spellings = self._meant(text, found, evidence, row, start, end)
            mentions[which].append(self._mention(text.texts[which], found, row, start, end, spellings, grade))
        return [tuple(each) for each in mentions]

    def _may_be_meant(self, found: Readings, evidence: SpanEvidence) -> NDArray[np.bool_]:
        """One content word in lower case beside better evidence: `the mill`, where the graph says that a mill
        is a thing, a place or a person, and the text speaks of it with a determiner."""
        rows = found.spellings[found.pair_bounds[:-1]]
        is_name = rows < len(self.names.names)
        entities = np.where(is_name, rows, 0)
        entities[~is_name] = self.names.owners[rows[~is_name] - len(self.names.names)]
        words: NDArray[np.bool_] = evidence.grade == Grade.WORD
        if not words.any():
            return words
        tangible: NDArray[np.bool_] = self._is_tangible[self.graph.entities.types.codes[entities]]
        return words & evidence.determined & tangible

    def _meant(
        self, text: Text, found: Readings, evidence: SpanEvidence, row: int, start: int, end: int
    ) -> list[int]:
        """Of several spellings that fold alike, those that the text means."""
        pairs = slice(int(found.pair_bounds[row]), int(found.pair_bounds[row + 1]))
        spellings, as_written = found.spellings[pairs].tolist(), found.as_written[pairs].tolist()
        whole, which = text.texts[found.text[row]], int(found.text[row])
        cased = (text.characters.flags[found.starts[row] : found.ends[row]] & CASED).any()
        if evidence.case_counts[which] or not cased:
            return self._as_written(whole, start, spellings, as_written, found.spelt)
        return self._in_any_case(whole, start, end, spellings, as_written, found.spelt)

    def _mention(
        self, whole: str, found: Readings, row: int, start: int, end: int, spellings: list[int], grade: Grade
    ) -> Mention:
        names, first = self.names, spellings[0]
        entities: tuple[int, ...] = (names.entity(first),)
        kind = names.kind(first)
        if len(spellings) > 1:
            rank = self.graph.name_rank
            entities = tuple(sorted({names.entity(each) for each in spellings}, key=rank.__getitem__))
            kind = min(names.kind(each) for each in spellings)
        written = found.spelt[first]
        if whole[start:end] != written and _stands_at(written, whole, start):
            start -= _lead(written)
            end = start + len(written)
        if kind != NAME:
            rule = "alias" if kind == ALIAS else "variant"
        elif found.inside[row]:
            rule = "particle" if found.fit[row] == ParticleFit.FITS else "misfit-particle"
        else:
            here = nfc(whole[start:end])
            rule = "exact" if any(nfc(found.spelt[each]) == here for each in spellings) else "folded"
        return Mention(start, end, entities, rule, grade)

    def _as_written(
        self,
        whole: str,
        start: int,
        spellings: Sequence[int],
        as_written: Sequence[bool],
        spelt: dict[int, str],
    ) -> list[int]:
        """Spelt exactly so, punctuation included (the longest: `Up!` before `Up`); else the same letters."""

        def level(spelling: int, same_letters: bool) -> tuple[int, int, int]:
            name, kind = spelt[spelling], self.names.kind(spelling)
            if kind == VARIANT:
                return 3, 0, 0
            if _stands_at(name, whole, start):
                return 0, -len(name), kind
            return (1 if same_letters else 2), 0, 0

        levels = [level(*each) for each in zip(spellings, as_written, strict=True)]
        best = min(levels)
        return [each for each, its in zip(spellings, levels, strict=True) if its == best]

    def _in_any_case(
        self,
        whole: str,
        start: int,
        end: int,
        spellings: Sequence[int],
        as_written: Sequence[bool],
        spelt: dict[int, str],
    ) -> list[int]:
        """The same where case tells nothing: names that differ in case only are told apart by the relations
        that the text speaks of, and where it speaks of none of them, by case after all."""
        folded = whole.casefold()
        if len(folded) != len(whole):
            folded = whole
        letters = dict(zip(spellings, as_written, strict=True))
        levels = {}
        for each in spellings:
            name = spelt[each]
            stands = _stands_at(name.casefold(), folded, start)
            levels[each] = (self.names.kind(each) == VARIANT, -len(name) if stands else 0)
        best_level = min(levels.values())
        best = [each for each in spellings if levels[each] == best_level]
        if len(best) < 2 or len({spelt[each] for each in best}) == 1:
            return best
        around = set(words_of_name(whole[:start])) | set(words_of_name(whole[end:]))
        told = [each for each in best if self._is_related(self.names.entity(each), around)]
        if 0 < len(told) < len(best):
            return told
        return [each for each in best if letters[each]] or best

    def _is_related(self, entity: int, words: set[str]) -> bool:
        """Whether a word is like one in the name of a relation at the entity, `by` and the like aside."""
        adjacency = self.graph.adjacency
        slots = slice(int(adjacency.indptr[entity]), int(adjacency.indptr[entity + 1]))
        codes = distinct(self.graph.relations.types.codes[adjacency.relations[slots]])[0]
        names = {word for code in codes.tolist() for word in self._relation_words[code]}
        told = [word for word in names if not is_function_word(word)]
        return any(likeness(one, other) for one in words for other in told)


def _stands_at(name: str, whole: str, start: int) -> bool:
    """Whether `name`, punctuation included, stands in the text with its first kept character at `start`."""
    lead = _lead(name)
    return start >= lead and whole.startswith(name, start - lead)


def _lead(name: str) -> int:
    """How many characters of a name folding drops before the first that it keeps."""
    return next((place for place, each in enumerate(name) if not is_dropped(each)), 0)


def _selected(
    text: Text, found: Readings, evidence: SpanEvidence, may_be_meant: NDArray[np.bool_]
) -> Iterator[int]:
    """Rows of the readings that are kept, by text and place."""
    if not len(found):
        return
    best = np.full(len(text.texts), len(Grade), dtype=np.uint8)
    np.minimum.at(best, found.text, evidence.grade)
    best = best[found.text]
    kept = evidence.grade == best
    words = kept & (best == Grade.WORD)
    rarest = np.full(len(text.texts), np.iinfo(np.int32).max, dtype=np.int64)
    np.minimum.at(rarest, found.text[words], evidence.rarity[words])
    kept &= ~words | (evidence.rarity <= COMMON * rarest[found.text])
    beside = may_be_meant & (best == Grade.NAMED)
    hangul = np.concatenate([[0], np.cumsum((text.characters.flags & HANGUL) > 0)])
    spaced = np.maximum.reduceat(found.as_spaced, found.pair_bounds[:-1])
    respaced = ~spaced & (hangul[found.ends] == hangul[found.starts])
    rows = np.flatnonzero(kept | beside)
    order = np.lexsort(
        (
            found.starts[rows],
            found.fit[rows] != ParticleFit.FITS,
            found.starts[rows] - found.ends[rows],
            respaced[rows],
            beside[rows],
            found.text[rows],
        )
    )
    rows = rows[order]
    taken = bytearray(len(text.characters))
    chosen: list[int] = []
    for row, start, end in zip(
        rows.tolist(), found.starts[rows].tolist(), found.ends[rows].tolist(), strict=True
    ):
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\1" * (end - start)
            chosen.append(row)
    yield from sorted(chosen)
