"""The index of names: what a name means, one at a time or all at once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import kg, write_kg
from tests.linking.test_names import graph_of
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph import cache as cache_module
from tiny_graph_rag.graph import names, spellings
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.characters import keys_of
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.language.kinds import Kind, kind_of_type

NAMES = st.lists(st.text("aA !가ßé\u0301", max_size=4), min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(NAMES, NAMES)
def test_a_name_means_its_exact_bearers_else_those_that_fold_alike(
    bearers: list[str], asked: list[str]
) -> None:
    names = NameIndex.of(graph_of(bearers))
    found = names.resolve_all(asked)
    for name in asked:
        exact = [row for row, each in enumerate(bearers) if nfc(each) == nfc(name) and fold(name)]
        folded = [row for row, each in enumerate(bearers) if fold(each) == fold(name) and fold(name)]
        assert found[name][0] == tuple(exact or folded)
        assert names.resolve(name) == found[name]


def test_variants_are_for_linking_and_resolve_nothing(tmp_path: Path) -> None:
    document = kg(["Dr. Watson", "Dr. No", "Sons & Daughters"])
    document["entities"]["Dr. Watson"]["entity_type"] = "PERSON"
    path = write_kg(tmp_path / "x-KG.json", [])

    path.write_text(json.dumps(document), encoding="utf-8")
    names = NameIndex.of(read_graph(path))
    assert sorted(names.others) == ["Sons  and  Daughters", "Watson"]
    assert names.resolve("Watson") == ((), None)


def test_the_index_of_a_cached_graph_is_the_built_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "CACHED_FROM_BYTES", 0)
    path = write_kg(
        tmp_path / "x-KG.json", ["Sons & Daughters", ("점순", ["그녀", "Her"]), "Ann Lee", "Ann Ray"]
    )
    built, written, read = (
        NameIndex.of(read_graph(path, each)) for each in (None, tmp_path / "c", tmp_path / "c")
    )
    for each in fields(NameIndex):
        one, two, three = (getattr(index, each.name) for index in (built, written, read))
        assert list(one) == list(two) == list(three)
    assert len(list(tmp_path.glob("c/graphs/*/names.arrays"))) == 1


def test_function_words_come_from_title_case_names() -> None:
    titles = [f"{one} Berg der {two} Stadt" for one, two in zip("ABCDEF", "GHIJKL", strict=True)]
    assert NameIndex.of(graph_of(titles)).function_words.tolist() == keys_of(["der"]).tolist()
    sentence_case = [f"{one} valve" for one in ("Iron", "Old", "Red", "Big", "Wet", "Dry")]
    assert len(NameIndex.of(graph_of(sentence_case)).function_words) == 0


def test_the_last_known_word_of_a_type_says_its_kind() -> None:
    kinds = {"FICTIONAL_CHARACTER": Kind.PERSON, "Cities": Kind.UNKNOWN, "geoLocation": Kind.PLACE}
    kinds |= {"영화": Kind.WORK, "OTHER": Kind.UNKNOWN, "": Kind.UNKNOWN, "animals": Kind.THING}
    assert {name: kind_of_type(name) for name in kinds} == kinds


def test_words_are_counted_alike_however_often_they_are_merged(monkeypatch):
    dice = np.random.default_rng(3)
    pieces = [dice.integers(0, 50, size).astype(np.uint64) for size in (0, 7, 40, 1, 300, 5)]
    monkeypatch.setattr(spellings, "COUNTED_FROM", 10)
    counts = spellings.WordCounts()
    for piece in pieces:
        counts.add(piece)
    words, times = counts.counted()
    wanted = sorted(Counter(np.concatenate(pieces).tolist()).items())
    assert list(zip(words.tolist(), times.tolist(), strict=True)) == wanted
    assert counts.total == sum(map(len, pieces))
    key = np.sort(dice.integers(0, 1 << 64, 500, dtype=np.uint64))
    whole = names._filter(key)
    monkeypatch.setattr(names, "MARKS_AT_ONCE", 1 << 6)
    assert names._filter(key).tolist() == whole.tolist()
