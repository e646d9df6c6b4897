"""Files that are refused, each with the way to a graph that is read.

A pickle runs code when it is opened, a Cypher script is for a database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.graph.model import KnowledgeGraph

_CYPHER = re.compile(
    r"\s*(?:(?://|:)[^\n]*\n\s*)*(?:CREATE|MERGE|MATCH|UNWIND)\s*(?:\(|\[|CONSTRAINT|INDEX)", re.I
)


@graph_format(
    "Cypher",
    "refused: a script is for a database, which exports the graph",
    lambda head: bool(_CYPHER.match(head.text)),
    suffixes=(".cypher", ".cql", ".cyp"),
)
def refuse_cypher(paths: Sequence[Path]) -> KnowledgeGraph:
    raise GraphError.at(
        paths[0],
        "a Cypher script is not run here. Run it in Neo4j, and take the graph from there: "
        "cypher-shell -f {file}, then convert -g neo4j://localhost -o {stem}-KG.json",
        file=paths[0].name,
        stem=paths[0].stem,
    )


@graph_format(
    "OWL/XML",
    "refused: ontologies are read as RDF",
    lambda head: "<Ontology" in head.text and "www.w3.org/2002/07/owl#" in head.text,
)
def refuse_owl(paths: Sequence[Path]) -> KnowledgeGraph:
    raise GraphError.at(
        paths[0],
        "OWL/XML is not read. Save the ontology as Turtle: in Protégé with File > Save as, or with "
        "robot convert -i {file} -o {stem}.ttl",
        file=paths[0].name,
        stem=paths[0].stem,
    )


def _is_pickle(head: Head) -> bool:
    return head.raw[:1] == b"\x80" and head.raw[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


@graph_format(
    "pickle",
    "refused: opening a pickle runs whatever code it holds",
    _is_pickle,
    within=("graph_igraph_data.pklz", "*.pkl", "*.pklz", "*.pickle", "*.gpickle"),
    suffixes=(".pkl", ".pklz", ".pickle", ".gpickle"),
)
def refuse_pickle(paths: Sequence[Path]) -> KnowledgeGraph:
    raise GraphError.at(
        paths[0],
        "pickle files are not read, because opening one can run code. Export the graph with "
        "networkx.write_graphml(graph, '{stem}.graphml'), or fast-graphrag's with "
        "GraphRAG(…).save_graphml('{stem}.graphml')",
        stem=paths[0].stem,
    )
