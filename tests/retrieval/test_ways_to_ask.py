"""One fact asked for in many ways, on graphs that name their relations as DBpedia, Wikidata and LLMs do."""

from __future__ import annotations

import pytest

from tiny_graph_rag import KnowledgeGraph, ask

LIVES = [
    *(("Olga Brandt", "birthplace", "Arvika"), ("Rufus Zoric", "birthplace", "Galba")),
    *(("Lev Jansen", "birthplace", "Ilmen"), ("Mira Sato", "birthplace", "Arvika")),
    *(("Olga Brandt", "spouse", "Rufus Zoric"), ("Lev Jansen", "spouse", "Mira Sato")),
    *(("Olga Brandt", "employer", "Helix Labs"), ("Rufus Zoric", "employer", "Tarn & Sons")),
    *(("Lev Jansen", "employer", "Tarn & Sons"), ("Mira Sato", "employer", "Helix Labs")),
    *(("Olga Brandt", "education", "Corvo Institute"), ("Rufus Zoric", "education", "Estrel College")),
    *(("Lev Jansen", "education", "Corvo Institute"), ("Helix Labs", "founder", "Lev Jansen")),
    *(
        ("Tarn & Sons", "founder", "Olga Brandt"),
        ("Helix Labs", "seat", "Corvo"),
        ("Tarn & Sons", "seat", "Lunden"),
    ),
    *(("Arvika", "country", "Norland"), ("Galba", "country", "Vestria"), ("Ilmen", "country", "Sudmark")),
    *(("Corvo", "country", "Norland"), ("Lunden", "country", "Vestria")),
]
NAMES = {
    "DBpedia": ("birthPlace", "spouse", "employer", "almaMater", "founder", "headquarter", "country"),
    "Wikidata": (
        "place of birth",
        "spouse",
        "employer",
        "educated at",
        "founded by",
        "headquarters location",
        "country",
    ),
    "LLM": (
        "BORN_IN",
        "MARRIED_TO",
        "WORKS_FOR",
        "STUDIED_AT",
        "FOUNDED_BY",
        "HEADQUARTERED_IN",
        "LOCATED_IN",
    ),
}
KINDS = ("birthplace", "spouse", "employer", "education", "founder", "seat", "country")
ASKED = [
    ("Where was Olga Brandt born?", "Arvika"),
    ("What is the birthplace of Olga Brandt?", "Arvika"),
    ("Who is Olga Brandt married to?", "Rufus Zoric"),
    ("Who is Olga Brandt's husband?", "Rufus Zoric"),
    ("Who does Olga Brandt work for?", "Helix Labs"),
    ("Where does Olga Brandt work?", "Helix Labs"),
    ("Which company employs Olga Brandt?", "Helix Labs"),
    ("Where did Olga Brandt study?", "Corvo Institute"),
    ("Which university did Olga Brandt attend?", "Corvo Institute"),
    ("Who founded Helix Labs?", "Lev Jansen"),
    ("Where is Helix Labs based?", "Corvo"),
    ("Where was the husband of Olga Brandt born?", "Galba"),
    ("Where does Olga Brandt's husband work?", "Tarn & Sons"),
    ("Who founded the company that employs Olga Brandt?", "Lev Jansen"),
    ("Where was the founder of Helix Labs born?", "Ilmen"),
]


@pytest.mark.parametrize("names", NAMES)
def test_the_answer_stands_first_at_two_and_at_three_hops(names: str) -> None:
    spelled = dict(zip(KINDS, NAMES[names], strict=True))
    graph = KnowledgeGraph.from_triples((source, spelled[kind], target) for source, kind, target in LIVES)
    wrong = {
        (question, hops): ask(graph, question, hops=hops).names[:3]
        for question, answer in ASKED
        for hops in (2, 3)
        if ask(graph, question, hops=hops).names[0] != answer
    }
    assert wrong == {}
