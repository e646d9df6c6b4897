"""What the diagnosis promises, on random graphs with names, texts, filters and every kind of seed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.conftest import kg
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures import Measure, default_measures
from tiny_graph_rag.report.json.results import document_parts
from tiny_graph_rag.study.evaluate import Evaluation, evaluate
from tiny_graph_rag.study.sweep import Plan, sweep
from tiny_graph_rag.study.waterfall import LATE, OF_NAMES, Verdict

NAMES = ("Anna", "Bert", "Carl", "Dora", "Emil", "Fritz", "Greta", "Heidi")
WORDS = ("tanner", "harbour", "letter", "winter", "violin", "copper")
KINDS = ("KNOWS", "OWNS", "RELATED")
MILLIONTH = 1e-6


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """(graph, gold set, settings) as their files have them."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    name, word = st.sampled_from(names), st.sampled_from(WORDS)
    types = draw(st.sampled_from([KINDS, KINDS[2:]]))
    texts = {one: " ".join(draw(st.lists(word, max_size=3))) for one in names}
    relations = draw(st.lists(st.tuples(name, name, st.sampled_from(types)), max_size=12))
    graph = kg(names, [(one, kind, other) for one, other, kind in relations])
    for one, record in graph["entities"].items():
        record |= {"entity_type": one[0], "description": texts[one]}
    questions = []
    for row in range(draw(st.integers(1, 4))):
        said = draw(st.lists(st.one_of(name, word), max_size=4))
        references = draw(st.lists(st.one_of(name, st.just("Nobody")), max_size=3))
        seeds = draw(st.none() | st.lists(name, max_size=2, unique=True).map(tuple))
        question = {"id": f"q{row}", "query": f"Who has {' and '.join(said)}?"}
        questions.append(question | {"reference_entities": tuple(references), "seed_entities": seeds})
    given_settings = {
        "hops": draw(st.integers(0, 3)),
        "linker": draw(st.sampled_from(["names", "names+text"])),
        "exclude_seeds": draw(st.booleans()),
        "min_score": draw(st.sampled_from([0.0, 0.3])),
        "depth": draw(st.sampled_from([2, 100])),
        "top_k": 2,
        "latency_sample": 0,
        "types": draw(st.sampled_from(["", "A,B"])),
    }
    return graph, questions, given_settings


def evaluated(folder: Path, world: Any, **more: Any) -> tuple[Evaluation, KnowledgeGraph, EvalSet, Config]:
    graph, questions, chosen = world
    path = folder / "tale-KG.json"
    path.write_text(json.dumps(graph), encoding="utf-8")
    knowledge = read_graph(path)
    examples = EvalSet(tuple(Example(**question) for question in questions))
    config = Config().override(**{**chosen, **more}, compiled=False)
    return evaluate(knowledge, examples, config, default_measures(2)), knowledge, examples, config


random_worlds = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@random_worlds
@given(world=worlds())
def test_each_row_has_parts_that_add_up(tmp_path: Path, world: Any) -> None:
    found, *_ = evaluated(tmp_path, world)
    run = found.run
    assert run.parts is not None
    costs = run.parts.sum(axis=1) / 1e6
    assert np.allclose(run.scores, 1 / (1 + costs), atol=MILLIONTH)
    for question in json.loads(b"".join(document_parts(found)))["results"]:
        for row in question["ranked"]:
            parts = [value for name, value in row["cost"].items() if name != "total"]
            assert len(parts) == 5
            assert f"{math.fsum(parts):.6f}" == f"{row['cost']['total']:.6f}"


@random_worlds
@given(world=worlds(), retriever=st.sampled_from(["bfs", "bfs-plain", "pagerank", "hybrid:bfs+bm25", "bm25"]))
def test_the_rows_of_every_waterfall_sum_to_all_references(
    tmp_path: Path, world: Any, retriever: str
) -> None:
    found, *_ = evaluated(tmp_path, world, retriever=retriever)
    why, relevant = found.explanation, found.judgments.relevant
    hits = int((why.diagnosis.ranks > 0).sum() - (why.diagnosis.ranks > 2).sum())
    assert sum(step.references for step in why.waterfall) + hits == relevant.sum()
    columns = [why.waterfall, *why.waterfall_by_tag.values()]
    columns += [why.gold_seeds.from_gold, why.gold_seeds.waterfall] if why.gold_seeds else []
    for steps in filter(None, columns):
        if math.isnan(steps[-1].recall):
            continue
        assert sum(step.loss for step in steps) == pytest.approx(1 - steps[-1].recall)
        assert all(step.loss >= 0 and step.references >= 0 for step in steps)
    if relevant.any():
        assert why.waterfall[-1].recall == pytest.approx(
            float(np.nanmean(Measure("recall", 2).compute(found.judged)))
        )


@pytest.mark.slow
@random_worlds
@given(world=worlds(), retriever=st.sampled_from(["bfs", "bfs-plain", "pagerank", "hybrid:bfs+bm25", "bm25"]))
def test_eval_and_sweep_give_one_number_for_one_setting(tmp_path: Path, world: Any, retriever: str) -> None:
    found, graph, examples, config = evaluated(tmp_path, world, retriever=retriever)
    hops = config.retrieval.hops
    plan = Plan.of(config, tuple(range(hops + 1)), (2,), {"retriever": [retriever]})
    setting = sweep(graph, examples, config, plan).settings[-1]
    reachable = found.explanation.oracle_recall
    if reachable is None:  # what hops don't bound has no such number in either
        assert math.isnan(setting.oracle_recall)
    else:
        assert setting.oracle_recall == pytest.approx(reachable, nan_ok=True)


@pytest.mark.slow
@random_worlds
@given(world=worlds())
def test_causes_speak_of_the_names_as_the_linker_by_names_does(tmp_path: Path, world: Any) -> None:
    """What is missed with and without texts is lost to the names in both or in neither."""
    both, *_ = evaluated(tmp_path, world, linker="names+text")
    names, *_ = evaluated(tmp_path, world, linker="names")
    found, named = (one.explanation.diagnosis.verdicts for one in (both, names))
    questions = both.explanation.diagnosis.questions
    of_texts = np.array([bool(one.by_text) for one in both.linked], dtype=bool)[questions]
    missed = of_texts & (named != Verdict.HIT) & np.isin(found, (*OF_NAMES, *LATE))
    assert (np.isin(found, OF_NAMES) == np.isin(named, OF_NAMES))[missed].all()


@pytest.mark.slow
@random_worlds
@given(world=worlds())
def test_equal_seeds_are_diagnosed_alike(tmp_path: Path, world: Any) -> None:
    """A gold set whose seed_entities are what the names give has the waterfall of the names."""
    graph, questions, chosen = world
    linked = evaluated(tmp_path, world, linker="names")[0].linked
    entities = list(graph["entities"])
    told = [
        {**question, "seed_entities": tuple(entities[seed.entity] for seed in one.named)}
        for question, one in zip(questions, linked, strict=True)
    ]
    by_names, *_ = evaluated(tmp_path, (graph, told, chosen), linker="names")
    found, *_ = evaluated(tmp_path, (graph, told, chosen), linker="names+text")
    why = found.explanation
    if why.gold_seeds is not None:
        assert [replace(step, recall=0, loss=0) for step in why.gold_seeds.from_gold] == [
            replace(step, recall=0, loss=0) for step in by_names.explanation.waterfall
        ]
