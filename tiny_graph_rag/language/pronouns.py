"""Pronouns of English and Korean: where they stand in a text, and what kind of thing they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, kind_of_type
from tiny_graph_rag.language.particles import ParticleFit, particles


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
