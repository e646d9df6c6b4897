"""`--linker gold` and `none`; `retrieval.fuzzy`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg
from tests.linking.test_names import graph_of, seeds_of
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.linking.names import GoldLinker, NameLinker, NoLinker

DATA = Path(__file__).resolve().parents[2] / "data"


def gold_linker(*names: str) -> GoldLinker:
    graph = graph_of(names)
    return GoldLinker(graph, NameIndex.of(graph))


def test_gold_seeds_come_from_the_gold_set_with_their_place() -> None:
    examples = [Example("q", "Who knows Ann?", (), seed_entities=("Ann", "Bob", "Nobody"))]
    seeds = gold_linker("Ann", "Bob", "Bob").link(examples)[0].seeds
    found = [(seed.entity, seed.start, seed.weight, seed.rule) for seed in seeds]
    assert found == [(1, None, 0.5, "gold"), (2, None, 0.5, "gold"), (0, 10, 1.0, "gold")]


@pytest.mark.parametrize(
    ("text", "seeds", "places"),
    [
        ("The annual fair of Ann: did Ann go?", ("Ann",), ["Ann", "Ann"]),  # never within a word
        ("the annual fair", ("Ann",), [None]),
        ("what of the mill and Ann?", ("Ann", "Mill"), [None, "Ann"]),  # linking by names takes Ann alone
        ("Is ANN there?", ("Ann",), ["ANN"]),
        ("점순이와 점순은?", ("점순",), ["점순", "점순"]),
        ("Where is Ann Lee?", ("Ann",), [None]),  # which names another
    ],
)
def test_a_gold_seed_stands_where_linking_by_names_has_it(
    text: str, seeds: tuple[str, ...], places: list[str | None]
) -> None:
    linker = gold_linker("Ann", "Mill", "점순", "Ann Lee")
    (linked,) = linker.link([Example("q", text, (), seed_entities=seeds)])
    assert [seed.mention if seed.start is not None else None for seed in linked.seeds] == places
    for seed in linked.seeds:
        assert seed.start is None or text[seed.start : seed.end] == seed.mention


def test_the_gold_set_says_which_of_two_entities_with_one_name_is_meant(tmp_path: Path) -> None:
    graph = read_graph(write_kg(tmp_path / "x-KG.json", [("Springfield", ["Springfield IL"]), "Shelbyville"]))
    graph = graph.extended_by(["Springfield"], "")
    linker = GoldLinker(graph, NameIndex.of(graph))
    (linked,) = linker.link([Example("q", "Is it Springfield?", (), seed_entities=("Springfield IL",))])
    assert [(seed.entity, seed.start, seed.weight) for seed in linked.seeds] == [(0, 6, 0.5)]


SAMPLES = sorted(DATA.glob("eval/*.jsonl"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_with_the_same_entities_gold_seeds_are_those_of_linking_by_names(path: Path) -> None:
    graph = read_graph(DATA / "kg" / f"{path.stem.rpartition('-')[0]}-KG.json")
    named = NameLinker(graph, NameIndex.of(graph))
    examples = list(read_eval_set(path))
    linked = named.link(examples)
    names = [
        dict.fromkeys(graph.entities.names[seed.entity] for seed in question.seeds) for question in linked
    ]
    same = [
        replace(example, seed_entities=tuple(seeds)) for example, seeds in zip(examples, names, strict=True)
    ]
    assert sum(bool(question.seeds) for question in linked) > len(examples) / 2
    for one, two in zip(linked, GoldLinker(graph, NameIndex.of(graph)).link(same), strict=True):
        assert columns(one) == columns(two), one.text


def columns(question: LinkedQuestion) -> list[tuple[int, int | None, int | None, float]]:
    return [(seed.entity, seed.start, seed.end, seed.weight) for seed in question.seeds]


def test_missing_gold_seeds_end_with_exit_2_and_a_count(
    tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    write_kg(tmp_path / "x-KG.json", ["Ann"])
    first, *others = ({"id": id, "query": "Ann?", "reference_entities": ["Ann"]} for id in "abc")
    write_gold(tmp_path / "x-eval.jsonl", first | {"seed_entities": []}, *others)
    result = run_cli("eval", "--dataset", "x-eval.jsonl", "-g", "x-KG.json", "--linker", "gold", code=2)
    assert "2 of 3 have none (b, c)" in result.stderr


def test_seeds_that_the_graph_lacks_are_told_as_tried_and_none_links_nothing() -> None:
    examples = [Example(name, "Who?", (), seed_entities=(name, "Nobody")) for name in ("Bob", "Ann")]
    assert [one.tried for one in gold_linker("Ann").link(examples)] == [("Bob", "Nobody"), ()]
    assert NoLinker().link([Example("q", "Who knows Ann?", ())])[0].seeds == ()


def fuzzy(names: list[str], text: str, threshold: float = 0.85) -> list[tuple[str, str, str]]:
    found = seeds_of(graph_of(names), text, fuzzy=threshold)
    return [(names[seed.entity], seed.mention, seed.rule) for seed in found]


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
    assert fuzzy(["Sherlock Holmes", "박록주", "snakes"], text, 0.8) == wanted


def test_a_higher_threshold_wants_more_alike_names() -> None:
    assert fuzzy(["Sherlock Holmes"], "Where is Shrlock Holms?", 0.99) == []
