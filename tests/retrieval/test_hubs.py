"""What is found by columns around a hub is what the kernel finds."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.retrieval.test_bfs import graph_of
from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval import hubs, make_retriever
from tiny_graph_rag.run import Run

TYPES = ("works_with", "knows", "owns", "leads", "located_in")
QUESTIONS = (
    "Who works with {}?", "Who knows who works with {}?", "{}", "What does {} own?", "{} or who?",
    "Who leads what {} owns?", "Who knows somebody who also knows {}?", "Who leads what is owned by {}?",
)  # fmt: skip
FILTERS = (
    {}, {"direction": "out"}, {"direction": "in"}, {"max_degree": 9}, {"types": "PLACE"},
    {"exclude_seeds": False}, {"not_relations": "knows"},
)  # fmt: skip


def hub_graph(dice: random.Random) -> KnowledgeGraph:
    """Some entities that nearly all are related to, pairs with several relations, weights that differ."""
    many = dice.randint(30, 120)
    pairs = [(dice.randrange(many), int(many * dice.random() ** 4)) for _ in range(6 * many)]
    triples = [
        (f"N{a}", dice.choice(TYPES), f"N{b}", dice.choice((1.0, 1.0, 2.5)), "") for a, b in pairs if a != b
    ]
    kinds = {f"N{each}": dice.choice(("PLACE", "OTHER")) for each in range(many)}
    return graph_of(triples, kinds=kinds)


def asked(graph: KnowledgeGraph, text: str, names: tuple[str, ...]) -> LinkedQuestion:
    known = list(graph.entities.names)
    said = text.replace("{}", "Hub")
    start = said.index("Hub")
    seeds = [
        Seed(known.index(name), "Hub", start, start + 3, "name", 1 / (1 + place))
        for place, name in enumerate(names)
    ]
    return LinkedQuestion(said, tuple(seeds), "q")


def ranked(graph: KnowledgeGraph, question: LinkedQuestion, **settings: object) -> Run:
    config = Config().override(retriever="bfs", **settings)
    return make_retriever(graph, config).retrieve([question])


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_columns_find_what_the_kernel_finds(start, monkeypatch):
    by_columns = 0
    rank = hubs.Hubs.rank

    def counted(self, *given, **more):
        nonlocal by_columns
        found = rank(self, *given, **more)
        by_columns += found is not None
        return found

    monkeypatch.setattr(hubs.Hubs, "rank", counted)
    for number in range(start, start + 20):
        dice = random.Random(number)
        graph = hub_graph(dice)
        names = tuple(dice.sample(list(graph.entities.names)[:12], dice.choice((1, 1, 1, 2))))
        question = asked(graph, dice.choice(QUESTIONS), names)
        settings = {"hops": dice.choice((1, 2, 2, 3, 6)), "depth": dice.choice((1, 5, 14)), "compiled": False,
                    **dice.choice(FILTERS)}  # fmt: skip
        monkeypatch.setattr(hubs, "WIDE_FROM", 1 << 60)
        kernels = ranked(graph, question, **settings)
        monkeypatch.setattr(hubs, "WIDE_FROM", 1)
        monkeypatch.setattr(hubs, "STATES_AT_ONCE", 7)
        columns = ranked(graph, question, **settings)
        for name in ("entities", "scores", "hops", "walks"):
            assert getattr(columns, name).tolist() == getattr(kernels, name).tolist(), (number, name)
    assert by_columns >= 10


def test_the_tie_part_of_a_key_is_the_kernels():
    dice = np.random.default_rng(1)
    mass = np.array([0, 1, 5, *(1 << dice.integers(0, 46, 200)), *dice.integers(0, 1 << 46, 200)])
    strength = dice.integers(1, 1 << 40, len(mass)) >> dice.integers(0, 40, len(mass))
    keys = hubs._keys(np.full(len(mass), 7), mass, strength)
    from tiny_graph_rag.retrieval import kernel

    wanted = [
        (7 << kernel.TIE_BITS) + (1 << kernel.TIE_BITS) - 1 - kernel.damped(one, other)
        for one, other in zip(mass.tolist(), strength.tolist(), strict=True)
    ]
    assert keys.tolist() == wanted
