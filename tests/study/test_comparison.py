"""Systems against a baseline: figures by hand, refusals, flips, gates."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.conftest import read_json
from tests.report.test_results_files import SCHEMA
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.study.compare import compare
from tiny_graph_rag.study.gates import parse_drops, parse_floors
from tiny_graph_rag.study.results_file import system_of


def write_results(path, values, *, verdicts=None, tags=None, groups=None, measure="recall@5", **head):
    """values: question id → the measure's value, or those of several. groups: as many questions as make one
    group. head: fields of the document to change."""
    rows = [
        {
            "id": key,
            "query": f"{key}?",
            "tags": (tags or {}).get(key, []),
            "metrics": value if isinstance(value, dict) else {measure: value},
            "references": [{"name": "R", "verdict": (verdicts or {}).get(key)}],
            **({"group": f"g{number // groups}"} if groups else {}),
        }
        for number, (key, value) in enumerate(values.items())
    ]
    document = {
        "schema_version": 1,
        "kind": "eval",
        "graph": {"name": "g", "sha256": "b" * 64},
        "dataset": {"name": "d", "sha256": "a" * 64, "selection": None},
        "summary": {"k": 5, "measures": {measure: {"mean": 0, "n": 0}}},
        "results": rows,
    }
    for name, value in head.items():
        document[name] = {**document.get(name, {}), **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def compared(run_cli, tmp_path, *arguments):
    run_cli("compare --quiet -o ./c.json", *arguments, code=0)
    return read_json("c.json")


def test_figures_by_hand(run_cli, tmp_path) -> None:
    one = write_results(tmp_path / "one-results.json", {"a": 0, "b": 0.5, "c": 1, "d": None})
    two = write_results(tmp_path / "two-results.json", {"a": 1, "b": 1, "c": 1, "d": None})
    document = compared(run_cli, tmp_path, one, two)
    jsonschema.validate(document, SCHEMA)
    assert document["dataset"]["name"] == "d"  # the gold set's, not the baseline's
    baseline, other = document["measures"]["recall@5"]
    assert (baseline["system"], baseline["mean"], baseline["difference"]) == ("one", 0.5, None)
    assert (other["mean"], other["difference"], other["n"]) == (1.0, 0.5, 3)
    assert (other["wins"], other["ties"], other["losses"]) == (2, 1, 0)
    # Of the four sign patterns of +1 and +.5, two (++ and --) are as extreme.
    assert other["p_randomisation"] == 0.5
    # Two of three questions move, one way only: the interval leaves room for one that moves the other way.
    assert other["low"] < 0 < 0.5 < other["high"] <= 1
    assert not other["reliable"]


def test_every_mean_has_its_interval(run_cli, tmp_path) -> None:
    """hit@5 of 3 in 4 questions: Wilson's interval of 3/4, in any table .3006 to .9544."""
    one, two = (
        write_results(tmp_path / name, dict(zip("pqrs", values, strict=True)), measure="hit@5")
        for name, values in (("a.json", (1, 1, 1, 0)), ("b.json", (1, 1, 1, 1)))
    )
    first, _ = compared(run_cli, tmp_path, one, two)["measures"]["hit@5"]
    assert (first["mean_low"], first["mean_high"]) == pytest.approx((0.3006, 0.9544), abs=1e-4)


def test_identical_runs_give_p_of_one(run_cli, tmp_path) -> None:
    one = write_results(tmp_path / "one.json", {f"q{row}": row / 50 for row in range(50)})
    document = compared(run_cli, tmp_path, one, one)
    assert document["verdicts"] == ["one (2) and one score the same on every question in every measure"]
    row = document["measures"]["recall@5"][1]
    assert (row["p_randomisation"], row["p_holm"], row["difference"]) == (1.0, 1.0, 0.0)
    assert (row["low"], row["high"], row["reliable"]) == (0, 0, True)


def test_systems_that_score_the_same_in_one_measure_may_differ_unseen(run_cli, tmp_path) -> None:
    """Of 50 questions none differs: those that do may be as rare as z² / (50 + z²), either way."""
    paths = []
    for name, first in (("one", 0), ("two", 1)):
        of_both = {f"q{row}": {"recall@5": row / 50, "mrr": int(row > first)} for row in range(50)}
        both = {"measures": {measure: {"mean": 0, "n": 0} for measure in ("recall@5", "mrr")}}
        paths.append(write_results(tmp_path / f"{name}.json", of_both, summary=both))
    row = compared(run_cli, tmp_path, *paths)["measures"]["recall@5"][1]
    assert (row["low"], row["high"]) == pytest.approx((-0.0713, 0.0713), abs=1e-4)


def test_holm_corrects_within_a_slice_and_a_tag_that_all_carry_is_no_slice(run_cli, tmp_path) -> None:
    tags = {"a": ["x", "y"], "b": ["x", "y"], "c": ["x"], "d": ["x"]}
    paths = [
        write_results(tmp_path / f"{value}.json", dict.fromkeys("abcd", value), tags=tags)
        for value in (0, 1, 0.5)
    ]
    document = compared(run_cli, tmp_path, *paths)
    assert list(document["by_tag"]) == ["y"]
    # p = 2/16 for all, 2/4 for y; two systems each: twice that.
    assert [row["p_holm"] for row in document["measures"]["recall@5"][1:]] == [0.25] * 2
    assert [row["p_holm"] for row in document["by_tag"]["y"]["recall@5"][1:]] == [1.0] * 2


def test_what_is_found_over_all_questions_does_not_depend_on_the_tags(tmp_path) -> None:
    rows = {f"q{row}": row / 40 for row in range(40)}
    tags = {id_: [f"t{row % 20}"] for row, id_ in enumerate(rows)}
    one, two = (
        system_of(json.loads(write_results(tmp_path / name, values, tags=tags).read_text()), Path(name))
        for name, values in (("one.json", rows), ("two.json", dict.fromkeys(rows, 0.3)))
    )
    assert compare([one, two]).overall == compare([one, two], by_tag=False).overall


def test_what_differs_and_which_is_better_stand_in_one_sentence_each(run_cli, tmp_path) -> None:
    values = {"low": lambda row: 0, "high": lambda row: row % 2, "same": lambda row: int(row == 3)}
    paths = [
        write_results(
            tmp_path / f"{name}.json",
            {f"q{row}": value(row) for row in range(20)},
            config={"retrieval": {"hops": hops, "depth": 100}},
        )
        for hops, (name, value) in zip((1, 2, 2), values.items(), strict=True)
    ]
    document = compared(run_cli, tmp_path, *paths)
    assert document["differs"] == {"retrieval.hops": [1, 2, 2]}
    better, alike = document["verdicts"]
    assert better.startswith("high is significantly better than low: recall@5 +0.500")
    assert alike.startswith("same and low don't differ significantly")
    assert "Settings that differ: hops 1 / 2 / 2\n" in run_cli("compare", *paths).stdout


def test_paraphrases_count_as_one(run_cli, tmp_path) -> None:
    """18 questions lose in three wordings each: six groups of nine say less than 18 questions."""
    one, two = (
        write_results(tmp_path / name, {f"q{row}": int(row // 3 > least) for row in range(18)}, groups=3)
        for name, least in (("one.json", -1), ("two.json", 2))
    )
    document = compared(run_cli, tmp_path, one, two)
    assert document["groups"] == 6
    # Three of six groups lose, all of them: of eight patterns of signs two are as extreme.
    assert document["measures"]["recall@5"][1]["p_randomisation"] == 2 / 8


def test_flips_tell_the_verdict_before_and_after_or_the_first_measure(run_cli, tmp_path) -> None:
    before = {"a": "beyond_hops", "b": "hit", "c": "hit"}
    after = {"a": "hit", "b": "ranked_below_k", "c": "hit"}
    one, two = {"a": 0, "b": 1, "c": 1}, {"a": 1, "b": 0, "c": 1}
    paths = (
        write_results(tmp_path / "one.json", one, verdicts=before),
        write_results(tmp_path / "two.json", two, verdicts=after),
    )
    flips = compared(run_cli, tmp_path, *paths)["flips"]
    assert [(flip["id"], flip["change"]) for flip in flips] == [("a", "won"), ("b", "lost")]
    assert flips[0]["references"] == [{"name": "R", "before": "beyond_hops", "after": "hit"}]
    assert flips[1]["values"] == {"recall@5": [1.0, 0.0]}
    unjudged = write_results(tmp_path / "one.json", one), write_results(tmp_path / "two.json", two)
    flips = compared(run_cli, tmp_path, *unjudged)["flips"]
    assert [(flip["id"], flip["change"]) for flip in flips] == [("a", "won"), ("b", "lost")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataset": {"sha256": "c" * 64}}, "different gold sets"),
        ({"summary": {"k": 10}}, "use different cutoffs (k 10 and 5)"),
        ({"values": {"a": 1, "z": 1}}, "different questions"),
    ],
)
def test_what_cannot_be_compared_is_refused_unless_forced(run_cli, tmp_path, change, said) -> None:
    one = write_results(tmp_path / "one.json", {"a": 0, "b": 1})
    two = write_results(tmp_path / "two.json", **{"values": {"a": 1, "b": 1}, **change})
    refused = run_cli("compare", one, two, code=2).stderr
    assert said in refused
    assert "--force" in refused
    assert said in compared(run_cli, tmp_path, one, two, "--force")["notes"][0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not a results file"),
        ('{"results": []}', "wanted a results file"),
        ({"results": [{"id": "a", "metrics": {}}] * 2}, "question 'a' is in the file twice"),
    ],
)
def test_what_is_no_results_file_of_this_version_is_said(run_cli, tmp_path, content, said) -> None:
    """content: of the file, or what another version or command would have written otherwise."""
    one = write_results(tmp_path / "one.json", {"a": 0, "b": 1})
    other = tmp_path / "other.json"
    changed = content if isinstance(content, str) else json.dumps(json.loads(one.read_text()) | content)
    other.write_text(changed)
    assert said in run_cli("compare", one, other, code=2).stderr


def test_the_same_selection_is_the_same_however_it_is_written(run_cli, tmp_path) -> None:
    """`eval` writes its head over several lines, `score` in one."""
    chosen = {"selection": {"limit": 2, "tags": ["x", "y"], "ids": []}}
    values = {"a": 0, "b": 1}
    one, two = (write_results(tmp_path / name, values, dataset=chosen) for name in ("one.json", "two.json"))
    one.write_text(json.dumps(json.loads(one.read_text()), indent=2))
    assert compared(run_cli, tmp_path, one, two)["dataset"]["selection"]["limit"] == 2
    refused = run_cli("compare", write_results(tmp_path / "all.json", values), one, code=2)
    assert "(--limit 2 --tags x,y and all questions)" in refused.stderr


def test_one_file_is_nothing_to_compare(run_cli, tmp_path) -> None:
    one = write_results(tmp_path / "one.json", {"a": 0})
    assert run_cli("compare", one).exit_code == 2
    assert run_cli("compare", one, one, "--measures", "mrr").exit_code == 2


def test_a_drop_beyond_the_gate_fails_and_so_does_an_undefined_figure(run_cli, tmp_path) -> None:
    one = write_results(tmp_path / "one.json", dict.fromkeys("abcd", 1))
    two = write_results(tmp_path / "two.json", {"a": 1, "b": 1, "c": 1, "d": 0})
    gate = ("--max-drop", "recall@5=0.3", "--quiet", "-o", "./c.json")
    by_interval = (*gate, "--set", "running.gate_on=interval")
    run_cli("compare", one, two, *gate, code=0)  # it loses .25
    assert "FAILED" in run_cli("compare", one, two, *by_interval, code=1).stderr  # but may have lost .75
    run_cli("compare", two, one, *by_interval, code=0)  # a gain is no drop
    none = write_results(tmp_path / "none.json", {"a": None})
    assert "undefined" in run_cli("compare", none, none, *gate, code=1).stderr


@pytest.mark.parametrize("text", ["", ",", "recall@5", "recall@5=x", "recall@5=nan", "recal@5=.1", "=1"])
def test_a_gate_that_is_none_is_refused(text) -> None:
    with pytest.raises(UsageError):
        parse_drops(text)
    with pytest.raises(UsageError):
        parse_floors(text.replace("=", ">=", 1))


def test_gates_parse_and_print() -> None:
    assert [str(floor) for floor in parse_floors("recall@5 >= 0.65, mrr>.75,recall@1<1")] == [
        "recall@5>=0.65",
        "mrr>0.75",
        "recall@1<1",
    ]


def speed(p95: float, per_second: int) -> dict:
    latency = {"mean": p95 / 2, "p50": p95 / 3, "p95": p95, "n": 4}
    return {"latency": latency, "questions_per_second": per_second}


def test_speed_is_compared(run_cli, tmp_path) -> None:
    one = write_results(tmp_path / "one.json", {"a": 1, "b": 0}, summary=speed(0.2, 50))
    two = write_results(tmp_path / "two.json", {"a": 1, "b": 0}, summary=speed(0.5, 80))
    speeds = [system["speed"] for system in compared(run_cli, tmp_path, one, two)["systems"]]
    assert [(speed["latency.p95"], speed["throughput"]) for speed in speeds] == [(0.2, 50), (0.5, 80)]


def test_an_interval_without_nought_beside_a_large_p_shows_nothing(run_cli, tmp_path) -> None:
    """Four of 54 lose, none wins: p = 2/16 = .125, and Wilson's interval of 4 of 54 leaves out 0."""
    one = write_results(tmp_path / "one.json", {f"q{row}": 1 for row in range(54)})
    two = write_results(tmp_path / "two.json", {f"q{row}": int(row > 3) for row in range(54)})
    done = run_cli("compare", one, two, "-o", "./c.json")
    row = read_json("c.json")["measures"]["recall@5"][1]
    assert row["p_randomisation"] == 0.125
    assert row["high"] < 0
    first = done.stdout.strip().splitlines()[0]
    assert first.startswith("two and one don't differ significantly in any measure")


def test_what_differs_is_noted_in_the_readers_language(run_cli, tmp_path) -> None:
    one = write_results(tmp_path / "one-results.json", {"a": 0, "b": 0.5})
    two = write_results(tmp_path / "two-results.json", {"a": 1, "b": 1}, graph={"sha256": "c" * 64})
    done = run_cli("compare", one, two, "-o", "./c.json", "--lang", "ko")
    assert "그래프" in done.stdout
    assert "different graphs" not in done.stdout
    assert read_json("c.json")["notes"][0].startswith("the results come from different graphs")
    three = write_results(tmp_path / "three-results.json", {"a": 1, "b": 1}, graph=None)
    run_cli("compare", one, three, "-o", "./without.json", code=0)
    assert read_json("without.json")["notes"] == [], "a run that was scored by names alone has no graph"
