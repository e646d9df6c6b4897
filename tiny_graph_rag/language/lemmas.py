"""The dictionary forms of English words, by simplemma, with its dictionary memory-mapped.

simplemma unpacks its dictionary at every start: half a second and 80 MB. Unpacked once, it lies as sorted
columns in the cache folder; a word that it holds is looked up there. Of others simplemma changes the ending
alone, and is only imported for those whose ending it may change. Where the cache can't be written, simplemma
works alone; the lemmas are the same.
"""

from __future__ import annotations

import contextlib
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stamps import stamp_of
from tiny_graph_rag.columns.stored import BadArraysError, read_arrays, write_arrays
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config import cache_folder

if TYPE_CHECKING:
    from simplemma import Lemmatizer

LANGUAGE = "en"
COLUMNS = ("words", "forms", "strays", "endings")
BEGINNING = 3  # letters
TRIED = 5  # last letters of its words that these rules are tried on
UNKNOWN = "qxqxq"  # no word begins so


class Forms(Mapping[str, str]):
    """Word → dictionary form.

    words: Strings; forms: Strings, of each. strays: Strings, small words whose form has another beginning
    (thought → think). endings: Strings, the ends of words that it lacks and simplemma changes. sums: uint32,
    the words' CRC-32, ascending; rows: int32, the word of each. A look-up by checksum takes a fifth of the
    time that comparing words would.
    """

    def __init__(
        self,
        words: Strings,
        forms: Strings,
        strays: Strings,
        endings: Strings,
        sums: NDArray[Any],
        rows: NDArray[Any],
    ) -> None:
        self.words, self.forms, self.strays, self.sums, self.rows = words, forms, strays, sums, rows
        self.endings = endings
        self._sums = memoryview(sums)  # type: ignore[arg-type]  # gives whole numbers faster than an array

    @classmethod
    def of(cls, dictionary: Mapping[str, str], endings: Iterable[str]) -> Forms:
        words = list(dictionary)
        sums = np.array([zlib.crc32(word.encode()) for word in words], dtype=np.uint32)
        rows = np.argsort(sums, kind="stable").astype(np.int32)
        strays = Strings.of(_strays(dictionary))
        columns = Strings.of(words), Strings.of(dictionary.values()), strays, Strings.of(endings)
        return cls(*columns, sums[rows], rows)

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = {"sums": self.sums, "rows": self.rows}
        for name in COLUMNS:
            column: Strings = getattr(self, name)
            found |= {f"{name}.data": column.data, f"{name}.offsets": column.offsets}
        return found

    @classmethod
    def kept(cls, arrays: Mapping[str, NDArray[Any]]) -> Forms:
        """From what `arrays` gave. Raises KeyError where a column is missing."""
        words, forms, strays, endings = (
            Strings(arrays[f"{name}.data"], arrays[f"{name}.offsets"]) for name in COLUMNS
        )
        return cls(words, forms, strays, endings, arrays["sums"], arrays["rows"])

    def __getitem__(self, word: str) -> str:
        wanted = zlib.crc32(word.encode())
        place = bisect_left(self._sums, wanted)
        while place < len(self._sums) and self._sums[place] == wanted:
            row = int(self.rows[place])
            if self.words[row] == word:
                form: str = self.forms[row]
                return form
            place += 1
        raise KeyError(word)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)


class Lemmas:
    """Asks the dictionary first, as simplemma does, and simplemma for what it lacks."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self._endings = tuple(forms.endings)

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
        return self.forms.strays

    def lemma(self, word: str) -> str:
        """Of a word in small ASCII letters."""
        form = self._form(word)
        if form is None:
            form = self._lemmatiser.lemmatize(word, LANGUAGE) if word.endswith(self._endings) else word
        return form.lower()

    def holds(self, word: str) -> bool:
        """Whether the dictionary has the word, with or without a capital."""
        return self._form(word) is not None

    def _form(self, word: str) -> str | None:
        return self.forms.get(word) or self.forms.get(word.capitalize())

    @cached_property
    def _lemmatiser(self) -> Lemmatizer:
        from simplemma import Lemmatizer
        from simplemma.strategies import DefaultStrategy

        return Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=self))

    def get_dictionary(self, lang: str) -> Mapping[str, str]:
        """For simplemma, as one of its dictionary factories."""
        return self.forms


def _unpacked() -> Forms:
    from simplemma.strategies import DEFAULT_DICTIONARY_FACTORY

    unpacked = DEFAULT_DICTIONARY_FACTORY.get_dictionary(LANGUAGE)
    return Forms.of({word: unpacked[word] for word in sorted(unpacked)}, _endings(unpacked))


def _endings(unpacked: Iterable[str]) -> list[str]:
    """The shortest ends of words that the dictionary lacks and simplemma's rules change: tried, not listed,
    so that they are those of the simplemma that is installed."""
    from simplemma import Lemmatizer

    lemmatiser = Lemmatizer()
    found: set[str] = set()
    for tail in {word[-TRIED:].lower() for word in unpacked if word.isascii() and word.isalpha()}:
        if lemmatiser.lemmatize(UNKNOWN + tail, LANGUAGE) != UNKNOWN + tail:
            ends = (tail[place:] for place in range(len(tail) - 1, -1, -1))
            found.add(
                next(end for end in ends if lemmatiser.lemmatize(UNKNOWN + end, LANGUAGE) != UNKNOWN + end)
            )
    return sorted(found)


def _strays(unpacked: Mapping[str, str]) -> list[str]:
    found = set()
    for word in unpacked:
        small = word.lower()
        if small.isascii() and small.isalpha() and word in (small, small.capitalize()):
            form = unpacked.get(small) or unpacked[small.capitalize()]
            if form.lower()[:BEGINNING] != small[:BEGINNING]:
                found.add(small)
    return sorted(found)


def _installed() -> int:
    """Differs where another simplemma was installed; found without importing it."""
    spec = find_spec("simplemma")
    return zlib.crc32(str(stamp_of(Path(spec.origin)) if spec and spec.origin else "").encode())
