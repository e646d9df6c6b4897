"""How strongly a text speaks for each reading: does it name the entity, or is it just a word like the name?

A film called `The`, a tag `films`: such names stand in many questions that do not mean them. What tells
them apart is in the question and in the graph: capitals in an otherwise lower-case question, quotes, digits,
several content words, words that the graph's relations are named with, function words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, distinct
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.characters import (
    CASED,
    DIGIT,
    HANGUL,
    UNSPACED,
    UPPER,
    Keys,
    Places,
    among,
    keys,
    keys_of,
)
from tiny_graph_rag.language.function_words import DETERMINERS, NAMELESS
from tiny_graph_rag.language.words import words_of_name
from tiny_graph_rag.linking.spans import Readings, Text

CLITIC = 2  # letters behind an apostrophe that make no word of their own: 's, 't, 'll, 're
# A word that the graph's names hold so many times as often as another word of the question is rather a word.
COMMON = 4
ANY = np.iinfo(np.int32).max  # the commonness of function words
SENTENCE = 3  # function words that make a name when they stand together (`Are You Here`)
MARKS = frozenset("\"'`‘’“”«»‹›「」『』《》〈〉„‚")
BEFORE_CLOSING = 4  # characters behind a name in which its closing mark must stand: “What?!”
CLOSING = re.compile(rf"[.,!?…]*[{re.escape(''.join(sorted(MARKS)))}]")


class Grade(IntEnum):
    """Best first.

    NAMED: a capital inside the sentence, a digit, quotes, several content words, a script without case, Latin
    letters among such a script. OTHER_CASE: the same, but the graph writes the name in other case. WORD: one
    content word. RELATION: only words that relations are named with. FUNCTION: nothing but function words.
    """

    NAMED = 0
    OTHER_CASE = 1
    WORD = 2
    RELATION = 3
    FUNCTION = 4


@dataclass(frozen=True, slots=True, eq=False)
class SpanEvidence:
    """A row a reading. grade: Grade. rarity: in how many names its rarest content word stands. determined: a
    determiner stands before it. quoted. case_counts: bool (texts,), whether capitals tell anything there."""

    grade: NDArray[np.uint8]
    rarity: NDArray[np.int32]
    determined: NDArray[np.bool_]
    quoted: NDArray[np.bool_]
    case_counts: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """The words of all texts, each with what it is. begins_text: the first of its text."""

    starts: Places
    ends: Places
    text: NDArray[np.int32]
    is_function: NDArray[np.bool_]
    is_relation: NDArray[np.bool_]
    is_upper: NDArray[np.bool_]
    is_cased: NDArray[np.bool_]
    begins_text: NDArray[np.bool_]
    key: Keys


def weigh(text: Text, found: Readings, names: NameIndex, known: KnownWords) -> SpanEvidence:
    """Evidence for every reading of every text, in columns."""
    words = _words(text, known)
    case_counts = _case_counts(text, found, words)
    column = text.characters
    # Words from `low` to `last` - 1 lie wholly inside the reading; word `last` may lie inside in part.
    low = np.searchsorted(words.starts, found.starts)
    last = np.searchsorted(words.starts, found.ends) - 1
    low = np.where(low > last, last, low)  # a stretch that begins within a word (scripts without spaces)
    part_start = np.maximum(words.starts[last], found.starts)
    part_key = keys(text.column, part_start, found.ends)
    part_function = among(part_key, known.function) | (
        words.is_function[last] & (found.ends == words.ends[last])
    )
    part_relation = among(_stem_keys(text, part_start, found.ends), known.stems)

    def count(flags: NDArray[np.bool_]) -> Places:
        total: Places = np.concatenate([[0], np.cumsum(flags)])
        return total[last] - total[low]

    number = last - low + 1
    content = count(~words.is_function) + ~part_function
    clear = count(~words.is_function & ~words.is_relation) + (~part_function & ~part_relation)
    capital = words.is_upper & ~words.begins_text
    capitals = count(capital) + capital[last]
    starts_text = words.begins_text[low] & words.is_upper[low]
    digits = _count_inside((column.flags & DIGIT) > 0, found)
    cased = _count_inside((column.flags & CASED) > 0, found)
    length = found.ends - found.starts
    counts = case_counts[found.text]
    as_written = np.maximum.reduceat(found.as_written, found.pair_bounds[:-1]) if len(found) else capitals > 0
    quoted = _quoted(text, found)
    capital_inside = (capitals > 0) & counts
    number_named = (digits > 0) & (length > 1)
    named = quoted | (
        (capital_inside | number_named) & (as_written | ~counts)
        | (starts_text & counts & as_written & (clear > 0))
        | ((clear > 0) & ((content > 1) | (~counts & (number >= SENTENCE))))
        | (
            (clear > 0)
            & (((cased == 0) & (digits == 0)) | _in_other_letters(text, len(text.texts))[found.text])
        )
    )
    grade = np.full(len(found), Grade.FUNCTION, dtype=np.uint8)
    for value, holds in (
        (Grade.RELATION, (content > 0) | (number > 1)),
        (Grade.WORD, (clear > 0) | (number >= SENTENCE)),
        (Grade.OTHER_CASE, capital_inside | number_named),
        (Grade.NAMED, named),
    ):
        grade[holds] = value
    commonness = np.where(words.is_function, ANY, names.count_of(words.key))
    rarity = np.where(part_function, ANY, names.count_of(part_key))
    if len(found):
        bounds = np.column_stack([low, np.maximum(last, low + 1)]).ravel()
        within = np.minimum.reduceat(np.append(commonness, ANY), bounds)[::2]
        rarity = np.where(last > low, np.minimum(rarity, within), rarity)
        rarity[(digits > 0) | (number > 1)] = 1
    before = np.maximum(low - 1, 0)
    determined = (low > 0) & among(words.key[before], known.determiners)
    determined &= words.text[before] == found.text
    return SpanEvidence(grade, rarity.astype(np.int32), determined, quoted, case_counts)


def _words(text: Text, known: KnownWords) -> _Words:
    column, starts, ends = text.characters, text.word_starts, text.word_ends
    key = keys(text.column, starts, ends)
    texts = column.text[starts]
    opens = begins(texts)
    is_function = among(key, known.function)
    if len(starts):
        # What stands behind an apostrophe without a space before it: what's, don't.
        joined = np.append(False, column.starts[starts[1:]] - column.ends[starts[1:] - 1] == 1) & ~opens
        is_function |= joined & (ends - starts <= CLITIC) & ((column.flags[starts] & CASED) > 0)
    first = column.flags[starts]
    only_i = (ends - starts == 1) & (column.codes[starts] == ord("i"))
    return _Words(
        starts,
        ends,
        texts,
        is_function,
        among(_stem_keys(text, starts, ends), known.stems),
        ((first & UPPER) > 0) & ~only_i,
        (first & CASED) > 0,
        opens,
        key,
    )


def _stem_keys(text: Text, starts: Places, ends: Places) -> Keys:
    hangul = (text.characters.flags[starts] & HANGUL) > 0
    return keys(text.column, starts, np.minimum(ends, starts + np.where(hangul, HANGUL_STEM, STEM)))


def _case_counts(text: Text, found: Readings, words: _Words) -> NDArray[np.bool_]:
    """Whether capitals are evidence in each text: not where nearly all words have one, or none.

    Judged by the words that belong to no reading and don't begin the text; where there are none, by all.
    """
    covered = np.zeros(len(text.characters) + 1, dtype=np.int64)
    np.add.at(covered, found.starts, 1)
    np.add.at(covered, found.ends, -1)
    outside = (np.cumsum(covered)[words.starts] == 0) & ~words.begins_text

    def per_text(flags: NDArray[np.bool_]) -> Places:
        return np.bincount(words.text[flags], minlength=len(text.first) - 1)

    lower = words.is_cased & ~words.is_upper
    judged, low = per_text(outside & words.is_cased), per_text(outside & lower)
    has_upper: NDArray[np.bool_] = per_text(words.is_upper) > 0
    return has_upper & np.where(judged > 0, 2 * low >= judged, per_text(lower) > 0)


def _in_other_letters(text: Text, texts: int) -> NDArray[np.bool_]:
    """Texts most of whose words end in a script without case: there, Latin letters are a name."""
    last = text.characters.flags[text.word_ends - 1]
    row = text.characters.text[text.word_starts]
    other = np.bincount(row[(last & (HANGUL | UNSPACED)) > 0], minlength=texts)
    return 2 * other > np.bincount(row, minlength=texts)


def _count_inside(flags: NDArray[np.bool_], found: Readings) -> Places:
    total: Places = np.concatenate([[0], np.cumsum(flags)])
    return total[found.ends] - total[found.starts]


def _quoted(text: Text, found: Readings) -> NDArray[np.bool_]:
    """Whether a quotation mark stands right before the reading, and one behind it or its punctuation."""
    quoted = np.zeros(len(found), dtype=bool)
    with_marks = np.array([not MARKS.isdisjoint(each) for each in text.texts], dtype=bool)
    for row in np.flatnonzero(with_marks[found.text]).tolist():
        whole = text.texts[found.text[row]]
        start, end = text.span(found.starts[row], found.ends[row])
        behind = whole[end : end + BEFORE_CLOSING]
        quoted[row] = start > 0 and whole[start - 1] in MARKS and bool(CLOSING.match(behind))
    return quoted


STEM, HANGUL_STEM = 4, 2  # characters that two words share at their start when they have a stem in common


@dataclass(frozen=True, slots=True, eq=False)
class KnownWords:
    """Keys, each column ascending. function: function words. determiners. stems: of the words that relations
    (and entity types) are named with."""

    function: Keys
    determiners: Keys
    stems: Keys

    @classmethod
    def of(cls, names: NameIndex, types: Iterable[str]) -> KnownWords:
        function, _ = distinct(np.concatenate([keys_of(NAMELESS), names.function_words]))
        return cls(function, keys_of(DETERMINERS), keys_of(stems_of_types(types)))


def stems_of_types(types: Iterable[str]) -> set[str]:
    """The stems of the content words in the names of relation and entity types."""
    return {stem_of(word) for name in types for word in words_of_name(name) if word not in NAMELESS}


def stem_of(word: str) -> str:
    return word[: HANGUL_STEM if "가" <= word[0] <= "힣" else STEM]
