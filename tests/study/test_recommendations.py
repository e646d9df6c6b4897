"""Recommendations follow from the numbers, and what was missed shows the walk that would have reached it."""

from __future__ import annotations

import json

import pytest

from tests.conftest import kg, read_json, write_gold, write_set
from tiny_graph_rag.report.plain import worst_by

CHAIN = [("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", "Rex")]


def evaluated(run_cli, tmp_path, *questions, options=(), retriever="bfs-plain"):
    # A chain: Anna knows Bert, Bert owns Rex, Rex bites Carl, Carl fears Dora.
    relations = [*CHAIN, ("Rex", "BITES", "Carl"), ("Carl", "FEARS", "Dora")]
    write_set(tmp_path, "tale", ["Anna", "Bert", "Rex", "Carl", "Dora"], relations, *questions)
    command = "eval --dataset tale-eval.jsonl --quiet -o ./r.json --retriever"
    run_cli(command, retriever, *options, code=0)
    return read_json("r.json")


def rules(document) -> dict:
    return {advice["rule"]: advice for advice in document["summary"]["recommendations"]}


def test_what_lies_beyond_the_hops_is_said_and_more_hops_are_tried(run_cli, tmp_path):
    far = [{"query": f"Whom does Anna dread, {n}?", "reference_entities": ["Carl"]} for n in range(9)]
    farther = {"query": "Whom does Anna meet?", "reference_entities": ["Dora"]}
    document = evaluated(run_cli, tmp_path, *far, farther, options=("--hops", "1"))
    assert rules(document)["largest loss"]["evidence"] == {"step": "reachable within h hops", "loss": 1.0}
    tried = {record["label"]: record for record in document["summary"]["decision"]["tried"]}
    # Nine of ten lie 3 hops away, one 4.
    assert (tried["--hops 3"]["better"], tried["--hops 4"]["better"]) == (9, 10)


def test_a_missed_reference_shows_the_walk_that_would_have_reached_it(run_cli, tmp_path):
    question = {"query": "Whom does Anna dread?", "reference_entities": ["Carl"]}
    document = evaluated(run_cli, tmp_path, question, options=("--hops", "1"))
    (reference,) = document["results"][0]["references"]
    assert reference["verdict"] == "beyond_hops"
    walk = [(step["from"], step["relation"], step["to"]) for step in reference["path"]]
    assert walk == [*CHAIN, ("Rex", "BITES", "Carl")]
    assert {"Rex", "Carl"} <= set(document["entities"])


def test_better_seeds_are_recommended_where_they_would_help(run_cli, tmp_path):
    question = {"query": "Who is it?", "reference_entities": ["Bert"], "seed_entities": ["Anna"]}
    found = rules(evaluated(run_cli, tmp_path, question))
    assert found["better linking"]["evidence"] == {"gain": 1.0, "seed_recall": 0.0}


@pytest.mark.parametrize("references", [["Anna"], []])
def test_a_perfect_run_and_one_without_references_need_no_advice(run_cli, tmp_path, references):
    question = {"query": "Who is Anna?", "reference_entities": references}
    assert rules(evaluated(run_cli, tmp_path, question)) == {}


def test_what_a_hybrid_found_without_a_path_and_ranked_below_k_lies_beyond_the_hops_too(run_cli, tmp_path):
    """Three entities share the question's word; the one that is asked for would be reached by a path."""
    names = ["Anna", "Bert", "Rex", "Carl", "Dora", "Emil"]
    graph = kg(names, [*CHAIN, ("Rex", "BITES", "Emil")])
    for name in ("Carl", "Dora", "Emil"):
        graph["entities"][name]["description"] = "a tanner of the old town"
    (tmp_path / "data/kg").mkdir(parents=True)
    (tmp_path / "data/kg/tale-KG.json").write_text(json.dumps(graph), encoding="utf-8")
    question = {"query": "Which tanner does the dog of Anna's friend bite?", "reference_entities": ["Emil"]}
    write_gold(tmp_path / "data/eval/tale-eval.jsonl", question)
    command = "eval --dataset tale-eval.jsonl --hops 1 --top-k 1 -o ./r.json"
    done = run_cli(f"{command} --retriever hybrid:bfs+bm25 --linker names", code=0)
    document = read_json("r.json")
    (reference,) = document["results"][0]["references"]
    assert (reference["verdict"], reference["hop"]) == ("ranked_below_k", 3)
    assert [step["to"] for step in reference["path"]] == ["Bert", "Rex", "Emil"]
    assert "found without a path; needs 3 hops" in done.stdout
    assert "--hops 3" in {record["label"] for record in document["summary"]["decision"]["tried"]}


def test_a_single_question_whose_score_was_cut_is_not_told_to_return_more(run_cli, tmp_path) -> None:
    # Anna is returned, Bert scores less than .99: the list has room left up to retrieval.depth.
    question = {"query": "Whom does Anna meet?", "reference_entities": ["Bert"]}
    document = evaluated(run_cli, tmp_path, question, options=("--set", "retrieval.min_score=0.99"))
    (reference,) = document["results"][0]["references"]
    assert reference["verdict"] == "below_min_score"
    # What any ranking could return doesn't depend on the score: the step of the hops comes first.
    lost = {step["step"]: step["loss"] for step in document["summary"]["waterfall"]}
    assert list(lost)[2:5] == ["reachable", "reachable within h hops", "above min-score"]
    assert lost["reachable within h hops"] == 0.0
    assert lost["above min-score"] == 1.0


@pytest.mark.parametrize("first", ["no_answer_accuracy", "judged_bad@5", "relation_recall"])
def test_a_measure_that_no_loser_has_silences_no_advice(run_cli, tmp_path, first) -> None:
    far = {"query": "Whom does Anna dread?", "reference_entities": ["Carl"]}
    alone = rules(evaluated(run_cli, tmp_path, far, options=("--hops", "1", "--measures", "ndcg@5")))
    options = ("--hops", "1", "--measures", first)
    beside = rules(evaluated(run_cli, tmp_path, far, options=options))
    # Nothing asked for tells how these questions went: trials judge by nDCG, and say so.
    assert beside["tried"]["text"] == alone["tried"]["text"]
    assert beside["tried"]["evidence"]["measure"] == "ndcg@5"


def test_the_worst_of_questions_without_references_say_what_was_wrong(run_cli, tmp_path) -> None:
    question = {"query": "Who is Anna?", "reference_entities": []}
    write_set(tmp_path, "pair", ["Anna", "Bert"], CHAIN[:1], question)
    command = "eval --dataset pair-eval.jsonl --measures no_answer_accuracy -o ./r.json"
    done = run_cli(command, code=0)
    assert "should return nothing, but returned entities" in done.stdout
    assert "every reference is found" not in done.stdout


def test_questions_are_ranked_from_the_worst_by_a_measure_that_rises_to_one() -> None:
    assert worst_by(["judged_bad@5", "recall@5", "ndcg@5"]) == "ndcg@5"
    assert worst_by(["judged_bad@5", "of_a_package@5", "recall@5"]) == "recall@5"
    assert worst_by(["judged_bad@5"]) == worst_by(["of_a_package@5"]) == worst_by([]) == ""


def test_seeds_that_the_graph_lacks_are_no_reason_to_stop(run_cli, tmp_path) -> None:
    # Linked to Anna, who is then left out; without a seed the text finds her. Of no seed no share is known.
    question = {"query": "Is it Anna?", "reference_entities": ["Anna"], "seed_entities": ["Nobody"]}
    options = ("--exclude-seeds",)
    document = evaluated(run_cli, tmp_path, question, options=options, retriever="hybrid:bfs-plain+bm25")
    found = rules(document)["better linking"]["evidence"]
    assert found == {"gain": 1.0, "seed_recall": None}
