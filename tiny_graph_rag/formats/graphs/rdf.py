"""RDF (with rdfs:label, skos:altLabel and the like), read by pyoxigraph, in whatever form it is written.

Resources are entities; literals are no nodes. A resource without a label is named by the last part of its
IRI; a relation's type is its predicate's label, else the last part of its IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.files import BYTE_ORDER_MARK, mapped
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.filling import fill_relations
from tiny_graph_rag.formats.graphs.graphml import DOCTYPE_REFUSED
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import Table, detail_text, words_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.building import looks_like_id
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL = "http://www.w3.org/2002/07/owl#"
ANYTHING = {f"{OWL}NamedIndividual", f"{OWL}Thing"}  # types of whatever has others
NAMING = {"name", "label", "title"}
PARTIAL = {"first", "last", "given", "family", "middle", "nick", "user", "short", "file", "country", "city"}
PREDICATES = {  # of literals, by their last part: RDFS, SKOS, Dublin Core, FOAF and schema.org agree
    **dict.fromkeys(("label", "prefLabel", "name"), Role.NAME),
    **dict.fromkeys(("altLabel", "hiddenLabel", "alternateName"), Role.ALIASES),
    **dict.fromkeys(("comment", "definition", "description"), Role.DESCRIPTION),
}
FORMS = {".nq": "N_QUADS", ".trig": "TRIG"}  # by the file's ending; N-Triples are Turtle
REMOTE = (
    "its @context is on the web, and nothing is downloaded. Copy the content of the @context into the file"
)
# Declarations that name more than a short text; Protégé's name the beginnings of IRIs.
_GROWING = re.compile(rb"<!ENTITY(?!\s+[\w.-]+\s+(['\"])[^'\"&%]{0,200}\1\s*>)")
_UNNAMED = re.compile("_:[0-9a-f]{24,32}")
IRI = r"<(?=[^>]*:)[^\s<>?!][^\s<>]*>"
TURTLE_MARKS = ("@prefix", "@base", "PREFIX ", "BASE ", "prefix ", "base ")


def _is_rdf(head: Head) -> bool:
    if "<rdf:RDF" in head.text:
        return True
    if head.is_json:
        return re.search(r'"@(?:context|graph|id)"\s*:', head.text) is not None
    lines = (line.strip() for line in head.text.split("\n")[:50])
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith((*TURTLE_MARKS, "_:")) or re.match(IRI, first) is not None


@graph_format(
    "RDF",
    "N-Triples, Turtle, N-Quads, TriG, RDF/XML and JSON-LD",
    _is_rdf,
    suffixes=(".nt", ".ttl", ".turtle", ".nq", ".trig", ".rdf", ".owl", ".jsonld"),
)
def read_rdf(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "RDF")
    resources: dict[str, _Resource] = {}
    edges: dict[tuple[str, str, str], None] = {}
    literals: set[str] = set()
    for subject, predicate, value, language in _triples(path):
        told = resources.setdefault(subject, _Resource())
        if language is not None:
            literals.add(last_part(predicate))
            told.add(predicate, value, language)
        elif value.startswith(XSD):
            rows.dropped("data types (no entities)", value)
        elif predicate == f"{RDF}type":
            told.types.append(value)
        elif value != f"{RDF}nil":  # the end of a list, whose nodes are blank
            resources.setdefault(value, _Resource())
            edges[subject, predicate, value] = None
    for iri, told in resources.items():
        if all(iri.endswith(text) for _, text in told.names):  # a label that says no more is no name
            told.name_by_literals()
    blank = {iri for iri, told in resources.items() if iri.startswith("_:") and not told.names}
    for iri in sorted(blank):
        rows.dropped("blank nodes without a name (no entities), with their relations", iri)
    kept = [fact for fact in edges if not blank.intersection(fact)]
    used = {end for source, _, target in kept for end in (source, target)}
    predicates = {predicate for _, predicate, _ in kept}
    others: dict[str, list[str]] = {}
    for iri in resources:
        others.setdefault(_label(iri, resources), []).append(iri)
    for iri, told in resources.items():
        if iri in predicates and iri not in used:
            rows.dropped("predicates that the file describes (they name relation types)", iri)
        elif iri not in blank:
            said_types = [type for type in told.types if type not in ANYTHING] or told.types
            types = [_label(type, resources) for type in said_types] or [""]
            details = {**told.details(), **({"types": types} if len(types) > 1 else {})}
            names = [*(text for _, text in told.names if text != told.name), *told.aliases]
            rows.entity(
                iri,
                name=_name(iri, resources, others),
                type=types[0],
                description=told.description,
                aliases=list(dict.fromkeys(names)),
                details=detail_text(details),
            )
    relations = [
        {"source": source, "target": target, "relation": _label(predicate, resources)}
        for source, predicate, target in kept
    ]
    fill_relations(rows, Table.of_records(relations, "relations"))
    rows.columns.clear()
    rows.means("file", {key: PREDICATES.get(key, Role.DETAIL) for key in sorted(literals)})
    return rows.graph()


class _Resource(Struct):
    """What literals and types say of a resource. names, literals: with their languages."""

    names: list[tuple[str, str]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    description: str = ""
    literals: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, predicate: str, value: str, language: str) -> None:
        role = PREDICATES.get(last_part(predicate))
        if role == Role.NAME:
            self.names.append((language, value))
        elif role == Role.ALIASES:
            self.aliases.append(value)
        elif role == Role.DESCRIPTION:
            self.description = self.description or value
        else:
            self.literals.setdefault(last_part(predicate), []).append((language, value))

    def name_by_literals(self) -> None:
        """Without a label, `name` or `title` is one, or `personName` of a Person; of others one alone."""
        types = {"has"}.union(*(words_of(last_part(type)) for type in self.types))
        told = {key: words_of(key) for key in self.literals}
        own = [key for key, words in told.items() if {*words[-1:]} & NAMING and types.issuperset(words[:-1])]
        others = [key for key, words in told.items() if {*words[-1:]} & {"name"} and not PARTIAL & {*words}]
        for key in [*own, *(others if len(others) == 1 else ())][:1]:
            self.names = self.literals.pop(key)

    def details(self) -> dict[str, Any]:
        several = {key: [text for _, text in values] for key, values in self.literals.items()}
        return {key: texts if len(texts) > 1 else texts[0] for key, texts in several.items()}

    @property
    def name(self) -> str:
        """Without a language first, then English, then the first; empty without one."""
        order = [*(text for wanted in ("", "en") for language, text in self.names if language == wanted)]
        return next(iter([*order, *(text for _, text in self.names)]), "")


def _triples(path: Path) -> Iterator[tuple[str, str, str, str | None]]:
    """Subject, predicate, value and the value's language; None for the language where it is a resource. Of
    what RDF-star says of a fact the fact alone. Blank nodes without a name, which the parser names at random,
    are numbered."""
    pyoxigraph = optional("pyoxigraph", said("reading RDF"), "rdf")
    buffer = mapped(path)
    form = getattr(pyoxigraph.RdfFormat, _form(path, bytes(buffer[: 1 << 16])))
    start = bytes(buffer[: max(buffer.find(b"<rdf:RDF"), 0)])
    if form == pyoxigraph.RdfFormat.RDF_XML and _GROWING.search(start):
        raise GraphError.at(path, said(DOCTYPE_REFUSED))
    if buffer.find(b"<rdf:RDF") >= 0 > buffer.find(b"</rdf:RDF"):  # which the parser doesn't miss
        raise GraphError.at(path, "the file is cut off: </rdf:RDF> is missing")
    blank: dict[str, str] = {}

    def key(resource: Any) -> str:
        text = str(resource)
        if text[:1] == "<":
            return str(resource.value)
        return blank.setdefault(text, f"_:b{len(blank) + 1}") if _UNNAMED.fullmatch(text) else text

    try:
        text = bytes(buffer).removeprefix(BYTE_ORDER_MARK)
        for quad in pyoxigraph.parse(text, format=form, lenient=True):
            subject, value = key(quad.subject), quad.object
            if isinstance(value, pyoxigraph.Literal):
                yield subject, quad.predicate.value, value.value, value.language or ""
            elif not isinstance(value, pyoxigraph.Triple):
                yield subject, quad.predicate.value, key(value), None
            elif not isinstance(value.object, pyoxigraph.Literal | pyoxigraph.Triple):
                yield key(value.subject), value.predicate.value, key(value.object), None
    except (SyntaxError, ValueError) as error:
        why = said(REMOTE) if "LoadDocumentCallback" in str(error) else error.args[0]
        line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
        place = f"{path}:{line}:{column}" if line else str(path)
        raise GraphError.at(
            place,
            "not {notation}: {why}. If another program reads the file, save it there as Turtle",
            notation=form.name,
            why=why,
        ) from error


def _form(path: Path, head: bytes) -> str:
    """pyoxigraph's name of what the file is written in."""
    start = head.lstrip()
    if b"<rdf:RDF" in head or start.startswith(b"<?xml"):
        return "RDF_XML"
    if start[:1] in (b"{", b"["):
        return "JSON_LD"
    return FORMS.get(Path(path.name.removesuffix(".gz")).suffix.lower(), "TURTLE")


def last_part(iri: str) -> str:
    """`http://example.org/Ben_Gunn` → `Ben Gunn`; of a blank node its own name."""
    tail = iri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or iri
    return unquote(tail).replace("_", " ").strip() or iri if not iri.startswith("_:") else iri


def _name(iri: str, resources: Mapping[str, _Resource], others: Mapping[str, Sequence[str]]) -> str:
    """The label; of several without one that end in one number, all that differs, and of several such as
    `…/Ann#me` and `…/Ben#me` what stands before the `#`."""
    label = _label(iri, resources)
    if len(others[label]) == 1 or resources[iri].name:
        return label
    if iri.endswith(f"#{label}"):
        return last_part(iri.partition("#")[0])
    levels = enumerate(zip(*(re.split("[/#]", other) for other in others[label]), strict=False))
    start = next((at for at, level in levels if len({*level}) > 1), 0)
    return last_part("%2F".join(re.split("[/#]", iri)[start:])) if looks_like_id(label) else label


def _label(iri: str, resources: Mapping[str, _Resource]) -> str:
    return (resources[iri].name if iri in resources else "") or last_part(iri)
