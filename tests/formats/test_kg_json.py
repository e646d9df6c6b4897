"""Loading KG JSON: what is sound is loaded, what isn't is counted or refused in words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import kg, write_kg
from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.formats.graphs import read_graph


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def test_adjacency_runs_both_ways_and_keeps_the_direction(tmp_path: Path) -> None:
    graph = read_graph(
        write_kg(tmp_path / "a-KG.json", ["A", "B", "C"], [("A", "OWNS", "B"), ("C", "KNOWS", "A")])
    )
    start, stop = graph.adjacency.indptr[0], graph.adjacency.indptr[1]
    assert graph.adjacency.neighbours[start:stop].tolist() == [1, 2]
    assert graph.adjacency.forward[start:stop].tolist() == [True, False]
    assert [graph.relations.types[row] for row in graph.adjacency.relations[start:stop]] == ["OWNS", "KNOWS"]
    assert graph.name == "a"


def test_gzip_and_a_byte_order_mark_make_no_difference(tmp_path: Path) -> None:
    plain = write_kg(tmp_path / "a-KG.json", ["가", "나"], [("가", "이웃", "나")])
    packed = tmp_path / "b-KG.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    marked = tmp_path / "c-KG.json"
    marked.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    for path in (packed, marked):
        assert list(read_graph(path).entities.names) == ["가", "나"]


def test_flaws_are_loaded_as_far_as_sound_and_counted(tmp_path: Path) -> None:
    document = kg(["a", "b"], [("a", "R", "b"), ("a", "R", "b"), ("a", "R", "ghost"), ("b", "R", "b")])
    for record in document["entities"].values():
        record["name"] = "X"
    for row, weight in enumerate((float("nan"), -2)):
        document["relationships"][row]["weight"] = weight
    graph = read_graph(write(tmp_path / "a-KG.json", document))
    counted = {kind.split(" (")[0]: count for kind, count, _ in graph.notes.found}
    assert counted == {
        "names of more than one entity": 1,
        "relations with a negative or non-finite weight": 2,
        "relations left out because an endpoint does not exist": 1,
        "self-loops": 1,
        "duplicate relations": 1,
    }
    assert graph.relations.weights.tolist() == [1.0, 1.0, 1.0]
    assert graph.adjacency.indptr.tolist() == [0, 2, 4]  # the self-loop has no slot


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", ":1:2: not JSON"),
        ('{"entities": {},\n "relationships" []}', ":2:18: not JSON"),
        ("[1]", "target; the file has: '1'"),
        ("1e99", 'wanted {"entities"'),
        ('{"points": [], "curves": []}', "its lists are 'points', 'curves'"),
        ('{"entities": [], "relationships": []}', "read as JSON lists, the file has no entities"),
        ('{"entities": {}, "relationships": []}', "no entities"),
        ('{"entities": {"a": {}}, "relationships": []}', "entities['a']: 'name' is missing"),
        ('{"entities": {"a": {"name": 3}}, "relationships": []}', "'name' must be a string, got the number"),
        ('{"entities": {"a": {"name": " "}}, "relationships": []}', "'name' must not be empty"),
        (
            '{"entities": {"a": {"name": "A", "aliases": "B"}}, "relationships": []}',
            "'aliases' must be a list of strings, got the string 'B'",
        ),
        (
            '{"entities": {"a": {"name": "A"}}, "relationships": [{"source_entity_id": "a"}]}',
            "relationships[0]: 'target_entity_id' is missing",
        ),
        ("", "not JSON: Expecting value"),
        (
            '{"entities": {"a": {"name": "A", "n": %s}}, "relationships": []}' % ("9" * 5000),
            "too many digits",
        ),
    ],
)
def test_a_broken_graph_says_where_and_what(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "broken-KG.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(GraphError) as caught:
        read_graph(path)
    assert expected in str(caught.value)
    assert "broken-KG.json" in str(caught.value)


def test_all_errors_of_a_file_are_listed_the_first_twenty_in_full(tmp_path: Path) -> None:
    document = {"entities": {f"e{n}": {} for n in range(25)}, "relationships": []}
    with pytest.raises(GraphError) as caught:
        read_graph(write(tmp_path / "a-KG.json", document))
    *shown, last = str(caught.value).splitlines()
    assert (len(shown), last) == (20, "… and more problems: 5")


def test_cp949_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a-KG.json"
    path.write_bytes(json.dumps(kg(["점순이"]), ensure_ascii=False).encode("cp949"))
    with pytest.raises(InputError, match="CP949"):
        read_graph(path)


def test_to_networkx_keeps_every_relation_with_type_and_direction(tmp_path: Path) -> None:
    graph = read_graph(write_kg(tmp_path / "a-KG.json", ["A", "B"], [("A", "OWNS", "B"), ("A", "OWNS", "B")]))
    made = graph.to_networkx()
    assert made.number_of_edges("A", "B") == 2
    assert {data["relationship_type"] for _, _, data in made.edges(data=True)} == {"OWNS"}
