"""Small array functions that the main job needs at once.

numpy's own set functions (unique, isin, setdiff1d) load numpy.ma when first called, a tenth of the start-up;
these are the same on plain integer arrays without it.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

PRIVATE = hasattr(mmap, "MAP_PRIVATE")  # not on Windows
TOUCHED_FROM_BYTES = 1 << 27  # below, huge pages are the quicker ones

Integer = TypeVar("Integer", bound=np.integer[Any])


def zeros_as_touched(length: int, kind: type[np.generic]) -> NDArray[Any]:
    """Zeros that take memory page by page as they are written.

    numpy asks for huge pages: of a column as long as a large graph, each place written would take 2 MB.
    """
    size = length * np.dtype(kind).itemsize
    if size < TOUCHED_FROM_BYTES:
        return np.zeros(length, dtype=kind)
    # Private: of pages that are only read, all share one of zeros.
    memory = mmap.mmap(-1, size, **({"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if PRIVATE else {}))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=kind)


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


def found_in(sorted_values: NDArray[Integer], values: NDArray[Integer]) -> NDArray[np.bool_]:
    """For each of `values` whether it stands in `sorted_values`, which is ascending."""
    if not len(sorted_values):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return np.asarray(sorted_values[place] == values)


def expanded(
    first: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`stretches`, and before them which stretch each place is of."""
    return np.repeat(np.arange(len(first)), counts), stretches(first, counts)
