"""Small array functions that the main job needs at once, and what is looked up or added up in long columns.

numpy's own set functions (unique, isin, setdiff1d) load numpy.ma when first called, a tenth of the start-up;
those here are the same on plain integer arrays without it.

`KeyTable` finds rows by hash, of texts asked one at a time. `summed` adds up over the rows of a long column
of which a question touches few: what it costs grows with these.

A longer loop is written as a plain function of arrays and numbers: `compiled(kernel)` where
`worth_compiling(steps)` says so, and the function itself elsewhere. Both must give equal results: integers,
or floats that are added in one order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, AnyStr, NamedTuple, ParamSpec, TypeVar, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

# Importing numba takes about a second, in which plain Python does this many innermost steps.
WORTH_STEPS = 3_000_000

Integer = TypeVar("Integer", bound=np.integer[Any])
P = ParamSpec("P")
R = TypeVar("R")


def begins(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """(rows,): whether a row differs in any column from the one above; the first does."""
    found = np.zeros(len(columns[0]), dtype=bool)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def unique(values: NDArray[Integer]) -> NDArray[Integer]:
    """The different values, ascending."""
    ascending = np.sort(values)
    return ascending[begins(ascending)]


def distinct(values: NDArray[Integer]) -> tuple[NDArray[Integer], NDArray[np.int64]]:
    """The different values, ascending, and the row at which each stands first."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    starts = begins(ascending)
    return ascending[starts], order[starts]


def numbered(values: NDArray[Integer]) -> NDArray[np.int64]:
    """(rows,): the place of each value among the different ones, ascending."""
    return np.searchsorted(unique(values), values).astype(np.int64)


def counted(values: NDArray[Integer]) -> tuple[NDArray[Integer], NDArray[np.int64]]:
    """The different values, ascending, and how often each occurs."""
    ascending = np.sort(values)
    places = np.flatnonzero(begins(ascending))
    return ascending[places], np.diff(places, append=len(ascending))


def stretches(
    starts: NDArray[np.signedinteger[Any]], lengths: NDArray[np.signedinteger[Any]]
) -> NDArray[np.int64]:
    """The places of stretches one after the other: `starts[0]`, `starts[0] + 1`, …, `starts[1]`, …"""
    ends = np.cumsum(lengths)
    places: NDArray[np.int64] = np.arange(ends[-1] if len(ends) else 0)
    places += np.repeat(starts - (ends - lengths), lengths)
    return places


def looked_up(
    sorted_values: NDArray[Integer], values: NDArray[Integer]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each of `values` its first place in `sorted_values`, which ascends, and whether it is there."""
    if not len(sorted_values):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return place, np.asarray(sorted_values[place] == values)


def found_in(sorted_values: NDArray[Integer], values: NDArray[Integer]) -> NDArray[np.bool_]:
    """For each of `values` whether it stands in `sorted_values`, which is ascending."""
    return looked_up(sorted_values, values)[1]


def rows_holding(
    text: AnyStr, wanted: AnyStr, ends: NDArray[np.signedinteger[Any]], most: int
) -> Iterator[int]:
    """Rows of a text in which the wanted one stands, at most so many. ends: where each row ends in it."""
    at = text.find(wanted)
    while at >= 0 and most > 0:
        row = int(np.searchsorted(ends, at, side="right"))
        yield row
        at, most = text.find(wanted, int(ends[row])), most - 1


def expanded(
    first: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`stretches`, and before them which stretch each place is of."""
    return np.repeat(np.arange(len(first)), counts), stretches(first, counts)


Keys = NDArray[np.uint32]

KEY_BITS = 32


def key_of(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def keys_of(texts: Sequence[str]) -> Keys:
    """(texts,), of texts without halves of characters."""
    return np.fromiter(map(crc32, map(str.encode, texts)), dtype=np.uint32, count=len(texts))


class KeyTable:
    """The rows of texts by their keys; equal keys are candidates, whoever asks compares the texts.

    A hash table in columns: one of a million texts is built in a second, is the same in a file as in memory,
    and is asked without being read. keys: ascending; rows: int32, the text of each; slots: int32, where the
    keys with the same first bits begin. Memory views give Python single numbers faster than arrays do.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.keys: Sequence[int] = columns["keys"].data
        self.rows: Sequence[int] = columns["rows"].data
        self.slots: Sequence[int] = columns["slots"].data
        self.shift = KEY_BITS - (len(self.slots) - 1).bit_length() + 1

    @staticmethod
    def columns(keys: Keys, rows: NDArray[np.int32], bits: int) -> dict[str, NDArray[Any]]:
        """What a table is made of. keys: of the rows, these ascending; bits: the first that find a slot."""
        order = np.argsort(keys, kind="stable")
        slots = np.zeros((1 << bits) + 1, dtype=np.int32)
        np.cumsum(np.bincount(keys >> np.uint32(KEY_BITS - bits), minlength=1 << bits), out=slots[1:])
        return {"keys": keys[order], "rows": rows[order], "slots": slots}

    def rows_of(self, key: int) -> list[int]:
        """The texts with this key, ascending."""
        slot = key >> self.shift
        keys, rows = self.keys, self.rows
        return [rows[place] for place in range(self.slots[slot], self.slots[slot + 1]) if keys[place] == key]


MANY = 8  # one part of so many of the column's rows: then the column is looked through instead of sorting


class Summed(NamedTuple):
    """rows: int64, ascending, each once; sums: int64, > 0."""

    rows: NDArray[np.int64]
    sums: NDArray[np.int64]


def summed(parts: Sequence[tuple[NDArray[np.signedinteger[Any]], NDArray[np.int64]]], length: int) -> Summed:
    """Sums over the rows of a column so long. parts: rows, also repeated ones, and what is added to each,
    not below 0, below 2^53 in all."""
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in parts)])
    values = np.concatenate([np.zeros(0, np.int64), *(values for _, values in parts)])
    if MANY * len(rows) > length:
        column = np.bincount(rows, values, length).astype(np.int64)
        found = np.flatnonzero(column)
        return Summed(found, column[found])
    order = np.argsort(rows, kind="stable")
    firsts = np.flatnonzero(begins(rows[order]))
    sums = np.add.reduceat(values[order], firsts) if len(rows) else values
    return Summed(rows[order][firsts][sums > 0], sums[sums > 0])


def beyond(values: NDArray[np.int64], weights: NDArray[np.int64], most: int) -> int:
    """The greatest value with which, and all greater ones, the weights exceed `most`; -1 where all don't.

    So `values > beyond(…)` are those that fit, equal ones together or not at all.
    """
    if int(weights.sum()) <= most:
        return -1
    order = np.argsort(-values)
    together = np.cumsum(weights[order])
    return int(values[order[int(np.searchsorted(together, most, side="right"))]])


@cache
def can_compile() -> bool:
    """Whether numba is installed (the extra `fast`). Looks without importing it."""
    return find_spec("numba") is not None


def worth_compiling(steps: int, *, allowed: bool = True) -> bool:
    """Whether to use the compiled kernel for about `steps` innermost iterations in all.

    allowed: the setting `running.compiled`. Once numba is in, it is always worth it.
    """
    return allowed and can_compile() and ("numba" in sys.modules or steps >= WORTH_STEPS)


@cache
def compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """The kernel as machine code that lets other threads run; kept on disk next to its module by numba."""
    import numba

    made: Any = numba.njit(nogil=True, cache=True)(kernel)
    with suppress(OSError):  # another process removes it too, or the folder is read-only
        _forget_older(Path(made.stats.cache_path), Path(kernel.__code__.co_filename))
    return cast(Callable[P, R], made)


def read_only(column: NDArray[Any]) -> NDArray[Any]:
    """A view for a compiled kernel: columns from a file can't be written to; if all are so, one compiled form
    serves."""
    view = column.view()
    view.flags.writeable = False
    return view


def _forget_older(kept: Path, module: Path) -> None:
    """Remove what numba kept of a module from before a source next to it changed. numba looks at the module
    alone; the classes and constants that it takes from the others may be gone."""
    changed = max(source.stat().st_mtime for source in module.parent.glob("*.py"))
    for index in kept.glob(f"{module.stem}.*.nbi"):
        if index.stat().st_mtime < changed:
            index.unlink()


def short_repr(record: Any) -> str:
    """`Run(offsets=array([0, 1…), …)`, for `__repr__ = short_repr` in a record: a few items or letters of
    each field."""
    parts = ", ".join(f"{name}={shortened(getattr(record, name))}" for name in record.__match_args__)
    return f"{type(record).__name__}({parts})"
