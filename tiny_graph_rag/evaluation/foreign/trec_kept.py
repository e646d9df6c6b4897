"""What is kept of a run whose lines are scattered: narrow columns, filled block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.evaluation.foreign.trec_gold import AnotherWay
from tiny_graph_rag.evaluation.foreign.trec_lookup import Looked

GROWTH = 1.1
_WIDE = 1 << 32  # bytes of a file whose places no longer fit into 32 bits


class Kept:
    """capacity: lines that are expected; memory that no line needs is never touched."""

    def __init__(self, file_bytes: int, capacity: int) -> None:
        place = np.uint32 if file_bytes < _WIDE else np.int64
        types: tuple[Any, ...] = (np.int32, np.float64, np.uint64, np.int32, place, np.uint16)
        self._columns = [np.empty(capacity, dtype=each) for each in types]
        self._count = 0

    def add(self, looked: Looked, base: int) -> None:
        """Lines of a block that begins at `base`. Raises AnotherWay for names of 64 KiB and more."""
        start, stop = self._count, self._count + len(looked.keys)
        if stop > len(self._columns[0]):
            for place, column in enumerate(self._columns):
                self._columns[place] = np.empty(int(stop * GROWTH), dtype=column.dtype)
                self._columns[place][:start] = column[:start]
        if int(looked.lengths.max(initial=0)) > np.iinfo(np.uint16).max:
            raise AnotherWay
        values: tuple[NDArray[Any], ...] = (
            looked.questions,
            looked.scores,
            looked.keys,
            looked.gold_rows,
            looked.starts + base,
            looked.lengths,
        )
        for column, each in zip(self._columns, values, strict=True):
            column[start:stop] = each
        self._count = stop

    def taken(self) -> Looked:
        """All of them. Nothing may be added after."""
        return Looked(*(column[: self._count] for column in self._columns))
