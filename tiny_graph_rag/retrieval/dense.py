"""Nearest neighbours by embedding: what questions find by meaning, without walking the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

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
        self.candidates, self.embedder = Candidates(task), embedder
        self.price = task.config.embeddings.usd_per_million_embedded
        texts = [_text(task.graph, entity) for entity in range(len(task.graph))]
        self.vectors = embedder.vectors(texts)

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, make_embedder(task.config, "--retriever dense"))

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        asked = self.embedder.vectors([question.text for question in questions])
        if len(questions) and asked.shape[1] != self.vectors.shape[1]:
            raise UsageError(
                f"the graph's vectors have {self.vectors.shape[1]} dimensions, "
                f"the questions' {asked.shape[1]}"
            )
        entities = np.arange(len(self.vectors), dtype=np.int32)
        parts = []
        for question, vector in zip(questions, asked, strict=True):
            scores = np.round((self.vectors @ vector).astype(np.float64), DIGITS)
            parts.append(self.candidates.ranked(question, entities, scores))
        return Run.concatenated(parts)

    def notes(self) -> list[str]:
        return [self.embedder.spent.note(self.price)]


def _text(graph: KnowledgeGraph, entity: int) -> str:
    text = own_text(graph, entity)
    for relation, other in neighbour_texts(graph, entity):
        if len(text) >= TEXT_CHARACTERS:
            break
        text += f". {relation} {other}"
    return text[:TEXT_CHARACTERS]
