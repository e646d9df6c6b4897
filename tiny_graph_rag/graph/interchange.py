"""The graph for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiny_graph_rag.errors import MissingExtraError

if TYPE_CHECKING:
    import networkx

    from tiny_graph_rag.graph.model import KnowledgeGraph


def to_networkx(graph: KnowledgeGraph) -> networkx.MultiDiGraph[str]:
    """See KnowledgeGraph.to_networkx."""
    try:
        import networkx
    except ImportError as error:
        raise MissingExtraError("to_networkx()", "networkx", "networkx") from error
    made: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(name=graph.name)
    entities, relations = graph.entities, graph.relations
    ids = list(entities.ids)
    for row, entity_id in enumerate(ids):
        made.add_node(
            entity_id,
            name=entities.names[row],
            entity_type=entities.types[row],
            description=entities.descriptions[row],
            aliases=entities.aliases[row],
            source_chunks=entities.source_chunks[row],
        )
    for row in range(len(relations)):
        made.add_edge(
            ids[relations.sources[row]],
            ids[relations.targets[row]],
            key=row,
            relationship_id=relations.ids[row],
            relationship_type=relations.types[row],
            description=relations.descriptions[row],
            weight=float(relations.weights[row]),
            source_chunks=relations.source_chunks[row],
        )
    return made
