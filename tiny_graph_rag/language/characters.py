"""A text as linking reads it: its words, folded, and where a name may begin and end in them.

A word ends at white space or punctuation; in scripts written without spaces a name may begin and end at any
character, and in Hangul it may end before any syllable, what follows being particles.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate

from tiny_graph_rag.language.folding import folded_letters, nfc, spaced, without_accents

UNSPACED = (  # Thai and Lao, Burmese, Khmer, kana, Han
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
FIRST_IDEOGRAPH = "\u3400"  # of the unspaced scripts, what lies below is kana or an alphabet
WORD = re.compile(r"\S+")
HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
HAS_HANGUL = re.compile("[가-힣]")
_ENDS_WITHOUT_CASE = re.compile(f"[가-힣{UNSPACED}]$")
_DIVIDED = re.compile(f"[가-힣{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Text:
    """The words of a text, one after the other.

    kept: the folded characters of all words, as `fold` gives them. words: each folded; starts, ends: its
    bounds in `kept`; places: where it begins in the folded text. moved: for texts that folding makes longer
    or shorter, start and end in `whole` of each folded character.
    """

    whole: str
    kept: str
    words: list[str]
    starts: list[int]
    ends: list[int]
    places: list[int]
    moved: tuple[list[int], list[int]] | None

    @classmethod
    def of(cls, whole: str) -> Text:
        folded, moved = whole.casefold(), None
        if not whole.isascii() and (len(folded) != len(whole) or folded != nfc(folded)):
            folded, moved = _aligned(whole)
        parts = spaced(folded)
        if not parts.strip():  # punctuation alone is a name too: ?!
            parts = re.sub(r"\s", " ", folded)
        words = parts.split()
        ends = list(accumulate(map(len, words)))
        starts = [0, *ends[:-1]] if ends else []
        places = [match.start() for match in WORD.finditer(parts)]
        return cls(whole, "".join(words), words, starts, ends, places, moved)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text a stretch of `kept` stands."""
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1
        begin = start - self.starts[first] + self.places[first]
        stop = end - self.starts[last] + self.places[last]
        if self.moved is not None:
            return self.moved[0][begin], self.moved[1][stop - 1]
        return begin, stop

    def bounds(self, word: int) -> tuple[int, int]:
        """Where in the text a word stands, by its number."""
        start = self.places[word]
        end = start + len(self.words[word])
        return (start, end) if self.moved is None else (self.moved[0][start], self.moved[1][end - 1])

    def rest_of_word(self, end: int) -> str:
        """What follows in a word of which a stretch ends inside."""
        return self.kept[end : self.ends[bisect_left(self.ends, end)]]

    def breaks_in(self, start: int, end: int) -> list[int]:
        """After how many characters of a stretch a word ends inside it."""
        first, last = bisect_right(self.ends, start), bisect_left(self.ends, end)
        return [stop - start for stop in self.ends[first:last]]

    def is_one_of_a_run(self, start: int, end: int) -> bool:
        """Whether it is one character of an unspaced script in a run of the same script (山 in 山田)."""
        if end - start > 1 or not HAS_UNSPACED.match(self.kept, start):
            return False
        here = bisect_right(self.starts, start) - 1
        neighbours = (start - 1, start + 1)
        ideograph = self.kept[start] >= FIRST_IDEOGRAPH
        return any(
            self.starts[here] <= place < self.ends[here]
            and HAS_UNSPACED.match(self.kept, place) is not None
            and (self.kept[place] >= FIRST_IDEOGRAPH) == ideograph
            for place in neighbours
        )

    @property
    def is_without_case(self) -> bool:
        """Whether most words end in a script without case: there, Latin letters are a name."""
        if self.kept.isascii():
            return False
        return 2 * sum(_ENDS_WITHOUT_CASE.search(word) is not None for word in self.words) > len(self.words)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text cut wherever a name may begin or end.

    parts: as UTF-8; ends: of each part in `Text.kept`. may_start: whether a name may begin with the part.
    inside: whether the part ends within a word, so that the rest of it has to be particles. plain: the parts
    without accents, None for a text that has none.
    """

    parts: list[bytes]
    ends: list[int]
    may_start: list[bool]
    inside: list[bool]
    plain: list[bytes] | None

    @classmethod
    def of(cls, text: Text) -> Pieces:
        if text.kept.isascii():
            count = len(text.words)
            parts = [word.encode() for word in text.words]
            return cls(parts, text.ends, [True] * count, [False] * count, None)
        ends: list[int] = []
        may_start: list[bool] = []
        inside: list[bool] = []
        for start, word in zip(text.starts, text.words, strict=True):
            opens = True
            for place in _divisions(word):
                closes = bool(HAS_UNSPACED.match(word, place) or HAS_UNSPACED.match(word, place - 1))
                ends.append(start + place)
                may_start.append(opens)
                inside.append(not closes)
                opens = closes
            ends.append(start + len(word))
            may_start.append(opens)
            inside.append(False)
        bare = without_accents(text.kept)
        plain = _cut(bare, ends) if bare != text.kept and len(bare) == len(text.kept) else None
        return cls(_cut(text.kept, ends), ends, may_start, inside, plain)


def _divisions(word: str) -> list[int]:
    """Places inside a word where a name may end: next to unspaced characters, before Hangul."""
    if word.isascii() or not _DIVIDED.search(word):
        return []
    return [
        place
        for place in range(1, len(word))
        if _DIVIDED.match(word, place) or HAS_UNSPACED.match(word, place - 1)
    ]


def _cut(kept: str, ends: list[int]) -> list[bytes]:
    starts = [0, *ends[:-1]]
    return [kept[start:end].encode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]


def _aligned(text: str) -> tuple[str, tuple[list[int], list[int]]]:
    """The folded text where folding moves characters; start and end of what each of them came from."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    while start < len(text):
        end, last = start + 1, text[start]
        while end < len(text):
            joined = nfc(last + text[end])
            if len(joined) > 1 and not unicodedata.combining(text[end]):
                break
            end, last = end + 1, joined[-1]
        form = folded_letters(text[start:end])
        parts.append(form)
        starts += [start] * len(form)
        ends += [end] * len(form)
        start = end
    return "".join(parts), (starts, ends)
