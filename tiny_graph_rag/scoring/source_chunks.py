"""From entities to the passages that they were read from, and back, by the `source_chunks` of a graph.

An explicit option (`evaluation.source_chunks`): a gold set may name chunks where a retriever returns
entities, or entities where it returns chunks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.run import NO_HOP, Passage, Run

NONE, PASSAGES, ENTITIES = "none", "passages", "entities"


def passages_of_entities(graph: KnowledgeGraph, run: Run) -> Run:
    """The run with the chunks of its entities as passages, best entity first, each chunk once."""
    chunks = graph.entities.source_chunks
    rows = []
    for question in range(len(run)):
        listed = (
            chunk
            for entity in run.entities[run.rows(question)].tolist()
            if entity < len(chunks)
            for chunk in chunks[entity]
        )
        rows.append(tuple(Passage(chunk) for chunk in dict.fromkeys(listed)))
    return replace(run, passages=tuple(rows))


def entities_of_passages(graph: KnowledgeGraph, run: Run, depth: int) -> Run:
    """The run with the entities of its passages as its ranking: those of the best passage first, of one
    passage in the order of the graph, at most `depth`."""
    entities_of: dict[str, list[int]] = {}
    for entity, chunks in enumerate(graph.entities.source_chunks):
        for chunk in chunks:
            entities_of.setdefault(chunk, []).append(entity)
    rankings = [
        list(dict.fromkeys(entity for passage in row for entity in entities_of.get(passage.id, ())))[:depth]
        for row in run.passages or ((),) * len(run)
    ]
    lengths = np.array([len(row) for row in rankings], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return replace(
        run,
        offsets=offsets,
        entities=np.array([entity for row in rankings for entity in row], dtype=np.int32),
        scores=np.array([1 / rank for row in rankings for rank in range(1, len(row) + 1)], dtype=np.float64),
        hops=np.full(int(offsets[-1]), NO_HOP, dtype=np.int32),
        walks=None,
        returns_entities=True,
    )
