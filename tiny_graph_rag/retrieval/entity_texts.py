"""An entity as a text, for retrievers that search texts, and texts as tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.text import nfc

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
