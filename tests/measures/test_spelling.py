"""How measures are spelled, and rank-biased precision by hand."""

from __future__ import annotations

import pytest

from tests.measures.test_judged import judgments_of, run_of
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.measures import Measure, judge, parse_measures


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f1@{1,3}", ["f1@1", "f1@3"]),
        ("rbp@{5, 10},mrr", ["rbp@5", "rbp@10", "mrr"]),
        ("ndcg@5,ndcg@5", ["ndcg@5"]),
    ],
)
def test_lists_of_measures(text: str, wanted: list[str]) -> None:
    found = parse_measures(text)
    assert [str(item) for item in found] == wanted
    assert parse_measures(",".join(wanted)) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("f11@5", "unknown measure 'f11@5'; did you mean 'f1@5'"),
        ("rbp(p=0.5)@5", "unknown measure 'rbp.p=0.5.@5'. Choices: "),
        ("f1", "needs a cutoff, such as f1@5"),
        ("f1@{1,x}", "the cutoff of 'f1@x' must be a whole number of at least 1"),
        ("f1@{}", "the cutoff of 'f1@' must be a whole number of at least 1"),
        ("recall@{1,3", r"write several cutoffs in braces, as in recall@\{1,3,5\}"),
        ("mrr,recall@1,3}", "write several cutoffs in braces"),
        ("recall{1,3}", "write several cutoffs in braces"),
        (" , ", "no measure given"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_measures(text)


def test_rank_biased_precision_by_hand() -> None:
    # Relevant at ranks 1 and 3 of 4; (1 - p) (1 + p^2), p = .8.
    found = judge(run_of([0, 7, 1, 8], []), judgments_of([[0], [1], [2]], [[0]]))
    for text, values in (("rbp", [0.2 * 1.64, 0]), ("rbp@2", [0.2, 0])):
        assert Measure.parse(text).compute(found).tolist() == pytest.approx(values)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("P@10", "precision@10"),
        ("p_10", "precision@10"),
        ("AP", "map"),
        ("AP@10", "map@10"),
        ("Recall@5", "recall@5"),
        ("R@{1,5}", "recall@1,recall@5"),
        ("RR", "mrr"),
        ("recip_rank", "mrr"),
        ("nDCG@10", "ndcg@10"),
        ("ndcg_cut_10", "ndcg@10"),
        ("Success@1", "hit@1"),
        ("R-prec", "rprec"),
    ],
)
def test_names_of_trec_eval_and_of_papers_find_their_measure_in_any_case(given: str, name: str) -> None:
    assert ",".join(map(str, parse_measures(given))) == name
