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
from tiny_graph_rag.formats.graphs import kg_faults, kg_json, kg_pieces, read_graph

NASTY = ('}, {"', '"}}, "relationships": [{', "\\", '\\"}, "e": {', "가나다", "}, \n {", "]}", "\u2028", "")


@pytest.fixture(autouse=True)
def pieces_for_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kg_json, "IN_PIECES_FROM_BYTES", 0)


def document(seed: int, entities: int = 40, relations: int = 90) -> dict[str, Any]:
    """Records full of text that looks like the end of a record."""
    draw = random.Random(seed)
    ids = [f"e{number}{draw.choice(NASTY)}" for number in range(entities)]
    texts = [*NASTY, {"x": {"y": [{"z": 1}, {"z": draw.choice(NASTY)}]}}]
    return {
        "entities": {
            id_: {
                "name": f"name {number} {draw.choice(NASTY)}",
                "description": draw.choice(NASTY),
                "attributes": {"deep": {"a": draw.choice(texts)}, "b": {}},
                "aliases": draw.sample(NASTY[:6], draw.randrange(3)),
                **({"unknown": draw.choice(texts)} if draw.random() < 0.2 else {}),
            }
            for number, id_ in enumerate(ids)
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


@pytest.mark.slow
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
    with monkeypatch.context() as patch:
        patch.setattr(kg_json, "IN_PIECES_FROM_BYTES", 1 << 30)
        wanted = content(read_graph(path))
    assert wanted["flaws"], "the document should have some"
    assert content(read_graph(path)) == wanted
    for size in (1, 64, 500, 3000):
        monkeypatch.setattr(kg_pieces, "PIECE_BYTES", size)
        monkeypatch.setattr(files, "MAPPED_FROM_BYTES", 0)
        assert content(read_graph(path)) == wanted


def test_pieces_are_really_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a-KG.json"
    path.write_text(json.dumps(document(1)), encoding="utf-8")
    monkeypatch.setattr(kg_pieces, "PIECE_BYTES", 500)
    text = path.read_bytes()
    pieces = kg_pieces.RecordPieces(text, kg_pieces.parts_of(text), path)
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
        assert list(graph.entities.names) == [name["name"] for name in wanted.values()]
        assert graph.notes.lines()[0].startswith("10 keys written twice in one object (the last counts)")


def test_a_second_entities_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a-KG.json"
    entity = '{"name": "%s", "description": "the \\"entities\\" of old"}'
    parts = [", ".join(f'"e{n}": {entity % f"n{n}"}' for n in some) for some in (range(9), range(9, 20))]
    between = '"about": {"entities": 1}, "relationships": []'
    path.write_text(f'{{"entities": {{{parts[0]}}}, {between}, "entities": {{{parts[1]}}}}}')
    graph = read_graph(path)
    assert len(graph) == 11
    assert graph.notes.lines() == ["1 key written twice in one object (the last counts) (such as 'entities')"]


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


@pytest.fixture
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mapped, cut into pieces, and never read as a whole by the standard library."""
    monkeypatch.setattr(files, "MAPPED_FROM_BYTES", 0)
    monkeypatch.setattr(files, "COPIED_BYTES", 7)
    monkeypatch.setattr(kg_faults, "COPIED_BYTES", 16)
    monkeypatch.setattr(kg_pieces, "BLANKED_BYTES", 13)
    monkeypatch.setattr(kg_pieces, "PIECE_BYTES", 300)

    def refuse(path: Path) -> None:
        raise AssertionError("read as a whole")

    monkeypatch.setattr(kg_json, "_with_care", refuse)


def with_non_finite(seed: int) -> dict[str, Any]:
    """NaN and Infinity as numbers, in attributes, in unknown keys, and as words in strings."""
    draw = random.Random(seed)
    odd = [float("nan"), float("inf"), float("-inf")]
    made = document(seed)
    for row in made["relationships"]:
        if draw.random() < 0.1:
            row["weight"] = draw.choice(odd)
        if draw.random() < 0.1:
            row["attributes"] = {"x": odd, "NaN": "-Infinity, NaN"}
    for row in made["entities"].values():
        if draw.random() < 0.1:
            row["description"], row["more"] = 'NaN or "Infinity"', draw.choice(odd)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_numbers_that_json_lacks_are_taken_as_by_the_standard_library(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "a-KG.json"
    text = json.dumps(with_non_finite(seed))
    path.write_text(text, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(kg_json, "_in_pieces", lambda path: None)
        wanted = content(read_graph(path))
    request.getfixturevalue("every_file_is_large")
    assert content(read_graph(path)) == wanted
    packed = tmp_path / "a-KG.json.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert content(read_graph(packed)) == {**wanted, "sha256": read_graph(packed).sha256}


GOOD = b'"relationships": []}'


@pytest.mark.slow
@pytest.mark.usefixtures("every_file_is_large")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"{", ":1:2: not JSON: it ends too early"),
        (b'{"entities": {},\n "relationships" []}', ":2:18: not JSON: expected ':'"),
        ('{"가": "나다",\n "entities": {"가나": nul}}'.encode(), ":2:22: not JSON: invalid character"),
        (b'\xef\xbb\xbf{"entities" 1}', ":1:13: not JSON"),
        (b'{"entities": {"a": {"name": "\xb0\xa1"}}, ' + GOOD, ":1: not UTF-8 text (it looks like CP949"),
        (
            b'{"entities": {"a": {\n"name": "A",\n"description": "' + "가".encode() * 9 + b'\xff"}}, ' + GOOD,
            ":3: not UTF-8 text",
        ),
        (b"[1, 2]", 'wanted {"entities": {id: {"name": …}}, "relationships": [{…}]}, got a list'),
        (b'"graph"', "got the string 'graph'"),
        (
            b'{"points": [], "curves": []}',
            "missing: 'entities' and 'relationships' (it has 'points', 'curves')",
        ),
        (b'{"entities": {}}', "missing: 'relationships' (it has 'entities')"),
        (b'{"entities": [], ' + GOOD, "read as JSON lists, the file has no entities"),
        (b'{"entities": {}, "relationships": null}', "'relationships' must be a list, got null"),
        (b'{"entities": {}, ' + GOOD, "the graph has no entities"),
        (b'{"entities": {"a": {"name": NaN}}, ' + GOOD, "'name' must be a string, got the number nan"),
        (b'{"entities": {"a": {"name": "A", "aliases": [-NaN]}}, ' + GOOD, ":1:47: not JSON"),
        (b'{"entities": ' + b"[" * 100_000 + b", " + GOOD, "nested too deeply"),
    ],
)
def test_a_large_broken_file_says_where_and_what(tmp_path: Path, text: bytes, expected: str) -> None:
    path = tmp_path / "broken-KG.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert expected in str(caught.value)
    assert "broken-KG.json" in str(caught.value)


@pytest.mark.usefixtures("every_file_is_large")
def test_all_mistakes_of_a_large_file_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a-KG.json"
    broken = document(2)
    for number in (3, 40, 89):
        broken["relationships"][number]["weight"] = "much"
    names = list(broken["entities"])
    for number in (7, 30):
        broken["entities"][names[number]]["name"] = " "
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(GraphError) as error:
        read_graph(path)
    places = [problem.removeprefix(f"{path}: ").partition("]: ")[0] + "]" for problem in error.value.problems]
    wanted = [f"entities[{names[number]!r}]" for number in (7, 30)]
    assert places == [*wanted, *(f"relationships[{number}]" for number in (3, 40, 89))]
