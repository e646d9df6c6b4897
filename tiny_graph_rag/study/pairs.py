"""Every system against every other one: which is better than which, and which to take.

The tests of one measure are read together, so they are corrected together (Holm over all pairs of systems).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tiny_graph_rag.errors import amount
from tiny_graph_rag.measures.summary import numbered
from tiny_graph_rag.messages import Said, p_value, said, signed, three
from tiny_graph_rag.study.compare import Compared, compared_rows, corrected, sign
from tiny_graph_rag.study.results_file import System

# Signs are drawn for so many tests at most: with thousands of questions and twenty systems more would take
# minutes, and p corrected for 190 pairs still reaches .005.
MOST_DRAWN_FOR = 40


@dataclass(frozen=True, slots=True)
class Pairs:
    """systems: their names. means: measure → of each system its mean with interval, over the questions that
    define the measure for all of them. tests: measure → (one, other) → `other` against `one`, by place."""

    systems: tuple[str, ...]
    means: dict[str, tuple[Compared, ...]]
    tests: dict[str, dict[tuple[int, int], Compared]]

    def best(self, measure: str) -> int | None:
        """The place of the best mean, of equal ones the first; None where it is undefined."""
        known = [
            (sign(measure) * row.mean, -at)
            for at, row in enumerate(self.means[measure])
            if row.mean == row.mean
        ]
        return -max(known)[1] if known else None

    def better_than(self, measure: str, place: int) -> list[int]:
        """The systems that the one at `place` is significantly better than."""
        return [
            one if place == other else other
            for (one, other), row in self.tests[measure].items()
            if row.is_sure and place == (other if sign(measure) * row.difference > 0 else one)
        ]

    def advice(self, measure: str) -> list[Said]:
        """Which system to take by `measure`, how sure that is, and what speaks against it."""
        best = self.best(measure)
        if best is None:
            return []
        others = [place for place in range(len(self.systems)) if place != best]
        beaten = self.better_than(measure, best)
        alike = [place for place in others if place not in beaten]
        values = {
            "best": self.systems[best],
            "measure": measure,
            "mean": three(self.means[measure][best].mean),
            "questions": amount(self.means[measure][best].n, "question"),
        }
        if not alike:
            p = max(row.p_holm for pair, row in self.tests[measure].items() if best in pair)
            lines = [
                said(
                    "Take {best}: its {measure} of {mean} is significantly better than that of every other "
                    "system (largest p {p}, Holm).",
                    **values,
                    p=p_value(p),
                )
            ]
        else:
            nearest = max(alike, key=lambda place: (sign(measure) * self.means[measure][place].mean, -place))
            row = self.tests[measure][min(best, nearest), max(best, nearest)]
            behind = self.means[measure][nearest].mean - self.means[measure][best].mean
            rest = ", ".join(self.systems[place] for place in alike if place != nearest)
            values |= {
                "more": said(" or {systems}", systems=rest) if rest else "",
                "nearest": self.systems[nearest],
                "difference": signed(behind),
                "p": p_value(row.p_holm),
            }
            lines = [
                said(
                    "{best} has the best {measure} ({mean}), but it is not significantly better than "
                    "{nearest} ({difference}, p {p}){more}. {questions} don't decide between them: choose by "
                    "cost or speed."
                    if beaten
                    else "No system is significantly better in {measure}: {best} has the best mean ({mean}), "
                    "nearest is {nearest} ({difference}, p {p}). {questions} don't decide between them: "
                    "choose by cost or speed, or add questions.",
                    **values,
                )
            ]
        for name in self.means:
            ahead = [place for place in others if best in self.better_than(name, place)]
            if ahead:
                lines.append(
                    said(
                        "But in {measure} {best} is significantly worse than {others}.",
                        measure=name,
                        others=", ".join(self.systems[place] for place in ahead),
                        best=self.systems[best],
                    )
                )
        return lines


def pairs(systems: Sequence[System], measures: Sequence[str], *, seed: int = 0) -> Pairs:
    """systems: aligned, so that all hold the same questions in one order (`align`)."""
    groups = numbered(systems[0].groups)
    family = min(len(systems) * (len(systems) - 1) // 2, MOST_DRAWN_FOR)
    found = Pairs(tuple(system.name for system in systems), {}, {})
    for measure in measures:
        columns = np.stack([system.columns[measure] for system in systems])
        defined = np.flatnonzero(~np.isnan(columns).any(axis=0))
        against = {
            str(place): {measure: compared_rows(systems[place:], measure, defined, groups, seed, family)}
            for place in range(len(systems))
        }
        rows = [part[measure] for part in corrected(against).values()]
        found.means[measure] = tuple(first for first, *_ in rows)
        found.tests[measure] = {
            (one, other): rows[one][other - one] for one, other in combinations(range(len(systems)), 2)
        }
    return found
