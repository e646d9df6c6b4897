"""From entities to the passages that they were read from, and back, by the `source_chunks` of a graph.

A gold set may name chunks where a retriever returns entities, or entities where it returns chunks
(`evaluation.source_chunks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.run import NO_HOP, Passage, Run

NONE, PASSAGES, ENTITIES = "none", "passages", "entities"


def kind_expected(examples: Iterable[Example]) -> str:
    """What usual measures are of: passages where a gold set expects them, by ids or texts, and no entities;
    else "", entities."""
    has_passages = any(one.reference_chunks or one.reference_texts for one in examples)
    return PASSAGES if has_passages and not any(one.relevant_entities for one in examples) else ""


def as_expected(graph: KnowledgeGraph, run: Run, examples: Iterable[Example], config: Config) -> Run:
    """The run as `evaluation.source_chunks` has it judged; entities by their chunks too where the gold set
    expects passages alone and none were returned."""
    how = config.evaluation.source_chunks
    if how == NONE and run.passages is None and kind_expected(examples) == PASSAGES:
        return replace(passages_of_entities(graph, run), returns_entities=False)
    if how == PASSAGES:
        return passages_of_entities(graph, run)
    return run if how == NONE else entities_of_passages(graph, run, config.retrieval.depth)


def passages_of_entities(graph: KnowledgeGraph, run: Run) -> Run:
    """The run with the chunks of its entities as passages, best entity first, each chunk once. An entity
    that names no chunk is a passage itself, of a graph that is a collection of passages."""
    known = graph.entities

    def passages_of(entity: int) -> list[Passage]:
        named = [Passage(chunk) for chunk in known.source_chunks[entity]]
        return named or [Passage(known.ids[entity], known.descriptions[entity])]

    rows = []
    for question in range(len(run)):
        ranked = (entity for entity in run.entities[run.rows(question)].tolist() if entity < len(known.ids))
        rows.append(tuple(dict.fromkeys(passage for entity in ranked for passage in passages_of(entity))))
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
