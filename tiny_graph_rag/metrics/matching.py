"""Which reference an entity fills where it could fill several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tiny_graph_rag.dataset.resolve import Judgments

NO_ITEM = -1


def matched_in_order(keys: NDArray[np.int64], judgments: Judgments) -> list[int]:
    """Row by row, the relevant item that becomes fillable with this entity: a growing maximum matching.

    keys: (rows,) of one question, best first, question * universe + entity. NO_ITEM where one adds none.
    """
    options = []
    seen: set[int] = set()
    for key in keys.tolist():
        first = np.searchsorted(judgments.pair_keys, key)
        last = np.searchsorted(judgments.pair_keys, key, side="right")
        items = judgments.pair_items[first:last].tolist() if key not in seen else []
        options.append(sorted(items, key=lambda item: (-judgments.grades[item], item)))
        seen.add(key)
    holder: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> int:
        item: int
        for item in options[row]:
            if item in tried:
                continue
            tried.add(item)
            if item not in holder:
                holder[item] = row
                return item
            gained = place(holder[item], tried)
            if gained != NO_ITEM:
                holder[item] = row
                return gained
        return NO_ITEM

    return [place(row, set()) for row in range(len(keys))]
