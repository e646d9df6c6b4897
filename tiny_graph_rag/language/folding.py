"""The only place that folds names.

Two spellings are one name when their folded forms are equal: Unicode NFC, case-folded, white space and
punctuation removed. `점순네 수탉`, `점순네수탉` and `'점순네 수탉'` are one name, `U.S.A.` and `usa` too.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

LONGEST_RUN = 30  # combining marks on one letter, as in Unicode's Stream-Safe Text Format (UAX 15)
_LONG_RUN = re.compile(rf"[^\w\s!-~]{{{LONGEST_RUN + 1},}}")  # of combining marks, or of other signs


def nfc(text: str) -> str:
    """Unicode composition form C: the same Hangul whether a Mac or a keyboard wrote it."""
    return text if text.isascii() else _normalized("NFC", text)


def nfd(text: str) -> str:
    """Unicode decomposition form D: letters and marks apart, Hangul as its jamo."""
    return text if text.isascii() else _normalized("NFD", text)


def _normalized(form: Literal["NFC", "NFD"], text: str) -> str:
    """Longer runs of marks are normalised in parts: sorting one takes time with the square of its length."""
    cuts = [0]
    if len(text) > LONGEST_RUN:
        for run in _LONG_RUN.finditer(text):
            cuts += range(run.start() + LONGEST_RUN, run.end(), LONGEST_RUN)
    if len(cuts) == 1:
        return unicodedata.normalize(form, text)
    return "".join(
        unicodedata.normalize(form, text[start:end])
        for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)
    )


@lru_cache(maxsize=4096)
def is_dropped(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


class _Spaces(dict[int, int]):
    """Code point → itself, or a space where folding drops it; filled as texts need it."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if is_dropped(chr(code)) else code
        return self[code]


_SPACES = _Spaces()


def spaced(text: str) -> str:
    """The text with a space for each character of white space or punctuation; as long as the text."""
    return text.translate(_SPACES)


def folded_letters(text: str) -> str:
    """Composed and case-folded, white space and punctuation still there."""
    return text.lower() if text.isascii() else nfc(nfc(text).casefold())


def fold(text: str) -> str:
    """The form in which names are compared. A name of punctuation alone keeps it (`?!` is not empty)."""
    letters = folded_letters(text)
    return spaced(letters).replace(" ", "") or "".join(letters.split())


def without_accents(text: str) -> str:
    """Letters without their marks, é → e; Hangul, kana and what has no mark stay as they are."""
    if text.isascii():
        return text
    return nfc("".join(map(_bare, nfc(text))))


@lru_cache(maxsize=4096)
def _bare(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    marked = len(parts) > 1 and parts[0].isalpha() and all(map(unicodedata.combining, parts[1:]))
    return parts[0] if marked and not "\u3040" <= parts[0] <= "\u30ff" else letter
