"""What each judge is told, must reply, and what its reply is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources

from tiny_graph_rag.errors import UsageError, json_kind, nearest
from tiny_graph_rag.llm.base import Json, Message, read_object, strict_object

QUALITIES = ("coherence", "relevance", "fluency", "consistency", "readability")
_PLACE = re.compile(r"\{(question|truth|answer|graph|entities)\}")


def _list(**properties: Json) -> Json:
    return {"type": "array", "items": strict_object(**properties)}


_TEXT: Json = {"type": "string"}
_FLAG: Json = {"type": "boolean"}


def _whole(*values: int) -> Json:
    return {"type": "integer", "enum": list(values)}


@dataclass(frozen=True, slots=True)
class Rubric:
    """One judge. scores: the names of its scores. value: its reply → their values; raises ValueError for a
    reply of another form. worst: what each score is where the reply can't be had or read. needs_truth: asked
    only where there is a true answer; needs_answer: only where the question was answered."""

    name: str
    scores: tuple[str, ...]
    schema: Json
    value: Callable[[Json], dict[str, float]]
    needs_truth: bool = False
    needs_answer: bool = True
    worst: float = 0.0

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Filled in one pass, so that no answer can pass for a place."""
        text = resources.files(__package__).joinpath(f"rubrics/{self.name}.txt").read_text("utf-8")
        system, _, user = text.partition("\n---\n")
        return (
            Message("system", system.strip()),
            Message("user", _PLACE.sub(lambda found: values[found[1]], user.strip())),
        )

    def read(self, text: str, entities: int | None = None) -> Json:
        """The reply as an object, checked. entities: how many were sent to be graded. Raises ValueError."""
        reply = read_object(text)
        try:
            self.value(reply)
            if entities is not None:
                _check_places(reply, entities)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the reply is not of the form asked for ({error})") from None
        return reply


def _grade(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"wanted a whole number from {low} to {high}, got {json_kind(value)}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"wanted true or false, got {json_kind(value)}")
    return value


def _correctness(reply: Json) -> dict[str, float]:
    return {"correctness": _grade(reply["grade"], 0, 2) / 2}


def _faithfulness(reply: Json) -> dict[str, float]:
    """Supported claims of all; undefined where an answer makes none."""
    flags = [_flag(each["supported"]) for each in reply["claims"]]
    return {"faithfulness": sum(flags) / len(flags) if flags else math.nan}


def _quality(reply: Json) -> dict[str, float]:
    return {name: float(_grade(reply[name], 1, 5)) for name in QUALITIES}


def _retrieval(reply: Json) -> dict[str, float]:
    """The share of the graded entities that help (grade 1 or 2)."""
    grades = entity_grades(reply)
    return {
        "judged_precision": sum(grade > 0 for grade in grades.values()) / len(grades) if grades else math.nan
    }


def entity_grades(reply: Json) -> dict[int, int]:
    """Place of the entity in the list (from 1) → grade."""
    return {int(each["entity"]): _grade(each["grade"], 0, 2) for each in reply["grades"]}


def _check_places(reply: Json, entities: int) -> None:
    """Every entity that was sent has one grade, and nothing else has. Raises ValueError."""
    places = sorted(int(each["entity"]) for each in reply["grades"])
    wanted = list(range(1, entities + 1))
    if places == wanted:
        return
    missing = sorted(set(wanted) - set(places))
    invented = sorted(set(places) - set(wanted))
    said = (
        f"no grade for {missing[0]}"
        if missing
        else f"a grade for {invented[0]}"
        if invented
        else "two for one"
    )
    raise ValueError(f"wanted one grade for each of {entities} entities, got {said}")


def _factuality(reply: Json) -> dict[str, float]:
    """F1 of statements (TP supported, FP unsupported, FN absent from the answer), and coverage of the truth.

    Two empty lists are in full agreement (1.0). Source: GraphRAG-Bench, arXiv 2506.05690.
    """
    supported = [_flag(each["supported"]) for each in reply["answer"]]
    present = [_flag(each["present"]) for each in reply["truth"]]
    true_positives, false_negatives = sum(supported), len(present) - sum(present)
    weight = 2 * true_positives + (len(supported) - true_positives) + false_negatives
    f1 = 2 * true_positives / weight if weight else float(not supported and not present)
    return {"factuality": f1, "coverage": sum(present) / len(present) if present else math.nan}


RUBRICS = {
    each.name: each
    for each in (
        Rubric(
            "correctness",
            ("correctness",),
            strict_object(reason=_TEXT, grade=_whole(0, 1, 2)),
            _correctness,
            needs_truth=True,
        ),
        Rubric(
            "faithfulness",
            ("faithfulness",),
            strict_object(claims=_list(claim=_TEXT, supported=_FLAG, reason=_TEXT)),
            _faithfulness,
        ),
        Rubric(
            "quality",
            QUALITIES,
            strict_object(reason=_TEXT, **{name: _whole(1, 2, 3, 4, 5) for name in QUALITIES}),
            _quality,
            worst=1.0,
        ),
        Rubric(
            "retrieval",
            ("judged_precision",),
            strict_object(grades=_list(entity={"type": "integer"}, grade=_whole(0, 1, 2), reason=_TEXT)),
            _retrieval,
            needs_answer=False,
        ),
        Rubric(
            "factuality",
            ("factuality", "coverage"),
            strict_object(
                answer=_list(statement=_TEXT, supported=_FLAG, reason=_TEXT),
                truth=_list(statement=_TEXT, present=_FLAG, reason=_TEXT),
            ),
            _factuality,
            needs_truth=True,
        ),
    )
}


def parse_judges(text: str) -> tuple[Rubric, ...]:
    """`correctness,quality` → rubrics in that order, each once. Raises UsageError for an unknown name."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in RUBRICS:
            hint = nearest(name, tuple(RUBRICS)) or "."
            raise UsageError(f"unknown judge {name!r}{hint} Choices: {', '.join(RUBRICS)}")
    return tuple(RUBRICS[name] for name in dict.fromkeys(names))
