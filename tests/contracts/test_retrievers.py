"""What every registered retriever owes: order, depth, filters, one answer whatever the file's order."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import write_gold
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, Seed
from tiny_graph_rag.retrieval import RETRIEVERS, make_retriever
from tiny_graph_rag.run import NO_HOP, NO_STEP, Run

ARGUMENTS = {"hybrid": ["hybrid:bfs+bm25", "hybrid:bm25+bfs-plain+pagerank"]}
NEED_A_SERVICE_OR_FILE = {"dense", "run"}
ALONE = [name for name in RETRIEVERS if name not in NEED_A_SERVICE_OR_FILE]
EVERY = [item for name in ALONE for item in ARGUMENTS.get(name, [name])]
KINDS = ("WRITTEN_BY", "KNOWS", "LIVES_IN")
QUESTIONS = [(f"Who wrote what knows 이름 {number}?", number) for number in range(0, 40, 5)]


def document(seed: int = 1) -> dict[str, Any]:
    """40 entities, pairs of which share a name; every entity's text has the questions' words in it."""
    draw = random.Random(seed)
    return {
        "entities": {
            f"e{number:02}": {
                "name": f"이름 {number // 2}",
                "entity_type": ("PERSON", "PLACE")[number % 2],
                "description": "knows",
            }
            for number in range(40)
        },
        "relationships": [
            {
                "relationship_id": f"r{number}",
                "source_entity_id": f"e{draw.randrange(40):02}",
                "target_entity_id": f"e{draw.randrange(40):02}",
                "relationship_type": draw.choice(KINDS),
                "weight": draw.choice([0.5, 1.0, 2.0]),
            }
            for number in range(80)
        ],
    }


def shuffled(parts: dict[str, Any], seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    entities, relations = list(parts["entities"].items()), list(parts["relationships"])
    draw.shuffle(entities)
    draw.shuffle(relations)
    return {"entities": dict(entities), "relationships": relations}


def load(path: Path, parts: dict[str, Any]) -> KnowledgeGraph:
    path.write_text(json.dumps(parts), encoding="utf-8")
    return read_graph(path)


def config(retriever: str, **settings: Any) -> Config:
    return replace(Config(), retrieval=replace(Config().retrieval, retriever=retriever, **settings))


def asked(graph: KnowledgeGraph) -> list[LinkedQuestion]:
    row = {entity_id: place for place, entity_id in enumerate(graph.entities.ids)}
    return [
        LinkedQuestion(
            text,
            tuple(Seed(row[f"e{item:02}"], "", None, None, "test") for item in (number, (number + 7) % 40)),
            id=f"q{number}",
        )
        for text, number in QUESTIONS
    ]


def retrieved(graph: KnowledgeGraph, folder: Path, settings: Config) -> Run:
    gold = [
        {"id": f"q{number}", "query": text, "reference_entities": [f"이름 {number // 2 + 3}"]}
        for text, number in QUESTIONS
    ]
    examples = read_eval_set(write_gold(folder / "a-eval.jsonl", *gold))
    judgments = resolve(examples, NameIndex.of(graph), len(graph))
    return make_retriever(graph, settings, examples, judgments).retrieve(asked(graph))


def in_words(graph: KnowledgeGraph, run: Run, walks: bool = True) -> list[Any]:
    """A run by ids, which no order of a file changes."""
    ids, relation_ids = list(graph.entities.ids), list(graph.relations.ids)
    steps: Sequence[Any] = [None] * len(run.entities)
    if walks and run.walks is not None:
        steps = [[relation_ids[step] for step in walk if step != NO_STEP] for walk in run.walks.tolist()]
    rows = zip(run.entities.tolist(), run.scores.tolist(), run.hops.tolist(), steps, strict=True)
    return [run.offsets.tolist(), [(ids[entity], *rest) for entity, *rest in rows]]


@pytest.fixture
def graph(tmp_path: Path) -> KnowledgeGraph:
    return load(tmp_path / "a-KG.json", document())


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("depth", [3, 100])
def test_rankings_are_in_house_order_without_repeats_and_no_deeper_than_asked(
    name: str, depth: int, graph: KnowledgeGraph, tmp_path: Path
) -> None:
    run = retrieved(graph, tmp_path, config(name, depth=depth, hops=3))
    assert len(run) == len(QUESTIONS)
    assert len(run.entities) > 0
    for question in range(len(run)):
        rows = run.rows(question)
        entities = run.entities[rows]
        assert len(entities) <= depth
        assert len(set(entities.tolist())) == len(entities)
        hops = [hop if hop != NO_HOP else 10**9 for hop in run.hops[rows].tolist()]
        keys = list(zip((-run.scores[rows]).tolist(), hops, graph.name_rank[entities].tolist(), strict=True))
        assert keys == sorted(keys)
        assert not np.isnan(run.scores[rows]).any()
    assert run.cut(1).entities.tolist() == [
        run.entities[run.rows(number)][0]
        for number in range(len(run))
        if run.rows(number).stop > run.rows(number).start
    ]


@pytest.mark.parametrize("name", EVERY)
def test_the_order_of_a_file_changes_nothing(name: str, graph: KnowledgeGraph, tmp_path: Path) -> None:
    wanted = in_words(graph, retrieved(graph, tmp_path, config(name, hops=3)), walks=False)
    for seed in range(3):
        other = load(tmp_path / "b-KG.json", shuffled(document(), seed))
        assert in_words(other, retrieved(other, tmp_path, config(name, hops=3)), walks=False) == wanted


@pytest.mark.parametrize("name", EVERY)
def test_compiling_changes_nothing(
    name: str, graph: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    settings = config(name, hops=3)
    plain = replace(settings, running=replace(settings.running, compiled=False))
    wanted = in_words(graph, retrieved(graph, tmp_path, plain))
    monkeypatch.setattr("tiny_graph_rag.columns.arrays.WORTH_STEPS", 0)
    assert in_words(graph, retrieved(graph, tmp_path, settings)) == wanted


@pytest.mark.parametrize("name", EVERY)
def test_a_walk_leads_from_a_seed_to_its_entity_in_as_many_relations_as_the_hop_says_or_more(
    name: str, graph: KnowledgeGraph, tmp_path: Path
) -> None:
    run = retrieved(graph, tmp_path, config(name, hops=3))
    if run.walks is None:
        assert set(run.hops.tolist()) <= {NO_HOP}, "hops without walks: Candidates.walked gives both"
        return
    sources, targets = graph.relations.sources, graph.relations.targets
    for question, linked in enumerate(asked(graph)):
        for row in range(run.rows(question).start, run.rows(question).stop):
            at = int(run.entities[row])
            relations = [step for step in run.walks[row].tolist() if step != NO_STEP]
            if run.hops[row] == NO_HOP:
                assert relations == []
                continue
            assert len(relations) >= run.hops[row]
            for relation in reversed(relations):
                assert at in (sources[relation], targets[relation])
                at = int(sources[relation] + targets[relation]) - at
            assert at in {seed.entity for seed in linked.seeds}


@pytest.mark.parametrize("name", EVERY)
def test_filters_hold_what_they_promise(name: str, graph: KnowledgeGraph, tmp_path: Path) -> None:
    run = retrieved(graph, tmp_path, config(name, hops=2, types="PLACE", exclude_seeds=True))
    assert {graph.entities.types[row] for row in run.entities.tolist()} <= {"PLACE"}
    for question, linked in enumerate(asked(graph)):
        assert not set(run.entities[run.rows(question)].tolist()) & {seed.entity for seed in linked.seeds}


@pytest.mark.parametrize("name", [name for name in EVERY if "bm25" not in name])
def test_only_the_relations_that_may_be_walked_are_walked(
    name: str, graph: KnowledgeGraph, tmp_path: Path
) -> None:
    settings = config(name, hops=2, not_relations="KNOWS", min_weight=1.0, direction="out")
    run = retrieved(graph, tmp_path, settings)
    if not RETRIEVERS[name.partition(":")[0]].walks:
        assert run.walks is None
        return
    assert run.walks is not None, "what was reached comes with its walk: Candidates.walked"
    for row in range(len(run.entities)):
        at = int(run.entities[row])
        walk = [step for step in run.walks[row].tolist() if step != NO_STEP]
        for relation in reversed(walk):
            assert graph.relations.types[relation] != "KNOWS"
            assert graph.relations.weights[relation] >= 1.0
            assert graph.relations.targets[relation] == at
            at = int(graph.relations.sources[relation])
    if name == "bfs" or "bfs+" in name:  # it reads the question by the types that the graph has
        return
    kept = json.loads(json.dumps(document()))
    kept["relationships"] = [
        relation
        for relation in kept["relationships"]
        if relation["relationship_type"] != "KNOWS" and relation["weight"] >= 1
    ]
    smaller = load(tmp_path / "c-KG.json", kept)
    settings = config(name, hops=2, not_relations="KNOWS", min_weight=1.0)
    assert in_words(graph, retrieved(graph, tmp_path, settings)) == in_words(
        smaller, retrieved(smaller, tmp_path, config(name, hops=2))
    )


@pytest.mark.parametrize("name", EVERY)
def test_no_seed_and_no_known_word_retrieves_nothing(
    name: str, graph: KnowledgeGraph, tmp_path: Path
) -> None:
    gold = write_gold(
        tmp_path / "a-eval.jsonl", {"id": "q", "query": "zzz", "reference_entities": ["이름 1"]}
    )
    examples = read_eval_set(gold)
    judgments = resolve(examples, NameIndex.of(graph), len(graph))
    run = make_retriever(graph, config(name), examples, judgments).retrieve([LinkedQuestion("zzz", id="q")])
    assert run.entities.tolist() == []
    assert make_retriever(graph, config(name), examples, judgments).retrieve([]).offsets.tolist() == [0]
