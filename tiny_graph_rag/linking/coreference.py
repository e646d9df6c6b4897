"""Pronouns, and questions that leave their subject unsaid, link to what earlier turns named.

`Who was her sister?` after `Honoria Westphail, near Harrow.` speaks of Honoria Westphail. The antecedent is
the most recent entity whose kind the pronoun allows: the last turn first, in a turn the last mention. An
entity of unknown kind is second choice, an entity that the question itself names is none.

Pronouns are those of English and Korean: where they stand in a text, and what kind of thing they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.language.function_words import ParticleFit, particles, table
from tiny_graph_rag.language.kinds import Kind, kind_of_type
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.grades import Grade
from tiny_graph_rag.linking.mentions import Mention


class PronounReference(IntEnum):
    """What a pronoun may stand for. HE and SHE both want a person, but not the same one."""

    HE = 0
    SHE = 1
    PERSON = 2  # 걔, 그분, that man: he or she
    CREATURE = 3  # 그놈, 그 녀석
    IT = 4
    THERE = 5
    WORK = 6  # that film
    EVENT = 7  # 그 일
    THEY = 8


_OF_KIND = {
    Kind.PERSON: PronounReference.PERSON,
    Kind.PLACE: PronounReference.THERE,
    Kind.WORK: PronounReference.WORK,
    Kind.OTHER: PronounReference.EVENT,
    Kind.THING: PronounReference.IT,
    Kind.GROUP: PronounReference.IT,
}

_ENGLISH = {
    **dict.fromkeys(table("he him his himself"), PronounReference.HE),
    **dict.fromkeys(table("she her hers herself"), PronounReference.SHE),
    **dict.fromkeys(table("it its itself"), PronounReference.IT),
    **dict.fromkeys(table("they them their theirs themselves"), PronounReference.THEY),
    **dict.fromkeys(table("there here"), PronounReference.THERE),
}
_DEMONSTRATIVES = table("this that these those")
_BE = table("is are was were be been being s")  # `there is` names no place
_ENGLISH_NOUNS = {
    **dict.fromkeys(
        table("man woman boy girl guy lady gentleman child fellow couple"), PronounReference.PERSON
    ),
    **dict.fromkeys(table("incident affair case accident episode thing"), PronounReference.EVENT),
}

_KOREAN = {
    **dict.fromkeys(table("그 그이 그자"), PronounReference.HE),
    **dict.fromkeys(table("그녀"), PronounReference.SHE),
    **dict.fromkeys(table("걔 얘 쟤 그애 그분 이분 저분 그사람"), PronounReference.PERSON),
    **dict.fromkeys(table("그놈 이놈 저놈 그녀석 이녀석"), PronounReference.CREATURE),
    **dict.fromkeys(table("그것 이것 저것 그거 이거 저거 그건 이건 저건"), PronounReference.IT),
    **dict.fromkeys(table("그게 이게 저게 그걸 이걸 저걸"), PronounReference.IT),
    **dict.fromkeys(table("거기 여기 저기 그곳 이곳 저곳 거긴 여긴 저긴"), PronounReference.THERE),
    **dict.fromkeys(table("그들 이들 걔네 걔들 얘들 그녀들 그분들 그것들"), PronounReference.THEY),
}
_KOREAN_DEMONSTRATIVES = table("그 이 저")
_KOREAN_NOUNS = {
    **dict.fromkeys(table("사람 남자 여자 소년 소녀 아이 애 분 이 청년 노인 양반"), PronounReference.PERSON),
    **dict.fromkeys(table("놈 녀석 짐승 동물"), PronounReference.CREATURE),
    **dict.fromkeys(table("곳 장소 마을 동네 데 집 도시 나라"), PronounReference.THERE),
    **dict.fromkeys(table("책 소설 작품 영화 글 노래 단편"), PronounReference.WORK),
    **dict.fromkeys(table("일 사건 때"), PronounReference.EVENT),
    **dict.fromkeys(table("것 거 물건 음식"), PronounReference.IT),
    **dict.fromkeys(table("둘 셋 사람들 아이들"), PronounReference.THEY),
}
_NOT_PRONOUNS = table("그만 그대로 이만 이대로 그나마 그보다 그야말로 여보")
# Words behind a bare 그 that show it to be no demonstrative: 그 말고, 그 외에.
_AFTER_BARE = table("말고 외에 이외에 외 밖에 대신 혼자 자신 역시 또한")

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Pronoun:
    start: int
    end: int
    reference: PronounReference


def pronouns(text: str) -> list[Pronoun]:
    """The pronouns of a text, in order. start, end: its characters, particles left out."""
    words = [(match.start(), match.end(), nfc(match.group()).casefold()) for match in _WORD.finditer(text)]
    standing = []
    for place, (start, end, word) in enumerate(words):
        before = words[place - 1][2] if place else ""
        after = words[place + 1][2] if place + 1 < len(words) else ""
        read = _korean if "가" <= word[0] <= "힣" else _english
        reference, length, has_demonstrative = read(word, before, after)
        if reference is not None:
            # A text in another Unicode form has other lengths; then the whole word is the pronoun.
            stop = start + length if end - start == len(word) else end
            standing.append(Pronoun(words[place - 1][0] if has_demonstrative else start, stop, reference))
    return standing


# What it stands for, its length, whether a demonstrative leads it.
Read = tuple[PronounReference | None, int, bool]
_NO_PRONOUN: Read = (None, 0, False)


def _english(word: str, before: str, after: str) -> Read:
    if word in _ENGLISH:
        if word == "there" and (after in _BE or before in _BE):
            return _NO_PRONOUN
        return _ENGLISH[word], len(word), False
    if before in _DEMONSTRATIVES:
        return _ENGLISH_NOUNS.get(word) or _OF_KIND.get(kind_of_type(word)), len(word), True
    if word in _DEMONSTRATIVES and not after:
        return PronounReference.IT, len(word), False
    return _NO_PRONOUN


def _korean(word: str, before: str, after: str) -> Read:
    if word in _NOT_PRONOUNS:
        return _NO_PRONOUN
    if before in _KOREAN_DEMONSTRATIVES:
        noun, length = _with_particles(word, _KOREAN_NOUNS)
        if noun is not None:
            return noun, length, True
    if word == "그":
        return (PronounReference.HE if after in _AFTER_BARE or not after else None), len(word), False
    return *_with_particles(word, _KOREAN), False


def _with_particles(word: str, forms: dict[str, PronounReference]) -> tuple[PronounReference | None, int]:
    """What the longest form means with which the word begins, particles alone behind it; and its length."""
    for length in range(len(word), 0, -1):
        reference = forms.get(word[:length])
        if reference is not None and (
            length == len(word) or particles(word[:length], word[length:]) == ParticleFit.FITS
        ):
            return reference, length
    return None, 0


Turns = Sequence[Sequence[Mention]]  # of the earlier turns, oldest first

# For each reference the kinds of its antecedent, first choice and second choice.
_KINDS: dict[PronounReference, tuple[frozenset[Kind], frozenset[Kind]]] = {
    **dict.fromkeys(
        (PronounReference.HE, PronounReference.SHE, PronounReference.PERSON),
        (frozenset({Kind.PERSON}), frozenset({Kind.UNKNOWN})),
    ),
    PronounReference.CREATURE: (frozenset({Kind.PERSON, Kind.THING}), frozenset({Kind.UNKNOWN})),
    PronounReference.IT: (
        frozenset({Kind.THING, Kind.WORK, Kind.GROUP, Kind.OTHER}),
        frozenset({Kind.PLACE, Kind.UNKNOWN}),
    ),
    PronounReference.THERE: (frozenset({Kind.PLACE}), frozenset({Kind.GROUP, Kind.UNKNOWN})),
    PronounReference.WORK: (frozenset({Kind.WORK}), frozenset({Kind.UNKNOWN})),
    PronounReference.EVENT: (frozenset({Kind.OTHER}), frozenset({Kind.UNKNOWN})),
    PronounReference.THEY: (
        frozenset(Kind) - {Kind.UNKNOWN, Kind.PLACE},
        frozenset({Kind.PLACE, Kind.UNKNOWN}),
    ),
}


def from_context(
    text: str,
    mentions: Sequence[Mention],
    turns: Turns,
    kinds: NDArray[np.uint8],
    *,
    unsaid: bool = True,
) -> list[Seed]:
    """What the question's pronouns mean; or, where it names nothing at all, what was spoken of last.

    mentions: of the question itself. kinds: of each entity of the graph. unsaid: whether a question without
    mention and pronoun may be about what was spoken of last.
    """
    named = {entity for mention in mentions for entity in mention.entities}
    taken: dict[PronounReference, tuple[int, ...]] = {}
    seeds: list[Seed] = []
    for pronoun in pronouns(text):
        if pronoun.reference in taken:
            continue
        used = named.union(*taken.values())
        antecedents = _antecedents(pronoun.reference, turns, kinds, used)
        taken[pronoun.reference] = antecedents
        start, end = pronoun.start, pronoun.end
        seeds += Seed.sharing(antecedents, text[start:end], start, end, "coreference")
    if unsaid and not seeds and not mentions:
        last = next((turn[-1] for turn in reversed(turns) if turn), None)
        if last is not None:
            seeds = Seed.sharing(last.entities, "", None, None, "ellipsis")
    return seeds


def _antecedents(
    reference: PronounReference, turns: Turns, kinds: NDArray[np.uint8], used: set[int]
) -> tuple[int, ...]:
    for wanted in _KINDS[reference]:
        for turn in reversed(turns):
            fitting = [
                tuple(entity for entity in mention.entities if kinds[entity] in wanted and entity not in used)
                for mention in turn
            ]
            fitting = [entities for entities in fitting if entities]
            if fitting:
                if reference is PronounReference.THEY:
                    return tuple(dict.fromkeys(entity for entities in fitting for entity in entities))
                return fitting[-1]
    return ()


def is_telling(mention: Mention) -> bool:
    """Whether a mention outweighs the context: not where the name is but a relation's or a function word."""
    return mention.grade < Grade.RELATION
