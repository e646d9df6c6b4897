"""A described graph with hundreds of free-text relation types, as LLMs write them, made for tests."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph

ENTITIES, RELATIONS, QUESTIONS = 400, 900, 150
WORDS = """
Ada Bela Cora Dora Egon Fritz Greta Hugo Ines Jonas Klara Lorenz Mara Nils Otto Paula
Arden Birk Corvo Dunmore Elster Farnham Grimsby Halden Ilmen Jarrow
wrote painted sold found lost built burned bought taught led served hid sang carved mended
lamp bridge letter mill harp ledger mask kiln anchor garden clock tower saddle mirror
"""
PEOPLE, PLACES, VERBS, THINGS = (line.split() for line in WORDS.strip().splitlines())


def described_graph(folder: Path, draw: random.Random) -> KnowledgeGraph:
    names = [
        f"{draw.choice(PEOPLE)} {draw.choice(PLACES)} {row}"
        if row % 3
        else f"{draw.choice(THINGS)} no. {row}"
        for row in range(ENTITIES)
    ]
    entities = {f"e{row}": {"name": name, "description": told(draw)} for row, name in enumerate(names)}
    relationships = [
        {
            "source_entity_id": f"e{source}",
            "target_entity_id": f"e{target}",
            "relationship_type": f"{draw.choice(VERBS)} the {draw.choice(THINGS)} of {draw.choice(PLACES)}",
            "description": told(draw),
        }
        for source, target in (draw.sample(range(ENTITIES), 2) for _ in range(RELATIONS))
    ]
    path = folder / "described-KG.json"
    path.write_text(json.dumps({"entities": entities, "relationships": relationships}), encoding="utf-8")
    return read_graph(path)


def told(draw: random.Random) -> str:
    return (
        f"{draw.choice(PEOPLE)} {draw.choice(VERBS)} a {draw.choice(THINGS)} near {draw.choice(PLACES)} and "
        f"{draw.choice(VERBS)} the {draw.choice(THINGS)}."
    )


def questions_about(graph: KnowledgeGraph, draw: random.Random) -> list[Example]:
    names = list(graph.entities.names)
    return [
        Example(
            id=f"q{row}",
            query=f"Who {draw.choice(VERBS)} the {draw.choice(THINGS)} that {draw.choice(names)} "
            f"{draw.choice(VERBS)} in {draw.choice(PLACES)}?",
            reference_entities=(),
        )
        for row in range(QUESTIONS)
    ]
