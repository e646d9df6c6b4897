"""Words of questions, relation names and descriptions, and how two of them are the same word.

English words are compared by lemma, then by a light stem (wrote → write ← written; actor → act); Korean words
without their particles and endings. Lists here are closed classes of a language: question words, pronouns,
prepositions, particles, endings. No list serves one graph.

Lemmas are simplemma's, read when the first English word asks for one. It unpacks its dictionary at every
start: half a second and 80 MB. Unpacked once, what it says of words in small letters lies as sorted columns
in the cache folder; simplemma itself is then not imported. Where the cache can't be written, the columns are
made again at each start; the lemmas are the same.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import KeyTable, key_of, keys_of
from tiny_graph_rag.columns.stored import Derived
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.files import stamp_of
from tiny_graph_rag.language.folding import (
    HAN,
    HAS_HANGUL,
    HAS_UNSPACED,
    LETTERS,
    MARK,
    UNSPACED,
    folded_letters,
    marked,
    nfc,
    nfd,
)
from tiny_graph_rag.language.function_words import (
    FUNCTION_WORDS,
    NAMELESS,
    PARTICLES,
    table,
)

CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# English X's, and the article or preposition before a French or Italian word: l'auteur, dell'autore.
POSSESSIVE = re.compile(r"['’]s$|^(?:[cdjlmnst]|qu|dell|nell|all|sull)['’](?=\w{3})")
CACHED_WORDS = 1 << 16
SHORTEST_STEM = 3  # letters that a light stem keeps
SHARED_PREFIX = 4  # letters that two words share at least to count as related
LANGUAGE = "en"  # of the dictionary
FIRST_BITS = 16  # of a key, by which words are found
LONGEST_COMPOUND = 64  # letters: of no longer word the parts are sought, for each of its ends is looked at
KOREAN_STEM = 2  # syllables that a Korean stem keeps: one alone is any word

ENGLISH_QUESTION_WORDS = table("who whom whose what which when where how why")
KOREAN_QUESTION_WORDS = (
    "누구", "누가", "무엇", "뭐", "뭘", "무슨", "어디", "어느", "어떤", "언제", "왜", "몇", "얼마",
)  # fmt: skip
ENGLISH_RETURN_WORDS = table("also same share shares shared sharing together co common")
KOREAN_RETURN_WORDS = ("같은", "함께", "같이", "서로", "공통")
TIES = ("관계", "relationship", "connection")  # between those that are named, over whatever relation
ABOUT_THE_NAMED = (
    *TIES, "존재", "인물", "개체", "문맥", "맥락", "가리키", "지칭", "의미", "설명", "대상",
    "context", "refer",
)  # fmt: skip
NOUN_FOLLOWS = ("어느", "무슨", "어떤", "which", "what", "whose")  # "which river", "무슨 짐승"

# The longest that leaves a stem.
ENGLISH_SUFFIX = re.compile(
    rf"(?<=.{{{SHORTEST_STEM}}})(?:ments?|ions?|ings?|ress|[eo]rs?|ie[sd]|es|ed|en|e|s|y)$"
)
KOREAN_PARTICLE = f"(?<=.{{{KOREAN_STEM}}})(?:{'|'.join(sorted(PARTICLES))})$"  # compiled at need
# Article, conjunction and prepositions before an Arabic word, endings of number, gender and owner behind it,
# much as light10 drops them (Larkey, Ballesteros & Connell 2002).
ARABIC = re.compile(
    f"(?:و?ال|بال|كال|فال|لل)?([\u0621-\u064a]{{{SHORTEST_STEM},}}?)(?:تها|تهم|ته|ها|ان|ات|ون|ين|ية|ه|ة|ي)?"
)

# A verb before a noun (쓰는, 쓰던, 죽은, 세운) or in the past (썼나, 살았다; 있 is none, 겠 the future), its
# letters apart; and what the past makes of its last vowel.
KOREAN_VERB = (  # compiled at need
    "(.+?)(?:(?:[\u1102\u110b]\u1173|\u1103\u1165)?\u11ab"
    "|(?:\u110b[\u1161\u1165\u1167])?(?<!\u110b\u1175)(?<!\u1100\u1166)\u11bb.*)"
)
CONTRACTED = str.maketrans("\u1167\u116a\u116f\u116b", "\u1175\u1169\u116e\u116c")  # 그리었 → 그렸, 오았 → 왔
IRREGULAR = str.maketrans("써커떠꺼해", "쓰크뜨끄하")

# In scripts without spaces no dictionary is asked: ideographs are read two by two and letters three by three,
# overlapping, as search engines index them. There a run of hiragana holds a sentence together and is no word,
# a run of katakana is one.
OVERLAPPING = {"ideographs": 2, "letters": 3}
_RUN = rf"[^\W_{UNSPACED}{MARK}][^\W_{UNSPACED}]*"
# A word of any script: letters and digits with the marks that belong to them; or a run of a script without
# spaces.
WORD = re.compile(
    rf"(?P<ideographs>[\u3005{HAN}]+)|(?P<letters>(?:(?![\W_])[{LETTERS}]{MARK}*)+)|[\u30a1-\u30fa\u30fc-\u30ff]+"
    rf"|{_RUN}(?:['’]{_RUN})?"
)


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each word, in order."""
    signs = marked(text)
    for match in WORD.finditer(signs):
        size = OVERLAPPING.get(match.lastgroup or "")
        if size is None:
            yield match.span()
            continue
        letters = re.finditer(f".{MARK}*", match.group())
        cuts = [match.start() + letter.start() for letter in letters] + [match.end()]
        for first in range(max(1, len(cuts) - size)):
            yield cuts[first], cuts[min(first + size, len(cuts) - 1)]


def words_in(text: str) -> list[str]:
    """The words of a text as they stand there."""
    return [text[start:end] for start, end in word_spans(text)]


def words_of(text: str) -> list[tuple[str, int, int]]:
    """The words of a text in order, folded, `X's` as X, with their characters in the text."""
    return [
        (POSSESSIVE.sub("", folded_letters(text[start:end])), start, end) for start, end in word_spans(text)
    ]


def words_of_name(name: str) -> list[str]:
    """The words of a type's name, the same for `place_of_birth`, `PlaceOfBirth` and `place of birth`."""
    return [folded_letters(word) for part in words_in(name) for word in CAMEL_HUMP.split(part) if word]


def is_korean(word: str) -> bool:
    return not word.isascii() and HAS_HANGUL.search(word) is not None


def is_function_word(word: str) -> bool:
    return word in FUNCTION_WORDS


def is_question_word(word: str) -> bool:
    return word in ENGLISH_QUESTION_WORDS or word.startswith(KOREAN_QUESTION_WORDS)


def asks_about_the_named(word: str) -> bool:
    """Whether a word asks about the thing that the question names, and so says nothing of any other: 관계,
    의미, relationship."""
    return word.startswith(ABOUT_THE_NAMED)


def is_return_word(word: str) -> bool:
    """Whether it says that a relation is walked there and back: the same director, 같은 감독."""
    return word in ENGLISH_RETURN_WORDS or word.startswith(KOREAN_RETURN_WORDS)


@cache
def lemmas() -> tuple[KeyTable, Strings]:
    """simplemma's dictionary: its words by key, and each with its form in small letters. One a simplemma that
    is installed, which is found without importing it."""
    spec = find_spec("simplemma")
    stamp = str(stamp_of(Path(spec.origin)) if spec and spec.origin else "").encode()
    kept = Derived(cache_folder() / "lemmas").get(f"{LANGUAGE}-pairs-{zlib.crc32(stamp):08x}", _unpacked)
    return KeyTable(kept), Strings.kept(kept, "pairs")


def form_of(word: str) -> str | None:
    """What simplemma says of a word in small ASCII letters; None for a word that the dictionary lacks. A
    look-up by key takes a fifth of the time that comparing words would."""
    table, pairs = lemmas()
    known = dict(pairs[row].split() for row in table.rows_of(key_of(word)))
    return known.get(word)


SHORT = 3  # letters of articles and prepositions, at most
LISTED = 2 / 3  # of a text's words: German and Dutch share fewer with English, questions in English have more


@lru_cache(1 << 12)  # questions without their seeds are often the same
def is_in_listed_language(text: str) -> bool:
    """Whether we know the function words of a text's language: whether most of its words are Korean, or
    English by the dictionary. Words with a capital inside the text are names and tell nothing. Short
    words stand in many languages' dictionaries: of several, half are our function words."""
    words = enumerate(words_of(text))
    telling = [word for place, (word, start, _) in words if not place or not text[start].isupper()]
    short = [word for word in telling if len(word) <= SHORT and word.isascii() and word.isalpha()]
    if len(short) > 1 and 2 * sum(word in NAMELESS for word in short) < len(short):
        return False
    unlisted = {*short} - NAMELESS
    telling = [word for word in telling if word not in unlisted]
    return sum(map(_is_listed, telling)) >= LISTED * len(telling)


@lru_cache(CACHED_WORDS)
def _is_listed(word: str) -> bool:
    is_code = word.isascii() and not word.isalpha()
    return is_code or is_korean(word) or word in NAMELESS or is_dictionary_word(word)


def is_dictionary_word(word: str) -> bool:
    """Whether the English dictionary has the word, in small letters."""
    return word.isascii() and form_of(word) is not None


@lru_cache(CACHED_WORDS)
def lemma(word: str) -> str:
    """The dictionary form of an English word; any other word as it is."""
    form = form_of(word) if word.isascii() and word.isalpha() else None
    return word if form is None else form


@lru_cache(CACHED_WORDS)
def stem(word: str) -> str:
    """What words of one family share, more or less: acted, actor → act; 사람은 → 사람."""
    if is_korean(word):
        return re.sub(KOREAN_PARTICLE, "", word)
    arabic = ARABIC.fullmatch(word)
    if arabic is not None:
        return arabic[1]
    base = ENGLISH_SUFFIX.sub("", lemma(word))
    doubled = len(base) > SHORTEST_STEM and base[-1] == base[-2] and base[-1] not in "aeiouls"
    return base[:-1] if doubled else base


def dictionary_form(word: str) -> str:
    """Of a Korean verb in the past or before a noun: 썼나, 쓴, 쓰는 → 쓰다; 세웠는가 → 세우다; 살았다 → 살다.
    Any other word as it is."""
    verb = re.fullmatch(KOREAN_VERB, nfd(word))
    if verb is None:
        return word
    root = nfc(verb[1][:-1] + verb[1][-1].translate(CONTRACTED))
    return f"{root[:-1]}{root[-1].translate(IRREGULAR)}다"


def text_key(word: str) -> str:
    """Under which the words of texts are looked up: by stem, in Korean by its first two syllables, in other
    scripts than Latin by its first four letters, since we don't know their endings: Ленского as Ленский.

    Source: McNamee, Nicholas & Mayfield, Addressing morphological variation in alphabetic languages (2009).
    """
    if is_korean(word):
        return word[:KOREAN_STEM]
    is_whole = word.isascii() or HAS_UNSPACED.search(word)
    return stem(word) if is_whole else stem(word)[:SHARED_PREFIX]


SAME, SAME_STEM, RELATED, UNRELATED = 3, 2, 1, 0


@lru_cache(CACHED_WORDS)
def likeness(one: str, other: str) -> int:
    """SAME word; SAME_STEM: of one family; RELATED: with the first half of the longer one in common, or part
    of a compound."""
    if one == other:
        return SAME
    stems = stem(one), stem(other)
    if stems[0] == stems[1] or one == lemma(other) or other == lemma(one):  # found as founded
        return SAME_STEM
    first, second = beginning(one), beginning(other)
    shared = max(SHARED_PREFIX, (max(len(first), len(second)) + 1) // 2)
    is_alike = first[:shared] == second[:shared] or _is_part(one, stems[1]) or _is_part(other, stems[0])
    return RELATED if is_alike else UNRELATED


def beginning(word: str) -> str:
    """What related words share the first letters of: the lemma; in Korean the stem, its syllables taken
    apart."""
    return nfd(stem(word)) if is_korean(word) else lemma(word)


def _is_part(compound: str, part: str) -> bool:
    """screenwriter ends in a word of write's stem; both parts are words of three letters or more."""
    return len(part) >= SHARED_PREFIX and any(stem(end) == part for end in ends_of(compound))


def ends_of(word: str) -> list[str]:
    """What a compound may end in: three letters or more, and three left before it."""
    if len(word) > LONGEST_COMPOUND or is_korean(word):
        return []
    return [word[place:] for place in range(SHORTEST_STEM, len(word) - SHORTEST_STEM)]


MOST_TRIED = 20  # words of a question; who asks in more has other worries


def words_tried(texts: Iterable[str]) -> tuple[str, ...]:
    """The words of the texts that could name something, as they stand there, each once, the first 20.

    Every stretch of a text is looked up as a name; function words alone name nothing and are left out.
    """
    words = [(word, text[start:end]) for text in texts for word, start, end in words_of(text)]
    written = {word: POSSESSIVE.sub("", as_it_stands) for word, as_it_stands in words if word not in NAMELESS}
    return tuple(written.values())[:MOST_TRIED]


NO_PLURALS = ("ss", "us", "is", "as", "os")  # class, status, Paris, Texas, chaos


def singular(word: str) -> str:
    """The singular of a regular English plural, by its ending alone: cities → city, boxes → boxe."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word if word.endswith(NO_PLURALS) else word.removesuffix("s")


def _unpacked() -> dict[str, NDArray[Any]]:
    """simplemma's dictionary as columns."""
    from simplemma.strategies import DEFAULT_DICTIONARY_FACTORY

    unpacked = DEFAULT_DICTIONARY_FACTORY.get_dictionary(LANGUAGE)
    small: dict[str, str] = {}
    for word in sorted(unpacked):
        key = word.lower()
        if key.isascii() and key.isalpha() and word in (key, key.capitalize()):
            small[key] = (unpacked.get(key) or unpacked[key.capitalize()]).lower()
    pairs = Strings.of(f"{word} {form}" for word, form in small.items())
    rows = np.arange(len(small), dtype=np.int32)
    return KeyTable.columns(keys_of(list(small)), rows, FIRST_BITS) | pairs.arrays("pairs")
