"""Words for relations: English forms, Korean particles after whatever stands before them."""

from __future__ import annotations

import pytest

from tiny_graph_rag.gold.english import Phrase, read_type
from tiny_graph_rag.gold.korean import phrases_of, with_particle


@pytest.mark.parametrize(
    ("text", "particle", "read"),
    [
        ("점순", "이", "점순이"),
        ("나무", "이", "나무가"),
        ("동백꽃", "은", "동백꽃은"),
        ("감자", "을", "감자를"),
        ("수탉", "과", "수탉과"),
        ("홍길동(洪吉童)", "은", "홍길동(洪吉童)은"),
        ("「봄봄」", "을", "「봄봄」을"),
        ("서울", "으로", "서울로"),  # ㄹ takes 로
        ("집", "으로", "집으로"),
        ("3", "이", "3이"),  # 삼이
        ("2", "이", "2가"),  # 이가
        ("1936", "은", "1936은"),  # 육은
        ("10", "을", "10을"),  # 십을
        ("1000000", "이", "1000000이"),  # 백만이
        ("1", "으로", "1로"),  # 일로
        ("Bob", "과", "Bob과"),
        ("Anna", "과", "Anna와"),
        ("KBS", "이", "KBS가"),  # 에스가
        ("IBM", "이", "IBM이"),  # 엠이
        ("Apple", "은", "Apple은"),  # 애플은
        ("James", "은", "James는"),
        ("魯迅", "은", "魯迅은(는)"),
        ("점순", "에게", "점순에게"),
    ],
)
def test_particles_fit_the_last_sound(text: str, particle: str, read: str) -> None:
    assert with_particle(text, particle) == read


@pytest.mark.parametrize(
    ("name", "form", "words"),
    [
        ("LOCATED_IN", "be", "located in"),
        ("written_by", "be", "written by"),
        ("PARENT_OF", "be", "a parent of"),
        ("PART_OF", "be", "part of"),
        ("is located in", "be", "located in"),
        ("LIVES_AT", "verb", "lives at"),
        ("WORKED_IN", "verb", "worked in"),
        ("HELD_LAND_IN", "verb", "held land in"),
        ("OWNS", "verb", "owns"),
        ("VISITED", "verb", "visited"),
        ("WROTE", "verb", "wrote"),
        ("went to", "verb", "went to"),
        ("born on", "be", "born on"),
        ("release_year", "noun", "release year"),
        ("has_genre", "noun", "genre"),
        ("in_language", "noun", "language"),
        ("starredActors", "noun", "starred actors"),
        ("father was", "noun", "father"),
    ],
)
def test_types_are_read_as_the_form_that_fits_a_sentence(name: str, form: str, words: str) -> None:
    assert read_type(name) == Phrase(form, words)  # type: ignore[arg-type]


def test_korean_knows_common_types_reads_korean_ones_and_quotes_others() -> None:
    assert phrases_of("LOCATED_IN") == ("~이 있는 {곳}", "~에 있는 {것}")
    assert phrases_of("스승") == ("~의 스승", "스승이 ~인 {것}")
    assert phrases_of("소유하다") == ("~이 소유하는 {것}", "~을 소유하는 {것}")
    assert phrases_of("FROBNICATES") == (
        "~이 ‘frobnicates’ 관계로 이어지는 {것}",
        "‘frobnicates’ 관계로 ~에 이어지는 {것}",
    )
