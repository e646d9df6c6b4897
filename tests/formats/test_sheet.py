"""A spreadsheet of questions is a gold set: columns by their names, several references in a cell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import write_kg
from tiny_graph_rag.errors import DatasetError, InputError
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.formats.gold.exchange import written
from tiny_graph_rag.formats.gold.questions import eval_set_of


def sheet(path: Path, *lines: str, encoding: str = "utf-8-sig", end: str = "\r\n") -> Path:
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def test_columns_go_by_their_names_and_cells_hold_several(tmp_path: Path) -> None:
    path = sheet(
        tmp_path / "a.csv",
        "No,Question,References,Tag,Answer,Remark,",
        '7,Whom does Ann know?,Bob; Cid,"1 hop, easy","Bob, and Cid; both",asked twice,',
        ",,,,,,",
        "8,Who is nobody?,,,,,",
    )
    first, second = read_eval_set(path)
    assert (first.id, first.query) == ("7", "Whom does Ann know?")
    assert first.reference_entities == ("Bob", "Cid")
    assert first.tags == ("1 hop", "easy")
    assert first.ground_truth == ("Bob, and Cid; both",)
    assert first.unknown == {"Remark": "asked twice"}
    assert second.reference_entities == ()
    assert read_eval_set(path).name == "a"


def test_a_broken_row_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv:3: wanted 2 fields \(question, references\), got 1"):
        read_eval_set(sheet(tmp_path / "a.csv", "question,references", "Who?,Bob", "Why?"))
    with pytest.raises(DatasetError, match=r"b\.csv:2: 'query' must be a question in words"):
        read_eval_set(sheet(tmp_path / "b.csv", "question,references", ",Bob"))


def test_every_field_that_a_sheet_holds_comes_back(tmp_path: Path) -> None:
    row = {
        "id": "Q1",
        "query": "=SUM(1)?",
        "reference_entities": ["Frankenstein; or, The Modern Prometheus", "나"],
        "highly_relevant_entities": ["a|b"],
        "irrelevant_entities": ["x", "y"],
        "seed_entities": ["점순"],
        "tags": ["multi-hop", "a b"],
        "ground_truth": ["one, two; three", "four"],
        "context": ["Earlier; said.", "Then this."],
        "group": "g",
        "reference_relations": [["a", "T", "b"]],
        "reference_relationships": [{"source": "a", "target": "b", "type": "T"}],
    }
    before = eval_set_of([row, {"id": "Q2", "query": "Nothing?", "reference_entities": []}])
    for name in ("s.csv", "s.tsv"):
        (tmp_path / name).write_bytes(b"".join(written(before.examples, tmp_path / name, "sheet")))
        for wanted, found in zip(before, read_gold(tmp_path / name), strict=True):
            for field in (*row, "expected_types"):
                assert getattr(found, field) == getattr(wanted, field), field
    assert "'=SUM(1)?" in (tmp_path / "s.csv").read_text("utf-8-sig")


def test_missing_names_of_a_sheet_are_proposed_as_lines(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    write_kg(own_folder / "a-KG.json", ["Bertram", "Ann"], [("Ann", "KNOWS", "Bertram")])
    sheet(own_folder / "a.csv", "question,references,tags", "Whom does Ann know?,Bertramm,x")
    told = run_cli("validate", "--dataset", "a.csv", "-g", "a-KG.json", "--fix-suggestions", "fixed.jsonl")
    assert "1 of 1 missing names replaced" in told.stdout
    (fixed,) = read_eval_set(own_folder / "fixed.jsonl")
    assert (fixed.reference_entities, fixed.tags) == (("Bertram",), ("x",))
