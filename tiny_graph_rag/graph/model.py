"""The knowledge graph: its tables, and the ways to make one and to take it elsewhere.

Entities and relations are row numbers everywhere inside the program; ids and names come back only when
something is shown or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stored import Arrays, Build, Derived
from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError, MissingExtraError
from tiny_graph_rag.graph.tables import (
    Adjacency,
    Entities,
    LoadNotes,
    Origin,
    Relations,
    Tables,
    rank_by_name,
)
from tiny_graph_rag.messages import Said, said

if TYPE_CHECKING:
    import networkx
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class KnowledgeGraph:
    """entities, relations and adjacency, with what the tie-break order needs.

    vocabulary: relation or entity type → words that people use for it, from its owner.
    name_rank: int32 (entities,), each entity's place when all are sorted by (NFC name, id): the last
    tie-break of every ranking. sha256: of the file's bytes (of several files: of their sums), "" when the
    graph was not read from a file.
    """

    entities: Entities
    relations: Relations
    adjacency: Adjacency
    name_rank: NDArray[np.int32]
    name: str = ""
    sha256: str = ""
    notes: LoadNotes = field(default_factory=LoadNotes)
    origin: Origin = field(default_factory=Origin)
    vocabulary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    derivations: Derived = field(default_factory=Derived)

    @classmethod
    def of(
        cls, entities: Entities, relations: Relations, *, name: str = "", notes: LoadNotes | None = None
    ) -> KnowledgeGraph:
        adjacency = Adjacency.of(len(entities), relations.sources, relations.targets)
        rank = rank_by_name(list(entities.names), entities.ids)
        return cls(entities, relations, adjacency, rank, name, notes=notes or LoadNotes())

    def extended_by(self, names: Sequence[str], type: str) -> KnowledgeGraph:
        """The same graph with an entity of this type more for each name; they have no relations.

        Rows keep their numbers; what was derived of the graph is derived again.
        """
        if not names:
            return self
        known = set(self.entities.ids)
        ids = [name if name not in known else f"{name} (not in the graph)" for name in names]
        old, more = self.entities, len(names)
        nothing = [""] * more
        entities = Entities(
            ids=Strings.of([*old.ids, *ids]),
            names=Strings.of([*old.names, *names]),
            types=Categories.of([*old.types, *[type] * more]),
            descriptions=Strings.of([*old.descriptions, *nothing]),
            aliases=StringLists.of([*old.aliases, *[[]] * more]),
            source_chunks=StringLists.of([*old.source_chunks, *[[]] * more]),
            details=Strings.of([*old.details, *nothing]),
        )
        made = KnowledgeGraph.of(entities, self.relations, name=self.name, notes=self.notes)
        return replace(made, sha256=self.sha256, origin=self.origin, vocabulary=self.vocabulary)

    @classmethod
    def of_tables(cls, tables: Tables, *, name: str = "") -> KnowledgeGraph:
        return cls(
            tables.entities,
            tables.relations,
            tables.adjacency,
            tables.name_rank,
            name,
            notes=tables.notes,
            origin=tables.origin,
        )

    @property
    def tables(self) -> Tables:
        """What a reader made of the graph's files."""
        return Tables(self.entities, self.relations, self.adjacency, self.name_rank, self.notes, self.origin)

    @classmethod
    def from_records(
        cls,
        entities: Mapping[str, Mapping[str, Any]] | Iterable[Mapping[str, Any]],
        relationships: Iterable[Mapping[str, Any]] = (),
        *,
        name: str = "",
    ) -> KnowledgeGraph:
        """Of records with the fields of KG JSON (README, "Your own graph and questions").

        entities: {id: record}, or records whose id is their `entity_id`, else their `name`; only `name` is
        needed. relationships: records; only `source_entity_id` and `target_entity_id`, ids of entities, are
        needed. Unknown keys are kept; a relationship without one of its ends is left out and counted in
        `.notes`. Raises GraphError with every record that can't be used, two entities of one id, and no
        entity at all.
        """
        from tiny_graph_rag.graph.building import tables_of_records  # a cached graph needs none of it

        records: dict[Any, Any] = dict(entities) if isinstance(entities, Mapping) else {}
        problems: list[Said] = []
        for number, record in enumerate(() if isinstance(entities, Mapping) else entities):
            key = (record.get("entity_id") or record.get("name")) if isinstance(record, dict) else None
            key = key if isinstance(key, str) else number  # messages name it by its number
            if key in records:
                problems.append(
                    said(
                        "{shown}: the id {id} is used already; give each entity its 'entity_id'",
                        shown=f"entities[{number}]",
                        id=repr(key),
                    )
                )
            records[key] = record
        tables = tables_of_records(records, list(relationships), problems=problems)
        return cls.of_tables(tables, name=name)

    @classmethod
    def from_triples(cls, triples: Iterable[Sequence[str]], *, name: str = "") -> KnowledgeGraph:
        """Of (source, relation, target) names, each entity's id being its name, in order of appearance.

        Raises GraphError for anything that is not three names, and for no triple at all.
        """
        rows, problems = [], []
        for number, triple in enumerate(triples):
            sound = not isinstance(triple, str) and len(triple) == 3
            if sound and all(isinstance(part, str) and part.strip() for part in triple):
                rows.append(tuple(triple))
            else:
                problems.append(
                    said(
                        "triples[{number}]: wanted (source, relation, target) in words, got {triple}",
                        number=number,
                        triple=f"{triple!r:.80}",
                    )
                )
        if problems:
            raise GraphError(*problems)
        names = dict.fromkeys(end for source, _, target in rows for end in (source, target))
        return cls.from_records(
            {text: {"name": text} for text in names},
            (
                {"source_entity_id": source, "relationship_type": relation, "target_entity_id": target}
                for source, relation, target in rows
            ),
            name=name,
        )

    @classmethod
    def from_networkx(cls, graph: networkx.Graph[Any], *, name: str = "") -> KnowledgeGraph:
        """Of any networkx graph; what `to_networkx` gives comes back as it was.

        Of a node: `name`, else `label`, else the node itself; `entity_type` or `type`; `description`;
        `aliases`. Of an edge: `relationship_type`, else `relation`, `type` or `label`; `description`;
        `weight`. Everything else is kept as an unknown key. Raises GraphError.
        """
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise GraphError("wanted a networkx graph, got {name}", name=type(graph).__name__)
        entities = {
            str(node): _renamed(data, {"name": ("label",), "entity_type": ("type",)}, name=str(node))
            for node, data in graph.nodes(data=True)
        }
        if len(entities) < len(graph):
            raise GraphError("two nodes of the networkx graph are spelled the same; relabel them first")
        kinds = {"relationship_type": ("relation", "type", "label")}
        relations = [
            {**_renamed(data, kinds), "source_entity_id": str(source), "target_entity_id": str(target)}
            for source, target, data in graph.edges(data=True)
        ]
        return cls.from_records(entities, relations, name=name or str(graph.graph.get("name", "")))

    def __len__(self) -> int:
        return len(self.entities)

    def __repr__(self) -> str:
        counts = f"{len(self):,} entities, {len(self.relations):,} relations"
        return f"KnowledgeGraph({self.name!r}, {'; '.join([counts, *map(str, self.notes.lines())])})"

    def derived(self, name: str, build: Build) -> Arrays:
        """Named arrays that follow from this graph alone, such as an index.

        Built once; of a cached graph they lie memory-mapped next to its columns, and are built again when the
        module of `build`, or what the graph cache itself depends on, has changed. name: a file name.
        """
        return self.derivations.get(name, build)

    def shared(self, key: object, make: Callable[[], T]) -> T:
        """What retrievers of one graph learn of it, made by the first; key: all that it depends on."""
        known = self.derivations.shared
        if key not in known:
            known[key] = make()
        found: T = known[key]
        return found

    @property
    def row_of_id(self) -> Mapping[str, int]:
        """Id → row of the entity."""
        return self.shared("row_of_id", lambda: {id: row for row, id in enumerate(self.entities.ids)})

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """The same graph for networkx: nodes are entity ids, edge keys relation rows.

        Raises MissingExtraError where networkx is not installed.
        """
        try:
            import networkx
        except ImportError as error:
            raise MissingExtraError("to_networkx()", "networkx", "networkx") from error
        made: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=self.name)
        entities, relations = self.entities, self.relations
        of_entities = {
            "name": entities.names,
            "entity_type": entities.types,
            "description": entities.descriptions,
            "aliases": entities.aliases,
            "source_chunks": entities.source_chunks,
        }
        of_relations = {
            "relationship_id": relations.ids,
            "relationship_type": relations.types,
            "description": relations.descriptions,
            "weight": relations.weights.tolist(),
            "source_chunks": relations.source_chunks,
        }
        ids = list(entities.ids)
        for row, entity_id in enumerate(ids):
            made.add_node(entity_id, **{name: column[row] for name, column in of_entities.items()})
        for row, (source, target) in enumerate(zip(relations.sources, relations.targets, strict=True)):
            values = {name: column[row] for name, column in of_relations.items()}
            made.add_edge(ids[source], ids[target], key=row, **values)
        return made


def _renamed(data: Mapping[str, Any], keys: Mapping[str, Sequence[str]], **otherwise: str) -> dict[str, Any]:
    """A record with the names of KG JSON. keys: field → what else it is called, the first found counts."""
    record = dict(data)
    for field_name, others in keys.items():
        for other in others:
            if field_name not in record and isinstance(record.get(other), str):
                record[field_name] = record.pop(other)
    return {**otherwise, **record}
