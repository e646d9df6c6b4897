"""Runs as records: a question an object or a row, a row a rank, or an object of rankings; and TREC's lines.

JSON and tables are read by the reader of gold sets (formats/records.py) and say what was retrieved under the
same keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tiny_graph_rag.documents import Record
from tiny_graph_rag.errors import Problems, RunError, json_kind, wrong_value
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.records import Kind, folded, is_id, list_in, parts_of_cell, records, thing_meant
from tiny_graph_rag.formats.runs.base import Retrieved, WrittenRun, failure_of, run_format
from tiny_graph_rag.formats.runs.items import entity_of, is_score, passage_of, relation_of
from tiny_graph_rag.formats.tables import trec_rows
from tiny_graph_rag.formats.words import (
    ASKED_KEYS,
    DOCUMENT_NAMES,
    ENTITY_COLUMNS,
    ID_KEYS,
    PASSAGES_KEYS,
    QUESTION_LISTS,
    QUESTION_NAMES,
    RANK_NAMES,
    RELATIONS_KEYS,
    RETRIEVED,
    RETRIEVED_KEYS,
    RUN_FIELDS,
    SCORE_NAMES,
)
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.run import Passage, Relation

Item = TypeVar("Item")
IDS_KEY = "topk"  # of a contest's submission, whose texts are ids
RESULTS = {"schema_version", "package_version", "kind"}  # first keys of a results file
KINDS = {"entities": "entities", "relations": "relations"} | dict.fromkeys(
    ("chunks", "texts", "ids"), "passages"
)
DOCUMENT_COLUMNS = (*DOCUMENT_NAMES, *ENTITY_COLUMNS)
FIGURES = {"mrr", "hit_rate", "n"}  # keys of a summary, which is no run
UNITS = {  # key of a time that a question took → how many of it are a second
    **dict.fromkeys(("latency_seconds", "latency_s", "elapsed_seconds", "response_time_s"), 1),
    **dict.fromkeys(("latency_ms", "retrieval_latency_ms", "response_time_ms"), 1000),
}
WANTED = (
    "wanted one of {ids} or the question's text ({texts}), and what was retrieved under one of {retrieved}"
)


def _wanted() -> Said:
    """What makes a record, in words."""
    listed = {"ids": ID_KEYS[:6], "texts": ASKED_KEYS[:2], "retrieved": RETRIEVED_KEYS}
    return said(WANTED, **{name: ", ".join(map(repr, keys)) for name, keys in listed.items()})


def lists_in(row: Mapping[str, Any]) -> dict[str, str]:
    """Kind → the key under which a folded record lists what was retrieved of it: the first of ours, else one
    that speaks of it (`retrieved_chunks`)."""
    named = {"entities": RETRIEVED_KEYS, "relations": RELATIONS_KEYS, "passages": PASSAGES_KEYS}
    found = {
        kind: key
        for kind, keys in named.items()
        if (key := next((key for key in keys if isinstance(row.get(key), list)), None)) is not None
    }
    for key, value in row.items():
        if isinstance(value, list) and (kind := KINDS.get(thing_meant(key, RETRIEVED) or "")):
            found.setdefault(kind, key)
    return found


def is_question(row: Mapping[str, Any]) -> bool:
    """Whether an object is one question of a run, and neither what holds them nor an item of it."""
    names = {folded(key): value for key, value in row.items()}
    return bool(lists_in(names)) or any(is_id(names.get(key)) for key in (*ID_KEYS[1:], *ASKED_KEYS))


def is_records(head: Head) -> bool:
    """Whether it is JSON, and no gold set."""
    first = head.first
    is_gold = isinstance(first, dict) and "reference_entities" in first and not lists_in(first)
    return head.is_json and not is_gold


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
    lambda head: head.has_columns,
    suffixes=(".csv", ".tsv", ".parquet"),
    general=True,
    example="query_id,doc_id,score\nQ1,d1,0.5\nQ1,d2,0.4\n",
)
def read_table_run(path: Path) -> WrittenRun:
    """A row a document with query_id, doc_id and score (without score the order of the rows counts), or a row
    a question with lists in its cells."""
    return _read(path)


def _read(path: Path) -> WrittenRun:
    first = Head.of(path).first
    if isinstance(first, dict) and first.keys() >= RESULTS:
        raise RunError.at(
            path.name,
            "a results file has only the first ranks of each question. Write the whole run with `eval "
            "--save-run FILE`; `report` and `compare` read results files",
        )
    problems = Problems(RunError)
    rankings = _rankings_in(first)
    if rankings is not None:
        found: Iterable[Record] = (
            Record(number, f"{path.name}: question {key!r}", {"id": key, IDS_KEY: ranking})
            for number, (key, ranking) in enumerate(rankings.items(), start=1)
        )
    else:
        read = records(path, problems, Kind(RUN_FIELDS, is_question, _wanted()))
        found = _of_cells(list(read), path, problems) if read.kind == "table" else read
    run = _run_of(found, problems)
    problems.check()
    return run


def _rankings_in(document: Any) -> dict[str, list[Any]] | None:
    """Question → what was retrieved, of an object of lists or of {document: score}, or of such lists without
    their questions, which are then `line-N`; None for any other JSON."""
    if isinstance(document, list) and document and isinstance(document[0], list):
        document = {f"line-{number}": ranking for number, ranking in enumerate(document, start=1)}
    if not isinstance(document, dict) or {*map(folded, document)} & {*ID_KEYS, *ASKED_KEYS, *QUESTION_LISTS}:
        return None
    found = {
        key: list(map(list, part.items())) if isinstance(part, dict) else part
        for key, part in document.items()
    }
    if not all(isinstance(part, list) for part in found.values()):
        return None
    is_listed = not any(isinstance(item, dict) for part in found.values() for item in part)
    figures = any(isinstance(part, dict) and FIGURES & part.keys() for part in document.values())
    return found if found and is_listed and not figures else None


def _of_cells(rows: Sequence[Record], path: Path, problems: Problems) -> Iterator[Record]:
    """A table's rows as records: with lists for the cells that list what was retrieved, else those of one
    question together. Raises RunError for a table that has no column of what was retrieved."""
    columns = {folded(key): key for row in rows[:1] for key in row.row}
    listed = [key for folded_key, key in columns.items() if _lists(folded_key)]
    for number, place, row in rows if listed else ():
        cells = {key: _list_of(row[key], folded(key)) for key in listed}
        yield Record(number, place, {**row, **{key: cell for key, cell in cells.items() if cell is not None}})
    if listed:
        return
    question, document, score, rank = (
        next((columns[key] for key in keys if key in columns), "")
        for keys in ((*QUESTION_NAMES, *ASKED_KEYS), DOCUMENT_COLUMNS, SCORE_NAMES, RANK_NAMES)
    )
    if rows and not (question and document):
        raise RunError.at(
            path.name,
            "no column {wanted}; the file has: {names}. Name it in {file}: {field}: COLUMN",
            wanted="'doc_id', 'entity' or 'retrieved_contexts'" if question else "'query_id'",
            names=", ".join(columns.values()),
            file=f"{path.name.split('.')[0]}-columns.yaml",
            field="name" if question else "id",
        )
    yield from _together(rows, question, document, score or rank, problems, by_rank=not score)


def _together(
    rows: Iterable[Record], question: str, document: str, score: str, problems: Problems, *, by_rank: bool
) -> Iterator[Record]:
    """The rows of one question together. question, document, score: columns. by_rank: whether the score is a
    rank, of which the lowest is best."""
    together: dict[str, Record] = {}
    for number, place, row in rows:
        key, id, value = str(row[question]), row[document], row.get(score)
        if key not in together:
            together[key] = Record(number, place, {"id": key, "entities": []})
        first = together[key].row
        if id in (None, ""):  # a question for which nothing was retrieved
            first.setdefault("error", row.get("error"))
            continue
        figure = _number(value)
        if figure is not None and math.isnan(figure):
            problems.add(place, "the score must be a number, got {row}", row=repr(value))
            continue
        figure = -figure if by_rank and figure is not None else figure
        more = {name: str(row[name]) for name in ("text", "type", "source") if row.get(name)}
        first["entities"].append(Retrieved(str(row.get("name") or ""), str(id), figure, **more))
    yield from together.values()


def _lists(key: str) -> bool:
    """Whether a column of that name lists what was retrieved."""
    kinds = ("retrieved_entities", "retrieved", "entities", *RELATIONS_KEYS, *PASSAGES_KEYS)
    return key in kinds or thing_meant(key, RETRIEVED) in KINDS


def _list_of(cell: Any, key: str) -> list[Any] | None:
    """What a cell lists: names between signs, passages as a list or one; None for a number."""
    if isinstance(cell, list) or cell is None:
        return list(cell or ())
    text = str(cell).strip()
    if thing_meant(key, RETRIEVED) and text.isdigit():
        return None
    listed = list_in(text)
    if listed is not None:
        return listed
    is_of_texts = key in PASSAGES_KEYS or thing_meant(key, RETRIEVED) == "texts"
    return ([text] if text else []) if is_of_texts else parts_of_cell(text)


def _number(value: Any) -> float | None:
    """NaN for what is no number, None for an empty value."""
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return math.nan


def _run_of(found: Iterable[Record], problems: Problems) -> WrittenRun:
    """What records say of their questions; what is wrong with them goes to `problems`."""
    run = WrittenRun({})
    relations: dict[str, list[Relation]] = {}
    passages: dict[str, list[Passage]] = {}
    lists_entities = False
    twice: list[tuple[str, str]] = []
    for _, place, row in found:
        if not isinstance(row, dict):
            problems.add(place, "wanted an object, got {got}", got=json_kind(row))
            continue
        row = {folded(name): value for name, value in row.items()}
        alone = {key: row[key] for key in PASSAGES_KEYS if isinstance(row.get(key), str)}
        row |= {key: [text] if text.strip() else [] for key, text in alone.items()}
        lists, error = lists_in(row), failure_of(row.get("error"))
        query = next((row[name] for name in (*ASKED_KEYS, "input") if isinstance(row.get(name), str)), "")
        key = next((str(row[name]) for name in ID_KEYS if is_id(row.get(name))), query)
        if not key or not (lists or error):
            names = ", ".join(map(repr, row)) or "none"
            problems.add(place, "{wanted}; got the keys {names}", wanted=_wanted(), names=names)
            continue
        if key in run.rankings or key in run.failures:
            twice.append((place, key))
            continue
        if query:
            run.queries[key] = query
        if error is not None and not any(row[name] for name in lists.values()):
            run.failures[key] = error
        else:
            read = document_of if lists.get("entities") == IDS_KEY else entity_of
            run.rankings[key] = _items(row.get(lists.get("entities", "")) or (), read, place, problems)
        lists_entities |= "entities" in lists
        if "relations" in lists:
            relations[key] = _items(row[lists["relations"]], relation_of, place, problems)
        if "passages" in lists:
            passages[key] = _items(row[lists["passages"]], passage_of, place, problems)
        for name in UNITS:
            waited = row.get(name)
            if waited is not None and not (is_score(waited) and 0 <= waited < math.inf):
                problems.add(
                    place,
                    "{name} must be a number of at least 0, got {got}",
                    name=repr(name),
                    got=json_kind(waited),
                )
            elif waited is not None:
                run.latency_seconds[key] = float(waited) / UNITS[name]
        counts = next(
            (row[name] for name in ("token_usage", "usage") if isinstance(row.get(name), dict)), None
        )
        if counts is not None:
            run.usage[key] = counts
    if twice:
        problems.add(
            twice[0][0],
            "question {key} is in the file twice; keep one of them ({n} such questions)",
            key=repr(twice[0][1]),
            n=f"{len(twice):,}",
        )
    return replace(
        run,
        relations=relations or None,
        passages=passages or None,
        lists_entities=lists_entities or not (relations or passages),
    )


def document_of(value: Any) -> Retrieved:
    """A place of a ranking of ids: one, or an [id, score] pair. Raises ValueError."""
    id, score = (value[0], value[1]) if isinstance(value, list) and len(value) == 2 else (value, None)
    if not is_id(id) or not (score is None or is_score(score)):
        raise wrong_value("an id must be a text or a number, got {got}", got=json_kind(value))
    return Retrieved("", str(id), None if score is None else float(score))


def _items(values: Iterable[Any], read: Callable[[Any], Item], place: str, problems: Problems) -> list[Item]:
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
    found = _together(rows, "question", "document", "score", problems, by_rank=False)
    run = _run_of(found, problems)
    problems.check()
    return run
