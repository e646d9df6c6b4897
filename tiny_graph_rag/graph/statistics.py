"""What a graph looks like: counts that tell whether retrieval has a chance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import numbered
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.namesakes import namesakes
from tiny_graph_rag.graph.tables import DANGLING, Origin
from tiny_graph_rag.language.folding import nfc

HUBS = 5  # entities with most relations that are named


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """degrees: quantile → relations an entity (0, .25, .5, .75, .95, 1). components: sizes, largest first.
    namesakes: (name, name) of each entity that looks like another one's long or short form, and of that."""

    entities: int
    relations: int
    entity_types: dict[str, int]
    relation_types: dict[str, int]
    degrees: dict[float, float]
    mean_degree: float
    hubs: tuple[tuple[str, int], ...]
    components: tuple[int, ...]
    aliases: int
    entities_with_aliases: int
    shared_names: tuple[tuple[str, int], ...]
    namesakes: tuple[tuple[str, str], ...]
    duplicate_relations: int
    self_loops: int
    dangling_relations: int
    origin: Origin


def statistics(graph: KnowledgeGraph) -> GraphStatistics:
    degrees = graph.adjacency.degrees
    names = Counter(nfc(name) for name in graph.entities.names)
    top = np.lexsort((graph.name_rank, -degrees))[:HUBS]
    relations = graph.relations
    aliases = np.diff(graph.entities.aliases.offsets)
    quantiles = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)
    return GraphStatistics(
        entities=len(graph),
        relations=len(relations),
        entity_types=_counted(graph.entities.types.codes, graph.entities.types.names),
        relation_types=_counted(relations.types.codes, relations.types.names),
        degrees=dict(zip(quantiles, np.quantile(degrees, quantiles).tolist(), strict=True)),
        mean_degree=float(degrees.mean()),
        hubs=tuple((graph.entities.names[row], int(degrees[row])) for row in top.tolist()),
        components=tuple(sorted(np.bincount(components(graph)).tolist(), reverse=True)),
        aliases=int(aliases.sum()),
        entities_with_aliases=int((aliases > 0).sum()),
        shared_names=tuple(
            sorted((text for text in names.items() if text[1] > 1), key=lambda pair: (-pair[1], pair[0]))
        ),
        namesakes=tuple(namesakes(graph)),
        duplicate_relations=len(relations.duplicates()),
        self_loops=int((relations.sources == relations.targets).sum()),
        dangling_relations=graph.notes.count(DANGLING),
        origin=graph.origin,
    )


def components(graph: KnowledgeGraph) -> NDArray[np.int64]:
    """(entities,) the component of each entity, from 0: labels hook to the least label next to them."""
    label = np.arange(len(graph), dtype=np.int64)
    sources, targets = graph.relations.sources.astype(np.int64), graph.relations.targets.astype(np.int64)
    while True:
        least = np.minimum(label[sources], label[targets])
        hooked = label.copy()
        np.minimum.at(hooked, label[sources], least)
        np.minimum.at(hooked, label[targets], least)
        while not np.array_equal(shorter := hooked[hooked], hooked):
            hooked = shorter
        if np.array_equal(hooked, label):
            return numbered(label)
        label = hooked


def _counted(codes: NDArray[np.int32], names: tuple[str, ...]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names)).tolist()
    return dict(sorted(zip(names, counts, strict=True), key=lambda pair: (-pair[1], pair[0])))
