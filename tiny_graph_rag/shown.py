"""How large records show themselves in a line or two, whatever they hold."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

LONGEST = 60  # characters of one value
LISTED = 3  # items of a list that is shown whole


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
