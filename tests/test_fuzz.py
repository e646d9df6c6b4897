"""Some hundred broken files for the commands that read one; tests/tools/fuzz.py runs any number."""

from __future__ import annotations

import pytest

from tests.tools.fuzz import fuzz

CASES, SEED = 600, 1


@pytest.mark.slow
def test_broken_graphs_of_every_writer_end_in_words() -> None:
    assert fuzz(120, SEED, only="graph ").wrong == []


@pytest.mark.slow
def test_broken_files_end_in_words_in_time_and_in_bounded_memory() -> None:
    fuzzed = fuzz(CASES, SEED, workers=2)
    assert fuzzed.wrong == []
    assert fuzzed.accepted.total() > CASES / 5, "most cases end before they reach the code behind the reader"
