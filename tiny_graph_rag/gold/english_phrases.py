"""The words of an English relation type as a phrase that a question can hold.

They are read as one of a few forms, by closed classes of words, endings and lemmas:

    be     located in, written by, parent of   X is located in Y
    verb   owns, visited, lives in             X owns Y
    noun   director, release year, has genre   Y is the director of X

A guess may be wrong for a type that nobody foresaw; the sentence then reads badly, but still names the
relation's own words and asks what the formula asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.words import lemma, words_of_name

PREPOSITIONS = table("""
    by in at of to with on for from into onto as about near under over after before between during through
    against within without upon across along among around behind beside inside outside toward towards via
    """)
_BE, _HAVE = table("is are was were be been being"), table("has have had")
# Participles without -ed that stand before a preposition; other irregular forms there are a past (went to).
_PARTICIPLES = table("""
    born held made known built found set led seen given shown written drawn sent taken told sold bought paid
    left lost kept spoken driven worn torn broken chosen frozen grown thrown flown hidden ridden risen stolen
    taught caught brought fed hit cut put shot struck run
    """)
# Verbs in -ed that take no object, so that before a preposition they are a past, not a participle.
_INTRANSITIVE = table("""
    died lived appeared graduated moved played served worked competed participated starred studied travelled
    traveled returned retired resigned belonged occurred happened suffered consisted originated performed
    debuted collaborated emigrated immigrated attended arrived escaped existed resided succeeded voted
    disappeared danced acted talked traded warned looked stayed waited walked
    """)
_NOUN_ENDINGS = ("er", "or", "ment", "tion", "ship", "ist", "ce", "ty", "age", "ness", "year", "date", "ism")
_VOWELS = "aeiou"

_MODALS = table("will would can could may might must shall should")
_STRAY = table("a an the and or not no this that these those it its his her their of s")

Form = Literal["be", "verb", "noun", "tie"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """words: `located in`, `owns`, `director`. swapped: they say the relation from its target's side."""

    form: Form
    words: str
    swapped: bool = False


@lru_cache(1 << 14)
def read_type(name: str) -> Phrase:
    """The form of a relation type's words."""
    words = words_of_name(name) if name.isascii() else name.split()
    words = [word for word in words if word.isalnum()] or [name]
    if len(words) > 2 and words[0] in ("a", "an", "the") and words[-1] in PREPOSITIONS:
        return Phrase("be", " ".join(words))
    if words in (["is", "a"], ["is", "an"], ["a", "kind", "of"], ["instance", "of"]):
        return Phrase("be", "a kind of")
    while len(words) > 1 and words[0] in _BE:
        words = words[1:]
        if words[0] not in PREPOSITIONS and words[-1] not in PREPOSITIONS and len(words) == 1:
            return Phrase("noun", words[0])
        return Phrase("be", " ".join(words))
    if words[0] in _BE:
        return Phrase("tie", "")
    if len(words) > 1 and words[-1] in _BE:  # `father was`
        return Phrase("noun", " ".join(words[:-1]))
    if words[0] in _HAVE:
        if len(words) == 1:
            return Phrase("verb", "has")
        rest = words[1:-1] if words[-1] in PREPOSITIONS and len(words) > 2 else words[1:]
        rest = rest[1:] if rest[0] in ("a", "an", "the") and len(rest) > 1 else rest
        return Phrase("noun", " ".join(rest))
    if words[0] in PREPOSITIONS:
        return Phrase("be", words[0]) if len(words) == 1 else Phrase("noun", " ".join(words[1:]))
    first, text = words[0], " ".join(words)
    if first in _MODALS and len(words) > 1:
        return Phrase("verb", text)
    if words[-1] in PREPOSITIONS:
        if len(words) > 1 and not _is_state(first, words):
            return Phrase("verb", text)
        is_role = words[-1] == "of" and not _is_past(first) and first != "part"
        return Phrase("be", f"{article(text)} {text}" if is_role else text)
    if _is_present(first) or (_is_past(first) and len(words) == 1):
        return Phrase("verb", text)
    if len(words) > 1 and _is_past(first) and not first.endswith("ed"):
        return Phrase("verb", text)
    return Phrase("noun", text)


def _is_state(first: str, words: list[str]) -> bool:
    """Whether words before a preposition follow `is`: located in, parent of; not lives in, held land in."""
    last = words[-2]
    if last in _PARTICIPLES or (words[-1] == "by" and not _is_present(first)):
        return True
    if {first, last} & _INTRANSITIVE or _is_present(first):
        return False
    if last.endswith(("ed", "en")):
        return True
    return not _is_past(first) and not _is_past(last)


def _is_present(word: str) -> bool:
    """owns, teaches; no plural can be recognised by it, so a type of two words or more begins with a verb."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and lemma(word) != word


def _is_past(word: str) -> bool:
    return not word.endswith("s") and (lemma(word) != word or (word.endswith("ed") and len(word) > 4))


def is_plain(name: str, *, schema: bool) -> bool:
    """Whether a type's words make a phrase that a question can hold. schema: whether the graph has few types;
    of many, as a model writes them, a noun may be any word, so only verbs and prepositions are trusted."""
    if not name.isascii():
        return False
    words = [word for word in words_of_name(name) if word.isalnum()]
    if not words or len(words) > 4 or not all(word.isalpha() for word in words):
        return False
    phrase = read_type(name)
    own = phrase.words.split()
    if phrase.form == "tie" or not own or own[0].endswith("ing"):
        return False
    inner = own[1:] if own[0] in ("a", "an") else own
    if not inner or any(word in _STRAY for word in inner[:-1]) or inner[-1] in _STRAY - {"of"}:
        return False
    if phrase.form == "verb":
        first = own[0]
        return first == "has" or first in _MODALS or _is_present(first) or _is_past(first)
    if schema:
        return True
    if phrase.form == "noun" or inner[-1] not in PREPOSITIONS:
        return False
    return inner[-1] == "of" or inner[-2:-1] == [] or inner[-2] in _PARTICIPLES or inner[-2].endswith("ed")


def is_plural(words: str) -> bool:
    return words.endswith("s") and not words.endswith(("ss", "us", "is"))


def plural(words: str) -> str:
    if is_plural(words):
        return words
    if words.endswith("y") and words[-2:-1] not in _VOWELS:
        return f"{words[:-1]}ies"
    return f"{words}es" if words.endswith(("s", "x", "ch", "sh")) else f"{words}s"


def roles(words: str) -> str:
    """What several are: located in, sisters of."""
    if not words.startswith(("a ", "an ")):
        return words
    role = words.partition(" ")[2].removesuffix(" of")
    return f"{'children' if role == 'child' else plural(role)} of"


def of_several(words: str) -> str:
    """A verb as several have it: lives at → live at."""
    first, *rest = words.split()
    base = "have" if first == "has" else lemma(first) if _is_present(first) else first
    return " ".join([base, *rest])


def with_helper(words: str) -> tuple[str, str]:
    """What a verb is asked with, and the verb then: (does, live at), (did, visit), (will, be held in)."""
    first, *rest = words.split()
    if first in _MODALS and rest:
        return first, " ".join(rest)
    if first == "has":
        return "does", " ".join(["have", *rest])
    helper = "does" if _is_present(first) else "did" if lemma(first) != first or _is_past(first) else "can"
    return helper, " ".join([lemma(first), *rest])


def phrase_of_word(word: str, own: Phrase) -> Phrase | None:
    """A vocabulary's word where its form shows: wrote, directs, screenwriter; else None.

    A verb next to a type that is a noun or ends in `by` says the relation from the other side (A wrote B for
    B written_by A).
    """
    if not word.isascii() or not word.isalpha():
        return None
    word = word.casefold()
    if _is_past(word) or (_is_present(word) and own.form != "noun"):
        swapped = own.form == "noun" or own.words.endswith(" by")
        return Phrase("verb", word, swapped)
    if word.endswith(_NOUN_ENDINGS) and own.form == "noun":
        return Phrase("noun", word)
    return None


def article(words: str) -> str:
    return "an" if words[:1].lower() in _VOWELS else "a"
