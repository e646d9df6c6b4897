"""Objects → columns, for the page: one list a field in place of one object a question.

A page with 14,000 questions and 190,000 references stays small and opens fast because every field's name
stands once, every string stands once (in a table that the columns point into) and nothing is unpacked before
somebody looks at it. Lossless but for numbers, of which seven digits are kept. `page/columns.js` reads it.

A column is one of
    ["c", value]              the same value in every row (nothing but null, numbers, booleans, strings)
    ["n", [number, ...]]      numbers, booleans, null
    ["s", [place, ...]]       strings, as places in the table
    ["l", [length, ...], column]        lists: how many items each row has, and all items as one column
    ["o", [[field, column], ...]]       objects with the same fields
    ["?", "0120…", column]    a digit a row: 0 there, 1 null, 2 missing; the column holds the rows that are 0
    ["j", [value, ...]]       anything else, as it is
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SIGNIFICANT_DIGITS = 7  # more than any screen shows, and half the bytes of full precision

_MISSING = object()


class Packer:
    """Packs columns that share one table of strings (`strings`, in order of first appearance)."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def strings(self) -> list[str]:
        return list(self._places)

    def pack(self, rows: Sequence[Any]) -> list[Any]:
        """The column of `rows`: anything that JSON can hold."""
        absent = [each is None or each is _MISSING for each in rows]
        if any(absent) and not all(each is None for each in rows):
            present = [each for each, gone in zip(rows, absent, strict=True) if not gone]
            if not all(isinstance(each, int | float) for each in present) or _MISSING in rows:
                digits = "".join("1" if row is None else "2" if row is _MISSING else "0" for row in rows)
                return ["?", digits, self.pack(present)]
        kinds = {type(each) for each in rows}
        if len(kinds) == 1:
            kind = next(iter(kinds))
            if kind is str:
                places = [self._places.setdefault(each, len(self._places)) for each in rows]
                return ["c", rows[0]] if len(set(places)) == 1 else ["s", places]
            if kind is list:
                return [
                    "l",
                    [len(each) for each in rows],
                    self.pack([item for each in rows for item in each]),
                ]
            if kind is dict:
                fields = dict.fromkeys(field for each in rows for field in each)
                columns = [[name, self.pack([each.get(name, _MISSING) for each in rows])] for name in fields]
                return ["o", columns]
        if kinds <= {int, float, bool, type(None)}:
            numbers = [_short(each) for each in rows]
            same = len(kinds) == 1 and all(each == numbers[0] for each in numbers)
            return ["c", numbers[0]] if same else ["n", numbers]
        return ["j", list(rows)]


def _short(value: float | None) -> float | int | None:
    if not isinstance(value, float):
        return value
    short = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
