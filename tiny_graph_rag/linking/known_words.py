"""Words that tell a name from other words: function words, determiners, the words of relation types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.text.columns import Keys, keys_of
from tiny_graph_rag.text.words import DETERMINERS, FUNCTION_WORDS

STEM, HANGUL_STEM = 4, 2  # characters that two words share at their start when they have a stem in common


@dataclass(frozen=True, slots=True, eq=False)
class KnownWords:
    """Keys, each column ascending. function: function words. determiners. stems: of the words that relations
    (and entity types) are named with."""

    function: Keys
    determiners: Keys
    stems: Keys

    @classmethod
    def of(cls, names: NameIndex, types: Iterable[str]) -> KnownWords:
        function, _ = distinct(np.concatenate([keys_of(FUNCTION_WORDS), names.function_words]))
        return cls(function, keys_of(DETERMINERS), keys_of(stems_of_types(types)))


def stems_of_types(types: Iterable[str]) -> set[str]:
    """The stems of the content words in the names of relation and entity types."""
    return {stem_of(word) for name in types for word in words_of_type(name) if word not in FUNCTION_WORDS}


def words_of_type(name: str) -> list[str]:
    """`LOCATED_IN`, `locatedIn` → located, in."""
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())


def stem_of(word: str) -> str:
    return word[: HANGUL_STEM if "가" <= word[0] <= "힣" else STEM]
