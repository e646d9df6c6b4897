"""Pronouns, and questions that leave their subject unsaid, link to what earlier turns named.

`Who was her sister?` after `Honoria Westphail, near Harrow.` speaks of Honoria Westphail. The antecedent is
the most recent entity whose kind the pronoun allows: the last turn first, in a turn the last mention. An
entity of unknown kind is second choice, an entity that the question itself names is none.

Pronouns are those of English and Korean, and nouns behind a demonstrative: that film, 그 사람.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.language.folding import Text
from tiny_graph_rag.language.function_words import ParticleFit, particles, table
from tiny_graph_rag.language.kinds import Kind, kind_of_type
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.mentions import Mention


class Referent(NamedTuple):
    """What a pronoun may stand for. word: of one question, those with the same one mean the same. kinds: of
    its antecedent; otherwise: second choice."""

    word: str
    kinds: frozenset[Kind]
    otherwise: frozenset[Kind] = frozenset({Kind.UNKNOWN})


HE, SHE, PERSON = (Referent(word, frozenset({Kind.PERSON})) for word in ("he", "she", "person"))
CREATURE = Referent("creature", frozenset({Kind.PERSON, Kind.THING}))
IT = Referent(
    "it",
    frozenset({Kind.THING, Kind.WORK, Kind.GROUP, Kind.OTHER}),
    frozenset({Kind.PLACE, Kind.UNKNOWN}),
)
THERE = Referent("there", frozenset({Kind.PLACE}), frozenset({Kind.GROUP, Kind.UNKNOWN}))
THEY = Referent("they", frozenset(Kind) - {Kind.UNKNOWN, Kind.PLACE}, frozenset({Kind.PLACE, Kind.UNKNOWN}))
WORK, EVENT = Referent("work", frozenset({Kind.WORK})), Referent("event", frozenset({Kind.OTHER}))
_OF_KIND = {
    Kind.PERSON: PERSON, Kind.PLACE: THERE, Kind.WORK: WORK, Kind.OTHER: EVENT, Kind.THING: IT, Kind.GROUP: IT
}  # fmt: skip


def _by_word(lists: dict[Referent, str]) -> dict[str, Referent]:
    return {word: reference for reference, words in lists.items() for word in words.split()}


_PRONOUNS = _by_word({
    HE: "he him his himself 그 그이 그자", SHE: "she her hers herself 그녀",
    PERSON: "걔 얘 쟤 그애 그분 이분 저분 그사람", CREATURE: "그놈 이놈 저놈 그녀석 이녀석",
    IT: "it its itself 그것 이것 저것 그거 이거 저거 그건 이건 저건 그게 이게 저게 그걸 이걸 저걸",
    THERE: "there here 거기 여기 저기 그곳 이곳 저곳 거긴 여긴 저긴",
    THEY: "they them their theirs themselves 그들 이들 걔네 걔들 얘들 그녀들 그분들 그것들",
})  # fmt: skip
_NOUNS = _by_word({  # behind a demonstrative; also any word for a kind
    PERSON: "man woman boy girl guy lady gentleman child fellow 남자 여자 소년 소녀 아이 애 분 이 노인",
    CREATURE: "놈 녀석 짐승", THERE: "곳 데 동네 집", WORK: "글 단편", IT: "것 거",
    EVENT: "incident affair case accident episode thing 일 때", THEY: "둘 셋 사람들 아이들",
})  # fmt: skip
_DEMONSTRATIVES = table("this that these those 그 이 저")
_BE = table("is are was were be been being s")  # `there is` names no place
_NOT_PRONOUNS = table("그만 그대로 이만 이대로 그나마 그보다 그야말로 여보")
# Words behind a bare 그 that show it to be no demonstrative: 그 말고, 그 외에.
_AFTER_BARE = table("말고 외에 이외에 외 밖에 대신 혼자 자신 역시 또한")


def pronouns(text: str) -> list[tuple[int, int, Referent]]:
    """The pronouns of a text, in order: where each stands, with a demonstrative before it and no particles
    behind it, and what it may stand for."""
    whole = Text.of(text)
    words, standing = whole.words, []
    for place, word in enumerate(words):
        before, after = ("", *words)[place], (*words, "")[place + 1]
        noun, length = _meaning(word, _NOUNS) if before in _DEMONSTRATIVES else (None, 0)
        reference, length = (noun, length) if noun else _meaning(word, _PRONOUNS)
        if word in _NOT_PRONOUNS or (word == "there" and (after in _BE or before in _BE)):
            continue
        if word == "그" and after and after not in _AFTER_BARE:
            continue
        if word in _DEMONSTRATIVES and word.isascii() and not after:
            reference, length = IT, len(word)
        if reference is not None:
            start = whole.starts[place]
            first = whole.starts[place - 1] if noun else start
            standing.append((*whole.span(first, start + length), reference))
    return standing


def _meaning(word: str, forms: dict[str, Referent]) -> tuple[Referent | None, int]:
    """What the longest form means with which the word begins, particles alone behind it; and its length."""
    for length in range(len(word), 0, -1):
        form, rest = word[:length], word[length:]
        reference = forms.get(form) or (_OF_KIND.get(kind_of_type(form)) if forms is _NOUNS else None)
        if reference and (not rest or (not word.isascii() and particles(form, rest) == ParticleFit.FITS)):
            return reference, length
    return None, 0


Turns = Sequence[Sequence[Mention]]  # of the earlier turns, oldest first


def from_context(
    text: str,
    mentions: Sequence[Mention],
    turns: Turns,
    kinds: NDArray[np.uint8],
    *,
    unsaid: bool,
) -> list[Seed]:
    """What the question's pronouns mean; or, where it names nothing at all, what was spoken of last.

    mentions: of the question itself. kinds: of each entity of the graph. unsaid: whether a question without
    mention and pronoun may be about what was spoken of last.
    """
    named = {entity for mention in mentions for entity in mention.entities}
    taken: dict[Referent, tuple[int, ...]] = {}
    seeds: list[Seed] = []
    for start, end, reference in pronouns(text):
        if reference in taken:
            continue
        used = named.union(*taken.values())
        taken[reference] = antecedents = _antecedents(reference, turns, kinds, used)
        seeds += Seed.sharing(antecedents, text[start:end], start, end, "coreference")
    if unsaid and not seeds and not mentions:
        last = next((turn[-1] for turn in reversed(turns) if turn), None)
        if last is not None:
            seeds = Seed.sharing(last.entities, "", None, None, "ellipsis")
    return seeds


def _antecedents(
    reference: Referent, turns: Turns, kinds: NDArray[np.uint8], used: set[int]
) -> tuple[int, ...]:
    for wanted in (reference.kinds, reference.otherwise):
        for turn in reversed(turns):
            fitting = [
                tuple(entity for entity in mention.entities if kinds[entity] in wanted and entity not in used)
                for mention in turn
            ]
            fitting = [entities for entities in fitting if entities]
            if fitting:
                if reference is THEY:
                    return tuple(dict.fromkeys(entity for entities in fitting for entity in entities))
                return fitting[-1]
    return ()
