"""Questions in English.

A relation is a clause that one of its ends says of the other: `wrote`, `is located in`, `is a parent of`.
From it come the question of either end (Who wrote Tide? What did Bea write?) and the noun phrase that a
longer question holds (the person who wrote Tide, the parents of Bea, the city where Bea lives).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import ClassVar

from tiny_graph_rag.gold.formulas import RelationStep
from tiny_graph_rag.gold.wording import Ends, NounPhrase, Wording, is_date, phrase_lines
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, singular
from tiny_graph_rag.language.words import lemma, words_of_name

_PREPOSITIONS = table("""
    by in at of to with on for from into onto as about near under over after before between during through
    against within upon across along among around behind inside outside toward towards
    """)
_BE = table("is was are were")
# Verbs in -ed that take no object, so that before a preposition they are a past, not a participle.
_INTRANSITIVE = table("""
    died lived appeared graduated moved played served worked competed participated starred studied travelled
    traveled returned retired resigned belonged occurred happened suffered performed collaborated emigrated
    escaped resided disappeared danced acted talked traded stayed waited walked arrived
    """)
_KIN = table("""
    parent child father mother son daughter sibling brother sister husband wife married
    grandfather grandmother grandchild stepfather stepmother stepchild aunt uncle cousin
    """)
_NOUN_ENDINGS = ("er", "or", "ment", "tion", "ist", "ty", "age", "year", "date")
_DETERMINERS = table("the a an his her its their our my your this that some")
_OF_PEOPLES = ("ish", "ian", "ean", "ese")  # Turkish slippers keep their capital
# Names that end in these words, or go on with `of`, take an article: the Crown Inn, the Isle of Man.
_WITH_ARTICLE = table("""
    states kingdom republic union empire islands mountains alps sea ocean force army navy party nations
    inn hotel theatre theater museum library memorial bridge gallery church family association society
    institute agency foundation federation council committee commission academy order duke duchy isle
    tower battle netherlands philippines bahamas vatican
    """)
_ROLE = re.compile(r"is (?:a|an|the) (.+) of")


@dataclass(frozen=True, slots=True)
class Clause:
    """words: what the subject says of the object: `lives in`. nouns: of the subject and the object, "" for
    any thing. swapped: the relation's target is the subject. inverse: what the object says of the subject,
    where there are words for it: `is a child of`."""

    words: str
    nouns: tuple[str, str] = ("", "")
    swapped: bool = False
    inverse: str = ""

    @property
    def role(self) -> str:
        """`parent` of `is a parent of`, "" of others."""
        role = _ROLE.fullmatch(self.words)
        return role[1] if role else ""

    def says(self, *, many: bool) -> str:
        """The clause after its subject: lives in, live in."""
        first, _, rest = self.words.partition(" ")
        if not many:
            return self.words
        first = {"is": "are", "was": "were", "has": "have"}.get(first) or _base(first, if_present=True)
        return f"{first} {rest}".strip()

    def asked(self, subject: str, *, many: bool) -> str:
        """The clause as a question of its object: does Bea live in, were Bea and Cy born in."""
        first, _, rest = self.says(many=many).partition(" ")
        if first in _BE:
            return f"{first} {subject} {rest}".strip()
        own = self.words.partition(" ")[0]
        helper = "did" if not _is_present(own) and own != "has" else "do" if many else "does"
        return f"{helper} {subject} {_base(own)} {rest}".strip()


@dataclass(eq=False)
class English(Wording):
    language: ClassVar[str] = "en"
    follows_no_other: ClassVar[frozenset[str]] = _KIN | {"killed", "victim"}

    def said(self, step: RelationStep) -> str:
        clause, asks_subject = self._seen(step)
        return f"{clause.words} {asks_subject}" if clause.words else ""

    def _clause(self, step: RelationStep) -> Clause:
        """The clause of the step's type, the vocabulary's first; without words for none."""
        words = [" ".join(words_of_name(word)) for word in self.words_for(step)]
        known = {word: read_clause(word) for word in words if self.is_typed or word in _listed()}
        clause, own = next(filter(None, known.values()), None), known.get(words[-1])
        is_own = clause is own or any(word in _listed() for word in words[:-1])
        if clause and own and own.swapped and not is_own:
            return replace(own, words=clause.words, inverse="")
        return clause or Clause("")

    def nouns(self, step: RelationStep) -> tuple[str, str]:
        clause, asks_subject = self._seen(step)
        return clause.nouns[::-1] if asks_subject else clause.nouns

    def _seen(self, step: RelationStep) -> tuple[Clause, bool]:
        """The step's clause, and whether it leads to its subject."""
        clause = self._clause(step)
        asks_subject = (step.direction == "in") != clause.swapped
        if clause.inverse and not asks_subject:
            return replace(clause, words=clause.inverse, nouns=clause.nouns[::-1]), True
        return clause, asks_subject

    def introduced(self, seed: int) -> str:
        return f"Tell me about {self._with_article(seed, {})}."

    def pronoun(self, kind: Kind) -> str:
        return {Kind.PERSON: "that person", Kind.PLACE: "that place"}.get(kind, "it")

    def named(self, seeds: list[int], called: Mapping[int, str]) -> NounPhrase:
        names = [self._with_article(seed, called) for seed in seeds]
        return NounPhrase(names[0]) if len(names) == 1 else NounPhrase(f"both {' and '.join(names)}", True)

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        (clause, asks_subject), noun, many = self._seen(step), self._noun(step, ends), ends.many
        plain = f"Which {plural(noun) if many else noun}" if noun else "What"
        is_who = ends.kind == Kind.PERSON or (self.nouns(step)[1] == "person" and not noun)
        asks = "Who" if is_who else plain
        if _jars(clause, of, noun):
            return None
        if asks_subject:
            if asks == "What" and not clause.role and (of.clauses or " of " in of.text):
                return None  # What is located in the capital of …?
            if not clause.role:  # `who` and `what` are singular, whatever they ask for
                return f"{asks} {clause.says(many=many and asks == plain != 'What')} {of.text}?"
            role = plural(clause.role) if many else clause.role
            whose = f"its {role}" if of.text == "it" else f"the {role} of {of.text}"
            return f"{'Who' if is_who else 'What'} {'are' if many else 'is'} {whose}?"
        if of.clauses > 1 or clause.role:
            return None
        if ends.is_date and clause.words.startswith("is "):
            clause = Clause(f"was {clause.words[3:]}")
        asked = clause.asked(of.text, many=of.many)
        if (ends.is_date or ends.kind == Kind.PLACE) and asked.endswith((" in", " at", " on")):
            return f"{'When' if ends.is_date else 'Where'} {asked[:-3]}?"
        is_vague = asks == "What" and asked.endswith((" in", " at", " on"))
        return None if is_vague else f"{asks} {asked}?"

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """A noun phrase of at most two clauses."""
        (clause, asks_subject), noun, many = self._seen(step), self._noun(step, ends), ends.many
        if asks_subject and clause.role:
            role = plural(clause.role) if many else clause.role
            phrase = NounPhrase(f"the {role} of {of.text}", many, of.clauses, is_role=True)
            return None if _jars(clause, of, "") else phrase
        if clause.role or noun in ("", "event") or _jars(clause, of, noun):
            return None
        name, that = plural(noun) if many else noun, "who" if ends.kind == Kind.PERSON else "that"
        if asks_subject:
            text = f"the {name} {that} {clause.says(many=many)} {of.text}"
            return NounPhrase(text, many, of.clauses + 1) if of.clauses < 2 else None
        said = f"{of.text} {clause.says(many=of.many)}"
        if ends.kind == Kind.PLACE and said.endswith((" in", " at", " on")):
            said, that = said[:-3], "where"
            if many:  # one is not in several places
                return None
        elif that == "who" or of.text.startswith("that "):
            that = "whom" if ends.kind == Kind.PERSON else "which"
        return None if of.clauses else NounPhrase(f"the {name} {that} {said}", many, 2)

    def _noun(self, step: RelationStep, ends: Ends) -> str:
        """What one of the ends is called, "" for any thing."""
        listed = "" if self.is_typed and ends.kind != Kind.PLACE else self.nouns(step)[1]
        word = "person" if ends.kind == Kind.PERSON else ends.word or listed
        if not word.isascii() or word in ("date", "thing") or (word == "place" and ends.kind != Kind.PLACE):
            return ""
        return singular(word)

    def is_name(self, entity: int) -> bool:
        """A word in small letters is a name only where it is typed."""
        name = str(self.index.graph.entities.names[entity])
        is_code = " " not in name and not name.isalpha()
        return self.is_typed or is_code or is_date(name) or any(word[0].isupper() for word in name.split())

    def _with_article(self, seed: int, called: Mapping[int, str]) -> str:
        name = self.name(seed, called)
        head = name.casefold().partition(" of ")[0].split()[-1]
        needs = self._is_common(seed) or (head in _WITH_ARTICLE and not name.startswith("The "))
        return f"the {name}" if needs and seed not in called else name

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """A common noun begins with a small letter: the bell-rope, the Turkish slippers."""
        name = super().name(entity, called)
        first = name.split()[0]
        is_proper = first in self._proper_words or first[1:2].isupper() or first.endswith(_OF_PEOPLES)
        is_kept = entity in called or is_proper or not self._is_common(entity)
        return name if is_kept else name[0].lower() + name[1:]

    @cached_property
    def _proper_words(self) -> frozenset[str]:
        """Words with a capital that stand inside a name."""
        names = self.index.graph.entities.names
        return frozenset(word for name in names for word in name.split()[1:] if word[:1].isupper())

    def _is_common(self, entity: int) -> bool:
        """Whether a name is a common noun, which takes an article: Village blacksmith, Baboon."""
        first, *rest = self.index.graph.entities.names[entity].split()
        kind = Kind(int(self.kind_of[entity]))
        if first.casefold() in _DETERMINERS or "'" in first or "’" in first:
            return False
        if rest:
            return kind not in (Kind.UNKNOWN, Kind.WORK) and rest[0].isalpha() and rest[0].islower()
        return kind == Kind.THING and first[:1].isalpha() and first[1:].islower()


def _jars(clause: Clause, of: NounPhrase, noun: str) -> bool:
    """Whether a verb or a noun comes twice, a place is called `it`, or a noun of relation stands before
    another one or before several: the works that were published in the works, the parent of the friend
    of Bea."""
    words = set(clause.words.split()) - _BE - _PREPOSITIONS - _DETERMINERS
    is_in_it = of.text == "it" and clause.words.endswith((" in", " at", " on"))
    is_again = words & set(of.text.split()) or (noun and re.search(f"the ({noun}|{plural(noun)}) ", of.text))
    is_of_some = (clause.role and (of.many or of.is_role)) or (of.many and words & _KIN)
    return bool(is_in_it or is_again or is_of_some)


def plural(words: str) -> str:
    if words == "person":
        return "people"
    if words.endswith("s") and not words.endswith(("ss", "us", "is")):
        return words
    if words.endswith("child"):
        return f"{words}ren"
    if words.endswith("y") and words[-2:-1] not in tuple("aeiou"):
        return f"{words[:-1]}ies"
    return f"{words}es" if words.endswith(("s", "x", "ch", "sh")) else f"{words}s"


def _is_present(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and lemma(word) != word


def _is_past(word: str) -> bool:
    return not word.endswith("s") and (lemma(word) != word or (word.endswith("ed") and len(word) > 4))


def _base(verb: str, *, if_present: bool = False) -> str:
    if if_present and not _is_present(verb):
        return verb
    if verb == "won" or verb.endswith("xed"):  # whose lemma the dictionary lacks
        return verb.removesuffix("ed").replace("won", "win")
    return lemma(verb)


@cache
def _listed() -> dict[str, Clause]:
    clauses = {}
    for types, phrase in phrase_lines("en"):
        said, _, nouns = phrase.partition(" | ")
        words, _, inverse = said.removeprefix("< ").partition(" ~ ")
        subject, object = ("" if noun == "-" else noun for noun in nouns.split(", "))
        clause = Clause(words, (subject, object), said.startswith("< "), inverse)
        clauses.update(dict.fromkeys(types, clause))
    return clauses


@lru_cache(1 << 14)
def read_clause(words: str) -> Clause | None:
    """The clause of a relation type's words, from the table or as they read; None where they are none."""
    if words in _listed():
        return _listed()[words]
    parts = words.split()
    if not 0 < len(parts) < 4 or not all(part.isascii() and part.isalpha() for part in parts):
        return None
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        is_verb = _is_present(first) and not lemma(first).endswith(_NOUN_ENDINGS)
        return Clause(first) if is_verb or _is_past(first) else None
    if last not in _PREPOSITIONS:
        return None
    if first in _BE:
        return Clause(words) if parts[1] not in _DETERMINERS else None
    if _is_present(first) or first in _INTRANSITIVE:
        return Clause(words)
    if len(parts) > 2 or _is_past(first) != first.endswith("ed"):
        return None
    if last == "by":
        return Clause(first, swapped=True)
    if first.endswith("ed"):
        return Clause(f"was {words}")
    return Clause(f"is {'an' if first[0] in 'aeiou' else 'a'} {words}") if last == "of" else None
