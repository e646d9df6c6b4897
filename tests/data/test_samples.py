"""The sample data keeps its promises: sizes, tags, and hop tags that equal the measured distance."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import networkx
import pytest
import yaml

from tests.conftest import ROOT
from tiny_graph_rag import evaluate
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import fold

NAMES = ("김유정-동백꽃", "conan-doyle-speckled-band", "victor-hugo-les-miserables")
ONLY_HARD = {"victor-hugo-les-miserables"}  # no ordinary set
HOP_TAGS = {"2-hop": 2, "3-hop": 3, "4-hop": 4}
# Words of relation types that carry no meaning of their own and so can't give a relation away.
FUNCTION_WORDS = {"of", "in", "to", "by", "at", "with", "for", "from", "on", "is", "has", "a", "the"}


@pytest.fixture(scope="module", params=NAMES)
def sample(request) -> tuple[KnowledgeGraph, EvalSet, EvalSet]:
    data, name = ROOT / "data", request.param
    return (
        read_graph(data / "kg" / f"{name}-KG.json"),
        read_eval_set(data / "eval" / f"{name}-{'hardset' if name in ONLY_HARD else 'eval'}.jsonl"),
        read_eval_set(data / "eval" / f"{name}-hardset.jsonl"),
    )


def tagged(examples: EvalSet, tag: str) -> list[Example]:
    return [question for question in examples if tag in question.tags]


def undirected(graph: KnowledgeGraph) -> networkx.Graph:
    """Nodes are entity names."""
    names = list(graph.entities.names)
    made = networkx.Graph()
    made.add_nodes_from(names)
    for row in range(len(graph.relations)):
        made.add_edge(names[graph.relations.sources[row]], names[graph.relations.targets[row]])
    return made


def test_sizes(sample) -> None:
    graph, ordinary, hard = sample
    assert len(graph) >= 250
    assert len(graph.relations) >= 320
    assert all(graph.entities.descriptions)
    assert all(graph.relations.descriptions)
    assert graph.notes.lines() == []
    assert len(ordinary) >= 30
    assert len(hard) >= 180


def test_enough_questions_of_each_kind(sample) -> None:
    _, _, hard = sample
    least = {
        "multi-hop": 105,
        **dict.fromkeys(("2-hop", "3-hop", "4-hop", "alias-noise", "coreference", "no-answer"), 35),
    }
    assert {tag: len(tagged(hard, tag)) >= count for tag, count in least.items()} == dict.fromkeys(
        least, True
    )
    assert all(not question.reference_entities for question in tagged(hard, "no-answer"))
    assert all(question.context for question in tagged(hard, "coreference"))


def test_every_name_in_the_sets_is_a_name_of_the_graph(sample) -> None:
    graph, ordinary, hard = sample
    names = set(graph.entities.names)
    for question in (*ordinary, *hard):
        assert set(question.reference_entities) <= names, question.id
        assert set(question.seed_entities or ()) <= names, question.id


def test_references_are_mostly_not_named_in_hard_questions(sample) -> None:
    _, _, hard = sample
    hidden = [
        question
        for question in hard
        if any(fold(name) not in fold(question.query) for name in question.reference_entities)
    ]
    assert len(hidden) >= 0.9 * len([question for question in hard if question.reference_entities])


def test_hop_tags_equal_the_measured_distance(sample) -> None:
    graph, _, hard = sample
    network = undirected(graph)
    for question in tagged(hard, "multi-hop"):
        tags = [tag for tag in question.tags if tag in HOP_TAGS]
        assert len(tags) == 1, question.id
        reach = [
            networkx.single_source_shortest_path_length(network, seed)
            for seed in question.seed_entities or ()
        ]
        assert reach, question.id
        distances = {
            min(hops[name] for hops in reach if name in hops) for name in question.reference_entities
        }
        assert distances == {HOP_TAGS[tags[0]]}, question.id


@pytest.mark.slow
def test_the_words_of_few_multi_hop_questions_lead_to_an_answer(sample) -> None:
    """Without a hop, `bfs` returns what the question names and what its words describe."""
    graph, _, hard = sample
    multi = replace(hard, examples=tuple(tagged(hard, "multi-hop")))
    recall = evaluate(graph, multi, hops=0, measures="recall@5").to_pandas()["recall@5"]
    assert len(recall) == len(multi)
    assert (recall > 0).mean() <= 0.05


def test_half_of_the_multi_hop_questions_share_no_stem_with_the_relations_to_walk(sample) -> None:
    graph, _, hard = sample
    multi = tagged(hard, "multi-hop")
    telling = yaml.safe_load(
        (Path(__file__).parent / "korean-relation-words.yaml").read_text(encoding="utf-8")
    )
    assert set(graph.relations.types.names) <= set(telling) or graph.name.isascii()
    paraphrased = [
        question for question in multi if question.reference_relations and not gives_away(question, telling)
    ]
    assert len(paraphrased) >= len(multi) / 2


def gives_away(example: Example, telling: dict[str, list[str]]) -> bool:
    """Whether a word of the question, entity names left out, shares a stem with a relation on the path."""
    text = example.query
    ends = {name for relation in example.reference_relations for name in (relation.source, relation.target)}
    for name in sorted({*ends, *(example.seed_entities or ())}, key=len, reverse=True):
        text = text.replace(name, " ")
    words = [word.casefold() for word in re.findall(r"\w+", text)]
    for relation in example.reference_relations:
        parts = [part for part in relation.type.casefold().split("_") if part not in FUNCTION_WORDS]
        if any(same_stem(word, part) for word in words for part in parts):
            return True
        if any(word.startswith(beginning) for word in words for beginning in telling.get(relation.type, ())):
            return True
    return False


def same_stem(word: str, other: str) -> bool:
    """Equal, or a beginning of four letters in common: coarser than any stemmer, so never too kind."""
    return word == other or (min(len(word), len(other)) >= 4 and word[:4] == other[:4])
