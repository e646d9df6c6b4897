"""Words that a word is like, found by index: the same as comparing with every word of the list."""

from __future__ import annotations

import pytest

from tiny_graph_rag.language.words import dictionary_form, is_korean, likeness
from tiny_graph_rag.linking.question_words import SimilarWords

# Inflected, irregular (bought, taught), compounds of them, Korean with endings, another script.
TEXT = """
written write wrote writer screenwriter screenplay acted actor thought forethought think rethink
bought outbought taught mistaught buy child children grandchildren located location locate born birth
birthplace city café 사람 사람들 감독 감독한 각본 각본가 나라 さくら
"""
LIST = TEXT.split()
ASKED = [*LIST, "penned", "wrote", "rethought", "teach", "감독은", "사람이", "나", "thinker", "mouse", "at"]


def test_the_index_finds_what_comparing_with_every_word_finds() -> None:
    similar = SimilarWords(LIST)
    for word in ASKED:
        of_its_script = [item for item in LIST if is_korean(item) == is_korean(word)]
        wanted = sorted(
            (candidate, grade) for candidate in of_its_script if (grade := likeness(word, candidate))
        )
        assert list(similar.to(word)) == wanted, word
    assert "mistaught" in dict(SimilarWords(["mistaught", "city"]).to("teaches"))  # inside a compound
    assert list(SimilarWords([]).to("word")) == []


@pytest.mark.parametrize(
    ("form", "forms"),
    [
        ("쓰다", "썼나 썼는가 썼습니까 쓴 쓰는"),
        ("세우다", "세웠나 세웠는지 세운 세우는"),
        ("그리다", "그렸어요 그린 그리는"),
        ("태어나다", "태어났나 태어난"),
        ("살다", "살았나 살았다"),
        ("오다", "왔나 온"),
        ("주인다", "주인은"),  # a noun: no word for a relation has this form
    ],
)
def test_forms_of_a_korean_verb_have_one_dictionary_form(form, forms) -> None:
    assert {dictionary_form(word) for word in forms.split()} == {form}
    assert [dictionary_form(word) for word in ("있나", "서울", "wrote")] == ["있나", "서울", "wrote"]
