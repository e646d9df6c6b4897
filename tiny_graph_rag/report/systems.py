"""Several results of one gold set side by side, as tables and pictures show them: means, and every pair
tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiny_graph_rag.messages import Said, shown
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.plain import worst_by
from tiny_graph_rag.study.compare import align, incomparable, measures_in_common
from tiny_graph_rag.study.pairs import Pairs, pairs
from tiny_graph_rag.study.results_file import ENDINGS, system_of

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Systems:
    """documents: results of the same questions. names: of each, unique and short. measure: the one that says
    which is best. pairs: every two of them tested, over the questions that all of them hold."""

    documents: tuple[Document, ...]
    names: tuple[str, ...]
    measure: str
    pairs: Pairs

    @classmethod
    def of(cls, documents: Sequence[Document], wanted: Sequence[str] | None = None) -> Systems | None:
        """None where they hold different questions, so that nothing of them can be set side by side. wanted:
        measures, all that they have in common where None. Raises UsageError for one that some lack."""
        systems = [system_of(document.content, document.path) for document in documents]
        if len(systems) < 2 or incomparable(systems):
            return None
        aligned = align(systems)
        names = system_names(documents)
        measures = measures_in_common(aligned, wanted or ())
        deciding = worst_by(measures, aligned[0].k) or measures[0]
        named = [replace(system, name=name) for system, name in zip(aligned, names, strict=True)]
        return cls(tuple(documents), names, deciding, pairs(named, measures))

    @property
    def measures(self) -> list[str]:
        return list(self.pairs.means)

    def means(self, measure: str) -> list[Json]:
        return [document.content["summary"]["measures"][measure] for document in self.documents]

    def advice(self) -> list[Said]:
        """Which system to take, and where another one is better: a sentence each."""
        return self.pairs.advice(self.measure)


def system_names(documents: Sequence[Document]) -> tuple[str, ...]:
    """Short names: what `--label` says, else the file's name without its endings; equal ones are numbered."""
    names = [document.label or document.name for document in documents]
    for ending in ENDINGS:
        names = [name.removesuffix(ending) for name in names]
    return numbered_names(names)


def numbered_names(names: Sequence[str]) -> tuple[str, ...]:
    """`bfs`, `bfs (2)`: each name once."""
    counts: Counter[str] = Counter()
    found = []
    for name in names:
        counts[name] += 1
        found.append(f"{name} ({counts[name]})" if counts[name] > 1 else name)
    return tuple(found)


def page_systems(found: Systems, mine: int) -> Mapping[str, Any]:
    """What the page draws of them; `mine`: the place of the results that the page is of."""
    names = list(found.names)
    return {
        "names": names,
        "mine": mine,
        "measure": found.measure,
        "means": {measure: found.means(measure) for measure in found.measures},
        "better": {
            measure: [found.pairs.better_than(measure, place) for place in range(len(names))]
            for measure in found.measures
        },
        "advice": [shown(sentence) for sentence in found.advice()],
    }
