"""KG JSON, the upstream tool's own format: `{"entities": {id: {…}}, "relationships": [{…}]}`.

Two ways lead to the same graph: a sound file is decoded piece by piece straight into columns; anything that
can't be taken so (NaN, a mistake) is read again as a whole with the standard library, which either loads
it or says everything that is wrong with it.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, mapped, read_bytes
from tiny_graph_rag.graph.formats import graph_format
from tiny_graph_rag.graph.model import KnowledgeGraph

if TYPE_CHECKING:
    from tiny_graph_rag.graph.formats.kg_columns import GraphColumns

# The modules that decode are imported where they are used: a graph from the cache needs none of them.


@graph_format(".json", ".json.gz")
def read_kg_json(path: Path) -> KnowledgeGraph:
    """Load KG JSON. Raises GraphError listing all that is wrong (file, line or field, what came)."""
    columns = _in_pieces(path) or _with_care(path)
    if not columns.row_of:
        raise GraphError(f"{path}: the graph has no entities; there is nothing to retrieve")
    return columns.graph()


def _in_pieces(path: Path) -> GraphColumns | None:
    from tiny_graph_rag.graph.formats.kg_columns import GraphColumns, RepeatedKeyError
    from tiny_graph_rag.graph.formats.kg_pieces import NotPlainError, Pieces

    columns = GraphColumns()
    collecting = gc.isenabled()
    gc.disable()  # a piece's records hold no cycles; looking for some doubles the time
    try:
        pieces = Pieces(mapped(path))
        for entities in pieces.entities():
            columns.add_entities(*entities)
        for relations in pieces.relations():
            columns.add_relations(*relations)
    except (NotPlainError, RepeatedKeyError):
        return None
    finally:
        if collecting:
            gc.enable()
    return columns


def _with_care(path: Path) -> GraphColumns:
    from tiny_graph_rag.graph.formats.kg_columns import GraphColumns
    from tiny_graph_rag.graph.formats.kg_records import Entity, Extras, Relation, made

    text = decode_utf8(read_bytes(path), path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise GraphError(f"{path}: not a knowledge graph: nested too deeply") from error
    shape = 'wanted {"entities": {id: {"name": …}}, "relationships": [{…}]}'
    if not isinstance(document, dict):
        raise GraphError(f"{path}: {shape}, got {json_kind(document)}")
    missing = [key for key in ("entities", "relationships") if key not in document]
    if missing:
        keys = ", ".join(map(repr, list(document)[:5])) or "no keys"
        raise GraphError(f"{path}: {shape}; missing: {' and '.join(map(repr, missing))} (it has {keys})")
    entities, relationships = document["entities"], document["relationships"]
    problems: list[str] = []
    if not isinstance(entities, dict):
        problems.append(f"{path}: 'entities' must be an object from id to entity, got {json_kind(entities)}")
    if not isinstance(relationships, list):
        problems.append(f"{path}: 'relationships' must be a list, got {json_kind(relationships)}")
    if problems:
        raise GraphError(*problems)
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
    if problems:
        raise GraphError(*problems)
    columns = GraphColumns()
    columns.add_entities(list(entities), [row for row in entity_rows if row is not None], extras)
    columns.add_relations([row for row in relation_rows if row is not None], relation_extras)
    return columns
