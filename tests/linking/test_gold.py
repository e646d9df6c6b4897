"""`--linker gold` and `none`; `--fuzzy`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg
from tests.linking.test_names import graph_of
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.gold import GoldLinker, NoLinker
from tiny_graph_rag.linking.names import NameLinker


def test_gold_seeds_come_from_the_gold_set_with_their_place() -> None:
    names = NameIndex.of(graph_of(["Ann", "Bob", "Bob"]))
    examples = [Example("q", "Who knows Ann?", (), seed_entities=("Ann", "Bob", "Nobody"))]
    seeds = GoldLinker(names).link(examples)[0].seeds
    assert [(each.entity, each.start, each.weight, each.rule) for each in seeds] == [
        (1, None, 0.5, "gold"),
        (2, None, 0.5, "gold"),
        (0, 10, 1.0, "gold"),
    ]


def test_missing_gold_seeds_end_with_exit_2_and_a_count(
    tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    write_kg(tmp_path / "x-KG.json", ["Ann"])
    write_gold(
        tmp_path / "x-eval.jsonl",
        {"id": "a", "query": "Ann?", "reference_entities": ["Ann"], "seed_entities": []},
        {"id": "b", "query": "Ann?", "reference_entities": ["Ann"]},
        {"id": "c", "query": "Ann?", "reference_entities": ["Ann"]},
    )
    result = run_cli("eval", "--dataset", "x-eval.jsonl", "-g", "x-KG.json", "--linker", "gold")
    assert result.exit_code == 2
    assert "2 of 3 have none (b, c)" in result.stderr


def test_seeds_that_the_graph_lacks_are_told_as_tried() -> None:
    names = NameIndex.of(graph_of(["Ann"]))
    lost, found = GoldLinker(names).link(
        [Example(each, "Who?", (), seed_entities=(each, "Nobody")) for each in ("Bob", "Ann")]
    )
    assert (lost.tried, found.tried) == (("Bob", "Nobody"), ())


def test_none_links_nothing() -> None:
    assert NoLinker().link([Example("q", "Who knows Ann?", ())])[0].seeds == ()


def fuzzy(names: list[str], text: str, threshold: float = 0.85) -> list[tuple[str, str, str]]:
    graph = graph_of(names)
    seeds = NameLinker(graph, NameIndex.of(graph), threshold).link([Example("q", text, ())])[0].seeds
    return [(names[each.entity], each.mention, each.rule) for each in seeds]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Where is Shrlock Holms?", [("Sherlock Holmes", "Shrlock Holms", "fuzzy")]),
        ("where is shrlock holms", [("Sherlock Holmes", "shrlock holms", "fuzzy")]),
        ("Where is Sherlock Holmes?", [("Sherlock Holmes", "Sherlock Holmes", "exact")]),
        ("박녹주를 누가 좋아해?", [("박록주", "박녹주", "fuzzy")]),
        ("which snake has Sherlock Holmes", [("Sherlock Holmes", "Sherlock Holmes", "exact")]),
        ("which snake", [("snakes", "snake", "fuzzy")]),
        ("Where is Moriarty?", []),
    ],
)
def test_near_names_link_only_where_no_exact_one_does(text: str, wanted: list[tuple[str, str, str]]) -> None:
    pytest.importorskip("rapidfuzz")
    assert fuzzy(["Sherlock Holmes", "박록주", "snakes"], text, 0.8) == wanted


def test_a_higher_threshold_wants_more_alike_names() -> None:
    pytest.importorskip("rapidfuzz")
    assert fuzzy(["Sherlock Holmes"], "Where is Shrlock Holms?", 0.99) == []
