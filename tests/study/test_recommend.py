"""Drafts: pooled candidates with what speaks for them, which questions to judge first, which look doubled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.formats.gold.drafts import draft_lines, read_drafts, read_questions
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
    assert [draft.seedless for draft in drafts] == [False, False, True]
    assert {draft.first for draft in drafts} == {1, 2, 3}


def test_agreement_of_rankings_is_the_mean_overlap_of_their_heads() -> None:
    # d=1: {1} and {2}, 0; d=2: {1,2} and {2,1}, 1; d=3: {1,2,3} and {1,2,4}, 2/3.
    assert average_overlap([1, 2, 3], [2, 1, 4], 3) == pytest.approx((0 + 1 + 2 / 3) / 3)
    assert average_overlap([1, 2], [1, 2], 4) == 1.0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.txt", "\n \n", "contains no question"),
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
