"""How numbers are shown: `figure` against what a reader would write by hand."""

from __future__ import annotations

import math

import pytest

from tiny_graph_rag.messages import figure


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (402.7, 2, "403"),
        (1.5e6, 2, "1,500,000"),
        (0.2512, 2, "0.25"),
        (9.996, 3, "10"),
        (4.1, 3, "4.1"),
        (0.0000412, 2, "0.000041"),
        (-0.5, 2, "-0.5"),
        (100, 3, "100"),
        (0, 3, "0"),
        (None, 3, "–"),
        (math.nan, 3, "–"),
        (math.inf, 3, "–"),
    ],
)
def test_a_figure_has_no_power_of_ten(value: float | None, digits: int, text: str) -> None:
    assert figure(value, digits) == text
