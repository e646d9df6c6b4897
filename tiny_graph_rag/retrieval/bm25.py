"""Plain text search: what questions find without walking the graph; and an entity as one text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI, TextIndex, content_stem
from tiny_graph_rag.language.words import words_of_name
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import tokens
from tiny_graph_rag.retrieval.base import Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.run import Run


@retriever("bm25", "text search over names, descriptions and relations")
class Bm25Retriever(Retriever):
    """BM25F over what the graph says of an entity, by stems and without function words.

    Its name, aliases, type and description, its relations' types and descriptions, its neighbours' names. The
    score is in bits; entities without a word of the question are not returned. Source: Robertson & Zaragoza,
    The probabilistic relevance framework: BM25 and beyond (2009).
    """

    walks: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        self.candidates, self.index = Candidates(task), TextIndex(task.graph, every_text=True)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return Run.concatenated([self._ranked(question) for question in questions])

    def _ranked(self, question: LinkedQuestion) -> Run:
        words, _ = tokens(question.text)
        stems = {stem for word in words.values() if (stem := content_stem(word)) is not None}
        entities, bits = self.index.total(map(self.index.bits, stems))
        return self.candidates.ranked(question, entities.astype(np.int32), bits / MILLI)


def relation_words(name: str) -> str:
    """`WRITTEN_BY`, `writtenBy` → `written by`."""
    return " ".join(words_of_name(name))


def own_text(graph: KnowledgeGraph, entity: int) -> str:
    """Name, aliases, type and description."""
    known = graph.entities
    parts = [known.names[entity], *known.aliases[entity], relation_words(known.types[entity])]
    return ". ".join(part for part in (*parts, known.descriptions[entity]) if part)


def neighbour_texts(graph: KnowledgeGraph, entity: int) -> Iterator[tuple[str, str]]:
    """(relation in words, name of the other entity), as the adjacency lists them."""
    adjacency = graph.adjacency
    for slot in range(int(adjacency.indptr[entity]), int(adjacency.indptr[entity + 1])):
        relation = int(adjacency.relations[slot])
        yield (
            relation_words(graph.relations.types[relation]),
            graph.entities.names[int(adjacency.neighbours[slot])],
        )
