"""Gold sets of any format as questions of ours, and back into any: by name, else by the file's suffix.

`jsonl` and `json` hold everything, `sheet` all but relationships and one's own fields. `rag` holds question
type, difficulty, category and relevant, highly relevant and bad chunks; `trec`, `table` and `contest`
judgments alone. What a format can't hold is told by `lost`, so that nobody loses a tag unheard.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import MissingExtraError, UsageError, unknown
from tiny_graph_rag.formats.gold import GoldQuestion, detected, read_gold
from tiny_graph_rag.formats.gold.jsonl import read_eval_set
from tiny_graph_rag.formats.gold.sheet import COLUMNS, sheet_parts
from tiny_graph_rag.formats.tables import TableWriter, encoded, guarded
from tiny_graph_rag.gold.examples import EvalSet, Example, ReferenceRelationship
from tiny_graph_rag.messages import said

HIGHEST = 2  # grade of a question of ours
_COLUMNS = ("query_id", "doc_id", "score")
_TYPED_TAGS = ("query_type", "difficulty", "category")
_HELD = {
    "jsonl": None,
    "json": None,
    "sheet": {*COLUMNS},
    "rag": {"query", "tags", "expected_types"},
    "trec": set[str](),
    "table": set[str](),
    "contest": set[str](),
}
_SUFFIXES = {".jsonl": "jsonl", ".json": "json", ".qrels": "trec", ".trec": "trec", ".txt": "trec"}
_SUFFIXES |= {".csv": "table", ".tsv": "table", ".parquet": "table"}
_ENDINGS = {"jsonl": ".jsonl", "json": ".json", "sheet": ".csv", "rag": ".json", "trec": ".qrels"}
_ENDINGS |= {"table": ".csv", "contest": ".json"}


def read_any_gold(path: Path) -> EvalSet:
    """A gold set of any format that `score` reads. Raises DatasetError."""
    if detected(path) in ("jsonl", "sheet"):
        return read_eval_set(path)
    gold = read_gold(path)
    examples = tuple(example_of(each, line) for line, each in enumerate(gold.questions, start=1))
    return EvalSet(examples, name=gold.name, path=path, sha256=gold.sha256)


def example_of(question: GoldQuestion, line: int) -> Example:
    """One question: grade 0 is judged irrelevant, 2 and more highly relevant; what is more is kept under
    `grades`. Where the format holds no words, its id stands for them."""
    grades = question.grades
    higher = {name: grade for name, grade in grades.items() if grade > HIGHEST}
    return Example(
        id=question.id,
        query=question.query or question.id,
        reference_entities=tuple(name for name, grade in grades.items() if grade == 1),
        highly_relevant_entities=tuple(name for name, grade in grades.items() if grade >= 2),
        irrelevant_entities=tuple(name for name, grade in grades.items() if grade == 0),
        tags=question.tags,
        expected_types=question.expected_types,
        reference_texts=question.texts,
        reference_relationships=tuple(ReferenceRelationship(*each) for each in question.relationships),
        seed_entities=question.seeds or None,
        group=question.group,
        unknown={"grades": higher} if higher else {},
        line=line,
    )


def row_of(example: Example) -> dict[str, Any]:
    """The question as an object of our own format; fields that hold nothing are left out."""
    truth = example.ground_truth
    row: dict[str, Any] = {
        "id": example.id,
        "query": example.query,
        "reference_entities": list(example.reference_entities),
        "ground_truth": truth[0] if len(truth) == 1 else list(truth),
        "tags": list(example.tags),
        "group": example.group,
        "context": list(example.context),
        "seed_entities": None if example.seed_entities is None else list(example.seed_entities),
        "highly_relevant_entities": list(example.highly_relevant_entities),
        "irrelevant_entities": list(example.irrelevant_entities),
        "expected_types": list(example.expected_types),
        "reference_texts": list(example.reference_texts),
        "reference_relationships": [
            {"source": each.source, "target": each.target, "type": each.type}
            for each in example.reference_relationships
        ],
    }
    kept = {name: value for name, value in row.items() if value or name == "reference_entities"}
    if example.seed_entities is not None:
        kept["seed_entities"] = list(example.seed_entities)
    return kept | {name: value for name, value in example.unknown.items() if value is not None}


def line_of(example: Example) -> bytes:
    return (json.dumps(row_of(example), ensure_ascii=False) + "\n").encode("utf-8", "replace")


def format_for(path: Path, format: str | None) -> str:
    """Raises UsageError for an unknown format, or a suffix that tells none."""
    if format is not None:
        if format not in _HELD:
            raise unknown("format", format, list(_HELD))
        return format
    found = _SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            said(
                "{name}: which format? End the name in one of {endings}, or name it with --format where the "
                "command has it: {formats}",
                name=path.name,
                endings=", ".join(_SUFFIXES),
                formats=", ".join(_HELD),
            )
        )
    return found


def format_of(path: Path | None) -> str:
    """Of a gold set that is there: its format, where sets can be written in it, else jsonl."""
    found = "jsonl" if path is None else detected(path)
    return found if found in _HELD else "jsonl"


def ending_for(format: str, like: Path | None) -> str:
    """The suffix of a file in that format; of a table that of `like`, where it is one. Raises UsageError."""
    if format not in _HELD:
        raise unknown("format", format, list(_HELD))
    suffix = "" if like is None else Path(like.name.removesuffix(".gz")).suffix.lower()
    is_like = suffix in (".csv", ".tsv") or (suffix == ".parquet" and format == "table")
    return suffix if is_like and format in ("sheet", "table") else _ENDINGS[format]


def written(examples: Sequence[Example], path: Path, format: str | None = None) -> Iterable[bytes]:
    """The file's content. path: for its suffix alone (csv, tsv, parquet)."""
    match format_for(path, format):
        case "jsonl":
            return map(line_of, examples)
        case "json":
            return _array([row_of(each) for each in examples])
        case "sheet":
            return sheet_parts(list(map(row_of, examples)), "\t" if path.suffix.lower() == ".tsv" else ",")
        case "rag":
            return _array([_rag(each) for each in examples])
        case "trec":
            return (
                f"{encoded(each.id)} 0 {encoded(name)} {grade}\n".encode("utf-8", "replace")
                for each in examples
                for name, grade in grades(each).items()
            )
        case "contest":
            ids = {each.id: [name for name, grade in grades(each).items() if grade > 0] for each in examples}
            return [json.dumps(ids, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"]
    return _table(examples, path.suffix.lower())


def lost(examples: Sequence[Example], path: Path, format: str | None = None) -> dict[str, int]:
    """Field → questions whose value the format can't hold."""
    name = format_for(path, format)
    held = _HELD[name]
    judged = {"id", "reference_entities"}
    if name != "contest":
        judged |= {"highly_relevant_entities", "irrelevant_entities"}
    if name in ("trec", "table"):
        judged.add("grades")
    found: Counter[str] = Counter()
    for example in examples:
        found.update(
            field
            for field in row_of(example)
            if held is not None and field not in judged and field not in held
        )
        if not grades(example) and name == "trec":
            found["questions without gold"] += 1
        if "grades" not in judged and max(grades(example).values(), default=0) > HIGHEST:
            found[f"grades above {HIGHEST}"] += 1
    return dict(found)


def grades(example: Example) -> dict[str, int]:
    """Name → grade: 0 judged irrelevant, 1 a reference, 2 highly relevant, more where `grades` says so."""
    own = example.unknown.get("grades")
    named = example.highly_relevant_entities
    higher = {name: own[name] for name in named if isinstance(own, dict) and isinstance(own.get(name), int)}
    return {
        **dict.fromkeys(example.irrelevant_entities, 0),
        **dict.fromkeys(example.reference_entities, 1),
        **dict.fromkeys(named, HIGHEST),
        **{name: grade for name, grade in higher.items() if grade > HIGHEST},
    }


def _array(rows: Sequence[dict[str, Any]]) -> Iterator[bytes]:
    yield b"[\n"
    for place, row in enumerate(rows):
        yield json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + (
            b",\n" if place + 1 < len(rows) else b"\n"
        )
    yield b"]\n"


def _rag(example: Example) -> dict[str, Any]:
    """Tags written `query_type:multi` become that field; another tag stands under `tags`."""
    typed, plain = {}, []
    for tag in example.tags:
        kind, _, value = tag.partition(":")
        if kind in _TYPED_TAGS and value and kind not in typed:
            typed[kind] = value
        else:
            plain.append(tag)
    of = grades(example)
    row: dict[str, Any] = {
        "query_id": example.id,
        "query": example.query,
        "query_type": typed.get("query_type") or example.unknown.get("shape"),
        "difficulty": typed.get("difficulty") or example.unknown.get("difficulty"),
        "category": typed.get("category") or example.unknown.get("category"),
        "relevant_chunk_ids": [name for name, grade in of.items() if grade == 1],
        "highly_relevant_chunk_ids": [name for name, grade in of.items() if grade >= HIGHEST],
        "irrelevant_chunk_ids": [name for name, grade in of.items() if grade == 0],
        "expected_doc_types": list(example.expected_types),
        "tags": plain,
    }
    return {name: value for name, value in row.items() if value or name == "relevant_chunk_ids"}


def _table(examples: Sequence[Example], suffix: str) -> Iterator[bytes]:
    rows = [(each.id, name, grade) for each in examples for name, grade in (grades(each) or {"": 0}).items()]
    if suffix == ".parquet":
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("writing Parquet", "pyarrow", "parquet") from None
        out = io.BytesIO()
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        pq.write_table(
            pa.table(dict(zip(("query_id", "doc_id", "score"), map(list, columns), strict=True))), out
        )
        yield out.getvalue()
        return
    text = io.StringIO()
    table = TableWriter(text, "\t" if suffix == ".tsv" else ",")
    table.writerow(_COLUMNS)
    table.writerows((guarded(id), guarded(name), grade) for id, name, grade in rows)
    yield text.getvalue().encode("utf-8", "replace")
