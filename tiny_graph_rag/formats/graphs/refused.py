"""Files that are refused, each with the way to a graph that is read.

A pickle runs code when it is opened, a Cypher script is for a database, ontologies are read as RDF, an
archive may hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.detection import LFS, LFS_POINTER, Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import Said, said

CYPHER_ENDINGS = (".cypher", ".cql", ".cyp")
PICKLE_ENDINGS = (".pkl", ".pklz", ".pickle", ".gpickle")
CYPHER = (
    "a Cypher script is not run here. Run it in Neo4j, and take the graph from there: "
    "cypher-shell -f {file}, then convert -g neo4j://localhost -o {stem}-KG.json"
)
OWL = (
    "OWL/XML is not read. Save the ontology as Turtle: in Protégé with File > Save as, or with "
    "robot convert -i {file} -o {stem}.ttl"
)
TAR = "an archive of files; unpack it, and give the graph file or its folder"
DOT = (
    "Graphviz's DOT is not read. Save it as GML (gv2gml {file} -o {stem}.gml) or in Python "
    "networkx.write_graphml(networkx.nx_pydot.read_dot('{file}'), '{stem}.graphml')"
)
SCRIPT = "JavaScript is not run. Save the value behind the first = as JSON, with JSON.stringify in Node.js"
RDF_JSON = (
    "RDF/JSON is not read. Save it as Turtle, with Apache Jena's "
    "riot --syntax=rdfjson --output=turtle {file} > {stem}.ttl"
)
GEDCOM = (
    "GEDCOM is not read. Write a table with the header source,relation,target from it: of each FAM record a "
    "line for HUSB and WIFE, and one for each parent and CHIL"
)
RESULT = (
    "this is the result of a query as text. Save it as JSON in Neo4j Browser, or read the database: "
    "convert -g neo4j://localhost -o {stem}-KG.json"
)
PICKLE = (
    "pickle files are not read, because opening one can run code. Export the graph with "
    "networkx.write_graphml(graph, '{stem}.graphml'), or fast-graphrag's with "
    "GraphRAG(…).save_graphml('{stem}.graphml')"
)


# How the text of a file begins → why it is not read, and what to do.
BEGINNINGS = {
    LFS_POINTER: LFS,
    "0 HEAD": GEDCOM,
    r'(strict\s+)?(di)?graph\s*("[^"]*"|\w*)\s*\{': DOT,
    r"(var|let|const|window|module|export)\b[^\n=]*=?\s*[\[{]": SCRIPT,
    r'\{\s*"[^"]+"\s*:\s*\{\s*"[^"]+"\s*:\s*\[\s*\{[^{}\[]*"(uri|literal|bnode)"': RDF_JSON,
    r'[^\n]+\n"?\(:\w': RESULT,
    r"\s*(?:(?://|:)[^\n]*\n\s*)*(?:CREATE|MERGE|MATCH|UNWIND)\s*(?:\(|\[|CONSTRAINT|INDEX)": CYPHER,
}


def _reason(head: Head) -> Said | None:
    """Why a file is not read, and what to do; None for what another reader may take."""
    names = {"file": head.path.name, "stem": head.path.stem}
    if head.raw[:1] == b"\x80" and head.raw[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return said(PICKLE, **names)
    if head.raw[257:262] == b"ustar":
        return said(TAR)
    if "<Ontology" in head.text and "www.w3.org/2002/07/owl#" in head.text:
        return said(OWL, **names)
    begins = (begin for begin in BEGINNINGS if re.match(begin, head.text, re.I))
    return next((said(BEGINNINGS[begin], **names) for begin in begins), None)


@graph_format(
    "refused",
    "pickles, Cypher scripts, OWL/XML, archives: each with the way to a graph",
    lambda head: _reason(head) is not None,
    within=("graph_igraph_data.pklz", *(f"*{ending}" for ending in PICKLE_ENDINGS)),
    suffixes=(*CYPHER_ENDINGS, *PICKLE_ENDINGS),
)
def refuse(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    by_ending = CYPHER if path.name.endswith(CYPHER_ENDINGS) else PICKLE
    raise GraphError.at(path, _reason(Head(path)) or said(by_ending, file=path.name, stem=path.stem))
