"""Scoring from Python: dictionaries and pandas."""

from __future__ import annotations

import math
import random
import re
from math import log2

import pandas
import pytest
import pytrec_eval

import tiny_graph_rag
from tiny_graph_rag.errors import RunError, UsageError

COLUMNS = ["query_id", "doc_id", "score"]
GOLD = {"q1": {"a": 1, "b": 2, "c": 0}, "q2": {"d": 1}}
RUN = {"q1": {"a": 0.5, "x": 0.9, "b": 0.1}, "q9": {"d": 1.0}}


def table(rows: dict) -> pandas.DataFrame:
    flat = [(q, d, v) for q, row in rows.items() for d, v in row.items()]
    return pandas.DataFrame(flat, columns=COLUMNS)


@pytest.mark.filterwarnings("ignore:1 question")
@pytest.mark.parametrize("run", [RUN, table(RUN), {q: list(row.items()) for q, row in RUN.items()}])
@pytest.mark.parametrize("gold", [GOLD, table(GOLD)])
def test_every_kind_of_table_scores_alike(run, gold) -> None:
    found = tiny_graph_rag.score(run, gold, "mrr,recall@2,ndcg@3")
    # q1: x, a, b: first hit at 2; one of two in the first two; q2 is not in the run.
    assert found.questions["mrr"].to_dict() == {"q1": 0.5, "q2": 0.0}
    assert found.questions["recall@2"].to_dict() == {"q1": 0.5, "q2": 0.0}
    ndcg = (1 / log2(3) + 2 / 2) / (2 + 1 / log2(3))
    assert found.questions["ndcg@3"]["q1"] == pytest.approx(ndcg)
    assert found.means.loc["mrr", "mean"] == 0.25
    assert found.means.loc["mrr", "n"] == 2


def test_predictions_against_a_table_of_grades() -> None:
    qrels = table({"q1": {"a": 2, "b": 0}})
    preds = {"q1": [("b", 0.9), ("a", 0.8)], "q2": [("z", 1.0)]}
    found = tiny_graph_rag.evaluate_predictions(preds, qrels, ks=(1, 2))
    assert list(found.columns) == ["k", "MRR", "nDCG", "MAP", "Recall", "Precision"]
    # q1: a at rank 2; q2 has no qrels and counts 0.
    assert found.iloc[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert found.iloc[1].tolist() == pytest.approx([2, 0.25, 0.5 / log2(3), 0.25, 0.5, 0.25])


def test_equal_to_trec_eval_on_random_tables() -> None:
    chance = random.Random(1)
    documents = [f"d{n}" for n in range(30)]
    gold = {
        f"q{n}": {d: chance.randint(0, 2) for d in chance.sample(documents, 6)} | {"d0": 1}
        for n in range(200)
    }
    run = {q: {d: chance.random() for d in chance.sample(documents, chance.randint(1, 30))} for q in gold}
    peer = pytrec_eval.RelevanceEvaluator(gold, {"map", "ndcg_cut.5", "recip_rank", "bpref"}).evaluate(run)
    found = tiny_graph_rag.score(run, gold, "map,ndcg@5,mrr,bpref").questions
    for ours, theirs in {"map": "map", "ndcg@5": "ndcg_cut_5", "mrr": "recip_rank", "bpref": "bpref"}.items():
        assert found[ours].tolist() == pytest.approx([peer[q][theirs] for q in gold], abs=1e-9)


def test_equal_scores_keep_the_order_in_which_they_came() -> None:
    found = tiny_graph_rag.score({"q": {"x": 1.0, "a": 1.0}}, {"q": {"a": 1}}, "mrr")
    assert found.questions["mrr"]["q"] == 0.5


ONE = {"a": {"d1": 1}}
TABLE = pandas.DataFrame({"query_id": ["a"], "doc_id": ["d1"], "score": [1]})


@pytest.mark.parametrize(
    ("work", "said"),
    [
        *(
            (lambda run=run: tiny_graph_rag.evaluate_predictions(run, TABLE), said)
            for run, said in (
                ({"a": ["d1"]}, "wanted (document, score) pairs"),
                ({"a": [("d1", "high")]}, "each score a number"),
                ({}, "there is no prediction"),
            )
        ),
        (
            lambda: tiny_graph_rag.evaluate_predictions({"a": [("d1", 1)]}, TABLE, ks=(0,)),
            "must be from 1 to 999,999,999",
        ),
        (lambda: tiny_graph_rag.score(ONE, ONE, "relation_recall"), "needs the relations of a graph"),
        *(
            (lambda score=score: tiny_graph_rag.score({"a": {"d1": score}}, TABLE, "mrr"), said)
            for score, said in (
                *((odd, "is not a number") for odd in ("1", None, 10**400)),
                (math.nan, "NaN"),
            )
        ),
        *(
            (lambda gold=gold: tiny_graph_rag.score({"q": {"a": 1}}, gold, "ndcg@5"), said)
            for gold, said in (
                ({"q": [("a", 1), ("a", 0)]}, "'a' has grades 1 and 0 for question 'q'"),
                (table({"q": {"a": math.nan}}), "the grade of 'a' for question 'q' is nan"),
                (pandas.concat([table({"q": {"a": 0}}), table({"q": {"a": 1}})]), "'a' has grades 0 and 1"),
            )
        ),
    ],
)
def test_what_can_not_be_scored_is_said(work, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        work()


def test_fractional_grades_are_gained_as_they_are() -> None:
    """.5 at rank 1 is all there is; 2.2 before 2.7 is (2.2 + 2.7/log2 3) / (2.7 + 2.2/log2 3)."""
    half = tiny_graph_rag.score({"q": {"a": 1.0}}, {"q": {"a": 0.5}}, "ndcg@5,recall@5,mrr").means["mean"]
    assert half.tolist() == [1.0, 1.0, 1.0]
    gold = {"q": {"a": 2.7, "b": 2.2}}
    wrong = tiny_graph_rag.score({"q": {"a": 1.0, "b": 2.0}}, gold, "ndcg@5").means["mean"]
    second = 1 / math.log2(3)
    assert wrong.tolist() == [pytest.approx((2.2 + 2.7 * second) / (2.7 + 2.2 * second))]
    by_cutoff = tiny_graph_rag.evaluate_predictions({"q": [("b", 2.0), ("a", 1.0)]}, table(gold), ks=(5,))
    assert by_cutoff["nDCG"].tolist() == wrong.tolist()


def test_a_gain_that_no_number_holds_is_refused_and_a_large_grade_is_not() -> None:
    run = {"q": {"a": 1.0, "b": 2.0}}
    with pytest.raises(UsageError, match="too large for grade 2000"):
        tiny_graph_rag.score(run, {"q": {"a": 2000}}, "ndcg_exp@5")
    # 3·10⁹ at rank 2, 1 at rank 1: (1 + 3e9/log2 3) / (3e9 + 1/log2 3) = 1/log2 3 but for 1e-9.
    large = tiny_graph_rag.score(run, {"q": {"a": 3 * 10**9, "b": 1}}, "ndcg@5").means["mean"]
    assert large.tolist() == [pytest.approx(1 / math.log2(3), rel=1e-8)]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ids_of_another_type_and_questions_of_one_side_are_said() -> None:
    with pytest.raises(RunError, match="the run has 1, the gold set '1'"):
        tiny_graph_rag.score({1: {"10": 1.0}}, {"1": {"10": 1}}, "recall@5")
    with pytest.warns(UserWarning, match="document ids are str in the gold set, int in the run"):
        tiny_graph_rag.score({"1": {10: 1.0}}, {"1": {"10": 1}}, "recall@5")
    with pytest.warns(UserWarning, match="1 question of the gold set is not in the run") as said:
        tiny_graph_rag.score({"p": {"a": 1.0}, "q": {"a": 1.0}}, {"q": {"a": 1}, "r": {"b": 1}}, "recall@5")
    assert "1 question of the run is not in the gold set" in str(said[0].message)


def test_a_document_that_stands_twice_counts_with_its_best_score_in_every_kind_of_table() -> None:
    # b at .5 parts a's two scores; c ties with the better one and came before it.
    rows = [("a", 0.1), ("c", 0.9), ("b", 0.5), ("a", 0.9), ("a", 0.9)]
    for run in (pandas.DataFrame([("q", *row) for row in rows], columns=COLUMNS), {"q": rows}):
        assert tiny_graph_rag.score(run, {"q": {"a": 1}}, "mrr").questions["mrr"].tolist() == [0.5]
    hidden = pandas.DataFrame([("q", "a", 0.1), ("q", "a", math.nan)], columns=COLUMNS)
    for run in (hidden, hidden[::-1]):
        with pytest.raises(UsageError, match="NaN"):
            tiny_graph_rag.score(run, {"q": {"a": 1}}, "mrr")
