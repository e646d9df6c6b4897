"""Words of any script, their lemmas, and which words are like a word."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import simplemma

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.language.words import (
    dictionary_form,
    form_of,
    is_in_listed_language,
    lemmas,
    likeness,
    word_spans,
    words_in,
)
from tiny_graph_rag.linking.question_words import NO_WORD, RelationWords


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


WORDS = ["works", "written", "went", "better", "children", "monday", "a"]
UNKNOWN = ["ated", "zxqvs", "rther"]


@pytest.mark.slow
def test_lemmas_are_simplemmas_with_the_cache_written_read_damaged_and_impossible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # not the one that all tests share
    wanted = [simplemma.lemmatize(word, lang="en").lower() for word in WORDS]
    assert wanted[:5] == ["work", "write", "go", "good", "child"]
    for state in ("written", "read", "damaged", "impossible"):
        if state == "damaged":
            kept = max(cache_folder().glob("lemmas/*"), key=lambda path: path.stat().st_mtime)
            (kept / "0.npy").write_bytes(b"nonsense")
        if state == "impossible":
            kept = max(cache_folder().glob("lemmas/*"), key=lambda path: path.stat().st_mtime)
            shutil.rmtree(kept.parent)
            kept.parent.write_text("a file where the folder should be")
        lemmas.cache_clear()
        assert [form_of(word) for word in WORDS] == wanted, state
        assert [form_of(word) for word in UNKNOWN] == [None] * len(UNKNOWN)
    lemmas.cache_clear()


def test_words_that_the_dictionary_holds_need_no_simplemma() -> None:
    lemmas.cache_clear()  # read from another folder before, they would not be written to this one
    lemmas()
    code = (
        "import sys; from tiny_graph_rag.language.words import likeness, lemma;"
        "print(lemma('written'), likeness('works', 'located'), lemma('zxqvab'), 'simplemma' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["write", "0", "zxqvab", "False"]


# Inflected, irregular (bought, taught), compounds of them, Korean with endings, another script.
TEXT = """
written write wrote writer screenwriter screenplay acted actor thought forethought think rethink
bought outbought taught mistaught buy child children grandchildren located location locate born birth
birthplace city café 사람 사람들 감독 감독한 각본 각본가 나라 サクラ
"""
LIST = TEXT.split()
ASKED = [*LIST, "penned", "wrote", "rethought", "teach", "teaches", "감독은", "나", "thinker", "mouse"]


def test_types_are_found_by_every_word_that_is_like_one_of_theirs() -> None:
    types = RelationWords(LIST, {}, Config().ranking)
    for word in ASKED:
        found = sorted(type for type, (_, place) in types.claims(word).items() if place != NO_WORD)
        assert found == [type for type, other in enumerate(LIST) if likeness(word, other)], word
    assert LIST.index("mistaught") in types.claims("teaches")  # inside a compound


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
