"""Writing a graph for other programs: KG JSON, GraphML, triples.

What each of them holds is read back by the readers next to this module: names, types, descriptions, aliases,
source chunks, weights and details survive in all but triples, which hold names, types, descriptions and
weights.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from tiny_graph_rag.formats.graphs.table import SEPARATOR
from tiny_graph_rag.formats.tables import TableWriter, guarded
from tiny_graph_rag.formats.writing import Form
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.outputs import write_atomically

ROWS_AT_ONCE = 1 << 14
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Fields = dict[str, Any]


def write_graph(graph: KnowledgeGraph, target: Path, form: str) -> list[str]:
    """Write it, whole or not at all. Returns what the form can't hold, in words."""
    writer = GRAPH_FORMS[form]
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, in_pieces(writer.write(graph, target)))
    return writer.losses(graph)


def in_pieces(texts: Iterable[str | bytes]) -> Iterator[bytes]:
    """Bytes in larger pieces of many short texts; bytes as they are."""
    texts = iter(texts)
    while several := list(islice(texts, ROWS_AT_ONCE)):
        yield b"".join(
            text if isinstance(text, bytes) else text.encode("utf-8", "replace") for text in several
        )


def entities(graph: KnowledgeGraph) -> Iterator[tuple[str, Fields]]:
    """Ids and records with the fields of KG JSON, empty ones left out."""
    columns = graph.entities
    for row, (id, name, type, description, details) in enumerate(
        zip(columns.ids, columns.names, columns.types, columns.descriptions, columns.details, strict=True)
    ):
        lists = {"aliases": columns.aliases[row], "source_chunks": columns.source_chunks[row]}
        yield id, _whole({"name": name, "entity_type": type}, {"description": description, **lists}, details)


def relations(graph: KnowledgeGraph) -> Iterator[Fields]:
    columns, ids = graph.relations, list(graph.entities.ids)
    sources, targets = columns.sources.tolist(), columns.targets.tolist()
    weights = columns.weights.tolist()
    for row, (id, type, description, details) in enumerate(
        zip(columns.ids, columns.types, columns.descriptions, columns.details, strict=True)
    ):
        record = {
            "relationship_id": id,
            "source_entity_id": ids[sources[row]],
            "target_entity_id": ids[targets[row]],
            "relationship_type": type,
        }
        more = {"weight": weights[row], "source_chunks": columns.source_chunks[row]}
        yield _whole(record, {"description": description, **more}, details)


def _whole(record: Fields, more: Fields, details: str) -> Fields:
    """With what says something; a detail called like a field of ours gets a `_`, or it would replace it."""
    record |= {key: value for key, value in more.items() if value not in ("", [], 1.0)}
    return record | {key + "_" * (key in record): value for key, value in json.loads(details or "{}").items()}


def kg_json(graph: KnowledgeGraph, path: Path) -> Iterator[str]:
    yield '{"entities": {\n'
    yield from _joined(f"{_json(id)}: {_json(record)}" for id, record in entities(graph))
    yield '\n}, "relationships": [\n'
    yield from _joined(map(_json, relations(graph)))
    yield "\n]}\n"


def graphml(graph: KnowledgeGraph, path: Path) -> Iterator[str]:
    columns = ("name", "entity_type", "description", "aliases", "source_chunks", "details")
    edge_columns = ("relationship_type", "description", "weight", "source_chunks", "details")
    yield '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for about, names in (("node", columns), ("edge", edge_columns)):
        for name in names:
            kind = "double" if name == "weight" else "string"
            yield f'  <key id="{about}-{name}" for="{about}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '  <graph edgedefault="directed">\n'
    for id, record in entities(graph):
        yield f"    <node id={_attribute(id)}>{_data('node', record, columns)}</node>\n"
    for record in relations(graph):
        ends = "source", "target"
        id, source, end = (
            record.pop(key) for key in ("relationship_id", *(f"{end}_entity_id" for end in ends))
        )
        head = f"id={_attribute(id)} source={_attribute(source)} target={_attribute(end)}"
        yield f"    <edge {head}>{_data('edge', record, edge_columns)}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _data(about: str, record: Fields, columns: tuple[str, ...]) -> str:
    rest = {key: value for key, value in record.items() if key not in columns}
    values = {key: record[key] for key in columns if key in record} | ({"details": rest} if rest else {})
    return "".join(f'<data key="{about}-{key}">{_text(value)}</data>' for key, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = SEPARATOR.join(value)
    elif not isinstance(value, str):
        value = _json(value)
    return escape(NO_XML.sub("\ufffd", value))


def _attribute(text: str) -> str:
    return quoteattr(NO_XML.sub("\ufffd", text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _lost_in_triples(graph: KnowledgeGraph) -> list[str]:
    lone = int((np.diff(graph.adjacency.indptr) == 0).sum())
    shared = len(graph) - len(set(graph.entities.names))
    held = {
        "descriptions of entities": sum(map(bool, graph.entities.descriptions)),
        "aliases": len(graph.entities.aliases.items),
        "source chunks": len(graph.entities.source_chunks.items) + len(graph.relations.source_chunks.items),
        "details": sum(map(bool, graph.entities.details)) + sum(map(bool, graph.relations.details)),
        "entities without a relation": lone,
        "entities that share a name with another (they become one)": shared,
    }
    lost = [f"{count:,} {what}" for what, count in held.items() if count]
    return [f"triples can't hold: {', '.join(lost)}"] if lost else []


def triples(graph: KnowledgeGraph, path: Path) -> Iterator[str]:
    is_csv = path.suffix.lower() == ".csv"
    delimiter = "," if is_csv else "\t"
    names, types = list(graph.entities.names), list(graph.entities.types)
    stream = io.StringIO()
    writer = TableWriter(stream, delimiter)
    writer.writerow(("source", "relation", "target", "description", "weight", "source_type", "target_type"))
    columns = graph.relations
    rows = zip(
        columns.sources.tolist(),
        columns.types,
        columns.targets.tolist(),
        columns.descriptions,
        columns.weights.tolist(),
        strict=True,
    )
    for source, type, end, description, weight in rows:
        texts = (names[source], type, names[end], description)
        kinds = (types[source], types[end])
        writer.writerow((*map(guarded, texts), weight, *map(guarded, kinds)))
        if stream.tell() > 1 << 20:
            yield stream.getvalue()
            stream.seek(0)
            stream.truncate()
    yield stream.getvalue()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(items: Iterable[str]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield f",\n{item}" if number else item


GRAPH_FORMS = {
    "kg-json": Form(kg_json, (".json",)),
    "graphml": Form(graphml, (".graphml",)),
    "triples": Form(triples, (".tsv", ".csv"), losses=_lost_in_triples),
}
