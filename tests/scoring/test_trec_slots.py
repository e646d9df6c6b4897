"""Judged documents are found by their slots, however many share one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tiny_graph_rag.columns.fields import FieldColumn, split
from tiny_graph_rag.scoring.trec_slots import NOBODY, UNJUDGED, JudgedSlots


def column(names: list[str]) -> FieldColumn:
    block = split("".join(f"{name} -\n" for name in names).encode(), 2)
    assert block is not None
    return block.column(0)


def coarse(names: list[str], bits: int) -> np.ndarray:
    """Hashes of which only the first bits differ: the fewer, the more names share a slot."""
    chance = random.Random(1)
    made = {name: chance.getrandbits(bits) << (64 - bits) for name in sorted(set(names))}
    # The last bits tell them apart, for two documents of one hash are refused.
    return np.array([made[name] | sorted(made).index(name) for name in names], dtype=np.uint64)


@pytest.mark.parametrize("bits", [1, 3, 12])
def test_every_judged_document_is_found_and_no_other(bits: int) -> None:
    chance = random.Random(bits)
    known = [f"document-{n}" for n in range(60)]
    judged = [chance.sample(known, chance.choice((0, 1, 5, 40))) for _ in range(30)]
    offsets = np.cumsum([0, *map(len, judged)])
    rows = [key for some in judged for key in some]
    hashes = dict(zip(known, coarse(known, bits).tolist(), strict=True))
    slots = JudgedSlots(offsets, np.array([hashes[row] for row in rows], dtype=np.uint64), column(rows))
    asked = [*range(30), NOBODY, 3]
    lists = [chance.sample(known, 25) for _ in asked]
    flat = [key for some in lists for key in some]
    found = slots.find(
        np.array(asked),
        np.array([25] * len(asked)),
        np.array([hashes[reference] for reference in flat], dtype=np.uint64),
        column(flat),
    )
    expected = [
        offsets[question] + judged[question].index(key)
        if question != NOBODY and key in judged[question]
        else UNJUDGED
        for question, some in zip(asked, lists, strict=True)
        for key in some
    ]
    assert found.tolist() == expected


def test_a_stranger_with_the_hash_of_a_judged_document_is_told_by_its_name() -> None:
    one = np.array([5 << 60], dtype=np.uint64)
    slots = JudgedSlots(np.array([0, 1]), one, column(["judged"]))
    assert slots.find(np.array([0]), np.array([1]), one, column(["stranger"])).tolist() == [UNJUDGED]


def test_a_document_judged_twice_is_refused() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it says no more
        JudgedSlots(np.array([0, 3]), np.array([7, 9, 7], dtype=np.uint64), column(["a", "b", "a"]))
