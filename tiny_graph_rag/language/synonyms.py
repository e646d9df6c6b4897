"""Common words for the relations that most graphs have: kinship, life, work, places, works, organisations.

A thesaurus of relations, not of the language: each line of synonyms.txt holds words that a question uses for
one relation, whatever a graph calls it. Only words that no relation type's name holds are looked up here.
"""

from __future__ import annotations

from functools import cache
from pkgutil import get_data

from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.words import lemma


@cache
def _words_beside() -> dict[str, frozenset[str]]:
    """Of each word all that its groups hold."""
    text = get_data(__package__, "synonyms.txt") or b""
    beside: dict[str, frozenset[str]] = {}
    for line in text.decode().splitlines():
        group = table(line) if not line.startswith("#") else frozenset()
        for word in group:
            beside[word] = beside.get(word, frozenset()) | group
    return beside


def synonyms(word: str) -> frozenset[str]:
    """Words that may mean the relation which a graph calls `word`; none for a word of no group."""
    beside = _words_beside()
    return (beside.get(word) or beside.get(lemma(word)) or frozenset()) - {word}
