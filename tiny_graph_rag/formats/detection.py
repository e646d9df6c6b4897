"""Which format a file is of: each format looks at the same cheap head and says how well it fits."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import InputError, UsageError
from tiny_graph_rag.files import read_start
from tiny_graph_rag.formats.tables import (
    PARQUET_MAGIC,
    ZIP_MAGIC,
    delimiter_of,
    encoding_of,
    read_table,
    text_of,
)
from tiny_graph_rag.messages import said
from tiny_graph_rag.registry import Choice, Registry

HEAD_BYTES = 1 << 16
LONGEST_HEAD = 1 << 26


def read_head(path: Path, ends: Callable[[bytes], bool]) -> bytes:
    """The file's first 64 KiB, unpacked where it is gzip; of JSON as much more as its first record takes.

    What a file is taken for must not depend on how long its first record is. ends: whether the record ends in
    what was read. Raises InputError.
    """
    size = HEAD_BYTES
    start = read_start(path, size)
    while len(start) == size < LONGEST_HEAD and _is_json(start) and not ends(start):
        size *= 4
        start = read_start(path, size)
    return start


def _is_json(start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def has_line(start: bytes) -> bool:
    """Whether the first line that says anything ends in it."""
    return b"\n" in start.lstrip()


def has_record(start: bytes) -> bool:
    """Whether an object of a list, of an object of objects, or of the first line ends in it."""
    opened: list[str] = []
    for match in _BRACKETS.finditer(start):
        token = match[0]
        if token in b"{[":
            opened.append(token.decode())
        elif token in b"}]":
            above = opened[:-1]
            if len(opened) > 3 or not above or above[-1] == "[" or (len(above) == 2 and opened[-1] == "{"):
                return True
            opened.pop()
    return False


# A text that the start cuts off ends with it: its inside is not looked at again.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)


class Fit(IntEnum):
    """NO: not of this format. SHAPE: nothing speaks against it. SURE: it has a mark of this format alone.

    Of one file at most one format is sure, which the contract tests hold; so no order decides.
    """

    NO = 0
    SHAPE = 1
    SURE = 2


@dataclass(frozen=True)
class Head:
    """The start of a file, unpacked where it is gzip, or the names in a folder.

    start: 64 KiB, or all of the first line of JSON; empty for a folder. whole: whether that is all. names: of
    the files in a folder.
    """

    path: Path
    start: bytes = b""
    whole: bool = True
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: Path) -> Head:
        """Raises InputError for what can't be read."""
        if path.is_dir():
            return cls(path, names=frozenset(item.name for item in path.iterdir()))
        start = read_head(path, has_line)
        return cls(path, start, len(start) < HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        """The start as text, without white space before it; what is no UTF-8 is left to the reader to say."""
        utf16 = self.start[:2] in (b"\xff\xfe", b"\xfe\xff")
        return self.start.decode("utf-16" if utf16 else "utf-8-sig", "replace").lstrip()

    @property
    def line(self) -> str:
        """The first line that says anything, without white space around it."""
        return self.text.partition("\n")[0].strip()

    @property
    def is_parquet(self) -> bool:
        return self.start.startswith(PARQUET_MAGIC)

    @property
    def is_worksheet(self) -> bool:
        return self.start.startswith(ZIP_MAGIC)

    @property
    def has_columns(self) -> bool:
        """Whether it may be a table with a header."""
        binary = self.is_parquet or self.is_worksheet
        return binary or (not self.is_json and ("," in self.line or "\t" in self.line))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The header of a table, empty where it is none; text in another encoding is read too."""
        if not self.has_columns and ";" not in self.line:
            return ()
        if self.is_json:
            return ()
        if self.is_parquet or self.is_worksheet:
            return tuple(read_table(self.path)[0])
        line = self.start.decode(encoding_of(self.start), "replace").lstrip("\ufeff").lstrip()
        header = line.partition("\n")[0].strip("\r")
        try:
            row = next(csv.reader([header], delimiter=delimiter_of(header)), [])
        except csv.Error:  # its reader says what is wrong, with the line
            return ()
        return tuple(name.strip() for name in row)

    @property
    def is_json(self) -> bool:
        """Whether it begins as JSON objects and lists do."""
        return self.line[:1] in ("{", "[") and not self.is_parquet and not self.is_worksheet

    @cached_property
    def first(self) -> Any:
        """The JSON value of the first line, else of the whole file; None where neither is JSON."""
        if not self.is_json:
            return None
        twice: list[str] = []  # a key that stands twice is for the reader to say
        try:
            return parse_json(self.line, twice=twice, halves=True)
        except NotJsonError:
            pass
        try:
            text = self.text if self.whole else text_of(self.path, others=True) or ""
            return parse_json(text, twice=twice, halves=True)
        except (NotJsonError, InputError):
            return None


class Detecting(Protocol):
    @property
    def fit(self) -> Callable[[Head], Fit]: ...


F = TypeVar("F", bound=Detecting)


def best_fit(
    formats: Registry[F],
    head: Head,
    option: str,
    among: Callable[[Mapping[str, Choice]], Iterable[str]] = lambda choices: choices,
) -> str | None:
    """The name of the format that fits, None where none does. option: names a format, for the message.

    Formats of other packages are asked where no built-in one is sure. among: which of them to ask at all.
    Raises UsageError where several fit equally well.
    """
    fits: dict[str, Fit] = {}
    for plugged_in in (False, True):
        for name in among(formats.choices() if plugged_in else formats.built_in):
            if name not in fits:
                fits[name] = formats[name].fit(head)
            if fits[name] == Fit.SURE:
                return name
    found = [name for name, fit in fits.items() if fit == Fit.SHAPE]
    if len(found) > 1:
        raise UsageError(
            said(
                "{name} may be {names}; choose one with {option}",
                name=head.path.name,
                names=" or ".join(found),
                option=option,
            )
        )
    return found[0] if found else None
