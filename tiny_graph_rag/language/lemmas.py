"""The dictionary forms of English words, by simplemma, with its dictionary memory-mapped.

simplemma unpacks its dictionary at every start: half a second and 80 MB. Unpacked once, what it says of words
in small letters lies as sorted columns in the cache folder, with the few endings that it changes where it
does not know a word; simplemma itself is then not imported. Where the cache can't be written, the columns are
made again at each start; the lemmas are the same.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stamps import stamp_of
from tiny_graph_rag.columns.stored import BadArraysError, read_arrays, write_arrays
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config import cache_folder

LANGUAGE = "en"
COLUMNS = ("words", "forms", "strays", "endings", "changed")
NUMBERS = ("least", "sums", "rows", "starts")
BEGINNING = 3  # letters
TRIED = 5  # last letters of its words that its rules are tried on
UNKNOWN = "qxqxq"  # no word begins so
FIRST_BITS = 16  # of a checksum, by which words are found


class Forms(Mapping[str, str]):
    """Word in small ASCII letters → dictionary form in small letters.

    columns: words, forms, of each word. strays, words whose form has another beginning (thought → think).
    endings, changed: what words that the dictionary lacks end in, and what instead, from a length on (least).
    sums: uint32, the words' CRC-32, ascending; rows: int32, the word of each; starts: int32, where the sums
    with these first bits start. A look-up by checksum takes a fifth of the time that comparing words would.
    """

    def __init__(self, columns: Mapping[str, Strings], numbers: Mapping[str, NDArray[Any]]) -> None:
        self.columns, self.numbers = columns, numbers
        self.words, self.forms = columns["words"], columns["forms"]
        # A memory view gives whole numbers faster than an array.
        self._sums, self._rows, self._starts = (memoryview(numbers[name]) for name in NUMBERS[1:])  # type: ignore[arg-type]
        self.rules = tuple(
            zip(columns["endings"], columns["changed"], numbers["least"].tolist(), strict=True)
        )

    @classmethod
    def of(cls, dictionary: Mapping[str, str], rules: Iterable[tuple[str, str, int]]) -> Forms:
        """rules: (ending, what instead, length from which on)."""
        words = list(dictionary)
        endings, changed, least = zip(*rules, strict=True)
        sums = np.array([zlib.crc32(word.encode()) for word in words], dtype=np.uint32)
        rows = np.argsort(sums, kind="stable").astype(np.int32)
        firsts = np.arange((1 << FIRST_BITS) + 1)
        starts = np.searchsorted(sums[rows] >> (32 - FIRST_BITS), firsts).astype(np.int32)
        columns = {
            "words": words,
            "forms": dictionary.values(),
            "strays": [span for span in words if dictionary[span][:BEGINNING] != span[:BEGINNING]],
            "endings": endings,
            "changed": changed,
        }
        return cls(
            {name: Strings.of(column) for name, column in columns.items()},
            {"least": np.array(least, dtype=np.int32), "sums": sums[rows], "rows": rows, "starts": starts},
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = dict(self.numbers)
        for name, column in self.columns.items():
            found |= {f"{name}.data": column.data, f"{name}.offsets": column.offsets}
        return found

    @classmethod
    def kept(cls, arrays: Mapping[str, NDArray[Any]]) -> Forms:
        """From what `arrays` gave. Raises KeyError where a column is missing."""
        columns = {name: Strings(arrays[f"{name}.data"], arrays[f"{name}.offsets"]) for name in COLUMNS}
        return cls(columns, {name: arrays[name] for name in NUMBERS})

    def __getitem__(self, word: str) -> str:
        found = self.get(word)
        if found is None:
            raise KeyError(word)
        form: str = found
        return form

    def get(self, word: str, default: Any = None) -> Any:
        wanted = zlib.crc32(word.encode())
        first = wanted >> (32 - FIRST_BITS)
        for place in range(self._starts[first], self._starts[first + 1]):
            if self._sums[place] == wanted:
                row = self._rows[place]
                if self.words[row] == word:
                    return self.forms[row]
        return default

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)


class Lemmas:
    """What simplemma says of words in small ASCII letters."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self._endings = tuple(ending for ending, _, _ in forms.rules)

    @classmethod
    def open(cls) -> Lemmas:
        """With the dictionary from the cache, which is written where it isn't there."""
        path = cache_folder() / "lemmas" / f"{LANGUAGE}-{_installed():08x}.arrays"
        try:
            return cls(Forms.kept(read_arrays(path)[0]))
        except (BadArraysError, KeyError):
            forms = _unpacked()
        with contextlib.suppress(OSError):
            write_arrays(path, forms.arrays(), {})
        return cls(forms)

    @property
    def strays(self) -> Strings:
        return self.forms.columns["strays"]

    def lemma(self, word: str) -> str:
        form: str | None = self.forms.get(word)
        if form is not None:
            return form
        if word.endswith(self._endings):
            for ending, instead, least in self.forms.rules:
                if len(word) >= least and word.endswith(ending):
                    return word[: -len(ending)] + instead
        return word

    def holds(self, word: str) -> bool:
        """Whether the dictionary has the word, with or without a capital."""
        return self.forms.get(word) is not None


def _unpacked() -> Forms:
    from simplemma import Lemmatizer
    from simplemma.strategies import DEFAULT_DICTIONARY_FACTORY

    unpacked = DEFAULT_DICTIONARY_FACTORY.get_dictionary(LANGUAGE)
    small: dict[str, str] = {}
    for word in sorted(unpacked):
        key = word.lower()
        if key.isascii() and key.isalpha() and word in (key, key.capitalize()):
            small[key] = (unpacked.get(key) or unpacked[key.capitalize()]).lower()
    lemmatiser = Lemmatizer()
    return Forms.of(small, _rules(small, lambda word: lemmatiser.lemmatize(word, LANGUAGE).lower()))


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
