"""What the commands compute is what Python computes: means, intervals, questions, recommendations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tiny_graph_rag
from tests.conftest import ROOT, read_json

GRAPH = ROOT / "data" / "kg" / "conan-doyle-speckled-band-KG.json"
GOLD = ROOT / "data" / "eval" / "conan-doyle-speckled-band-eval.jsonl"


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def about(count: int, make: Callable[[int], dict[str, Any]]) -> str:
    return lines(*({"id": f"q{n}", **make(n)} for n in range(count)))


GROUPED = about(
    60, lambda n: {"query": f"Question {n}?", "reference_entities": [f"e{n % 7}"], "group": f"g{n // 3}"}
)
RANKED = about(55, lambda n: {"retrieved": [f"e{n % 5}", "e1", "e1", f"e{n % 7}"]})
SHIPS = "ships lay at anchor."
TEXTS = about(40, lambda n: {"query": f"Question {n}?", "reference_texts": [f"The {n} {SHIPS}"]})
SAID = about(40, lambda n: {"retrieved": ["Nothing.", f"All of the {n % 30} {SHIPS}"]})
CHUNKS = about(40, lambda n: {"query": f"Question {n}?", "relevant_docs": [f"d{n}"]})
FETCHED = about(40, lambda n: {"retrieved_docs": ["d0", f"d{n % 30}"]})
PASSAGES = about(40, lambda n: {"passages": ["Nothing.", f"All of the {n % 30} {SHIPS}"]})
QRELS = "".join(f"q{n} 0 d{n % 4} {1 + n % 2}\nq{n} 0 d9 0\n" for n in range(40))
TREC = "".join(f"q{n} Q0 d{m} {m + 1} {1.5 - m // 2} r\n" for n in range(38) for m in range(5))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("gold", "run", "options", "keywords"),
    [
        (("gold.jsonl", GROUPED), ("run.jsonl", RANKED), (), {}),
        (("gold.jsonl", GROUPED), ("run.jsonl", RANKED), ("--measures", "contest_map@3,mrr"), {}),
        (("gold.jsonl", TEXTS), ("run.jsonl", SAID), ("--match", "rougeL"), {"match": "rougeL"}),
        (("gold.jsonl", CHUNKS), ("run.jsonl", FETCHED), (), {}),
        (("gold.jsonl", TEXTS), ("run.jsonl", PASSAGES), (), {}),
        (
            ("gold.jsonl", TEXTS),
            ("run.jsonl", PASSAGES),
            ("--measures", "passages:recall@5", "--match", "contains"),
            {"match": "contains"},
        ),
        (("qrels.txt", QRELS), ("run.trec", TREC), (), {}),
        (("qrels.txt", QRELS), ("run.trec", TREC), ("--ties", "trec"), {"ties": "trec"}),
    ],
)
def test_score(run_cli, tmp_path: Path, gold, run, options, keywords) -> None:
    paths = [tmp_path / name for name, _ in (run, gold)]
    for path, (_, text) in zip(paths, (run, gold), strict=True):
        path.write_text(text, encoding="utf-8")
    out = tmp_path / "out.json"
    run_cli("score --run", paths[0], "--gold", paths[1], *options, "-o", out, code=0)
    written = read_json(out)
    measures = options[1] if options[:1] == ("--measures",) else None
    found = tiny_graph_rag.score(paths[0], paths[1], measures, **keywords)
    for name, mean in written["summary"]["measures"].items():
        assert found.means.loc[name].to_dict() == {part: mean[part] for part in found.means.columns}
        values = {row["id"]: row["metrics"][name] for row in written["results"]}
        column = found.questions[name]
        assert column.astype(object).where(column.notna(), None).to_dict() == values


def rows_of(path: Path) -> dict[str, Any]:
    return read_json(path)["summary"]["measures"]


def test_score_on_a_graph(run_cli, tmp_path: Path) -> None:
    run, out = tmp_path / "run.jsonl", tmp_path / "out.json"
    given = ("--skip-generation", "--save-run", run, "-o", tmp_path / "e.json")
    run_cli("eval --dataset", GOLD, "-g", GRAPH, *given, code=0)
    run_cli("score --run", run, "--gold", GOLD, "-g", GRAPH, "-o", out, code=0)
    found = tiny_graph_rag.score(run, GOLD, graph=tiny_graph_rag.load_graph(GRAPH))
    written = rows_of(out).items()
    means = {name: {part: mean[part] for part in found.means.columns} for name, mean in written}
    assert found.means.to_dict("index") == means


def test_eval_sweep_and_compare(run_cli, tmp_path: Path) -> None:
    graph, questions = tiny_graph_rag.load_graph(GRAPH), tiny_graph_rag.load_questions(GOLD)
    given = ("--dataset", GOLD, "-g", GRAPH)
    results = {}
    for hops in (1, 3):
        out = tmp_path / f"{hops}.json"
        run_cli("eval --skip-generation --hops", hops, *given, "-o", out, code=0)
        results[hops] = tiny_graph_rag.evaluate(graph, questions, hops=hops)
        assert results[hops].means == {name: mean["mean"] for name, mean in rows_of(out).items()}
    out = tmp_path / "compared.json"
    run_cli("compare", tmp_path / "1.json", tmp_path / "3.json", "-o", out, code=0)
    compared = tiny_graph_rag.compare(results[1], results[3]).to_pandas()
    columns = {"difference_low": "low", "difference_high": "high", "p": "p_randomisation"}
    for name, rows in read_json(out)["measures"].items():
        mine = compared[compared["measure"] == name].iloc[1]
        for ours, theirs in columns.items():
            assert mine[ours] == rows[1][theirs]
    run_cli("sweep --hops 1-3", *given, "-o", tmp_path / "sweep.json", code=0)
    swept = read_json(tmp_path / "sweep.json")
    found = tiny_graph_rag.sweep(graph, questions, hops=(1, 2, 3))
    wanted = swept["settings"][swept["recommended"]["overall"]["setting"]]
    assert found.recommended is not None
    assert found.recommended["hops"] == wanted["hops"]
