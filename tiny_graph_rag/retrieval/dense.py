"""Nearest neighbours by embedding: what questions find by meaning, without walking the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.llm.embeddings import Embedder, make_embedder
from tiny_graph_rag.retrieval.base import Retriever, Task, retriever
from tiny_graph_rag.retrieval.baselines import own_text, relation_words
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.run import Run

TEXT_CHARACTERS = 2000  # of an entity's text: 500 to 1,500 tokens, below every embedding model's limit
DIGITS = 6  # kept of a cosine: more would depend on how the machine splits a product


@retriever("dense", "nearest by an API's embeddings")
class DenseRetriever(Retriever):
    """Cosine between question and entity (name, aliases, type, description, relations in words).

    Vectors come from `openai.base_url`, any service with OpenAI's /embeddings, and are kept on disk. The
    score is the cosine, in [-1, 1], to six digits.
    """

    walks: ClassVar[bool] = False

    def __init__(self, task: Task, embedder: Embedder) -> None:
        self.candidates, self._embedder = Candidates(task), embedder
        self._entities = embedder.vectors([_text(task.graph, number) for number in range(len(task.graph))])
        self._questions: dict[str, NDArray[np.float32]] = {}

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, make_embedder(task.config, "--retriever dense"))

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        self._learn(questions)
        entities, parts = np.arange(len(self.candidates.graph), dtype=np.int32), []
        for question in questions:
            products = (self._entities @ self._questions[question.text]).astype(np.float64)
            parts.append(self.candidates.ranked(question, entities, np.round(products, DIGITS)))
        return Run.concatenated(parts)

    def notes(self) -> list[str]:
        return [self._embedder.note()]

    def _learn(self, questions: Sequence[LinkedQuestion]) -> None:
        """Embed new questions in as few calls as there are batches. Raises ServiceError where that fails."""
        new = [item for item in dict.fromkeys(q.text for q in questions) if item not in self._questions]
        asked = self._embedder.vectors(new)
        if len(new) and asked.shape[1] != self._entities.shape[1]:
            raise UsageError(
                "the graph's vectors have {made} dimensions, the questions' {asked}",
                made=self._entities.shape[1],
                asked=asked.shape[1],
            )
        self._questions.update(zip(new, asked, strict=True))


def _text(graph: KnowledgeGraph, entity: int) -> str:
    """Its own, then its relations and neighbours, as the adjacency lists them."""
    adjacency, text = graph.adjacency, own_text(graph, entity)
    for slot in range(int(adjacency.indptr[entity]), int(adjacency.indptr[entity + 1])):
        if len(text) >= TEXT_CHARACTERS:
            break
        relation = relation_words(graph.relations.types[int(adjacency.relations[slot])])
        text += f". {relation} {graph.entities.names[int(adjacency.neighbours[slot])]}"
    return text[:TEXT_CHARACTERS]
