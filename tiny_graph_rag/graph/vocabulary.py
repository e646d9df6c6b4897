"""The vocabulary of a graph's owner: relation or entity type → words that people use for it.

It stands next to `NAME-KG.json` as `NAME-vocabulary.yaml`:

    written_by: [wrote, screenplay, 극본]
    PERSON: [somebody, 사람]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import GraphError, json_kind, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.messages import listed, said
from tiny_graph_rag.outputs import write_atomically

ENDING = "-vocabulary.yaml"
LISTED = 8  # known types in a message where none is near


def with_vocabulary(graph: KnowledgeGraph, path: Path, chosen: str = "auto") -> KnowledgeGraph:
    """The graph with its owner's words. path: the graph's file.

    chosen: "auto" for NAME-vocabulary.yaml next to it, where there is one, "none", or a file, looked for
    next to the graph first. Raises GraphError as `read_vocabulary`, InputError for a file that is missing.
    """
    if chosen == "none":
        return graph
    beside = path.parent / f"{graph.name}{ENDING}"
    file = beside if chosen == "auto" else find_input(chosen, path.parent, "vocabulary")
    if chosen == "auto" and not beside.is_file():
        return graph
    return replace(graph, vocabulary=read_vocabulary(file, graph))


def write_vocabulary(path: Path, words: Mapping[str, Sequence[str]]) -> None:
    """As `read_vocabulary` reads it, whole or not at all."""
    import yaml

    listed = {type: list(said) for type, said in words.items() if said}
    text = yaml.safe_dump(listed, allow_unicode=True, sort_keys=False, default_flow_style=None, width=110)
    write_atomically(path, [text.encode()])


def read_vocabulary(path: Path, graph: KnowledgeGraph) -> dict[str, tuple[str, ...]]:
    """Type → words, in the file's order.

    Raises GraphError for no mapping, words that are not texts, and a type that the graph lacks.
    """
    document = read_yaml(path, GraphError) or {}
    if not isinstance(document, dict):
        raise GraphError.at(
            path, "wanted lines such as 'written_by: [wrote]', got {got}", got=json_kind(document)
        )
    known = [*graph.relations.types.names, *graph.entities.types.names]
    found: dict[str, tuple[str, ...]] = {}
    for key, words in document.items():
        if key not in known:
            hint = nearest(str(key), known) or said("; it has: {names}", names=listed(known, LISTED))
            raise GraphError.at(
                path, "the graph has no relation or entity type {name}{hint}", name=repr(key), hint=hint
            )
        several = words if isinstance(words, list) and words else [words]
        wrong = [word for word in several if not isinstance(word, str | int) or not str(word).strip()]
        if wrong:
            got = json_kind(wrong[0])
            raise GraphError.at(path, "{name} must be a list of words, got {got}", name=repr(key), got=got)
        found[str(key)] = tuple(map(str, several))
    return found
