"""A question's words without its seeds: where each stands, which of them asks, and for what kind of thing."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.words import (
    NOUN_FOLLOWS,
    is_function_word,
    is_korean,
    is_question_word,
    words_of,
)

SEED = "\x00"  # stands for a seed's words while the rest of the question is read
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
    """Words by place, in order, and the places of seeds; a place is a count of words and seeds."""
    marks = sorted(
        [(word.start, word.text) for word in words_of(masked)]
        + [(at, SEED) for at, letter in enumerate(masked) if letter == SEED]
    )
    words = {place: text for place, (_, text) in enumerate(marks) if text != SEED}
    return words, [place for place, (_, text) in enumerate(marks) if text == SEED]


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
