"""The forms of one name: a long form with its abbreviation, other spellings, and what keeps two names apart.

`Basal Cell Carcinoma (BCC)` says itself that the long form and the letters are one name. Two spellings are
one where they have one core: words folded, without accents, articles, titles, `and`, plurals and Korean
particles; what only one of them had is what they differ in. Two names that differ in a number, a side or a
negation are never one, however similar they look: Type 1 and Type 2, IL-2 and IL-12, stage I and stage II,
left and right, pre- and post-operative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from tiny_graph_rag.language.folding import (
    fold,
    folded_letters,
    nfc,
    nfd,
    scripts_of,
    without_accents,
)
from tiny_graph_rag.language.function_words import (
    FUNCTION_WORDS,
    HONORIFICS,
    final_consonant,
    fits,
    table,
)
from tiny_graph_rag.language.kinds import Kind, kind_of_type
from tiny_graph_rag.language.words import is_dictionary_word, lemma, singular

OUTSIDE, OPEN, CLOSED = r"[^()（）\[\]]+?", r"\s*[(（\[]\s*", r"\s*[)）\]]\s*"
BRACKETED = re.compile(rf"\s*(?P<before>{OUTSIDE}){OPEN}(?P<inside>{OUTSIDE}){CLOSED}")
SHORT_FORM = re.compile(r"(?=.*[^\W\d_])[^\W_][\w&./'’+-]{1,9}")  # Schwartz & Hearst: 2 to 10 characters
NUMBERED = re.compile(r"\d+[a-z]?(?![a-z])")  # 1a and 2 of `1A2`; the 2 of `2nd`
NUMBER_OR_WORD = re.compile(r"[^\W\d_]+|\d\w*")
ROMAN_NUMERALS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
ROMAN = {numeral: str(number) for number, numeral in enumerate(ROMAN_NUMERALS, start=1)}
OPPOSED = table("""
    left right upper lower anterior posterior proximal distal north south east west northern southern eastern
    western pre post anti non un hypo hyper intra inter macro micro major minor male female positive negative
    early late old new first second third primary secondary acute chronic benign malignant
    좌 우 왼쪽 오른쪽 상부 하부 전 후 동 서 남 북 급성 만성 양성 음성 악성 비
    """)

SILENT = re.compile("[\u1102\u1105](?=[\u1163\u1164\u1167\u1168\u116d\u1172\u1175])")  # ㄴ, ㄹ before y

ARTICLES = table("the a an")
AND = table("and & + 및")
SHORTEST_PLURAL = 4  # letters: `gas`, `was` and `his` are none
PLURALS = table("children feet teeth geese mice")  # irregular ones; those in -men are marked by their ending
# Words whose plural means something else: a security and the securities of a market.
OTHER_PLURALS = table("""
    arms ashes colours contents customs damages economics forces glasses goods grounds headquarters manners
    minutes politics premises proceedings quarters securities spirits stairs terms
    """)
KOREAN_TITLES = ("선생님", "선생", "씨", "님")  # the longest first
KOREAN_COMPANY_FORMS = table("주식회사 유한회사")  # before the name or behind it
COMPANY_FORMS = KOREAN_COMPANY_FORMS | table("inc incorporated ltd llc llp plc corp gmbh ag sa bv nv")
# Particles that a name keeps by mistake; 과 and 로 end names as well (경제학과, 세종로).
CASES = table("을 를 은 는 의 에서 에게 께서 한테")
OBJECT = ("을", "를")  # the only ones that a syllable alone loses: 가을 is not 가, for 을 needs a consonant
MONTHS = table("january february march april may june july august september october november december")
PERIODS = re.compile(r"(?<=\b[^\W\d])\.(?=[^\W\d]\b)")  # of U.S.A.
NUMBER = r"\d+(?:[.,]\d+)*"
PART = re.compile(rf"{NUMBER}|[#%+×°$€£¥]|(?<=\w)[-−](?=$|[\s)])|[^\W\d_]+|&|_")  # the minus of Rh-
THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
WORD = re.compile(r"[^\W\d_]+")
GLOSS = re.compile(r"(?<!\s)\s*[(（\[]([^()（）\[\]]*)[)）\]]\s*$")
LATIN_LETTERS = re.compile("[A-Z][A-Za-z-]*[A-Z]s?")
LONGEST_NAME = 300  # characters
SHORTEST_MISSPELT = 5  # letters of a word, those of Hangul taken apart


def long_and_short(name: str) -> tuple[str, str] | None:
    """`Basal Cell Carcinoma (BCC)` and `BCC (Basal Cell Carcinoma)` → (long form, abbreviation).

    Letters behind a name in another script stand for it too: 다발성 경화증(MS). None where the brackets hold
    anything else: a year, a place, another language.
    """
    is_long = len(name) > LONGEST_NAME  # a text is no name, and its white space would be tried at each place
    match = None if is_long else BRACKETED.fullmatch(name)
    if match is None:
        return None
    if LATIN_LETTERS.fullmatch(match["inside"]) and is_other_script(match["before"], match["inside"]):
        return match["before"], match["inside"]
    for long, short in ((match["before"], match["inside"]), (match["inside"], match["before"])):
        if is_abbreviation(short, long):
            return long, short
    return None


def is_abbreviation(short: str, long: str) -> bool:
    """Whether the characters of `short` stand in `long` in this order, the first one where it begins,
    articles and U.S. left out: no report by a Lead Line Supervisor is the LLS.

    Source: Schwartz & Hearst, PSB 2003: `long` has at most min(n + 5, 2n) words for n
    characters. Of Korean words the syllables stand in this order: 건보공단 for 국민건강보험공단.
    """
    letters, text = [letter for letter in _plain(short) if letter.isalnum()], _plain(long)
    if len(letters) > 1 and None not in map(final_consonant, letters):
        syllables = fold(text)
        is_cut = "".join(letters) in syllables  # 서울 in 서울대학교병원
        is_short = 4 * len(letters) <= 3 * len(syllables)
        return is_short and not is_cut and is_in_order(*map(_at_the_start, ("".join(letters), syllables)))
    if not SHORT_FORM.fullmatch(short) or len(short) >= len(long):
        return False
    words = [word for word in NUMBER_OR_WORD.findall(text) if word not in ARTICLES and word not in ("u", "s")]
    if len(letters) < 2 or len(text.split()) > min(len(letters) + 5, 2 * len(letters)):
        return False
    if not words or words[0][0] != letters[0]:
        return False
    is_long = " " in text.strip() or len(letters) >= 3
    rest = re.search(rf"\b{letters[0]}.*", text, re.DOTALL)
    return is_long and rest is not None and is_in_order(letters, rest[0])


def initials_of(long: str) -> str | None:
    """The first letters of a name's words, folded, function words left out; None for fewer than three."""
    words = [word for word in NUMBER_OR_WORD.findall(_plain(long)) if word not in FUNCTION_WORDS]
    return "".join(word[0] for word in words) if len(words) > 2 else None


def has_initials(short: str, long: str) -> bool:
    """Whether the letters of `short` begin the words of `long`, with or without its function words."""
    words, letters = NUMBER_OR_WORD.findall(_plain(long)), _plain(short)
    return letters == initials_of(long) or (len(words) > 1 and letters == "".join(word[0] for word in words))


def is_in_order(parts: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether these letters or words stand there in this order, others between them or not."""
    rest = iter(whole)
    return all(part in rest for part in parts)


def _at_the_start(syllables: str) -> str:
    """How Korean syllables are written where a word begins: 련 → 연, 로 → 노 (전경련, 전국경제인연합회)."""
    return nfc(SILENT.sub("\u110b", nfd(syllables)).replace("\u1105", "\u1102"))


def are_distinct(one: str, other: str) -> bool:
    """Whether two names differ in a number, a numeral, a code, a side or a negation: never one thing."""
    texts = (_plain(one), _plain(other))
    words = [NUMBER_OR_WORD.findall(text.replace(",", "")) for text in texts]
    if _numbers(words[0]) != _numbers(words[1]):
        return True
    return any(
        word in OPPOSED and word not in fold(text)
        for text, others in zip(texts, reversed(words), strict=True)
        for word in others
    )


def _numbers(words: Sequence[str]) -> list[str]:
    """Numbers, codes and Roman numerals in their order: 2016-03-08 is not 2016-08-03."""
    numbers: list[str] = []
    for word in words:
        if any(map(str.isdigit, word)):
            numbers += NUMBERED.findall(word)
        elif word in ROMAN and len(words) > 1:
            numbers.append(ROMAN[word])
    return numbers


def _plain(text: str) -> str:
    return without_accents(folded_letters(text))


class Difference(StrEnum):
    """What one spelling has and the other lacks, in words."""

    CASE = "capital letters"
    SPACING = "spaces"
    ACCENT = "accents"
    ARTICLE = "an article"
    AND = "`and`"
    TITLE = "a title or legal form"
    PLURAL = "the plural"
    PARTICLE = "a particle"
    GLOSS = "the name in other letters in brackets"
    ORDER = "the order of the words"
    SLIP = "a repeated letter or two that changed places"


class NameCore(Struct, frozen=True):
    """parts: the words that are left, in order; text: these without spaces; whole: all words without spaces.
    letters: of the text, each once, in their alphabet's order: the same in two cores that a slip parts.
    off: what was taken off, "" where only that something was counts."""

    parts: tuple[str, ...]
    text: str
    whole: str
    in_any_order: str
    letters: str
    off: dict[Difference, str]


def core_of(spelling: str) -> NameCore:
    """The core of a spelling; its text is "" where nothing is left to compare."""
    off: dict[Difference, str] = {}
    written = nfc(spelling)
    other = GLOSS.search(written)
    if other and is_other_script(written[: other.start()], other[1]):
        written, off[Difference.GLOSS] = written[: other.start()], fold(other[1])
    letters = folded_letters(written)
    plain = without_accents(letters)
    if plain != letters:
        off[Difference.ACCENT] = ""
    words = PART.findall(PERIODS.sub("", re.sub(r"['’](?=s\b)|(?<=\w)['’*](?=\w)", "", plain)))
    words = [THOUSANDS.sub("", word) if word[0].isdigit() else word for word in words if word != "_"]
    whole = "".join(map(_marked, words))
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
        off[Difference.ARTICLE] = ""
    if len(words) > 2 and any(word in AND for word in words[1:-1]):
        words = [words[0], *(word for word in words[1:-1] if word not in AND), words[-1]]
        off[Difference.AND] = ""
    title, words = _without_title(words)
    if title:
        off[Difference.TITLE] = title
    singular = [_singular(word) for word in words]
    if singular != words:
        off[Difference.PLURAL] = " ".join(word for word in words if word not in singular)
    last = len(words) - 1
    parts = [_without_particle(word, place == last, alone=not last) for place, word in enumerate(singular)]
    if parts != singular:
        off[Difference.PARTICLE] = ""
    text, in_any_order = "".join(map(_marked, parts)), " ".join(sorted(parts))
    return NameCore(tuple(parts), text, whole, in_any_order, "".join(sorted(set(nfd(text)))), off)


def differences(
    one: str, other: str, cores: tuple[NameCore, NameCore] | None = None
) -> frozenset[Difference] | None:
    """By what two spellings of one core differ, empty where they are written the same; None where they are
    not one name by these rules."""
    first, second = cores or (core_of(one), core_of(other))
    if not first.text or not second.text or are_distinct(one, other):
        return None
    changes = {kind for kind in Difference if first.off.get(kind) != second.off.get(kind)}
    if any(kind in first.off and kind in second.off for kind in changes - {Difference.PLURAL}):
        return None  # two titles, two names in other letters
    if first.whole == second.whole:
        changes &= {Difference.ACCENT, Difference.GLOSS}
    if first.whole == second.whole or first.text == second.text:
        changes |= {Difference.SPACING} if first.parts != second.parts else set()
    elif first.in_any_order == second.in_any_order:
        changes = {Difference.ORDER, *(changes - {Difference.PLURAL})}
    elif _is_slip(first, second):
        changes.add(Difference.SLIP)
    else:
        return None
    if Difference.ORDER not in changes and _differ_in_case(one, other):
        changes.add(Difference.CASE)
    return frozenset(changes)


def _is_slip(first: NameCore, second: NameCore) -> bool:
    """Whether two cores differ by a repeated letter, or two that changed places, inside one long word. Where
    both are words of the dictionary (martial, marital) they are two names."""
    from rapidfuzz.distance import OSA

    apart = [(one, other) for one, other in zip(first.parts, second.parts, strict=False) if one != other]
    if len(first.parts) != len(second.parts) or len(apart) != 1 or first.letters != second.letters:
        return False
    one, other = map(nfd, apart[0])
    has_same_ends = one[0] == other[0] and one[-1] == other[-1]
    is_slip = min(len(one), len(other)) >= SHORTEST_MISSPELT and has_same_ends
    return is_slip and OSA.distance(one, other) == 1 and not all(map(is_dictionary_word, apart[0]))


def _without_title(words: list[str]) -> tuple[str, list[str]]:
    if len(words) > 1 and words[0] in HONORIFICS | KOREAN_COMPANY_FORMS:
        return words[0], words[1:]
    if len(words) > 1 and words[-1] in HONORIFICS | COMPANY_FORMS:
        return words[-1], words[:-1]
    last = words[-1] if words else ""
    for title in KOREAN_TITLES:
        if last.endswith(title) and len(last) - len(title) >= 2:
            return title, [*words[:-1], last.removesuffix(title)]
    return "", words


def _singular(word: str) -> str:
    """The singular of an English or Korean plural; any other word as it is."""
    if word in OTHER_PLURALS:
        return word
    form = lemma(word)
    if word in PLURALS or (word.endswith("men") and len(word) > 3):
        return form
    if word.endswith("omas") and len(word) > len("thomas"):  # gliomas
        return word[:-1]
    if word.endswith("들") and len(word) > 2:
        return word[:-1]
    if word[-1] != "s" or len(word) < SHORTEST_PLURAL or not word.isascii():
        return word
    return singular(word) if form == word else form if word.startswith(form[:-1]) else word


def _without_particle(word: str, is_last: bool, *, alone: bool) -> str:
    if final_consonant(word[-1]) is None:
        return word
    for size in (2, 1):
        name, rest = word[:-size], word[-size:]
        is_short = is_last and len(name) == 1 and rest not in OBJECT
        if rest in CASES and name and not is_short and fits(rest, final_consonant(name[-1])):
            return name
    is_name = word[-1] == "이" and len(word) > 1 + alone and final_consonant(word[-2])
    return word[:-1] if is_name else word


def _marked(word: str) -> str:
    """Numbers keep their bounds: 2, 1 is not 21."""
    return f"|{word}|" if word[0].isdigit() else word


def is_other_script(name: str, gloss: str) -> bool:
    """Whether what stands in brackets writes the name in other letters: 동백꽃(冬柏), 서울 (Seoul). A kind of
    thing does not: Apple (회사) is not Apple (과일)."""
    written, glossed = scripts_of(name), scripts_of(gloss)
    are_apart = bool(written) and bool(glossed) and written.isdisjoint(glossed)
    return are_apart and kind_of_type(gloss) == Kind.UNKNOWN


def _differ_in_case(one: str, other: str) -> bool:
    """Whether a word that both have, articles aside, is written with other capitals."""
    texts = (nfc(one), nfc(other))
    own, others = ({word.casefold(): word for word in WORD.findall(text)} for text in texts)
    return any(others.get(word, written) != written for word, written in own.items() if word not in ARTICLES)
