"""Counting tokens before a call, and after it where the API does not say.

tiktoken counts where its encoding lies on this machine; it is never downloaded from here. Elsewhere an
estimate by character class stands in, and everything made from it is marked as estimated.
"""

from __future__ import annotations

import hashlib
import math
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.llm.base import Message

if TYPE_CHECKING:
    import tiktoken

# What the chat format adds, after OpenAI's own counting recipe: each message, then the reply's start.
TOKENS_PER_MESSAGE = 4
TOKENS_PER_REPLY = 3
# Fitted to o200k_base on the sample graphs, their questions and both READMEs: within 7 % on each of them.
TOKENS_PER_PIECE = {"word": 1.15, "syllable": 0.93, "number": 1.5, "sign": 0.6}
ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"  # tiktoken's cache keys

_PIECES = re.compile(r"(?P<word>[A-Za-z]+)|(?P<syllable>[가-힣])|(?P<number>\d{1,3})|(?P<sign>[^\s])")


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """encoding: None where none can be had offline. name: what counts, for people."""

    encoding: tiktoken.Encoding | None
    name: str

    @classmethod
    def for_model(cls, model: str, folder: str = "") -> TokenCounter:
        """folder: where tiktoken keeps its encodings (environment TIKTOKEN_CACHE_DIR)."""
        import tiktoken

        try:
            name = tiktoken.encoding_name_for_model(model)
        except KeyError:
            return cls(None, f"estimate (no tokenizer is known for {model})")
        places = Path(folder) if folder else Path(tempfile.gettempdir(), "data-gym-cache")
        cached = places / hashlib.sha1(ENCODING_URL.format(name=name).encode()).hexdigest()
        if not cached.is_file():
            return cls(None, f"estimate ({name} is not in {places})")
        try:
            return cls(tiktoken.get_encoding(name), f"tiktoken {name}")
        except (OSError, ValueError):  # a spoiled file, which tiktoken then tries to download
            return cls(None, f"estimate ({name} in {places} can't be read)")

    @property
    def exact(self) -> bool:
        return self.encoding is not None

    def count(self, text: str) -> int:
        if self.encoding is not None:
            return len(self.encoding.encode_ordinary(text))
        return _estimated(text)

    def prompt(self, messages: Iterable[Message]) -> int:
        """Tokens of a whole prompt, the chat format's own included."""
        counts = [self.count(each.content) + TOKENS_PER_MESSAGE for each in messages]
        return sum(counts) + TOKENS_PER_REPLY

    def prompt_at_most(self, messages: Iterable[Message]) -> int:
        """An upper bound for a cap: byte-pair tokenizers never make more tokens than bytes."""
        if self.exact:
            return self.prompt(messages)
        return sum(len(each.content.encode()) + 2 * TOKENS_PER_MESSAGE for each in messages)


def _estimated(text: str) -> int:
    found = dict.fromkeys(TOKENS_PER_PIECE, 0)
    for piece in _PIECES.finditer(text):
        found[piece.lastgroup or "sign"] += 1
    return math.ceil(sum(count * TOKENS_PER_PIECE[kind] for kind, count in found.items()))
