"""Measures by hand arithmetic: published examples, times, sets, ERR."""

from __future__ import annotations

import json
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from tests.conftest import read_json
from tests.measures.test_judged import judgments_of, run_of
from tiny_graph_rag.measures import judge, means, parse_measures, score, weights
from tiny_graph_rag.run import ABSENT

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
