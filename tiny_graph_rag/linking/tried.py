"""What was looked for where a question linked to nothing: what to look at before adding aliases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tiny_graph_rag.text import nfc
from tiny_graph_rag.text.words import FUNCTION_WORDS

MOST_TRIED = 20  # words of a question; who asks in more has other worries

_WORD = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)


def words_tried(texts: Iterable[str]) -> tuple[str, ...]:
    """The words of the texts that could name something, as they stand there, each once, the first 20.

    Every stretch of a text is looked up as a name; function words alone name nothing and are left out.
    """
    found: dict[str, str] = {}
    for text in texts:
        for whole in _WORD.findall(text):
            word = _POSSESSIVE.sub("", whole)
            folded = nfc(word).casefold()
            if folded not in FUNCTION_WORDS:
                found.setdefault(folded, word)
    return tuple(found.values())[:MOST_TRIED]
