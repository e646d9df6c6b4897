"""Seeds → ranked entities, by one of the retrievers of this folder or of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import require_trust
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.linking.base import LINKERS
from tiny_graph_rag.retrieval.base import RETRIEVERS, Reason, Retriever, Task, parts_of, retriever

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.resolve import Judgments

__all__ = [
    "RETRIEVERS",
    "Reason",
    "Retriever",
    "RetrieverMaker",
    "Task",
    "check_retrieval",
    "is_own",
    "make_retriever",
    "retriever",
    "walks",
]


def make_retriever(
    graph: KnowledgeGraph,
    config: Config,
    examples: EvalSet | None = None,
    judgments: Judgments | None = None,
) -> Retriever:
    """The retriever that `config.retrieval.retriever` names. Raises UsageError for an unknown name."""
    spec = config.retrieval.retriever
    if is_own(spec):
        require_trust(config, "retriever")
        from tiny_graph_rag.retrieval.own import OwnRetriever

        return OwnRetriever.of(Task(graph, config, spec, examples, judgments))
    found, argument = _named(spec)
    return found.of(Task(graph, config, argument, examples, judgments))


def check_retrieval(config: Config) -> None:
    """Refuse, before a graph is read, what no graph could mend: an unknown retriever or linker, a file that
    is not there. Raises UsageError or InputError."""
    spec = config.retrieval.retriever
    if is_own(spec):
        require_trust(config, "retriever")
        from tiny_graph_rag.retrieval.own_calls import file_of

        place = spec.rpartition(":")[0]
        if place.endswith(".py"):
            file_of(place)
    else:
        found, argument = _named(spec)
        if found.argument == "FILE":
            find_input(argument, Path(config.storage.results_dir), "run")
    LINKERS.entry(config.retrieval.linker)


def walks(spec: str) -> bool:
    """Whether `--hops` means anything to what `--retriever` names. Raises UsageError for an unknown name."""
    if is_own(spec):
        return False
    found, parts = _named(spec)[0], parts_of(spec)
    return found.walks if parts == [spec] else any(map(walks, parts))


def _needs_argument(name: str, argument: str) -> UsageError:
    return UsageError("--retriever {name} needs an argument: {name}:{argument}", name=name, argument=argument)


def _named(spec: str) -> tuple[type[Retriever], str]:
    """The retriever of `NAME` or `NAME:ARGUMENT`, and its argument. Raises UsageError."""
    name, _, argument = spec.partition(":")
    if name not in RETRIEVERS and name.isidentifier() and argument.isidentifier():
        raise UsageError(
            "--retriever {spec}: there is no Python module {name} and no retriever of this name{near}. "
            "A file is named {name}.py:{function}",
            spec=spec,
            name=name,
            function=argument,
            near=nearest(name, list(RETRIEVERS)),
        )
    if name.endswith(".py"):
        raise _needs_argument(name, "FUNCTION")
    if argument.startswith("//"):
        raise UsageError(
            "--retriever: a service is called by a function of yours that returns names, best first. Write "
            "my_rag.py, such as: import json, urllib.request; retrieve = lambda question: "
            "json.load(urllib.request.urlopen(URL, question.encode())). Then: --retriever my_rag.py:retrieve"
        )
    found = RETRIEVERS[name]
    if argument and not found.argument:
        raise UsageError(
            "--retriever {name} takes no argument after a colon, got {argument}",
            name=name,
            argument=repr(argument),
        )
    argument = argument or found.usual
    if found.argument and not argument:
        raise _needs_argument(name, found.argument)
    return found, argument


# As `make_retriever` is one.
RetrieverMaker = Callable[[KnowledgeGraph, Config, "EvalSet | None", "Judgments | None"], Retriever]


def is_own(spec: str) -> bool:
    """Whether `--retriever` names a user's function: `file.py:function`, `package.module:function`, or
    `module:function` of a module that is there and not called as a retriever of this program."""
    place, _, function = spec.rpartition(":")
    if not place or not function.isidentifier():
        return False
    if place.endswith(".py"):
        return True
    if "." in place:
        return all(part.isidentifier() for part in place.split("."))
    if place in RETRIEVERS:
        return False
    module = PathFinder.find_spec(place, [str(Path.cwd()), *sys.path])
    return module is not None and module.loader is not None
