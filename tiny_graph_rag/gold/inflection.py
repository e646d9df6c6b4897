"""Forms that English words take in a sentence: plurals, infinitives of verbs, names with an article."""

from __future__ import annotations

import re

from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.words import lemma

_IRREGULAR = {"won": "win", "developed": "develop"}  # verbs that the dictionary takes for others

# Names that end in these words take an article, the Crown Inn; before `of` these too, the University of Bonn.
_WITH_ARTICLE = table("""
    states kingdom republic union empire islands mountains alps sea ocean river canal desert gulf strait
    peninsula force army navy party nations inn hotel theatre theater museum library memorial bridge gallery
    church family association society institute agency foundation federation council committee commission
    academy congress parliament senate order duchy isle tower battle war wars revolution rebellion crusade
    treaty cup championship championships olympics olympiads awards festival netherlands philippines bahamas
    vatican uk us usa uae un eu ussr fbi cia nba nfl bbc nhs prize medal award oscar oscars grammy emmy trophy
    territory team league orchestra courthouse garden gardens planetarium observatory center centre facility
    zoo monument dam coast confederation dynasty caliphate commonwealth
    conference summit pandemic crisis depression
    """)
_BEFORE_OF = table("""
    university college school bank house court department ministry city siege journal king queen emperor duke
    duchess prince princess lord president bishop representative statue institute bay lake mount
    """)
_ORDINAL = re.compile(r"(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|last)\b", re.I)


def takes_article(name: str) -> bool:
    """Whether a proper name stands with `the`: the Kettle River, the University of Bonn."""
    before, of, _ = name.casefold().partition(" of ")
    head = re.split(" (?:in|for) ", before)[0].split()[-1]
    if "'s " in before or "’s " in before:
        return False
    return head in _WITH_ARTICLE or bool(of and head in _BEFORE_OF) or _ORDINAL.match(name) is not None


def plural(words: str) -> str:
    if words == "person":
        return "people"
    head, of, rest = words.partition(" of ")
    if of:
        return f"{plural(head)} of {rest}"
    if words.endswith("s") and not words.endswith(("ss", "us", "is")):
        return words
    if words.endswith("child"):
        return f"{words}ren"
    if words.endswith(("ren", "people")):
        return words
    if words.endswith("y") and words[-2:-1] not in tuple("aeiou"):
        return f"{words[:-1]}ies"
    return f"{words}es" if words.endswith(("s", "x", "ch", "sh")) else f"{words}s"


def is_present(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and lemma(word) != word


def infinitive(words: str) -> str:
    """With the first word as an infinitive: write of wrote, envy of envied, live in of lived in."""
    verb, _, rest = words.partition(" ")
    if verb.endswith(("ied", "ies")) and len(verb) > 4:
        verb = f"{verb[:-3]}y"
    else:
        verb = _IRREGULAR.get(verb) or lemma(verb.removesuffix("ed") if verb.endswith("xed") else verb)
    return f"{verb} {rest}".strip()
