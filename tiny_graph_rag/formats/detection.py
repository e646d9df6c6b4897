"""Whose file is this? Every format, of graphs, gold sets and runs, looks at the same cheap head.

A format that is `general` is asked when no other knows the file for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.files import PARQUET_MAGIC, ZIP_MAGIC, encoding_of, read_start, text_in
from tiny_graph_rag.formats.tables import csv_rows, is_trec, read_table
from tiny_graph_rag.messages import said
from tiny_graph_rag.registry import Registry

HEAD_BYTES = 1 << 20
LFS_POINTER = "version https://git-lfs.github.com/spec/"
LFS = "a pointer of Git LFS, not the file itself; run `git lfs pull` to get the file"


@dataclass(frozen=True)
class Head:
    """The first MiB of a file, unpacked where it is gzip; empty where it can't be read: its reader says
    why."""

    path: Path

    @cached_property
    def raw(self) -> bytes:
        try:
            return read_start(self.path, HEAD_BYTES)
        except (InputError, OSError):
            return b""

    @cached_property
    def text(self) -> str:
        """The head as text, without white space before it; what is no UTF-8 is left to the reader to say."""
        utf16 = self.raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        return self.raw.decode("utf-16" if utf16 else "utf-8-sig", "replace").lstrip()

    @cached_property
    def line(self) -> str:
        """The first line that says anything, without white space around it, as far as the head goes."""
        return self.text.partition("\n")[0].strip()

    @property
    def is_parquet(self) -> bool:
        return self.raw.startswith(PARQUET_MAGIC)

    @property
    def is_worksheet(self) -> bool:
        return self.raw.startswith(ZIP_MAGIC)

    def is_trec(self, fields: int) -> bool:
        """Whether it begins as TREC's qrels (4 fields) or runs (6) do."""
        return is_trec(self.line, fields) and not self.is_parquet and not self.is_json

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The header of a table, empty where it is none; text in another encoding is read too."""
        if self.is_parquet or self.is_worksheet:
            return tuple(read_table(self.path)[0])
        if self.is_json or not {",", "\t", ";"} & {*self.line}:
            return ()
        line = self.raw.decode(encoding_of(self.raw), "replace").lstrip("\ufeff").lstrip()
        try:
            _, row = next(csv_rows(self.path, line.partition("\n")[0], InputError), (0, []))
        except InputError:  # its reader says what is wrong, with the line
            return ()
        return tuple(name.strip() for name in row)

    @property
    def is_json(self) -> bool:
        """Whether it begins as JSON objects and lists do."""
        return self.text[:1] in ("{", "[")

    @cached_property
    def first(self) -> Any:
        """The JSON value of the first line, else of the whole file; None where neither is JSON."""
        if not self.is_json:
            return None
        try:
            is_cut = len(self.raw) >= HEAD_BYTES  # the file goes on
            text = text_in(self.path, others=True) or "" if is_cut else self.text
        except InputError:
            return None
        for part in (text.lstrip("\ufeff \t\r\n").partition("\n")[0], text):
            try:
                return parse_json(part, twice=[], halves=True)  # a key given twice is for the reader to say
            except NotJsonError:
                continue
        return None


Reader = TypeVar("Reader", bound=Callable[..., Any])


@dataclass(frozen=True)
class Format(Generic[Reader]):
    """recognises: whether a file is of the format, by its head. suffixes: that such files have. general:
    whether it is a form of files that others have too; those are asked last. example: a sound gold set or
    run, small, with a line or more; the contract tests read it, and what is left when it is cut."""

    name: str
    recognises: Callable[[Head], bool]
    read: Reader
    _: KW_ONLY
    suffixes: tuple[str, ...] = ()
    general: bool = False
    example: str = ""


F = TypeVar("F", bound=Format[Any])


def registering(registry: Registry[F], kind: type[Any]) -> Callable[..., Callable[[Reader], Reader]]:
    """The decorator of the readers of one kind of files: `@….(name, line, recognises, **fields)`.

    line: what such a file is, for `--help` and the docs. kind: `Format` or one of its own. fields: of it.
    """

    def decorator(
        name: str, line: str, recognises: Callable[[Head], bool], **fields: Any
    ) -> Callable[[Reader], Reader]:
        return registry.register(name, line, lambda read: kind(name, recognises, read, **fields))

    return decorator


def particular_first(formats: Registry[F]) -> Iterator[str]:
    """The formats' names in the order in which they are asked: those of one program before those that are
    `general`, and other packages' after built-in ones. Each is loaded when it is its turn."""
    general = []
    for name in formats:
        if formats[name].general:
            general.append(name)
        else:
            yield name
    yield from general


def detected(formats: Registry[F], head: Head) -> str | None:
    """The name of the first format that recognises the file, None where none does. Of particular formats at
    most one does, which the contract tests hold."""
    return next((name for name in particular_first(formats) if formats[name].recognises(head)), None)


def unknown_format(formats: Registry[F], head: Head, option: str, failure: type[InputError]) -> InputError:
    """That no format of gold sets or of runs recognises a file. option: names one, for the message."""
    return failure.at(
        f"{head.path.name}:1",
        "unknown {kind}; wanted JSONL, JSON, TREC or a table with a header, got {line}. `score "
        "{option}` names it: {names}",
        kind=said(formats.kind),
        line=repr(head.line[:60]),
        option=option,
        names=", ".join(formats),
    )


def looks_like_a_run(value: Any) -> bool:
    """Whether the first JSON value of a file speaks of a run, which somebody took for a gold set."""
    return isinstance(value, dict) and ("entities" in value or "topk" in value)
