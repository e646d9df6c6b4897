"""The four default measures equal trec_eval's, averaged as `trec_eval -c` does."""

from __future__ import annotations

import numpy as np
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.test_judged import UNIVERSE, run_of
from tiny_graph_rag.dataset.resolve import Judgments, Reference
from tiny_graph_rag.metrics import Measure, judge

QUESTION = st.tuples(
    st.dictionaries(st.integers(0, UNIVERSE - 1), st.integers(1, 2), min_size=1, max_size=6),
    st.lists(st.integers(0, UNIVERSE - 1), unique=True, max_size=UNIVERSE),
)
PEERS = {
    "precision@5": "P_5",
    "recall@5": "recall_5",
    "mrr": "recip_rank",
    "ndcg@5": "ndcg_cut_5",
    "precision@10": "P_10",
    "ndcg@10": "ndcg_cut_10",
}


@settings(max_examples=1500)
@given(st.lists(QUESTION, min_size=1, max_size=4))
def test_equal_to_trec_eval_question_by_question_and_on_average(questions) -> None:
    gold = [
        tuple(
            Reference(str(entity), grade, (entity,), "name", item)
            for item, (entity, grade) in enumerate(row.items())
        )
        for row, _ in questions
    ]
    judged = judge(run_of(*(ranking for _, ranking in questions)), Judgments.of(gold, UNIVERSE))
    qrels = {
        f"q{n}": {str(entity): grade for entity, grade in row.items()} for n, (row, _) in enumerate(questions)
    }
    run = {
        f"q{n}": {str(entity): float(-place) for place, entity in enumerate(ranking)}
        for n, (_, ranking) in enumerate(questions)
        if ranking
    }
    peer = pytrec_eval.RelevanceEvaluator(qrels, set(PEERS.values())).evaluate(run) if run else {}
    for ours, theirs in PEERS.items():
        expected = [peer.get(f"q{n}", {}).get(theirs, 0.0) for n in range(len(questions))]
        found = Measure.parse(ours).compute(judged)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.mean(), sum(expected) / len(questions), rtol=0, atol=1e-9)
