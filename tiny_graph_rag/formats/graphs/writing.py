"""Writing a graph for other programs: KG JSON, GraphML, node-link JSON, triples, a pair of Parquet files.

What each of them holds is read back by the readers next to this module: names, types, descriptions, aliases,
source chunks, weights and details survive in all but triples, which hold names, types, descriptions and
weights.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from tiny_graph_rag.errors import MissingExtraError, UsageError, nearest
from tiny_graph_rag.files import write_atomically
from tiny_graph_rag.formats.graphs.graphml import SEPARATOR
from tiny_graph_rag.formats.tables import TableWriter, guarded
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

ROWS_AT_ONCE = 1 << 14
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Record = dict[str, Any]


def form_of(target: Path, given: str | None) -> str:
    """The form to write: `given`, else by the target's suffix; a folder takes a Parquet pair."""
    if given is not None:
        if given not in FORMS:
            raise UsageError(
                said(
                    "unknown format {given}{near} Choices: {names}",
                    given=repr(given),
                    near=nearest(given, list(FORMS)) or ".",
                    names=", ".join(FORMS),
                )
            )
        return given
    name = target.name.lower()
    if name.endswith("node-link.json"):
        return "node-link"
    found = SUFFIXES.get(target.suffix.lower())
    if found is None:
        wanted = ", ".join([*(suffix for suffix in SUFFIXES if suffix), "a folder (Parquet)"])
        raise UsageError(
            said(
                "{target}: unknown format; set it with --format, or by suffix: {wanted}",
                target=target,
                wanted=wanted,
            )
        )
    return found


def files_of(target: Path, form: str) -> list[Path]:
    """What `write_graph` writes."""
    if form != "parquet":
        return [target]
    folder = target if target.suffix != ".parquet" else target.parent
    return [folder / f"{name}.parquet" for name in ("entities", "relationships")]


def write_graph(graph: KnowledgeGraph, target: Path, form: str) -> list[str]:
    """Write it, whole or not at all; a Parquet pair into the folder `target`.

    Returns what the form can't hold, in words.
    """
    if form == "parquet":
        tables = (_entity_table(graph), _relation_table(graph))
        for path, parts in zip(files_of(target, form), tables, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, parts)
        return []
    writer, losses = FORMS[form]
    write_atomically(target, _gathered(writer(graph, target)))
    return losses(graph)


def check_form(form: str) -> None:
    """Raises MissingExtraError before any work."""
    if form == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(said("writing Parquet"), "pyarrow", "parquet") from error


def entities(graph: KnowledgeGraph) -> Iterator[tuple[str, Record]]:
    """Ids and records with the fields of KG JSON, empty ones left out."""
    columns = graph.entities
    for row, (id, name, type, description, details) in enumerate(
        zip(columns.ids, columns.names, columns.types, columns.descriptions, columns.details, strict=True)
    ):
        record: Record = {"name": name, "entity_type": type}
        record |= {"description": description} if description else {}
        record |= _list("aliases", columns.aliases[row]) | _list("source_chunks", columns.source_chunks[row])
        yield id, record | _details(details)


def relations(graph: KnowledgeGraph) -> Iterator[Record]:
    columns, ids = graph.relations, list(graph.entities.ids)
    sources, targets = columns.sources.tolist(), columns.targets.tolist()
    weights = columns.weights.tolist()
    for row, (id, type, description, details) in enumerate(
        zip(columns.ids, columns.types, columns.descriptions, columns.details, strict=True)
    ):
        record: Record = {
            "relationship_id": id,
            "source_entity_id": ids[sources[row]],
            "target_entity_id": ids[targets[row]],
            "relationship_type": type,
        }
        record |= {"description": description} if description else {}
        record |= {"weight": weights[row]} if weights[row] != 1.0 else {}
        yield record | _list("source_chunks", columns.source_chunks[row]) | _details(details)


def _list(name: str, values: list[str]) -> Record:
    return {name: values} if values else {}


def _details(text: str) -> Record:
    found: Record = json.loads(text) if text else {}
    return found


def _kg_json(graph: KnowledgeGraph, target: Path) -> Iterator[str]:
    yield '{"entities": {\n'
    yield from _joined(f"{_json(id)}: {_json(record)}" for id, record in entities(graph))
    yield '\n}, "relationships": [\n'
    yield from _joined(map(_json, relations(graph)))
    yield "\n]}\n"


def _node_link(graph: KnowledgeGraph, target: Path) -> Iterator[str]:
    yield '{"directed": true, "multigraph": true, "graph": {}, "nodes": [\n'
    yield from _joined(_json({"id": id, **record}) for id, record in entities(graph))
    yield '\n], "links": [\n'
    renamed = {"source_entity_id": "source", "target_entity_id": "target", "relationship_id": "id"}
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for record in relations(graph):
        link = {renamed.get(key, key): value for key, value in record.items()}
        ends = link["source"], link["target"]
        rows.append({"key": seen[ends], **link})
        seen[ends] += 1
    yield from _joined(map(_json, rows))
    yield "\n]}\n"


def _graphml(graph: KnowledgeGraph, target: Path) -> Iterator[str]:
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


def _data(about: str, record: Record, columns: tuple[str, ...]) -> str:
    rest = {key: value for key, value in record.items() if key not in columns}
    values = {
        **{key: value for key, value in record.items() if key in columns},
        **({"details": rest} if rest else {}),
    }
    return "".join(f'<data key="{about}-{key}">{_text(value)}</data>' for key, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = SEPARATOR.join(value)
    elif not isinstance(value, str):
        value = _json(value)
    return escape(NO_XML.sub("\ufffd", value))


def _attribute(text: str) -> str:
    return quoteattr(NO_XML.sub("\ufffd", text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _unwritable_in_xml(graph: KnowledgeGraph) -> list[str]:
    columns = (
        graph.entities.ids,
        graph.entities.names,
        graph.entities.descriptions,
        graph.relations.descriptions,
    )
    texts = sum(bool(NO_XML.search(text)) for column in columns for text in column)
    return (
        [f"{texts:,} texts hold control characters that XML lacks; � stands in their place"] if texts else []
    )


def _triples(graph: KnowledgeGraph, target: Path) -> Iterator[str]:
    is_csv = target.suffix.lower() == ".csv"
    delimiter = "," if is_csv else "\t"
    plain = guarded if is_csv else str  # a spreadsheet opens CSV, and may run what stands in a cell
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
        writer.writerow((*map(plain, texts), weight, *map(plain, kinds)))
        if stream.tell() > 1 << 20:
            yield stream.getvalue()
            stream.seek(0)
            stream.truncate()
    yield stream.getvalue()


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


def _entity_table(graph: KnowledgeGraph) -> Iterator[bytes]:
    columns = graph.entities
    return _parquet(
        {
            "id": list(columns.ids),
            "title": list(columns.names),
            "type": list(columns.types),
            "description": list(columns.descriptions),
            "aliases": list(columns.aliases),
            "text_unit_ids": list(columns.source_chunks),
            "details": list(columns.details),
        },
        lists=("aliases", "text_unit_ids"),
    )


def _relation_table(graph: KnowledgeGraph) -> Iterator[bytes]:
    columns, ids, names = graph.relations, list(graph.entities.ids), list(graph.entities.names)
    sources, targets = columns.sources.tolist(), columns.targets.tolist()
    return _parquet(
        {
            "id": list(columns.ids),
            "source": [names[row] for row in sources],
            "target": [names[row] for row in targets],
            "source_id": [ids[row] for row in sources],
            "target_id": [ids[row] for row in targets],
            "relationship_type": list(columns.types),
            "description": list(columns.descriptions),
            "weight": columns.weights,
            "text_unit_ids": list(columns.source_chunks),
            "details": list(columns.details),
        },
        lists=("text_unit_ids",),
    )


def _parquet(columns: dict[str, Any], lists: tuple[str, ...]) -> Iterator[bytes]:
    import pyarrow
    import pyarrow.parquet

    kinds = {name: pyarrow.list_(pyarrow.string()) if name in lists else None for name in columns}
    arrays = {
        name: pyarrow.array(
            column, kinds[name] or (pyarrow.float64() if name == "weight" else pyarrow.string())
        )
        for name, column in columns.items()
    }
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(arrays), sink)
    yield bytes(sink.getvalue())


def _nothing(graph: KnowledgeGraph) -> list[str]:
    return []


Writer = Callable[[KnowledgeGraph, Path], Iterator[str]]
FORMS: dict[str, tuple[Writer, Callable[[KnowledgeGraph], list[str]]]] = {
    "kg-json": (_kg_json, _nothing),
    "graphml": (_graphml, _unwritable_in_xml),
    "node-link": (_node_link, _nothing),
    "triples": (_triples, _lost_in_triples),
    "parquet": (_kg_json, _nothing),  # by `write_graph` itself
}
SUFFIXES = {
    ".json": "kg-json",
    ".graphml": "graphml",
    ".tsv": "triples",
    ".csv": "triples",
    ".parquet": "parquet",
    "": "parquet",
}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(items: Iterable[str]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield f",\n{item}" if number else item


def _gathered(texts: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    for text in texts:
        waiting.append(text)
        if len(waiting) >= ROWS_AT_ONCE:
            yield "".join(waiting).encode("utf-8", "replace")
            waiting.clear()
    yield "".join(waiting).encode("utf-8", "replace")
