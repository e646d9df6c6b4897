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
from tiny_graph_rag.retrieval.bm25 import neighbour_texts, own_text
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
        self.candidates = Candidates(task)
        self.near = Nearness(task, embedder)

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, make_embedder(task.config, "--retriever dense"))

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        self.near.learn(questions)
        entities = np.arange(len(self.candidates.graph), dtype=np.int32)
        return Run.concatenated(
            [
                self.candidates.ranked(question, entities, self.near.cosines(question))
                for question in questions
            ]
        )

    def notes(self) -> list[str]:
        return [self.near.note()]


class Nearness:
    """The entities of a graph by the embeddings of their texts, next to those of questions."""

    def __init__(self, task: Task, embedder: Embedder) -> None:
        self._embedder = embedder
        self._entities = embedder.vectors([_text(task.graph, number) for number in range(len(task.graph))])
        self._questions: dict[str, NDArray[np.float32]] = {}

    def learn(self, questions: Sequence[LinkedQuestion]) -> None:
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

    def cosines(self, question: LinkedQuestion) -> NDArray[np.float64]:
        """(entities,), of a question that was learned."""
        products = (self._entities @ self._questions[question.text]).astype(np.float64)
        rounded: NDArray[np.float64] = np.round(products, DIGITS)
        return rounded

    def note(self) -> str:
        return self._embedder.note()


def _text(graph: KnowledgeGraph, entity: int) -> str:
    text = own_text(graph, entity)
    for relation, other in neighbour_texts(graph, entity):
        if len(text) >= TEXT_CHARACTERS:
            break
        text += f". {relation} {other}"
    return text[:TEXT_CHARACTERS]
