"""Versions of a gold set: `NAME.versions.json` next to it says what each was, by SHA-256.

`gold_v1.json` and `gold_v2.json` are versions of one set: a `v1` at a name's end is no part of it.

[{"version": "2", "sha256": …, "questions": 120, "note": "aliases judged anew"}], oldest
first. No date stands in it: what a version is, its hash says, and git knows when.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tiny_graph_rag.errors import DatasetError, UsageError, amount, wrong_value
from tiny_graph_rag.files import read_bytes
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.inputs import bare_name, readable
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.outputs import write_atomically

ENDING = ".versions.json"
_NUMBERED = re.compile(r"[-_. ]?[vV]\d+(?:\.\d+)*(?=$|-eval$|-hardset$)")


class Version(msgspec.Struct, omit_defaults=True):
    version: str
    sha256: str
    questions: int
    note: str = ""


def versions_path(examples: EvalSet) -> Path:
    if examples.path is None:
        raise wrong_value("a gold set that was not read from a file has no versions")
    name = bare_name(examples.path)
    return examples.path.with_name((_NUMBERED.sub("", name) or name) + ENDING)


def history_of(examples: EvalSet) -> list[Version]:
    """Oldest first, none without a file. Raises DatasetError for one that can't be read."""
    path = versions_path(examples)
    if not path.exists():
        return []
    try:
        return msgspec.json.decode(read_bytes(path), type=list[Version])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(
            "{path}: not a list of versions: {error}. Repair or remove it", path=path, error=error
        ) from error


def is_current(examples: EvalSet, history: Sequence[Version]) -> bool:
    return bool(history) and history[-1].sha256 == examples.sha256


def record(examples: EvalSet, note: str) -> tuple[Version, Path]:
    """Add a version for the set as it is; versions are counted from 1.

    Raises UsageError where nothing changed since the last version.
    """
    history = history_of(examples)
    if is_current(examples, history):
        raise UsageError(
            "{name} is still version {version}: the file has not changed",
            name=examples.name,
            version=history[-1].version,
        )
    entry = Version(str(len(history) + 1), examples.sha256, len(examples), readable(note.strip()))
    path = versions_path(examples)
    write_atomically(path, [msgspec.json.format(msgspec.json.encode([*history, entry]), indent=1), b"\n"])
    return entry, path


def say_entry(entry: Version) -> Said:
    return said(
        "{version}  {sha256}  {questions}{note}",
        version=entry.version,
        sha256=entry.sha256[:12],
        questions=amount(entry.questions, "question"),
        note=entry.note and f"  {entry.note}",
    )
