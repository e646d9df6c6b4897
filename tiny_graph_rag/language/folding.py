"""The only place that folds names.

Two spellings are one name when their folded forms are equal: Unicode NFC, case-folded, white space and
punctuation removed. `점순네 수탉`, `점순네수탉` and `'점순네 수탉'` are one name, `U.S.A.` and `usa` too.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache


def nfc(text: str) -> str:
    """Unicode composition form C: the same Hangul whether a Mac or a keyboard wrote it."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=4096)
def is_dropped(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


def fold(text: str) -> str:
    """The form in which names are compared. A name of punctuation alone keeps it (`?!` is not empty)."""
    composed = unicodedata.normalize("NFC", nfc(text).casefold())
    kept = composed if composed.isalnum() else "".join(c for c in composed if not is_dropped(c))
    return kept or "".join(composed.split())


def without_accents(text: str) -> str:
    """Letters without their marks, é → e; Hangul, kana and what bears no mark stay as they are."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(map(_bare, unicodedata.normalize("NFC", text))))


@lru_cache(maxsize=4096)
def _bare(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    marked = len(parts) > 1 and parts[0].isalpha() and all(map(unicodedata.combining, parts[1:]))
    return parts[0] if marked and not "\u3040" <= parts[0] <= "\u30ff" else letter
