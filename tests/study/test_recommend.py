"""Drafts: pooled candidates with what speaks for them, which questions to judge first, which look doubled;
and references from answers and evidence, by hand, then judged, exported and evaluated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import ROOT, read_json, write_kg
from tiny_graph_rag.errors import DatasetError, UsageError
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.gold.drafts import draft_lines, read_drafts, read_questions
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.study.bridge import Bridged, bridged, check_accept
from tiny_graph_rag.study.recommend import average_overlap

GRAPH = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"


def drafted(run_cli, tmp_path: Path, name: str, text: str, *more: object):
    source = tmp_path / name
    source.write_text(text, encoding="utf-8")
    path = tmp_path / "draft.jsonl"
    found = run_cli("recommend", "--dataset", source, "-g", GRAPH, "-o", path, *more, code=0)
    return found, read_drafts(path)


def test_candidates_come_from_every_retriever_with_their_evidence(run_cli, tmp_path: Path) -> None:
    _, (draft,) = drafted(
        run_cli, tmp_path, "q.txt", "Who killed Julia Stoner?\n", "--retrievers", "bfs,bm25"
    )
    by_name = {candidate.name: candidate for candidate in draft.candidates}
    adder = by_name["Swamp adder"]
    assert set(adder.by) == {"bfs", "bm25"}
    assert adder.hop == 1
    assert adder.walk == (
        {"from": "Julia Stoner", "relation": "KILLED", "to": "Swamp adder", "forward": False},
    )
    assert by_name["Julia Stoner"].words == ("Julia", "Stoner")
    assert draft.example.seed_entities == ("Julia Stoner",)
    assert draft.example.reference_entities == ()
    fused = [sum(1 / (60 + rank) for rank in candidate.by.values()) for candidate in draft.candidates]
    assert fused == sorted(fused, reverse=True)


def test_a_draft_is_no_gold_set(run_cli, tmp_path: Path) -> None:
    drafted(run_cli, tmp_path, "q.txt", "Who killed Julia Stoner?\n", "--retrievers", "bfs")
    command = ("eval", "--dataset", tmp_path / "draft.jsonl", "-g", GRAPH, "--skip-generation")
    found = run_cli(*command, code=2)
    assert found.stderr.count("this is a draft that needs review") == 1


def test_doubles_the_seedless_and_what_to_judge_first_are_said(run_cli, tmp_path: Path) -> None:
    text = "Where does Helen Stoner live?\nWhere does Helen Stoner live\nWhat does it all mean?\n"
    found, drafts = drafted(run_cli, tmp_path, "q.txt", text, "--retrievers", "bfs,pagerank")
    assert "1 question is like an earlier one: q002" in found.stdout
    assert "1 question names no entity: q003" in found.stdout
    assert [draft.like for draft in drafts] == [(), ("q001",), ()]
    assert [draft.no_seed for draft in drafts] == [False, False, True]
    assert {draft.judge_first for draft in drafts} == {1, 2, 3}


def test_agreement_of_rankings_is_the_mean_overlap_of_their_heads() -> None:
    # d=1: {1} and {2}, 0; d=2: {1,2} and {2,1}, 1; d=3: {1,2,3} and {1,2,4}, 2/3.
    assert average_overlap([1, 2, 3], [2, 1, 4], 3) == pytest.approx((0 + 1 + 2 / 3) / 3)
    assert average_overlap([1, 2], [1, 2], 4) == 1.0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.txt", "\n \n", "the gold set is empty"),
        ("q.csv", "id,words\nx,Who?\n", "no column 'query' or 'question'; it has: id, words"),
        ("q.jsonl", '{"id": 1, "query": "a"}\n[1]\n', "q.jsonl:2: wanted an object"),
        ("q.jsonl", '{"query": \n', "q.jsonl:1:11: not JSON"),
    ],
)
def test_what_is_no_question_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=said):
        read_questions(path)


def test_judgments_that_came_with_the_questions_are_kept(run_cli, tmp_path: Path) -> None:
    row = {"id": "x", "query": "Who killed Julia Stoner?", "reference_entities": ["Baboon"], "group": "g"}
    _, drafts = drafted(
        run_cli, tmp_path, "q.jsonl", json.dumps(row) + "\n", "--retrievers", "bfs", "--pool", 2
    )
    assert drafts[0].example.reference_entities == ("Baboon",)
    assert drafts[0].example.group == "g"
    assert [candidate.name for candidate in drafts[0].candidates if not candidate.by] == ["Baboon"]
    path = tmp_path / "again.jsonl"
    path.write_bytes(b"".join(draft_lines(drafts)))
    assert read_drafts(path) == drafts


NAMES = ["Anna Weaver", "Ben Cooper", "Cleo Marsh", "Harbour Mill", "Bees"]
RELATIONS = [("Anna Weaver", "KEEPS", "Bees"), ("Ben Cooper", "OWNS", "Harbour Mill")]


@pytest.fixture
def mill(tmp_path: Path) -> Callable[..., Bridged]:
    write_kg(tmp_path / "mill-KG.json", NAMES, RELATIONS)
    graph = read_graph(tmp_path / "mill-KG.json")

    def found(*examples: Example, accept: tuple[str, ...] = ()) -> Bridged:
        return bridged(graph, examples, NameLinker(graph, NameIndex.of(graph)), accept)

    return found


def asked(query: str, answer: str, *evidence: str) -> Example:
    return Example("q", query, (), ground_truth=(answer,), reference_texts=evidence, judged=False)


def test_a_reference_is_named_by_answer_and_evidence_and_not_by_the_question(
    mill: Callable[..., Bridged],
) -> None:
    answer = "Ben Cooper owns Harbour Mill with Cleo Marsh."
    evidence = "Ben Cooper bought Harbour Mill from Anna Weaver."
    found = mill(asked("Who owns Harbour Mill?", answer, evidence), accept=("both",))
    (draft,) = found.drafts
    assert draft.example.reference_entities == ("Ben Cooper",)
    assert (found.found, found.accepted, found.references, found.silent) == (1, 1, 1, ())
    # Both first, then the answer alone, then the evidence alone; the mill is the question's own.
    assert [one.name for one in draft.candidates] == ["Ben Cooper", "Cleo Marsh", "Anna Weaver"]
    places = [(place["in"], place["start"], place["end"]) for place in draft.candidates[0].named]
    assert places == [("answer", 0, 10), ("evidence", 0, 10)]
    assert draft.candidates[1].named[0]["before"].endswith("Harbour Mill with ")


def test_nothing_is_accepted_unasked_and_an_essay_never(mill: Callable[..., Bridged]) -> None:
    short = asked("Who owns it?", "Ben Cooper.", "Ben Cooper owns it.")
    assert mill(short).drafts[0].example.reference_entities == ()
    long = asked("Who owns it?", "Ben Cooper. " + "And so on it goes. " * 15, "Ben Cooper owns it.")
    found = mill(short, long, accept=("both",))
    assert [draft.example.reference_entities for draft in found.drafts] == [("Ben Cooper",), ()]
    assert found.long == 1


def test_a_plural_in_the_question_is_the_question_s_own(mill: Callable[..., Bridged]) -> None:
    found = mill(asked("Where are the harbour mills?", "At Harbour Mill.", "Harbour Mill."), accept=("both",))
    assert found.drafts[0].candidates == ()
    assert found.silent == ("q",)


@pytest.mark.parametrize(("accept", "of_the_sentence"), [("exact", ()), ("answer", ("Anna Weaver",))])
def test_an_answer_that_is_a_name_is_accepted_without_evidence(
    mill: Callable[..., Bridged], accept: str, of_the_sentence: tuple[str, ...]
) -> None:
    answers = "Anna Weaver", "It is Anna Weaver, I think"
    found = mill(*(asked("Who keeps bees?", answer) for answer in answers), accept=(accept,))
    references = [draft.example.reference_entities for draft in found.drafts]
    assert references == [("Anna Weaver",), of_the_sentence]


def test_what_can_not_be_bridged_is_said(mill: Callable[..., Bridged]) -> None:
    with pytest.raises(UsageError, match="no question has an answer or evidence"):
        mill(Example("q", "Who?", ()))
    with pytest.raises(UsageError, match="unknown --accept 'bth'; did you mean 'both'"):
        check_accept("bth")


def test_a_question_that_a_person_found_no_answer_for_is_gold_too(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    pytest.importorskip("starlette")
    write_kg(own_folder / "mill-KG.json", NAMES, RELATIONS)
    (own_folder / "qa.json").write_text('[{"id": "a", "question": "Who swims?", "answer": "Nobody"}]')
    run_cli("dataset from qa.json -g mill-KG.json -o ./d.jsonl")
    event = {"n": 1, "at": "x", "by": "me", "question": "a", "what": "done", "done": True, "no_answer": True}
    (own_folder / "d.journal.jsonl").write_text(json.dumps(event) + "\n")
    run_cli("curate --dataset ./d.jsonl -g mill-KG.json --export -o ./gold.jsonl")
    (example,) = read_eval_set(own_folder / "gold.jsonl")
    assert (example.reference_entities, example.tags) == ((), ("no-answer",))


def test_from_answers_to_an_evaluation(own_folder: Path, run_cli: Callable[..., Result]) -> None:
    pytest.importorskip("starlette")
    write_kg(own_folder / "mill-KG.json", NAMES, RELATIONS)
    own, keeps = ("Ben Cooper", "Ben Cooper owns it."), ("Cleo or Anna", "Anna Weaver does.")
    rows = [
        {"id": id, "question": question, "answer": answer, "evidence": evidence}
        for id, question, (answer, evidence) in (("a", "Who owns Harbour Mill?", own), ("b", "Bees?", keeps))
    ]
    (own_folder / "qa.json").write_text(json.dumps(rows))
    graph = ("-g", "mill-KG.json")
    made = run_cli("dataset from qa.json -o ./d.jsonl --accept both", *graph, code=0)
    assert "1 reference of 1 question" in made.stdout
    drafts = read_drafts(own_folder / "d.jsonl")
    assert [draft.example.reference_entities for draft in drafts] == [("Ben Cooper",), ()]
    assert drafts[1].candidates[0].name == "Anna Weaver"
    judged = run_cli("curate --dataset ./d.jsonl --export -o ./gold.jsonl", *graph)
    assert "questions done: 1, left: 1" in judged.stdout, judged.output
    (example,) = read_eval_set(own_folder / "gold.jsonl")
    assert (example.id, example.reference_entities) == ("a", ("Ben Cooper",))
    assert example.ground_truth == ("Ben Cooper",)
    run_cli("eval --dataset ./gold.jsonl --skip-generation -o ./o.json", *graph, code=0)
    assert read_json("o.json")["results"][0]["metrics"]["recall@5"] == 1.0
