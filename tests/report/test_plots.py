"""Pictures: every kind of document has its own, the same every time, and Hangul shows in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report.make_results import results
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.report.document import Document, read_document
from tiny_graph_rag.report.reports import write_reports

pytest.importorskip("matplotlib")

MEAN = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 40, "reliable": True}


def sweep() -> dict:
    part = {"questions": 40, "measures": {"ndcg@5": MEAN}, "oracle_recall": 0.7}
    settings = [
        {
            "system": "bfs",
            "retriever": "bfs",
            "hops": hops,
            "top_k": 5,
            **part,
            "by_tag": {"2-hop": part, "a$b_c": part},
        }
        for hops in range(4)
    ]
    return {"kind": "sweep", "settings": settings, "recommended": {}}


def document(folder: Path, name: str, content: dict) -> Document:
    path = folder / f"{name}.json"
    content = {"schema_version": 1, "package_version": "0", **content}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return read_document(path)


def of_all_kinds(folder: Path) -> list[Document]:
    many = results(12, 40)
    return [
        document(folder, "first", many),
        document(folder, "second", many),
        document(folder, "hops", sweep()),
    ]


@pytest.mark.slow
def test_every_kind_of_document_has_its_pictures(tmp_path):
    written, _ = write_reports(of_all_kinds(tmp_path), ["png"])
    names = ["first-tags.png", "second-tags.png", "hops-hops.png"]
    assert [path.name for path in written] == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


@pytest.mark.slow
def test_hangul_is_drawn_by_a_font_that_has_it(tmp_path):
    """A missing glyph is a warning of matplotlib's, and warnings fail tests."""
    korean = results(12, 40)
    korean["dataset"]["name"] = "김유정-동백꽃"
    korean["summary"]["by_tag"]["의역 👩 $x_1$"] = korean["summary"]["by_tag"]["1-hop"]
    try:
        written, _ = write_reports([document(tmp_path, "korean", korean)], ["png"])
    except UsageError as error:
        pytest.skip(str(error))
    assert len(written) == 1


def test_without_a_font_the_message_says_what_to_install(tmp_path, monkeypatch):
    from tiny_graph_rag.report.plots import figures

    monkeypatch.setattr(figures, "_covered", lambda path: set(range(128)))
    korean = results(4, 8) | {"dataset": {"name": "동백꽃", "sha256": "", "selection": None}}
    with pytest.raises(UsageError, match=r"no font on this machine has the letters .*fonts-noto-cjk"):
        write_reports([document(tmp_path, "korean", korean)], ["png"])
