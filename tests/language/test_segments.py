"""Words of any script, and whether the function words of a text's language are listed."""

from __future__ import annotations

import pytest

from tiny_graph_rag.language.words import is_in_listed_language, word_spans, words_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Dr. Watson's dog", ["Dr", "Watson's", "dog"]),
        ("점순이는 어디에?", ["점순이는", "어디에"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # vowel signs and virama stay in their words
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("出生地", ["出生", "生地"]),
        ("山", ["山"]),
        ("東京タワーはどこ", ["東京", "タワー"]),
        ("กขคง", ["กขค", "ขคง"]),
        ("BMW在上海", ["BMW", "在上", "上海"]),
        ("", []),
    ],
)
def test_words_keep_their_marks_and_scripts_without_spaces_are_cut_in_overlapping_parts(
    text: str, words: list[str]
) -> None:
    assert words_in(text) == words
    assert [text[start:end] for start, end in word_spans(text)] == words


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("Who is the sister of Honoria Westphail?", True),
        ("점순이가 준 것은 무엇인가?", True),
        ("", True),
        ("Wer hat das Unternehmen gegründet, in dem er arbeitet?", False),
        ("Trụ sở của nằm ở thành phố nào?", False),
        ("เกิดที่ไหน", False),
        ("谁写了", False),
        ("¿Quién escribió la novela?", False),
    ],
)
def test_english_and_korean_are_told_from_other_languages(text: str, listed: bool) -> None:
    assert is_in_listed_language(text) is listed
