"""How large records show themselves in a line or two, whatever they hold."""

from __future__ import annotations

from reprlib import repr as shortened
from typing import Any


def short_repr(record: Any) -> str:
    """`Run(offsets=array([0, 1…), …)`, for `__repr__ = short_repr` in a record: a few items or letters of
    each field."""
    parts = ", ".join(f"{name}={shortened(getattr(record, name))}" for name in record.__match_args__)
    return f"{type(record).__name__}({parts})"
