"""Is it really better: systems against a baseline on the same questions, measure by measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.paired import (
    EQUAL,
    Interval,
    changes,
    difference_p,
    holm,
    interval,
    smallest_shown,
)
from tiny_graph_rag.measures.statistics import Groups, mean_of
from tiny_graph_rag.measures.summary import numbered, rows_by_tag
from tiny_graph_rag.messages import Said, p_value, said, signed
from tiny_graph_rag.study.results_file import System

HIT = "hit"
SURE = 0.05  # of a corrected p


@dataclass(frozen=True, slots=True)
class Compared:
    """One system on one measure and slice, over the n questions that define the measure for every system.

    mean_low, mean_high: the mean's 95 % interval. difference: mean - the baseline's, with low and high of its
    95 % interval; the baseline itself has NaN in these and in every p. p_randomisation: `difference_p`.
    p_holm: corrected for the tests over all questions, or for those of all tags together. smallest: the true
    difference that so many questions would show in four cases of five, before any correction. wins, losses:
    questions that are better or worse, whichever way the measure runs. reliable: of the interval of the
    difference, of the mean for the baseline.
    """

    system: str
    n: int
    mean: float
    mean_low: float
    mean_high: float
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p_randomisation: float = math.nan
    p_holm: float = math.nan
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    mean_reliable: bool = False
    reliable: bool = False
    smallest: float = math.nan

    @property
    def is_sure(self) -> bool:
        """Whether chance is no likely explanation of the difference: neither by p nor by the interval."""
        return self.p_holm < SURE and not self.low <= 0 <= self.high


Rows = dict[str, tuple[Compared, ...]]  # measure → the baseline, then the others


ALIKE = (
    "{name} and {baseline} don't differ significantly in any measure ({figures}); with {n} questions, a "
    "true difference of {smallest} would be detected in 80 % of cases (before correction)"
)
ALIKE_BY_FEW = "{name} and {baseline} don't differ significantly in any measure ({figures})"
SAME = "{name} and {baseline} score the same on every question in every measure"
MIXED = "{name} is significantly better than {baseline} in {better}, significantly worse in {worse}"
BETTER = "{name} is significantly better than {baseline}: {figures}"
WORSE = "{name} is significantly worse than {baseline}: {figures}"
OFTEN_BETTER = "{name} is significantly better than {baseline} in {n} of {all} measures: {figures}"
OFTEN_WORSE = "{name} is significantly worse than {baseline} in {n} of {all} measures: {figures}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """systems: the baseline first. notes: what a reader must know about the files' differences. differs:
    setting → its value in each system, of those that are not the same in all. groups: of questions that are
    variants of one, None where every question stands for itself. by_tag: without the tags that every question
    carries: their figures are those of all.
    """

    systems: tuple[System, ...]
    overall: Rows
    by_tag: dict[str, Rows]
    flips: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    differs: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    groups: int | None = None

    __repr__ = short_repr

    def verdicts(self) -> tuple[Said, ...]:
        """One sentence a system: better, worse, or no significant difference, and by how much."""
        return tuple(self._verdict(place) for place in range(1, len(self.systems)))

    def _verdict(self, place: int) -> Said:
        rows = {measure: rows[place] for measure, rows in self.overall.items()}
        tests = len(self.overall) * (len(self.systems) - 1)
        both = {"name": self.systems[place].name, "baseline": self.systems[0].name}
        sure = {measure: sign(measure) * row.difference for measure, row in rows.items() if row.is_sure}
        better = [measure for measure, gain in sure.items() if gain > 0]
        worse = [measure for measure, gain in sure.items() if gain < 0]

        def figures(measure: str) -> str:
            """The difference and its p; the interval is left to the table, for it is not corrected."""
            row = rows[measure]
            p = "p (Holm)" if tests > 1 else "p"
            return f"{measure} {signed(row.difference)}, {p} {p_value(row.p_holm)}"

        if better and worse:
            return said(MIXED, **both, better=figures(better[0]), worse=figures(worse[0]))
        if all(row.low == row.high == 0 for row in rows.values()):
            return said(SAME, **both)
        if not sure:
            most = max(rows, key=lambda measure: abs(np.nan_to_num(rows[measure].difference)))
            n, smallest = f"{rows[most].n:,}", rows[most].smallest
            if math.isnan(smallest):
                return said(ALIKE_BY_FEW, **both, figures=figures(most))
            return said(ALIKE, **both, figures=figures(most), n=n, smallest=f"{smallest:.3f}")
        surest = figures(min(sure, key=lambda measure: rows[measure].p_holm))
        if len(rows) == 1:
            return said(BETTER if better else WORSE, **both, figures=surest)
        counts = {"n": str(len(sure)), "all": str(len(rows))}
        return said(OFTEN_BETTER if better else OFTEN_WORSE, **both, **counts, figures=surest)


def sign(measure: str) -> float:
    """1.0 where more is better, else -1.0."""
    return Measure.parse(measure).sign


def compare(
    systems: Sequence[System],
    *,
    measures: Sequence[str] = (),
    seed: int = 0,
    force: bool = False,
    by_tag: bool = True,
) -> Comparison:
    """The first system is the baseline. measures: all that every file holds, unless named. by_tag: whether
    tags are compared too.

    Raises UsageError, with every reason, for what cannot be compared; `force` compares what is common.
    """
    reasons = incomparable(systems)
    if reasons and not force:
        raise UsageError(
            said("these results can't be compared:"),
            *(said("  {reason}", reason=reason) for reason in reasons),
            said("--force compares the questions that all of them have"),
        )
    aligned = align(systems)
    chosen = measures_in_common(aligned, measures)
    every = np.arange(len(aligned[0].ids))
    tags = rows_by_tag(aligned[0].tags) if by_tag else {}
    parts = {"": every, **{tag: rows for tag, rows in tags.items() if len(rows) < len(every)}}
    groups = numbered(aligned[0].groups)
    tests = len(chosen) * (len(aligned) - 1)
    found = {
        tag: {
            measure: compared_rows(aligned, measure, rows, groups, seed, tests * len(parts) if tag else tests)
            for measure in chosen
        }
        for tag, rows in parts.items()
    }
    overall = corrected({"": found.pop("")})[""]
    found = corrected(found)
    notes = list(reasons)
    if len({system.graph_sha256 for system in systems if system.graph_sha256}) > 1:
        notes.append(
            said(
                "the results come from different graphs: the graph may be the cause of the difference, "
                "not the retrieval"
            )
        )
    notes += [
        said(
            "{name}: {n} of its questions failed or are not in the run; each gets the worst value of "
            "every measure",
            name=system.name,
            n=f"{system.failed:,}",
        )
        for system in aligned
        if system.failed
    ]
    flips = tuple(chain.from_iterable(_flips(aligned[0], system, chosen) for system in aligned[1:]))
    return Comparison(
        tuple(aligned),
        overall,
        found,
        flips,
        tuple(notes),
        _different(systems),
        None if groups is None else int(groups.max()) + 1,
    )


def _different(systems: Sequence[System]) -> dict[str, tuple[Any, ...]]:
    names = dict.fromkeys(name for system in systems for name in system.settings)
    values = {name: tuple(system.settings.get(name) for system in systems) for name in names}
    return {name: value for name, value in values.items() if any(one != value[0] for one in value)}


def compared_rows(
    systems: Sequence[System],
    measure: str,
    rows: NDArray[np.int64],
    groups: Groups | None,
    seed: int,
    tests: int,
) -> tuple[Compared, ...]:
    columns = [system.columns[measure][rows] for system in systems]
    defined = ~np.isnan(np.stack(columns)).any(axis=0)
    columns = [column[defined] for column in columns]
    parsed = Measure.parse(measure)
    n, better = int(defined.sum()), parsed.sign
    mine = None if groups is None else groups[rows][defined]
    own = [mean_of(column, bounds=parsed.bounds, groups=mine) for column in columns]
    first = own[0]
    found = [Compared(systems[0].name, n, first.mean, first.low, first.high, mean_reliable=first.reliable)]
    for system, column, mean in zip(systems[1:], columns[1:], own[1:], strict=True):
        change = changes(columns[0], column)
        one, other = systems[0].columns, system.columns
        equal = (np.array_equal(one[name], other.get(name, ()), equal_nan=True) for name in one)
        unseen = interval(change, span=parsed.span, groups=mine)
        between = Interval(0.0, 0.0, reliable=True) if all(equal) else unseen  # of a system and its copy
        found.append(
            Compared(
                system.name,
                n,
                mean.mean,
                mean.low,
                mean.high,
                difference=mean.mean - first.mean,
                low=between.low,
                high=between.high,
                p_randomisation=difference_p(change, seed=seed, groups=mine, family=tests, span=parsed.span),
                wins=int((better * change > 0).sum()),
                ties=int((change == 0).sum()),
                losses=int((better * change < 0).sum()),
                mean_reliable=mean.reliable,
                reliable=between.reliable,
                smallest=smallest_shown(change, span=parsed.span, groups=mine),
            )
        )
    return tuple(found)


def corrected(parts: dict[str, Rows]) -> dict[str, Rows]:
    """Holm over the tests of all these slices: what is read together is corrected together."""
    tables = [rows for part in parts.values() for rows in part.values()]
    adjusted = iter(holm([row.p_randomisation for rows in tables for row in rows]))
    return {
        tag: {
            measure: tuple(replace(row, p_holm=next(adjusted)) for row in rows)
            for measure, rows in part.items()
        }
        for tag, part in parts.items()
    }


def _flips(baseline: System, other: System, measures: Sequence[str]) -> list[dict[str, Any]]:
    """Questions with a reference found by one and missed by the other; without verdicts, those whose first
    measure changed. As files hold them: `change` is "won", "lost", or "mixed" where some were gained, some
    lost; `values` has (before, after) of each measure, `references` the verdicts before and after."""
    flips = []
    for row, question in enumerate(baseline.ids):
        before, after = baseline.verdicts[row], other.verdicts[row]
        changed = tuple(
            {"name": name, "before": verdict, "after": after[name]}
            for name, verdict in before.items()
            if name in after and (verdict == HIT) != (after[name] == HIT)
        )
        values = {
            measure: (float(baseline.columns[measure][row]), float(other.columns[measure][row]))
            for measure in measures
        }
        gained = {reference["before"] != HIT for reference in changed}
        if not before or not after:
            was, now = values[measures[0]]
            if math.isnan(was) or math.isnan(now) or abs(now - was) <= EQUAL:
                continue
            gained = {sign(measures[0]) * (now - was) > 0}
        elif not changed:
            continue
        change = "mixed" if len(gained) > 1 else "won" if gained.pop() else "lost"
        about = {"id": question, "query": baseline.queries[row], "tags": baseline.tags[row]}
        outcome = {"change": change, "values": values, "references": changed}
        flips.append({"system": other.name, **about, **outcome})
    return flips


# What two files must share, the first that differs being the reason; and how it is shown.
SHARED: dict[str, Callable[[System], Any]] = {
    "{pair} were scored against different gold sets (SHA-256 {one} and {other})": lambda system: (
        said("{sha256}…", sha256=system.dataset_sha256[:8]) if system.dataset_sha256 else said("none")
    ),
    "{pair} contain different selections of the gold set ({one} and {other})": lambda system: _selected(
        system.selection
    ),
    "{pair} contain different questions": lambda system: set(system.ids),
}
CUTOFFS = "{pair} use different cutoffs (k {one} and {other})"


def incomparable(systems: Sequence[System]) -> list[Said]:
    """Why the files do not speak of the same thing; empty where they do."""
    if len(systems) < 2:
        raise UsageError("wanted at least two results files; the first is the baseline")
    first = systems[0]
    reasons: list[Said] = []
    for other in systems[1:]:
        pair = said("{one} and {other}", one=other.path.name, other=first.path.name)
        for reason, value_of in SHARED.items():
            if value_of(other) != value_of(first):
                reasons.append(said(reason, pair=pair, one=value_of(other), other=value_of(first)))
                break
        if other.k != first.k:
            reasons.append(said(CUTOFFS, pair=pair, one=other.k, other=first.k))
    return reasons


def _selected(selection: dict[str, Any] | None) -> str:
    """`--limit 1`, `--tags a,b`; `all questions` where none was made."""
    given = [
        f"--{name} {','.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in (selection or {}).items()
        if value
    ]
    return " ".join(given) or "all questions"


def align(systems: Sequence[System]) -> list[System]:
    """The questions that all have, in the first one's order. Raises UsageError where there are none."""
    places = [{id_: row for row, id_ in enumerate(system.ids)} for system in systems]
    ids = [id_ for id_ in systems[0].ids if all(id_ in place for place in places)]
    if not ids:
        raise UsageError("the results files have no question (id) in common")
    aligned = []
    names: dict[str, int] = {}
    for system, place in zip(systems, places, strict=True):
        rows = [place[id_] for id_ in ids]
        names[system.name] = names.get(system.name, 0) + 1
        name = system.name if names[system.name] == 1 else f"{system.name} ({names[system.name]})"
        aligned.append(
            replace(
                system,
                name=name,
                ids=tuple(ids),
                queries=tuple(system.queries[row] for row in rows),
                tags=tuple(system.tags[row] for row in rows),
                columns={measure: column[rows] for measure, column in system.columns.items()},
                verdicts=tuple(system.verdicts[row] for row in rows),
                groups=tuple(system.groups[row] for row in rows),
            )
        )
    return aligned


def measures_in_common(systems: Sequence[System], wanted: Sequence[str]) -> list[str]:
    """Those wanted, else all that every file holds. Raises UsageError for what can't be compared."""
    common = [column for column in systems[0].columns if all(column in system.columns for system in systems)]
    for name in wanted:
        if Measure.parse(name).kind.weight is not None:
            raise UsageError(
                "measure {each} has no value for a single question and can't be compared", each=repr(name)
            )
    common = [name for name in common if Measure.parse(name).kind.weight is None]
    for name in wanted:
        if name not in common:
            raise UsageError(
                "measure {each} is not in every results file{near}. Measures in all of them: {names}. "
                "Run eval with --measures {measure}",
                each=repr(name),
                near=nearest(name, common),
                names=", ".join(common) or "none",
                measure=name,
            )
    if not common:
        raise UsageError("the results files have no measure in common; run eval with the same --measures")
    return list(wanted) or common
