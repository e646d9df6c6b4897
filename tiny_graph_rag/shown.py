"""How values are shown: numbers as people read them (the one place that rounds), lists by their first names,
and large records in a line or two, whatever they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

LONGEST = 60  # characters of one value
LISTED = 3  # items of a list that is shown whole
UNDEFINED = "–"


def short_repr(record: Any) -> str:
    """`Run(offsets=int64[58], …)`, for `__repr__ = short_repr` in a dataclass: an array by its type and
    shape, a long list by its length, a record inside by its name."""
    parts = ", ".join(f"{field.name}={_short(getattr(record, field.name))}" for field in fields(record))
    return f"{type(record).__name__}({parts})"


def _short(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}[{', '.join(f'{size:,}' for size in value.shape)}]"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}(…)"
    if not isinstance(value, str) and hasattr(value, "__len__") and len(value) > LISTED:
        return f"<{type(value).__name__} of {len(value):,}>"
    if isinstance(value, list | tuple | dict | set | frozenset) and value:
        return f"<{type(value).__name__} of {len(value)}>"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def listed(names: Sequence[str], most: int) -> str:
    """`a, b, …`: the first `most` names, and an ellipsis where there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def three(value: float | None) -> str:
    """Three digits with a true minus sign, – where undefined (None or NaN)."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")  # no negative zero


def signed(value: float | None) -> str:
    """A difference: three digits with + or a true minus sign before them, – where undefined."""
    return (
        UNDEFINED if value is None or math.isnan(value) else f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")
    )


def figure(value: float | None, digits: int = 3) -> str:
    """A time, rate or factor in so many significant digits (0.00412, 4.12), all of a whole number (4,120),
    – where undefined."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def p_value(value: float | None) -> str:
    """`<.001` or three digits, – where undefined."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return "<.001" if value < 0.001 else f"{value:.3f}"
