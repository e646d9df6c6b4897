"""The whole graph as a page of the same make: `visualize`.

What is drawn is chosen by rules that the page states: types and weight first, then, where there is more than
fits, the entities with most relations. Positions come from a fixed spring layout, the same on every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said
from tiny_graph_rag.report.html import page

SCRIPTS = ("data.js", "dom.js", "layout.js", "graph.js")
STEPS = 300  # of the layout: more moves nothing that an eye would see at some hundred entities


@dataclass(frozen=True, slots=True)
class Core:
    """entities, relations: rows that are drawn. left_out: in words, what isn't and why."""

    entities: NDArray[np.int64]
    relations: NDArray[np.int64]
    left_out: tuple[str, ...]


def graph_page(graph: KnowledgeGraph, core: Core) -> str:
    place = {row: at for at, row in enumerate(core.entities.tolist())}
    sources = [place[row] for row in graph.relations.sources[core.relations].tolist()]
    targets = [place[row] for row in graph.relations.targets[core.relations].tolist()]
    spots = spring_layout(len(core.entities), np.array(sources, dtype=int), np.array(targets, dtype=int))
    known = graph.entities
    data: dict[str, Any] = {
        "name": graph.name,
        "entities": len(graph),
        "relations": len(graph.relations),
        "leftOut": list(core.left_out),
        "nodes": {
            "name": [known.names[row] for row in core.entities.tolist()],
            "type": [known.types[row] for row in core.entities.tolist()],
            "description": [known.descriptions[row] for row in core.entities.tolist()],
            "x": spots[:, 0].round(4).tolist(),
            "y": spots[:, 1].round(4).tolist(),
        },
        "edges": {
            "source": sources,
            "target": targets,
            "type": [graph.relations.types[row] for row in core.relations.tolist()],
        },
    }
    return page(graph.name, data, SCRIPTS)


def core_of(
    graph: KnowledgeGraph, *, types: tuple[str, ...] = (), min_weight: float = 0.0, most: int = 200
) -> Core:
    """What is drawn of a graph. types: entity types to keep, all where empty. most: entities at most.

    Raises UsageError for a type that the graph doesn't have, and where nothing is left.
    """
    known = graph.entities.types.names
    for type_ in types:
        if type_ not in known:
            listed = nearest(type_, known) or f"; it has: {', '.join(known[:12])}"
            raise UsageError(
                "no entity of {name} has the type {value}{listed}",
                name=graph.name,
                value=repr(type_),
                listed=listed,
            )
    kept = np.ones(len(graph), dtype=bool)
    if types:
        kept = np.isin(graph.entities.types.codes, [known.index(type_) for type_ in types])
    relations = graph.relations
    heavy = relations.weights >= min_weight
    inside = heavy & kept[relations.sources] & kept[relations.targets]
    notes = []
    if not kept.all():
        notes.append(
            said("{n} entities of other types than {types}", n=f"{(~kept).sum():,}", types=", ".join(types))
        )
    if not heavy.all():
        notes.append(
            said(
                "{n} relations with a weight below {weight}",
                n=f"{(~heavy).sum():,}",
                weight=f"{min_weight:g}",
            )
        )
    ends = np.concatenate([relations.sources[inside], relations.targets[inside]])
    degrees = np.bincount(ends, minlength=len(graph))
    order = np.lexsort((graph.name_rank, -degrees))
    chosen = order[kept[order]]
    if len(chosen) > most:
        notes.append(said("{n} entities with the fewest relations", n=f"{len(chosen) - most:,}"))
        chosen = chosen[:most]
    if not len(chosen):
        raise UsageError("nothing of {name} is left to draw with these --types", name=graph.name)
    drawn = np.zeros(len(graph), dtype=bool)
    drawn[chosen] = True
    both = inside & drawn[relations.sources] & drawn[relations.targets]
    between = both & (relations.sources != relations.targets)
    lost = int(inside.sum() - between.sum())
    if lost:
        notes.append(
            said("{n} relations to entities that are not drawn, or from an entity to itself", n=f"{lost:,}")
        )
    return Core(chosen, np.flatnonzero(between), tuple(notes))


def spring_layout(entities: int, sources: NDArray[np.int_], targets: NDArray[np.int_]) -> NDArray[np.float64]:
    """(entities, 2) positions in [0, 1]: all push each other apart, relations pull their ends together.

    Source: Fruchterman and Reingold, Graph drawing by force-directed placement (1991). It starts from a
    sunflower in the given order, so hubs, which come first, start in the middle.
    """
    rank = np.arange(entities)
    radius, angle = np.sqrt((rank + 0.5) / max(entities, 1)), rank * np.pi * (3 - np.sqrt(5))
    spots = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    ideal = 1.6 / np.sqrt(max(entities, 1))
    for step in range(STEPS):
        away = spots[:, None, :] - spots[None, :, :]
        distance = np.maximum(np.hypot(away[..., 0], away[..., 1]), 1e-3)
        moves = (away * (ideal**2 / distance**2)[..., None]).sum(axis=1)
        pull = spots[sources] - spots[targets]
        pull *= (np.hypot(pull[:, 0], pull[:, 1]) / ideal)[:, None]
        np.add.at(moves, sources, -pull)
        np.add.at(moves, targets, pull)
        moves -= spots * 0.35  # towards the middle, so that loose parts don't drift away
        length = np.maximum(np.hypot(moves[:, 0], moves[:, 1]), 1e-9)
        most = 0.12 * (1 - step / STEPS) + 1e-3
        spots = spots + moves * (np.minimum(length, most) / length)[:, None]
    low, high = spots.min(axis=0), spots.max(axis=0)
    scaled: NDArray[np.float64] = (spots - low) / np.maximum(high - low, 1e-9)
    return scaled
