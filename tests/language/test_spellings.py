"""Whether two spellings are one name, and by what they differ."""

from __future__ import annotations

import pytest

from tiny_graph_rag.language.name_forms import Difference, core_of, differences

SAME = [
    ("Bell-rope", "bell rope", {Difference.CASE}),
    ("U.S.A.", "USA", set()),
    ("10,000", "10000", set()),
    ("The Beatles", "Beatles", {Difference.ARTICLE}),
    ("Smith & Wesson", "Smith and Wesson", set()),
    ("Québec", "Quebec", {Difference.ACCENT}),
    ("botanical garden", "botanical gardens", {Difference.PLURAL}),
    ("woman", "women", {Difference.PLURAL}),
    ("Glioma", "Gliomas", {Difference.PLURAL}),
    ("camera", "cameras", {Difference.PLURAL}),
    ("Sir John Temple", "John Temple", {Difference.TITLE}),
    ("Holmes, Sherlock", "Sherlock Holmes", {Difference.ORDER}),
    ("August 6, 1945", "6 August 1945", {Difference.ORDER}),
    ("Sherlcok Holmes", "Sherlock Holmes", {Difference.SWAPPED}),
    ("Grimesby Roylott", "Grimesby Roylot", {Difference.DOUBLED}),
    ("노란 동백꽃", "노란동백꽃", {Difference.SPACING}),
    ("나의 식구", "나의식구", {Difference.SPACING}),
    ("나의 어머니", "나 어머니", {Difference.PARTICLE}),
    ("점순", "점순이", {Difference.PARTICLE}),
    ("밭", "밭을", {Difference.PARTICLE}),
    ("아이", "아이들", {Difference.PLURAL}),
    ("동광학교", "동광학교(東光學校)", {Difference.GLOSS}),
    ("박녹주", "박록주", {Difference.LETTER}),
    ("Nordwind AG", "Nordwind", {Difference.COMPANY}),
    ("주식회사 한빛", "한빛", {Difference.COMPANY}),
    ("beds for guests", "bed for guests", {Difference.INNER_PLURAL}),
]
OTHER = [
    ("Part 2", "Part 3"),
    ("1.5", "15"),
    ("20", "20%"),
    ("C", "C#"),
    ("United", "Reunited"),
    ("happy", "unhappy"),
    ("Eastern Front", "Western Front"),
    ("Mercury (planet)", "Mercury"),
    ("Mr. Jones", "Mrs. Jones"),
    ("Kent", "Gent"),
    ("tourist", "tourism"),
    ("Stoke Moran", "Stoke Moran Manor"),
    ("점순", "점순네"),
    ("암탉", "수탉"),
    ("가", "가을"),
    ("경제학", "경제학과"),
    ("World War I", "World War II"),
    ("martial law", "marital law"),
    ("security", "securities"),
    ("Rh-", "Rh"),
    ("Nordwind AG", "Nordwind GmbH"),
    ("Apple (회사)", "Apple (과일)"),
    ("血流不稳定症状", "血流不安定症状"),
    ("梁×", "梁××"),
]


@pytest.mark.parametrize(("one", "other", "changes"), SAME)
def test_spellings_of_one_name_differ_by_what_one_of_them_has(
    one: str, other: str, changes: set[Difference]
) -> None:
    assert differences(one, other) == changes
    assert differences(other, one) == changes


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_word_number_sign_or_ending_makes_another_name(one: str, other: str) -> None:
    assert differences(one, other) is None
    assert differences(other, one) is None


def test_punctuation_alone_has_no_core_and_is_like_nothing() -> None:
    assert core_of("?!").text == ""
    assert differences("?!", "?!") is None
