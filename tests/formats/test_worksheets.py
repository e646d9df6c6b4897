"""Worksheets as spreadsheets write them: numbers, days, pieces of text, cells without a place."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tiny_graph_rag.errors import InputError
from tiny_graph_rag.formats.worksheets import worksheets

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
STYLES = f"""<styleSheet {MAIN}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm"/>
<numFmt numFmtId="165" formatCode="[Red]0.0 &quot;days&quot;"/></numFmts>
<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs>
</styleSheet>"""


def book(folder: Path, rows: str, texts: str = "") -> Path:
    parts = {
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="S" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="a" Target="/xl/worksheets/s.xml"/>'
        "</Relationships>",
        "xl/worksheets/s.xml": f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {MAIN}>{texts}</sst>",
        "xl/styles.xml": STYLES,
    }
    with zipfile.ZipFile(folder / "s.xlsx", "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return folder / "s.xlsx"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("<c><v>7</v></c>", "7"),
        ("<c><v>0.5</v></c>", "0.5"),
        ('<c s="1"><v>46053</v></c>', "2026-01-31"),  # 46,053 days after 1899-12-30
        ('<c s="2"><v>46053.5</v></c>', "2026-01-31 12:00:00"),
        ('<c s="3"><v>46053</v></c>', "46053"),  # "days" is a word of its own, and no part of a date
        ('<c s="1"><v>1e300</v></c>', str(int(1e300))),
        ('<c t="b"><v>1</v></c>', "True"),
        ('<c t="str"><f>A1</f><v>so</v></c>', "so"),
        ('<c t="s"><v>0</v></c>', "점순 Kim"),
        ('<c t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>', "ab"),
    ],
)
def test_a_cell_is_the_text_that_a_spreadsheet_shows(tmp_path: Path, cell: str, text: str) -> None:
    texts = "<si><r><t>점순</t></r><r><t> Kim</t></r><rPh><t>kana</t></rPh></si>"
    path = book(tmp_path, f"<row><c><v>1</v></c>{cell}</row>", texts)
    assert list(worksheets(path)) == [("S", [(1, {0: "1", 1: text})])]


def test_a_cell_stands_where_it_says_else_after_the_one_before(tmp_path: Path) -> None:
    far = '<row r="1048576"><c r="XFD1048576"><v>3</v></c><c r="XFE1"><v>4</v></c></row>'
    path = book(tmp_path, f'<row><c r="AA1"><v>1</v></c><c><v>2</v></c></row><row/>{far}')
    assert list(worksheets(path)) == [("S", [(1, {26: "1", 27: "2"}), (1_048_576, {16383: "3"})])]


def test_a_document_type_is_refused(tmp_path: Path) -> None:
    path = book(tmp_path, "", '<!DOCTYPE x [<!ENTITY a "b">]>')
    with pytest.raises(InputError, match="document type"):
        list(worksheets(path))
