"""What the words of a type say: the kind of thing an entity type speaks of, common words for a relation type.

Graphs name their types freely (PERSON, Character, 인물, LOC, film …). Only where a pronoun has to find its
antecedent, or a title belongs to a person, does it matter which of a few kinds a type means.

The synonyms are a thesaurus of relations (kinship, life, work, places, works, organisations), not of the
language: each line of synonyms.txt holds words that a question uses for one relation, whatever a graph calls
it. Only words that no relation type's name holds are looked up there.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache, lru_cache
from pkgutil import get_data

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.words import lemma, words_of_name


class Kind(IntEnum):
    UNKNOWN = 0
    PERSON = 1
    PLACE = 2
    THING = 3  # what one can touch: objects, animals, plants, food
    GROUP = 4  # families, organisations
    WORK = 5
    OTHER = 6  # events, concepts, times: named by `it`, never by `he` or `there`
    DATE = 7  # what `is_date` says of a name, never a type


NAMED_KINDS = frozenset((Kind.PERSON, Kind.PLACE, Kind.GROUP, Kind.WORK))  # of which each has a proper name


_WORDS = {
    Kind.PERSON: """person people human character individual actor actress director writer author artist
        musician politician scientist player role per god goddess deity demon hero villain king queen
        man woman boy girl lady gentleman child fellow 인물 사람 등장인물 인간 도깨비 귀신 요괴 악마 천사
        신 작가 배우 감독 가수 정치인 남자 여자 소년 소녀 아이 애 분 노인 놈 녀석""",
    Kind.PLACE: """place location loc gpe city town village country state region area building room facility
        site river mountain landmark island planet address venue
        장소 곳 지역 도시 나라 국가 마을 지명 건물 위치 데 동네 집""",
    Kind.THING: """thing object item artifact artefact animal creature plant food product weapon tool vehicle
        device material substance body clothing 사물 물건 동물 짐승 식물 음식 제품 도구 무기""",
    Kind.GROUP: """group organization organisation org company team family band institution agency university
        school college club corporation party 단체 조직 기관 회사 가족 집단 기업 학교""",
    Kind.WORK: """work film movie book novel story song album play poem game series show magazine newspaper
        publication painting 웹툰 작품 영화 책 소설 글 단편 노래 시 잡지 신문 드라마""",
    Kind.OTHER: """event concept idea time date year number language genre award war battle disease technology
        method topic theory law religion incident affair case accident 사건 일 때 개념 시간 날짜 연도 언어
        장르 병 질병 기술""",
}
_KIND_OF_WORD = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def kind_of_type(entity_type: str) -> Kind:
    """The kind that a type's last known word speaks of (`FICTIONAL_CHARACTER` is a person)."""
    for word in reversed(words_of_name(entity_type)):
        kind = _KIND_OF_WORD.get(word) or _KIND_OF_WORD.get(word.removesuffix("s"))
        if kind is not None:
            return kind
    return Kind.UNKNOWN


def kinds_of_entities(types: Categories) -> NDArray[np.uint8]:
    """The kind of each entity, as a column."""
    kinds = np.array([kind_of_type(name) for name in types.names], dtype=np.uint8)
    return kinds[types.codes]


_DATE = re.compile(
    r"(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?\s+|\d\d?(?:[–-]\d\d?)?,?\s+)*"
    r"\d{3,4}(?:s|년|-\d\d(?:-\d\d)?)?(?:\s+\d{1,2}월)?(?:\s+\d{1,2}일)?",
    re.I,
)


def is_date(name: str) -> bool:
    """Whether a name is a year, a month of a year or a day: 1936, 1990s, May 2001, 2001-05-13, 1936년 5월."""
    return _DATE.fullmatch(name.strip()) is not None


_OCCASION = re.compile(
    r"\b(?:battle|war|campaign|siege|revolution|rebellion|uprising|crusade|protests?|march|olympics|games|race|match"
    r"|tournament|championships?|cup|meeting|conference|summit|festival|feast|wedding|trial|expedition|mission"
    r"|competition|contest|debate)\b"
    "|(?:전투|전쟁|운동|의거|대첩|해전|대회|회의|회담|시위|혁명|경기|축제|잔치|모임|원정|재판|토론|결혼식)$",
    re.I,
)


def is_occasion(name: str) -> bool:
    """Whether a name says that it is something to take part in, unlike a death or a promise."""
    return _OCCASION.search(name) is not None


# What a question word asks for, in words that types may have.
_ASKED = {
    ("who", "whom", "whose", "누구", "누가", "사람은", "인물은", "이는"): table(
        "person people human character man woman family group organization 인물 사람"
    ),
    ("where", "어디", "곳은", "장소는"): table(
        "place location city town country region site address 장소 위치 곳 지역"
    ),
    ("when", "언제", "때는", "시기는"): table(
        "time date year day month century period era 시간 날짜 연도 시기 때"
    ),
}
# Kinds of things, but no relation to one: where something is asks for no country where a type says place.
KINDS_OF_PLACE = table("city country town region")
NO_RELATIONS = KINDS_OF_PLACE | table("family group organization man woman character")
KINDS_ASKED = frozenset[str]().union(*_ASKED.values())


@lru_cache(4096)
def asked_kind(word: str) -> frozenset[str]:
    """What a question word asks for, in words that types may have: `when` → time, date, year …"""
    for starts, kinds in _ASKED.items():
        if word in starts or word.startswith(tuple(start for start in starts if not start.isascii())):
            return kinds
    return frozenset()


@cache
def _words_beside() -> dict[str, frozenset[str]]:
    """Of each word all that its groups hold."""
    text = get_data(__package__, "synonyms.txt") or b""
    beside: dict[str, frozenset[str]] = {}
    for line in text.decode().splitlines():
        group = table(line) if not line.startswith("#") else frozenset()
        for word in group:
            beside[word] = beside.get(word, frozenset()) | group
    return beside


def synonyms(word: str) -> frozenset[str]:
    """Words that may mean the relation which a graph calls `word`; none for a word of no group."""
    beside = _words_beside()
    return (beside.get(word) or beside.get(lemma(word)) or frozenset()) - {word}
