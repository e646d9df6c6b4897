"""The dictionary forms of English words, by simplemma, with its dictionary memory-mapped.

simplemma unpacks its dictionary at every start: half a second and 80 MB. Unpacked once, it lies as sorted
columns in the cache folder; a word that it holds is looked up there, and simplemma is only imported for
others. Where the cache can't be written, simplemma works alone; the lemmas are the same.
"""

from __future__ import annotations

import contextlib
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tiny_graph_rag.columns.stamps import stamp_of
from tiny_graph_rag.columns.stored import BadArraysError, read_arrays, write_arrays
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config import cache_folder

if TYPE_CHECKING:
    from simplemma import Lemmatizer

LANGUAGE = "en"
COLUMNS = ("words", "forms")


@dataclass(frozen=True, slots=True, eq=False)
class Forms(Mapping[str, str]):
    """Word → dictionary form. words: ascending by code point; forms: of each."""

    words: Strings
    forms: Strings

    def __getitem__(self, word: str) -> str:
        row = bisect_left(self.words, word)
        if row == len(self.words) or self.words[row] != word:
            raise KeyError(word)
        form: str = self.forms[row]
        return form

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)


class Lemmas:
    """Asks the dictionary first, as simplemma does, and simplemma for what it lacks."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms

    @classmethod
    def open(cls) -> Lemmas:
        """With the dictionary from the cache, which is written where it isn't there."""
        path = cache_folder() / "lemmas" / f"{LANGUAGE}-{_installed():08x}.arrays"
        try:
            kept, _ = read_arrays(path)
            return cls(Forms(*(Strings(kept[f"{name}.data"], kept[f"{name}.offsets"]) for name in COLUMNS)))
        except (BadArraysError, KeyError):
            forms = _unpacked()
        arrays: dict[str, NDArray[Any]] = {}
        for name in COLUMNS:
            column: Strings = getattr(forms, name)
            arrays |= {f"{name}.data": column.data, f"{name}.offsets": column.offsets}
        with contextlib.suppress(OSError):
            write_arrays(path, arrays, {})
        return cls(forms)

    def lemma(self, word: str) -> str:
        """Of a word in small ASCII letters."""
        return (self._form(word) or self._lemmatiser.lemmatize(word, LANGUAGE)).lower()

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
    words = sorted(unpacked)
    return Forms(Strings.of(words), Strings.of(map(unpacked.__getitem__, words)))


def _installed() -> int:
    """Differs where another simplemma was installed; found without importing it."""
    spec = find_spec("simplemma")
    return zlib.crc32(str(stamp_of(Path(spec.origin)) if spec and spec.origin else "").encode())
