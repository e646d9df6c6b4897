"""How far two annotators agree beyond chance: Cohen's κ, plain and weighted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import starmap
from operator import eq, ne

from msgspec import Struct

GRADES = (0, 1, 2)


class AnnotatorAgreement(Struct, frozen=True):
    """judged: entities that both judged; same: of these judged equally. kappa, weighted: in [-1, 1], NaN
    where nothing was judged by both, or both gave everything one and the same grade."""

    judged: int
    same: int
    kappa: float
    weighted: float


def agreement(one: Sequence[int], other: Sequence[int]) -> AnnotatorAgreement:
    """one, other: grades 0 to 2, or no and yes, of the same entities in the same order.

    κ = 1 - Σ w·observed / Σ w·expected, with w = 1 off the diagonal for κ and the squared distance of the
    grades for the weighted one. Sources: Cohen (1960), Cohen (1968).
    """
    pairs = [(int(a), int(b)) for a, b in zip(one, other, strict=True)]
    mine, yours = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    if not pairs:
        return AnnotatorAgreement(0, 0, math.nan, math.nan)

    def kappa(weight: Callable[[int, int], int]) -> float:
        observed = sum(starmap(weight, pairs)) / len(pairs)
        by_chance = sum(weight(a, b) * mine[a] * yours[b] for a in mine for b in yours) / len(pairs) ** 2
        return 1 - observed / by_chance if by_chance else math.nan

    same = sum(starmap(eq, pairs))
    return AnnotatorAgreement(len(pairs), same, kappa(ne), kappa(lambda a, b: (a - b) ** 2))
