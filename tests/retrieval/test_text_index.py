"""What texts say of entities: BM25 by another implementation, fields by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import bm25s
import numpy as np
import pytest

from tests.conftest import ROOT, kg
from tests.retrieval.test_bfs import graph_of
from tiny_graph_rag import load_graph, load_questions
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.text_index import K1, MILLI, B, TextIndex, content_stems
from tiny_graph_rag.language.words import words_of_name
from tiny_graph_rag.retrieval.pagerank import SynonymEdges


def stems(name: str) -> list[str]:
    return content_stems(" ".join(words_of_name(name)))


@pytest.mark.parametrize("story", ["conan-doyle-speckled-band", "김유정-동백꽃"])
def test_scores_are_those_of_bm25s(story: str) -> None:
    """One text an entity; bm25s leaves out the constant K1 + 1 and takes natural logarithms."""
    graph = load_graph(ROOT / f"data/kg/{story}-KG.json")
    known, relations = graph.entities, graph.relations
    columns = zip(known.names, known.types, known.aliases, known.descriptions, strict=True)
    texts = [
        content_stems(name) + stems(type_) + content_stems(". ".join((*aliases, description)))
        for name, type_, aliases, description in columns
    ]
    for row, type_ in enumerate(relations.types):
        source, target = int(relations.sources[row]), int(relations.targets[row])
        told = stems(type_) + content_stems(relations.descriptions[row])
        texts[source] += told + content_stems(known.names[target])
        texts[target] += told + content_stems(known.names[source])
    number = {stem: row for row, stem in enumerate(sorted({stem for text in texts for stem in text}))}
    theirs = bm25s.BM25(method="lucene", k1=K1, b=B)
    theirs.index(([[number[stem] for stem in text] for text in texts], number), show_progress=False)
    index = TextIndex(graph)
    for question in load_questions(ROOT / f"data/eval/{story}-hardset.jsonl").examples[:40]:
        asked = sorted({stem for stem in content_stems(question.query) if stem in number})
        ours = np.zeros(len(graph))
        for stem in asked:
            found = index.bits(stem)
            ours[found.entities] += found.bits / MILLI
        wanted = theirs.get_scores_from_ids([number[stem] for stem in asked]) * (K1 + 1) / math.log(2)
        np.testing.assert_allclose(ours, wanted, atol=0.001 * len(asked) + 1e-4)


def test_a_word_is_found_in_every_field_and_under_any_accent() -> None:
    graph = graph_of([("Zoë Brandt", "paintedIn", "Oslo")], names=["Zoë Brandt", "Oslo", "Lamp"])
    index = TextIndex(graph)

    def bearers(word: str) -> list[str]:
        (stem,) = content_stems(word)
        return sorted(graph.entities.names[row] for row in index.bits(stem).entities.tolist())

    # Its own name and one next to it, with and without the accent; the type of its relation.
    assert bearers("Zoe") == bearers("Zoë") == bearers("painting") == ["Oslo", "Zoë Brandt"]
    assert bearers("lamps") == ["Lamp"]
    assert bearers("harp") == []


@pytest.mark.parametrize("text", ["of the", "who is it", "그 것", ""])
def test_function_words_say_nothing(text: str) -> None:
    assert content_stems(text) == []


def test_names_that_are_nearly_one_are_joined() -> None:
    names = ["Tulsa", "Tulsa, Oklahoma", "Oklahoma", "Reno"]
    joins = SynonymEdges.of(graph_of([("Tulsa", "in", "Reno")], names=names))
    beside = np.split(joins.neighbours, joins.indptr[1:-1])
    assert [set(row.tolist()) for row in beside] == [{1}, {0, 2}, {1}, set()]


def test_an_entity_whose_description_names_another_is_beside_it() -> None:
    names = ["Ada Marsh", "Gull Rock", "Port Vane"]
    told = {"Ada Marsh": "She keeps the light on Gull Rock."}
    joins = SynonymEdges.of(graph_of([("Port Vane", "near", "Ada Marsh")], told=told, names=names))
    assert np.diff(joins.indptr).tolist() == [1, 1, 0]
    assert joins.neighbours.tolist() == [1, 0]
    assert joins.weights.tolist() == [1000, 1000]  # as much as a relation


@pytest.mark.parametrize("keywords", ["lodging, herring trade", ["lodging", "herring trade"]])
def test_keywords_of_relations_are_text_too(tmp_path: Path, keywords: str | list[str]) -> None:
    document = kg(["Ada Marsh", "Port Vane", "Gull Rock"], [("Ada Marsh", "RELATED", "Port Vane")])
    document["relationships"][0]["keywords"] = keywords
    (tmp_path / "a-KG.json").write_text(json.dumps(document), encoding="utf-8")
    index = TextIndex(read_graph(tmp_path / "a-KG.json"))
    (stem,) = content_stems("herrings")
    assert index.bits(stem).entities.tolist() == [0, 1]
    assert index.holding(stem, index.told)[0].tolist() == [0]
