"""Columns of fields hold what a loop over lines would read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_graph_rag.columns.arrays import Directory
from tiny_graph_rag.columns.fields import split

WORD = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=("Z", "C")), min_size=1
)


def column(texts: list[str], before: str = "x"):
    block = split("".join(f"{before} {text}\n" for text in texts).encode(), 2)
    assert block is not None
    return block.column(1)


@settings(deadline=None)
@given(st.lists(WORD, min_size=1, max_size=20))
def test_texts_come_back_and_hashes_agree_with_equality(texts: list[str]) -> None:
    found = column(texts)
    assert found.texts() == texts
    hashes = found.hashes().tolist()
    for a, one in zip(hashes, texts, strict=True):
        for b, other in zip(hashes, texts, strict=True):
            assert (a == b) == (one == other)
    assert found.equals(column(texts)).all()
    assert column(texts).equals(column(texts[1:] + texts[:1])).tolist() == [
        a == b for a, b in zip(texts, texts[1:] + texts[:1], strict=True)
    ]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False).map(repr),
            st.integers(-(10**18), 10**18).map(str),
            st.decimals(-(10**9), 10**9, places=6, allow_nan=False).map(str),
            st.from_regex(r"-?[0-9]{0,9}\.?[0-9]{1,9}", fullmatch=True),
            st.from_regex(r"-?[0-9]{1,10}\.[0-9]{2}", fullmatch=True),
            st.from_regex(r"[0-9]{1,9}", fullmatch=True),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(["x", "far from the beginning".replace(" ", "-")]),
)
def test_numbers_are_read_as_python_reads_them(texts: list[str], before: str) -> None:
    assert column(texts, before).numbers().tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("first", ["12.25", "12", "12.", "-.5", "1234567.1234567"])
@pytest.mark.parametrize(
    "odd", ["1/.25", "1:.25", "12.2e", "+1.25", "1.2.25", ".25", "1 .25", "-", "2a", "99999999999.25"]
)
def test_one_odd_number_among_many_alike_is_read_with_care(first: str, odd: str) -> None:
    odd = odd.replace(" ", "")
    try:
        expected = float(odd)
    except ValueError:
        expected = math.nan
    found = column([first, odd, first], "a-long-name").numbers()
    assert found[[0, 2]].tolist() == [float(first)] * 2
    assert np.array_equal(found[1], expected, equal_nan=True)


@pytest.mark.parametrize("text", ["1.2.3", "abc", "1e", "--1", "12345678.1234.56", ".", "-", "0x10", "nan"])
def test_what_is_no_number_is_nan(text: str) -> None:
    assert math.isnan(column([text]).numbers()[0])


@pytest.mark.parametrize("text", ["a b\nc\n", "a  b\n", "a b\r\n", " a b\n", "a b c d\n", "a b\n\nc d\n"])
def test_what_is_not_regular_is_left_to_the_careful_reader(text: str) -> None:
    assert split(text.encode(), 2) is None


def test_a_directory_finds_every_hash_even_where_many_share_their_first_bits() -> None:
    far = np.random.default_rng(0).integers(0, 2**64, 500, dtype=np.uint64)
    near = np.arange(2**63, 2**63 + 500, dtype=np.uint64)
    known = np.sort(np.concatenate([far, near, np.array([0, 2**64 - 1], dtype=np.uint64)]))
    assert (known[Directory(known).find(known)] == known).all()


def test_a_directory_of_one_hash_finds_it() -> None:
    assert Directory(np.array([7], dtype=np.uint64)).find(np.array([7, 8], dtype=np.uint64)).tolist() == [
        0,
        0,
    ]
