"""Worksheets (.xlsx) as rows of text, read by Python's own zip and XML readers.

Only cells that are there take memory, however far out they lie. A document type declaration is refused, so no
entity is ever expanded.
"""

from __future__ import annotations

import datetime
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tiny_graph_rag.errors import InputError, wrong_value
from tiny_graph_rag.files import check_unpacked

Element = ElementTree.Element
NumberedRow = tuple[int, dict[int, str]]  # of the sheet from 1, and its texts by their column from 0
EPOCH = datetime.datetime(1899, 12, 30)
LAST_DAY = 2_958_465  # 9999-12-31
DATE_FORMATS = frozenset((*range(14, 23), *range(45, 48)))  # that need no definition
LONGEST_ROW = 1 << 14  # columns, as Excel has them
_DATE_SIGNS = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|([ymdhs])', re.IGNORECASE)


def worksheets(path: Path) -> Iterator[tuple[str, list[NumberedRow]]]:
    """Name of each sheet and those of its rows that hold a text.

    Numbers that are whole have no fraction, days are as 2026-01-31. Raises InputError.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            check_unpacked(path, sum(part.file_size for part in packed.infolist()))
            yield from _sheets(packed)
    except InputError:
        raise
    except Exception as error:  # of broken archives and documents it raises what their parts do
        why = str(error) or type(error).__name__
        raise InputError.at(path.name, "can't be read as a worksheet: {error}", error=why) from error


def _sheets(packed: zipfile.ZipFile) -> Iterator[tuple[str, list[NumberedRow]]]:
    parts = set(packed.namelist())
    relations = _tree(packed, "xl/_rels/workbook.xml.rels")
    targets = {relation.get("Id"): _part(relation.get("Target", "")) for relation in relations}
    texts: list[str] = []
    if "xl/sharedStrings.xml" in parts:
        texts = [_text(item) for item in _named(_tree(packed, "xl/sharedStrings.xml"), "si")]
    dates = _date_styles(_tree(packed, "xl/styles.xml")) if "xl/styles.xml" in parts else frozenset[str]()
    for sheet in _named(_tree(packed, "xl/workbook.xml"), "sheet"):
        place = next((value for name, value in sheet.items() if name.endswith("}id")), "")
        if targets.get(place) in parts:
            yield sheet.get("name", ""), _rows(_tree(packed, targets[place]), texts, dates)


def _rows(sheet: Element, texts: list[str], dates: frozenset[str]) -> list[NumberedRow]:
    rows: list[NumberedRow] = []
    number = 0
    for row in _named(sheet, "row"):
        number = int(row.get("r", number + 1))
        cells: dict[int, str] = {}
        column = -1
        for cell in _named(row, "c"):
            letters = re.match("[A-Z]{1,3}", cell.get("r", ""))
            column = _column(letters[0]) if letters else column + 1
            text = _cell(cell, texts, dates)
            if text and column < LONGEST_ROW:
                cells[column] = text
        if cells:
            rows.append((number, cells))
    return rows


def _column(letters: str) -> int:
    """`A` → 0, `AA` → 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _cell(cell: Element, texts: list[str], dates: frozenset[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text(cell)
    value = next((inner.text or "" for inner in _named(cell, "v")), "")
    if kind == "s":
        return texts[int(value)]
    if kind == "b":
        return str(value == "1")
    if kind != "n" or not value:
        return value
    number = float(value)
    if cell.get("s") in dates and 0 <= number <= LAST_DAY:
        return str(EPOCH + datetime.timedelta(days=number)).removesuffix(" 00:00:00")
    return str(int(number)) if number.is_integer() else str(number)


def _date_styles(styles: Element) -> frozenset[str]:
    """Which cell styles show a day or a time."""
    formats = {item.get("numFmtId"): item.get("formatCode", "") for item in _named(styles, "numFmt")}
    dated = {str(number) for number in DATE_FORMATS}
    dated |= {str(number) for number, code in formats.items() if any(_DATE_SIGNS.findall(code))}
    cells = next(_named(styles, "cellXfs"), ())
    return frozenset(str(at) for at, style in enumerate(cells) if style.get("numFmtId") in dated)


def _text(element: Element) -> str:
    """What stands in a text, also in pieces of several looks; not how it is pronounced."""
    spoken = {id(text) for reading in _named(element, "rPh") for text in _named(reading, "t")}
    return "".join(text.text or "" for text in _named(element, "t") if id(text) not in spoken)


def _named(element: Element, name: str) -> Iterator[Element]:
    """The elements of a name below, in whatever namespace."""
    return element.iterfind(f".//{{*}}{name}")


def _part(target: str) -> str:
    return posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")


def _tree(packed: zipfile.ZipFile, part: str) -> Element:
    content = packed.read(part)
    if b"<!DOCTYPE" in content.replace(b"\0", b""):  # UTF-16 too
        raise wrong_value(
            "a document type declaration (<!DOCTYPE>) is not allowed, because it can expand to any size; "
            "remove it"
        )
    return ElementTree.parse(io.BytesIO(content)).getroot()
