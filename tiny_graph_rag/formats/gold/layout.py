"""How a JSON file is laid out, so that what is written back differs only where something was changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tiny_graph_rag.files import read_bytes
from tiny_graph_rag.gold.examples import EvalSet

DEFAULT_SEPARATORS = (", ", ": ")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """indent: spaces or tab of a list's rows. end: what follows the last sign. found: whether a file is
    written so; a_line: with a row a line."""

    ascii: bool = False
    separators: tuple[str, str] = DEFAULT_SEPARATORS
    indent: int | str | None = None
    newline: str = "\n"
    mark: str = ""
    end: str = "\n"
    found: bool = False
    a_line: bool = False

    @classmethod
    def of(cls, gold: EvalSet) -> JsonStyle:
        """The style in which the set's file says its own content; the usual one where none does exactly."""
        if gold.path is None or gold.format not in ("jsonl", "rag"):
            return cls()
        try:
            text = read_bytes(gold.path).decode("utf-8")
        except UnicodeDecodeError:
            return cls()
        rows = [one.source.row for one in gold if one.source is not None]
        if len(rows) < len(gold):
            return cls()
        mark = _BOM if text[:1] == _BOM else ""
        newline = "\r\n" if "\r\n" in text else "\n"
        plain = text.removeprefix(_BOM).replace("\r\n", "\n")
        end = plain[len(plain.rstrip()) :].replace("\n", newline)
        second = plain.partition("\n")[2]
        spaces = second[: len(second) - len(second.lstrip(" \t"))]
        indents = (None, spaces if "\t" in spaces else len(spaces) or None, 0)
        separators = (DEFAULT_SEPARATORS, (",", ":"), (",", ": "))
        for ascii, pair, indent in product((False, True), separators, dict.fromkeys(indents)):
            style = cls(ascii, pair, indent, newline, mark, end, True)
            if plain.rstrip() == style._lines(rows):
                return replace(style, a_line=True)
            if plain.rstrip() == style._whole(rows, gold):
                return style
        return cls()

    def _dumped(self, value: Any, indent: int | str | None = None) -> str:
        return json.dumps(value, ensure_ascii=self.ascii, separators=self.separators, indent=indent)

    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> str:
        return "\n".join(map(self._dumped, rows))

    def _whole(self, rows: Sequence[Mapping[str, Any]], gold: EvalSet) -> str:
        document = {**gold.head, gold.list_key: rows} if gold.list_key else rows
        return self._dumped(document, self.indent)

    def lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
        """A row a line."""
        if not self.a_line and self.found:
            yield from JsonStyle().lines(rows)
            return
        for place, row in enumerate(rows, start=1):
            end = self.newline if place < len(rows) else self.end
            text = (self.mark if place == 1 else "") + self._dumped(row) + end
            yield text.encode("utf-8", "replace")

    def listed(self, rows: Sequence[Mapping[str, Any]], gold: EvalSet | None) -> Iterator[bytes]:
        """One list, or the object that held it."""
        if self.found and not self.a_line and gold is not None:
            text = self.mark + self._whole(rows, gold).replace("\n", self.newline) + self.end
            yield text.encode("utf-8", "replace")
            return
        around = gold is not None and bool(gold.head)
        if around and gold is not None:
            head = {name: value for name, value in gold.head.items() if name != gold.list_key}
            yield f'{json.dumps(head, ensure_ascii=False)[:-1]}, "{gold.list_key or "questions"}": '.encode()
        yield b"[\n"
        for place, row in enumerate(rows, start=1):
            line = json.dumps(row, ensure_ascii=False) + (",\n" if place < len(rows) else "\n")
            yield line.encode("utf-8", "replace")
        yield b"]}\n" if around else b"]\n"
