"""The names of a graph by what people shorten them to: words, initials, syllables, sounds, misspellings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from tiny_graph_rag.columns.arrays import rows_holding
from tiny_graph_rag.fixing.spellings import NameCore, SharedKeys, core_of, misspellings_of
from tiny_graph_rag.graph.names import ALIAS, NameIndex
from tiny_graph_rag.language.folding import folded_letters, spaced
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, final_consonant
from tiny_graph_rag.language.sounds import (
    SCRIPTS,
    at_the_start,
    consonants_of,
    initials_of_syllables,
    script_of,
    sound_of,
)

MOST_HOLDERS = 50  # spellings with a word; a word of more is no name
SHORTEST_SOUND = 2  # consonants
LEAST_ABBREVIATED = 0.75  # of a name's syllables, at most, that an abbreviation has
LEAST_SYLLABLES = 3  # of a Korean word that is part of a name; shorter ones are nouns more often
SHORTEST = 2  # characters of a span
SCHOOL = "학교"  # 서울대 is 서울대학교


class Shortenings:
    """The names and aliases of a graph, by what people shorten them to. A spelling is a number."""

    def __init__(self, names: NameIndex) -> None:
        rows = [row for row in range(len(names.names) + len(names.others)) if names.kind(row) <= ALIAS]
        self.texts = [names.spelling(row) for row in rows]
        self.owners = [names.entity(row) for row in rows]
        self.words = [tuple(spaced(folded_letters(text)).split()) for text in self.texts]
        self.by_word: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self.words):
            for word in dict.fromkeys(words):
                self.by_word[word].append(number)
        self._by_sound: dict[str, dict[str, list[tuple[str, int]]]] = {}
        self.lines = "\n".join("".join(words) for words in self.words)
        self.ends = np.cumsum([len("".join(words)) + 1 for words in self.words])

    def owners_of(self, spellings: Iterable[int], why: str) -> dict[int, str]:
        """The entities of these spellings, each with why it is meant."""
        return dict.fromkeys((self.owners[spelling] for spelling in spellings), why)

    @cached_property
    def cores(self) -> list[NameCore]:
        return [core_of(text) for text in self.texts]

    @cached_property
    def by_core(self) -> dict[str, list[int]]:
        return _by(core.text for core in self.cores)

    @cached_property
    def by_jamo(self) -> dict[str, list[int]]:
        return _by([initials_of_syllables("".join(words)) for words in self.words])

    @cached_property
    def by_initials(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for is_whole in (True, False):
            for number, words in enumerate(self.words):
                said = [word for word in words if is_whole or word not in FUNCTION_WORDS]
                if len(said) > 1:
                    found["".join(word[0] for word in said)].append(number)
        return found

    def by_sound(self, script: str) -> dict[str, list[tuple[str, int]]]:
        """Consonants → (sound, spelling) of the names in a script, and of their words in no other name."""
        if script not in self._by_sound:
            found: dict[str, list[tuple[str, int]]] = defaultdict(list)
            letters = SCRIPTS[script]
            for number, words in enumerate(self.words):
                if not letters.search(self.texts[number]):
                    continue
                for part in {" ".join(words), *(word for word in words if len(self.by_word[word]) == 1)}:
                    sound = sound_of(part) if script_of(part) == script else ""
                    consonants = consonants_of(sound)
                    if len(consonants) >= SHORTEST_SOUND:
                        found[consonants].append((sound, number))
            self._by_sound[script] = found
        return self._by_sound[script]

    @cached_property
    def _misspellings(self) -> tuple[list[str], SharedKeys]:
        """The spellings and their words, and their rows by what they may be misspelt as."""
        names = [*self.texts, *(word for word in self.by_word if word.isalpha())]
        cores = chain(self.cores, (core_of(name) for name in names[len(self.texts) :]))
        return names, SharedKeys(
            (row, letters) for row, core in enumerate(cores) for letters in misspellings_of(core)
        )

    def near(self, core: NameCore) -> Iterator[tuple[str, Sequence[int]]]:
        """Names, or words of names, that may be a letter apart, with the spellings that have them."""
        names, keys = self._misspellings
        for row in keys.having(misspellings_of(core)):
            yield names[row], [row] if row < len(self.texts) else self.by_word[names[row]]

    def holding(self, words: Sequence[str]) -> list[int]:
        """The spellings with these words in this order, others between them or not; words in Hangul may end
        longer ones (청정기 in 공기청정기) or be written together (안전위원회 for 안전 위원회)."""
        lists = [self.by_word.get(word, ()) for word in words]
        if all(lists):
            common = set(min(lists, key=len)).intersection(*lists)
            return sorted(number for number in common if _in_order(words, self.words[number]))
        if final_consonant(words[-1][-1]) is not None:
            holders = rows_holding(self.lines, words[-1], self.ends, MOST_HOLDERS)
            return [number for number in holders if _ends_or_runs(words, self.words[number])]
        return []

    def with_initials(self, words: Sequence[str]) -> list[int]:
        """Spellings of as many words, each the same or begun by the letter that stands for it."""
        whole = [word for word in words if len(word) >= SHORTEST]
        if not whole:
            return []
        return [
            number
            for number in self.by_word.get(max(whole, key=len), ())
            if len(self.words[number]) == len(words)
            and all(
                mine == theirs or (len(mine) == 1 and theirs.startswith(mine))
                for mine, theirs in zip(words, self.words[number], strict=True)
            )
        ]

    @cached_property
    def by_first(self) -> dict[str, list[int]]:
        """First syllable → spellings in Hangul."""
        whole = ("".join(words) for words in self.words)
        return _by(text[0] if script_of(text) == "hangul" else "" for text in whole)

    def abbreviated(self, short: str) -> list[int]:
        """Names in Hangul of which `short` are syllables in order, the first among them (전경련), of two
        syllables those that begin two words (한은 for 한국 은행)."""
        found, spoken = [], "".join(map(at_the_start, short))
        for number in self.by_first.get(short[0], ()):
            words = self.words[number]
            whole = "".join(words)
            if len(short) > LEAST_ABBREVIATED * len(whole):
                continue
            if len(short) == SHORTEST:
                if len(words) > 1 and any(short[1] == word[0] for word in words[1:]):
                    found.append(number)
            elif short in whole:
                found += [number] if _ends_a_word(short, words) or short + SCHOOL == whole else []
            elif _in_order(spoken, "".join(map(at_the_start, whole))):
                found.append(number)
        return found

    @cached_property
    def by_last(self) -> dict[str, list[int]]:
        """Last syllable → spellings in Hangul."""
        whole = ("".join(words) for words in self.words)
        return _by(at_the_start(text[-1]) if script_of(text) == "hangul" else "" for text in whole)

    def abbreviated_inside(self, short: str) -> list[int]:
        """The same with any first syllable and the name's last one, of long names (소보련, 건보공단)."""
        spoken = "".join(map(at_the_start, short))
        return [
            number
            for number in self.by_last.get(spoken[-1], ()) if len(short) >= LEAST_SYLLABLES
            if 2 * len(short) <= len(whole := "".join(self.words[number])) and short not in whole
            and _in_order(spoken, "".join(map(at_the_start, whole)))
        ]  # fmt: skip


def _by(keys: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        if key:
            found[key].append(number)
    return dict(found)


def _ends_or_runs(words: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether words end those of a name, in order, or are the name's last ones written together."""
    rest = iter(whole)
    if all(any(longer.endswith(word) for longer in rest) for word in words):
        return True
    return any("".join(whole[place:]) == "".join(words) for place in range(len(whole) - 1))


def _ends_a_word(short: str, words: Sequence[str]) -> bool:
    """Whether the first words of a name, written together, are `short`: 인력거 is no short for 인력거꾼."""
    return any("".join(words[:count]) == short for count in range(2, len(words) + 1))


def _in_order(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)
