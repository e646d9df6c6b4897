"""Numbers as people read them: the one place that rounds."""

from __future__ import annotations

import math

UNDEFINED = "–"


def three(value: float | None) -> str:
    """Three digits with a true minus sign, – where undefined (None or NaN)."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")  # no negative zero


def signed(value: float | None) -> str:
    """A difference: three digits with + or - before them, – where undefined."""
    return UNDEFINED if value is None or math.isnan(value) else f"{round(value, 3) + 0.0:+.3f}"


def p_value(value: float | None) -> str:
    """`<.001` or three digits, – where undefined."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return "<.001" if value < 0.001 else f"{value:.3f}"
