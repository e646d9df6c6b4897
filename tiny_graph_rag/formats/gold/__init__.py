"""Gold sets of all makers, read by one reader and found by content."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tiny_graph_rag.errors import DatasetError, at
from tiny_graph_rag.files import encoding_of, read_bytes, sha256_of, text_in
from tiny_graph_rag.formats.detection import LFS, LFS_POINTER, Head, looks_like_a_run, unknown_format
from tiny_graph_rag.formats.detection import detected as recognised
from tiny_graph_rag.formats.gold.questions import (
    EMPTY,
    GOLD_FORMATS,
    NAMED_COLUMNS,
    Sound,
    gold_format,
    graded,
    judged_by_passages,
    with_own_ids,
)
from tiny_graph_rag.formats.records import is_yaml
from tiny_graph_rag.formats.tables import columns_of_data, fields_beside, sheets
from tiny_graph_rag.formats.words import FIELDS
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.messages import Said, counted, said

__all__ = ["GOLD_FORMATS", "detected", "gold_format", "graded", "read_gold", "read_sound"]


def read_gold(path: Path, format: str | None = None, *, drafts: bool = False) -> EvalSet:
    """Load a gold set of any known format; drafts as `read_sound` has it. Raises DatasetError, or UsageError
    for an unknown format."""
    gold, problems = read_sound(path, format, drafts=drafts)
    if problems:
        raise DatasetError(*problems)
    if not gold:
        raise DatasetError.at(path.name, EMPTY)
    return gold


def read_sound(path: Path, format: str | None = None, *, drafts: bool = False) -> tuple[EvalSet, list[Said]]:
    """The questions that can be used, and what is wrong with the others (file, line, field, what came).

    drafts: questions that are marked as a draft, and not judged yet, pass.
    """
    format = format or detected(path)
    read = GOLD_FORMATS[format].read(path)
    found = read if isinstance(read, Sound) else Sound(tuple(read))
    problems = list(found.problems)
    examples, again = with_own_ids(found.examples)
    if not drafts and any(map(_is_draft, examples)):
        problems.append(at(path.name, DRAFT))
        examples = tuple(example for example in examples if not _is_draft(example))
    if not drafts and any(example.judged for example in examples):  # what lacks references was forgotten
        problems += [at(path.name, FORGOTTEN, id=one.id) for one in examples if not one.judged]
        examples = tuple(example for example in examples if example.judged)
    gold = EvalSet(
        examples,
        name=bare_name(path),
        path=path,
        sha256=sha256_of(path),
        format=format,
        notes=(*_said_encoding(path), *_said_table(path), *found.notes, *again),
    )
    return gold, problems


FORGOTTEN = "question {id}: 'reference_entities' is missing; [] says that nothing should be found"
DRAFT = "this is a draft that needs review; `curate` turns it into a gold set"


def _is_draft(example: Example) -> bool:
    return example.unknown.get("draft") is True and not example.judged


def _said_table(path: Path) -> list[str]:
    """What the reader of a table takes for granted: what its columns are, and that one sheet is enough."""
    head = Head(path)
    is_text = not (head.is_worksheet or head.is_parquet) and GOLD_FORMATS["sheet"].recognises(head)
    columns = columns_of_data(head.columns or [head.line]) if is_text else []
    if columns:
        return [
            said(
                "the first line is read as data, not as a header; the columns are: {names}",
                names=", ".join(columns),
            )
        ]
    others = [name for name, _, _ in sheets(path)][1:] if head.is_worksheet else []
    return (
        [said("only the first sheet is read; not read: {names}", names=", ".join(others))] if others else []
    )


def _said_encoding(path: Path) -> list[str]:
    raw = read_bytes(path)
    encoding = encoding_of(raw)
    if encoding == "utf-8" or text_in(path, others=True) is None:
        return []
    return [said("not UTF-8; read as {encoding}. Save it as UTF-8 to be sure", encoding=encoding.upper())]


def detected(path: Path) -> str:
    """The format that the content looks like. Raises DatasetError where it is none."""
    head = Head(path)
    if head.text.strip() in ("", "[]", "{}") and not (text_in(path, others=True) or "").strip("[]{} \r\n"):
        raise DatasetError.at(path.name, EMPTY)
    check_is_content(head)
    if fields_beside(path, FIELDS, DatasetError):
        return "jsonl" if head.is_json or is_yaml(path) else "sheet"
    found = recognised(GOLD_FORMATS, head)
    if found is None and looks_like_a_run(head.first):
        raise DatasetError.at(
            f"{path.name}:1",
            "this looks like a run (--run) or a graph (-g); references belong under 'reference_entities'",
        )
    if found is None:
        raise unknown_format(GOLD_FORMATS, head, "--gold-format", DatasetError)
    return found


_NUMBERS = re.compile(r"[-+0-9.eE,;\s]+")


def check_is_content(head: Head) -> None:
    """Raises DatasetError for what is no file of questions: a pointer of Git LFS, rows of numbers."""
    if head.text.startswith(LFS_POINTER):
        raise DatasetError.at(head.path.name, said(LFS))
    place, line = f"{head.path.name}:1", repr(head.line[:60])
    if head.is_json or is_yaml(head.path) or head.is_trec(4):
        return
    if head.line and ".json" in head.path.name.lower():
        raise DatasetError.at(
            place, "wanted JSON, as the file is called; got {line}. Take out what is no JSON", line=line
        )
    if head.line and _NUMBERS.fullmatch(head.line):
        raise DatasetError.at(place, "rows of numbers, no questions; got {line}", line=line)


def read_eval_set(path: Path) -> EvalSet:
    """Load a gold set. Raises DatasetError with every broken line (file, line, field, what came), and for one
    that asks but does not say what is relevant."""
    return with_references(read_gold(path), path)


def with_references(gold: EvalSet, path: Path) -> EvalSet:
    """The set, where any of its questions says what is relevant: entities, or ids or texts of passages.
    Raises DatasetError where none does."""
    gold = replace(gold, examples=judged_by_passages(gold.examples))
    if any(example.judged for example in gold):
        return gold
    unused = dict.fromkeys(field for example in gold for field in example.unknown)
    raise DatasetError.at(
        path.name,
        "{questions} without 'reference_entities' (in a table: 'references'), so nothing can be scored; "
        "fields not used: {unused}. `dataset from` finds references in answers and evidence, `recommend` "
        "proposes some, `retrieve` needs none",
        questions=counted(len(gold), "{n} question", "{n} questions"),
        unused=", ".join(list(unused)[:NAMED_COLUMNS]) or "–",
    )
