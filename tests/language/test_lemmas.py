"""Lemmas: simplemma's own, whether its dictionary comes from the cache or not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import simplemma

from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.language.words import Lemmas

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
            (kept / "keys.npy").write_bytes(b"nonsense")
        if state == "impossible":
            kept = max(cache_folder().glob("lemmas/*"), key=lambda path: path.stat().st_mtime)
            shutil.rmtree(kept.parent)
            kept.parent.write_text("a file where the folder should be")
        lemmas = Lemmas.open()
        assert [lemmas.form(word) for word in WORDS] == wanted, state
        assert [lemmas.form(word) for word in UNKNOWN] == [None] * len(UNKNOWN)


def test_words_that_the_dictionary_holds_need_no_simplemma() -> None:
    Lemmas.open()
    code = (
        "import sys; from tiny_graph_rag.language.words import likeness, lemma;"
        "print(lemma('written'), likeness('works', 'located'), lemma('zxqvab'), 'simplemma' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["write", "0", "zxqvab", "False"]
