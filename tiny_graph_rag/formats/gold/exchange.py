"""Gold sets of any format as questions of ours, and back into any: by name, else by the file's suffix.

`jsonl`, `json` and `sheet` hold everything, `trec` judgments alone. What it can't hold is given by `lost`, so
that nobody loses a tag unheard.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.files import BYTE_ORDER_MARK
from tiny_graph_rag.formats.gold import detected
from tiny_graph_rag.formats.gold.records import SIGNS
from tiny_graph_rag.formats.tables import TableWriter, encoded, guarded
from tiny_graph_rag.formats.words import FIELDS
from tiny_graph_rag.formats.writing import Form, form_of
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.messages import t

# --- of a sheet: one value a cell, columns that are always there, and what stands between several values
_REQUIRED = ("query", "reference_entities")
_SIGNS = {
    **SIGNS,
    **{"id": "", "query": "", "group": "", "ground_truth": "|\n", "reference_texts": "\n"},
}
_JUDGED = {"id", "reference_entities", "highly_relevant_entities", "irrelevant_entities", "grades"}


def row_of(example: Example) -> dict[str, Any]:
    """The question as an object of our own format; fields that hold nothing are left out."""
    row: dict[str, Any] = {name: getattr(example, name) for name in FIELDS}
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}
    row["id"] = example.written_id
    relations = [one._asdict().items() for one in example.reference_relations]
    row["reference_relations"] = [{key: value for key, value in one if value} for one in relations]
    if len(example.ground_truth) == 1:
        row["ground_truth"] = example.ground_truth[0]
    # An empty list says something here: nothing should be retrieved, nothing should be linked.
    meant = {"reference_entities": example.judged, "seed_entities": example.seed_entities is not None}
    full = {name: value for name, value in row.items() if value or meant.get(name)}
    return full | {name: value for name, value in example.unknown.items() if value is not None}


def line_of(example: Example) -> bytes:
    return (json.dumps(row_of(example), ensure_ascii=False) + "\n").encode("utf-8", "replace")


def format_of(path: Path | None) -> str:
    """Of a gold set that is there: its format, where sets can be written in it, else jsonl."""
    found = "jsonl" if path is None else detected(path)
    return found if found in GOLD_FORMS else "jsonl"


def ending_for(format: str, like: Path | None) -> str:
    """The suffix of a file in that format: that of `like`, where it is one. Raises UsageError."""
    suffixes = GOLD_FORMS[format].suffixes
    suffix = "" if like is None else Path(like.name.removesuffix(".gz")).suffix.lower()
    return suffix if suffix in suffixes else suffixes[0]


def written(examples: Sequence[Example], path: Path, format: str | None = None) -> Iterable[bytes]:
    """The file's content, in one normal form. path: for its suffix alone (csv, tsv)."""
    return GOLD_FORMS[form_of(GOLD_FORMS, path, format)].write(examples, path)


def lost(examples: Sequence[Example], path: Path, format: str | None = None) -> dict[str, int]:
    """Field → questions whose value the format can't hold."""
    if form_of(GOLD_FORMS, path, format) != "trec":
        return {}
    found: Counter[str] = Counter()
    for example in examples:
        found.update(field for field in row_of(example) if field not in _JUDGED)
        if not example.grades:
            found[t("questions without references")] += 1
    return dict(found)


def jsonl(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    return map(line_of, examples)


def json_list(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    lines = [json.dumps(row_of(example), ensure_ascii=False) for example in examples]
    return [b"[\n", ",\n".join(lines).encode("utf-8", "replace"), b"\n]\n"]


def sheet(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    """With a mark, so that spreadsheets show Hangul. What has no field of ours gets a column of its own,
    values that are no text as JSON."""
    rows = list(map(row_of, examples))
    known = [name for name in FIELDS if name in _REQUIRED or any(row.get(name) for row in rows)]
    own = dict.fromkeys(name for row in rows for name in row if name not in FIELDS)
    text = io.StringIO()
    writer = TableWriter(text, "\t" if path.suffix.lower() == ".tsv" else ",")
    writer.writerow([*known, *own])
    for row in rows:
        cells = [_cell(row.get(name), _SIGNS.get(name, ";|\n")) for name in known]
        writer.writerow([guarded(cell) for cell in (*cells, *(_own_cell(row.get(name)) for name in own))])
    return [BYTE_ORDER_MARK + text.getvalue().encode()]


def _own_cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any, signs: str) -> str:
    """What `parts_of_cell` reads back. signs: that part several values, "" where there is one."""
    if not signs:
        return str(value or "")
    listed = [value] if isinstance(value, str) else list(value or ())
    plain = all(isinstance(part, str) and not any(sign in part for sign in signs) for part in listed)
    if not plain or (listed and listed[0][:1] == "["):
        return json.dumps(listed, ensure_ascii=False)
    return "; ".join(listed) if ";" in signs else signs[0].join(listed)


def trec(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    return (
        f"{encoded(example.id)} 0 {encoded(name)} {grade}\n".encode("utf-8", "replace")
        for example in examples
        for name, grade in example.grades.items()
    )


GOLD_FORMS = {
    "jsonl": Form(jsonl, (".jsonl",)),
    "json": Form(json_list, (".json",)),
    "sheet": Form(sheet, (".csv", ".tsv")),
    "trec": Form(trec, (".qrels", ".trec", ".txt")),
}
