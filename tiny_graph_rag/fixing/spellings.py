"""Whether two spellings are one name, and by what they differ.

A spelling is taken down to its core: words folded, without accents, articles, titles, `and`, plurals and
Korean particles. What was taken off is kept, so that two spellings with one core differ by what only one of
them had. Numbers, signs (`C#`, `20%`) and every other word are part of the core: `Part 2` is not `Part 3`,
`United` is not `Reunited`, `Eastern` is not `Western`.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from zlib import crc32

import numpy as np

from tiny_graph_rag.columns.arrays import begins
from tiny_graph_rag.language.folding import folded_letters, nfc, nfd, without_accents
from tiny_graph_rag.language.function_words import HONORIFICS, ParticleFit, final_consonant, particles, table
from tiny_graph_rag.language.words import lemma, singulars
from tiny_graph_rag.messages import t

ARTICLES = table("the a an")
AND = table("and & + 및")
PLURALS = table("children feet teeth geese mice")  # irregular ones; those in -men are marked by their ending
KOREAN_TITLES = table("씨 님 군 양 선생 선생님")
# Particles that a name keeps by mistake; 과 and 로 end names as well (경제학과, 세종로).
CASES = table("을 를 은 는 의 에서 에게 께서 한테")
OBJECT = ("을", "를")  # the only ones that a syllable alone loses: 가을 is not 가, for 을 needs a consonant
MONTHS = table("january february march april may june july august september october november december")
PERIODS = re.compile(r"(?<=\b[^\W\d])\.(?=[^\W\d]\b)")  # of U.S.A.
DOUBLE = re.compile(r"(.)\1")
NUMBER = r"\d+(?:[.,]\d+)*"
PART = re.compile(rf"{NUMBER}|[#%+°$€£¥]|[^\W\d_]+|&|_")
THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
WORD = re.compile(r"[^\W\d_]+")
_LEADERS = "|".join(sorted(ARTICLES | HONORIFICS, key=len, reverse=True))
LEADING = re.compile(rf"^\W*(?:{_LEADERS})\b\.?(?=\W*\w)", re.IGNORECASE)
GLOSS = re.compile(r"\s*[(（\[]([^()（）\[\]]*)[)）\]]\s*$")
SHORTEST_MISSPELT = 7  # letters, those of Hangul taken apart
HAN = re.compile("[\u3400-\u9fff]")
HANGUL = re.compile("[가-힣]")


class Difference(StrEnum):
    """What one spelling has and the other lacks, in words."""

    CASE = "capital letters"
    SPACING = "spaces"
    ACCENT = "accents"
    ARTICLE = "an article"
    AND = "`and`"
    TITLE = "a title"
    PLURAL = "the plural"
    INNER_PLURAL = "the plural of a word inside"
    PARTICLE = "a particle"
    GLOSS = "the name in other letters in brackets"
    ORDER = "the order of the words"
    LETTER = "one letter"
    DOUBLED = "a doubled letter"
    SWAPPED = "two letters that changed places"


@dataclass(frozen=True, slots=True)
class NameCore:
    """text: what is left, without spaces. off: what was taken off. parts: the words that are left, in order;
    written: all of them.
    title: that was taken off, "" for none. comma: whether the words are turned round (`Holmes, Sherlock`)."""

    text: str
    off: frozenset[Difference]
    parts: tuple[str, ...]
    written: tuple[str, ...] = ()
    title: str = ""
    comma: bool = False

    @property
    def whole(self) -> str:
        """All words of the spelling, without spaces."""
        return "".join(map(_marked, self.written))

    @property
    def letters(self) -> str:
        return nfd(self.text)

    @property
    def in_any_order(self) -> str:
        return " ".join(sorted(self.parts))


def core_of(spelling: str) -> NameCore:
    """The core of a spelling; its text is "" where nothing is left to compare."""
    off: set[Difference] = set()
    written = nfc(spelling)
    gloss = GLOSS.search(written)
    if gloss and gloss.start() and _is_other_script(written[: gloss.start()], gloss[1]):
        written = written[: gloss.start()]
        off.add(Difference.GLOSS)
    letters = folded_letters(written)
    plain = without_accents(letters)
    if plain != letters:
        off.add(Difference.ACCENT)
    words = PART.findall(PERIODS.sub("", re.sub(r"['’](?=s\b)|(?<=\w)['’*](?=\w)", "", plain)))
    words = [THOUSANDS.sub("", word) if word[0].isdigit() else word for word in words if word != "_"]
    whole = tuple(words)
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
        off.add(Difference.ARTICLE)
    if len(words) > 2 and any(word in AND for word in words[1:-1]):
        words = [words[0], *(word for word in words[1:-1] if word not in AND), words[-1]]
        off.add(Difference.AND)
    title, words = _without_title(words)
    if title:
        off.add(Difference.TITLE)
    words = [_singular(word, last=place == len(words) - 1, off=off) for place, word in enumerate(words)]
    words = [
        _without_particle(word, last=place == len(words) - 1, alone=len(words) == 1, off=off)
        for place, word in enumerate(words)
    ]
    comma = len(words) > 1 and written.count(",") == 1 and not written.rstrip().endswith(",")
    return NameCore("".join(map(_marked, words)), frozenset(off), tuple(words), whole, title, comma)


def differences(
    one: str, other: str, cores: tuple[NameCore, NameCore] | None = None
) -> frozenset[Difference] | None:
    """By what two spellings of one core differ, empty where they are written the same; None where they are
    not one name by these rules."""
    first, second = cores or (core_of(one), core_of(other))
    if not first.text or not second.text:
        return None
    if first.title and second.title and first.title != second.title:
        return None
    changes = set(first.off ^ second.off)
    if first.whole == second.whole:
        changes &= {Difference.ACCENT, Difference.GLOSS}
        if first.written != second.written:
            changes.add(Difference.SPACING)
    elif first.text != second.text:
        if first.in_any_order == second.in_any_order:
            changes = {Difference.ORDER, *(changes - {Difference.PLURAL, Difference.INNER_PLURAL})}
        elif (letter := _letter_apart(first, second)) is not None:
            changes.add(letter)
        else:
            return None
    elif first.parts != second.parts:
        changes.add(Difference.SPACING)
    if Difference.ORDER not in changes and _differ_in_case(one, other, first.parts == second.parts):
        changes.add(Difference.CASE)
    return frozenset(changes)


def in_words(changes: frozenset[Difference]) -> str:
    """What two names differ in, for a person to judge."""
    if not changes:
        return t("the names differ only in punctuation")
    listed = ", ".join(t(change) for change in Difference if change in changes)
    return t("the names differ only in {changes}", changes=listed)


def misspellings_of(core: NameCore) -> Iterator[str]:
    """The core with one letter left out, and whole: two cores that are a letter apart have one in common."""
    letters = core.letters
    if len(letters) >= SHORTEST_MISSPELT:
        yield letters
        for place in range(1, len(letters)):
            yield letters[:place] + letters[place + 1 :]


class SharedKeys:
    """Rows by the checksums of their keys, empty keys left out: what meets here is to be compared in full."""

    def __init__(self, keys: Iterable[tuple[int, str]]) -> None:
        rows, sums = array("q"), array("L")
        for row, key in keys:
            if key:
                rows.append(row)
                sums.append(_checksum(key))
        owners, checksums = np.array(rows, dtype=np.int64), np.array(sums, dtype=np.uint32)
        order = np.lexsort((owners, checksums))
        owners, checksums = owners[order], checksums[order]
        fresh = begins(checksums, owners)
        self.rows, self.sums = owners[fresh], checksums[fresh]

    def pairs(self, most: int) -> Iterator[tuple[int, int]]:
        """Two rows at a time that share a key (ascending); of a key that more than `most` have, none."""
        starts = np.flatnonzero(begins(self.sums))
        ends = np.append(starts[1:], len(self.rows))
        several = (ends - starts > 1) & (ends - starts <= most)
        for start, end in zip(starts[several].tolist(), ends[several].tolist(), strict=True):
            yield from combinations(self.rows[start:end].tolist(), 2)

    def having(self, keys: Iterable[str]) -> list[int]:
        """The rows that have one of these keys, ascending."""
        sums = np.array([_checksum(key) for key in keys], dtype=np.uint32)
        bounds = np.searchsorted(self.sums, sums), np.searchsorted(self.sums, sums, side="right")
        return sorted(
            {row for low, high in zip(*bounds, strict=True) for row in self.rows[low:high].tolist()}
        )


def _checksum(key: str) -> int:
    return crc32(key.encode("utf-8", "surrogatepass"))


def _letter_apart(first: NameCore, second: NameCore) -> Difference | None:
    """Whether two cores differ by one letter, or two that changed places, inside one long word. The first
    letter of a word, numbers and endings make another name (Kent, Gent; Tourist, Tourism)."""
    if len(first.parts) != len(second.parts):
        return None
    apart = [(a, b) for a, b in zip(first.parts, second.parts, strict=True) if a != b]
    if len(apart) != 1 or apart[0][0][0].isdigit() or apart[0][1][0].isdigit():
        return None
    one, other = (nfd(word) for word in apart[0])
    if min(len(first.letters), len(second.letters)) < SHORTEST_MISSPELT or min(len(one), len(other)) < 4:
        return None
    if _doubled(one, other):
        return Difference.DOUBLED
    start = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    end = next((place for place, (a, b) in enumerate(zip(one[::-1], other[::-1], strict=False)) if a != b), 0)
    if not start or (end == 0 and not HANGUL.search(apart[0][0])):
        return None  # another first letter, or another ending
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    if len(left) == 2 and left == right[::-1]:
        return Difference.SWAPPED
    return Difference.LETTER if max(len(left), len(right)) == 1 else None


def _doubled(one: str, other: str) -> bool:
    """Whether one has a letter twice that the other has once (Mathew, Matthew)."""
    return abs(len(one) - len(other)) == 1 and DOUBLE.sub(r"\1", one) == DOUBLE.sub(r"\1", other)


def _without_title(words: list[str]) -> tuple[str, list[str]]:
    if len(words) > 1 and words[0] in HONORIFICS:
        return words[0], words[1:]
    if len(words) > 1 and words[-1] in HONORIFICS:
        return words[-1], words[:-1]
    last = words[-1] if words else ""
    for title in sorted(KOREAN_TITLES, key=len, reverse=True):
        if last.endswith(title) and len(last) - len(title) >= 2 and title in ("씨", "님", "선생", "선생님"):
            return title, [*words[:-1], last.removesuffix(title)]
    return "", words


def _singular(word: str, *, last: bool, off: set[Difference]) -> str:
    if (word.endswith("men") and len(word) > 3) or word in PLURALS:
        single = lemma(word)
    else:
        options, single = list(singulars(word)), lemma(word)
        if single not in options:
            single = options[-1] if options and single == word else word
    if single != word:
        off.add(Difference.PLURAL if last else Difference.INNER_PLURAL)
    return single


def _without_particle(word: str, *, last: bool, alone: bool, off: set[Difference]) -> str:
    if final_consonant(word[-1]) is None:
        return word
    if last and word.endswith("들") and len(word) > 2:
        off.add(Difference.PLURAL)
        return word[:-1]
    for size in (2, 1):
        name, rest = word[:-size], word[-size:]
        is_short = last and len(name) == 1 and rest not in OBJECT
        if rest in CASES and name and not is_short and particles(name, rest) == ParticleFit.FITS:
            off.add(Difference.PARTICLE)
            return name
    if word[-1] == "이" and len(word) > 1 + alone and final_consonant(word[-2]):
        off.add(Difference.PARTICLE)
        return word[:-1]
    return word


def _marked(word: str) -> str:
    """Numbers keep their bounds: 2, 1 is not 21."""
    return f"|{word}|" if word[0].isdigit() else word


def _is_other_script(name: str, gloss: str) -> bool:
    """Whether what stands in brackets writes the name in other letters: 동백꽃(冬柏), 서울 (Seoul)."""

    def scripts(text: str) -> set[str]:
        letters = [letter for letter in text if letter.isalpha()]
        return {
            "hangul" if HANGUL.match(letter) else "han" if HAN.match(letter) else
            unicodedata.name(letter, "?").partition(" ")[0] for letter in letters
        }  # fmt: skip

    return bool(scripts(name)) and bool(scripts(gloss)) and not scripts(name) & scripts(gloss)


def _differ_in_case(one: str, other: str, same_words: bool) -> bool:
    """Whether a letter that both have is large in one and small in the other; where they are divided into
    other words, the first letter alone."""
    letters = ["".join(WORD.findall(LEADING.sub("", nfc(text)))) for text in (one, other)]
    for mine, theirs in zip(*letters, strict=False):
        if mine.casefold() != theirs.casefold():
            return False
        if mine != theirs:
            return True
        if not same_words:
            return False
    return False
