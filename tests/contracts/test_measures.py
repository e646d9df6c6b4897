"""What every registered measure promises: range, direction, best and worst list, indifference to order."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from tests.conftest import kg
from tests.measures.test_judged import run_of
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.measures import KINDS, Judged, Measure, judge, means, weights
from tiny_graph_rag.measures.judged import RelationReference, RetrievedContext
from tiny_graph_rag.run import Relation
from tiny_graph_rag.scoring.subgraphs import Subgraph, contexts_of

NAMES = [f"n{number:02d}" for number in range(12)]
EVERY = [Measure(name, None if KINDS[name].cutoff == "none" else 3) for name in KINDS]
# Grades 2, 1, 1, where three can't reach 1: 1 − .8³, and ¾ + ¼ · ¼ / 2 + ¼ · ¾ · ¼ / 3.
BEST_OF_THREE = {"rbp@3": 0.488, "err@3": 0.796875}
OF_EMPTY_LISTS = {"contest_map", "no_answer_accuracy"}  # of questions without gold


@pytest.fixture
def graph(tmp_path):
    """A chain n00 → n01 → … → n11."""
    import json

    document = kg(NAMES, [(a, "NEXT", b) for a, b in pairwise(NAMES)])
    (tmp_path / "g-KG.json").write_text(json.dumps(document))
    return read_graph(tmp_path / "g-KG.json")


def judged_of(graph, rankings, golds, bad=(), seed: int = 0) -> Judged:
    """golds: entity → grade of each question; each gold entity is the end of a wanted relationship."""
    names = NameIndex.of(graph)
    references = [
        tuple(Reference(NAMES[e], grade, (e,), "name", item) for item, (e, grade) in enumerate(gold.items()))
        for gold in golds
    ]
    judgments = Judgments.of(references, len(graph), bad or [()] * len(golds))
    run = run_of(*rankings)
    seeds = [frozenset({seed})] * len(golds)
    questions = [
        Example(
            "q",
            "?",
            (),
            reference_relations=tuple(Relation(NAMES[e - 1], NAMES[e], "NEXT") for e in sorted(gold) if e),
        )
        for gold in golds
    ]

    def retrieved(question: int) -> Subgraph:
        return subgraph(graph, seeds[question] | set(rankings[question]))

    context = contexts_of(graph, names, questions, judgments, seeds, retrieved)
    return judge(run, judgments, context=context)


def subgraph(graph, entities: Iterable[int]) -> Subgraph:
    """The entities, and every relation with both ends among them."""
    inside, known, ids = frozenset(entities), graph.relations, graph.entities.ids
    columns = known.sources.tolist(), known.targets.tolist(), known.types
    relations = [
        Relation(ids[source], ids[target], type)
        for source, target, type in zip(*columns, strict=True)
        if source in inside and target in inside
    ]
    return inside, relations


def material(graph, chance: random.Random, questions: int = 12) -> tuple[list, list, list]:
    rankings = [chance.sample(range(12), chance.choice((0, 2, 5, 12))) for _ in range(questions)]
    golds = [
        {e: chance.choice((1, 2)) for e in chance.sample(range(12), chance.choice((0, 1, 3, 5)))}
        for _ in range(questions)
    ]
    bad = [chance.sample([e for e in range(12) if e not in gold], 2) for gold in golds]
    return rankings, golds, bad


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_values_and_means_stay_in_range(graph, measure: Measure) -> None:
    for seed in range(30):
        judged = judged_of(graph, *material(graph, random.Random(seed)))
        column = measure.compute(judged)
        assert column.shape == (12,)
        assert column.dtype == np.float64
        known = column[~np.isnan(column)]
        assert ((known >= measure.kind.low - 1e-12) & (known <= measure.kind.high + 1e-12)).all()
        mean = means({measure: column}, weights=weights(judged, [measure]))[measure]
        if mean.n:
            assert known.min() - 1e-12 <= mean.mean <= known.max() + 1e-12


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_undefined_is_nan_and_never_zero(graph, measure: Measure) -> None:
    judged = judged_of(graph, [[1, 2], [1, 2]], [{}, {1: 1}], [(), (5,)])
    value = measure.compute(judged)[0]
    if measure.name not in OF_EMPTY_LISTS:
        assert math.isnan(value)
    if measure.kind.needs_graph:
        assert np.isnan(measure.compute(replace(judged, context=None))).all()


@pytest.mark.parametrize(
    "measure",
    [
        one
        for one in EVERY
        if math.isfinite(one.kind.best) and not one.kind.times and one.name not in OF_EMPTY_LISTS
    ],
    ids=str,
)
def test_the_best_list_reaches_the_best_value_and_the_worst_the_worst(graph, measure: Measure) -> None:
    gold, bad = {1: 2, 2: 1, 3: 1}, (9, 10, 11)
    first, last = (judged_of(graph, [ranking], [gold], [bad]) for ranking in ([1, 2, 3], [9, 10, 11]))
    best = BEST_OF_THREE.get(str(measure), measure.kind.best)
    (worst,) = {measure.kind.high, measure.kind.low} - {measure.kind.best}
    found = tuple(float(measure.compute(judged)[0]) for judged in (first, last))
    assert found == pytest.approx((best, worst), abs=1e-12)


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_an_empty_list_is_the_worst_of_lists(graph, measure: Measure) -> None:
    value = float(measure.compute(judged_of(graph, [[]], [{1: 1, 2: 1}], [(5,)]))[0])
    if measure.name in {"micro_precision", "no_answer_accuracy", "latency"}:
        assert math.isnan(value), (
            "nobody timed it, or nothing returned, nothing to take a share of; and the question has gold"
        )
    else:
        assert value == 0


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_neither_the_order_of_questions_nor_that_of_the_gold_matters(graph, measure: Measure) -> None:
    chance = random.Random(7)
    rankings, golds, bad = material(graph, chance)
    plain = measure.compute(judged_of(graph, rankings, golds, bad))
    order = chance.sample(range(12), 12)
    permuted = judged_of(
        graph,
        [rankings[at] for at in order],
        [dict(chance.sample(list(golds[at].items()), len(golds[at]))) for at in order],
        [chance.sample(bad[at], len(bad[at])) for at in order],
    )
    np.testing.assert_array_equal(measure.compute(permuted), plain[order])


def test_a_measure_parses_prints_and_compares() -> None:
    for measure in EVERY:
        assert Measure.parse(str(measure)) == measure
        assert measure.kind.definition.endswith(".")
        assert measure.kind.source


@pytest.mark.slow
@pytest.mark.parametrize("measure", [name for name in EVERY if name.cutoff is not None], ids=str)
def test_what_stands_below_the_cutoff_does_not_matter(graph, measure: Measure) -> None:
    for seed in range(10):
        rankings, golds, bad = material(graph, random.Random(seed))
        whole = measure.compute(judged_of(graph, rankings, golds, bad))
        for cut in (3, 4, 12):  # the cutoff is 3
            first = measure.compute(judged_of(graph, [ranking[:cut] for ranking in rankings], golds, bad))
            np.testing.assert_array_equal(first, whole)


@pytest.mark.parametrize("name", list(KINDS))
def test_a_cutoff_is_taken_where_the_kind_says_so(graph, name: str) -> None:
    use = KINDS[name].cutoff
    if use == "none":
        with pytest.raises(UsageError, match="takes no cutoff"):
            Measure.parse(f"{name}@3")
    elif use == "required":
        with pytest.raises(UsageError, match="needs a cutoff, such as"):
            Measure.parse(name)
    else:
        judged = judged_of(graph, *material(graph, random.Random(1)))
        np.testing.assert_array_equal(
            Measure(name).compute(judged), Measure(name, 12).compute(judged), "12 is all there is"
        )
    for wrong in ("0", "-1", "1.5", "", "x"):
        with pytest.raises(UsageError, match=name):
            Measure.parse(f"{name}@{wrong}")


def test_context_measures_by_hand(graph) -> None:
    # Seed n00, list n00 n01 n02 n05; gold n01 n02 n03 with the relationships 0→1, 1→2, 2→3.
    judged = judged_of(graph, [[0, 1, 2, 5]], [{1: 1, 2: 1, 3: 1}])
    values = {str(name): float(name.compute(judged)[0]) for name in EVERY if name.kind.needs_graph}
    assert values == pytest.approx(
        {
            "context_relevance": 2 / 3,  # added n01, n02, n05
            "context_completeness": 2 / 3,
            "relation_recall": 2 / 3,
            "relation_precision": 1.0,  # 0→1 and 1→2 are all that has both ends inside
            "path_completeness": 2 / 3,
        }
    )
    broken = judged_of(graph, [[0, 1, 3, 4]], [{1: 1, 2: 1, 3: 1}])
    # 0→1 is held, 1→2 is not: the stretch from the seed is 1 of 3. 3→4 is no reference: 1 of 2.
    assert float(Measure("path_completeness").compute(broken)[0]) == pytest.approx(1 / 3)
    assert float(Measure("relation_precision").compute(broken)[0]) == 0.5


def test_the_context_is_as_complete_as_references_not_as_bearers(graph) -> None:
    """Of two references n00 (the seed, not in the list) and n01 (in it) bear one, n05 bears the other."""
    references = [
        (Reference("twin", 1, (0, 1), "name", 0), Reference("far", 1, (5,), "name", 1)),
    ]
    judgments = Judgments.of(references, len(graph), [()])
    run = run_of([1, 2])
    asked, retrieved = [Example("q", "?", ())], subgraph(graph, {0, 1, 2})
    seeds = [frozenset({0})]
    context = contexts_of(graph, NameIndex.of(graph), asked, judgments, seeds, lambda _: retrieved)
    judged = judge(run, judgments, context=context)
    assert Measure.parse("context_completeness").compute(judged).tolist() == [0.5]


@pytest.mark.slow
def test_paths_through_many_reference_relationships_are_followed_in_no_time() -> None:
    # Ann and Bob both know forty people: 40! orders in which one may go to and fro between the two.
    knows = tuple(
        RelationReference(frozenset([start]), frozenset([end]), "")
        for start in (0, 1)
        for end in range(2, 42)
    )
    nobody = frozenset[int]()
    held = ((1,),) * len(knows)
    context = RetrievedContext(frozenset([0]), nobody, nobody, 0, knows, knows, held)
    judged = judge(run_of([]), Judgments.of([()], 1), context=lambda _: context)
    assert Measure("path_completeness").compute(judged).tolist() == [1.0]
