"""Questions in English.

A relation type's words are read as one of a few forms, by closed classes of words, endings and lemmas:

    be     located in, written by, parent of   X is located in Y
    verb   owns, visited, lives in             X owns Y
    noun   director, release year, has genre   Y is the director of X

A guess may be wrong for a type that nobody foresaw; the sentence then reads badly, but still names the
relation's own words and asks what the formula asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

from tiny_graph_rag.gold.formulas import Path, RelationStep, type_name
from tiny_graph_rag.gold.shapes import Drawn
from tiny_graph_rag.gold.wording import Wording
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind
from tiny_graph_rag.language.words import lemma, words_of_name

_PREPOSITIONS = table("""
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

Form = Literal["be", "verb", "noun", "tie"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """words: `located in`, `owns`, `director`. swapped: they say the relation from its target's side."""

    form: Form
    words: str
    swapped: bool = False


def read_type(name: str) -> Phrase:
    """The form of a relation type's words."""
    words = words_of_name(name) if name.isascii() else name.split()
    words = [word for word in words if word.isalnum()] or [name]
    while len(words) > 1 and words[0] in _BE:
        words = words[1:]
        if words[0] not in _PREPOSITIONS and words[-1] not in _PREPOSITIONS and len(words) == 1:
            return Phrase("noun", words[0])
        return Phrase("be", " ".join(words))
    if words[0] in _BE:
        return Phrase("tie", "")
    if len(words) > 1 and words[-1] in _BE:  # `father was`
        return Phrase("noun", " ".join(words[:-1]))
    if words[0] in _HAVE:
        if len(words) == 1:
            return Phrase("verb", "has")
        rest = words[1:-1] if words[-1] in _PREPOSITIONS and len(words) > 2 else words[1:]
        rest = rest[1:] if rest[0] in ("a", "an", "the") and len(rest) > 1 else rest
        return Phrase("noun", " ".join(rest))
    if words[0] in _PREPOSITIONS:
        return Phrase("be", words[0]) if len(words) == 1 else Phrase("noun", " ".join(words[1:]))
    first, text = words[0], " ".join(words)
    if words[-1] in _PREPOSITIONS:
        if len(words) > 1 and not _is_state(first, words):
            return Phrase("verb", text)
        is_role = words[-1] == "of" and not _is_past(first) and first != "part"
        return Phrase("be", f"{_article(text)} {text}" if is_role else text)
    if _is_present(first) or (_is_past(first) and len(words) == 1):
        return Phrase("verb", text)
    if len(words) > 1 and _is_past(first) and not first.endswith("ed"):
        return Phrase("verb", text)
    return Phrase("noun", text)


def _is_state(first: str, words: list[str]) -> bool:
    """Whether words before a preposition follow `is`: located in, parent of; not lives in, held land in."""
    last = words[-2]
    if words[-1] == "by" or last in _PARTICIPLES:
        return True
    if {first, last} & _INTRANSITIVE or _is_present(first):
        return False
    if last.endswith(("ed", "en")):
        return True
    return not _is_past(first) and not _is_past(last)


def _is_present(word: str) -> bool:
    """owns, teaches; no plural can be told from it, so a type of two words or more begins with a verb."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and lemma(word) != word


def _is_past(word: str) -> bool:
    return not word.endswith("s") and (lemma(word) != word or (word.endswith("ed") and len(word) > 4))


@dataclass(eq=False)
class English(Wording):
    language: ClassVar[str] = "en"

    def question(self, drawn: Drawn, called: Mapping[int, str], *, other: bool = False) -> str:
        formula, paths = drawn.formula, drawn.formula.paths
        kind = self.kind(paths[0].steps[-1], drawn)
        who, every = _WHO.get(kind, "What"), _EVERY.get(kind, "everything that")
        that = [self._that(path, called, other) for path in paths]
        match formula.operation:
            case "path" if other:
                text = f"Name {every} {that[0]}."
            case "path":
                text = self._asked(who, paths[0], called)
            case "and":
                text = f"{who} is it that {that[0]} and that {that[1]}?"
            case "or":
                text = f"{who} is it that {that[0]} or that {that[1]}?"
            case "not":
                text = (
                    f"{who} is it that {that[0]}, but is not {_SOME.get(kind, 'something that')} {that[1]}?"
                )
            case "count":
                text = f"Counting {every} {that[0]}, how many are there?"
            case _ if formula.by is not None:
                most = self._rc(formula.by, "it", other)
                text = f"Of {every} {that[0]}, which one has the most of what {most}?"
            case _:
                text = f"Of {every} {that[0]}, which one has the highest {_spaced(formula.attribute)}?"
        if other and formula.operation != "path":
            text = f"Can you tell me: {text[:1].lower()}{text[1:]}"
        return " ".join(text.split())

    def introduced(self, name: str) -> str:
        return f"Tell me about {name}."

    def pronoun(self, kind: Kind) -> str:
        return _IT.get(kind, "it")

    def _phrase(self, step: RelationStep, other: bool) -> Phrase:
        name = type_name(self.index, step)
        if self.index.undirected[step.type]:
            return Phrase("tie", step.word)
        own = _read(name)
        sure = [found for word in self.words_for(step) if (found := _sure(word, own)) is not None]
        if not sure:
            return own
        return sure[-1] if other else sure[0]

    def _inner(self, path: Path, called: Mapping[int, str], other: bool) -> str:
        """What the last step starts from, as a noun phrase."""
        phrase = self.name(path.seed, called)
        for step in path.steps[:-1]:
            phrase = self._noun(step, phrase, other)
        return phrase

    def _that(self, path: Path, called: Mapping[int, str], other: bool) -> str:
        return self._rc(path.steps[-1], self._inner(path, called, other), other)

    def _noun(self, step: RelationStep, of: str, other: bool) -> str:
        phrase = self._phrase(step, other)
        if phrase.form == "noun" and step.backward == phrase.swapped:
            return f"the {phrase.words} of {of}"
        return f"{_SOME.get(self.kind(step), 'something that')} {self._rc(step, of, other)}"

    def _rc(self, step: RelationStep, of: str, other: bool) -> str:
        """The relative clause without its pronoun: `is located in X`, `X owns`, `is the director of X`."""
        phrase = self._phrase(step, other)
        words, backward = phrase.words, step.backward != phrase.swapped
        match phrase.form:
            case "tie":
                return f"has to do with {of}" + (f" in the matter of “{words}”" if words else "")
            case "be":
                return f"is {words} {of}" if backward else f"{of} is {words}"
            case "verb":
                return f"{words} {of}" if backward else f"{of} {words}"
        if words.endswith("s") and not words.endswith(("ss", "us", "is")):
            return f"has {of} among its {words}" if backward else f"is among the {words} of {of}"
        return (
            f"has {of} as {_article(words)} {words}" if backward else f"is {_article(words)} {words} of {of}"
        )

    def _asked(self, who: str, path: Path, called: Mapping[int, str]) -> str:
        """The question of one path. Where clauses would stand inside clauses, they come one after another."""
        step, of, taken = path.steps[-1], self._inner(path, called, False), ""
        phrase = self._phrase(step, False)
        backward = step.backward != phrase.swapped
        ends_open = phrase.form in ("be", "verb") and not backward
        if len(path.steps) > 2 or (len(path.steps) == 2 and ends_open):
            before = self.name(path.seed, called)
            parts = []
            for item, ordinal in zip(path.steps[:-1], _ORDINALS, strict=False):
                parts.append(
                    f"{_SOME.get(self.kind(item), 'something that')} {self._rc(item, before, False)}"
                )
                before = f"the {ordinal} one"
            of = before if len(parts) > 1 else "that one"
            taken = f"Take {', then '.join(parts)}. "
        if phrase.form == "be" and not backward:
            return f"{taken}{who} is {of} {phrase.words}?"
        if phrase.form == "verb" and not backward:
            first, *rest = phrase.words.split()
            helper = (
                "does" if _is_present(first) else "did" if lemma(first) != first or _is_past(first) else "can"
            )
            return (
                taken + " ".join([who, helper, of, "have" if first == "has" else lemma(first), *rest]) + "?"
            )
        if phrase.form == "noun" and not backward:
            return f"{taken}{who} is the {phrase.words} of {of}?"
        return f"{taken}{who} {self._rc(step, of, False)}?"


_ORDINALS = ("first", "second", "third")
_WHO = {Kind.PERSON: "Who", Kind.PLACE: "What place", Kind.WORK: "What work"}
_SOME = {Kind.PERSON: "someone who", Kind.PLACE: "a place that", Kind.WORK: "a work that"}
_EVERY = {Kind.PERSON: "everyone who", Kind.PLACE: "every place that", Kind.WORK: "every work that"}
_IT = {
    Kind.PERSON: "that person",
    Kind.PLACE: "that place",
    Kind.WORK: "that work",
    Kind.GROUP: "that group",
}


@lru_cache(1 << 14)
def _read(name: str) -> Phrase:
    return read_type(name)


def _sure(word: str, own: Phrase) -> Phrase | None:
    """A vocabulary's word where its form shows: wrote, directs, screenwriter; else None.

    A verb beside a type that is a noun or ends in `by` says the relation from the other side (A wrote B for
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


def _article(words: str) -> str:
    return "an" if words[:1].lower() in _VOWELS else "a"


def _spaced(name: str) -> str:
    return re.sub(r"[_\s]+", " ", name).strip()
