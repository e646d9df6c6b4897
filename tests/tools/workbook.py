"""Worksheet files for the tests of readers."""

from __future__ import annotations

import io
import zipfile

FORMATS = "http://schemas.openxmlformats.org"
OFFICE = f"{FORMATS}/officeDocument/2006/relationships"
MAIN = f"{FORMATS}/spreadsheetml/2006/main"
LINKS = f"{FORMATS}/package/2006/relationships"


def workbook(sheets: dict[str, list[list[str]]]) -> bytes:
    """A worksheet file; of each sheet the rows, the first of which names the columns."""
    names = list(enumerate(sheets, start=1))
    sheet_names = (f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>' for number, name in names)
    listed = f"<sheets>{''.join(sheet_names)}</sheets>"
    links = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number, _ in names
    )
    whole = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{FORMATS}/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{LINKS}">{whole}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{listed}</workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{LINKS}">{links}</Relationships>',
    }
    for number, name in names:
        rows = "".join(row_of(line, cells) for line, cells in enumerate(sheets[name], start=1))
        sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        parts[f"xl/worksheets/sheet{number}.xml"] = sheet
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return out.getvalue()


def row_of(line: int, cells: list[str]) -> str:
    texts = "".join(
        f'<c r="{chr(65 + at)}{line}" t="inlineStr"><is><t>{cell}</t></is></c>'
        for at, cell in enumerate(cells)
    )
    return f'<row r="{line}">{texts}</row>'
