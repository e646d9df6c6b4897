"""Words that a word is like, found by index: the same as comparing with every word of the list."""

from __future__ import annotations

from tiny_graph_rag.language.words import is_korean, likeness
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
