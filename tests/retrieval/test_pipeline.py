"""Link → walk → rank: hops are strict, parts add up, and nothing but the files decides; retrievers by
name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from tests.conftest import ROOT, kg, read_json, write_kg, write_set
from tiny_graph_rag import load_graph, load_questions
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, make_linker
from tiny_graph_rag.retrieval import RETRIEVERS, make_retriever
from tiny_graph_rag.retrieval.baselines import HybridRetriever
from tiny_graph_rag.retrieval.cost import UNIT
from tiny_graph_rag.run import Run


def linked(graph: KnowledgeGraph, examples: list[Example], config: Config) -> list[LinkedQuestion]:
    return make_linker(graph, NameIndex.of(graph), config).link(examples)


def same(one: Run, other: Run) -> bool:
    columns = ("offsets", "entities", "scores", "hops", "parts")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "questions"),
    [
        ("data/kg/conan-doyle-speckled-band-KG.json", "data/eval/conan-doyle-speckled-band-hardset.jsonl"),
        ("benchmarks/korean-novels-KG.json", "benchmarks/korean-novels-eval.jsonl"),
    ],
)
def test_compilation_and_a_question_alone_give_the_same_bytes(place: str, questions: str) -> None:
    graph, config = load_graph(ROOT / place), Config().override(hops=3)
    asked = linked(graph, list(load_questions(ROOT / questions))[:80], config)
    assert sum(bool(question.by_text) for question in asked) > 10
    run = make_retriever(graph, config.override(compiled=False)).retrieve(asked)
    assert same(run, make_retriever(graph, config).retrieve(asked))
    alone = make_retriever(graph, config)
    assert same(run, Run.concatenated([alone.retrieve([question]) for question in asked]))
    within = make_retriever(graph, config).retrieve_within(asked, [1, 3])
    assert within is not None
    one, three = within
    assert same(three, run)
    assert same(one, make_retriever(graph, config.override(hops=1)).retrieve(asked))


def story(folder: Path) -> KnowledgeGraph:
    document = kg(
        ["Ada Marsh", "Gull Rock", "Port Vane", "Brass lamp", "Ben Cole"],
        [
            ("Ada Marsh", "LIVES_IN", "Port Vane"), ("Port Vane", "NEAR", "Gull Rock"),
            ("Gull Rock", "HAS", "Brass lamp"), ("Ben Cole", "KNOWS", "Ada Marsh"),
        ],
    )  # fmt: skip
    document["entities"]["Brass lamp"]["description"] = "It warned herring boats of the reef."
    (folder / "story-KG.json").write_text(json.dumps(document), encoding="utf-8")
    return read_graph(folder / "story-KG.json")


def test_a_text_seed_brings_what_no_name_does_and_pays_for_it(tmp_path: Path) -> None:
    graph = story(tmp_path)
    names = list(graph.entities.names)
    config = Config().override(hops=0)
    ask = [Example(id="q", query="What warned the herring boats?", reference_entities=())]
    (question,) = linked(graph, ask, config)
    (seed,) = question.seeds
    assert (names[seed.entity], seed.rule, seed.mention) == ("Brass lamp", "text", "warned herring boats")
    run = make_retriever(graph, config).retrieve([question])
    assert [names[entity] for entity in run.entities] == ["Brass lamp"]
    assert run.parts is not None
    assert run.parts[0, 0] == 1.5 * UNIT
    by_name = linked(graph, ask, config.override(linker="names"))
    assert by_name[0].seeds == ()
    assert len(make_retriever(graph, config).retrieve(by_name).entities) == 0


def test_a_question_about_the_named_things_alone_has_no_text_seeds(tmp_path: Path) -> None:
    graph = story(tmp_path)
    for query in ("What is the relationship of Ada Marsh and Ben Cole?", "Ada Marsh와 Ben Cole의 관계는?"):
        (question,) = linked(graph, [Example(id="q", query=query, reference_entities=())], Config())
        assert question.by_text == ()
        assert len(question.named) == 2


def test_what_a_pronoun_stands_for_is_ranked_behind_what_is_asked_for(tmp_path: Path) -> None:
    graph = story(tmp_path)
    asked = Example(id="q", query="Who knows her?", context=("Ada Marsh lives here.",), reference_entities=())
    questions = linked(graph, [asked], Config().override(linker="names"))
    assert [seed.rule for seed in questions[0].seeds] == ["coreference"]
    run = make_retriever(graph, Config().override(hops=1)).retrieve(questions)
    names = [graph.entities.names[entity] for entity in run.entities]
    assert names[0] == "Ben Cole"
    assert names[-1] == "Ada Marsh"


def test_hybrid_alone_fuses_what_measured_best(tmp_path: Path) -> None:
    graph = read_graph(write_kg(tmp_path / "a-KG.json", ["Lamp", "Mill"], [("Lamp", "in", "Mill")]))
    for spec in ("hybrid", "hybrid:bfs*3+bm25"):
        made = make_retriever(graph, Config().override(retriever=spec))
        assert isinstance(made, HybridRetriever)
        assert [type(part) for part in made.parts] == [RETRIEVERS["bfs"], RETRIEVERS["bm25"]]


def test_an_external_run_keeps_its_order_without_repeats_and_refuses_what_the_graph_lacks(
    run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    gold = [{"id": f"q{name}", "query": f"{name}?", "reference_entities": [name]} for name in "BC"]
    write_set(tmp_path, "a", ["A", "B", "C"], [("A", "OWNS", "B")], *gold)
    command = "eval --dataset a-eval.jsonl --skip-generation -o ./r.json --retriever"
    (tmp_path / "theirs.trec").write_text("qB Q0 C 1 3.0 x\nqB Q0 C 2 2.5 x\nqB Q0 B 3 2.0 x\n")
    run_cli(command, "run:theirs.trec", "--quiet", code=0)
    results = read_json("r.json")["results"]
    ranked = [[(entity["name"], entity["score"]) for entity in result["ranked"]] for result in results]
    assert ranked == [[("C", 1.0), ("B", 0.5)], []]
    assert [result["metrics"]["mrr"] for result in results] == [0.5, 0.0]
    (tmp_path / "theirs.trec").write_text("qB Q0 ghost 1 3.0 x\nqB Q0 B 2 2.0 x\n")
    refused = run_cli(command, "run:theirs.trec", code=2).stderr
    assert "1 of its entities are not in the graph ('ghost')" in refused
    assert "theirs.trec" in run_cli(command, "run:thiers.trec", code=2).stderr
