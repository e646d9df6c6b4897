"""Words that speak for a relation by meaning: the cosine of embeddings, where no word is like another.

`--relation-similarity embeddings`: *penned* shares no letters with `written_by`, but it is near in meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.language.words import words_of_name
from tiny_graph_rag.linking.question_words import NO_CLAIMS, NO_WORD, Claims, milli
from tiny_graph_rag.llm.embeddings import Embedder


class Meanings:
    """Relation types by the embeddings of their names in words. price: USD for a million tokens, or None."""

    def __init__(
        self, names: Sequence[str], embedder: Embedder, ranking: RankingPrices, price: float | None
    ) -> None:
        in_words = [" ".join(words_of_name(name)) for name in names]
        self._types = np.flatnonzero([bool(text) for text in in_words])
        self._texts = [text for text in in_words if text]
        self._embedder, self._price = embedder, price
        self._weight, self._least = milli(ranking.similar_word), milli(ranking.similar_from)
        self._known: dict[str, Claims] = {}

    def learn(self, words: Sequence[str]) -> None:
        """Embed new words and the types' names in as few calls as there are batches.

        Raises ServiceError where the service fails, or answers with vectors of several dimensions.
        """
        new = [word for word in words if word not in self._known]
        if not new or not self._texts:
            return
        vectors = self._embedder.vectors([*self._texts, *new]).astype(np.float64)
        types, asked = vectors[: len(self._texts)], vectors[len(self._texts) :]
        # Whole thousandths: more would depend on how the machine splits a product.
        cosines = np.rint(asked @ types.T * 1000).astype(np.int64)
        for word, row in zip(new, cosines, strict=True):
            near = np.flatnonzero(row >= self._least)
            weights = self._weight * row[near] // 1000
            self._known[word] = Claims(self._types[near], weights, np.full(len(near), NO_WORD))

    def claims(self, word: str) -> Claims:
        """The types that a learned word is near to; none for any other word."""
        return self._known.get(word, NO_CLAIMS)

    def note(self) -> str:
        return self._embedder.spent.note(self._price)
