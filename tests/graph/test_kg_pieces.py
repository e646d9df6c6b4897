"""Reading piece by piece gives the same graph as reading at once, wherever the cuts fall."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.graph.test_cache import content
from tiny_graph_rag import files
from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.graph.formats import kg_pieces, read_graph

NASTY = ('}, {"', '"}}, "relationships": [{', "\\", '\\"}, "e": {', "가나다", "}, \n {", "]}", "\u2028", "")


def document(seed: int, entities: int = 40, relations: int = 90) -> dict[str, Any]:
    """Records full of text that looks like the end of a record."""
    draw = random.Random(seed)
    ids = [f"e{number}{draw.choice(NASTY)}" for number in range(entities)]
    texts = [*NASTY, {"x": {"y": [{"z": 1}, {"z": draw.choice(NASTY)}]}}]
    return {
        "entities": {
            each: {
                "name": f"name {number} {draw.choice(NASTY)}",
                "description": draw.choice(NASTY),
                "attributes": {"deep": {"a": draw.choice(texts)}, "b": {}},
                "aliases": draw.sample(NASTY[:6], draw.randrange(3)),
                **({"unknown": draw.choice(texts)} if draw.random() < 0.2 else {}),
            }
            for number, each in enumerate(ids)
        },
        "relationships": [
            {
                "source_entity_id": draw.choice(ids),
                "target_entity_id": draw.choice([*ids, "ghost"]),
                "relationship_type": draw.choice(["A", "B", None, ""]),
                "weight": draw.choice([1, 2.5, -1, None]),
                "attributes": {"list": [{}, {"k": draw.choice(NASTY)}]},
                **({"relationship_id": f"r{number}"} if draw.random() < 0.5 else {}),
                **({"page": 3} if draw.random() < 0.1 else {}),
            }
            for number in range(relations)
        ],
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"ensure_ascii": False, "separators": (",", ":")}])
def test_cuts_change_nothing(
    seed: int, layout: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a-KG.json"
    parts = document(seed)
    if seed % 2:  # the order of the two parts, and other keys beside them, are free
        parts = {"relationships": parts["relationships"], "made": {"by": "}"}, "entities": parts["entities"]}
    path.write_text(json.dumps(parts, **layout), encoding="utf-8")
    wanted = content(read_graph(path))
    assert wanted["flaws"], "the document should have some"
    for size in (1, 64, 500, 3000):
        monkeypatch.setattr(kg_pieces, "PIECE_BYTES", size)
        monkeypatch.setattr(files, "MAPPED_FROM_BYTES", 0)
        assert content(read_graph(path)) == wanted


def test_pieces_are_really_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a-KG.json"
    path.write_text(json.dumps(document(1)), encoding="utf-8")
    monkeypatch.setattr(kg_pieces, "PIECE_BYTES", 500)
    text = path.read_bytes()
    pieces = kg_pieces.Pieces(text, kg_pieces.parts_of(text), path)
    assert len(list(pieces.entities())) > 3
    assert len(list(pieces.relations())) > 3


def test_an_id_written_twice_counts_once_with_its_last_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a-KG.json"
    entity = '{"name": "%s", "description": "%s"}'
    body = ", ".join(f'"e{number % 30}": {entity % (f"n{number}", "x" * 50)}' for number in range(40))
    path.write_text(f'{{"entities": {{{body}}}, "relationships": []}}', encoding="utf-8")
    wanted = json.loads(path.read_text())["entities"]
    for size in (1 << 20, 200):
        monkeypatch.setattr(kg_pieces, "PIECE_BYTES", size)
        graph = read_graph(path)
        assert list(graph.entities.ids) == list(wanted)
        assert list(graph.entities.names) == [each["name"] for each in wanted.values()]


def test_a_mapped_gzip_file_is_unpacked_and_a_damaged_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAPPED_FROM_BYTES", 0)
    plain, packed = tmp_path / "a-KG.json", tmp_path / "b-KG.json.gz"
    plain.write_text(json.dumps(document(3)), encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(read_graph(packed).entities.names) == list(read_graph(plain).entities.names)
    packed.write_bytes(packed.read_bytes()[:-30])
    with pytest.raises(InputError, match="cut off"):
        read_graph(packed)


def test_mistakes_are_named_also_where_a_file_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kg_pieces, "PIECE_BYTES", 300)
    path = tmp_path / "a-KG.json"
    broken = document(2)
    broken["relationships"][70]["weight"] = "much"
    del broken["entities"][list(broken["entities"])[30]]["name"]
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert len(error.value.problems) == 2
    assert "relationships[70]: 'weight' must be a number, got the string 'much'" in str(error.value)
