"""`eval`, `sweep` and `fix` answer "which setting" alike: the same certain one, or that none is certain."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from msgspec import structs

from tests.conftest import ROOT, real
from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.fixes import find_fixes
from tiny_graph_rag.library import load_graph, load_questions
from tiny_graph_rag.measures import Measure, default_measures
from tiny_graph_rag.results import Decision
from tiny_graph_rag.study.evaluate import evaluate
from tiny_graph_rag.study.settings import tried_by_eval
from tiny_graph_rag.study.sweep import Plan, sweep

QUESTIONS = 150  # of MetaQA
NDCG = Measure("ndcg", 5)
SETS = {
    "English hardset": ("data/eval/conan-doyle-speckled-band-hardset.jsonl", "conan-doyle-speckled-band"),
    "Korean hardset": ("data/eval/김유정-동백꽃-hardset.jsonl", "김유정-동백꽃"),
    "verne": ("benchmarks/verne-voyages-eval.jsonl", "verne-voyages"),
    "gothic": ("benchmarks/gothic-novels-eval.jsonl", "gothic-novels"),
    "korean-novels": ("benchmarks/korean-novels-eval.jsonl", "korean-novels"),
    "norse": ("benchmarks/norse-myths-eval.jsonl", "norse-myths"),
}
SHARED = {
    "musique": ("musique-openie", "musique-openie-KG.json", "musique-openie-eval.jsonl"),
    "MetaQA": ("metaqa", "metaqa-KG.json", "metaqa-1hop-eval.jsonl"),
}


def answers(graph, examples) -> dict[str, Decision | None]:
    config = Config()
    evaluation = evaluate(graph, examples, config, default_measures(5))
    plan = Plan.of(config, (1, 2, 3, 4), (5,), {}, decide_by=NDCG)
    return {
        "eval": tried_by_eval(structs.replace(evaluation, scores={NDCG: NDCG.compute(evaluation.judged)})),
        "sweep": sweep(graph, examples, config, plan).recommended[""],
        "fix": find_fixes(graph, examples, config, NDCG, ("settings",)).decision,
    }


def changed(decision: Decision) -> str:
    """The settings that a certain recommendation changes, as JSON; "" where none is certain."""
    if not decision.certain or decision.recommended is None:
        return ""
    values = decision.tried[decision.recommended].settings
    usual = {"retriever": "bfs", "hops": Config().retrieval.hops}
    different = {name: value for name, value in values.items() if usual.get(name) != value}
    return json.dumps(different, sort_keys=True)


def test_of_few_settings_and_many_questions_the_answers_agree() -> None:
    from tests.fixing.made import world

    graph, examples = world()
    told = {name: changed(decision) for name, decision in answers(graph, examples).items() if decision}
    assert len(set(told.values())) == 1, told


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_eval_sweep_and_fix_agree_on_our_sets(name: str) -> None:
    gold, graph = SETS[name]
    paths = (ROOT / f"data/kg/{graph}-KG.json", ROOT / f"benchmarks/{graph}-KG.json")
    agreed(load_graph(next(path for path in paths if path.exists())), load_questions(ROOT / gold))


@pytest.mark.realdata
@pytest.mark.parametrize("name", SHARED)
def test_eval_sweep_and_fix_agree_on_shared_sets(name: str) -> None:
    folder, graph, gold = SHARED[name]
    examples = load_questions(real(folder, gold))
    step = max(1, len(examples) // QUESTIONS)
    some = replace(examples, examples=examples.examples[::step][:QUESTIONS])
    agreed(load_graph(real(folder, graph)), some)


def agreed(graph, examples) -> None:
    decisions = {name: decision for name, decision in answers(graph, examples).items() if decision}
    told = {name: changed(decision) for name, decision in decisions.items()}
    assert len(set(told.values())) == 1, {name: one.reason for name, one in decisions.items()}
    if not any(told.values()):
        for decision in decisions.values():
            assert "not certain" in decision.reason or "keep the current settings" in decision.reason
