"""Runs as people have them: every shape of docs/runs.md gives the same ranking and the same scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tiny_graph_rag.errors import DatasetError, RunError
from tiny_graph_rag.formats.gold import detected as detected_gold
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.formats.runs import detected, read_run
from tiny_graph_rag.formats.tables import is_trec

Q1, Q2 = "Where does Ann live?", "Who lives in Dover?"


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# Of two questions the first retrieves Dover, then Ann; the second nothing.
BOTH, TEXTS = [["Dover", "Ann"], []], (Q1, Q2)


def two(id: str, key: str, ids: tuple[str, str] = ("q1", "q2")) -> list[dict[str, Any]]:
    return [{id: one, key: names} for one, names in zip(ids, BOTH, strict=True)]


UPSTREAM = [
    row | {"query": query, "reference_entities": [name]}
    for row, query, name in zip(two("example_id", "retrieved_entities"), TEXTS, ("Dover", "Ann"), strict=True)
]
RANK = ["question", "rank", "entity"]
RANKED: list[list[Any]] = [[Q1, 2, "Ann"], [Q1, 1, "Dover"], [Q2, None, None]]
SHAPES = {
    "names": lines(*two("id", "retrieved")),
    "pairs": lines(
        {"eval_id": "q1", "entities": [["Ann", 0.1], ["Dover", 0.9]]}, {"eval_id": "q2", "entities": []}
    ),
    "objects": lines(
        {"query_id": "q1", "retrieved_entities": [{"name": "Dover"}, {"name": "Ann"}]},
        {"query_id": "q2", "retrieved_entities": []},
    ),
    "by text": lines(*two("question", "contexts", TEXTS)),
    "a cell a question": f"question,retrieved_entities\n{Q1},Dover; Ann\n{Q2},\n",
    "a row a rank": f"question,rank,entity\n{Q1},2,Ann\n{Q1},1,Dover\n{Q2},,\n",
    "results in a question": lines(*two("query", "results", TEXTS)),
    "retrieved nodes": lines(*two("question", "retrieved_nodes", TEXTS)),
    "input and output": json.dumps(two("input", "output", TEXTS), indent=1),
    "under any key": json.dumps({"a": {"mrr": 0.5}, "per_question": two("id", "returned_entities")}),
    "a result in a question": lines(
        *({"question_id": one["id"], "result": one} for one in two("id", "retrieved"))
    ),
    "a text a question": lines(
        {"id": "q1", "ranked_entities": "Dover; Ann"}, {"id": "q2", "ranked_entities": ""}
    ),
    "a rank an object": json.dumps([dict(zip(RANK, row, strict=True)) for row in RANKED]),
    "columns of pandas": json.dumps(
        {name: {str(n): row[at] for n, row in enumerate(RANKED)} for at, name in enumerate(RANK)}
    ),
    "in Korean": f"질문,순위,개체\n{Q1},2,Ann\n{Q1},1,Dover\n{Q2},,\n",
    "lists alone": json.dumps(BOTH),
    "one line": json.dumps(two("id", "retrieved")),
    "upstream": json.dumps({"summary": {"num_examples": 2, "avg_mrr": 0.5}, "results": UPSTREAM}, indent=2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_the_same_run(shape: str, tmp_path: Path, run_cli: Callable[..., Result]) -> None:
    run, gold = tmp_path / "run.json", tmp_path / "gold.jsonl"
    run.write_text(SHAPES[shape], encoding="utf-8")
    gold.write_text(
        lines(
            {"id": "q1", "query": Q1, "reference_entities": ["Dover"]},
            {"id": "q2", "query": Q2, "reference_entities": ["Ann"]},
        ),
        encoding="utf-8",
    )
    found = read_run(run).keyed_by({"q1": Q1, "q2": Q2}).rankings
    assert {key: [place.key for place in places] for key, places in found.items()} == {
        "q1": ["Dover", "Ann"],
        "q2": [],
    }
    asked = ("--measures", "mrr,recall@1", "-o", "-")
    told = run_cli("score", "--run", run, "--gold", gold, *asked, code=0)
    measures = json.loads(told.stdout)["summary"]["measures"]
    assert (measures["mrr"]["mean"], measures["recall@1"]["mean"]) == (0.5, 0.5)
    assert "q2" not in told.stderr


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (lines({"id": "q1", "matches": ["Dover"]}), "with the keys 'id', 'matches'; wanted one of 'id'"),
        (
            lines({"quest": Q1, "entities": ["Dover"]}),
            "the first has: 'quest', 'entities'. Name the key in run-",
        ),
        (
            json.dumps([{"id": 1, "found": []}]),
            "the first has: 'id', 'found'. Name the key in run-",
        ),
        (
            lines({"id": "q1", "entities": [{"label": "Dover"}]}),
            "an object with 'name' or 'id', got an object with the keys 'label'",
        ),
        (lines({"question": Q1, "sources": ["read_file"]}), "without what was retrieved"),
        (
            lines(*({"qid": id, "system": name, "entities": []} for name in ("a", "b") for id in "qr")),
            "run.jsonl:3: 2 records for a question that is in the file twice",
        ),
    ],
)
def test_a_wrong_key_says_which_keys_there_are(text: str, wanted: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunError) as caught:
        read_run(path)
    (told,) = str(caught.value).splitlines()
    assert wanted in told
    assert "not JSON" not in told


def test_upstreams_results_and_lists_are_gold_sets_too(tmp_path: Path) -> None:
    path = tmp_path / "upstream.json"
    path.write_text(SHAPES["upstream"], encoding="utf-8")
    read = {question.id: question.reference_entities for question in read_eval_set(path)}
    assert read == {"q1": ("Dover",), "q2": ("Ann",)}
    path.write_text(json.dumps([{"query": Q1, "reference_entities": ["Dover"]}], indent=1), encoding="utf-8")
    assert [question.id for question in read_eval_set(path)] == ["line-1"]
    assert read_gold(path).format == "jsonl"
    path.write_text(json.dumps([{"query": Q1, "reference_entities": "Dover"}]), encoding="utf-8")
    with pytest.raises(DatasetError, match="question 1: 'reference_entities' must be a list of strings"):
        read_eval_set(path)


def test_fast_graphrags_table_comes_out_to_four_digits(
    tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    """Its benchmark: 101 questions, the share of them with all evidence among what was retrieved."""
    published = {"vector": 0.4158, "LightRAG": 0.4455, "nano GraphRAG": 0.7327, "fast-graphrag": 0.9307}
    for system, share in published.items():
        rows = []
        for n in range(1, 102):
            truth = [f"Paper {n}", f"Paper {n + 1}"]
            found = truth if n <= round(share * 101) else ["Paper 0", truth[0]]
            question = f"Which two papers does note {n} compare?"
            rows.append({"question": question, "evidence": [f"Note {n}", *found], "ground_truth": truth})
        path = tmp_path / "results.json"
        path.write_text(json.dumps(rows, indent=4), encoding="utf-8")
        asked = ("--measures", "all_hit@100", "--top-k", "5", "-o", "-")
        told = run_cli("score", "--run", path, "--gold", path, *asked, code=0)
        found = json.loads(told.stdout)["summary"]["measures"]["all_hit@100"]
        assert (round(found["mean"], 4), found["n"]) == (share, 101), system


def test_an_id_with_a_comma_makes_no_table_of_a_trec_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 Roylott,_Grimesby 1 .5 t\n")
    (tmp_path / "gold").write_text("q 0 Roylott,_Grimesby 1\n")
    assert (detected(tmp_path / "run"), detected_gold(tmp_path / "gold")) == ("trec", "trec")
    (tmp_path / "run").write_text("q Q0 Roylott 1 .5 t\n")
    with pytest.raises(DatasetError, match="unknown gold format"):  # nor is a line of a run a question
        detected_gold(tmp_path / "run")
    for line in ("q1, 0, d1, 1", "question id,doc id,the score by us", "q, Q0, d, 1, .5, t"):
        assert not any(is_trec(line, fields) for fields in (4, 6))


def test_a_results_file_is_no_run_and_is_told_once(tmp_path: Path) -> None:
    # Its `ranked` holds the first ranks alone: measured as a run it would score less than it retrieved.
    head = {"schema_version": 1, "package_version": "0", "kind": "eval"}
    rows = [{"id": f"q{n}", "query": Q1, "ranked": [{"name": "Dover"}], "references": []} for n in range(9)]
    path = tmp_path / "a-results.json"
    for indent in (None, 1):
        path.write_text(json.dumps({**head, "summary": {}, "results": rows}, indent=indent), "utf-8")
        with pytest.raises(RunError) as refused:
            read_run(path)
        (told,) = str(refused.value).splitlines()
        assert told.startswith("a-results.json: a results file has only the first ranks")


PASSAGES = ["It is Dover.", "c2"]


@pytest.mark.parametrize(
    "text",
    [
        f'user_input,retrieved_contexts,response\n{Q1},"{PASSAGES}",Dover\n',
        lines({"question": Q1, "retrieved_doc_ids": PASSAGES, "top_scores": [0.9, 0.1]}),
        lines({"query": Q1, "top_sources": PASSAGES}),
        lines(
            {"query": Q1, "topk": [{"chunk_id": "c1", "text": "It is Dover."}, {"doc_id": 2, "text": "c2"}]}
        ),
        f'input,retrieved_contexts\n{Q1},"{PASSAGES}"\n',
        lines({"question": Q1, "sources": [{"title": "a.pdf", "text": text} for text in PASSAGES]}),
        lines({"qid": Q1, "top5_chunk_ids": PASSAGES}),
        lines({"question": Q1, "sources": ["a/b.md"]}),
    ],
)
def test_passages_are_read_under_any_key_that_speaks_of_them(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text(text, encoding="utf-8")
    run = read_run(path)
    wanted = ["a/b.md"] if "a/b.md" in text else PASSAGES
    assert [passage.text or passage.key for passage in (run.passages or {})[Q1]] == wanted
    assert not run.lists_entities


def test_ids_of_a_cell_are_parted_by_commas_and_a_title_is_not(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text('example_id,retrieved_docs\nq1,"GS2_1, a.md"\nq2,"Woodson, Arkansas"\n', encoding="utf-8")
    found = read_run(path).passages or {}
    assert {key: [one.id or one.text for one in row] for key, row in found.items()} == {
        "q1": ["GS2_1", "a.md"],
        "q2": ["Woodson, Arkansas"],
    }


def test_ids_are_the_same_number_and_a_run_of_other_questions_is_refused(
    tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    gold, run = tmp_path / "gold.jsonl", tmp_path / "run.csv"
    rows = [{"id": n, "query": f"Who is {n}?", "reference_entities": ["Ann"]} for n in (1, 10)]
    gold.write_text(lines(*rows), encoding="utf-8")
    for ids in (("01", "10"), ("1.0", "10.0")):
        run.write_text("query_id,entity\n" + "".join(f"{id},Ann\n" for id in ids), encoding="utf-8")
        told = run_cli("score", "--run", run, "--gold", gold, "--measures", "mrr", "-o", "-", code=0)
        assert json.loads(told.stdout)["summary"]["measures"]["mrr"]["mean"] == 1
    run.write_text("query_id,entity\nx7,Ann\n", encoding="utf-8")
    told = run_cli("score", "--run", run, "--gold", gold, code=2)
    assert "no question of the run is in the gold set: the run has 'x7', the gold set '1'" in told.stderr


def test_a_decimal_comma_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q1 Q0 Dover 1 0,9 t\n", encoding="utf-8")
    with pytest.raises(RunError, match="run:1: the score must be a number such as 0\\.5, got '0,9'"):
        read_run(path)


def test_systems_with_their_figures_are_no_rankings(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    row = {"question": "Who?", "predicted": "Ann"}
    path.write_text(json.dumps({"bm25": {"accuracy": 0.5, "details": [row]}}), encoding="utf-8")
    with pytest.raises(RunError, match="1 record without what was retrieved; the first has: 'question'"):
        read_run(path)
