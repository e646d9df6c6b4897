"""Gates: what a mean must reach, or may lose, for a run to pass."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.messages import Said, said

if TYPE_CHECKING:
    from tiny_graph_rag.measures.summary import Summary
    from tiny_graph_rag.study.compare import Compared

MEAN = "mean"
TAG = "tag:"
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


_FLOOR = re.compile(r"(?P<measure>[^<>=]+)(?P<sign>>=|<=|>|<)(?P<number>[^<>=]+)")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
SUITE = "tiny-graph-rag"
_DROP = re.compile(r"(?P<measure>[^<>=]+)=(?P<number>[^<>=]+)")


class Gate(Struct, frozen=True):
    """`recall@5>=0.65`: the measure, and how its mean must stand to `limit`. tag: of the questions that it
    looks at (`tag:multi-hop/recall@5>=0.5`), "" for all."""

    measure: Measure
    sign: str
    limit: float
    tag: str = ""

    @property
    def figure(self) -> str:
        """What is held against the limit, as people write it."""
        return f"{TAG}{self.tag}/{self.measure}" if self.tag else str(self.measure)

    def __str__(self) -> str:
        return f"{self.figure}{self.sign}{self.limit:g}"


class GateOutcome(Struct, frozen=True):
    """gate: as people wrote it. message: one line that says what came and whether it passed."""

    gate: str
    passed: bool
    message: Said


def parse_floors(text: str) -> tuple[Gate, ...]:
    """`--fail-under "recall@5>=0.65,mrr>=0.75"`. Raises UsageError for what is no such list."""
    return _gates(text, _FLOOR, "--fail-under", "recall@5>=0.65")


def parse_drops(text: str) -> tuple[Gate, ...]:
    """`--max-drop "ndcg@5=0.02"`: how much the measure may lose against the baseline."""
    return _gates(text, _DROP, "--max-drop", "ndcg@5=0.02")


def hold_floors(gates: Iterable[Gate], summary: Summary, basis: str) -> list[GateOutcome]:
    """summary: of a run. basis: `mean`, or `interval` for its end on the failing side. An undefined figure
    fails. Raises UsageError for a gate on a tag that no question has."""
    gates, outcomes = list(gates), []
    check_tags(gates, summary.by_tag)
    what = said("mean") if basis == MEAN else said("end of the 95 % interval")
    for gate in gates:
        found = (summary.by_tag[gate.tag] if gate.tag else summary.overall).measures[gate.measure]
        end = found.low if gate.sign.startswith(">") else found.high
        figure = found.mean if basis == MEAN else end
        passed = _SIGNS[gate.sign](figure, gate.limit)
        told = {"gate": gate, "what": what, "figure": _said(figure), "verdict": _verdict(passed)}
        message = said("gate {gate}: {what} {figure}, {verdict}", **told)
        outcomes.append(GateOutcome(str(gate), passed, message))
    return outcomes


def hold_drops(
    gates: Iterable[Gate],
    system: str,
    differences: Mapping[str, Compared],
    basis: str,
    by_tag: Mapping[str, Mapping[str, Compared]],
) -> list[GateOutcome]:
    """differences: measure as spelled → system - baseline; by_tag: the same of each tag. A drop is a change
    for the worse. Raises UsageError for a gate on a tag that no question has."""
    gates, outcomes = list(gates), []
    check_tags(gates, by_tag)
    what = said("mean drop") if basis == MEAN else said("drop at the end of the 95 % interval")
    for gate in gates:
        found = (by_tag[gate.tag] if gate.tag else differences)[str(gate.measure)]
        worst = found.low if gate.measure.sign > 0 else found.high
        drop = -gate.measure.sign * (found.difference if basis == MEAN else worst)
        passed = drop <= gate.limit
        message = said(
            "gate {measure} may drop by {limit}: {system} has a {what} of {drop}, {verdict}",
            measure=gate.figure,
            limit=f"{gate.limit:g}",
            system=system,
            what=what,
            drop=_said(drop),
            verdict=_verdict(passed),
        )
        outcomes.append(GateOutcome(f"{system}: {gate}", passed, message))
    return outcomes


def check_tags(gates: Iterable[Gate], tags: Collection[str]) -> None:
    """Raises UsageError for a gate on a tag that no question has: no renamed tag turns its gate off."""
    for gate in gates:
        if gate.tag and gate.tag not in tags:
            raise UsageError(
                "gate {gate}: no question has the tag {tag}{near}",
                gate=gate,
                tag=repr(gate.tag),
                near=nearest(gate.tag, sorted(tags)),
            )


def junit_xml(outcomes: Sequence[GateOutcome], error: str = "") -> bytes:
    """A JUnit report with one test case per gate, as CI systems read it. error: why none could be held."""
    from xml.etree import ElementTree

    failures = sum(not outcome.passed for outcome in outcomes)
    counts = {"tests": len(outcomes) + bool(error), "failures": failures, "errors": int(bool(error))}
    suite = ElementTree.Element("testsuite", {"name": SUITE, **{key: str(n) for key, n in counts.items()}})
    cases = [(outcome.gate, "" if outcome.passed else "failure", outcome.message) for outcome in outcomes]
    for name, element, message in [*cases, *([(SUITE, "error", error)] if error else [])]:
        case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name=_NOT_XML.sub("\ufffd", name))
        if element:
            ElementTree.SubElement(case, element, message=_NOT_XML.sub("\ufffd", message))
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def _gates(text: str, form: re.Pattern[str], option: str, example: str) -> tuple[Gate, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError("{option}: no gate given", option=option)
    return tuple(_gate(part, form, option, example) for part in parts)


def _gate(part: str, form: re.Pattern[str], option: str, example: str) -> Gate:
    found = form.fullmatch(part)
    if not found:
        raise UsageError(
            "{option}: wanted a gate such as {example}, got {part}",
            option=option,
            example=example,
            part=repr(part),
        )
    try:
        limit = float(found["number"])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise UsageError(
            "{option}: {number} in {part} is not a number",
            option=option,
            number=repr(found["number"].strip()),
            part=repr(part),
        )
    written, tag = found["measure"].strip(), ""
    if written.startswith(TAG):
        tag, slash, written = written.removeprefix(TAG).rpartition("/")
        tag = tag.strip()
        if not slash or not tag:
            raise UsageError(
                "{option}: wanted a tag and a measure such as tag:multi-hop/recall@5, got {part}",
                option=option,
                part=repr(part),
            )
    return Gate(Measure.parse(written), found.groupdict().get("sign") or "=", limit, tag)


def _said(figure: float) -> str:
    return "undefined" if math.isnan(figure) else f"{figure:.4f}"


def _verdict(passed: bool) -> Said:
    return said("passed") if passed else said("FAILED")
