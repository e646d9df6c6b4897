"""Gold sets of any format as questions of ours, and back into any: by name, else by the file's suffix.

`jsonl` and `json` hold everything, `sheet` all but relationships and one's own fields. `rag` holds question
type, difficulty, category and relevant, highly relevant and bad chunks; `trec`, `table` and `contest`
judgments alone. What a format can't hold is given by `lost`, so that nobody loses a tag unheard.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import MissingExtraError, UsageError, unknown
from tiny_graph_rag.files import lines_of
from tiny_graph_rag.formats.gold import detected
from tiny_graph_rag.formats.gold.keys import ours, placed_in
from tiny_graph_rag.formats.gold.layout import JsonStyle
from tiny_graph_rag.formats.gold.questions import example_of
from tiny_graph_rag.formats.gold.rag import question_of as example_of_rag
from tiny_graph_rag.formats.gold.sheet import sheet_as_it_was, sheet_parts
from tiny_graph_rag.formats.tables import TableWriter, encoded, guarded, text_of
from tiny_graph_rag.gold.examples import GRADED, HIGHEST, EvalSet, Example
from tiny_graph_rag.messages import said

_COLUMNS = ("query_id", "doc_id", "score")
_RAG_HOLDS = {
    *("id", "query", "tags", "reference_entities", "highly_relevant_entities", "irrelevant_entities"),
    *("expected_types", "grades"),
}
_TYPED_TAGS = ("query_type", "difficulty", "category")
_HELD = {
    "jsonl": None,
    "json": None,
    "sheet": None,
    "rag": None,
    "trec": set[str](),
    "table": set[str](),
    "contest": set[str](),
}
_SUFFIXES = {".jsonl": "jsonl", ".json": "json", ".qrels": "trec", ".trec": "trec", ".txt": "trec"}
_SUFFIXES |= {".csv": "table", ".tsv": "table", ".parquet": "table"}
_ENDINGS = {"jsonl": ".jsonl", "json": ".json", "sheet": ".csv", "rag": ".json", "trec": ".qrels"}
_ENDINGS |= {"table": ".csv", "contest": ".json"}


def row_of(example: Example, format: str = "jsonl", *, in_place: bool = True) -> dict[str, Any]:
    """The question as an object of our own format; fields that hold nothing are left out. One that came from
    the format asked for is as its file has it, but for what was changed since. in_place: whether it stands
    where it stood; elsewhere an id that only its line gave is written."""
    source = example.source
    if (
        source is None
        or not isinstance(source.row, dict)
        or source.format != format
        or source.format in GRADED
    ):
        return _canonical(example)
    if format == "rag":
        before, _ = _rag(example_of_rag(source.row, example.line)), None
        after, keys = _rag(example), {}
    else:
        before = _canonical(example_of(ours(source.row, source.names, table=source.table), example.line))
        after = _canonical(example)
        keys = {
            field: key for field, (key, _) in placed_in(source.row, source.names, table=source.table).items()
        }
    by_line = after.get("id") == f"line-{example.line}"
    if (by_line and in_place) or _is_renamed(str(before.get("id")), example.id):
        before["id"] = after["id"]
    row = {"id": after["id"], **source.row} if by_line and not in_place else dict(source.row)
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            row.pop(keys.get(name, name), None) if name not in after else row.update(
                {keys.get(name, name): after[name]}
            )
    return row


def _is_renamed(given: str, id: str) -> bool:
    """Whether the id was made different here, because the file uses it twice."""
    return id.startswith(f"{given}-") and id[len(given) + 1 :].replace("-", "").isdigit()


def _canonical(example: Example) -> dict[str, Any]:
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
        "reference_chunks": list(example.reference_chunks),
        "reference_relations": list(example.reference_relations),
        "reference_relationships": [
            {"source": relation.source, "target": relation.target, "type": relation.type}
            for relation in example.reference_relationships
        ],
    }
    kept = {name: v for name, v in row.items() if v or (name == "reference_entities" and example.judged)}
    if example.seed_entities is not None:
        kept["seed_entities"] = list(example.seed_entities)
    return kept | {name: value for name, value in example.unknown.items() if value is not None}


def as_lines(gold: EvalSet) -> Iterator[str]:
    """The set as JSON, an object a line: as it stands where its file has lines, sound or not."""
    text = None if gold.path is None or gold.format != "jsonl" else text_of(gold.path, others=True)
    if text is not None and text.lstrip("\ufeff \t\r\n")[:1] == "{" and not gold.list_key:
        yield from lines_of(text)
        return
    yield from (json.dumps(row_of(example, ""), ensure_ascii=False) for example in gold)


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
                "{name}: unknown format; end the name in one of {endings}, or use --format if the command "
                "has it: {formats}",
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


def written(
    examples: Sequence[Example], path: Path, format: str | None = None, like: EvalSet | None = None
) -> Iterable[bytes]:
    """The file's content. path: for its suffix alone (csv, tsv, parquet). like: the set that they come from:
    written in its format, they keep its layout, and what was not changed is byte for byte as it was."""
    name = format_for(path, format)
    in_place = like is not None and [one.line for one in examples] == [one.line for one in like]
    match name:
        case "jsonl" | "json" | "rag":
            same = "jsonl" if name == "json" else name
            rows = [
                _rag(example)
                if name == "rag" and not _is_of(example, "rag")
                else row_of(example, same, in_place=in_place)
                for example in examples
            ]
            style = JsonStyle.of(like) if like is not None else JsonStyle()
            return style.lines(rows) if name == "jsonl" else style.listed(rows, like)
        case "sheet":
            delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
            if like is not None and like.format == "sheet" and all(question.source for question in examples):
                return sheet_as_it_was(
                    [row_of(example, "sheet", in_place=in_place) for example in examples],
                    delimiter,
                    like.path,
                )
            return sheet_parts(list(map(row_of, examples)), delimiter)
        case "trec":
            return (
                f"{encoded(question.id)} 0 {encoded(name)} {grade}\n".encode("utf-8", "replace")
                for question in examples
                for name, grade in question.grades.items()
            )
        case "contest":
            ids = {
                question.id: [name for name, grade in question.grades.items() if grade > 0]
                for question in examples
            }
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
        if not example.grades and name == "trec":
            found["questions without gold"] += 1
        if "grades" not in judged and max(example.grades.values(), default=0) > HIGHEST:
            found[f"grades above {HIGHEST}"] += 1
    return dict(found)


def _is_of(example: Example, format: str) -> bool:
    return example.source is not None and example.source.format == format


def _rag(example: Example) -> dict[str, Any]:
    """Tags written `query_type:multi` become that field; another tag stands under `tags`."""
    typed, plain = {}, []
    for tag in example.tags:
        kind, _, value = tag.partition(":")
        if kind in _TYPED_TAGS and value and kind not in typed:
            typed[kind] = value
        else:
            plain.append(tag)
    of, metadata = example.grades, example.unknown.get("metadata")
    inner = metadata if isinstance(metadata, dict) else {}
    kinds = {name: typed.get(name) or example.unknown.get(name) for name in _TYPED_TAGS}
    kinds["query_type"] = kinds["query_type"] or example.unknown.get("shape")
    outer = {name: value for name, value in kinds.items() if value and str(inner.get(name)) != value}
    more = {name: value for name, value in _canonical(example).items() if name not in _RAG_HOLDS}
    return {
        "query_id": example.written_id,
        "query": example.query,
        **outer,
        "expected_doc_types": list(example.expected_types),
        "relevant_chunk_ids": [name for name, grade in of.items() if grade >= 1],
        "highly_relevant_chunk_ids": [name for name, grade in of.items() if grade >= HIGHEST],
        "irrelevant_chunk_ids": [name for name, grade in of.items() if grade == 0],
        **({"tags": plain} if plain else {}),
        **{name: value for name, value in more.items() if name not in outer},
    }


def _table(examples: Sequence[Example], suffix: str) -> Iterator[bytes]:
    rows = [
        (question.id, name, grade)
        for question in examples
        for name, grade in (question.grades or {"": 0}).items()
    ]
    if suffix == ".parquet":
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError(said("writing Parquet"), "pyarrow", "parquet") from None
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
