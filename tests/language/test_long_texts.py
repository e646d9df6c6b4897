"""Patterns over texts that others wrote look at each character a few times, however long the text is.

A quadratic one would look at these 200,000 characters ten thousand million times: the test would not end.
"""

from __future__ import annotations

import pytest

from tiny_graph_rag.answers.answering import abstains, cited_facts, without_citations
from tiny_graph_rag.answers.context import _FENCE as GRAPH_FENCE
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.detection import _TOKEN
from tiny_graph_rag.gold.validate import are_alike
from tiny_graph_rag.language.function_words import LONGEST_REST, ParticleFit, particles
from tiny_graph_rag.language.name_forms import long_and_short
from tiny_graph_rag.language.particles import _final_of
from tiny_graph_rag.linking.fuzzy import _stretches
from tiny_graph_rag.linking.llm import _FENCE as QUESTION_FENCE
from tiny_graph_rag.linking.question_words import EITHER, SEED
from tiny_graph_rag.llm.base import read_object
from tiny_graph_rag.measures.base import parse_measures

LONG = 200_000


def test_a_question_that_says_one_name_ten_thousand_times_is_read_once() -> None:
    masked = f"{SEED} " * 100_000
    assert EITHER.search(masked) is None
    assert EITHER.search(f"{masked} or the {SEED}?") is not None
    assert EITHER.search(f"{SEED}, 아니면 {SEED}?") is not None
    assert EITHER.search(f"{SEED} and {SEED} or so") is None


def test_a_word_of_a_hundred_thousand_syllables_is_a_name_and_particles_at_its_end_alone() -> None:
    assert particles("점순", "이에게서부터는") == ParticleFit.FITS
    assert particles("점순", "이" * LONG) == ParticleFit.NONE
    found = list(_stretches("가나다라마바사점순이" * (LONG // 10), frozenset()))
    assert 0 < len(found) <= LONGEST_REST


RUNS = [*'x1 \n\\,([<"_.`', "x(", "a,", "[1,", "< ", '\\"', "1 "]


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=repr)
@pytest.mark.parametrize("around", [("", ""), ("[", "!"), ("<", "x"), ("```", "x"), ("점", "+"), ('"', "\\")])
def test_no_pattern_looks_at_a_long_text_twice_for_each_character(run: str, around: tuple[str, str]) -> None:
    text = around[0] + run * (LONG // len(run)) + around[1]
    for pattern in (GRAPH_FENCE, QUESTION_FENCE):
        pattern.sub("", text)
    sum(1 for _ in _TOKEN.finditer(text))
    cited_facts(text), without_citations(text), abstains(text), _final_of(text)
    for read, error in ((read_object, ValueError), (parse_measures, UsageError)):
        with pytest.raises(error):
            read(text)  # type: ignore[operator]


def test_of_texts_pasted_as_questions_the_beginnings_are_compared() -> None:
    """Whole, two of 100,000 letters took 40 seconds."""
    assert are_alike("word " * 20_000, "word " * 20_000 + "other " * 20_000)
    assert not are_alike("word " * 20_000, "other " * 20_000)


@pytest.mark.parametrize("text", ["\t" * LONG, "a (" * LONG, "\t" * 300])
def test_a_long_text_is_no_name_with_a_short_form(text: str) -> None:
    assert long_and_short(text) is None
