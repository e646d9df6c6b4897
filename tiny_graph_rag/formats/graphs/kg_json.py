"""KG JSON, the upstream tool's own format: `{"entities": {id: {…}}, "relationships": [{…}]}`.

A large file goes straight into records; what is not plain there (an unknown key, NaN, an id twice, a mistake)
is read with care, which keeps it or says all that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import GraphError, InputError, Problems, json_kind
from tiny_graph_rag.files import BYTE_ORDER_MARK, decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import KG_JSON

if TYPE_CHECKING:
    from tiny_graph_rag.graph.building import GraphColumns

LOOKED_AT_BYTES = 1 << 28  # of a file that is not ours: looking takes five times its size
QUICK_FROM_BYTES = 1 << 19  # below, loading the decoder takes longer than it saves

# The modules that decode are imported where they are used: a graph from the cache needs none of them.


_ENTITIES_FIRST = re.compile(r'\s*\{\s*"entities"\s*:\s*([^\s\[]|$)')


def _is_kg_json(head: Head) -> bool:
    """A list of entities is some script's; see json_lists."""
    if _ENTITIES_FIRST.match(head.text):
        return True
    return "relationships" in head.keys and head.keys.get("entities", "{") != "[" and "nodes" not in head.keys


@graph_format(
    "KG JSON",
    "entities by id and a list of relationships, as the indexer of this project writes them",
    _is_kg_json,
    within=("*-KG.json", "*-KG.json.gz"),
    suffixes=(".json",),
)
def read_kg_json(paths: Sequence[Path]) -> KnowledgeGraph:
    """Load KG JSON. Raises GraphError listing all that is wrong (file, line or field, what came)."""
    path = paths[0]
    try:
        columns = (_quickly(path) if _size(path) >= QUICK_FROM_BYTES else None) or _with_care(path)
    except GraphError:
        if not _is_of_others(path):
            raise
        from tiny_graph_rag.formats.graphs.json_lists import read_lists

        return read_lists(paths)
    if not columns.entities:
        raise GraphError.at(path, "the graph has no entities; it needs one at least")
    columns.check_ends(path)
    return KnowledgeGraph.of_columns(columns, origin=KG_JSON)


def _is_of_others(path: Path) -> bool:
    """Whether entities are next to relations whose ends are called otherwise than here."""
    from tiny_graph_rag.formats.graphs.json_lists import lists_of

    try:
        if path.stat().st_size > LOOKED_AT_BYTES:
            return False
        document = json_of(path)
    except (InputError, OSError):
        return False
    if not isinstance(document, dict):
        return False
    lists = lists_of(document)
    records = [record for record in lists.relations if isinstance(record, dict)] if lists is not None else []
    ours = {"source_entity_id", "target_entity_id"}
    is_ours = "entities" in document and any(ours & record.keys() for record in records)
    return lists is not None and bool(lists.relations) and not is_ours


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it says what is wrong


def _plain(*kinds: type) -> type:
    """The whole file as records, where no key is unknown."""
    import msgspec

    entity, relation = (
        msgspec.defstruct(
            kind.__name__,
            [
                (
                    one.name,
                    get_type_hints(kind)[one.name],
                    *(() if one.default is MISSING else (one.default,)),
                )
                for one in fields(kind)
            ],
            forbid_unknown_fields=True,
            gc=False,
        )
        for kind in kinds
    )
    return msgspec.defstruct(
        "KnowledgeGraphFile",
        [("entities", dict[str, entity]), ("relationships", list[relation])],  # type: ignore[valid-type]
        forbid_unknown_fields=True,
    )


def _quickly(path: Path) -> GraphColumns | None:
    """None where the file has to be read with care."""
    import msgspec

    from tiny_graph_rag.graph.building import Entity, GraphColumns, Relation, RepeatedIdError

    raw = read_bytes(path)
    try:
        found: Any = msgspec.json.decode(raw.removeprefix(BYTE_ORDER_MARK), type=_plain(Entity, Relation))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if raw.count(b'"name"') > len(found.entities) or not all(
        row.name.strip() for row in found.entities.values()
    ):
        return None  # an id may stand there twice, of which the decoder takes the last
    columns = GraphColumns()
    try:
        columns.add_entities(list(found.entities), list(found.entities.values()), {})
        columns.add_relations(found.relationships, {})
    except RepeatedIdError:
        return None
    return columns


def _with_care(path: Path) -> GraphColumns:
    from tiny_graph_rag.graph.building import (
        SHAPE,
        TWICE,
        Entity,
        Extras,
        GraphColumns,
        Relation,
        check_parts,
        made,
    )

    text = decode_utf8(read_bytes(path), path)
    if not text.strip():
        raise GraphError.at(path, "the file is empty; {wanted}", wanted=SHAPE)
    twice: list[str] = []
    try:
        document = parse_json(text, twice=twice, halves=True)
    except NotJsonError as error:
        raise GraphError(error.at(path)) from error
    if not isinstance(document, dict):
        raise GraphError.at(path, "{wanted}, got {got}", wanted=SHAPE, got=json_kind(document))
    entities: Any = document.get("entities")
    relationships: Any = document.get("relationships")
    others = {} if isinstance(entities, dict) else {"entities": json_kind(entities)}
    others |= {} if isinstance(relationships, list) else {"relationships": json_kind(relationships)}
    check_parts(path, list(document), others)
    problems = Problems(GraphError)
    extras: Extras = {}
    entity_rows = [
        made(Entity, row, f"{path}: entities[{entity_id!r}]", problems, extras, number)
        for number, (entity_id, row) in enumerate(entities.items())
    ]
    relation_extras: Extras = {}
    relation_rows = [
        made(Relation, row, f"{path}: relationships[{number}]", problems, relation_extras, number)
        for number, row in enumerate(relationships)
    ]
    problems.check()
    columns = GraphColumns({entity_id: row for row, entity_id in enumerate(entities)})
    columns.notes.add(TWICE, [0] * len(twice), [repr(name) for name in twice])
    columns.add_entities(list(entities), [row for row in entity_rows if row is not None], extras)
    columns.add_relations([row for row in relation_rows if row is not None], relation_extras)
    return columns
