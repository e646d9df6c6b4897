"""Files that are refused, each with the way to a graph that is read.

A pickle runs code when it is opened, a Cypher script is for a database, ontologies are read as RDF, an
archive may hold anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.detection import LFS, LFS_POINTER, Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.tables import csv_rows
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
OURS = "this file holds the results of a command; give the graph itself"
PICKLE = (
    "pickle files are not read, because opening one can run code. Export the graph with "
    "networkx.write_graphml(graph, '{stem}.graphml'), or fast-graphrag's with "
    "GraphRAG(…).save_graphml('{stem}.graphml')"
)


# How the text of a file begins → why it is not read, and what to do.
BEGINNINGS = {
    LFS_POINTER: LFS,
    "0 HEAD": GEDCOM,
    r'\{\s*"schema_version":\s*\d+,\s*"package_version":': OURS,
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


# --- lines that are no table

# What each line is, and what is printed of the fields `f` of which of the lines `r`.
TARGETS = said("a source and its targets"), "f[0], 'RELATED_TO', t", "for t in f[1:] if t"
TRIPLE = said("source, relation and target"), "f[0], *f[1:-1] or ['RELATED_TO'], f[-1]", "if 1 < len(f) < 4"
WEIGHTED = said("source, target and a number"), "f[0], 'RELATED_TO', f[1]", "if len(f) == 3"
NOT_0 = "for t, n in zip(r[0][1:], f[1:]) if f != r[0] and n not in '0'"
MATRIX = said("a row of a matrix"), "f[0], 'RELATED_TO', t", NOT_0
# What such lines hold → their kind, and the pattern that parts them.
LINES = {
    "[-=]>": (TRIPLE, r"\s*\)?\s*(?:-+\[:?|\]?[-=]+>\|?|\||--+)\s*\(?\s*"),
    r"\S#": (TRIPLE, "#"),
    r"^[^,;\t]*([,;\t]-?[\d.]*){3,}$": (MATRIX, r"[,;\t]"),
    "[,:]": (TARGETS, r"\s*[,:]\s*"),
    r"^\S+\s+\S+\s+-?[\d.]+$": (WEIGHTED, r"\s+"),
    r"\S": (TARGETS, r"\s+"),
}


def lines_refused(path: Path) -> GraphError | None:
    """The refusal of lines that are no rows of one table, with a command that makes one of them; None where
    they are such rows, or no text."""
    text = Head(path).raw.decode("utf-8", "replace")
    lines = [line for line in text.splitlines()[:50] if line.strip() and line[:1] not in "#%"]
    held = (sign for sign in LINES if 3 * sum(bool(re.search(sign, line)) for line in lines) >= len(lines))
    kind, sign = LINES[next(held)]
    widths = Counter(len(row) for _, row in csv_rows(path, text, GraphError))
    width, count = widths.most_common(1)[0] if lines else (0, 0)
    if not lines or "\0" in text or (width != 1 and 10 * count > 9 * widths.total() and kind != MATRIX):
        return None
    return GraphError.at(
        path,
        "no table of relations; the first lines are: {lines}. If each holds {each}, this makes a table of "
        "them: python3 -c \"import re, sys; print('source', 'relation', 'target', sep='\\t'); "
        "r = [re.split(r'{sign}', (' ' + l).partition(' #')[0].strip(' ()\\n')) for l in sys.stdin]; "
        "[print({cells}, sep='\\t') for f in r {of}]\" < {file} > {stem}.tsv",
        lines=" / ".join(line[:60] for line in lines[:3]),
        each=kind[0],
        sign=sign,
        cells=kind[1],
        of=kind[2],
        file=path.name,
        stem=path.stem,
    )


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
