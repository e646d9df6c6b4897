"""Where the words of a text stand, in any script.

A word is a run of letters and digits with the marks that belong to them: vowels and tones of Indic scripts,
Thai, Lao, Burmese and Khmer, Arabic vowels, accents of their own. In scripts without spaces no dictionary is
asked: ideographs are read two by two and letters three by three, overlapping, as search engines index them.
There a run of hiragana holds a sentence together and is no word, a run of katakana is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tiny_graph_rag.language.folding import HAS_UNSPACED, UNSPACED

IDEOGRAPHS, LETTERS = 2, 3  # that make a word of a script without spaces

# By blocks of Unicode: accents, Cyrillic, Hebrew, Arabic, Syriac, Thaana; Devanagari to Sinhala; Thai, Lao;
# Tibetan, Burmese, Khmer; joiners.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963"
    "\u0981-\u0983\u09bc\u09be-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc\u0abe-\u0acd"
    "\u0b01-\u0b03\u0b3c\u0b3e-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc"
    "\u0cbe-\u0cd6\u0d00-\u0d03\u0d3b\u0d3c\u0d3e-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0ddf"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u200c\u200d"
)
_RUN = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*"
WORD = re.compile(rf"{_RUN}(?:['’]{_RUN})?")
_PART = re.compile(
    r"(?P<ideographs>[\u3005\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]+)"
    r"|(?P<hiragana>[\u3040-\u309f]+)"
    rf"|(?P<letters>(?:[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff][{MARKS}]*)+)"
    rf"|(?P<whole>[\u30a0-\u30ff]+|[^{UNSPACED}]+)"
)
_LETTER = re.compile(rf".[{MARKS}]*")


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each word, in order."""
    for match in WORD.finditer(text):
        if not text.isascii() and HAS_UNSPACED.search(text, *match.span()):
            for part in _PART.finditer(text, *match.span()):
                yield from _words_of_part(part)
        else:
            yield match.span()


def words_in(text: str) -> list[str]:
    """The words of a text as they stand there."""
    if HAS_UNSPACED.search(text) is None:
        return WORD.findall(text)
    return [text[start:end] for start, end in word_spans(text)]


def _words_of_part(part: re.Match[str]) -> Iterator[tuple[int, int]]:
    if part.lastgroup == "whole":
        yield part.span()
    elif part.lastgroup != "hiragana":
        size = IDEOGRAPHS if part.lastgroup == "ideographs" else LETTERS
        cuts = [letter.start() for letter in _LETTER.finditer(part.string, *part.span())]
        cuts.append(part.end())
        for first in range(max(1, len(cuts) - size)):
            yield cuts[first], cuts[min(first + size, len(cuts) - 1)]
