"""A spreadsheet of questions is a gold set, and a worksheet's cells are what a spreadsheet shows."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import write_kg
from tests.tools.workbook import workbook
from tiny_graph_rag.errors import DatasetError, InputError
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.formats.gold.questions import eval_set_of
from tiny_graph_rag.formats.tables import worksheets
from tiny_graph_rag.formats.writing import written


def sheet(path: Path, *lines: str, encoding: str = "utf-8-sig", end: str = "\r\n") -> Path:
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def test_columns_go_by_their_names_and_cells_hold_several(tmp_path: Path) -> None:
    path = sheet(
        tmp_path / "a.csv",
        "No,Question,References,Tag,Answer,Remark,",
        '7,Whom does Ann know?,Bob; Cid,"1 hop, easy","Bob, and Cid; both",asked twice,',
        ",,,,,,",
        "8,Who is nobody?,,,nan,,",
    )
    first, second = read_eval_set(path)
    assert (first.id, first.query) == ("7", "Whom does Ann know?")
    assert first.reference_entities == ("Bob", "Cid")
    assert first.tags == ("1 hop", "easy")
    assert first.ground_truth == ("Bob, and Cid; both",)
    assert first.unknown == {"Remark": "asked twice"}
    assert (second.reference_entities, second.ground_truth) == ((), ())
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
        "reference_relations": [["a", "T", "b"], {"id": "r1"}],
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


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def book(folder: Path, rows: str, document_type: str = "") -> Path:
    """A workbook whose sheet has these rows, as XML."""
    sheet = f"{document_type}<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
    made = zipfile.ZipFile(io.BytesIO(workbook({"S": []})))
    with zipfile.ZipFile(folder / "s.xlsx", "w") as packed:
        for name in made.namelist():
            packed.writestr(name, sheet if name.endswith("sheet1.xml") else made.read(name))
    return folder / "s.xlsx"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (0.5, "0.5"),
        (True, "True"),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 12), "2026-01-31 12:00:00"),
        ("점순 Kim", "점순 Kim"),
    ],
)
def test_a_cell_is_the_text_that_a_spreadsheet_shows(tmp_path: Path, value: object, text: str) -> None:
    (tmp_path / "s.xlsx").write_bytes(workbook({"S": [["1", value]]}))
    assert list(worksheets(tmp_path / "s.xlsx")) == [("S", [(1, ["1", text])])]


def test_a_formula_is_its_result_and_a_text_in_pieces_is_one(tmp_path: Path) -> None:
    pieces = '<c t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>'
    path = book(tmp_path, f'<row><c t="str"><f>A1</f><v>so</v></c>{pieces}</row>')
    assert list(worksheets(path)) == [("S", [(1, ["so", "ab"])])]


def test_a_cell_stands_where_it_says_else_after_the_one_before(tmp_path: Path) -> None:
    far = '<row r="1048576"><c r="XFD1048576"><v>3</v></c><c r="XFE1"><v>4</v></c></row>'
    path = book(tmp_path, f'<row><c r="AA1"><v>1</v></c><c><v>2</v></c></row><row/>{far}')
    ((_, rows),) = worksheets(path)
    found = {number: {at: text for at, text in enumerate(row) if text} for number, row in rows}
    assert found == {1: {26: "1", 27: "2"}, 1_048_576: {16383: "3", 16384: "4"}}


def test_an_entity_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    entities = ['<!ENTITY a0 "ha">', *(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))]
    row = '<row><c t="inlineStr"><is><t>&a9;</t></is></c></row>'
    path = book(tmp_path, row, document_type=f"<!DOCTYPE x [{''.join(entities)}]>")
    with pytest.raises(InputError, match="can't be read as a worksheet"):
        list(worksheets(path))


def test_a_cell_further_down_than_a_sheet_goes_is_no_cell(tmp_path: Path) -> None:
    path = book(tmp_path, '<row r="1"><c><v>1</v></c></row><row r="99999999999"><c><v>2</v></c></row>')
    assert list(worksheets(path)) == [("S", [(1, ["1"])])]


def test_rows_of_empty_cells_alone_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 100 kB can make a reader go through a billion of them."""
    monkeypatch.setattr("tiny_graph_rag.formats.tables.EMPTY_CELLS", 100_000)
    few, many = (
        "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 4 * k)) for k in (1, 3)
    )
    ((_, rows),) = worksheets(book(tmp_path, few))
    assert len(rows) == 3
    with pytest.raises(InputError, match="empty cells"):
        list(worksheets(book(tmp_path, many), 1))
