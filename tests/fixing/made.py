"""A small world whose questions use words that its relation types lack, for the tests of `fix`."""

from __future__ import annotations

import json
from pathlib import Path

from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph

# Relation type → the word that people use for it; none is in the type's name or in language/synonyms.txt.
# Without them the four neighbours of a person come by name: nDCG (1 + .631 + .5 + .431) / 4 = .640 of 1.
WORDS = {"PARENT": "forebear", "EMPLOYER": "paymaster", "RELIGION": "persuasion", "RESIDENCE": "den"}


def world(people: int = 60) -> tuple[KnowledgeGraph, EvalSet]:
    """Each person has one relation of each type, to an entity of its own; one question a person, its type in
    turn: `Who is the forebear of Person 7?`"""
    triples, asked = [], []
    for number in range(people):
        for type in WORDS:
            triples.append((f"Person {number}", type, f"{type.title()} {number}"))
        type = list(WORDS)[number % len(WORDS)]
        asked.append(
            Example(
                f"q{number}",
                f"What is the {WORDS[type]} of Person {number}?",
                (f"{type.title()} {number}",),
            )
        )
    return KnowledgeGraph.from_triples(triples, name="world"), EvalSet(tuple(asked), name="world")


def write_world(folder: Path, people: int = 60) -> None:
    """`world-KG.json` and `world-eval.jsonl`."""
    graph, questions = world(people)
    names = list(graph.entities.names)
    relations = [
        {
            "source_entity_id": names[graph.relations.sources[row]],
            "relationship_type": graph.relations.types[row],
            "target_entity_id": names[graph.relations.targets[row]],
        }
        for row in range(len(graph.relations))
    ]
    document = {"entities": {name: {"name": name} for name in names}, "relationships": relations}
    (folder / "world-KG.json").write_text(json.dumps(document), encoding="utf-8")
    rows = [
        {"id": one.id, "query": one.query, "reference_entities": list(one.reference_entities)}
        for one in questions
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "world-eval.jsonl").write_text(text, encoding="utf-8")
