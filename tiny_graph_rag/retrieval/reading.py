"""What a question asks for, as slots that a walk fills.

1. Mentions: relation types claim words of the question; a word serves one type.
2. Slots: one a mention; a second where the question says so. Then the rarest other words that the graph's
   texts know, one slot each.
3. Focus: the mention that the last relation should fill; head: the word that says what the answer is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.language.function_words import without_requests
from tiny_graph_rag.language.words import (
    NOUN_FOLLOWS,
    is_function_word,
    is_korean,
    is_question_word,
    is_return_word,
    words_of,
)
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.word_claims import NO_PLACE, Found, Texts, TypeNames, milli

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.meaning import Meanings


ADJACENT = 1
ANYTHING, OTHERS, ONE_OF_SEEDS = range(3)  # what a question asks for
READ_QUESTIONS = 1 << 14  # readings kept: questions that differ by their seeds alone are read once


@dataclass(frozen=True, slots=True)
class Slot:
    """weight in thousandths: what an explanation pays that leaves it empty. types: relation types that fill
    it; found: relations and entities whose texts do. way_back: only a step back through the relation that was
    walked last fills it."""

    words: tuple[str, ...]
    weight: int
    types: tuple[int, ...] = ()
    way_back: bool = False
    found: Found = field(default_factory=lambda: Found(0))


@dataclass(frozen=True, slots=True)
class Reading:
    """slots: in the order in which a walk from the seed should fill them. focus, head: bits of slots.

    unexplained: price of a step that nothing speaks for. asks: for what: ANYTHING, OTHERS than the seeds, or
    ONE_OF_SEEDS (`A or B?`).
    """

    slots: tuple[Slot, ...] = ()
    focus: int = 0
    head: int = 0
    unexplained: int = 0
    asks: int = ANYTHING


@dataclass(slots=True)
class _Mention:
    types: list[int]
    claimed: frozenset[int]  # places of all words that speak for the types
    coverage: int
    places: list[int]  # of its own words
    weight: int
    repeated: bool
    to_seed: int = 0


class Reader:
    """Reads questions for one graph. Equal words around equal places of seeds are read once."""

    def __init__(
        self, types: TypeNames, texts: Texts, ranking: RankingPrices, meanings: Meanings | None = None
    ) -> None:
        self.types, self.texts, self.ranking, self.meanings = types, texts, ranking, meanings
        self._read: dict[str, Reading] = {}

    def prepare(self, questions: Sequence[LinkedQuestion]) -> None:
        """Learn what the words mean that nothing in the graph is like. Only with meanings; once a word."""
        if self.meanings is None:
            return
        texts = {without_seeds(each) for each in questions if each.seeds} - self._read.keys()
        words = {word for text in texts for word in tokens(text)[0].values()}
        self.meanings.learn(sorted(word for word in words if self._is_unlike(word)))

    def _is_unlike(self, word: str) -> bool:
        """Whether a word of content is like none of the graph's; what texts hold is surer than a cosine."""
        if is_function_word(word) or is_question_word(word) or is_return_word(word):
            return False
        return not self.types.claims(word) and self.texts.find(word).weight < milli(self.ranking.rarest)

    def read(self, question: LinkedQuestion) -> Reading:
        masked = without_seeds(question)
        reading = self._read.get(masked)
        if reading is None:
            if len(self._read) >= READ_QUESTIONS:
                self._read.clear()
            reading = self._read[masked] = self._reading(masked)
        return reading

    def _reading(self, masked: str) -> Reading:
        words, seeds = tokens(masked)
        asking = question_word(words, seeds)
        mentions = self._mentions(words)
        for each in mentions:
            each.to_seed = min((abs(a - b) for a in each.places for b in seeds), default=len(masked))
        focus = _focus(mentions, asking, seeds)
        mentions.sort(key=lambda each: (each is focus, each.to_seed))
        slots, bits = self._slots(mentions, words, focus)
        claimed = {place for each in mentions for place in each.places}
        slots, head = self._word_slots(slots, words, claimed, asking)
        content = {word for word in words.values() if not (is_function_word(word) or is_question_word(word))}
        price = milli(self.ranking.unexplained) - milli(self.ranking.long_question) * max(
            0, len(content) - self.ranking.short_question
        )
        unexplained = max(milli(self.ranking.unexplained_least), price)
        asks = OTHERS if slots and (focus is not None or asking is not None) else ANYTHING
        if EITHER.search(masked):
            asks = ONE_OF_SEEDS
        return Reading(tuple(slots), bits, head, unexplained, asks)

    def _mentions(self, words: dict[int, str]) -> list[_Mention]:
        """Types claim words in the order of how much of their name is covered, then of compactness."""
        claims: dict[int, list[tuple[int, int, int]]] = {}
        for place, word in words.items():
            by_meaning = () if self.meanings is None else self.meanings.claims(word)
            for claim in by_meaning or self.types.claims(word):
                claims.setdefault(claim.type, []).append((place, claim.weight, claim.place))
        ranked = []
        for type_, mine in claims.items():
            cover: dict[int, int] = {}
            for _, weight, part in mine:
                cover[part] = max(cover.get(part, 0), weight)
            by_owner = cover.pop(NO_PLACE, 0)
            coverage = max(by_owner, sum(cover.values()) // max(1, len(self.types.words[type_])))
            places = [place for place, _, _ in mine]
            ranked.append((-coverage, max(places) - min(places), self.types.names[type_], type_, mine))
        taken: set[int] = set()
        mentions: list[_Mention] = []
        for coverage, _, _, type_, mine in sorted(ranked, key=lambda each: each[:3]):
            own = [each for each in mine if each[0] not in taken]
            claimed = frozenset(place for place, _, _ in mine)
            if own:
                weight = max(weight for _, weight, _ in own)
                places = sorted(place for place, _, _ in own)
                named = [place for place, _, part in own if part != NO_PLACE]
                mentions.append(_Mention([type_], claimed, coverage, places, weight, _stand_apart(named)))
                taken.update(places)
            else:
                for each in mentions:  # the same words, as well covered: one mention of either
                    if each.claimed == claimed and each.coverage == coverage:
                        each.types.append(type_)
        return mentions

    def _slots(
        self, mentions: list[_Mention], words: dict[int, str], focus: _Mention | None
    ) -> tuple[list[Slot], int]:
        returns = [place for place, word in words.items() if is_return_word(word)]
        there_and_back = min(
            mentions,
            key=lambda each: (min(abs(a - b) for a in each.places for b in returns), each is focus),
            default=None,
        ) if returns else None  # fmt: skip
        slots: list[Slot] = []
        bits = 0
        for each in mentions:
            own = tuple(words[place] for place in each.places)
            twice = any(
                own[i] == own[j] and each.places[i] - each.places[j] > ADJACENT
                for i in range(len(own))
                for j in range(i)
            )
            second = each.weight if twice else milli(self.ranking.repeated) if each.repeated else 0
            if each is there_and_back:
                second = max(second, milli(self.ranking.there_and_back))
            for weight, way_back in ((each.weight, False), (second, not twice)):
                if weight and len(slots) < self.ranking.slots - 1:
                    bits |= (each is focus) << len(slots)
                    slots.append(Slot(own, weight, tuple(each.types), way_back=way_back))
        return slots, bits

    def _word_slots(
        self, slots: list[Slot], words: dict[int, str], claimed: set[int], asking: int | None
    ) -> tuple[list[Slot], int]:
        heads = noun_asked_for(words, asking)
        found: list[tuple[int, int, tuple[str, ...], Found]] = []
        seen: set[str] = set()
        for place, word in words.items():
            if place in claimed or word in seen or is_function_word(word) or is_question_word(word):
                continue
            seen.add(word)
            where = self.texts.find(word)
            found.append((-where.weight, place, (word,), where))
        if asking is not None:
            where = self.texts.asked_for(words[asking])
            found.append((-where.weight, asking, (words[asking],), where))
            heads = heads | {asking}
        head = 0
        slots = list(slots)
        for weight, place, own, where in sorted(found, key=lambda each: each[:2]):
            if -weight >= milli(self.ranking.rarest) and len(slots) < self.ranking.slots:
                head |= (place in heads) << len(slots)
                slots.append(Slot(own, -weight, found=where))
        return slots, head


def _focus(mentions: Sequence[_Mention], asking: int | None, seeds: Sequence[int]) -> _Mention | None:
    """The mention nearest to the question word, no seed between; without one, the farthest from a seed."""
    near: list[tuple[int, int, int]] = []
    if asking is not None:
        for index, each in enumerate(mentions):
            for place in each.places:
                low, high = min(place, asking), max(place, asking)
                if not any(low < seed < high for seed in seeds):
                    near.append((high - low, -each.to_seed, index))
    if near:
        return mentions[min(near)[2]]
    return max(mentions, key=lambda each: each.to_seed, default=None)


def _stand_apart(places: Sequence[int]) -> bool:
    """Whether two words of one mention have others between: *directed* by the *director* of."""
    return any(after - before > ADJACENT for before, after in pairwise(places))


SEED = "\x00"  # stands for a seed's words while the rest of the question is read
# `A or B?` asks for one of the seeds.
_GAP = rf"[^\w{SEED}]"
EITHER = re.compile(
    rf"{SEED}{_GAP}*+\b(?:or|혹은|또는|아니면)\b{_GAP}*+(?:(?:the|an?){_GAP}++)?{SEED}", re.IGNORECASE
)
NOUN_WORDS = 3  # words of an English noun phrase after which/what: "which frightened young woman"


def without_seeds(question: LinkedQuestion) -> str:
    """The question with SEED where its seeds are named; those of earlier turns have no place in it."""
    spans = {(seed.start, seed.end) for seed in question.seeds}
    return _masked(question.text, sorted((a, b) for a, b in spans if a is not None and b is not None))


def _masked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with each seed's words as one SEED; Korean particles after it go with it."""
    text = text.replace(SEED, " ")
    parts = []
    at = 0
    for start, end in spans:
        if start >= at:
            parts += [text[at:start], SEED]
            at = end
            while at < len(text) and is_korean(text[at]):
                at += 1
    return " ".join("".join((*parts, text[at:])).split())


def tokens(masked: str) -> tuple[dict[int, str], list[int]]:
    """Words by place, in order, and the places of seeds; a place is a count of words and seeds.

    What asks for the answer at either end is left out: `List …`, `… 알려 줘` ask the same as without.
    """
    marks = sorted(
        [(word.start, word.text) for word in words_of(masked)]
        + [(at, SEED) for at, letter in enumerate(masked) if letter == SEED]
    )
    texts = without_requests([text for _, text in marks])
    words = {place: text for place, text in enumerate(texts) if text != SEED}
    return words, [place for place, text in enumerate(texts) if text == SEED]


def question_word(words: dict[int, str], seeds: list[int]) -> int | None:
    """The question word that asks: the one that leads the question, else the last; others are relative."""
    asking = [place for place, word in words.items() if is_question_word(word)]
    for place in asking:
        before = [word for other, word in words.items() if other < place]
        if all(map(is_function_word, before)) and not any(seed < place for seed in seeds):
            return place
    return asking[-1] if asking else None


def noun_asked_for(words: dict[int, str], asking: int | None) -> frozenset[int]:
    """Places of the words that name the kind of thing asked for: which *animal*, 무슨 *짐승*, …*마을은*?"""
    if asking is None:
        last = max(words, default=None)
        return frozenset({last} if last is not None and is_korean(words[last]) else ())
    word = words[asking]
    if word.startswith(NOUN_FOLLOWS):
        places: list[int] = []
        place = asking + 1
        while place in words and len(places) < NOUN_WORDS and not is_function_word(words[place]):
            places.append(place)
            if is_korean(word):
                break
            place += 1
        return frozenset(places)
    return frozenset({asking - 1} if is_korean(word) and asking - 1 in words else ())
