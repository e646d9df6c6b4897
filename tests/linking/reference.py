"""Linking once more, the slow and obvious way: every stretch of the text against every name, one at a time.

For graphs without relations, aliases and types, and texts in ASCII and Hangul syllables.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_graph_rag.language.folding import fold, is_dropped
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, ParticleFit, particles
from tiny_graph_rag.linking.grades import CLITIC, CLOSING, COMMON, MARKS, SENTENCE

Word = tuple[int, int]
Reading = tuple[int, int, int, frozenset[int]]  # start, end, fit, names


def linked(names: Sequence[str], text: str) -> set[tuple[int, int, frozenset[int]]]:
    """(start, end, rows of the names) of what the text names."""
    words = words_of(text)
    found = readings(names, text, words)
    case_counts = capitals_tell(text, words, found)
    graded = [(grade(names, text, words, item, case_counts), item) for item in found]
    best = min((its for its, _ in graded), default=0)
    kept = [span for its, span in graded if its == best]
    if best == 2 and kept:
        rarest = min(rarity(names, text, words, record) for record in kept)
        kept = [record for record in kept if rarity(names, text, words, record) <= COMMON * rarest]
    kept.sort(
        key=lambda pair: (
            respaced(names, text, pair),
            pair[0] - pair[1],
            pair[2] != ParticleFit.FITS,
            pair[0],
        )
    )
    # Lengths count kept characters, so white space and punctuation must not make a stretch longer.
    kept.sort(key=lambda pair: (respaced(names, text, pair), -len(fold(text[pair[0] : pair[1]]))))
    chosen: list[Reading] = []
    for record in kept:
        if all(record[1] <= other[0] or record[0] >= other[1] for other in chosen):
            chosen.append(record)
    return {meant(names, text, item, case_counts) for item in chosen}


def words_of(text: str) -> list[Word]:
    starts = [i for i, c in enumerate(text) if not is_dropped(c) and (i == 0 or is_dropped(text[i - 1]))]
    ends = [
        i + 1
        for i, c in enumerate(text)
        if not is_dropped(c) and (i + 1 == len(text) or is_dropped(text[i + 1]))
    ]
    return list(zip(starts, ends, strict=True))


def readings(names: Sequence[str], text: str, words: Sequence[Word]) -> list[Reading]:
    found = []
    for first, (start, _) in enumerate(words):
        for begin, stop in words[first:]:
            for end in range(begin + 1, stop + 1):
                if end < stop and not "가" <= text[end] <= "힣":
                    continue
                key = fold(text[start:end])
                rows = frozenset(row for row, name in enumerate(names) if fold(name) == key)
                if rows:
                    fit = particles(key, fold(text[end:stop])) if end < stop else ParticleFit.FITS
                    if fit:
                        found.append((start, end, fit, rows))
    return found


def is_upper(text: str, word: Word) -> bool:
    return text[word[0]].isupper() and fold(text[slice(*word)]) != "i"


def is_cased(character: str) -> bool:
    return character.lower() != character.upper()


def capitals_tell(text: str, words: Sequence[Word], found: Sequence[Reading]) -> bool:
    cased = [word for word in words if is_cased(text[word[0]])]
    outside = [span for span in cased if span != words[0] and not any(r[0] <= span[0] < r[1] for r in found)]
    if not any(is_upper(text, word) for word in words):
        return False
    judged = outside or cased
    lower = sum(not is_upper(text, key) for key in judged)
    return 2 * lower >= len(outside) if outside else lower > 0


def is_function(text: str, words: Sequence[Word], word: Word) -> bool:
    place = next((i for i, span in enumerate(words) if span[0] <= word[0] < span[1]), 0)
    joined = place > 0 and words[place][0] - words[place - 1][1] == 1
    short = word == words[place] and word[1] - word[0] <= CLITIC and is_cased(text[word[0]])
    return fold(text[slice(*word)]) in FUNCTION_WORDS or (joined and short)


def inside(words: Sequence[Word], reading: Reading) -> list[Word]:
    return [(start, min(end, reading[1])) for start, end in words if reading[0] <= start < reading[1]]


def grade(names: Sequence[str], text: str, words: Sequence[Word], reading: Reading, case_counts: bool) -> int:
    start, end, _, rows = reading
    own = inside(words, reading)
    content = sum(not is_function(text, words, entry) for entry in own)
    letters = "".join(c for c in text[start:end] if not is_dropped(c))
    as_written = any("".join(c for c in names[row] if not is_dropped(c)) == letters for row in rows)
    capital = case_counts and any(is_upper(text, entry) and entry[0] != words[0][0] for entry in own)
    leads = case_counts and start == words[0][0] and is_upper(text, words[0])
    digits = any(c.isdigit() for c in letters)
    number = digits and len(letters) > 1
    quoted = start > 0 and text[start - 1] in MARKS and CLOSING.match(text[end : end + 4]) is not None
    other = 2 * sum("가" <= text[stop - 1] <= "힣" for _, stop in words) > len(words)
    caseless = not digits and not any(map(is_cased, letters))
    if (
        quoted
        or ((capital or number) and (as_written or not case_counts))
        or (leads and as_written and content)
        or content > 1
        or (content and not case_counts and len(own) >= SENTENCE)
        or (content and (caseless or other))
    ):
        return 0
    if capital or number:
        return 1
    if content or len(own) >= SENTENCE:
        return 2
    return 3 if len(own) > 1 else 4


def rarity(names: Sequence[str], text: str, words: Sequence[Word], reading: Reading) -> int:
    own = inside(words, reading)
    if len(own) > 1 or any(c.isdigit() for c in text[reading[0] : reading[1]]):
        return 1
    word = fold(text[slice(*own[0])])
    if is_function(text, words, own[0]):
        return 2**31 - 1
    return max(1, sum(fold(name[slice(*span)]) == word for name in names for span in words_of(name)))


def gaps(text: str) -> list[int]:
    """After how many kept characters a word ends."""
    ends, kept = [], 0
    for start, end in words_of(text):
        kept += end - start
        ends.append(kept)
    return ends


def respaced(names: Sequence[str], text: str, reading: Reading) -> bool:
    here = text[reading[0] : reading[1]]
    same = any(gaps(names[row]) == gaps(here) for row in reading[3])
    return not same and not any("가" <= c <= "힣" for c in here)


def meant(
    names: Sequence[str], text: str, reading: Reading, case_counts: bool
) -> tuple[int, int, frozenset[int]]:
    start, end, _, rows = reading
    here = text[start:end]
    letters = "".join(c for c in here if not is_dropped(c))
    cased = any(map(is_cased, letters))

    def place(name: str) -> int:
        return start - next(i for i, c in enumerate(name) if not is_dropped(c))

    def stands(name: str) -> bool:
        one, other = (text.casefold(), name.casefold()) if cased and not case_counts else (text, name)
        return place(name) >= 0 and one.startswith(other, place(name))

    def same(row: int) -> bool:
        return "".join(c for c in names[row] if not is_dropped(c)) == letters

    longest = max((len(names[row]) for row in rows if stands(names[row])), default=0)
    best = [row for row in rows if longest and stands(names[row]) and len(names[row]) == longest]
    if not best:
        best = list(rows)
    if not best or not longest or (cased and not case_counts):
        best = [row for row in best if same(row)] or best
    first = names[min(best)]
    if here != first and place(first) >= 0 and text.startswith(first, place(first)):
        start, end = place(first), place(first) + len(first)
    return start, end, frozenset(best)
