"""The only place that folds names, and a text as linking reads it, folded.

Two spellings are one name when their folded forms are equal: Unicode NFC, case-folded, white space and
punctuation removed. `점순네 수탉`, `점순네수탉` and `'점순네 수탉'` are one name, `U.S.A.` and `usa` too.

In a text a word ends at white space or punctuation; in scripts written without spaces a name may begin and
end at any character, and in Hangul it may end before any syllable, what follows being particles.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Literal, NamedTuple

LONGEST_RUN = 30  # combining marks on one letter, as in Unicode's Stream-Safe Text Format (UAX 15)
_RUNS = re.compile(rf"[\w\s!-~]*[^\w\s!-~]{{0,{LONGEST_RUN}}}")  # letters, then marks or other signs


def nfc(text: str) -> str:
    """Unicode composition form C: the same Hangul whether a Mac or a keyboard wrote it."""
    return text if text.isascii() else _normalized("NFC", text)


def nfd(text: str) -> str:
    """Unicode decomposition form D: letters and marks apart, Hangul as its jamo."""
    return text if text.isascii() else _normalized("NFD", text)


def _normalized(form: Literal["NFC", "NFD"], text: str) -> str:
    """Longer runs of marks are normalised in parts: sorting one takes time with the square of its length, and
    a name of 100,000 marks would hold the program for half a minute."""
    parts = [text] if len(text) <= LONGEST_RUN else _RUNS.findall(text)
    return "".join([unicodedata.normalize(form, part) for part in parts])


class _Table(dict[int, str]):
    """For `str.translate`: code point → the character that stands for it, filled as texts need it."""

    def __init__(self, of: Callable[[str], str]) -> None:
        self.of = of

    def __missing__(self, code: int) -> str:
        self[code] = self.of(chr(code))
        return self[code]


def _spaced(letter: str) -> str:
    return " " if letter.isspace() or unicodedata.category(letter)[0] in "PZ" else letter


MARK = "\u02d0"  # a letter that no pattern of ours looks for


def _marked(letter: str) -> str:
    return MARK if letter in JOINERS or unicodedata.category(letter)[0] == "M" else letter


def _bare(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    has_mark = len(parts) > 1 and parts[0].isalpha() and all(map(unicodedata.combining, parts[1:]))
    return parts[0] if has_mark and not "\u3040" <= parts[0] <= "\u30ff" else letter


JOINERS = "\u200c\u200d"
_SPACED, _MARKED, _BARE = _Table(_spaced), _Table(_marked), _Table(_bare)


def spaced(text: str) -> str:
    """The text with a space for each character of white space or punctuation; as long as the text."""
    return text.translate(_SPACED)


def marked(text: str) -> str:
    """The text with a MARK for each accent, vowel sign, tone or joiner, which belong to the letter before
    them; as long as the text."""
    return text if text.isascii() else text.translate(_MARKED)


def folded_letters(text: str) -> str:
    """Composed and case-folded, white space and punctuation still there: a text, or a word of one."""
    return text.lower() if text.isascii() else nfc(nfc(text).casefold())


def fold(text: str) -> str:
    """The form in which names are compared. A name of punctuation alone keeps it (`?!` is not empty)."""
    letters = folded_letters(text)
    return spaced(letters).replace(" ", "") or "".join(letters.split())


def without_accents(text: str) -> str:
    """Letters without their marks, é → e, as many as the composed text has; Hangul, kana and what has no mark
    stay as they are."""
    return text if text.isascii() else nfc(text).translate(_BARE)


def scripts_of(text: str) -> frozenset[str]:
    """The scripts of a text's letters, by the first word of their Unicode names."""
    return frozenset(unicodedata.name(letter, "?").partition(" ")[0] for letter in text if letter.isalpha())


LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
UNSPACED = LETTERS + "\u3005-\u30ff" + HAN  # and kana
HAS_HANGUL = re.compile("[가-힣]")
HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
# Places inside a word where a name may end: next to unspaced characters, before Hangul.
_DIVISION = re.compile(f"(?<!^)(?:(?=[가-힣{UNSPACED}])|(?<=[{UNSPACED}]))(?!$)")


class Cut(NamedTuple):
    """A part of `Text.kept` behind which a name may end.

    word: the number of its word. opens: whether a name may begin with it. inside: whether it ends within its
    word, so that the rest of the word has to be particles.
    """

    start: int
    end: int
    word: int
    opens: bool
    inside: bool


Stretch = tuple[Cut, Cut]  # of a text, from the beginning of one cut to the end of another


class Text(NamedTuple):
    """The words of a text, one after the other.

    whole: the text, composed. kept: the folded characters of all words, as `fold` gives them; places: of each
    the character of `whole` that it came from. words: each folded; starts, ends: its bounds in `kept`;
    capitals: whether it begins with one, `I` left out.
    """

    whole: str
    kept: str
    places: list[int]
    words: list[str]
    starts: list[int]
    ends: list[int]
    capitals: list[bool]

    @classmethod
    def of(cls, whole: str) -> Text:
        whole = nfc(whole)
        folded, places = whole.casefold(), list(range(len(whole)))
        if len(folded) != len(whole) or folded != nfc(folded):  # ß is ss
            letters = list(re.finditer(f"(?s).{MARK}*", marked(whole)))
            forms = [folded_letters(whole[letter.start() : letter.end()]) for letter in letters]
            folded = "".join(forms)
            places = [letter.start() for letter, form in zip(letters, forms, strict=True) for _ in form]
        parts = spaced(folded)
        if not parts.strip():  # punctuation alone is a name too: ?!
            parts = re.sub(r"\s", " ", folded)
        words = parts.split()
        ends = list(accumulate(map(len, words)))
        places = [place for place, letter in zip(places, parts, strict=True) if letter != " "]
        starts = [0, *ends[:-1]] if ends else []
        capitals = [
            whole[places[start]].isupper() and word != "i" for start, word in zip(starts, words, strict=True)
        ]
        return cls(whole, "".join(words), places, words, starts, ends, capitals)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text a stretch of `kept` stands."""
        return self.places[start], self.places[end - 1] + 1

    def bounds(self, word: int) -> tuple[int, int]:
        """Where in the text a word stands, by its number."""
        return self.span(self.starts[word], self.ends[word])

    def cuts(self) -> list[Cut]:
        """The text cut wherever a name may begin or end."""
        if self.kept.isascii():
            bounds = enumerate(zip(self.starts, self.ends, strict=True))
            return [Cut(start, end, number, True, False) for number, (start, end) in bounds]
        cuts = []
        for number, word in enumerate(self.words):
            first, start, opens = self.starts[number], 0, True
            for end in (*(division.start() for division in _DIVISION.finditer(word)), len(word)):
                inside = end < len(word) and HAS_UNSPACED.search(word, end - 1, end + 1) is None
                cuts.append(Cut(first + start, first + end, number, opens, inside))
                start, opens = end, not inside
        return cuts

    def stretches(self, longest: Callable[[Cut], int]) -> Iterator[Stretch]:
        """Those that may be a name. longest: where in `kept` one ends at most that begins with a cut."""
        cuts = self.cuts()
        for place, first in enumerate(cuts):
            limit = longest(first) if first.opens else 0
            while place < len(cuts) and cuts[place].end <= limit:
                yield first, cuts[place]
                place += 1
