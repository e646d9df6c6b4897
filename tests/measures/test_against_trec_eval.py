"""Rank measures equal trec_eval's, averaged as `trec_eval -c` does, on random runs and gold sets."""

from __future__ import annotations

import random

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measures.test_judged import UNIVERSE, run_of
from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.measures import Measure, judge

RUNS_AN_EXAMPLE = 20  # 250 examples of these are 5,000 random runs; one call of the peer serves them all


PEERS = {
    **{f"precision@{k}": f"P_{k}" for k in (1, 3, 5, 10)},
    **{f"recall@{k}": f"recall_{k}" for k in (1, 5, 10)},
    **{f"hit@{k}": f"success_{k}" for k in (1, 5, 10)},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in (1, 3, 5, 10)},
    **{f"map@{k}": f"map_cut_{k}" for k in (1, 3, 5, 10)},
    "mrr": "recip_rank",
    "map": "map",
    "ndcg": "ndcg",
    "rprec": "Rprec",
    "bpref": "bpref",
}
CUT = {f"{name}.1,3,5,10" for name in ("P", "recall", "success", "ndcg_cut", "map_cut")}
ASKED = CUT | {"recip_rank", "map", "ndcg", "Rprec", "bpref"}


def random_questions(chance: random.Random) -> list[tuple[dict[int, int], list[int]]]:
    """(document → grade 0, 1 or 2, at least one relevant; ranking): one to four questions of a run."""
    documents = range(UNIVERSE)
    questions = []
    for _ in range(chance.randint(1, 4)):
        chosen = chance.sample(documents, chance.randint(1, 8))
        judged = {item: chance.choice((0, 1, 1, 2)) for item in chosen}
        judged[chance.choice(list(judged))] = chance.choice((1, 2))
        ranking = chance.sample(documents, chance.choice((0, 1, 3, UNIVERSE)))
        questions.append((judged, ranking))
    return questions


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(st.integers(0, 2**32))
def test_equal_to_trec_eval_question_by_question_and_on_average(seed: int) -> None:
    chance = random.Random(seed)
    runs = [random_questions(chance) for _ in range(RUNS_AN_EXAMPLE)]
    questions = [question for run in runs for question in run]
    ends = np.cumsum([len(run) for run in runs])[:-1]
    gold = [
        tuple(
            Reference(str(entity), grade, (entity,), "name", item)
            for item, (entity, grade) in enumerate((key, value) for key, value in row.items() if value)
        )
        for row, _ in questions
    ]
    bad = [[entity for entity, grade in row.items() if not grade] for row, _ in questions]
    judged = judge(run_of(*(ranking for _, ranking in questions)), Judgments.of(gold, UNIVERSE, bad))
    qrels = {
        f"q{n}": {str(entity): grade for entity, grade in row.items()} for n, (row, _) in enumerate(questions)
    }
    run = {
        f"q{n}": {str(entity): float(-place) for place, entity in enumerate(ranking)}
        for n, (_, ranking) in enumerate(questions)
        if ranking
    }
    peer = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    for ours, theirs in PEERS.items():
        # `-c`: a question that the run lacks counts 0.
        expected = np.array([peer.get(f"q{n}", {}).get(theirs, 0.0) for n in range(len(questions))])
        found = Measure.parse(ours).compute(judged)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=ours)
        for mine, other in zip(np.split(found, ends), np.split(expected, ends), strict=True):
            assert mine.mean() == pytest.approx(other.mean(), rel=0, abs=1e-9)
