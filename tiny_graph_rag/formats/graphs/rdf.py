"""RDF (with rdfs:label, skos:altLabel and the like), read by pyoxigraph, in whatever form it is written.

Resources are entities; literals are no nodes. A resource without a label is named by the last part of its
IRI; a relation's type is its predicate's label, else the last part of its IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.files import mapped
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.filling import fill_records
from tiny_graph_rag.formats.graphs.graphml import DOCTYPE_REFUSED
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
SKOS, SCHEMA = "http://www.w3.org/2004/02/skos/core#", "schema.org/"
NAMES = (f"{RDFS}label", f"{SKOS}prefLabel", "http://xmlns.com/foaf/0.1/name")
ALTERNATIVES = (f"{SKOS}altLabel", f"{SKOS}hiddenLabel")
DESCRIPTIONS = (
    f"{RDFS}comment",
    f"{SKOS}definition",
    "http://purl.org/dc/terms/description",
    "http://purl.org/dc/elements/1.1/description",
)
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = f"{RDF}type"
ROLES = {
    "rdfs:label, skos:prefLabel, foaf:name, schema:name": f"{Role.NAME}, in further languages {Role.ALIASES}",
    "skos:altLabel, skos:hiddenLabel, schema:alternateName": Role.ALIASES,
    "rdf:type": Role.TYPE,
    "rdfs:comment, skos:definition, dc:description, schema:description": Role.DESCRIPTION,
    "other literals": Role.DETAIL,
}
# By the file's ending; without one it is Turtle or N-Triples.
FORMS = {
    ".nt": ("N-Triples", "N_TRIPLES"),
    ".ttl": ("Turtle", "TURTLE"),
    ".turtle": ("Turtle", "TURTLE"),
    ".nq": ("N-Quads", "N_QUADS"),
    ".trig": ("TriG", "TRIG"),
    ".rdf": ("RDF/XML", "RDF_XML"),
    ".owl": ("RDF/XML", "RDF_XML"),
    ".jsonld": ("JSON-LD", "JSON_LD"),
}
TURTLE_MARKS = ("@prefix", "@base", "PREFIX ", "BASE ", "prefix ", "base ")


def _is_rdf(head: Head) -> bool:
    if "<rdf:RDF" in head.text or {"@context", "@graph"} & head.keys.keys():
        return True
    if head.text[:1] == "[":
        return '"@id"' in head.text
    lines = (line.strip() for line in head.text.split("\n")[:50])
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith((*TURTLE_MARKS, "_:")) or _is_iri(first)


def _is_iri(line: str) -> bool:
    return re.match(r"<[^\s<>?!][^\s<>]*>", line) is not None and ":" in line[: line.index(">")]


@graph_format(
    "RDF",
    "N-Triples, Turtle, N-Quads, TriG, RDF/XML and JSON-LD",
    _is_rdf,
    suffixes=(".nt", ".ttl", ".turtle", ".nq", ".trig", ".rdf", ".owl", ".jsonld"),
)
def read_rdf(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "RDF")
    names: dict[str, list[tuple[str, str]]] = {}
    aliases: dict[str, list[str]] = {}
    types: dict[str, list[str]] = {}
    descriptions: dict[str, str] = {}
    details: dict[str, dict[str, Any]] = {}
    resources: dict[str, None] = {}
    edges: list[tuple[str, str, str]] = []
    facts: dict[str, tuple[str, str, str]] = {}  # what a node says something about, as RDF-star has it
    for subject, predicate, value, language in _triples(path):
        if isinstance(value, tuple):
            facts[subject] = value
            continue
        resources.setdefault(subject)
        if language is None and value.startswith(XSD):
            rows.dropped("data types (no entities)", value)
        elif language is None and value == f"{RDF}nil":
            continue  # the end of a list, whose nodes are blank
        elif language is None:  # another resource
            if predicate == RDF_TYPE:
                types.setdefault(subject, []).append(value)
            else:
                resources.setdefault(value)
                edges.append((subject, predicate, value))
        elif predicate in NAMES or predicate.endswith(f"{SCHEMA}name"):
            names.setdefault(subject, []).append((language, value))
        elif predicate in ALTERNATIVES or predicate.endswith(f"{SCHEMA}alternateName"):
            aliases.setdefault(subject, []).append(value)
        elif predicate in DESCRIPTIONS or predicate.endswith(f"{SCHEMA}description"):
            descriptions.setdefault(subject, value)
        else:
            kept = details.setdefault(subject, {})
            key = last_part(predicate)
            kept[key] = value if key not in kept else [*_list(kept[key]), value]
    edges += [fact for fact in dict.fromkeys(facts.values()) if fact not in set(edges)]
    for source, _, target in facts.values():
        resources.update(dict.fromkeys((source, target)))
    blank = {iri for iri in resources if iri.startswith("_:") and iri not in names}
    for iri in sorted(blank - facts.keys()):
        rows.dropped("blank nodes without a name (no entities), with their relations", iri)
    resources = {iri: None for iri in resources if iri not in blank}
    edges = [edge for edge in edges if not blank.intersection(edge)]
    about: dict[tuple[str, str, str], dict[str, Any]] = {}
    for node, fact in facts.items():
        about.setdefault(fact, {}).update(details.get(node, {}))
    used = {end for source, _, target in edges for end in (source, target)}
    named = {iri: _best(found) for iri, found in names.items()}
    predicates = {predicate for _, predicate, _ in edges}
    entities: list[dict[str, Any]] = []
    for iri in resources:
        if iri in predicates and iri not in used:
            rows.dropped("predicates that the file describes (they name relation types)", iri)
            continue
        name = named.get(iri, "")
        others = [text for _, text in names.get(iri, ()) if text != name]
        record = {
            "<id>": iri,
            "<name>": name or last_part(iri),
            "<type>": _label(types[iri][0], named) if iri in types else "",
            "<description>": descriptions.get(iri, ""),
            "<aliases>": list(dict.fromkeys([*others, *aliases.get(iri, ())])),
        }
        entities.append({**record, **details.get(iri, {}), **_more_types(types.get(iri, ()), named)})
    relations: list[dict[str, Any]] = []
    for source, predicate, target in edges:
        ends = {"<source>": source, "<target>": target, "<type>": _label(predicate, named)}
        relations.append({**ends, **about.get((source, predicate, target), {})})
    fill_records(rows, entities, relations, edge_roles={"weight": Role.WEIGHT})
    rows.columns.clear()
    rows.means("file", ROLES)
    return rows.graph()


def _triples(path: Path) -> Iterator[tuple[str, str, Any, str | None]]:
    """Subject, predicate, value and the value's language; None for the language where it is a resource, or a
    fact: its three resources."""
    pyoxigraph = optional("pyoxigraph", said("reading RDF"), "rdf")
    buffer = mapped(path)
    notation, form = _form(path, bytes(buffer[: 1 << 16]))
    if form == "RDF_XML" and -1 < buffer.find(b"<!DOCTYPE") < buffer.find(b"<rdf:RDF"):
        raise GraphError.at(path, said(DOCTYPE_REFUSED))
    try:
        for quad in pyoxigraph.parse(bytes(buffer), format=getattr(pyoxigraph.RdfFormat, form)):
            if isinstance(quad.object, pyoxigraph.Triple):
                fact = quad.object
                if not isinstance(fact.object, pyoxigraph.Literal | pyoxigraph.Triple):
                    yield (
                        _key(quad.subject),
                        "",
                        (_key(fact.subject), fact.predicate.value, _key(fact.object)),
                        None,
                    )
            elif isinstance(quad.object, pyoxigraph.Literal):
                yield _key(quad.subject), quad.predicate.value, quad.object.value, quad.object.language or ""
            else:
                yield _key(quad.subject), quad.predicate.value, _key(quad.object), None
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
        place = f"{path}:{line}:{column}" if line else str(path)
        raise GraphError.at(place, "not {notation}: {why}", notation=notation, why=error.args[0]) from error


def _form(path: Path, head: bytes) -> tuple[str, str]:
    """What the file is written in: in words, and pyoxigraph's name of it."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if b"<rdf:RDF" in head:
        return FORMS[".rdf"]
    if head.lstrip().startswith(tuple(mark.encode() for mark in TURTLE_MARKS)) and ending != ".trig":
        return FORMS[".ttl"]
    if head.lstrip()[:1] in (b"{", b"["):
        return FORMS[".jsonld"]
    if ending in FORMS:
        return FORMS[ending]
    return FORMS[".ttl" if b"@prefix" in head else ".nt"]


def _key(resource: Any) -> str:
    return str(resource) if str(resource)[:1] != "<" else str(resource.value)


def last_part(iri: str) -> str:
    """`http://example.org/Ben_Gunn` → `Ben Gunn`; of a blank node its own name."""
    tail = iri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or iri
    return unquote(tail).replace("_", " ").strip() or iri if not iri.startswith("_:") else iri


def _label(iri: str, named: dict[str, str]) -> str:
    return named.get(iri) or last_part(iri)


def _best(found: list[tuple[str, str]]) -> str:
    """Without a language first, then English, then the first."""
    preferred = (text for wanted in ("", "en") for language, text in found if language == wanted)
    return next(preferred, found[0][1])


def _more_types(types: Sequence[str], named: dict[str, str]) -> dict[str, Any]:
    return {"types": [_label(type_, named) for type_ in types]} if len(types) > 1 else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
