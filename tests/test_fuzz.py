"""Some hundred broken files for the commands that read one; tests/tools/fuzz.py runs any number."""

from __future__ import annotations

import pytest

from tests.tools.fuzz import fuzz

CASES, SEED = 600, 1


@pytest.mark.slow
def test_broken_graphs_of_every_writer_end_in_words() -> None:
    assert fuzz(120, SEED, only="graph ")[0] == []


@pytest.mark.slow
def test_broken_files_end_in_words_in_time_and_in_bounded_memory() -> None:
    assert fuzz(CASES, SEED, workers=2)[0] == []
