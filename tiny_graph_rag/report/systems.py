"""Several results of one gold set side by side, as tables and pictures show them: means, tags, first hits,
precision and recall by rank, differences by question, and every pair tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.measures.statistics import RELIABLE_FROM
from tiny_graph_rag.measures.summary import numbered, rows_by_tag
from tiny_graph_rag.messages import Said, figure, p_value, said, shown, three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.plain import one_line, rises, worst_by
from tiny_graph_rag.study.compare import (
    align,
    compared_rows,
    corrected,
    incomparable,
    measures_in_common,
    sign,
)
from tiny_graph_rag.study.pairs import Pairs, pairs
from tiny_graph_rag.study.results_file import ENDINGS, System, system_of

Json = dict[str, Any]

# Upper ends of the ranks that are counted together; what comes later, or never, is the last group.
FIRST_HITS = (1, 2, 3, 5, 10)
CURVE_TO = 10  # ranks: results files hold no more of each ranking
BETTER_ON_TAG = (
    "For {tag} ({questions}), {other} is significantly better: {measure} {mean}, {best} {best_mean} (p {p}, "
    "Holm)."
)
HIGHER_ON_TAG = (
    "For {tag} ({questions}), {other} has the better mean, but not significantly: {measure} {mean}, {best} "
    "{best_mean} (p {p}, Holm)."
)
SECONDS = "Seconds per question (median, as each run measured it): {figures}."
COST = "Cost in USD: {figures}."
POINTS = 400  # of a line of differences: more than any screen shows


@dataclass(frozen=True, slots=True)
class Curve:
    """Means at the cutoffs 1, 2, …: precision@k and recall@k over the questions with a reference."""

    precision: tuple[float, ...]
    recall: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Systems:
    """documents: results of the same questions. names: of each, unique and short. measure: the one that says
    which is best. aligned: the same as columns over the questions that all of them hold."""

    documents: tuple[Document, ...]
    names: tuple[str, ...]
    measure: str
    aligned: tuple[System, ...]
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
        return cls(tuple(documents), names, deciding, tuple(named), pairs(named, measures))

    @property
    def measures(self) -> list[str]:
        return list(self.pairs.means)

    def means(self, measure: str) -> list[Json]:
        return [document.content["summary"]["measures"][measure] for document in self.documents]

    def tags(self) -> list[str]:
        """Tags that all systems have, most questions first, without those that every question has."""
        first, *others = (document.content["summary"].get("by_tag") or {} for document in self.documents)
        questions = self.documents[0].content["summary"]["questions"]
        shared = [
            tag
            for tag, part in first.items()
            if part["questions"] < questions and all(tag in by for by in others)
        ]
        return sorted(shared, key=lambda tag: (-first[tag]["questions"], tag))

    def heat(self, measure: str) -> dict[str, list[float | None]]:
        """Tag → the mean of each system; tags without a value are left out."""
        rows = {
            tag: [
                (document.content["summary"]["by_tag"][tag]["measures"].get(measure) or {}).get("mean")
                for document in self.documents
            ]
            for tag in self.tags()
        }
        return {tag: means for tag, means in rows.items() if any(mean is not None for mean in means)}

    def advice(self) -> list[Said]:
        """Which system to take, where another one is better, and what each takes: a sentence each."""
        return [*self.pairs.advice(self.measure), *self._slices(), *self._spent()]

    def _slices(self) -> Iterator[Said]:
        """Tags of 30 questions or more on which another system has the best mean, corrected together."""
        best = self.pairs.best(self.measure)
        if best is None:
            return
        first, others = (
            self.aligned[best],
            [system for system in self.aligned if system.name != self.names[best]],
        )
        groups, tags = numbered(first.groups), rows_by_tag(first.tags)
        parts = {
            tag: {self.measure: compared_rows([first, *others], self.measure, tags[tag], groups, 0, 1)}
            for tag in self.tags()
        }
        parts = {tag: rows for tag, rows in parts.items() if rows[self.measure][0].n >= RELIABLE_FROM}
        for tag, rows in corrected(parts).items():
            mine, *theirs = rows[self.measure]
            other = max(theirs, key=lambda row: sign(self.measure) * row.mean)
            if sign(self.measure) * (other.mean - mine.mean) > 0:
                yield said(
                    BETTER_ON_TAG if other.is_sure else HIGHER_ON_TAG,
                    tag=one_line(tag, 40),
                    questions=amount(mine.n, "question"),
                    other=other.system,
                    best=mine.system,
                    measure=self.measure,
                    mean=three(other.mean),
                    best_mean=three(mine.mean),
                    p=p_value(other.p_holm),
                )

    def _spent(self) -> Iterator[Said]:
        """Seconds a question, and cost where any was paid."""
        seconds = {system.name: system.speed.get("latency.p50") for system in self.aligned}
        costs = {
            name: document.content["summary"]["estimated_cost_usd"]
            for name, document in zip(self.names, self.documents, strict=True)
        }
        if all(seconds.values()):
            yield said(SECONDS, figures=_listed(seconds))
        if any(costs.values()):
            yield said(COST, figures=_listed(costs))

    def differences(self, measure: str) -> dict[str, list[float]]:
        """System → its values less the first one's, question by question, smallest first."""
        first, *others = self.aligned
        changes = {system.name: system.columns[measure] - first.columns[measure] for system in others}
        return {name: sorted(change[change == change].tolist()) for name, change in changes.items()}


def _listed(figures: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{name} {'–' if value is None else figure(value, 2)}" for name, value in figures.items()
    )


def system_names(documents: Sequence[Document]) -> tuple[str, ...]:
    """Short names: what `--label` says, else the file's name without its endings; equal ones are numbered."""
    names: list[str] = []
    for document in documents:
        name = (document.content.get("made") or {}).get("label") or document.name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        same = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return tuple(names)


def hits_by_rank(question: Json) -> list[bool]:
    """Whether the entity at each rank fills a reference, as measures count it.

    Of a name that several entities have the first in the ranking counts; the others are dropped, no rank left
    for them.
    """
    wanted = [set(reference["entity_ids"]) for reference in question["references"]]
    filled: set[str] = set()
    flags = []
    for entity in question["ranked"]:
        if entity["id"] in filled:
            continue
        mine = [ids for ids in wanted if entity["id"] in ids]
        for ids in mine:
            filled |= ids
        flags.append(bool(mine))
    return flags[:CURVE_TO]


def first_hits(content: Json) -> list[int]:
    """How many questions have their first reference within each of FIRST_HITS, and how many later or never.

    Over the questions with a reference.
    """
    counts = [0] * (len(FIRST_HITS) + 1)
    for question in content["results"]:
        if question["references"]:
            flags = hits_by_rank(question)
            rank = flags.index(True) + 1 if True in flags else FIRST_HITS[-1] + 1
            counts[sum(rank > end for end in FIRST_HITS)] += 1
    return counts


def first_hit_names() -> Iterator[str]:
    """`1`, `2`, `3`, `4–5`, `6–10`: the ranks that are counted together."""
    for before, end in pairwise((0, *FIRST_HITS)):
        yield str(end) if end == before + 1 else f"{before + 1}–{end}"


def curve(content: Json) -> Curve:
    """Mean precision and recall at each cutoff that the results file still holds."""
    questions = [question for question in content["results"] if question["references"]]
    rows = [(hits_by_rank(question), _to_find(question)) for question in questions]
    held = max((len(question["ranked"]) for question in questions), default=0)
    precision, recall = [], []
    for cutoff in range(1, min(CURVE_TO, held) + 1):
        precision.append(sum(sum(flags[:cutoff]) for flags, _ in rows) / cutoff / len(rows))
        recall.append(sum(sum(flags[:cutoff]) / wanted for flags, wanted in rows) / len(rows))
    return Curve(tuple(precision), tuple(recall))


def _to_find(question: Json) -> int:
    """References less those that mean an entity which another one means already."""
    seen: list[set[str]] = []
    for reference in question["references"]:
        wanted = set(reference["entity_ids"])
        if not wanted or not any(wanted & other for other in seen):
            seen.append(wanted)
    return len(seen)


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
        "heat": {measure: found.heat(measure) for measure in found.measures},
        "firstHits": {
            "heads": list(first_hit_names()),
            "rows": [first_hits(document.content) for document in found.documents],
        },
        "curves": [
            {"precision": line.precision, "recall": line.recall}
            for line in (curve(document.content) for document in found.documents)
        ],
        "differences": {measure: _ways(found, measure) for measure in found.measures},
        "advice": [shown(sentence) for sentence in found.advice()],
    }


def _ways(found: Systems, measure: str) -> Json:
    """Of each system the differences that are drawn, and how many questions are better, equal and worse."""
    sign = 1 if rises(measure) else -1
    ways = {}
    for name, values in found.differences(measure).items():
        better, worse = (sum(way * sign * value > 0 for value in values) for way in (1, -1))
        equal = len(values) - better - worse
        ways[name] = {"values": _thinned(values), "better": better, "equal": equal, "worse": worse}
    return ways


def _thinned(values: list[float]) -> list[float]:
    """At most POINTS of them, evenly, the first and the last among them."""
    if len(values) <= POINTS:
        return values
    return [values[round(at * (len(values) - 1) / (POINTS - 1))] for at in range(POINTS)]
