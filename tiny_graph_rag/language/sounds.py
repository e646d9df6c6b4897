"""How a word sounds, so that a name in Hangul meets the same name in Latin letters: 왓슨, Watson.

Not a transcription: consonants fall into classes that neither script keeps apart (ㄷ, d, t and th are one),
vowels into five, and what one script has to write and the other not (ㅡ, a silent e, h, an r before a
consonant) is left out.
"""

from __future__ import annotations

import re

from tiny_graph_rag.language.folding import folded_letters, nfc, without_accents

_FIRST_SYLLABLE = 0xAC00
# In the order of Unicode; * is silent.
_INITIALS = "KKNTTLMPPSS*SSSKTP*"  # ㄱ ㄲ ㄴ ㄷ ㄸ ㄹ ㅁ ㅂ ㅃ ㅅ ㅆ ㅇ ㅈ ㅉ ㅊ ㅋ ㅌ ㅍ ㅎ
_VOWELS = "aeaeoeoeoaeeouoeiu*ii"  # ㅏ ㅐ ㅑ ㅒ ㅓ ㅔ ㅕ ㅖ ㅗ ㅘ ㅙ ㅚ ㅛ ㅜ ㅝ ㅞ ㅟ ㅠ ㅡ ㅢ ㅣ
# none ㄱ ㄲ ㄳ ㄴ ㄵ ㄶ ㄷ ㄹ ㄺ ㄻ ㄼ ㄽ ㄾ ㄿ ㅀ ㅁ ㅂ ㅄ ㅅ ㅆ ㅇ …
_FINALS = "*KKKNNNTLLLLLLLLMPPTTGTTKTPT"
_NIEUN, _RIEUL, _SILENT = 2, 5, 11  # places among the initials
# ㅑ ㅒ ㅕ ㅖ ㅛ ㅠ ㅣ, before which ㄴ and ㄹ fall silent at the start
_SOFT = frozenset((2, 3, 6, 7, 12, 17, 20))
# Tried in order at each place; None keeps the letter. Consonants are large.
_LATIN = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        ("sch|tsch|tch|sh|ch|zh|dg(?=e)", "S"),
        ("ph", "P"),
        ("th", "T"),
        ("ck|cq|kh|gh(?=[aeiou])|qu", "K"),
        ("gh", ""),
        ("ng(?![aeiou])", "G"),
        ("ng(?=[aeiou])", "GK"),
        ("(?<=[ao])l(?=[mkfv])", ""),
        ("wr", "L"),
        ("^kn", "N"),
        ("x", "KS"),
        ("c(?=[eiy])", "S"),
        ("g(?=[ei])", "S"),
        ("[cgkq]", "K"),
        ("[dt]", "T"),
        ("[bpfv]", "P"),
        ("[szj]", "S"),
        ("m", "M"),
        ("n", "N"),
        ("l", "L"),
        ("r(?=[aeiouy])", "L"),
        ("r", ""),
        ("h", ""),
        ("w", ""),
        ("eo", "o"),
        ("eu", ""),
        ("y(?=[aeiou])", ""),
        ("oo|ou", "u"),
        ("ee|ea|ie", "i"),
        ("ae|ai|ay|ei|ey|oe", "e"),
        ("(?<=[^aeiou])e$", ""),
        ("y", "i"),
        ("[aeiou]", None),
    )
]
HANGUL = re.compile("[가-힣]")
LATIN = re.compile("[a-zA-Z\u00c0-\u024f]")
SCRIPTS = {"hangul": HANGUL, "latin": LATIN}
_TWICE = re.compile(r"(.)\1+")


def sound_of(name: str) -> str:
    """The sound of a name in Hangul or Latin letters: consonants large, vowels small. "" in other scripts."""
    return "".join(map(_word_sound, re.findall(r"[^\W\d_]+", without_accents(folded_letters(name)))))


def consonants_of(sound: str) -> str:
    """The consonants alone, one for several of a kind."""
    return "".join(letter for letter in _TWICE.sub(r"\1", sound) if letter.isupper())


def script_of(name: str) -> str:
    """ "hangul", "latin", or "" for a mixture and for anything else."""
    letters = [letter for letter in name if letter.isalpha()]
    if letters and all(map(HANGUL.match, letters)):
        return "hangul"
    if letters and all(map(LATIN.match, letters)):
        return "latin"
    return ""


def initials_of_syllables(name: str) -> str:
    """The first consonant of each syllable, as people type them: 동백꽃 → ㄷㅂㄲ. "" without Hangul."""
    jamo = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
    return "".join(jamo[(ord(letter) - _FIRST_SYLLABLE) // 588] for letter in name if HANGUL.match(letter))


def at_the_start(syllable: str) -> str:
    """How a syllable is written where a word begins: 련 → 연, 로 → 노; 전경련 is short for … 연합회."""
    if not HANGUL.match(syllable):
        return syllable
    place = ord(syllable) - _FIRST_SYLLABLE
    initial, rest = place // 588, place % 588
    is_soft = rest // 28 in _SOFT
    if initial == _RIEUL:
        initial = _SILENT if is_soft else _NIEUN
    elif initial == _NIEUN and is_soft:
        initial = _SILENT
    return chr(_FIRST_SYLLABLE + initial * 588 + rest)


def _word_sound(word: str) -> str:
    if HANGUL.match(word):
        return "".join(map(_syllable_sound, nfc(word)))
    return _latin_sound(word) if LATIN.match(word) else ""


def _syllable_sound(syllable: str) -> str:
    if not HANGUL.match(syllable):
        return ""
    place = ord(syllable) - _FIRST_SYLLABLE
    initial, vowel, final = place // 588, place % 588 // 28, place % 28
    sound = _INITIALS[initial] + _VOWELS[vowel] + _FINALS[final]
    return sound.replace("*", "")


def _latin_sound(word: str) -> str:
    sound, place = [], 0
    while place < len(word):
        for pattern, written in _LATIN:
            match = pattern.match(word, place)
            if match:
                sound.append(match.group() if written is None else written)
                place = match.end()
                break
        else:
            place += 1
    return "".join(sound)
