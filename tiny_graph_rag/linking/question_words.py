"""The words of a question around its seeds: what asks, what is asked for, what else it says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tiny_graph_rag.graph.text_index import content_stem
from tiny_graph_rag.language.function_words import without_requests
from tiny_graph_rag.language.words import (
    NOUN_FOLLOWS,
    asks_about_the_named,
    is_function_word,
    is_korean,
    is_question_word,
    words_of,
)
from tiny_graph_rag.linking.base import LinkedQuestion

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


def is_evidence(word: str, *, asks: bool = False) -> bool:
    """Whether a word says something of what is looked for: no function word, no question word (but where it
    `asks`), and none that asks about the named thing itself (관계, 인물, relationship)."""
    if asks_about_the_named(word):
        return False
    return asks or not (is_function_word(word) or is_question_word(word))


def content_stems_of(words: Iterable[str]) -> list[str]:
    """The stems under which the text index knows a question's words of evidence, each once, in order."""
    stems = (content_stem(word) for word in words if not asks_about_the_named(word))
    return list(dict.fromkeys(stem for stem in stems if stem is not None))
