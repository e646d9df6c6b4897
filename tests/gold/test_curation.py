"""The journal and what it adds up to, without a page."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import write_kg
from tests.tools.mutations import VALUES
from tiny_graph_rag.errors import DatasetError, UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.agreement import agreement
from tiny_graph_rag.gold.curation import (
    Curation,
    DraftJournal,
    Refused,
    checked,
    judged_otherwise,
    read_journal,
)
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.search import EntitySearch

NAMES = {"e1": "Anna", "e2": "Ben", "e3": "Cleo"}


OPEN: list[DraftJournal] = []


@pytest.fixture(autouse=True)
def closed_journals() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def opened(tmp_path: Path, *more: Example) -> Curation:
    examples = {"q1": Example("q1", "Who?", ()), **{question.id: question for question in more}}
    OPEN.append(DraftJournal(tmp_path / "d.journal.jsonl"))
    return Curation(examples, OPEN[-1], NAMES.get)


def judged(by: str, entity: str, grade: int | None, **more: object) -> dict:
    return {"by": by, "question": "q1", "what": "judge", "entity": entity, "grade": grade, **more}


def test_decisions_are_on_disk_and_add_up_again_after_a_restart(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    curation.decide(judged("anna", "e1", 2), 0)
    curation.decide(judged("anna", "e2", 1), 0)
    curation.decide(judged("anna", "e2", 0), 0)
    curation.decide({"by": "anna", "question": "q1", "what": "done"}, 0)
    view = curation.view("q1")
    curation.journal.close()
    again = opened(tmp_path)
    assert again.view("q1") == view
    assert view["grades"] == {"anna": {"e1": 2, "e2": 0}}
    (made,), left, unsettled = again.gold()
    assert (made.highly_relevant_entities, made.irrelevant_entities) == (("Anna",), ("Ben",))
    assert (left, unsettled) == (0, 0)


def test_a_decision_sent_twice_counts_once(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    first = curation.decide(judged("anna", "e1", 2, key="k"), 0)
    assert curation.decide(judged("anna", "e1", 2, key="k"), 0) == first
    assert len(curation.journal.events) == 1


def test_undo_takes_back_ones_own_last_decision_and_no_other(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    curation.decide(judged("anna", "e1", 1), 0)
    curation.decide(judged("anna", "e1", 2), 0)
    curation.decide(judged("ben", "e2", 2), 0)
    with pytest.raises(Refused, match="one's own"):
        curation.decide({"by": "anna", "question": "q1", "what": "undo", "of": 3}, 0)
    curation.decide({"by": "anna", "question": "q1", "what": "undo", "of": curation.last_of("q1", "anna")}, 0)
    assert curation.view("q1")["grades"] == {"anna": {"e1": 1}, "ben": {"e2": 2}}


def test_an_edit_over_somebody_elses_is_refused_not_lost(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    curation.decide({"by": "anna", "question": "q1", "what": "query", "query": "Who is it?"}, 0)
    with pytest.raises(Refused, match="somebody else has changed the query") as refused:
        curation.decide({"by": "ben", "question": "q1", "what": "query", "query": "Who was it?"}, 0)
    assert refused.value.changed
    curation.decide({"by": "ben", "question": "q1", "what": "query", "query": "Who was it?"}, 1)
    assert curation.view("q1")["query"] == "Who was it?"


def test_what_two_see_differently_has_the_lower_grade_until_it_is_settled(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    curation.decide(judged("anna", "e1", 2), 0)
    curation.decide(judged("ben", "e1", 0), 0)
    curation.decide({"by": "ben", "question": "q1", "what": "done"}, 0)
    assert curation.settled("q1") == ({"e1": 0}, ["e1"])
    curation.decide(judged("agreed", "e1", 1), 0)
    assert curation.settled("q1") == ({"e1": 1}, [])
    assert curation.annotators == ["anna", "ben"]


def test_a_gold_set_that_is_looked_over_keeps_what_nobody_judged_anew(tmp_path: Path) -> None:
    came = Example("q2", "Where?", ("Anna", "Ben"), tags=("x",), group="g")
    curation = opened(tmp_path, came)
    curation.decide({**judged("anna", "e2", 0), "question": "q2"}, 0)
    (made,), left, _ = curation.gold()
    assert (made.reference_entities, made.irrelevant_entities, left) == (("Anna",), ("Ben",), 1)
    assert made.group == "g"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"by": "", "question": "q1", "what": "done"}, "annotator's name"),
        ({"by": "a", "question": "q9", "what": "done"}, "no question 'q9'"),
        ({"by": "a", "question": "q1", "what": "explode"}, "no such event"),
        (judged("a", "e9", 1), "no entity 'e9'"),
        (judged("a", "e1", 3), "a grade is 0, 1, 2"),
        (judged("a", "e1", True), "a grade is 0, 1, 2"),
        ({"by": "a", "question": "q1", "what": "query", "query": " "}, "not an empty one"),
        ({"by": "a", "question": "q1", "what": "note", "note": "x" * 20_000}, "must be a text"),
        ({"by": "a", "question": "q1", "what": "tags", "tags": "x"}, "list of words"),
        ({"by": "a", "question": "q1", "what": "tags", "tags": ["x", " "]}, "list of words"),
    ],
)
def test_events_that_are_none_are_refused_and_not_written(tmp_path: Path, event: dict, said: str) -> None:
    curation = opened(tmp_path)
    with pytest.raises(Refused, match=said):
        curation.decide(event, 0)
    assert curation.journal.path.read_bytes() == b""


SOUND: tuple[dict[str, object], ...] = (
    {"what": "judge", "entity": "e1", "grade": 1},
    {"what": "query", "query": "Who is it?"},
    {"what": "tags", "tags": ["one", "two"]},
    {"what": "done", "done": True, "no_answer": False},
    {"what": "undo", "of": 1},
)


@pytest.mark.parametrize("sound", SOUND, ids=lambda sound: sound["what"])
def test_any_value_in_any_field_is_refused_or_can_be_read_again(sound: dict[str, object]) -> None:
    whole = {"by": "anna", "question": "q1", "key": None, **sound}
    for name, value in itertools.product(whole, (*VALUES, ["\ud800"], [None])):
        try:
            taken = checked(whole | {name: value})
        except Refused:
            continue
        assert checked(json.loads(json.dumps(taken))) == taken, (name, value)


def test_a_journal_cut_off_at_any_byte_keeps_every_whole_decision(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    for grade in (0, 1, 2):
        curation.decide(judged("안나", "e1", grade), 0)
    curation.journal.close()
    path = tmp_path / "d.journal.jsonl"
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        try:
            again = opened(tmp_path)
        except Exception as error:
            raise AssertionError(f"cut at {cut}") from error
        kept = sum(end - 1 <= cut for end in ends)  # without its line end a line is whole all the same
        assert len(again.journal.events) == kept, cut
        again.decide(judged("anna", "e2", 1), 0)
        again.journal.close()
        assert [entry["what"] for entry in read_journal(path)] == ["judge"] * (kept + 1), cut


@pytest.mark.parametrize(
    "change",
    [
        {"question": 3}, {"by": None}, {"grade": True}, {"grade": [1]}, {"grade": 7}, {"entity": {}},
        {"what": "tags", "tags": "a"}, {"what": "done"}, {"what": "undo", "of": [1]}, {"what": []},
        {"what": "note", "note": 2**70}, {"key": ["k"]},
    ],
)  # fmt: skip
def test_an_event_that_no_window_wrote_is_said_with_its_line(tmp_path: Path, change: dict) -> None:
    path = tmp_path / "d.journal.jsonl"
    path.write_text(json.dumps(judged("anna", "e1", 1) | change) + "\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"journal\.jsonl:1: not a valid line"):
        read_journal(path)


def test_a_line_in_the_middle_that_is_no_event_is_said_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "d.journal.jsonl"
    done = '{"by": "anna", "question": "q1", "what": "done", "done": true, "no_answer": false}'
    path.write_text(f"{done}\nnonsense\n{done}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"journal\.jsonl:2: not a valid line"):
        read_journal(path)


def test_one_journal_has_one_server(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    with pytest.raises(UsageError, match="another `curate` has this journal"):
        DraftJournal(tmp_path / "d.journal.jsonl")
    curation.journal.close()
    opened(tmp_path).journal.close()


def test_kappa_is_cohens() -> None:
    # Cohen's own arithmetic on 50 alike-or-not judgments: 20 both yes, 15 both no, 5 and 10 mixed.
    one = [1] * 20 + [1] * 5 + [0] * 10 + [0] * 15
    other = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    # observed .7; by chance .5 · .6 + .5 · .4 = .5; κ = .2 / .5
    assert agreement(one, other).kappa == pytest.approx(0.4)
    assert agreement(one, other).weighted == pytest.approx(0.4)
    assert math.isnan(agreement([1, 1], [1, 1]).kappa)
    assert agreement([], []).judged == 0
    assert agreement([0, 1, 2], [0, 1, 2]).kappa == 1.0


def test_kappa_equals_another_implementation() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, other = rng.integers(0, 3, 40).tolist(), rng.integers(0, 3, 40).tolist()
        pairs = list(zip(one, other, strict=True))
        for weight, found in (
            (lambda a, b: float(a != b), agreement(one, other).kappa),
            (lambda a, b: float((a - b) ** 2), agreement(one, other).weighted),
        ):
            seen = sum(weight(a, b) for a, b in pairs) / 40
            chance = sum(weight(a, b) for a in one for b in other) / 1600
            assert found == pytest.approx(1 - seen / chance)


def test_search_finds_parts_aliases_and_syllables_half_typed(tmp_path: Path) -> None:
    graph = read_graph(
        write_kg(
            tmp_path / "g-KG.json",
            [
                ("Dr. Grimesby Roylott", ["the doctor"]),
                "Roylott",
                "점순",
                "점순네 수탉",
                "Zoë",
                "line\nbreak",
            ],
            [("Roylott", "KNOWS", "점순")],
        )
    )
    search = EntitySearch.of(graph)

    def names(typed: str) -> list[str]:
        return [graph.entities.names[row] for row in search.find(typed)]

    assert names("roylott") == ["Roylott", "Dr. Grimesby Roylott"]
    assert names("dr roy") == ["Dr. Grimesby Roylott"]
    assert names("doctor") == ["Dr. Grimesby Roylott"]
    for typed in ("ㅈ", "저", "점", "점ㅅ", "점수", "점순"):
        assert names(typed) == ["점순", "점순네 수탉"], typed
    assert names("수탉") == ["점순네 수탉"]
    assert names("ZOË") == ["Zoë"]
    assert names("break") == ["line\nbreak"]
    assert names("  ") == names("nobody") == []


def test_a_decision_never_counts_for_another_question(tmp_path: Path) -> None:
    curation = opened(tmp_path)
    curation.decide(judged("anna", "e1", 2), 0)
    curation.journal.close()
    path = curation.journal.path
    assert judged_otherwise(path, {"q1": "Who?"}) == []
    assert judged_otherwise(path, {"q1": "Where?"}) == ["q1"]
    assert judged_otherwise(path, {"q2": "Where?"}) == []
    again = opened(tmp_path, Example("q1", "Where?", ()))
    assert list(again.reworded) == ["q1"]
    assert again.view("q1")["grades"] == {}
    again.journal.close()
    assert opened(tmp_path).view("q1")["grades"] == {"anna": {"e1": 2}}  # its words are back
