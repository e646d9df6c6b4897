"""The names of a graph that are most like a name which it lacks, or that a text nearly says: what to look at
where a gold set's name, or linking, found nothing.

Names are compared letter by letter by rapidfuzz, Hangul taken apart, so that 점숭 is nearer to 점순 than to
점례. Each word of a text is looked up in the words of all names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np

from tiny_graph_rag.columns.arrays import rows_holding
from tiny_graph_rag.graph.names import ALIAS, NameIndex
from tiny_graph_rag.graph.tables import Entities
from tiny_graph_rag.language.folding import Text, fold, folded_letters, nfd, spaced
from tiny_graph_rag.language.function_words import NAMELESS, ParticleFit, final_consonant, particles

SHORTLIST = 40  # spellings looked at for the nearest entities
LEAST = 0.5  # likeness below which a name is no help
LIKE_ENOUGH = 0.7  # likeness below which a guess would only cost the reader's time
SEPARATORS = re.compile("[,/&+、，·]")  # what people write between names, besides the `;` that a table wants
MOST_WORDS = 200  # different words of a text that are looked up; a question has fewer
MOST_HOLDERS = 100  # spellings with a word; a word that more of them have points at none
SHORTEST = 2  # characters of a word that is looked for
SHORTEST_MISSPELT = 4  # letters, those of Hangul taken apart
LEAST_OF_NAME = 0.25  # of its letters that a word written like a name (H1, Holmes) must be like
LEAST_OF_ANY = 0.5  # the same for a word in lower case, which may be any word
DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Near:
    """likeness: in (0, 1], twice the letters in common, in order, over all letters."""

    name: str
    entity: int
    likeness: float


def joined_names(name: str, nearest: Iterable[str]) -> list[str]:
    """The names that a missing name was put together of, such as "Anna, Ben"; empty where at most one of its
    parts is among the names `nearest` to it."""
    parts = [part.strip() for part in SEPARATORS.split(name)]
    return parts if len(set(parts) & set(nearest)) > 1 else []


def letters_of(name: str) -> str:
    """What is compared: without case and punctuation, Hangul taken apart."""
    return nfd(fold(name))


def similar(letters: str, spelled: Sequence[str], least: float, most: int | None) -> list[tuple[int, float]]:
    """(place in `spelled`, likeness), best first; of equal ones the first. most: None for all."""
    from rapidfuzz import fuzz, process

    ranked = process.extract(letters, spelled, scorer=fuzz.ratio, score_cutoff=100 * least, limit=most)
    return [(place, likeness / 100) for _, likeness, place in ranked]


class NearestNames:
    """The names and aliases of a graph, built once. owners: the entity of each spelling."""

    def __init__(self, spellings: Sequence[str], owners: Sequence[int]) -> None:
        self.spellings, self.owners = spellings, owners
        self._spelled = [letters_of(spelling) for spelling in spellings]

    @classmethod
    def of(cls, entities: Entities) -> NearestNames:
        aliases, rows = entities.aliases, np.arange(len(entities))
        owners = np.concatenate([rows, np.repeat(rows, np.diff(aliases.offsets))])
        return cls([*entities.names, *aliases.items], owners.tolist())

    def of_all(self, names: Iterable[str], most: int = 3) -> dict[str, tuple[Near, ...]]:
        """Each name's nearest entities, at most `most`, best first; none below LEAST."""
        return {name: self._nearest(name, most) for name in dict.fromkeys(names)}

    def _nearest(self, name: str, most: int) -> tuple[Near, ...]:
        found: dict[int, Near] = {}
        for row, likeness in similar(letters_of(name), self._spelled, LEAST, SHORTLIST):
            near = Near(self.spellings[row], self.owners[row], likeness)
            found.setdefault(near.entity, near)
        best = sorted(found.values(), key=lambda near: (-near.likeness, near.name, near.entity))
        return tuple(best[:most])


@dataclass(frozen=True, slots=True)
class NearestName:
    """words: of the text. name: of the entity, or its alias. likeness: the share of the name's letters that
    the words have, misspelt ones by how similar they are, in (0, 1]."""

    words: str
    name: str
    entity: int
    likeness: float


def nearest_names(text: str, names: NameIndex, limit: int = 3) -> tuple[NearestName, ...]:
    """Names that words of the text are a part, the initials or a misspelling of; most similar first.

    `H1` → 청소로봇 H1, `NYC` → New York City, `Shrlock` → Sherlock Holmes. At most `limit` entities, each by
    its best spelling; equally similar ones by name. Empty where no word is like any name (`Kolkata`, where
    the graph has `Calcutta`). These are guesses for a reader: a text that says a name links to it by itself.
    Of a longer text the first MOST_WORDS different words are looked up.
    """
    search = _search_of(names)
    letters: dict[int, float] = {}
    words: dict[int, list[str]] = {}
    for word, is_name_like in islice(dict.fromkeys(_words(text)), MOST_WORDS):
        for row, share in search.like(fold(word)).items():
            if share >= (LEAST_OF_NAME if is_name_like else LEAST_OF_ANY) or row in letters:
                letters[row] = letters.get(row, 0.0) + share
                words.setdefault(row, []).append(word)
    best: dict[int, NearestName] = {}
    for row, share in letters.items():
        entity = names.entity(row)
        near = NearestName(" ".join(words[row]), names.spelling(row), entity, min(1.0, share))
        if entity not in best or near.likeness > best[entity].likeness:
            best[entity] = near
    in_order = sorted(best.values(), key=lambda near: (-near.likeness, near.name, near.entity))
    return tuple(in_order[:limit])


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Words of the text that may be of a name, Korean ones without particles; and whether they are written
    like one: with a digit, a capital inside the sentence, in Hangul."""
    read = Text.of(text)
    for number, folded in enumerate(read.words):
        start, end = read.bounds(number)
        word = text[start:end]
        for cut in range(1, len(word)):
            if (
                final_consonant(word[cut]) is not None
                and particles(word[:cut], word[cut:]) == ParticleFit.FITS
            ):
                word = word[:cut]
                break
        if len(word) >= SHORTEST and folded not in NAMELESS and fold(word) not in NAMELESS:
            capital = word[0].isupper() and (number > 0 or word[1:].isupper())
            hangul = final_consonant(word[-1]) is not None
            yield word, bool(DIGIT.search(word)) or hangul or capital


@lru_cache(maxsize=1)
def _search_of(names: NameIndex) -> _Search:
    return _Search(names)


class _Search:
    """The names and aliases of a graph as one text, a line each, every word between two spaces."""

    def __init__(self, names: NameIndex) -> None:
        rows = [row for row in range(len(names.names) + len(names.others)) if names.kind(row) <= ALIAS]
        lines = [f" {' '.join(spaced(folded_letters(names.spelling(row))).split())} \n" for row in rows]
        self.rows, self.text = rows, "".join(lines)
        self.ends = np.cumsum([len(line) for line in lines])
        self.letters = [len(line) - line.count(" ") - 1 for line in lines]
        initials: dict[str, list[int]] = {}
        for line, text in enumerate(lines):
            words = text.split()
            if len(words) > 1:
                initials.setdefault("".join([word[0] for word in words]), []).append(line)
        self.initials = initials

    @cached_property
    def vocabulary(self) -> tuple[tuple[str, ...], NearestNames]:
        words = tuple(sorted(set(self.text.split())))
        return words, NearestNames(words, range(len(words)))

    def like(self, word: str) -> dict[int, float]:
        """Spellings (rows of the index) of which a folded word is a part, one misspelt, or the initials, each
        with the share of its letters."""
        lines = self._holding(word)
        shares = {line: len(word) / self.letters[line] for line in lines}
        shares |= dict.fromkeys(self.initials.get(word, ())[:MOST_HOLDERS], 1.0)
        if not shares and len(nfd(word)) >= SHORTEST_MISSPELT and not DIGIT.search(word):
            words, nearest = self.vocabulary
            for near in nearest.of_all([word])[word]:
                if near.likeness >= LIKE_ENOUGH:
                    for line in self._holding(words[near.entity]):
                        share = near.likeness * len(near.name) / self.letters[line]
                        shares[line] = max(share, shares.get(line, 0.0))
        return {self.rows[line]: share for line, share in shares.items() if share > 0}

    def _holding(self, word: str) -> list[int]:
        """The lines with the word; in Hangul also those where it is a part of a word (로봇 in 청소로봇)."""
        wanted = word if final_consonant(word[0]) is not None else f" {word} "
        lines = dict.fromkeys(rows_holding(self.text, wanted, self.ends, MOST_HOLDERS + 1))
        return list(lines) if len(lines) <= MOST_HOLDERS else []
