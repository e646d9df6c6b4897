"""Entities that are one by an abbreviation."""

from __future__ import annotations

import pytest

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.namesakes import abbreviations, namesakes
from tiny_graph_rag.graph.statistics import statistics


def graph(*names: str, text: str = "") -> KnowledgeGraph:
    """text: the description of the last one."""
    records = {name: {"name": name} for name in names}
    records[names[-1]]["description"] = text
    return KnowledgeGraph.from_records(records, [])


@pytest.mark.parametrize(
    ("names", "text", "groups"),
    [
        (("Acute Leukemia (AL)", "AL", "acute leukemia", "al"), "", [{0, 1, 2}]),  # `al` is another word
        (("Product Managers (PMs)", "PM", "product manager"), "", [{0, 1, 2}]),
        (("BCC", "Basal Cell Carcinoma", "x"), "A basal cell carcinoma (BCC) grows slowly.", [{0, 1}]),
        (("Programmed Death 1 (PD-1)", "Pupillary Distance 1 (PD-1)", "PD-1"), "", []),
        (("Paris (France)", "Paris", "France"), "", []),
        (("primer binding site", "x (primer binding site (PBS))", "PBS"), "A salty buffer.", []),
    ],
)
def test_a_name_or_a_text_says_which_entities_are_one(
    names: tuple[str, ...], text: str, groups: list[set[int]]
) -> None:
    found = [set(one.rows) for one in abbreviations(graph(*names, text=text)) if len(one.rows) > 1]
    assert found == groups


def test_letters_of_two_long_forms_are_unclear() -> None:
    made = graph("Programmed Death 1 (PD-1)", "Pupillary Distance 1 (PD-1)", "PD-1")
    assert [one.unclear for one in abbreviations(made)] == [(2,), (2,)]


def test_statistics_count_the_entities_that_look_like_a_form_of_another() -> None:
    made = graph("Acute Leukemia (AL)", "AL", "acute leukemia", "Anna")
    pairs = [("AL", "Acute Leukemia (AL)"), ("acute leukemia", "Acute Leukemia (AL)")]
    assert namesakes(made) == pairs
    assert statistics(made).namesakes == tuple(pairs)
