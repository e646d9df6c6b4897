"""Times as measures, set_f1 and ERR, by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.measures.test_judged import judgments_of, run_of
from tiny_graph_rag.measures import judge, means, parse_measures, score, weights


def test_latency_is_a_mean_and_throughput_pools_the_seconds() -> None:
    judged = judge(run_of([1], [2], [3]), judgments_of([[1]], [[2]], [[3]]))
    judged = replace(judged, seconds=np.array([0.1, 0.3, np.nan]))
    measures = parse_measures("latency,throughput")
    found = means(score(judged, measures), weights=weights(judged, measures))
    # (.1 + .3) / 2 seconds; 2 questions in .4 seconds, not the mean of 10 and 3.3 a second.
    assert [mean.mean for mean in found.values()] == pytest.approx([0.2, 5.0])
    assert [mean.n for mean in found.values()] == [2, 2]


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
    (steep,) = score(judged, parse_measures("err(top=1)@1")).values()
    assert float(steep[0]) == pytest.approx(1 / 2)


def test_an_external_run_s_own_times_are_scored_and_gated(own_folder: Path, run_cli) -> None:
    for name, milliseconds in (("A", 100), ("B", 300)):
        row = {"id": name, "query": f"{name}?"}
        with (own_folder / "gold.jsonl").open("a") as gold, (own_folder / "run.jsonl").open("a") as run:
            gold.write(json.dumps(row | {"reference_entities": [name]}) + "\n")
            run.write(json.dumps(row | {"entities": [name], "latency_ms": milliseconds}) + "\n")
    score_it = ("score", "--run", "run.jsonl", "--gold", "gold.jsonl", "-o", "./out.json")
    asked = ("--measures", "latency,throughput,recall@1", "--report", "csv")
    done = run_cli(*score_it, *asked, "--fail-under", "throughput>=4,latency<=0.4", code=0)
    assert "gate throughput>=4: mean 5.0000, passed" in done.output
    found = json.loads(Path("out.json").read_text())
    assert [row["metrics"]["latency"] for row in found["results"]] == pytest.approx([0.1, 0.3])
    assert found["summary"]["measures"]["throughput"]["mean"] == pytest.approx(5.0)
    assert "latency" in Path("out-questions.csv").read_text("utf-8-sig").splitlines()[0]
    assert "FAILED" in run_cli(*score_it, "--fail-under", "throughput>=6", code=1).output
