"""The schema describes what is written: by `eval`, and by the generator that the other tests read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import read_json
from tests.report.make_results import results
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.report.json.results import document_parts
from tiny_graph_rag.results import schema
from tiny_graph_rag.study.evaluate import evaluate

ROOT = Path(__file__).parents[2]
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
    for question in document["results"]:
        steps = {hit["id"]: len(hit["walk"]) for hit in question["ranked"]}
        assert [max(hit["hop"], 0) for hit in question["ranked"]] == list(steps.values())
        for reference in question["references"]:
            shown = [steps[entity] for entity in reference["entity_ids"] if steps.get(entity)]
            if reference["rank"] and (shown or reference.get("path")):
                assert reference["hop"] == (shown[0] if shown else len(reference["path"])), question["id"]
                walked += 1
    assert walked > 20
