"""Names in Hangul and in Latin letters that sound alike."""

from __future__ import annotations

import pytest

from tiny_graph_rag.language.sounds import (
    at_the_start,
    consonants_of,
    initials_of_syllables,
    script_of,
    sound_of,
)


@pytest.mark.parametrize(
    ("hangul", "latin"),
    [
        ("왓슨", "Watson"),
        ("셜록 홈즈", "Sherlock Holmes"),
        ("뉴욕", "New York"),
        ("봉평", "Bongpyeong"),
        ("김유정", "Kim Yu-jeong"),
        ("춘천", "Chuncheon"),
        ("프로메테우스", "Prometheus"),
        ("페이스북", "Facebook"),
        ("이순신", "Yi Sun-sin"),
    ],
)
def test_a_name_has_the_same_consonants_in_both_scripts(hangul: str, latin: str) -> None:
    assert consonants_of(sound_of(hangul)) == consonants_of(sound_of(latin)) != ""


@pytest.mark.parametrize(("hangul", "latin"), [("서울", "Sales"), ("이동", "Edison"), ("파리", "London")])
def test_other_names_have_other_consonants(hangul: str, latin: str) -> None:
    assert consonants_of(sound_of(hangul)) != consonants_of(sound_of(latin))


def test_consonants_between_vowels_stay_two() -> None:
    assert consonants_of(sound_of("카카오")) == consonants_of(sound_of("Kakao")) == "KK"
    assert consonants_of(sound_of("Roylott")) == "LLT"  # an r before a vowel is an l; tt is one


def test_other_scripts_and_mixtures_have_no_sound() -> None:
    assert sound_of("東京") == ""
    assert script_of("A동") == ""
    assert (script_of("서울 역"), script_of("São Paulo")) == ("hangul", "latin")


def test_first_consonants_are_those_that_people_type() -> None:
    assert initials_of_syllables("동백꽃") == "ㄷㅂㄲ"


def test_a_syllable_at_the_start_of_a_word_loses_its_first_consonant() -> None:
    assert "".join(map(at_the_start, "련로녀가")) == "연노여가"
