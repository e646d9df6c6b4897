"""A results file is joined from pieces of JSON: what it says is read back and held against the evaluation."""

import json
import random
from typing import Any

import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.report.json import Spelled
from tiny_graph_rag.report.json.results import document_parts, question
from tiny_graph_rag.results import as_read
from tiny_graph_rag.run import NO_STEP
from tiny_graph_rag.study.evaluate import Evaluation, evaluate

NAMES = ['"Quoted" Ann', "Back\\slash", "점순네 수탉", "Line\nbreak", "</script>", "Tab\there", "😀 Bo", "Ée"]


def an_evaluation(tmp_path, **settings: Any) -> Evaluation:
    """30 entities whose names need escaping, 60 relations, 40 questions with every kind of reference."""
    dice = random.Random(5)
    names = [f"{NAMES[row % len(NAMES)]} {row}" for row in range(30)]
    entities = {f'e"{row}': {"name": name, "description": name * 2} for row, name in enumerate(names)}
    relations = [
        {
            "source_entity_id": f'e"{dice.randrange(26)}',
            "target_entity_id": f'e"{dice.randrange(26)}',
            "relationship_type": dice.choice(["KNOWS", '"OWNS"', "적"]),
        }
        for _ in range(60)
    ]
    graph, gold = tmp_path / "x-KG.json", tmp_path / "x-eval.jsonl"
    graph.write_text(json.dumps({"entities": entities, "relationships": relations}), encoding="utf-8")
    rows = [
        {
            "id": f'q"{number}',
            "query": "Nobody?" if number % 9 == 0 else f"Whom does {dice.choice(names)} know?",
            "reference_entities": [
                *dice.sample(names, number % 5),
                *(["Nowhere"] if number % 4 == 0 else []),
            ],
            "tags": ["a", 'b"'][: number % 3],
        }
        for number in range(40)
    ]
    gold.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    config = Config().override(top_k=2, depth=12, latency_sample=3, **settings)
    return evaluate(read_graph(graph), read_eval_set(gold), config, default_measures(2))


@pytest.fixture(params=["bfs", "pagerank", "bm25", "oracle"])
def evaluation(request, tmp_path) -> Evaluation:
    return an_evaluation(tmp_path, retriever=request.param, hops=3, save_reasons=True)


def test_rankings_and_walks_say_what_the_run_holds(evaluation):
    known, run = evaluation.graph.entities, evaluation.run
    written = json.loads(b"".join(document_parts(evaluation)))
    assert len(written["results"]) == 40
    for row, found in enumerate(written["results"]):
        rows = list(range(len(run.entities)))[run.rows(row)][:10]
        entities = run.entities[rows].tolist()
        assert [entity["id"] for entity in found["ranked"]] == [known.ids[entity] for entity in entities]
        assert [entity["name"] for entity in found["ranked"]] == [known.names[entity] for entity in entities]
        assert [entity["score"] for entity in found["ranked"]] == run.scores[rows].tolist()
        for place, entity in zip(rows, found["ranked"], strict=True):
            if run.walks is None:
                assert "walk" not in entity
                continue
            relations = [step for step in run.walks[place].tolist() if step != NO_STEP]
            assert replayed(evaluation, relations, entity["walk"]) in (entity["id"], None)


def replayed(evaluation: Evaluation, relations: list[int], steps: list[dict]) -> str | None:
    """Walk the written steps along the graph's own relations; the id at their end, None for no step."""
    known, at = evaluation.graph.relations, None
    ids = evaluation.graph.entities.ids
    for relation, step in zip(relations, steps, strict=True):
        ends = ids[int(known.sources[relation])], ids[int(known.targets[relation])]
        assert (step["from"], step["to"]) == (ends if step["forward"] else ends[::-1])
        assert step["relation"] == known.types[relation]
        assert at in (None, step["from"])
        at = step["to"]
    return at


def test_hits_and_misses_are_those_of_a_plain_reading(evaluation):
    for row, found in enumerate(json.loads(b"".join(document_parts(evaluation)))["results"]):
        gold = evaluation.examples[row].reference_entities
        top = [entity["name"] for entity in found["ranked"][:2]]
        assert found["tp"] == [name for name in top if name in gold]
        assert found["fp"] == [name for name in top if name not in gold]
        assert found["fn"] == [name for name in gold if name not in top]
        assert [reference["name"] for reference in found["references"]] == list(gold)
        for reference in found["references"]:
            assert (reference["verdict"] == "hit") == (reference["name"] in top)
            if reference["verdict"] == "ranked_below_k":
                assert reference["above"] == [
                    one["id"] for one in found["ranked"][:2] if one["name"] not in gold
                ]
            if reference["entity_ids"] and reference["rank"]:
                assert reference["matched"] == reference["name"]
        assert all(evaluation.scores[score][row] == found["metrics"][str(score)] or not gold
                   for score in evaluation.scores)  # fmt: skip


def test_one_question_alone_is_what_the_file_holds(evaluation):
    for row, found in enumerate(json.loads(b"".join(document_parts(evaluation)))["results"]):
        assert as_read(question(evaluation, row, Spelled(evaluation.graph))) == found
