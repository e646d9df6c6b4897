"""A file of questions as records, whatever its layout: gold sets and runs are read by this one reader.

An object a line; one list; lists in groups; an object that holds a list (`{"examples": […]}`) or objects by
id; an object of columns (`{"questions": […], "answers": […]}`, pandas' `{"question": {"0": …}}`, or
LlamaIndex's `{"queries", "relevant_docs"}`); promptfoo's tests; YAML; CSV, TSV, Parquet and worksheets. What
the keys of a record mean: gold/records.py and runs/records.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import Record, json_records, numbered, read_yaml
from tiny_graph_rag.errors import Problems, json_kind
from tiny_graph_rag.files import text_in
from tiny_graph_rag.formats.tables import fields_beside, literal, read_table, renamed
from tiny_graph_rag.formats.words import (
    ANSWER_CHECKS,
    ANSWER_KEYS,
    COLUMN_KEYS,
    CONTAINING,
    ENTITY_LISTS,
    ID_KEYS,
    INNER_OBJECTS,
    LANGUAGES,
    NEGATIONS,
    NOUNS,
    QUALIFIERS,
    QUESTION_LISTS,
    RELATION_LISTS,
)
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.messages import said

NO_RANKINGS = {*ID_KEYS, *COLUMN_KEYS, *QUESTION_LISTS, *ENTITY_LISTS, *RELATION_LISTS}
OF_RECORDS = {"reference", "ref", "target", "correct"}  # their bare `id` is of the record itself
LISTED_BY_ID = ("entities", "relations", "texts")
LEVELS = 6  # of lists and objects between a file's one value and its records
_ID = re.compile(r"[^\s\[\]]*[\d_./:#-][^\s\[\]]*")  # `doc-3`, `a.md`: no name of somebody
_FILE = re.compile(r"file://.*|\S+\.[a-z]{2,5}")
_SEPARATORS = re.compile(r"[\s\-]+|(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4096)
def folded(name: object) -> str:
    """`Question Type`, `questionType` → `question_type`, `question_ar` → `question`: keys are compared so;
    those of YAML may be numbers."""
    key = _SEPARATORS.sub("_", str(name).strip()).casefold()
    before, _, last = key.rpartition("_")
    return before if last in LANGUAGES and before else key


@lru_cache(maxsize=4096)
def thing_meant(key: str, qualifiers: frozenset[str]) -> str | None:
    """What a folded key speaks of (a key of NOUNS), where one end of it is a noun and the other end one of
    the qualifiers: `expected_source_file` → chunks, `docs_relevantes` → chunks, `gold_node_ids` → entities.
    """
    parts = (part.rstrip("0123456789") for part in key.split("_"))  # `top5_ids`
    words = [word for word in parts if word and word not in CONTAINING]
    if len(words) < 2 or NEGATIONS & {*words}:
        return None
    for qualifier, last in ((words[0], words[-1]), (words[-1], words[0])):
        thing = next((thing for thing, nouns in NOUNS.items() if last in nouns), None)
        if qualifier not in qualifiers or thing is None:
            continue
        if thing != "ids":
            return thing
        if len(words) > 2 or qualifier not in OF_RECORDS:  # of what stands between, else of documents
            return next((thing for thing in LISTED_BY_ID if words[-2] in NOUNS[thing]), "chunks")
    return None


def is_yaml(path: Path) -> bool:
    return path.name.lower().endswith((".yaml", ".yml"))


def records(
    path: Path,
    problems: Problems,
    is_record: Callable[[Mapping[str, Any]], bool],
    known: Collection[str],
    wanted: object,
    notes: list[str],
) -> tuple[Iterator[Record], bool]:
    """The file's records, with our own names for keys that `NAME-columns.yaml` next to it names, and whether
    they are rows of a table.

    problems: get the lines that are no JSON. is_record: whether an object is one. known: the fields that
    `NAME-columns.yaml` may name. wanted: what makes a record, in words. notes: get what else JSON holds next
    to its list of records. Raises `problems.failure` for JSON that holds no record, InputError for what can't
    be read.
    """
    fields = fields_beside(path, known, problems.failure)

    def read(row: Any) -> Any:
        return _flat(renamed(row, fields), is_record)

    def is_known(row: Any) -> bool:
        return isinstance(row, dict) and is_record(read(row))

    def is_line(row: dict[str, Any]) -> bool:
        """Whether an object on a line of its own is one record, and holds no others."""
        row = renamed(row, fields)
        return is_known(row) and rows_of(row, is_known) == [row]

    def rows_in(document: Any) -> list[Any]:
        document = renamed(document, fields)
        rows = rows_of(document, is_known)
        if rows is not None:
            if isinstance(document, dict) and (others := _lists_beside(document, rows)):
                notes.append(said("lists that are not read: {names}", names=", ".join(others)))
            return rows
        raise problems.failure.at(
            path.name,
            "no questions in this file, {kind}{keys}; {wanted}. Name another key in {file}: query: KEY",
            kind=json_kind(document),
            keys=keys_of(document),
            wanted=wanted,
            file=f"{bare_name(path)}-columns.yaml",
        )

    text = text_in(path, others=True)
    text = text and text.removeprefix("\ufeff")
    is_table = not is_yaml(path) and (text is None or text.lstrip()[:1] not in ("{", "["))
    if is_yaml(path):
        found = numbered(path, rows_in(read_yaml(path, problems.failure)))
    elif text is None or is_table:
        found = _table(path)
    else:
        found = json_records(path, text, problems, is_line, rows_in)
    return (Record(record.number, record.place, read(record.row)) for record in found), is_table


def _lists_beside(document: Mapping[str, Any], rows: list[Any]) -> list[str]:
    """The other lists of objects in an object that holds the list of these rows."""
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    if not any(value is rows for value in lists.values()):
        return []
    return [
        f"{key!r} ({len(value)})"
        for key, value in lists.items()
        if value is not rows and any(isinstance(row, dict) for row in value)
    ]


def keys_of(document: Any) -> str:
    """The first keys of an object, for a message."""
    if not isinstance(document, Mapping) or not document:
        return ""
    return said(" with the keys {keys}", keys=", ".join(repr(str(key)[:40]) for key in list(document)[:6]))


def rows_of(document: Any, is_known: Callable[[Any], bool]) -> list[Any] | None:
    """The records that one JSON value holds, None where it holds none."""
    if isinstance(document, list):
        groups = [_below(row, is_known, LEVELS, {}) for row in document]
        is_grouped = all(groups) and not all(map(is_known, document))
        return [row for group in groups for row in group] if is_grouped else document
    if not isinstance(document, dict):
        return None
    columns = _columns(document)
    if columns is not None:
        return columns
    lists = {name: rows for name, rows in document.items() if isinstance(rows, list) and rows}
    holding = [name for name, rows in lists.items() if any(map(is_known, rows))]
    named = next((name for name in QUESTION_LISTS if name in holding), None)
    if named is None and len(holding) == 1:
        named = holding[0]
    if named is not None:
        return lists[named]
    if is_known(document):
        return [document]
    if document and all(map(is_known, document.values())):
        return [{"id": key, **row} for key, row in document.items()]
    if len(document) > 1 and all(str(text).strip()[-1:] in ("?", "？") for text in document.values()):
        return [{"id": key, "query": text} for key, text in document.items()]
    if below := _below(list(document.values()), is_known, LEVELS, {}):
        return below
    if len(lists) == 1 and all(isinstance(row, dict) for rows in lists.values() for row in rows):
        return next(iter(lists.values()))  # the reader says which fields they lack
    return None


def rankings_in(document: Any) -> dict[str, list[Any]] | None:
    """Question → documents, of an object of lists or of {document: number}, which become pairs, or of such
    lists without their questions, which are then `line-N`; None for any other JSON. Keys of notes begin with
    `_`."""
    if isinstance(document, list) and document and isinstance(document[0], list):
        document = {f"line-{number}": ranking for number, ranking in enumerate(document, start=1)}
    names = {*map(folded, document)} if isinstance(document, dict) else NO_RANKINGS
    if names & NO_RANKINGS:
        return None
    found = {key: part for key, part in document.items() if key[:1] != "_" or isinstance(part, list)}
    for key, part in found.items():
        if isinstance(part, dict) and all(isinstance(number, int | float) for number in part.values()):
            found[key] = list(map(list, part.items()))
    are_lists = all(isinstance(part, list) for part in found.values())
    is_known = are_lists and not any(isinstance(item, dict) for part in found.values() for item in part)
    return found if found and is_known else None


def _below(value: Any, is_known: Callable[[Any], bool], levels: int, around: dict[str, Any]) -> list[Any]:
    """The records in a value, in lists and objects of it. around: what the objects around it say, which is
    true of each record that has no such field itself (SQuAD's `context`, a category of questions)."""
    if is_known(value):
        return [{**around, **value}]
    if isinstance(value, dict):
        fields = {name: text for name, text in value.items() if isinstance(text, str | int)}
        around = {**around, **{name: text for name, text in fields.items() if folded(name) not in ID_KEYS}}
        value = [part for name, part in value.items() if folded(name) not in ANSWER_KEYS]
    inner = value if isinstance(value, list) else ()
    return [row for part in inner for row in _below(part, is_known, levels - 1, around)] if levels else []


def _columns(document: Mapping[str, Any]) -> list[Any] | None:
    """An object of columns, lists or by id, as rows; a column in the plural gives a field in the singular.
    pandas names the rows of its columns by number."""
    columns = list(document.values())
    if columns and all(isinstance(column, dict) and "0" in column for column in columns):
        return [{name: column.get(key) for name, column in document.items()} for key in columns[0]]
    asked = next((name for name in document if folded(name) in COLUMN_KEYS), None)
    values = None if asked is None else document[asked]
    places: Any = range(len(values)) if isinstance(values, list) else values
    texts = values.values() if isinstance(values, dict) else values
    if not texts or not isinstance(values, dict | list) or not all(isinstance(text, str) for text in texts):
        return None
    same = [
        name
        for name, column in document.items()
        if type(column) is type(values)
        and len(column) == len(values)
        and (isinstance(column, list) or column.keys() == {*values})
    ]
    is_named = isinstance(values, dict)
    is_alone = len(same) < 2 and (len(document) > 1 or is_named)
    if is_alone or {"providers", "targets", "tests"} & document.keys():
        return None
    rows = [{COLUMN_KEYS.get(folded(name), name): document[name][key] for name in same} for key in places]
    return [{"id": id, **row} for id, row in zip(places, rows, strict=True)] if is_named else rows


def _flat(row: Any, is_record: Callable[[Mapping[str, Any]], bool]) -> Any:
    """A record whose question stands in an object of it (promptfoo's `vars`, LangSmith's `inputs`), with what
    its objects hold next to its own keys."""
    if not isinstance(row, dict) or is_record(row):
        return _spelled_out(row)
    objects = {name: row[name] for name in INNER_OBJECTS if isinstance(row.get(name), dict)}
    variables = objects.get("vars")
    if variables and not is_record(variables):
        texts = {key: text for key, text in variables.items() if isinstance(text, str)}
        asks = next((key for key, text in texts.items() if not _FILE.fullmatch(text)), None)
        objects["vars"] = {"query" if name == asks else name: value for name, value in variables.items()}
    if not any(map(is_record, objects.values())):
        return row
    inner = {name: value for part in objects.values() for name, value in part.items()}
    checks = row.get("assert")
    answers = _answers_checked(checks if isinstance(checks, list) else [])
    own = {name: value for name, value in row.items() if name not in (*objects, "assert")}
    return {**own, **inner, **({"ground_truth": answers} if answers else {})}


def _spelled_out(row: Any) -> Any:
    """A record that has what is expected in one object, each thing under a key of its own:
    `{"expect": {"sources": [...]}}` → `expect_sources`."""
    fields = row.items() if isinstance(row, dict) else ()
    objects = [name for name, part in fields if isinstance(part, dict) and folded(name) in QUALIFIERS]
    for name in objects:
        parts = {f"{name}_{key}": part for key, part in row[name].items()}
        if any(thing_meant(folded(key), QUALIFIERS) for key in parts):
            row = {key: part for key, part in row.items() if key != name} | parts
    return row


def _answers_checked(checks: list[Any]) -> list[str]:
    """What promptfoo's assertions want an answer to hold; those that run code or ask a model say none."""
    values: list[Any] = []
    for check in checks:
        if isinstance(check, dict) and str(check.get("type")) in ANSWER_CHECKS:
            value = check.get("value")
            values += value if isinstance(value, list) else [value]
    return [value for value in values if isinstance(value, str) and value]


def _table(path: Path) -> Iterator[Record]:
    """Rows with anything in them, numbered as a spreadsheet counts."""
    names, rows = read_table(path, others=True)
    fields = {name: COLUMN_KEYS.get(folded(name), name) for name in names}  # `Questions` is `question`
    fields |= {name: name for name, field in fields.items() if field in names}
    for number, (place, cells) in enumerate(rows, start=2):
        if any(value not in (None, "") for value in cells.values()):
            told = {name: None if cell == "nan" else cell for name, cell in cells.items()}  # pandas' nothing
            yield Record(number, place, {fields[name]: value for name, value in told.items()})


def is_id(value: Any) -> bool:
    """Whether it names something: a text, or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def parts_of_cell(cell: str, signs: str = ";|\n") -> list[str]:
    """Several values of one cell: a list as JSON or Python write it, else what stands between `signs`."""
    values = list_in(cell)
    if values is not None and all(isinstance(value, str | int | float) for value in values):
        return [str(value) for value in values]
    sign = next((sign for sign in reversed(signs) if sign in cell), None)  # the rarest of them counts
    return [part for text in (cell.split(sign) if sign else [cell]) if (part := text.strip())]


def ids_of_cell(cell: str) -> list[str]:
    """The ids of one cell: between the usual signs, or between commas where every part reads as an id."""
    parts, between_commas = parts_of_cell(cell), [part.strip() for part in cell.split(",")]
    return between_commas if len(parts) == 1 and all(map(_ID.fullmatch, between_commas)) else parts


def list_in(cell: str) -> list[Any] | None:
    """The list that a cell spells, None where it spells none."""
    value = literal(cell) if cell[:1] == "[" and cell[-1:] == "]" else None
    return value if isinstance(value, list) else None
