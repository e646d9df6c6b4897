"""Korean particles that fit the last sound of whatever stands before them: a name, a number, a Latin word."""

from __future__ import annotations

import re

from tiny_graph_rag.language.function_words import RIEUL, final_consonant

# Forms after a consonant → after a vowel.
_PAIRS = {"은": "는", "이": "가", "을": "를", "과": "와", "으로": "로", "이나": "나"}
_DIGITS = "영일이삼사오육칠팔구"
_BY_ZEROS = "_십백천만만만만억억억억"  # how a number with so many zeros at its end is read
_IN_BRACKETS = re.compile(r"(?<=\w)\s*+\([^()]*+\)$")
_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]++)[\W_]*+$")
# Latin words that are read with a final ㄹ (애플, 서울), and with another one (타임, 북, 링).
_ENDS_IN_RIEUL = re.compile("(?:l|[aeioubdgkpt]le)$")
_ENDS_IN_CONSONANT = re.compile("(?:[mn]|ng|ck|[aeiou][aeioubdgkpt][mn]e|(?<![aeiou])[aeiou][bpkct])$")


def with_particle(text: str, particle: str) -> str:
    """`with_particle("점순", "이")` → 점순이, of 나 → 나가. particle: the form after a consonant, or one that
    has no other. Marks and a bracket at the end are not read. Where the reading is not known both forms are
    written: 魯迅은(는)."""
    if particle not in _PAIRS:
        return text + particle
    other, final = _PAIRS[particle], _final_of(text)
    if final is None:
        return f"{text}{particle}({other})"
    return text + (other if final == 0 or (final == RIEUL and particle == "으로") else particle)


def _final_of(text: str) -> int | None:
    """The final consonant with which a text is read aloud, as `final_consonant` numbers them (of Latin words
    only whether there is one, and whether it is ㄹ); None where nobody can tell."""
    read = _LAST_WORD.search(_IN_BRACKETS.sub("", text))
    word = read[1] if read else ""
    if not word[-1:].isascii() or not word:
        return final_consonant(word[-1]) if word else None
    if word[-1].isdigit():  # 삼, 십
        zeros = len(word) - len(word.rstrip("0"))
        digit = _DIGITS[int(word[-1])] if not zeros or zeros == len(word) else _BY_ZEROS[min(zeros, 11)]
        return final_consonant(digit)
    letters = re.split(r"[^A-Za-z]", word)[-1]
    if len(letters) == 1 or letters.isupper():  # 엘, 엠, 엔, 알
        return RIEUL if letters[-1] in "lLrR" else int(letters[-1] in "mMnN")
    letters = letters.lower()
    return RIEUL if _ENDS_IN_RIEUL.search(letters) else int(bool(_ENDS_IN_CONSONANT.search(letters)))
