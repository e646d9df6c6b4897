"""Reading gold sets in the project's own JSONL, one object a line, or as a sheet with the same fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError, at, check_few, json_kind
from tiny_graph_rag.files import decode_utf8, lines_of, read_bytes, sha256_of
from tiny_graph_rag.gold.examples import EvalSet, Example, ReferenceRelationship
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said

_STRING_LISTS = (
    "tags",
    "highly_relevant_entities",
    "irrelevant_entities",
    "expected_types",
    "reference_texts",
    "seed_entities",
    "context",
)
DRAFT = "this is a draft, which nobody has judged; `curate` makes it a gold set"
_ID_KEYS = ("eval_id", "example_id", "question_id")  # of other makers, where there is no `id`
_KNOWN = {
    "id",
    "query",
    "reference_entities",
    "ground_truth",
    "reference_relationships",
    "group",
    *_STRING_LISTS,
}


def read_eval_set(path: Path) -> EvalSet:
    """Load a gold set. Raises DatasetError with every broken line (file, line, field, what came)."""
    examples, problems = read_sound_lines(path)
    if problems:
        raise DatasetError(*problems)
    return examples


def eval_set_of(records: Iterable[Mapping[str, Any]], name: str = "") -> EvalSet:
    """A gold set of records with the fields of a line. Raises DatasetError with every broken one."""
    problems: list[str] = []
    examples: list[Example] = []
    for number, record in enumerate(records, start=1):
        row = dict(record) if isinstance(record, Mapping) else record
        wrong = _wrong_fields(row)
        problems.extend(at(f"question {number}", each) for each in wrong)
        if not wrong:
            examples.append(_example(dict(record), number))
    first: dict[str, int] = {}
    for example in examples:
        if first.setdefault(example.id, example.line) != example.line:
            problems.append(
                f"question {example.line}: id {example.id!r} is used already by question {first[example.id]}"
            )
    if not examples and not problems:
        problems.append("the gold set is empty; wanted records with 'query' and 'reference_entities'")
    if problems:
        raise DatasetError(*problems)
    return EvalSet(tuple(examples), name=name)


def read_sound_lines(path: Path) -> tuple[EvalSet, list[str]]:
    """The lines that can be used, and what is wrong with the others (file, line, field, what came)."""
    problems: list[str] = []
    examples: list[Example] = []
    for number, place, row in _rows(path, problems):
        check_few(problems, DatasetError)
        row = _named_ours(row)
        wrong = _wrong_fields(row)
        problems.extend(at(place, each) for each in wrong)
        if not wrong:
            examples.append(_example(row, number))
    if problems and not examples and all(each.endswith(DRAFT) for each in problems):
        problems = [at(path.name, said(DRAFT))]
    problems.extend(_duplicate_ids(examples, path))
    if not examples and not problems:
        problems.append(
            said("{name}: the gold set is empty; wanted {wanted}", name=path.name, wanted=_wanted(path))
        )
    name = nfc(path.name).removesuffix(".gz")
    for suffix in (".jsonl", ".json", ".csv", ".tsv"):
        name = name.removesuffix(suffix)
    return EvalSet(tuple(examples), name=name, path=path, sha256=sha256_of(path)), problems


def _rows(path: Path, problems: list[str]) -> Iterator[tuple[int, str, Any]]:
    """Number, place and document of each question: one a line or row, or in one list, or under `results`."""
    text = decode_utf8(read_bytes(path), path)
    sheet = _as_sheet(path, text)
    if sheet is not None:
        yield from sheet
        return
    whole = _whole(text, path)
    if whole is not None:
        for number, row in enumerate(whole, start=1):
            yield number, f"{path.name}: question {number}", row
        return
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        check_few(problems, DatasetError)
        try:
            yield number, f"{path.name}:{number}", parse_json(line)
        except NotJsonError as error:
            problems.append(error.at(path, number))


def _wanted(path: Path) -> str:
    """What an empty file should hold, as far as it tells by itself which kind it is."""
    text = decode_utf8(read_bytes(path), path)
    if _as_sheet(path, text) is not None:
        return said("a question a row below the header")
    is_list = text.lstrip()[:1] in ("[", "{")
    return said("a question in the list") if is_list else said("one JSON object a line")


def as_lines(path: Path) -> Iterator[str]:
    """The file line by line as it stands; a sheet as the lines that it would be."""
    text = decode_utf8(read_bytes(path), path)
    sheet = _as_sheet(path, text)
    yield from (
        lines_of(text) if sheet is None else (json.dumps(row, ensure_ascii=False) for _, _, row in sheet)
    )


def _as_sheet(path: Path, text: str) -> Iterator[tuple[int, str, Any]] | None:
    if text.lstrip()[:1] in ("{", "["):
        return None
    from tiny_graph_rag.formats.gold.sheet import reads_as_sheet, sheet_rows

    return sheet_rows(path) if reads_as_sheet(path) else None


def _whole(text: str, path: Path) -> list[Any] | None:
    """The questions of a file that is one list, or one object with `results`; None where it has lines."""
    start = text.lstrip()
    if start[:1] == "[":
        from tiny_graph_rag.formats.tables import json_document

        document: Any = json_document(path, DatasetError)
    elif start[:1] == "{" and "\n" in start.strip():
        try:
            document = parse_json(text)
        except NotJsonError:
            return None
        document = document.get("results") if isinstance(document, dict) else None
    else:
        return None
    return document if isinstance(document, list) else None


def _named_ours(row: Any) -> Any:
    """A question of another maker under our names: `eval_id`, and the turns of `msg`."""
    if not isinstance(row, dict):
        return row
    row = dict(row)
    for name in _ID_KEYS:
        if "id" not in row and isinstance(row.get(name), str | int):
            row["id"] = row.pop(name)
    turns = row.get("msg")
    if "query" not in row and isinstance(turns, list) and turns:
        texts = [each.get("content") if isinstance(each, dict) else each for each in turns]
        if all(isinstance(each, str) for each in texts):
            row["query"], row["context"] = texts[-1], texts[:-1]
            del row["msg"]
    return row


def _example(row: dict[str, Any], number: int) -> Example:
    truth = row.get("ground_truth")
    lists = {name: tuple(row[name]) for name in _STRING_LISTS if row.get(name) is not None}
    return Example(
        id=str(row["id"]) if row.get("id") is not None else f"line-{number}",
        query=row["query"],
        reference_entities=tuple(row["reference_entities"]),
        ground_truth=(truth,) if isinstance(truth, str) else tuple(truth or ()),
        reference_relationships=tuple(
            ReferenceRelationship(each["source"], each["target"], each.get("type") or "")
            for each in row.get("reference_relationships") or ()
        ),
        group=str(row["group"]) if row.get("group") is not None else None,
        unknown={key: value for key, value in row.items() if key not in _KNOWN},
        line=number,
        **lists,
    )


def _wrong_fields(row: object) -> list[str]:
    if not isinstance(row, dict):
        got = json_kind(row)
        return [said("wanted an object with 'query' and 'reference_entities', got {got}", got=got)]
    if row.get("draft") is True and "reference_entities" not in row:
        return [said(DRAFT)]
    wrong: list[str] = [
        said("{field} is missing", field=repr(name))
        for name in ("query", "reference_entities")
        if name not in row
    ]
    query = row.get("query")
    if "query" in row and (not isinstance(query, str) or not query.strip()):
        wrong.append(said("'query' must be a question in words, got {got}", got=json_kind(query)))
    if ("id" in row and not isinstance(row["id"], str | int | None)) or isinstance(row.get("id"), bool):
        wrong.append(said("{field} must be a string, got {got}", field="'id'", got=json_kind(row["id"])))
    if ("group" in row and not isinstance(row["group"], str | int | None)) or isinstance(
        row.get("group"), bool
    ):
        wrong.append(
            said("{field} must be a string, got {got}", field="'group'", got=json_kind(row["group"]))
        )
    if row.get("group") == "":
        wrong.append(said("'group' must not be empty; leave it out where a question stands for itself"))
    if row.get("id") == "":
        wrong.append(said("'id' must not be empty; leave it out to get line-<n>"))
    for name in ("reference_entities", *_STRING_LISTS):
        value = row.get(name)
        if (
            name in row
            and not _is_string_list(value)
            and not (value is None and name != "reference_entities")
        ):
            example = (
                said('. Write ["{value}"] instead of "{value}"', value=value)
                if isinstance(value, str)
                else ""
            )
            wrong.append(
                said(
                    "{field} must be a list of strings, got {got}{example}",
                    field=repr(name),
                    got=json_kind(value),
                    example=example,
                )
            )
        elif name != "context" and isinstance(value, list) and any(not item.strip() for item in value):
            wrong.append(said("{field} holds an empty string", field=repr(name)))
    truth = row.get("ground_truth")
    if truth is not None and not isinstance(truth, str) and not _is_string_list(truth):
        wrong.append(
            said("'ground_truth' must be a string or a list of strings, got {got}", got=json_kind(truth))
        )
    wrong.extend(_wrong_relationships(row.get("reference_relationships")))
    return wrong


def _wrong_relationships(value: object) -> list[str]:
    if value is None:
        return []
    wanted = '\'reference_relationships\' must be a list of {"source", "target", "type"} with strings'
    if not isinstance(value, list):
        return [f"{wanted}, got {json_kind(value)}"]
    for each in value:
        sound = (
            isinstance(each, dict)
            and isinstance(each.get("source"), str)
            and isinstance(each.get("target"), str)
        )
        if not sound or not isinstance(each.get("type") or "", str):
            return [f"{wanted}, got {json_kind(each)} in it"]
    return []


def _duplicate_ids(examples: list[Example], path: Path) -> list[str]:
    first: dict[str, int] = {}
    problems: list[str] = []
    for example in examples:
        earlier = first.setdefault(example.id, example.line)
        if earlier != example.line:
            problems.append(
                at(
                    f"{path.name}:{example.line}",
                    said("id {id} is used already in line {line}", id=repr(example.id), line=earlier),
                )
            )
    return problems


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
