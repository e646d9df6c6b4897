"""How large records show themselves in a line or two, whatever they hold."""

from __future__ import annotations

from dataclasses import fields
from reprlib import repr as shortened
from typing import Any


def short_repr(record: Any) -> str:
    """`Run(offsets=array([0, 1…), …)`, for `__repr__ = short_repr` in a dataclass: a few items or letters of
    each field."""
    parts = ", ".join(f"{field.name}={shortened(getattr(record, field.name))}" for field in fields(record))
    return f"{type(record).__name__}({parts})"
