"""Plain text search: what questions find without walking the graph."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.run import Run

K1, B = 1.2, 0.75  # the values of the TREC-3 paper and of Lucene


@retriever("bm25", "text search over names, descriptions and relations; needs no seeds")
class Bm25Retriever(Retriever):
    """BM25 over one text an entity: name, aliases, type, description, and its relations in words.

    Computed by bm25s (the extra `bm25`) in Lucene's form. Entities without a word of the question are not
    returned. Source: Robertson et al., Okapi at TREC-3 (1994).
    """

    walks: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        try:
            import bm25s
        except ImportError as error:
            raise MissingExtraError("--retriever bm25", "bm25s", "bm25") from error
        self.candidates = Candidates(task)
        texts, self.vocabulary = _token_ids(task.graph)
        self.index = bm25s.BM25(method="lucene", k1=K1, b=B)
        self.index.index((texts, self.vocabulary), show_progress=False, create_empty_token=False)

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return Run.concatenated([self._ranked(question) for question in questions])

    def _ranked(self, question: LinkedQuestion) -> Run:
        # In one order, for sums of floats depend on it.
        asked = sorted(self.vocabulary[token] for token in tokens(question.text) if token in self.vocabulary)
        if asked:
            scores = np.asarray(self.index.get_scores_from_ids(asked), dtype=np.float64)
        else:
            scores = np.zeros(len(self.candidates.graph))
        entities = np.flatnonzero(scores > 0).astype(np.int32)
        return self.candidates.ranked(question, entities, scores[entities])


def _token_ids(graph: KnowledgeGraph) -> tuple[list[list[int]], dict[str, int]]:
    """Each entity's text as token numbers, and the number of each token. Names are split once, not once a
    relation."""
    number: dict[str, int] = {}

    def numbered(text: str) -> list[int]:
        return [number.setdefault(token, len(number)) for token in tokens(text)]

    names = [numbered(name) for name in graph.entities.names]
    kinds = [numbered(relation_words(kind)) for kind in graph.relations.types.names]
    texts = [numbered(own_text(graph, entity)) for entity in range(len(graph))]
    codes = graph.relations.types.codes.tolist()
    for row, (source, target) in enumerate(
        zip(graph.relations.sources.tolist(), graph.relations.targets.tolist(), strict=True)
    ):
        texts[source] += kinds[codes[row]] + names[target]
        texts[target] += kinds[codes[row]] + names[source]
    return texts, number


# Written without spaces, or with endings glued on: pairs of characters find a word whatever follows it.
_PAIRED = re.compile(r"[\uac00-\ud7a3]+|[\u3040-\u30ff\u4e00-\u9fff]+")
_WORDS = re.compile(
    r"[\uac00-\ud7a3]+|[\u3040-\u30ff\u4e00-\u9fff]+|[^\W_\uac00-\ud7a3\u3040-\u30ff\u4e00-\u9fff]+"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def tokens(text: str) -> list[str]:
    """Lower-case words; Hangul, Han and kana as pairs of characters (점순네 → 점순, 순네), one stays one."""
    found: list[str] = []
    for word in _WORDS.findall(unicodedata.normalize("NFC", nfc(text).casefold())):
        if len(word) > 2 and _PAIRED.fullmatch(word):
            found.extend(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.append(word)
    return found


def relation_words(name: str) -> str:
    """`WRITTEN_BY`, `writtenBy` → `written by`."""
    return _CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").lower()


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
