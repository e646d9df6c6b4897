"""Records as questions: what a field must hold, and what is wrong where it does not.

To add a format, write a reader under `@gold_format(…)` in a module of this folder, or in another package with
an entry point in the group `tiny_graph_rag.gold_formats`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from tiny_graph_rag.documents import Record
from tiny_graph_rag.errors import DatasetError, Problems, json_kind, nearest
from tiny_graph_rag.formats.detection import Format, registering
from tiny_graph_rag.formats.gold.records import (
    fields_meant,
    holds_names,
    is_ours,
    is_question,
    ours,
    relation,
)
from tiny_graph_rag.formats.records import folded, is_id, is_texts, records
from tiny_graph_rag.formats.tables import literal
from tiny_graph_rag.formats.words import FIELDS, NAMES_OR_ANSWER, QUERY_KEYS, STATEMENTS
from tiny_graph_rag.gold.examples import HIGHEST, PATTERN, EvalSet, Example
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.registry import Registry

LISTS = [
    name for name in FIELDS if name not in ("id", "query", "ground_truth", "group", "reference_relations")
]
STRING_LISTS = LISTS[1:]  # which need no more than texts
NOT_STRINGS = "{field} must be a list of strings, got {got}{example}"
IDS_TWICE = (
    "ids used again: {n}, such as {id}; the later question is called {id}-2. If these are ids of the source "
    "documents, write this line in NAME-columns.yaml: reference_chunks: id"
)
EMPTY = "the gold set is empty; wanted at least one question"
TOPICS = (
    "'entities' are read as those that the questions ask about (seed_entities); call them "
    "'reference_entities' if they are what should be found"
)
NAMED_COLUMNS = 12  # columns without a meaning that a note names


def graded(id: str, grades: Mapping[str, int], line: int = 0) -> Example:
    """A question of names (or ids) with grades: 0 is judged irrelevant, 1 relevant, 2 and more highly
    relevant, below 0 not judged. Its id stands for its words."""
    higher = {name: grade for name, grade in grades.items() if grade > HIGHEST}
    unknown = {"grades": higher} if higher else {}
    return Example(id, id, (), unknown=unknown, order=tuple(grades), line=line).with_grades(grades)


class Sound(Struct, frozen=True):
    """What can be used of a file, and what is wrong with the rest (file, line, field, what came)."""

    examples: tuple[Example, ...]
    problems: tuple[Said, ...] = ()
    notes: tuple[str, ...] = ()


# Path → questions, drafts too, or `Sound` with the problems of some; raises DatasetError with every problem:
# file, line, what was wanted, what came.
GoldReader = Callable[..., Sequence[Example] | Sound]
GOLD_FORMATS: Registry[Format[GoldReader]] = Registry(
    "gold format",
    "tiny_graph_rag.formats.gold",
    {
        "jsonl": "readers:read_jsonl",
        "sheet": "readers:read_sheet",
        "contest": "readers:read_contest",
        "trec": "readers:read_qrels",
        "table": "readers:read_table_gold",
    },
)
gold_format = registering(GOLD_FORMATS, Format)


def sound_questions(path: Path) -> Sound:
    """The questions of JSON or of a sheet, under whatever names, drafts among them.

    Raises DatasetError, InputError.
    """
    problems = Problems(DatasetError)
    keys = ", ".join(QUERY_KEYS[:6])
    wanted = said("wanted a list of objects with a question under one of {keys}", keys=keys)
    notes: list[str] = []
    found, table = records(path, problems, is_question, FIELDS.keys(), wanted, notes)
    every = list(found)
    rows = [record.row for record in every if isinstance(record.row, dict)]
    meant = fields_meant(rows)
    read_as = partial(ours, meant=meant, table=table)
    if _hold_topics(rows, read_as):
        for row in rows:
            if "entities" in row:
                row["seed_entities"] = row.pop("entities")
        notes.append(said(TOPICS))
    read, guessed = _examples(every, read_as, problems, table=table)
    if not read and rows and all("query" not in read_as(row)[0] for row in rows):
        raise _no_query(rows, path)
    if not read and not problems:
        problems.add(path.name, EMPTY)
    if guessed:
        listed = ", ".join(f"{key} → {field}" for key, field in guessed.items())
        notes.append(said("read by what they are called: {fields}", fields=listed))
    examples = tuple(read.values())
    if table or not any(map(is_ours, rows)):
        notes += _columns_kept(examples)
    names = [key for key in NAMES_OR_ANSWER if key in meant]
    if names and not any(map(is_ours, rows)):
        fields = ", ".join(map(repr, names))
        notes.append(
            said(
                "{field} is read as names of entities; call it 'ground_truth' if it holds answers in words",
                field=fields,
            )
        )
    return Sound(examples, tuple(problems), tuple(notes))


def _examples(
    every: Iterable[Record], read_as: Callable[..., Any], problems: Problems, *, table: bool = False
) -> tuple[dict[str, Example], dict[str, str]]:
    """Place → question of each sound record, and key → field of those that were guessed; what is wrong with
    the others goes to `problems`. table: its records are rows of cells."""
    found: dict[str, Example] = {}
    guessed: dict[str, str] = {}
    for record in every:
        row = record.row
        if isinstance(row, str) and row.strip():
            row = {"query": row}
        if isinstance(row, Mapping):
            row = _filled(row) if table else dict(row)
            if table:
                row |= {name: value for name in row if (value := _object(row[name])) is not None}
            row, its_guessed = read_as(row)
            guessed |= its_guessed
        if _is_sound(row, record.place, problems):
            found[record.place] = example_of(row, record.number, record.row)
    return found, guessed


def _no_query(rows: Sequence[Mapping[str, Any]], path: Path) -> DatasetError:
    """That no record has a field with its question: said once for all."""
    keys = list(dict.fromkeys(str(key) for row in rows for key in row))
    return DatasetError.at(
        path.name,
        "'query' is missing in all {n} records; they have: {names}{near} Name the columns in "
        "{file}: query: COLUMN",
        n=f"{len(rows):,}",
        names=", ".join(keys[:NAMED_COLUMNS]) or "–",
        near=nearest("question", keys) or nearest("query", keys) or ".",
        file=f"{bare_name(path)}-columns.yaml",
    )


def _object(value: Any) -> Any:
    """The object, or the list of objects or lists, that a cell spells as JSON; None where it spells none."""
    is_object = isinstance(value, str) and value.startswith(("{", "[{", "[[")) and value[-1:] in ("}", "]")
    return literal(value) if is_object else None


def _filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """A table's row without its empty cells, but those that say something: no question, no reference."""
    wanted = {*QUERY_KEYS, "reference_entities", "references", *NAMES_OR_ANSWER}
    return {
        name: "" if value is None else value
        for name, value in row.items()
        if name and (value not in (None, "") or folded(name) in wanted)
    }


def _hold_topics(rows: Sequence[Mapping[str, Any]], read_as: Callable[..., Any]) -> bool:
    """Whether `entities` are those that the questions ask about: they stand next to a query of a database, or
    most questions that are answered by names hold all of them."""
    rows = [row for row in rows if "entities" in row and not is_ours(row)]
    read = (read_as(dict(row))[0] for row in rows)
    found = [row for row in read if row.get("ground_truth") and row.get("reference_entities")]
    queries = (str(row.get("query")).casefold() for row in found)
    named = [
        all(name.casefold() in query for name in row["reference_entities"])
        for row, query in zip(found, queries, strict=True)
    ]
    are_named = 2 * sum(named) > len(found) and holds_names(row["ground_truth"] for row in found)
    return are_named or any(map(asks_database, rows))


def asks_database(row: Mapping[str, Any]) -> bool:
    """Whether a record holds the query of a database, as sets of questions about knowledge graphs do."""
    query = row.get("query")
    return bool(STATEMENTS & {*map(folded, row), *(map(folded, query) if isinstance(query, dict) else ())})


def _columns_kept(examples: Sequence[Example]) -> list[str]:
    told = (pair for example in examples for pair in example.unknown.items())
    names = list(dict.fromkeys(str(name) for name, value in told if name and value not in ("", [])))
    more = " …" if len(names) > NAMED_COLUMNS else ""
    listed = ", ".join(names[:NAMED_COLUMNS]) + more
    return [said("columns kept but not used: {names}", names=listed)] if names else []


def with_own_ids(examples: Sequence[Example]) -> tuple[tuple[Example, ...], list[Said]]:
    """The questions, with ids made different where one is used twice; and what a note says of it."""
    known = {example.id for example in examples}
    seen: set[str] = set()
    again: list[str] = []
    made = []
    for example in examples:
        if example.id in seen:
            again.append(example.id)
            numbered = (f"{example.id}-{number}" for number in range(2, len(examples) + 2))
            example = replace(example, id=next(id for id in numbered if id not in known))
            known.add(example.id)
        seen.add(example.id)
        made.append(example)
    return tuple(made), [said(IDS_TWICE, n=f"{len(again):,}", id=again[0])] if again else []


def judged_by_passages(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    """The questions, judged where passages alone say what is relevant to them."""
    has_passages = any(example.reference_chunks or example.reference_texts for example in examples)
    if not has_passages or any(example.judged for example in examples):
        return examples
    return tuple(replace(example, judged=True) for example in examples)


def eval_set_of(given: Iterable[Mapping[str, Any]], name: str = "") -> EvalSet:
    """A gold set of records with the fields of a line. Raises DatasetError with every broken one."""
    problems = Problems(DatasetError)
    every = [Record(number, f"question {number}", row) for number, row in enumerate(given, start=1)]
    meant = fields_meant(record.row for record in every if isinstance(record.row, dict))
    found, _ = _examples(every, partial(ours, meant=meant), problems)
    read = dict(zip(found, judged_by_passages(tuple(found.values())), strict=True))
    for place, example in read.items():
        if not example.judged:
            problems.add(place, "{field} is missing", field="'reference_entities'")
    if not read and not problems:
        problems.append(said(EMPTY))
    problems.check()
    unique, notes = with_own_ids(tuple(read.values()))
    return EvalSet(unique, name=name, notes=tuple(notes))


def example_of(row: Mapping[str, Any], number: int, record: Any = None) -> Example:
    """A sound record under our own names as a question. number: for the id of one that has none. record: as
    its file has it."""
    truth = row.get("ground_truth")
    lists: dict[str, Any] = {name: tuple(row[name]) for name in STRING_LISTS if row.get(name) is not None}
    highly = lists.get("highly_relevant_entities", ())  # of a name in both lists the higher grade counts
    return Example(
        id=str(row["id"]) if row.get("id") is not None else f"line-{number}",
        query=row["query"],
        reference_entities=tuple(name for name in row.get("reference_entities") or () if name not in highly),
        ground_truth=(truth,) if isinstance(truth, str) else tuple(truth or ()),
        reference_relations=tuple(
            dict.fromkeys(filter(None, map(relation, row.get("reference_relations") or ())))
        ),
        group=str(row["group"]) if row.get("group") is not None else None,
        unknown={key: value for key, value in row.items() if key != "query" and key not in IS_RIGHT},
        line=number,
        judged="reference_entities" in row or PATTERN in row,
        record=record,
        **lists,
    )


def _is_sound(row: object, place: str, problems: Problems) -> bool:
    """Whether a record holds what a question must; what is wrong goes to `problems`."""
    before = len(problems)
    if not isinstance(row, dict):
        problems.add(
            place, "wanted an object with 'query' and 'reference_entities', got {got}", got=json_kind(row)
        )
        return False
    query = row.get("query")
    if "query" not in row:
        problems.add(place, "'query' is missing; it has: {names}", names=", ".join(map(str, row)) or "–")
    elif not isinstance(query, str) or not query.strip():
        problems.add(place, "'query' must be a question in words, got {got}", got=json_kind(query))
    for name, is_right in IS_RIGHT.items():
        value: Any = row.get(name)
        if value is None and (name not in row or name != "reference_entities"):
            continue
        if not is_right(value):
            is_list = name in LISTS and isinstance(value, str)
            parts = [part.strip() for part in value.split(",")] if is_list else []
            example = (
                said(". Write {value}", value=json.dumps(parts[:4], ensure_ascii=False)) if is_list else ""
            )
            problems.add(place, WANTED[name], field=repr(name), got=json_kind(value), example=example)
        elif name in LISTS and name != "context" and not all(map(str.strip, value)):
            problems.add(place, "{field} holds an empty string", field=repr(name))
    return len(problems) == before


IS_RIGHT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(LISTS, is_texts),
    **dict.fromkeys(("id", "group"), is_id),
    "ground_truth": lambda value: isinstance(value, str) or is_texts(value),
    "reference_relations": lambda value: isinstance(value, list) and all(map(relation, value)),
}
WANTED = {  # the message about a field whose value is not right
    **dict.fromkeys(LISTS, NOT_STRINGS),
    **dict.fromkeys(("id", "group"), "{field} must be a string that is not empty, got {got}"),
    "ground_truth": "{field} must be a string or a list of strings, got {got}",
    "reference_relations": '{field} must be a list of [source, type, target] or {{"source", "target", '
    '"type"}}, got {got}',
}
