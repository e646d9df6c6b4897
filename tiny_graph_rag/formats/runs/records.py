"""Runs as records: a question an object or a row, a row a rank, or an object of rankings; and TREC's lines.

JSON and tables are read by the reader of gold sets (formats/records.py) and say what was retrieved under the
same keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import Record
from tiny_graph_rag.errors import Problems, RunError, json_kind
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.records import (
    folded,
    ids_of_cell,
    is_id,
    is_yaml,
    list_in,
    rankings_in,
    records,
    thing_meant,
)
from tiny_graph_rag.formats.runs import Retrieved, WrittenRun, failure_of, run_format
from tiny_graph_rag.formats.runs.items import entity_of, kind_of, passage_of, relation_of
from tiny_graph_rag.formats.tables import is_number, trec_rows
from tiny_graph_rag.formats.words import (
    ASKED_KEYS,
    DOCUMENT_NAMES,
    ENTITY_COLUMNS,
    ID_KEYS,
    LIST_COLUMNS,
    PASSAGE_IDS,
    PASSAGES_KEYS,
    QUESTION_NAMES,
    RANK_NAMES,
    RELATIONS_KEYS,
    RETRIEVED,
    RETRIEVED_KEYS,
    RUN_FIELDS,
    SCORE_NAMES,
)
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.messages import counted, said

RESULTS = {"schema_version", "package_version", "kind"}  # first keys of a results file
KINDS = {"entities": "entities", "relations": "relations"} | dict.fromkeys(
    ("chunks", "texts", "ids"), "passages"
)
OTHERS = {"relations": RELATIONS_KEYS, "passages": PASSAGES_KEYS}
DOCUMENT_COLUMNS = (*DOCUMENT_NAMES, *ENTITY_COLUMNS)
UNITS = {"latency_seconds": 1, "latency_ms": 1000}  # a question's time → how many of it are a second
WANTED = (
    "wanted one of {ids} or the question's text ({texts}), and what was retrieved under one of {retrieved}"
)
UNUSABLE = {  # the field that records lack, or `twice` → the one message about all of them
    "id": "{records} without an id or a question; the first has: {names}. Name the key in {file}: id: KEY",
    "entities": "{records} without what was retrieved; the first has: {names}. Name the key in {file}: "
    "entities: KEY",
    "twice": "{records} for a question that is in the file twice; keys of the first: {names}. Keep one "
    "record for each question. If the file holds several runs, save each run in a file of its own",
}


def lists_in(row: Mapping[str, Any]) -> dict[str, str]:
    """Kind → the key under which a folded record lists what was retrieved of it: the first of ours, else one
    that speaks of it (`retrieved_chunks`)."""
    found: dict[str, str] = {}
    for kind, keys in {"entities": RETRIEVED_KEYS, **OTHERS}.items():
        found.update((kind, key) for key in reversed(keys) if isinstance(row.get(key), list))
    for key, value in row.items():
        if isinstance(value, list) and (meant := _kind_meant(key)):
            found.setdefault(meant, key)
    sources = row.get("sources") if not found else None
    if isinstance(sources, list) and all(
        isinstance(one, dict) or {".", "/"} & {*str(one)} for one in sources
    ):  # objects, files or addresses, not names of tools
        found["passages"] = "sources"
    first = next(iter(row.get(found.get("entities", "")) or ()), None)
    names_chunks = isinstance(first, dict) and "id" not in first and {*PASSAGE_IDS} & first.keys()
    if names_chunks and kind_of(first) == "passages":
        found.setdefault("passages", found.pop("entities"))
    return found


def _kind_meant(key: str) -> str | None:
    """The kind of what was retrieved that a folded key speaks of."""
    return KINDS.get(thing_meant(key, RETRIEVED) or "")


def is_question(row: Mapping[str, Any]) -> bool:
    """Whether an object is one question of a run, and neither what holds them nor an item of it."""
    names = {folded(key): value for key, value in row.items()}
    return bool(lists_in(names)) or any(is_id(names.get(key)) for key in (*ID_KEYS[1:], *ASKED_KEYS))


def is_records(head: Head) -> bool:
    """Whether it is JSON, and no gold set."""
    first = head.first
    is_gold = isinstance(first, dict) and "reference_entities" in first and not lists_in(first)
    return (head.is_json or is_yaml(head.path)) and not is_gold


@run_format(
    "jsonl",
    "one object per question with what was retrieved",
    is_records,
    suffixes=(".jsonl", ".json"),
    example='{"id": "Q1", "entities": [{"name": "Bob", "score": 0.5}, {"name": "Cy", "score": 0.4}]}\n',
)
def read_jsonl(path: Path) -> WrittenRun:
    """Objects, one a line, in a list, or in one object: a question and what was retrieved; or
    `{question: [[document, score], …]}`.

    What was retrieved are names, [name, score] pairs, or objects {id?, name, score?, text?, type?, source?}.
    A question with an `error` that retrieved nothing has failed.
    """
    return _read(path)


@run_format(
    "table",
    "CSV, TSV or Parquet: query_id, doc_id, score",
    lambda head: bool(head.columns),
    suffixes=(".csv", ".tsv", ".parquet"),
    general=True,
    example="query_id,doc_id,score\nQ1,d1,0.5\nQ1,d2,0.4\n",
)
def read_table_run(path: Path) -> WrittenRun:
    """A row a document with query_id, doc_id and score (without score the order of the rows counts), or a row
    a question with lists in its cells."""
    return _read(path)


def _read(path: Path) -> WrittenRun:
    first = Head(path).first
    if isinstance(first, dict) and first.keys() >= RESULTS:
        raise RunError.at(
            path.name,
            "a results file has only the first ranks of each question. Write the whole run with `eval "
            "--save-run FILE`; `report` and `compare` read results files",
        )
    problems = Problems(RunError)
    rankings = rankings_in(first)
    if rankings is not None:
        found: Iterable[Record] = (
            Record(number, f"{path.name}: question {key!r}", {"id": key, "entities": ranking})
            for number, (key, ranking) in enumerate(rankings.items(), start=1)
        )
    else:
        keys = {"ids": ID_KEYS[:6], "texts": ASKED_KEYS[:2], "retrieved": RETRIEVED_KEYS}
        wanted = said(WANTED, **{name: ", ".join(map(repr, listed)) for name, listed in keys.items()})
        read, is_table = records(path, problems, is_question, RUN_FIELDS, wanted, [])
        rows = list(read)
        found = _of_cells(rows, path, problems) if is_table or _are_ranks(rows) else rows
    run = _run_of(found, problems, path)
    problems.check()
    return run


def _are_ranks(rows: Sequence[Record]) -> bool:
    """Whether records of JSON are one rank each, as pandas writes a table."""
    first = rows[0].row if rows else None
    names = {folded(name): value for name, value in first.items()} if isinstance(first, dict) else {}
    return bool(names.keys() & {*DOCUMENT_COLUMNS}) and not lists_in(names) and "error" not in names


def _of_cells(rows: Sequence[Record], path: Path, problems: Problems) -> Iterable[Record]:
    """A table's rows as records: with lists for the cells that list what was retrieved, else those of one
    question together. Raises RunError for a table that has no column of what was retrieved."""
    columns = {folded(key): key for row in rows[:1] for key in row.row}
    if any(map(_kind_listed, columns)):
        return rows
    question, document, score, rank = (
        next((columns[key] for key in keys if key in columns), "")
        for keys in ((*QUESTION_NAMES, *ASKED_KEYS, "input"), DOCUMENT_COLUMNS, SCORE_NAMES, RANK_NAMES)
    )
    if rows and not (question and document):
        raise RunError.at(
            path.name,
            "no column {wanted}; the file has: {names}. Name it in {file}: {field}: COLUMN",
            wanted="'doc_id', 'entity' or 'retrieved_contexts'" if question else "'query_id'",
            names=", ".join(columns.values()),
            file=f"{bare_name(path)}-columns.yaml",
            field="name" if question else "id",
        )
    return _together(rows, question, document, score or rank, problems, by_rank=not score)


def _together(
    rows: Iterable[Record], question: str, document: str, score: str, problems: Problems, *, by_rank: bool
) -> Iterable[Record]:
    """The rows of one question together. question, document, score: columns. by_rank: whether the score is a
    rank, of which the lowest is best."""
    together: dict[str, Record] = {}
    for number, place, row in rows:
        key, id, value = str(row[question]), row.get(document), row.get(score)
        first = together.setdefault(key, Record(number, place, {"id": key, "entities": []})).row
        if id in (None, ""):  # a question for which nothing was retrieved
            first.setdefault("error", row.get("error"))
            continue
        figure = _number(value)
        if figure is not None and math.isnan(figure):
            got = repr(value)
            problems.add(place, "the {column} must be a number such as 0.5, got {row}", column=score, row=got)
            continue
        figure = -figure if by_rank and figure is not None else figure
        text = str(row.get("text") or "")
        first["entities"].append(Retrieved(str(row.get("name") or ""), str(id), figure, text))
    return together.values()


def _number(value: Any) -> float | None:
    """NaN for what is no number, None for an empty value."""
    return None if value is None else float(value) if is_number(value) else math.nan


def _kind_listed(key: str) -> str | None:
    """What a column of that name lists, where it lists what was retrieved."""
    if key in DOCUMENT_COLUMNS or key in LIST_COLUMNS:
        return "entities" if key in LIST_COLUMNS else None
    return next((kind for kind, keys in OTHERS.items() if key in keys), _kind_meant(key))


def _list_of(cell: str, key: str) -> Any:
    """What a cell lists: names between signs, passages as a list or one; a number is left as it is."""
    text = cell.strip()
    if text.isdigit() and _kind_meant(key):
        return cell
    listed = list_in(text)
    if listed is not None:
        return listed
    is_one = key in (*PASSAGES_KEYS, *RELATIONS_KEYS) or thing_meant(key, RETRIEVED) == "texts"
    return ([text] if text else []) if is_one else ids_of_cell(text)


def _run_of(found: Iterable[Record], problems: Problems, path: Path) -> WrittenRun:
    """What records say of their questions; what is wrong with them goes to `problems`."""
    run = WrittenRun({})
    unusable: dict[str, list[Record]] = {reason: [] for reason in UNUSABLE}
    others: dict[str, dict[str, list[Any]]] = {kind: {} for kind in OTHERS}
    lists_entities = False
    for record in found:
        place, row = record.place, record.row
        if not isinstance(row, dict):
            problems.add(place, "wanted an object, got {got}", got=json_kind(row))
            continue
        inner = row["result"] if isinstance(row.get("result"), dict) else {}
        row = {folded(name): value for name, value in (inner | row).items()}
        texts = {key: text for key, text in row.items() if isinstance(text, str) and _kind_listed(key)}
        row |= {key: _list_of(text, key) for key, text in texts.items()}
        lists, error = lists_in(row), failure_of(row.get("error"))
        query = next((row[name] for name in (*ASKED_KEYS, "input") if isinstance(row.get(name), str)), "")
        key = next((str(row[name]) for name in ID_KEYS if is_id(row.get(name))), query)
        if not key or not (lists or error):
            unusable["entities" if key else "id"].append(record)
            continue
        if key in run.rankings or key in run.failures:
            unusable["twice"].append(record)
            continue
        if query:
            run.queries[key] = query
        lists_entities |= "entities" in lists
        if error is not None and not any(row[name] for name in lists.values()):
            run.failures[key] = error
        else:
            listed = row.get(lists.get("entities", "")) or ()
            run.rankings[key] = _items(listed, entity_of, place, problems)
        for kind, of_kind in (("relations", relation_of), ("passages", passage_of)):
            if kind in lists:
                others[kind][key] = _items(row[lists[kind]], of_kind, place, problems)
        for name in UNITS:
            waited = _number(row.get(name))
            if waited is not None and 0 <= waited < math.inf:
                run.latency_seconds[key] = waited / UNITS[name]
        counts = [row[name] for name in ("token_usage", "usage") if isinstance(row.get(name), dict)]
        if counts:
            run.usage[key] = counts[0]
    for reason, without in unusable.items():
        for first in without[:1]:
            number = counted(len(without), "{n} record", "{n} records")
            names = ", ".join(map(repr, first.row)) or "–"
            beside = f"{bare_name(path)}-columns.yaml"
            problems.add(first.place, UNUSABLE[reason], records=number, names=names, file=beside)
    return replace(
        run,
        relations=others["relations"] or None,
        passages=others["passages"] or None,
        lists_entities=lists_entities or not any(others.values()),
    )


def _items(values: Iterable[Any], read: Callable[[Any], Any], place: str, problems: Problems) -> list[Any]:
    """What a list holds, each item read; what can't be goes to `problems`."""
    items = []
    for value in values:
        try:
            items.append(read(value))
        except ValueError as error:
            problems.add(place, error)
    return items


@run_format(
    "trec",
    "TREC: question, Q0, document, rank, score, tag",
    lambda head: head.is_trec(6),
    suffixes=(".trec", ".run", ".txt"),
    example="Q1 Q0 d1 1 0.5 x\nQ1 Q0 d2 2 0.4 x\n",
)
def read_trec(path: Path) -> WrittenRun:
    """`question Q0 document rank score tag` a line; the score decides the order, the rank says nothing."""
    problems = Problems(RunError)
    rows = trec_rows(path, ("question", "Q0", "document", "rank", "score", "tag"), problems)
    run = _run_of(_together(rows, "question", "document", "score", problems, by_rank=False), problems, path)
    problems.check()
    return run
