"""Questions in languages whose function words nobody listed: which of their words speak for relations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever

RELATIONS = [  # `ở` (in) is in the name of one type and in descriptions of both
    ("Lan", "sinh ra ở", "Vinh", "Lan sinh ra ở Vinh"),
    ("Minh", "sinh ra ở", "Huế", "Minh sinh ra ở Huế"),
    ("Sao Việt", "trụ sở", "Vinh", "Trụ sở nằm ở Vinh"),
    ("An Phát", "trụ sở", "Huế", "Trụ sở nằm ở Huế"),
    ("Rồng Vàng", "trụ sở", "Huế", "Trụ sở nằm ở Huế"),
]


@pytest.mark.parametrize(
    ("question", "claimed"),
    [
        ("Trụ sở của Sao Việt nằm ở đâu?", {"trụ sở": 1000}),
        ("Lan sinh ra tại thành phố nào?", {"sinh ra ở": 666}),  # two of the name's three words
    ],
)
def test_a_word_of_other_types_descriptions_is_no_mention_and_parts_of_names_weigh_less(
    tmp_path: Path, question: str, claimed: dict[str, int]
) -> None:
    names = sorted({name for one, _, other, _ in RELATIONS for name in (one, other)})
    document = {
        "entities": {name: {"name": name} for name in names},
        "relationships": [
            {"source_entity_id": s, "relationship_type": kind, "target_entity_id": o, "description": text}
            for s, kind, o, text in RELATIONS
        ],
    }
    path = tmp_path / "vi-KG.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    graph, config = read_graph(path), Config()
    (linked,) = make_linker(graph, NameIndex.of(graph), config).link([Example("q", question, ())])
    slots = make_retriever(graph, config).reader.read(linked).slots
    types = graph.relations.types.names
    assert {types[type_]: slot.weight for slot in slots for type_ in slot.types} == claimed
