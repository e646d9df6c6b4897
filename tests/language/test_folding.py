"""Folding one text, and a million at once: the same characters."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_graph_rag.language.characters import characters, keys, keys_of, running
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.particles import ParticleFit, particles

TEXTS = st.lists(st.text(max_size=12) | st.text("aE\u0301ß가각ㄱ\u1100\u1161İ .!?", max_size=12), max_size=5)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_columns_fold_as_fold_does(texts: list[str]) -> None:
    # U+0345 changes its place between folding and composition; no name is written with it.
    texts = [text.replace("\u0345", "") for text in texts]
    column = characters(texts)
    bounds = column.bounds(len(texts))
    for row, text in enumerate(texts):
        part = column.codes[bounds[row] : bounds[row + 1]]
        assert "".join(map(chr, part.tolist())) == fold(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_keys_of_equal_characters_are_equal_wherever_they_stand(before: str, text: str) -> None:
    column = characters([before, text])
    low, high = column.bounds(2)[1:]
    if high > low:
        key = keys(running(column.codes), np.array([low]), np.array([high]))
        assert key[0] == keys_of([text])[0]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20))
def test_every_kept_character_knows_where_it_stands(text: str) -> None:
    column = characters([text])
    for start, end in zip(column.starts.tolist(), column.ends.tolist(), strict=True):
        assert 0 <= start < end <= len(text)


def test_a_decomposed_syllable_is_one_character_with_its_whole_place() -> None:
    column = characters([unicodedata.normalize("NFD", "점순")])
    assert "".join(map(chr, column.codes.tolist())) == "점순"
    assert list(zip(column.starts.tolist(), column.ends.tolist(), strict=True)) == [(0, 3), (3, 6)]


@pytest.mark.parametrize(
    ("name", "rest", "fit"),
    [
        ("점순", "이", ParticleFit.FITS),
        ("점순", "가", ParticleFit.MISFIT),
        ("나", "는", ParticleFit.FITS),
        ("나", "은", ParticleFit.NONE),  # 나은 is another word
        ("나", "무", ParticleFit.NONE),
        ("나", "라는", ParticleFit.NONE),
        ("닭", "와", ParticleFit.MISFIT),
        ("국", "가", ParticleFit.NONE),
        ("서울", "로", ParticleFit.FITS),
        ("서울", "으로", ParticleFit.MISFIT),
        ("집", "에서는", ParticleFit.FITS),
        ("점순", "이에게만은", ParticleFit.FITS),
        ("점순", "네", ParticleFit.FITS),
        ("동", "네", ParticleFit.NONE),
        ("점순", "선생님께서", ParticleFit.FITS),
        ("이순신", "이었습니까", ParticleFit.FITS),
        ("이순신", "은요", ParticleFit.FITS),
        ("tom", "은", ParticleFit.FITS),
        ("tom", "는", ParticleFit.FITS),
        ("점순", "에서에서에서에서에서", ParticleFit.NONE),
    ],
)
def test_particles_fit_the_last_sound(name: str, rest: str, fit: ParticleFit) -> None:
    assert particles(name, rest) is fit
