"""The whole graph as a page of the same make: `visualize`.

Where there is more than fits, the entities with most relations are drawn, and the page says so. Positions
come from a fixed spring layout, the same on every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.errors import amount
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said, shown
from tiny_graph_rag.report.html import page

SCRIPTS = ("data.js", "dom.js", "layout.js", "graph.js")
STEPS = 300  # of the layout: more moves nothing that an eye would see at some hundred entities


class Core(Struct, frozen=True):
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
        "leftOut": [shown(line) for line in core.left_out],
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


def core_of(graph: KnowledgeGraph, most: int = 200) -> Core:
    """What is drawn of a graph: at most so many entities, those with most relations, and what is between
    them."""
    relations = graph.relations
    ends = np.concatenate([relations.sources, relations.targets])
    order = np.lexsort((graph.name_rank, -np.bincount(ends, minlength=len(graph))))
    chosen, notes = order[:most], []
    if len(order) > most:
        notes.append(said("{n} with the fewest relations", n=amount(len(order) - most, "entity", "entities")))
    drawn = np.zeros(len(graph), dtype=bool)
    drawn[chosen] = True
    between = drawn[relations.sources] & drawn[relations.targets] & (relations.sources != relations.targets)
    if not between.all():
        left_out = amount(int((~between).sum()), "relation")
        notes.append(said("{n} to entities that are not drawn, or from an entity to itself", n=left_out))
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
