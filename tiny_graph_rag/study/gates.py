"""Gates: what a mean must reach, or may lose, for a run to pass."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.messages import Said, said

MEAN, INTERVAL = "mean", "interval"
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Speed:
    unit: str
    higher_is_better: bool


SPEEDS = {
    "latency.mean": Speed("seconds a question", False),
    "latency.p50": Speed("seconds a question", False),
    "latency.p95": Speed("seconds a question", False),
    "throughput": Speed("questions a second", True),
}
LIKE_SPEED = ("latency.p90", "latency.p99", "questions_per_second")
_FLOOR = re.compile(r"(?P<measure>[^<>=]+)(?P<sign>>=|<=|>|<)(?P<number>[^<>=]+)")
_DROP = re.compile(r"(?P<measure>[^<>=]+)=(?P<number>[^<>=]+)")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class HasMean(Protocol):
    """A mean with its interval, NaN where undefined."""

    @property
    def mean(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


class HasDifference(Protocol):
    """A difference to the baseline with its interval."""

    @property
    def difference(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """`recall@5>=0.65`, `latency.p95<0.5`: the measure or the name of a speed, how its figure must stand to
    `limit`."""

    measure: Measure | str
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.measure}{self.sign}{self.limit:g}"


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """gate: as people wrote it. message: one line that says what came and whether it passed."""

    gate: str
    passed: bool
    message: Said


def parse_floors(text: str) -> tuple[Gate, ...]:
    """`--fail-under "recall@5>=0.65,mrr>=0.75"`. Raises UsageError for what is no such list."""
    return tuple(
        _gate(part, _FLOOR, "--fail-under", "recall@5>=0.65") for part in _parts(text, "--fail-under")
    )


def parse_drops(text: str) -> tuple[Gate, ...]:
    """`--max-drop "ndcg@5=0.02"`: how much the measure may lose against the baseline."""
    return tuple(_gate(part, _DROP, "--max-drop", "ndcg@5=0.02") for part in _parts(text, "--max-drop"))


def check_basis(basis: str) -> str:
    """`mean` or `interval`. Raises UsageError for anything else."""
    if basis not in (MEAN, INTERVAL):
        raise UsageError(
            said(
                "--gate-on must be {one} or {other}, got {basis}",
                one=MEAN,
                other=INTERVAL,
                basis=repr(basis),
            )
        )
    return basis


def speeds(latency: Mapping[str, float | None], questions_per_second: float | None) -> dict[str, float]:
    """The figures of SPEEDS that a results file holds. latency: its `mean`, `p50`, `p95`, seconds."""
    figures = {f"latency.{name}": latency.get(name) for name in ("mean", "p50", "p95")}
    figures["throughput"] = questions_per_second
    return {name: value for name, value in figures.items() if value is not None}


def hold_floors(
    gates: Iterable[Gate],
    means: Mapping[Measure, HasMean],
    basis: str,
    speed: Mapping[str, float] | None = None,
) -> list[GateOutcome]:
    """basis: `mean`, or `interval` for its end on the failing side; a speed has no interval. An undefined
    figure fails."""
    outcomes = []
    for gate in gates:
        if isinstance(gate.measure, str):
            figure = (speed or {}).get(gate.measure, math.nan)
            what = said(SPEEDS[gate.measure].unit)
        else:
            found = means[gate.measure]
            ends = {">": found.low, "<": found.high}
            figure = found.mean if basis == MEAN else ends[gate.sign[0]]
            what = said("mean") if basis == MEAN else said("end of the 95 % interval")
        passed = not math.isnan(figure) and _SIGNS[gate.sign](figure, gate.limit)
        outcomes.append(
            GateOutcome(
                str(gate),
                passed,
                said(
                    "gate {gate}: {what} {figure}, {verdict}",
                    gate=gate,
                    what=what,
                    figure=_said(figure),
                    verdict=_verdict(passed),
                ),
            )
        )
    return outcomes


def hold_drops(
    gates: Iterable[Gate],
    system: str,
    differences: Mapping[str, HasDifference],
    basis: str,
    faster: Mapping[str, float] | None = None,
) -> list[GateOutcome]:
    """differences: measure as spelled → system - baseline; faster: the same of SPEEDS. A drop is a change for
    the worse."""
    outcomes = []
    for gate in gates:
        if isinstance(gate.measure, str):
            speed = SPEEDS[gate.measure]
            change, higher = (faster or {}).get(gate.measure, math.nan), speed.higher_is_better
            what = said("drop")
        else:
            found = differences[str(gate.measure)]
            higher = gate.measure.kind.higher_is_better
            worst = found.low if higher else found.high
            change = found.difference if basis == MEAN else worst
            what = said("mean drop") if basis == MEAN else said("drop at the end of the 95 % interval")
        drop = -change if higher else change
        passed = not math.isnan(drop) and drop <= gate.limit
        outcomes.append(
            GateOutcome(
                f"{system}: {gate.measure}={gate.limit:g}",
                passed,
                said(
                    "gate {measure} may drop by {limit}: {system} has a {what} of {drop}, {verdict}",
                    measure=gate.measure,
                    limit=f"{gate.limit:g}",
                    system=system,
                    what=what,
                    drop=_said(drop),
                    verdict=_verdict(passed),
                ),
            )
        )
    return outcomes


def junit_xml(outcomes: Iterable[GateOutcome], suite: str) -> bytes:
    """A JUnit report with one test case a gate, as CI systems read it."""
    from xml.etree import ElementTree

    cases = list(outcomes)
    failed = sum(not gate_outcome.passed for gate_outcome in cases)
    root = ElementTree.Element(
        "testsuite", name=_xml(suite), tests=str(len(cases)), failures=str(failed), errors="0", skipped="0"
    )
    for gate_outcome in cases:
        case = ElementTree.SubElement(root, "testcase", classname=_xml(suite), name=_xml(gate_outcome.gate))
        if not gate_outcome.passed:
            ElementTree.SubElement(case, "failure", message=_xml(gate_outcome.message))
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _parts(text: str, option: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError(said("{option}: no gate named", option=option))
    return parts


def _gate(part: str, form: re.Pattern[str], option: str, example: str) -> Gate:
    found = form.fullmatch(part)
    if not found:
        raise UsageError(
            said(
                "{option}: wanted a gate such as {example}, got {part}",
                option=option,
                example=example,
                part=repr(part),
            )
        )
    try:
        limit = float(found["number"])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise UsageError(
            said(
                "{option}: {number} in {part} is no number",
                option=option,
                number=repr(found["number"].strip()),
                part=repr(part),
            )
        )
    name = found["measure"].strip().lower()
    if name in LIKE_SPEED:
        raise UsageError(
            said(
                "{option}: wanted one of {names} with a speed, got {name}",
                option=option,
                names=", ".join(SPEEDS),
                name=repr(name),
            )
        )
    measure = name if name in SPEEDS else Measure.parse(found["measure"])
    return Gate(measure, found.groupdict().get("sign") or "=", limit)


def _said(figure: float) -> str:
    return "undefined" if math.isnan(figure) else f"{figure:.4f}"


def _verdict(passed: bool) -> Said:
    return said("passed") if passed else said("FAILED")


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
