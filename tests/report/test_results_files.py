"""Results files as types: what is written decodes into them without loss, and older files still load.

A file is joined from pieces of JSON: what it says is read back and held against the evaluation.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.conftest import ROOT, kg, read_json, write_gold, write_kg
from tests.report.make_results import results
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import RunError
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import Measure, default_measures
from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import said
from tiny_graph_rag.report.json import Spelled
from tiny_graph_rag.report.json.results import document_parts, question
from tiny_graph_rag.results import Results, RunFile, Summary, as_read, encoded, part, schema
from tiny_graph_rag.run import NO_STEP
from tiny_graph_rag.study.evaluate import Evaluation, evaluate
from tiny_graph_rag.study.results_file import read_results

SCHEMA = schema()
SAMPLES = {
    "김유정-동백꽃": "김유정-동백꽃-hardset",
    "conan-doyle-speckled-band": "conan-doyle-speckled-band-eval",
}


def written_by_eval(graph: str, dataset: str, hops: int = 3) -> dict:
    config = Config().override(hops=hops, latency_sample=2)
    evaluation = evaluate(
        read_graph(ROOT / f"data/kg/{graph}-KG.json"),
        read_eval_set(ROOT / f"data/eval/{dataset}.jsonl"),
        config,
        default_measures(config.evaluation.top_k),
    )
    return json.loads(b"".join(document_parts(evaluation)))


def differences(one: Any, other: Any, at: str = "$") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key in one and key in other:
                yield from differences(one[key], other[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}"
    elif isinstance(one, list) and isinstance(other, list | tuple) and len(one) == len(other):
        for row, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from differences(mine, its, f"{at}[{row}]")
    elif one != other:
        yield at


def through_the_types(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(msgspec.convert(document, Results))
    return found


def check(document: dict[str, Any]) -> None:
    assert list(differences(document, through_the_types(document))) == []
    jsonschema.validate(document, SCHEMA)


@pytest.mark.parametrize("graph", SAMPLES)
def test_what_eval_writes_passes_through_the_types_without_loss(graph: str) -> None:
    check(written_by_eval(graph, SAMPLES[graph]))


@pytest.mark.slow
@pytest.mark.parametrize("retriever", ["bfs", "bm25", "oracle"])
def test_every_retrievers_file_does(tmp_path: Path, retriever: str) -> None:
    evaluation = an_evaluation(tmp_path, retriever=retriever, hops=2, save_reasons=True)
    check(json.loads(b"".join(document_parts(evaluation))))


@pytest.mark.parametrize("on_graph", [False, True])
def test_what_score_writes_does(own_folder: Path, run_cli, on_graph: bool) -> None:
    write_kg(own_folder / "x-KG.json", ["Anna", "Ben"], [("Anna", "KNOWS", "Ben")])
    write_gold(own_folder / "x-eval.jsonl", {"id": "q1", "query": "Whom?", "reference_entities": ["Ben"]})
    (own_folder / "x.trec").write_text("q1 Q0 Anna 1 0.9 me\nq1 Q0 Ben 2 0.8 me\n", encoding="utf-8")
    graph = ("-g", "./x-KG.json") if on_graph else ()
    run_cli("score --run ./x.trec --gold ./x-eval.jsonl -o ./r.json", *graph, code=0)
    check(read_json("r.json"))


def test_history_shows_a_scored_run_with_a_large_graph_and_names_what_it_leaves_out(
    own_folder: Path, run_cli
) -> None:
    """Of `score -g` the entities stand behind the summary: a megabyte of them hid it."""
    names = [f"Anna {number}" for number in range(3000)]
    document = kg(names)
    for entity in document["entities"].values():
        entity["description"] = "what is known of her " * 25
    (own_folder / "x-KG.json").write_text(json.dumps(document), encoding="utf-8")
    write_gold(own_folder / "x-eval.jsonl", {"id": "q1", "query": "Who?", "reference_entities": names})
    (own_folder / "x.trec").write_text("q1 Q0 Anna_0 1 0.9 me\n", encoding="utf-8")
    run_cli("score --run ./x.trec --gold ./x-eval.jsonl -g ./x-KG.json -o ./past/scored.json", code=0)
    scored = (own_folder / "past/scored.json").read_bytes()
    assert len(scored) > 1 << 20
    changed = json.loads(scored) | {"kind": "eval", "config": {"retrieval": "bfs"}}
    files = {
        "cut": scored[:-2000],
        "changed": json.dumps(changed).encode(),
        "other": b'{"name": "no results"}',
    }
    for name, content in files.items():
        (own_folder / f"past/{name}.json").write_bytes(content)
    done = run_cli("history past", code=0)
    assert "scored" in done.stdout
    assert "cut.json" in done.stderr
    assert "changed.json" in done.stderr
    assert "other.json" not in done.output


@pytest.mark.parametrize(
    ("record", "read"),
    [
        ({Measure("mrr"): Mean(math.nan, 0.5, math.inf, 3)},
         {"mrr": {"mean": None, "low": 0.5, "high": None, "n": 3, "reliable": False}}),
        ({"why": said("no {what}", what="seed"), "path": "a\udcffb", "loss": math.nan},
         {"why": "no seed", "path": "a?b", "loss": None}),
        ([RunFile("run")], [{"name": "run", "sha256": ""}]),
    ],
)  # fmt: skip
def test_records_are_written_as_they_are(record: Any, read: Any) -> None:
    """Undefined numbers as null, measures by their names, what is no UTF-8 as `?`."""
    assert as_read(record) == read
    assert json.loads(encoded(record)) == read


def test_a_part_of_a_record_reads_that_alone() -> None:
    narrow: Any = part(Results, "kind", label=None, types={"label": str}, **{"summary": None})
    found = msgspec.json.decode(b'{"kind": "eval", "results": 7}', type=narrow)
    assert (found.kind, found.summary, found.label) == ("eval", None, None)
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        msgspec.convert({"k": "five"}, part(Summary, "k"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema_version": 1, "kind": "sweep"}', "its 'kind' is 'sweep'"),
        ('{"schema_version": 2, "kind": "eval"}', "wanted schema_version 1, got the number 2"),
        ('{"schema_version": 1, "kind": "eval"}', "missing required field"),
        ("[[[[", "not a results file"),
        ("[]", "Expected `object`, got `array`"),
        ('{"entities": {}}', "its 'kind' is null"),
        ('{"kind": "eval", "schema_version": 1, "dataset": {}, "summary": {}}', "missing required field"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=message):
        read_results(tmp_path / "r.json")


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


def mentioned_ids(found: dict[str, Any]) -> Iterator[str]:
    """The entity ids in one object of `results`, repeated as they come."""
    for item in (*found["linked"], *found["ranked"]):
        yield item["id"]
    for reference in found["references"]:
        yield from reference["entity_ids"]
        yield from reference.get("above") or ()
    yield from (found["answer"] or {}).get("citations", ())
    walks = (entity.get("walk") for entity in found["ranked"])
    paths = (reference.get("path") for reference in found["references"])
    for steps in (*walks, *paths):
        for step in steps or ():
            yield from (step["from"], step["to"])


def test_every_id_that_a_file_mentions_has_its_entity():
    document = written_by_eval("김유정-동백꽃", "김유정-동백꽃-hardset")
    mentioned = {id_ for row in document["results"] for id_ in mentioned_ids(row)}
    assert mentioned == set(document["entities"])
    assert all(entity["name"] and "description" in entity for entity in document["entities"].values())


def test_the_schema_is_one_and_what_the_generator_makes_validates():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    document = results(40, 200)
    jsonschema.validate(document, SCHEMA)
    assert sum(len(result["references"]) for result in document["results"]) == 200


@pytest.mark.slow
def test_the_hop_beside_a_walk_is_the_walks(run_cli, tmp_path) -> None:
    """`bfs` prefers a walk that explains more of the question, which may be longer than the nearest."""
    files: tuple[object, ...] = ("--dataset", ROOT / "data/eval/conan-doyle-speckled-band-hardset.jsonl")
    files += ("-g", ROOT / "data/kg/conan-doyle-speckled-band-KG.json")
    run_cli("eval", *files, "--skip-generation", "--hops", "3", "--quiet", "-o", "./walks.json", code=0)
    document = read_json(tmp_path / "walks.json")
    walked = 0
    for asked in document["results"]:
        steps = {hit["id"]: len(hit["walk"]) for hit in asked["ranked"]}
        assert [max(hit["hop"], 0) for hit in asked["ranked"]] == list(steps.values())
        for reference in asked["references"]:
            shown = [steps[entity] for entity in reference["entity_ids"] if steps.get(entity)]
            if reference["rank"] and (shown or reference.get("path")):
                own = len(reference["path"]) if reference.get("path") else shown[0]  # from the names
                assert reference["hop"] == own, asked["id"]
                walked += 1
    assert walked > 20
