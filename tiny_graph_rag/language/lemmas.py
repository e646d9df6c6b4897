"""The dictionary forms of English words, by simplemma, with its dictionary memory-mapped.

simplemma unpacks its dictionary at every start: half a second and 80 MB. Unpacked once, what it says of words
in small letters lies as sorted columns in the cache folder, with the few endings that it changes where it
does not know a word; simplemma itself is then not imported. Where the cache can't be written, the columns are
made again at each start; the lemmas are the same.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.hashed import KeyTable, key_of, keys_of
from tiny_graph_rag.columns.stamps import stamp_of
from tiny_graph_rag.columns.stored import BadArraysError, read_arrays, write_arrays
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config import cache_folder

LANGUAGE = "en"
BEGINNING = 3  # letters
TRIED = 5  # last letters of its words that its rules are tried on
UNKNOWN = "qxqxq"  # no word begins so
FIRST_BITS = 16  # of a key, by which words are found


class Lemmas:
    """What simplemma says of words in small ASCII letters.

    words, forms: the dictionary, and of each word its form in small letters. strays: words whose form has
    another beginning (thought → think). rules: what words that the dictionary lacks end in, what instead, and
    from which length on. A look-up by key takes a fifth of the time that comparing words would.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """arrays: as `_unpacked` makes them. Raises KeyError where one is missing."""
        self.words, self.forms, self.strays, endings, changed = (
            Strings.kept(arrays, name) for name in ("words", "forms", "strays", "endings", "changed")
        )
        self._table = KeyTable(arrays)
        self._rules = tuple(zip(endings, changed, arrays["least"].tolist(), strict=True))
        self._endings = tuple(endings)

    @classmethod
    def open(cls) -> Lemmas:
        """With the dictionary from the cache, which is written where it isn't there."""
        path = cache_folder() / "lemmas" / f"{LANGUAGE}-{_installed():08x}.arrays"
        try:
            return cls(read_arrays(path)[0])
        except (BadArraysError, KeyError):
            arrays = _unpacked()
        with contextlib.suppress(OSError):
            write_arrays(path, arrays, {})
        return cls(arrays)

    def lemma(self, word: str) -> str:
        form = self._form(word)
        if form is not None:
            return form
        if word.endswith(self._endings):
            for ending, instead, least in self._rules:
                if len(word) >= least and word.endswith(ending):
                    return word[: -len(ending)] + instead
        return word

    def holds(self, word: str) -> bool:
        """Whether the dictionary has the word, with or without a capital."""
        return self._form(word) is not None

    def _form(self, word: str) -> str | None:
        for row in self._table.rows_of(key_of(word)):
            if self.words[row] == word:
                return str(self.forms[row])
        return None


def _unpacked() -> dict[str, NDArray[Any]]:
    """simplemma's dictionary and rules as columns."""
    from simplemma import Lemmatizer
    from simplemma.strategies import DEFAULT_DICTIONARY_FACTORY

    unpacked = DEFAULT_DICTIONARY_FACTORY.get_dictionary(LANGUAGE)
    small: dict[str, str] = {}
    for word in sorted(unpacked):
        key = word.lower()
        if key.isascii() and key.isalpha() and word in (key, key.capitalize()):
            small[key] = (unpacked.get(key) or unpacked[key.capitalize()]).lower()
    lemmatiser = Lemmatizer()
    endings, changed, least = zip(
        *_rules(small, lambda word: lemmatiser.lemmatize(word, LANGUAGE).lower()), strict=True
    )
    columns = {
        "words": small,
        "forms": small.values(),
        "strays": [word for word in small if small[word][:BEGINNING] != word[:BEGINNING]],
        "endings": endings,
        "changed": changed,
    }
    arrays = {"least": np.array(least, dtype=np.int32)}
    arrays |= KeyTable.columns(keys_of(list(small)), np.arange(len(small), dtype=np.int32), FIRST_BITS)
    for name, column in columns.items():
        arrays |= Strings.of(column).arrays(name)
    return arrays


def _rules(known: Mapping[str, str], lemma: Callable[[str], str]) -> list[tuple[str, str, int]]:
    """What simplemma does with words that it does not know, longest endings first: tried, not listed, so that
    it is what the installed one does."""
    found: dict[str, tuple[str, int]] = {}
    for tail in sorted({word[-TRIED:] for word in known}):
        if lemma(UNKNOWN + tail) == UNKNOWN + tail:
            continue
        ends = (tail[place:] for place in range(len(tail) - 1, -1, -1))
        ending = next(end for end in ends if lemma(UNKNOWN + end) != UNKNOWN + end)
        words = [UNKNOWN[:size] + ending for size in range(len(UNKNOWN) + 1)]
        same = [len(word) for word in words if word not in known and lemma(word) == word]
        found[ending] = lemma(UNKNOWN + ending)[len(UNKNOWN) :], max(same, default=len(ending) - 1) + 1
    longest = sorted(found, key=lambda ending: (-len(ending), ending))
    return [(ending, *found[ending]) for ending in longest]


def _installed() -> int:
    """Differs where another simplemma was installed; found without importing it."""
    spec = find_spec("simplemma")
    return zlib.crc32(str(stamp_of(Path(spec.origin)) if spec and spec.origin else "").encode())
