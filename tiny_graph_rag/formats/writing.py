"""What is written by name: a form of graphs, of gold sets or of runs. Each kind has its table of forms next
to the functions that write them."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import UsageError, optional, unknown
from tiny_graph_rag.messages import said


@dataclass(frozen=True, slots=True)
class Form:
    """write: gives the file's content in pieces. suffixes: that choose the form; the first is that of a
    derived name. needs_parquet: whether it can't be written without that extra. losses: what a graph has that
    the form can't hold, in words. holds: the fields of a question that it can hold, None for all of them."""

    write: Callable[..., Iterable[Any]]
    suffixes: tuple[str, ...] = ()
    needs_parquet: bool = False
    losses: Callable[[Any], list[str]] = lambda graph: []
    holds: Collection[str] | None = None


def form_of(forms: Mapping[str, Form], path: Path, given: str | None = None) -> str:
    """The name of the form to write: `given` by --format, else by the end of the file's name.

    Raises UsageError, and MissingExtraError before any work.
    """
    if given is not None and given not in forms:
        raise unknown(said("form of {option}", option="--format"), given, list(forms))
    ending = path.suffix.lower()
    chosen = given or next((name for name, form in forms.items() if ending in form.suffixes), None)
    if chosen is None:
        raise UsageError(
            "{path}: the file's name doesn't say the format; end it in one of: {suffixes}",
            path=path,
            suffixes=", ".join(dict.fromkeys(suffix for form in forms.values() for suffix in form.suffixes)),
        )
    if forms[chosen].needs_parquet:
        _parquet()
    return chosen


def parquet_of(columns: Mapping[str, Any], numbers: Collection[str]) -> bytes:
    """A Parquet file of columns of texts, but for those that are named as numbers."""
    parquet = _parquet()
    import pyarrow

    kinds = {name: None if name in numbers else pyarrow.string() for name in columns}
    arrays = {name: pyarrow.array(column, kinds[name]) for name, column in columns.items()}
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), sink)
    return sink.getvalue()


def _parquet() -> Any:
    return optional("pyarrow.parquet", said("writing Parquet"), "parquet")
