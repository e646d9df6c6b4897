"""What each judge is given, must reply, and what its reply is worth.

To add one, write what its reply is worth under `@judge(…)` in a module of this folder, or in another package
with an entry point in the group `tiny_graph_rag.judges`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from tiny_graph_rag.answers.records import Answer
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import json_kind, wrong_value
from tiny_graph_rag.llm.base import Json, Message, Template, read_object, strict_object
from tiny_graph_rag.registry import Registry

QUALITIES = ("coherence", "relevance", "fluency", "consistency", "readability")


def _list(**properties: Json) -> Json:
    return {"type": "array", "items": strict_object(**properties)}


Value = Callable[[Json], dict[str, float]]

_TEXT: Json = {"type": "string"}
_FLAG: Json = {"type": "boolean"}


def _whole(*values: int) -> Json:
    return {"type": "integer", "enum": list(values)}


@dataclass(frozen=True, slots=True)
class Rubric:
    """One judge.

    text: what the model is given, `---` between system and user message, with places: {question}, {truth},
    {answer}, {graph} (the facts that the answer was given), {entities} (what was retrieved).
    scores: the names of its scores. value: its reply → their values; raises ValueError for a reply of another
    form. worst: what each score is where the reply can't be had or read. needs_truth: asked only where there
    is a true answer; needs_answer: only where the question was answered. both_orders: asked once more with
    truth and answer in each other's place; a value v then counts 1 − v, and the score is the mean of both.
    """

    name: str
    text: str
    scores: tuple[str, ...]
    schema: Json
    value: Value
    needs_truth: bool = False
    needs_answer: bool = True
    worst: float = 0.0
    both_orders: bool = False

    def has_place(self, name: str) -> bool:
        return f"{{{name}}}" in self.text

    def model(self, config: Config) -> str:
        """The name of the one that is asked."""
        service = config.openai
        return config.generation.accuracy_model if self is NEARNESS else service.judge_model or service.model

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        return Template.of(self.text).fill(values)

    def read(self, text: str, entities: int | None = None) -> Json:
        """The reply as an object, checked. entities: how many were sent to be graded. Raises ValueError."""
        reply = read_object(text)
        try:
            self.value(reply)
            if entities is not None:
                _check_places(reply, entities)
        except (KeyError, TypeError, AttributeError) as error:
            raise wrong_value("the reply does not have the requested form ({error})", error=error) from None
        return reply


JUDGES: Registry[Rubric] = Registry(
    "judge",
    "tiny_graph_rag.answers",
    {
        "correctness": "rubrics:_correctness",
        "preference": "rubrics:_preference",
        "faithfulness": "rubrics:_faithfulness",
        "quality": "rubrics:_quality",
        "retrieval": "rubrics:_retrieval",
        "factuality": "rubrics:_factuality",
    },
)


def judge(name: str, line: str, *, text: str = "", **fields: Any) -> Callable[[Value], Value]:
    """Register a judge by what its reply is worth. fields: others of Rubric.

    line: what it asks, for `--help` and the docs. text: empty for `rubrics/NAME.txt` next to the module.
    """

    def made(value: Value) -> Rubric:
        package = value.__module__.rpartition(".")[0]
        told = text or resources.files(package).joinpath(f"rubrics/{name}.txt").read_text("utf-8")
        return Rubric(name, told, value=value, **fields)

    return JUDGES.register(name, line, made)


def _grade(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise wrong_value(
            "wanted a whole number from {low} to {high}, got {got}",
            low=low,
            high=high,
            got=json_kind(value),
        )
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong_value("wanted true or false, got {got}", got=json_kind(value))
    return value


@judge(
    "correctness",
    "does the answer say what ground_truth says?",
    scores=("correctness",),
    schema=strict_object(reason=_TEXT, grade=_whole(0, 1, 2)),
    needs_truth=True,
)
def _correctness(reply: Json) -> dict[str, float]:
    return {"correctness": _grade(reply["grade"], 0, 2) / 2}


@judge(
    "preference",
    "is it better than ground_truth? 0, .5 (a tie), 1",
    scores=("preference",),
    schema=strict_object(reason=_TEXT, winner={"type": "string", "enum": ["A", "B", "tie"]}),
    needs_truth=True,
    both_orders=True,
)
def _preference(reply: Json) -> dict[str, float]:
    """1 where B is preferred (the answer; turned, the ground truth), .5 for a tie, 0 where A is."""
    worth = {"A": 0.0, "tie": 0.5, "B": 1.0}
    if reply["winner"] not in worth:
        raise wrong_value("wanted A, B or tie, got {got}", got=json_kind(reply["winner"]))
    return {"preference": worth[reply["winner"]]}


@judge(
    "faithfulness",
    "share of its claims that the context supports",
    scores=("faithfulness",),
    schema=strict_object(claims=_list(claim=_TEXT, supported=_FLAG, reason=_TEXT)),
)
def _faithfulness(reply: Json) -> dict[str, float]:
    """Supported claims of all; undefined where an answer makes none."""
    flags = [_flag(claim["supported"]) for claim in reply["claims"]]
    return {"faithfulness": sum(flags) / len(flags) if flags else math.nan}


@judge(
    "quality",
    "coherence, relevance, fluency … from 1 to 5 each",
    scores=QUALITIES,
    schema=strict_object(reason=_TEXT, **{name: _whole(1, 2, 3, 4, 5) for name in QUALITIES}),
    worst=1.0,
)
def _quality(reply: Json) -> dict[str, float]:
    return {name: float(_grade(reply[name], 1, 5)) for name in QUALITIES}


@judge(
    "retrieval",
    "share of the retrieved entities that help",
    scores=("judged_precision",),
    schema=strict_object(grades=_list(entity={"type": "integer"}, grade=_whole(0, 1, 2), reason=_TEXT)),
    needs_answer=False,
)
def _retrieval(reply: Json) -> dict[str, float]:
    """The share of the graded entities that help (grade 1 or 2)."""
    grades = entity_grades(reply)
    return {
        "judged_precision": sum(grade > 0 for grade in grades.values()) / len(grades) if grades else math.nan
    }


def entity_grades(reply: Json) -> dict[int, int]:
    """Place of the entity in the list (from 1) → grade."""
    return {int(grade["entity"]): _grade(grade["grade"], 0, 2) for grade in reply["grades"]}


def _check_places(reply: Json, entities: int) -> None:
    """Every entity that was sent has one grade, and nothing else has. Raises ValueError."""
    places = sorted(int(grade["entity"]) for grade in reply["grades"])
    if places != list(range(1, entities + 1)):
        raise wrong_value(
            "wanted one grade for each of {entities} entities, got grades for {places}",
            entities=entities,
            places=places,
        )


@judge(
    "factuality",
    "statement by statement against ground_truth: F1",
    scores=("factuality", "coverage"),
    schema=strict_object(
        answer=_list(statement=_TEXT, supported=_FLAG, reason=_TEXT),
        truth=_list(statement=_TEXT, present=_FLAG, reason=_TEXT),
    ),
    needs_truth=True,
)
def _factuality(reply: Json) -> dict[str, float]:
    """F1 of statements (TP supported, FP unsupported, FN absent from the answer), and coverage of the truth.

    Two empty lists are in full agreement (1.0). Source: GraphRAG-Bench, arXiv 2506.05690.
    """
    supported = [_flag(claim["supported"]) for claim in reply["answer"]]
    present = [_flag(claim["present"]) for claim in reply["truth"]]
    true_positives, false_negatives = sum(supported), len(present) - sum(present)
    weight = 2 * true_positives + (len(supported) - true_positives) + false_negatives
    f1 = 2 * true_positives / weight if weight else float(not supported and not present)
    return {"factuality": f1, "coverage": sum(present) / len(present) if present else math.nan}


# Not asked but embedded, by `generation.accuracy_model`: how near an answer comes to the truth, -1 to 1.
NEARNESS = Rubric(
    "accuracy",
    "",
    ("accuracy",),
    strict_object(similarity={"type": "number"}),
    lambda reply: {"accuracy": float(reply["similarity"])},
    needs_truth=True,
    worst=-1.0,
)


def accuracy(answer: Answer) -> Answer:
    """ACC: .75 × factuality + .25 × cosine similarity of answer and truth, from -.25 to 1.

    answer: with its `factuality`, and the similarity as `accuracy`. Source: GraphRAG-Bench, arXiv 2506.05690.
    """
    value = 0.75 * answer.scores["factuality"] + 0.25 * answer.scores["accuracy"]
    failed = {"accuracy"} if "factuality" in answer.unjudged else set()
    return replace(answer, scores=answer.scores | {"accuracy": value}, unjudged=answer.unjudged | failed)


def parse_judges(text: str, accuracy_model: str = "") -> tuple[Rubric, ...]:
    """`correctness,quality` → rubrics in that order, each once. Raises UsageError for an unknown name.

    accuracy_model: of embeddings, "" for none; with it what `factuality` found is made ACC.
    """
    names = dict.fromkeys(name.strip() for name in text.split(",") if name.strip())
    judges = tuple(JUDGES[name] for name in names)
    return (*judges, NEARNESS) if accuracy_model and "factuality" in names else judges
