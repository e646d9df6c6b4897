"""No failure looks like virtue: whatever failed or is absent has the worst value of every measure.

Replacing any answer, right, wrong or empty, by a failure or by an absence never improves a mean: with a
retriever of the user's own, with runs of other programs (in memory, over a graph, in TREC files that are read
in blocks), with dictionaries, and with runs whose questions could not be linked.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from tests.contracts.test_measures import EVERY as ALL
from tests.contracts.test_measures import graph, judged_of, material  # noqa: F401 - a fixture
from tests.measures.test_judged import run_of
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import graded
from tiny_graph_rag.formats.runs import Retrieved, WrittenRun, read_run
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.library import load_questions
from tiny_graph_rag.measures import Judged, Measure, means, weights
from tiny_graph_rag.measures.base import measure as registration
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.native import reply_of
from tiny_graph_rag.retrieval.own import OwnRetriever
from tiny_graph_rag.retrieval.own_calls import InThread
from tiny_graph_rag.run import Run
from tiny_graph_rag.scoring.frames import judged_dicts
from tiny_graph_rag.scoring.judging import judged as judged_written
from tiny_graph_rag.scoring.opening import Request, attempts
from tiny_graph_rag.scoring.stretches import Collected, ScoreColumns
from tiny_graph_rag.study.evaluate import evaluate

QUESTIONS = 12
EVERY = [measure for measure in ALL if not measure.kind.times]  # a time is of what was answered alone
IDS_ONLY = [measure for measure in EVERY if not measure.kind.needs_graph]
# The contest's rule divides by what was submitted: what is absent counts for nothing there.
OF_ABSENT = [measure for measure in IDS_ONLY if measure.kind.name != "contest_map"]

Means = Mapping[Measure, float]


def means_of(judged: Judged, measures: Sequence[Measure] = EVERY) -> Means:
    columns = {measure: measure.compute(judged) for measure in measures}
    found = means(columns, weights=weights(judged, measures))
    return {key: mean.mean for key, mean in found.items()}


def assert_no_better(before: Means, after: Means, what: str) -> None:
    for measure, mean in before.items():
        if np.isnan(mean):
            assert np.isnan(after[measure]) or after[measure] == measure.kind.worst, (measure, what)
            continue
        gain = after[measure] - mean if measure.kind.higher_is_better else mean - after[measure]
        assert gain <= 1e-12, f"{measure} improved by {gain} with {what}"


@pytest.mark.slow
def test_a_failure_never_improves_a_mean_of_any_measure(graph) -> None:  # noqa: F811
    improved = 0
    for number in range(25):
        chance = random.Random(number)
        rankings, golds, bad = material(graph, chance, QUESTIONS)
        judged = judged_of(graph, rankings, golds, bad)
        before = means_of(judged)
        for question in range(QUESTIONS):
            failed = judged_of(graph, [*rankings[:question], [], *rankings[question + 1 :]], golds, bad)
            answered = np.arange(QUESTIONS) != question
            after = means_of(structs.replace(failed, answered=answered))
            assert_no_better(before, after, f"question {question} of {number} failed")
            # That the test can fail: as an empty list the same question does improve some means.
            improved += (
                means_of(failed)[Measure("no_answer_accuracy")] > before[Measure("no_answer_accuracy")]
            )
    assert improved > 10


def test_all_failed_is_the_worst_mean_there_is(graph) -> None:  # noqa: F811
    rankings, golds, bad = material(graph, random.Random(3), QUESTIONS)
    judged = structs.replace(judged_of(graph, rankings, golds, bad), answered=np.zeros(QUESTIONS, dtype=bool))
    empty = structs.replace(
        judged_of(graph, [[]] * QUESTIONS, golds, bad), answered=np.zeros(QUESTIONS, dtype=bool)
    )
    for measure, mean in means_of(empty).items():
        assert mean == measure.kind.worst, measure
    assert means_of(judged)[Measure("judged_bad", 3)] == 1


def gold_of(golds: Sequence[Mapping[int, int]], bad: Sequence[Sequence[int]]) -> dict[str, dict[str, int]]:
    return {
        f"q{row}": {f"d{entity}": grade for entity, grade in grades.items()}
        | {f"d{entity}": 0 for entity in others}
        for row, (grades, others) in enumerate(zip(golds, bad, strict=True))
    }


def runs() -> Iterator[tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]]:
    for number in range(8):
        rankings, golds, bad = material(None, random.Random(number), QUESTIONS)
        lists = [{f"d{entity}": 1 / rank for rank, entity in enumerate(row, start=1)} for row in rankings]
        yield {f"q{row}": ranking for row, ranking in enumerate(lists)}, gold_of(golds, bad)


def by_dicts(run: dict[str, dict[str, float]], gold: dict[str, dict[str, int]], folder: Path) -> Means:
    return means_of(judged_dicts(run, gold), OF_ABSENT)


def as_written(run: dict[str, dict[str, float]], gold: dict[str, dict[str, int]], folder: Path) -> Means:
    questions = [graded(key, grades) for key, grades in gold.items()]
    places = {key: [Retrieved("", name) for name in row] for key, row in run.items()}
    return means_of(judged_written(questions, WrittenRun(places)).judged, OF_ABSENT)


def as_trec(
    run: dict[str, dict[str, float]], gold: dict[str, dict[str, int]], folder: Path, filler: str = ""
) -> Means:
    lines = [f"{key} Q0 {name} 1 {score} tag\n" for key, row in run.items() for name, score in row.items()]
    judged = [f"{key} 0 {name} {grade}\n" for key, row in gold.items() for name, grade in row.items()]
    (folder / "a.run").write_text("".join(lines) + filler)
    (folder / "a.qrels").write_text("".join(judged))
    opened = next(attempts(Request(folder / "a.run", folder / "a.qrels"), None, None))
    collected = Collected(OF_ABSENT)
    collected.parts += [ScoreColumns.of(stretch, OF_ABSENT) for stretch in opened.stretches]
    overall = collected.found.overall
    assert overall.failed == sum(not run.get(key) for key, row in gold.items() if row)
    return {measure: mean.mean for measure, mean in overall.measures.items()}


def in_blocks(run: dict[str, dict[str, float]], gold: dict[str, dict[str, int]], folder: Path) -> Means:
    """With lines of a question that nobody judges, which make the file one that is read in blocks."""
    filler = "".join(f"zz Q0 filler-document-{rank} {rank} 0.5 tag\n" for rank in range(1, 80_001))
    return as_trec(run, gold, folder, filler)


@pytest.mark.slow
@pytest.mark.parametrize(("found", "most"), [(by_dicts, 8), (as_written, 8), (as_trec, 2), (in_blocks, 1)])
def test_a_question_that_a_run_lacks_never_improves_a_mean(
    found: Callable[..., Means], most: int, tmp_path: Path
) -> None:
    for run, gold in list(runs())[:most]:
        before = found(run, gold, tmp_path)
        for question in run:
            lacking = {key: row for key, row in run.items() if key != question}
            assert_no_better(before, found(lacking, gold, tmp_path), f"{question} absent")


PEOPLE = ["Ann", "Bob", "Cy", "Dee", "Eve", "Fay"]
GOLD = [
    {"id": "q0", "query": "Whom does Ann know?", "reference_entities": ["Bob"]},
    {"id": "q1", "query": "Whom does Bob know?", "reference_entities": ["Cy", "Dee"]},
    {"id": "q2", "query": "Who is on the moon?", "reference_entities": []},
    {"id": "q3", "query": "Who owns Mars?", "reference_entities": []},
    {
        "id": "q4",
        "query": "Whom does Cy know?",
        "reference_entities": ["Dee"],
        "irrelevant_entities": ["Ann"],
    },
    {"id": "q5", "query": "Whom does Dee know?", "reference_entities": ["Eve"], "expected_types": ["T"]},
]
REPLIES = {
    "Whom does Ann know?": ["Bob", "Cy"],
    "Whom does Bob know?": ["Ann", "Dee"],
    "Who is on the moon?": [],
    "Who owns Mars?": ["Fay"],
    "Whom does Cy know?": ["Ann", "Bob", "Dee"],
    "Whom does Dee know?": ["Fay"],
}


def people() -> KnowledgeGraph:
    triples = [(first, "KNOWS", second) for first, second in pairwise(PEOPLE)]
    return KnowledgeGraph.from_triples(triples)


@pytest.mark.parametrize("failing", [row["query"] for row in GOLD])
def test_a_retriever_that_raises_never_improves_a_mean(failing: str) -> None:
    def sound(question: str) -> list[str]:
        return REPLIES[question]

    def raising(question: str) -> list[str]:
        if question == failing:
            raise RuntimeError("out of memory")
        return REPLIES[question]

    def found(function: Callable[[str], list[str]]) -> tuple[Means, int, int]:
        def made(knowledge, config, examples=None, judgments=None) -> OwnRetriever:
            task = Task(knowledge, config, "f", examples, judgments)
            return OwnRetriever(task, InThread(function))

        overall = evaluate(
            people(), load_questions(GOLD), Config(), EVERY, retriever_for=made
        ).summary.overall
        values = {measure: mean.mean for measure, mean in overall.measures.items()}
        return values, overall.failed, overall.rightly_empty

    (before, none, empty), (after, one, still) = found(sound), found(raising)
    assert (none, empty, one) == (0, 1, 1)
    assert still == (0 if failing == "Who is on the moon?" else 1)
    assert_no_better(before, after, f"{failing} raises")


def test_a_run_keeps_its_failures_through_everything_that_makes_a_run_of_it() -> None:
    run = replace(run_of([1, 2], [], [3]), failures={1: "out of memory"})
    assert run.cut(1).failures == run.where(run.entities > 1).failures == {1: "out of memory"}
    assert run.within(2).failures == {1: "out of memory"}
    assert run.of(np.array([2, 1])).failures == {1: "out of memory"}
    assert Run.concatenated([run, run]).failures == {1: "out of memory", 4: "out of memory"}


ANSWERED = [(question["id"], question["query"], REPLIES[question["query"]]) for question in GOLD]


def jsonl(failing: str, error: object) -> str:
    """A question an object; one that failed with a text has an empty list, with an object none at all."""
    failed = {"error": error} | ({"entities": []} if isinstance(error, str) else {})
    rows = ({"id": id} | (failed if id == failing else {"entities": found}) for id, _, found in ANSWERED)
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(failing: str, error: object) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["query_id", "doc_id", "rank", "error"])
    for key, _, names in ANSWERED:
        if key == failing:
            writer.writerow([key, "", "", error])
        elif not names:
            writer.writerow([key, "", "", ""])
        for rank, name in enumerate(names if key != failing else (), start=1):
            writer.writerow([key, name, rank, ""])
    return text.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("error", ["timeout", {"message": "429: slow down"}])
@pytest.mark.parametrize(
    ("written", "suffix"),
    [(jsonl, "jsonl"), (table, "csv")],
    ids=["jsonl", "table"],
)
@pytest.mark.parametrize("failing", ["q1", "q2"])
def test_an_error_in_a_run_is_a_failure_and_no_empty_answer(
    written: Callable[[str, object], str], suffix: str, error: object, failing: str, tmp_path: Path
) -> None:
    """q2 has no answer: an empty list is right there, a question that failed is not."""
    path = tmp_path / f"run.{suffix}"

    def found(failing: str) -> tuple[Means, int, int]:
        path.write_text(written(failing, error), encoding="utf-8")
        examples = load_questions(GOLD)
        run = read_run(path).keyed_by({question.id: question.query for question in examples})
        collected = Collected(IDS_ONLY)
        collected.parts.append(ScoreColumns.of(judged_written(examples, run, people()), IDS_ONLY))
        overall = collected.found.overall
        as_retriever = evaluate(
            people(), examples, Config().override(retriever=f"run:{path}"), IDS_ONLY
        ).summary.overall
        values = {measure: mean.mean for measure, mean in overall.measures.items()}
        again = {measure: mean.mean for measure, mean in as_retriever.measures.items()}
        assert values == pytest.approx(again, nan_ok=True)
        counted = (overall.failed, overall.rightly_empty)
        assert counted == (as_retriever.failed, as_retriever.rightly_empty)
        return values, *counted

    (before, none, empty), (after, one, still) = found(""), found(failing)
    assert (none, empty, one, still) == (0, 1, 1, int(failing != "q2"))
    assert_no_better(before, after, f"{failing} failed")


def test_an_error_beside_what_was_retrieved_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"id": "q0", "entities": ["Bob"], "error": "reranker off"}) + "\n")
    run = read_run(path)
    assert (list(run.rankings), run.failures) == (["q0"], {})


def test_a_reply_that_holds_an_error_and_nothing_else_has_failed() -> None:
    with pytest.raises(ValueError, match="rate limit"):
        reply_of({"entities": [], "passages": [], "error": "rate limit"})
    assert reply_of({"entities": ["Bob"], "error": "one shard is down"}).entities
    assert reply_of({"entities": [], "error": None}).entities == ()


def test_a_measure_without_a_worst_value_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a finite `high`"):
        registration("distance_total", source="x", higher_is_better=False, high=float("inf"))(np.zeros_like)
