"""Folding, the words of a folded text, and particles; whether two spellings are one name, and by what they
differ; texts pasted as questions take time in proportion."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tiny_graph_rag.answers.answering import abstains, cited_facts, without_citations
from tiny_graph_rag.answers.context import _FENCE as GRAPH_FENCE
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.validate import are_alike
from tiny_graph_rag.graph.name_forms import Difference, core_of, differences, long_and_short
from tiny_graph_rag.language.folding import LONGEST_RUN, Text, fold, nfc, nfd
from tiny_graph_rag.language.function_words import LONGEST_REST, _final_of, are_particles, ends_a_name
from tiny_graph_rag.linking.llm import _FENCE as QUESTION_FENCE
from tiny_graph_rag.linking.question_words import EITHER, SEED
from tiny_graph_rag.llm.base import read_object
from tiny_graph_rag.measures.base import parse_measures


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.text(max_size=12) | st.text("aE\u0301ß가각ㄱ\u1100\u1161İ山の .!?", max_size=12))
def test_a_text_keeps_the_characters_that_folding_keeps_and_knows_where_they_stand(whole: str) -> None:
    whole = whole.replace("\u0345", "")  # it changes its place between folding and composition
    text = Text.of(whole)
    assert text.kept == "".join(text.words) == fold(whole)
    for place in range(len(text.kept)):
        start, end = text.span(place, place + 1)
        assert 0 <= start < end <= len(text.whole)
    spans = [text.span(*bounds) for bounds in zip(text.starts, text.ends, strict=True)]
    assert [text.bounds(word) for word in range(len(text.words))] == spans


@settings(max_examples=200, deadline=None)
@given(st.text("aé 가山の.", max_size=12))
def test_a_text_is_cut_where_names_may_begin_or_end(whole: str) -> None:
    text = Text.of(whole)
    cuts = text.cuts()
    assert "".join(text.kept[cut.start : cut.end] for cut in cuts) == text.kept
    assert set(text.starts) <= {cut.start for cut in cuts if cut.opens}
    assert set(text.ends) <= {cut.end for cut in cuts if not cut.inside}


def test_a_decomposed_syllable_is_one_character() -> None:
    text = Text.of(unicodedata.normalize("NFD", "점순"))
    assert text.kept == "점순"
    assert [text.span(place, place + 1) for place in range(2)] == [(0, 1), (1, 2)]


def test_folding_a_text_of_ascii_is_folding_any_text() -> None:
    assert [fold(text) for text in ("U.S.A.", "?!", "점순네 수탉", "STRASSE", "Straße")] == [
        "usa", "?!", "점순네수탉", "strasse", "strasse"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rest", "read"),
    [
        ("점순", "이", True),
        ("점순", "가", True),
        ("나", "는", True),
        ("나", "은", False),  # 나은 is another word
        ("나", "무", False),
        ("나", "라는", False),
        ("닭", "와", True),
        ("국", "가", False),
        ("서울", "로", True),
        ("서울", "으로", True),
        ("집", "에서는", True),
        ("점순", "이에게만은", True),
        ("점순", "네", True),
        ("동", "네", False),
        ("점순", "선생님께서", True),
        ("이순신", "이었습니까", True),
        ("이순신", "은요", True),
        ("tom", "은", True),
        ("tom", "는", True),
        ("점순", "에서에서에서에서에서", False),
    ],
)
def test_particles_stand_behind_a_name_and_fit_one_of_one_syllable(name: str, rest: str, read: bool) -> None:
    assert are_particles(name, rest) is read


@given(st.text(alphabet="aé가ᄀ\u0301\u0323\u0f71＝\u0338= ", max_size=40))
def test_nfc_and_nfd_are_unicodes_where_no_run_of_marks_is_longer_than_text_has(text: str) -> None:
    longest = max(map(len, re.findall(r"[^\w\s!-~]+", text)), default=0)
    assume(longest <= LONGEST_RUN)
    assert (nfc(text), nfd(text)) == tuple(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))


def test_a_longer_run_of_marks_is_normalised_in_parts_and_stays_so() -> None:
    text = "x" + "\u0323\u0301" * 5_000 + "é"
    assert nfc(nfc(text)) == nfc(text)
    assert nfd(nfd(text)) == nfd(text)
    assert sorted(nfd(text)) == sorted(unicodedata.normalize("NFD", text))


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
    ("Sherlcok Holmes", "Sherlock Holmes", {Difference.SLIP}),
    ("Grimesby Roylott", "Grimesby Roylot", {Difference.SLIP}),
    ("노란 동백꽃", "노란동백꽃", {Difference.SPACING}),
    ("나의 식구", "나의식구", {Difference.SPACING}),
    ("나의 어머니", "나 어머니", {Difference.PARTICLE}),
    ("점순", "점순이", {Difference.PARTICLE}),
    ("밭", "밭을", {Difference.PARTICLE}),
    ("아이", "아이들", {Difference.PLURAL}),
    ("동광학교", "동광학교(東光學校)", {Difference.GLOSS}),
    ("Nordwind AG", "Nordwind", {Difference.TITLE}),
    ("주식회사 한빛", "한빛", {Difference.TITLE}),
    ("beds for guests", "bed for guests", {Difference.PLURAL}),
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
    ("박녹주", "박록주"),
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


LONG = 200_000


def test_a_question_that_says_one_name_ten_thousand_times_is_read_once() -> None:
    masked = f"{SEED} " * 100_000
    assert EITHER.search(masked) is None
    assert EITHER.search(f"{masked} or the {SEED}?") is not None
    assert EITHER.search(f"{SEED}, 아니면 {SEED}?") is not None
    assert EITHER.search(f"{SEED} and {SEED} or so") is None


def test_a_word_of_a_hundred_thousand_syllables_is_a_name_and_particles_at_its_end_alone() -> None:
    assert are_particles("점순", "이에게서부터는")
    assert not are_particles("점순", "이" * LONG)
    text = Text.of("가나다라마바사점순이" * (LONG // 10))
    found = [one for one in text.stretches(lambda cut: text.ends[cut.word]) if ends_a_name(text, one)]
    assert 0 < len(found) <= LONGEST_REST


RUNS = [*'x1 \n\\,([<"_.`', "x(", "a,", "[1,", "< ", '\\"', "1 "]


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=repr)
@pytest.mark.parametrize("around", [("", ""), ("[", "!"), ("<", "x"), ("```", "x"), ("점", "+"), ('"', "\\")])
def test_no_pattern_looks_at_a_long_text_twice_for_each_character(run: str, around: tuple[str, str]) -> None:
    text = around[0] + run * (LONG // len(run)) + around[1]
    for pattern in (GRAPH_FENCE, QUESTION_FENCE):
        pattern.sub("", text)
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
