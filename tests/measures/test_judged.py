"""From a run to grades by rank (duplicates, several bearers, contested entities), measures by hand arithmetic
(published examples, times, sets, ERR, RBP), and how measures are spelled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.conftest import read_json
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.measures import Measure, judge, means, parse_measures, score, weights
from tiny_graph_rag.run import ABSENT, Run

UNIVERSE = 10


def run_of(*rankings: Sequence[int]) -> Run:
    entities = np.array([entity for row in rankings for entity in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rankings)]).astype(np.int64)
    return Run(
        offsets, entities, -np.arange(len(entities), dtype=float), np.zeros(len(entities), dtype=np.int32)
    )


def judgments_of(*questions: Sequence[Sequence[int]], grades: Sequence[int] | None = None) -> Judgments:
    """Each reference is the list of entities that bear its name."""
    rows = [
        tuple(
            Reference(f"r{item}", grades[item] if grades else 1, tuple(bearers), "name", item)
            for item, bearers in enumerate(question)
        )
        for question in questions
    ]
    return Judgments.of(rows, UNIVERSE)


def values(ranking: Sequence[int], references: Sequence[Sequence[int]], *measures: str) -> list[float]:
    judged = judge(run_of(ranking), judgments_of(references))
    return [float(Measure.parse(measure).compute(judged)[0]) for measure in measures]


def test_the_first_bearer_counts_and_later_ones_are_dropped_like_duplicates() -> None:
    # "Kim" is 1 or 2; ranking 1, 2, 5 with reference 5: 2 is dropped, so 5 stands at rank 2.
    assert values([1, 2, 5], [[1, 2], [5]], "recall@2", "precision@3") == [1.0, 2 / 3]


def test_one_entity_fills_one_reference() -> None:
    # 1 could be either name, 2 only the first: both are filled whichever comes first.
    for ranking in ([1, 2], [2, 1]):
        assert values(ranking, [[1, 2], [1]], "recall@2") == [1.0]
    # but one entity alone fills one of the two.
    assert values([1], [[1, 2], [1]], "recall@1") == [0.5]


def test_no_retrieval_scores_zero_and_no_gold_is_undefined() -> None:
    assert values([], [[1]], "recall@5", "mrr", "ndcg@5", "precision@5") == [0, 0, 0, 0]
    assert all(np.isnan(values([1], [], "recall@5", "mrr", "ndcg@5", "precision@5")))


def test_graded_ndcg_by_hand() -> None:
    # grades 1, 2; ranking: grade 1 first, nothing, grade 2. DCG = 1/1 + 2/log2(4) = 2; ideal = 2 + 1/log2(3).
    judged = judge(run_of([1, 7, 2]), judgments_of([[1], [2]], grades=[1, 2]))
    assert Measure("ndcg", 3).compute(judged)[0] == 2 / (2 + 1 / np.log2(3))


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=3), min_size=1, max_size=5),
    st.permutations(range(10)),
)
def test_recall_is_the_size_of_a_largest_matching(references: list[list[int]], ranking: list[int]) -> None:
    import networkx

    distinct = [list(item) for item in dict.fromkeys(map(tuple, map(sorted, references)))]
    judged = judge(run_of(ranking), judgments_of(distinct))
    for depth in range(1, 11):
        graph = networkx.Graph()
        top = [("entity", entity) for entity in ranking[:depth]]
        graph.add_nodes_from(top)
        graph.add_edges_from(
            (("entity", entity), ("reference", row))
            for row, bearers in enumerate(distinct)
            for entity in bearers
            if entity in ranking[:depth]
        )
        largest = len(networkx.bipartite.maximum_matching(graph, top)) // 2
        within = judge(run_of(ranking[:depth]), judgments_of(distinct))
        assert int((within.grades > 0).sum()) == largest
    assert int(judged.retrieved[0]) <= 10


def test_a_chain_of_entities_that_make_room_may_be_longer_than_the_stack() -> None:
    # Entity n bears names n - 1 and n. All but the first and the last take one; the first pushes them on.
    size = 1500
    names = tuple(Reference(f"r{n}", 1, (n, n + 1), "name", n) for n in range(size))
    judged = judge(run_of([*range(1, size), 0]), Judgments.of([names], size + 1))
    assert Measure("recall", size).compute(judged).tolist() == [1.0]


# doc1 … doc6 are 1 … 6.
GOLD = ([[1], [2], [5]], [[3], [4]])
RETRIEVED = ([1, 2, 5], [6, 4, 5])


def averaged(run, gold, text: str) -> list[float]:
    measures = parse_measures(text)
    judged = judge(run_of(*run), judgments_of(*gold))
    columns = score(judged, measures)
    return [item.mean for item in means(columns, weights=weights(judged, measures)).values()]


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("precision@3,recall@3,f1@3", [0.67, 0.75, 0.70]),
        ("micro_precision@3,micro_recall@3,micro_f1@3", [0.67, 0.80, 0.73]),
        ("all_hit@{1,2,3}", [0, 0, 0.5]),
        ("mrr@{1,2,3}", [0.5, 0.75, 0.75]),
        ("map@{1,2,3}", [0.167, 0.458, 0.625]),
        ("ndcg_retrieved@{1,2,3}", [0.5, 0.815, 0.815]),
    ],
)
def test_the_published_figures(text: str, published: list[float]) -> None:
    assert averaged(RETRIEVED, GOLD, text) == pytest.approx(published, abs=0.005)


def test_the_standard_ndcg_beside_it() -> None:
    # First query: perfect at every k. Second: doc4 at rank 2 of two relevant.
    second = [0.0, (1 / log2(3)) / (1 + 1 / log2(3)), (1 / log2(3)) / (1 + 1 / log2(3))]
    expected = [(1 + value) / 2 for value in second]  # .5, .693, .693: the tutorial's .815 flatters
    assert averaged(RETRIEVED, GOLD, "ndcg@{1,2,3}") == pytest.approx(expected, abs=1e-12)


def test_the_oracle_of_the_tutorial() -> None:
    found = averaged(
        [[6, 4, 5]],
        [[[3], [4]]],
        "hit@2,mrr@2,micro_precision@2,micro_recall@2,micro_f1@2,map@2,ndcg_retrieved@2",
    )
    assert found == pytest.approx([1, 0.5, 0.5, 0.5, 0.5, 0.25, 1 / log2(3)], abs=1e-9)
    assert 1 / log2(3) == pytest.approx(0.63093, abs=5e-6)


def test_the_contest_rule_by_hand() -> None:
    # 1: hits at ranks 1 and 3: (1 + 2/3) / 2. 2: submitted twice, so a hit twice: (1 + 1) / 2.
    # 3: gold empty, something retrieved: 0. 4: gold empty, nothing retrieved: 1. 5: no prediction:
    # left out. 6: failed: 0, as 7 does, where an empty list would have been right.
    run = run_of([1, 7, 2], [1, 1, 7], [4], [], [], [], [])
    gold = judgments_of([[1], [2]], [[1]], [], [], [[1]], [[1]], [])
    (measure,) = parse_measures("contest_map@3")
    found = measure.compute(judge(replace(run, failures={4: ABSENT, 5: "timeout", 6: "timeout"}), gold))
    np.testing.assert_allclose(found, [5 / 6, 1, 0, 1, np.nan, 0, 0], atol=1e-12)


def test_map_over_hits_forgets_what_was_not_found() -> None:
    # Hits at ranks 1 and 4 of four relevant: (1 + 2/4) / 2 = .75 over hits, (1 + 2/4) / 4 over relevant.
    assert averaged([[1, 8, 9, 2]], [[[1], [2], [3], [4]]], "map_hits@4,map@4") == [0.75, 0.375]


def test_latency_is_the_mean_of_what_was_timed() -> None:
    judged = judge(run_of([1], [2], [3]), judgments_of([[1]], [[2]], [[3]]))
    judged = structs.replace(judged, seconds=np.array([0.1, 0.3, np.nan]))
    (found,) = means(score(judged, parse_measures("latency"))).values()
    assert (found.mean, found.n) == (pytest.approx(0.2), 2)


def test_set_f1_does_not_hold_a_short_list_against_k() -> None:
    # Two retrieved, one of them right, of two to find: 2 · 1 / (2 + 2); f1@5 divides by 5 + 2.
    judged = judge(run_of([1, 9]), judgments_of([[1], [2]]))
    columns = score(judged, parse_measures("set_f1,set_f1@5,set_f1@1,f1@5"))
    assert [float(column[0]) for column in columns.values()] == pytest.approx([0.5, 0.5, 2 / 3, 2 / 7])


def test_err_of_the_paper_by_hand() -> None:
    # Grades 1 at rank 1 (R 1/4) and 1 at rank 3 (R 1/4), top 2: 1/4 + (3/4 · 1/4) / 3.
    judged = judge(run_of([1, 9, 2]), judgments_of([[1], [2]]))
    (column,) = score(judged, parse_measures("err")).values()
    assert float(column[0]) == pytest.approx(1 / 4 + (3 / 4) * (1 / 4) / 3)


def test_an_external_run_s_own_times_are_scored_and_gated(own_folder: Path, run_cli) -> None:
    for name, milliseconds in (("A", 100), ("B", 300)):
        row = {"id": name, "query": f"{name}?"}
        with (own_folder / "gold.jsonl").open("a") as gold, (own_folder / "run.jsonl").open("a") as run:
            gold.write(json.dumps(row | {"reference_entities": [name]}) + "\n")
            run.write(json.dumps(row | {"entities": [name], "latency_ms": milliseconds}) + "\n")
    command = "score --run run.jsonl --gold gold.jsonl -o ./out.json --fail-under"
    asked = "--measures latency,recall@1 --report csv"
    done = run_cli(f"{command} latency<=0.4 {asked}", code=0)
    assert "gate latency<=0.4: mean 0.2000, passed" in done.output
    found = read_json("out.json")
    assert [row["metrics"]["latency"] for row in found["results"]] == pytest.approx([0.1, 0.3])
    assert "latency" in Path("out-questions.csv").read_text("utf-8-sig").splitlines()[0]
    assert "FAILED" in run_cli(f"{command} latency<=0.1", code=1).output


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
        ("f1@{1,x}", "the cutoff of 'f1@x' must be from 1 to 999,999,999"),
        ("f1@{}", "the cutoff of 'f1@' must be from 1 to 999,999,999"),
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
