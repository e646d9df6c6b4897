"""What is written by name: a form of graphs, of gold sets or of runs, each registered next to its code.

To add one, put a writer under `@graph_writer(…)`, `@gold_writer(…)` or `@run_writer(…)` and its name into the
table, or into another package with an entry point in the group `tiny_graph_rag.graph_writers` and so on.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from tiny_graph_rag.errors import UsageError, optional, unknown
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.run import Passage, Relation


class Ranked(NamedTuple):
    """One question of a run. question: its id, with the type that it has in its file. ids, names, scores: of
    its entities, best first; scores fall strictly. relations, passages: None where the run has none."""

    question: str | int
    ids: Sequence[str]
    names: Sequence[str]
    scores: Sequence[float]
    relations: Sequence[Relation] | None
    passages: Sequence[Passage] | None
    returns_entities: bool


GraphWriter = Callable[[KnowledgeGraph, Path], Iterable[str | bytes]]  # (graph, the file) → its content
# (questions, the file, for its suffix alone) → the file's content
GoldWriter = Callable[[Sequence[Example], Path], Iterable[bytes]]
RunWriter = Callable[[Iterable[Ranked]], Iterator[bytes]]
W = TypeVar("W", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Form(Generic[W]):
    """suffixes: that choose the form. ending: of a derived name, where no suffix chooses the form. needs: the
    extra without which it can't be written. losses: what a graph has that the form can't hold, in words.
    holds: the fields of a question that it can hold, None for all of them."""

    name: str
    write: W
    suffixes: tuple[str, ...] = ()
    ending: str = ""
    needs: str = ""
    losses: Callable[[KnowledgeGraph], list[str]] = lambda graph: []
    holds: Collection[str] | None = None


GRAPH_WRITERS: Registry[Form[GraphWriter]] = Registry(
    "graph writer",
    "tiny_graph_rag.formats.graphs",
    {
        "kg-json": "writing:kg_json",
        "graphml": "writing:graphml",
        "triples": "writing:triples",
    },
)
GOLD_WRITERS: Registry[Form[GoldWriter]] = Registry(
    "gold writer",
    "tiny_graph_rag.formats.gold",
    {
        "jsonl": "exchange:jsonl",
        "json": "exchange:json_list",
        "sheet": "exchange:sheet",
        "trec": "exchange:trec",
        "table": "exchange:table",
    },
)
RUN_WRITERS: Registry[Form[RunWriter]] = Registry(
    "run writer",
    "tiny_graph_rag.formats.runs",
    {
        "trec": "writing:trec",
        "jsonl": "writing:jsonl",
        "csv": "writing:csv",
        "parquet": "writing:parquet",
        "contest": "writing:contest",
    },
)


def _registering(registry: Registry[Form[W]]) -> Callable[..., Callable[[W], W]]:
    """The decorator of the writers of one kind of files: `@….(name, line, **fields)`. line: what is written.
    fields: of Form."""

    def decorator(name: str, line: str, **fields: Any) -> Callable[[W], W]:
        return registry.register(name, line, lambda write: Form(name, write, **fields))

    return decorator


graph_writer = _registering(GRAPH_WRITERS)
gold_writer = _registering(GOLD_WRITERS)
run_writer = _registering(RUN_WRITERS)


def form_of(registry: Registry[Form[W]], path: Path, given: str | None, option: str) -> str:
    """The form to write: `given`, else by the end of the file's name. option: that names it, for messages.

    Raises UsageError, and MissingExtraError before any work.
    """
    if given is not None and given not in registry:
        raise unknown(said("form of {option}", option=option), given, list(registry))
    form = given or _by_suffix(registry, path)
    if form is None:
        raise UsageError(
            "{name}: which form? Name it with {option} ({forms}), or end the file's name in one of: "
            "{suffixes}",
            name=path.name,
            option=option,
            forms=", ".join(registry),
            suffixes=", ".join(suffixes_of(registry)),
        )
    if registry[form].needs == "parquet":
        _parquet()
    return form


def suffixes_of(registry: Registry[Form[W]]) -> dict[str, str]:
    """Suffix → the form that it chooses."""
    return {suffix: name for name in registry for suffix in registry[name].suffixes}


def _by_suffix(registry: Registry[Form[W]], path: Path) -> str | None:
    suffixes, name = suffixes_of(registry), path.name.lower()
    longest_first = sorted(filter(None, suffixes), key=len, reverse=True)
    ending = next((suffix for suffix in longest_first if name.endswith(suffix)), path.suffix)
    return suffixes.get(ending)


def parquet_of(
    columns: Mapping[str, Any], *, lists: Collection[str] = (), numbers: Collection[str] = ()
) -> bytes:
    """A Parquet file of columns of texts, but for those that are named as lists of texts or as numbers."""
    parquet = _parquet()
    import pyarrow

    kinds = {
        **dict.fromkeys(columns, pyarrow.string()),
        **dict.fromkeys(lists, pyarrow.list_(pyarrow.string())),
        **dict.fromkeys(numbers),
    }
    arrays = {name: pyarrow.array(column, kinds[name]) for name, column in columns.items()}
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), sink)
    return sink.getvalue()


def _parquet() -> Any:
    return optional("pyarrow.parquet", said("writing Parquet"), "parquet")
