"""Some kills and Ctrl-Cs at random moments; tests/tools/kills.py runs any number."""

from __future__ import annotations

import pytest

from tests.tools.kills import interrupts, kills

pytestmark = pytest.mark.slow


def test_a_few_kills_of_every_kind_leave_nothing_half_written() -> None:
    assert [found for found in kills(12, 3) if found[2]] == []


def test_ctrl_c_soon_after_the_start_of_any_command_is_one_line() -> None:
    told = list(interrupts(10, 3))
    assert [found for found in told if found[2] not in ("130", "done", "in Python's own start")] == []
    assert "130" in {found[2] for found in told}
