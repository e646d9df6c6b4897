"""What is written by name: a form of graphs, of gold sets or of runs. Each kind has its table of forms next
to the functions that write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tiny_graph_rag.errors import UsageError, unknown
from tiny_graph_rag.messages import said


class Form(Struct, frozen=True):
    """write: gives the file's content in pieces. suffixes: that choose the form; the first is that of a
    derived name. losses: what a graph has that the form can't hold, in words."""

    write: Callable[..., Iterable[Any]]
    suffixes: tuple[str, ...] = ()
    losses: Callable[[Any], list[str]] = lambda graph: []


def form_of(forms: Mapping[str, Form], path: Path, given: str | None = None) -> str:
    """The name of the form to write: `given` by --format, else by the end of the file's name.

    Raises UsageError.
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
    return chosen
