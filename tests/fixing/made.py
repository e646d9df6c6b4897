"""A small world whose questions use words that its relation types lack, for the tests of `fix`."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import write_gold, write_kg
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph

# Relation type → the word that people use for it; none is in the type's name or in language/synonyms.txt.
# Without them the four neighbours come by name behind the person: nDCG (.631 + .5 + .431 + .387) / 4 = .487.
WORDS = {"PARENT": "forebear", "EMPLOYER": "paymaster", "RELIGION": "persuasion", "RESIDENCE": "den"}


def world(people: int = 60) -> tuple[KnowledgeGraph, EvalSet]:
    """Each person has one relation of each type, to an entity of its own; one question a person, its type in
    turn: `Who is the forebear of Person 7?`"""
    triples, asked = [], []
    for number in range(people):
        triples += [(f"Person {number}", type, f"{type.title()} {number}") for type in WORDS]
        type = list(WORDS)[number % len(WORDS)]
        query, answer = f"What is the {WORDS[type]} of Person {number}?", f"{type.title()} {number}"
        asked.append(Example(f"q{number}", query, (answer,)))
    return KnowledgeGraph.from_triples(triples, name="world"), EvalSet(tuple(asked), name="world")


def write_world(folder: Path, people: int = 60) -> None:
    """`world-KG.json` and `world-eval.jsonl`."""
    graph, questions = world(people)
    names, found = list(graph.entities.names), graph.relations
    columns = zip(found.sources.tolist(), found.types, found.targets.tolist(), strict=True)
    triples = [(names[source], type, names[target]) for source, type, target in columns]
    write_kg(folder / "world-KG.json", names, triples)
    rows = (
        {"id": one.id, "query": one.query, "reference_entities": list(one.reference_entities)}
        for one in questions
    )
    write_gold(folder / "world-eval.jsonl", *rows)
