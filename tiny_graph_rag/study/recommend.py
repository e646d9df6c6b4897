"""Candidates for questions that nobody has judged: pooled from several retrievers, as TREC pools its runs.

A pool is a proposal: what no retriever found stands in none, so a set judged from pools alone favours the
retrievers that filled them. `curate` therefore searches all entities next to the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from msgspec import structs

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold.drafts import Candidate, Draft
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.validate import are_alike
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.words import stem, words_of, words_tried
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, make_linker
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.retrieval.baselines import own_text
from tiny_graph_rag.run import NO_HOP, NO_STEP, Run

FIRST = 30  # questions proposed for judging first
FUSION = 60  # reciprocal rank fusion's constant (Cormack, Clarke, Büttcher 2009)
COMPARED = 5  # questions compared to each side in alphabetical order


def recommend(
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    config: Config,
    retrievers: Sequence[str],
    pool: int,
    *,
    linker_for: LinkerMaker = make_linker,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[list[Draft], list[str]]:
    """Pool the first `pool` entities of each retriever: drafts in file order, and the retrievers that found
    nothing for any question. progress gets how many retrievers are done.

    Raises UsageError for a retriever that can't be made.
    """
    names = NameIndex.of(graph)
    linker = linker_for(graph, names, config)
    linker.check(examples)
    linker.prepare(examples)
    linked = linker.link(examples)
    gold = EvalSet(tuple(examples))
    runs: dict[str, Run] = {}
    for done, name in enumerate(retrievers, start=1):
        retriever = make_retriever(graph, config.override(retriever=name), gold)
        retriever.prepare(lambda: linked)
        runs[name] = retriever.retrieve(linked).cut(pool)
        progress(done)
    drafts = [
        _draft(graph, names, example, linked[row], row, runs, pool) for row, example in enumerate(examples)
    ]
    by_difference = sorted(range(len(drafts)), key=lambda row: (-drafts[row].differ, row))
    for place, row in enumerate(by_difference[:FIRST], start=1):
        if drafts[row].differ > 0:
            drafts[row] = structs.replace(drafts[row], judge_first=place)
    for row, earlier in likenesses(examples).items():
        drafts[row] = structs.replace(drafts[row], like=tuple(examples[row].id for row in earlier))
    return drafts, [name for name, run in runs.items() if not len(run.entities)]


def _draft(
    graph: KnowledgeGraph,
    names: NameIndex,
    example: Example,
    linked: LinkedQuestion,
    row: int,
    runs: dict[str, Run],
    pool: int,
) -> Draft:
    ranked = {name: run.entities[run.rows(row)].tolist() for name, run in runs.items()}
    ranks: dict[int, dict[str, int]] = {}
    for name, entities in ranked.items():
        for rank, entity in enumerate(entities, start=1):
            ranks.setdefault(entity, {})[name] = rank
    fused = {entity: sum(1 / (FUSION + rank) for rank in by.values()) for entity, by in ranks.items()}
    order = sorted(ranks, key=lambda entity: (-fused[entity], graph.name_rank[entity]))
    given = (*example.highly_relevant_entities, *example.reference_entities)
    held = [entity for name in given for entity in names.resolve(name)[0] if entity not in ranks]
    candidates = tuple(
        _candidate(graph, example, entity, ranks.get(entity, {}), row, runs)
        for entity in dict.fromkeys([*held, *order])
    )
    answered = [entities for entities in ranked.values() if entities]
    pairs = list(combinations(answered, 2))
    agreement = sum(average_overlap(*pair, pool) for pair in pairs) / len(pairs) if pairs else 1.0
    seeds = tuple(dict.fromkeys(str(graph.entities.names[seed.entity]) for seed in linked.named))
    if example.seed_entities is None and seeds:
        example = replace(example, seed_entities=seeds)
    differ = 1.0 - agreement
    return Draft(example=example, candidates=candidates, differ=differ, no_seed=not linked.named)


def _candidate(
    graph: KnowledgeGraph, example: Example, entity: int, by: dict[str, int], row: int, runs: dict[str, Run]
) -> Candidate:
    """With the shortest walk that any retriever took to it."""
    hop, walk = None, tuple[dict[str, object], ...]()
    for name in by:
        run = runs[name]
        at = run.rows(row).start + by[name] - 1
        if int(run.hops[at]) != NO_HOP and (hop is None or int(run.hops[at]) < hop):
            hop = int(run.hops[at])
            walk = () if run.walks is None else _walk(graph, entity, run.walks[at].tolist())
    known = {stem(word) for word, *_ in words_of(own_text(graph, entity))}
    words = [word for word in words_tried([example.query]) if stem(word.casefold()) in known]
    return Candidate.of(graph, entity, by=by, hop=hop, walk=walk, words=tuple(words))


def _walk(graph: KnowledgeGraph, entity: int, relations: list[int]) -> tuple[dict[str, object], ...]:
    """From the seed to the entity, in names."""
    steps: list[dict[str, object]] = []
    at = entity
    for relation in reversed([relation for relation in relations if relation != NO_STEP]):
        source, target = int(graph.relations.sources[relation]), int(graph.relations.targets[relation])
        before = source if at == target else target
        steps.append(
            {
                "from": str(graph.entities.names[before]),
                "relation": graph.relations.types[relation],
                "to": str(graph.entities.names[at]),
                "forward": at == target,
            }
        )
        at = before
    return tuple(steps[::-1])


def average_overlap(one: Sequence[int], other: Sequence[int], depth: int) -> float:
    """Mean over d = 1 … depth of the share of the first d that two rankings have in common, in [0, 1].

    A ranking that ends early is short of the rest. Source: Fagin, Kumar, Sivakumar (2003).
    """
    shared = np.zeros(depth)
    seen_one, seen_other = set[int](), set[int]()
    for place in range(depth):
        seen_one.update(one[place : place + 1])
        seen_other.update(other[place : place + 1])
        shared[place] = len(seen_one & seen_other) / max(len(seen_one), len(seen_other), 1)
    return float(shared.mean())


def likenesses(examples: Sequence[Example]) -> dict[int, list[int]]:
    """Row → rows of earlier questions that look like it: folded words equal or nearly so, same context."""
    folded = [fold(question.query) for question in examples]
    order = sorted(range(len(examples)), key=lambda row: (folded[row], row))
    found: dict[int, list[int]] = {}
    for place, row in enumerate(order):
        for other in order[max(0, place - COMPARED) : place]:
            if examples[row].context != examples[other].context:
                continue
            if are_alike(folded[other], folded[row]):
                found.setdefault(max(row, other), []).append(min(row, other))
    return {row: sorted(earlier) for row, earlier in sorted(found.items())}
