"""What every registered report owes: it takes every kind of document, the same again, and nothing runs."""

from __future__ import annotations

import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.report.make_results import results
from tiny_graph_rag.report.document import Document, read_document
from tiny_graph_rag.report.reports import REPORTS, write_reports

Json = dict[str, Any]
MEAN = {"mean": 0.5, "low": 0.25, "high": 0.75, "n": 4, "reliable": False}
PART = {"questions": 4, "oracle_recall": 0.75, "measures": {"ndcg@5": MEAN}}
ROW = {"system": "other", "mean": 0.5, "mean_low": 0.4, "mean_high": 0.6, "n": 4}
COMPARED = {"difference": 0.1, "low": -0.1, "high": 0.3, "p_holm": 0.2, "wins": 2, "ties": 1, "losses": 1}
HEAD = {"schema_version": 1, "package_version": "0.1.0"}


def documents() -> dict[str, Json]:
    """One of each kind, and an `eval` of a single question without references."""
    scored = results(12, 40) | {"kind": "score", "run": {"name": "theirs", "format": "trec"}}
    scored["summary"].pop("waterfall")
    settings = [
        {"system": "bfs", "retriever": "bfs", "hops": hops, "top_k": 5, "by_tag": {"a": PART}, **PART}
        for hops in (1, 2)
    ]
    systems = [{"name": name, "file": f"{name}.json"} for name in ("baseline", "other")]
    rows = [ROW | {"system": "baseline"}, ROW | COMPARED]
    return {
        "eval": results(12, 40),
        "score": scored,
        "sweep": {**HEAD, "kind": "sweep", "settings": settings, "recommended": {"overall": None}},
        "comparison": {**HEAD, "kind": "comparison", "systems": systems, "measures": {"ndcg@5": rows}},
        "without references": results(1, 0),
    }


def written(folder: Path, name: str, content: Json) -> Document:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name.replace(' ', '-')}.json"
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return read_document(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(documents()))
@pytest.mark.parametrize("report", list(REPORTS))
def test_every_kind_of_document_is_taken_and_gives_the_same_twice(
    report: str, kind: str, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib") if report in ("png", "svg") else None
    document = written(tmp_path, kind, documents()[kind])
    before = copy.deepcopy(document.content)
    first, second = (dict(REPORTS[report]([document])) for _ in range(2))
    assert document.content == before, "a report changes nothing"
    assert first == second
    says_all = report in ("html", "md") or (report == "csv" and kind not in ("comparison", "sweep"))
    assert first or not says_all, "there is something to say of every kind"
    for name, content in first.items():
        assert name.startswith(document.name)
        assert Path(name).name == name
        assert content


@pytest.mark.slow
@pytest.mark.parametrize("report", list(REPORTS))
def test_all_kinds_together_are_taken(report: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib") if report in ("png", "svg") else None
    all_of_them = [written(tmp_path, name, content) for name, content in documents().items()]
    paths, _ = write_reports(all_of_them, [report], tmp_path / "out")
    assert paths
    assert len(set(paths)) == len(paths)
    assert all(path.stat().st_size for path in paths)
    if report == "png":
        pictures = [f"{name}.png" for name in ("eval-tags", "score-tags", "sweep-hops")]
        assert sorted(path.name for path in paths if path.read_bytes().startswith(b"\x89PNG")) == [
            *pictures,
            "without-references-tags.png",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("report", ["html", "md", "csv", "svg"])
def test_names_and_texts_from_outside_stay_text(report: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib") if report == "svg" else None
    hostile = "\x1b[2J\\input{x}</script><img src=x onerror=alert(1)>"
    content = results(3, 6)
    content["dataset"]["name"] = hostile
    for result, formula in zip(content["results"], ("=", "@SUM(1)", "+1"), strict=True):
        result["query"] = formula + hostile
        result["tags"] = [f"=cmd|{hostile}"]
    for name, made in REPORTS[report]([written(tmp_path, "x", content)]):
        text = made.decode("utf-8-sig")
        if report == "csv":
            cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
            assert [cell for cell in cells if cell.startswith(("=", "@", "+"))] == []
        else:
            assert report == "html" or "\x1b" not in text
            assert "<img" not in text.replace("\\<img", ""), name
            assert not name.endswith(".tex") or ("</script" not in text and r"\input" not in text)
