"""Questions in English.

A relation is a clause that one of its ends says of the other: `wrote`, `is located in`, `is a parent of`.
From it come the question of either end (Who wrote Tide? What did Bea write?) and the noun phrase that a
longer question holds (the person who wrote Tide, the parents of Bea, the city where Bea lives).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

from tiny_graph_rag.gold.formulas import RelationStep
from tiny_graph_rag.gold.wording import Ends, NounPhrase, Wording, phrase_lines
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, table
from tiny_graph_rag.language.inflection import infinitive, is_past, is_present, plural, takes_article
from tiny_graph_rag.language.kinds import Kind, is_date, kind_of_type, singular
from tiny_graph_rag.language.words import is_dictionary_word, lemma, words_of_name

_PREPOSITIONS = table("""
    by in at of to with on for from into onto as about near under over after before between during through
    against within upon across along among around behind inside outside toward towards
    """)
_BE = table("is was are were")
_PLURAL_VERBS = {"is": "are", "was": "were", "has": "have"}
_WHERE = (" in", " at", " on")
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
_PRONOUNS = {"they": ("them", "their"), "it": ("it", "its")}  # as an object, before a noun
_ROLE = re.compile(r"is (an?|the) (.+) of")


@dataclass(frozen=True, slots=True)
class Clause:
    """words: what the subject says of the object: `lives in`. nouns: of the subject and the object, "" for
    any thing. swapped: the relation's target is the subject. inverse: what the object says of the subject,
    where there are words for it: `is a child of`."""

    words: str
    nouns: tuple[str, str] = ("", "")
    swapped: bool = False
    inverse: str = ""

    def role(self, *, many: bool) -> str:
        """`father` of `is the father of`; in the plural, as one asks for several, `parents` of `is a parent
        of`; "" of other clauses."""
        role = _ROLE.fullmatch(self.words)
        return "" if role is None else plural(role[2]) if many or role[1] != "the" else role[2]

    def says(self, *, many: bool) -> str:
        """The clause after its subject: lives in, live in."""
        first, _, rest = self.words.partition(" ")
        if not many or not (is_present(first) or first in _PLURAL_VERBS):
            return self.words
        return f"{_PLURAL_VERBS.get(first) or infinitive(first)} {rest}".strip()

    def asked(self, subject: str, *, many: bool) -> str:
        """The clause as a question of its object: does Bea live in, were Bea and Cy born in."""
        first, _, rest = self.words.partition(" ")
        if first in _BE:
            return f"{self.says(many=many).split()[0]} {subject} {rest}"
        helper = "did" if not is_present(first) and first != "has" else "do" if many else "does"
        return f"{helper} {subject} {infinitive(first)} {rest}".strip()


@dataclass(eq=False)
class English(Wording):
    language: ClassVar[str] = "en"
    introduction: ClassVar[str] = "Tell me about {}."
    follows_no_other: ClassVar[frozenset[str]] = _KIN | {"killed", "victim"}

    def said(self, step: RelationStep) -> str:
        clause, asks_subject = self._seen(step)
        return f"{clause.words} {asks_subject}" if clause.words else ""

    def nouns(self, step: RelationStep) -> tuple[str, str]:
        clause, asks_subject = self._seen(step)
        return clause.nouns[::-1] if asks_subject else clause.nouns

    def _seen(self, step: RelationStep) -> tuple[Clause, bool]:
        """The step's clause, without words for none, and whether it leads to its subject."""
        clause = self._clauses[step.type]
        asks_subject = (step.direction == "in") != clause.swapped
        if clause.inverse and not asks_subject:
            return Clause(clause.inverse, clause.nouns[::-1]), True
        return clause, asks_subject

    @cached_property
    def _clauses(self) -> list[Clause]:
        """Of each relation type: by the table, the vocabulary, or, in a graph with entity types, its name."""
        clauses = []
        for name in self.index.graph.relations.types.names:
            words = [" ".join(words_of_name(word)) for word in (name, *self.vocabulary.get(name, ()))]
            read = [listed_clause(words[0]), *map(read_clause, words[1:])]
            read += [read_clause(words[0])] if self.is_typed else []
            clauses.append(next(filter(None, read), Clause("")))
        return clauses

    def pronoun(self, seed: int, kind: Kind) -> str:
        if kind == Kind.PERSON or self.named([seed], {}).many:
            return "they"
        return "that place" if kind == Kind.PLACE else "it"

    def forms(self, pronoun: str) -> tuple[str, ...]:
        return pronoun, *_PRONOUNS.get(pronoun, ())

    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase:
        names = [self._with_article(seed, self.name(seed, called)) for seed in seeds]
        if len(names) > 1:
            return NounPhrase(f"both {' and '.join(names)}", True)
        is_several = names[0].endswith("s") and self._is_common(seeds[0], self.name(seeds[0], called))
        return NounPhrase(names[0], is_several or names[0] == "they")

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        (clause, asks_subject), noun = self._seen(step), self._noun(step, ends)
        is_who = noun == "person" or (self.nouns(step)[1] == "who" and not noun and ends.kind != Kind.THING)
        asks = "Who" if is_who else f"Which {plural(noun) if ends.many else noun}" if noun else "What"
        role = clause.role(many=ends.many)
        if _jars(clause, of, noun) or (asks_subject and ends.is_date):
            return None
        if asks_subject and role:
            are = "are" if role == plural(role) else "is"
            return f"{'Who' if is_who else 'What'} {are} {_of(role, of)}?"
        if asks_subject:
            if asks == "What" and (of.clauses or " of " in of.text):
                return None  # What is located in the capital of …?
            many = ends.many and asks.startswith("Which")  # `who` is singular, whatever it asks for
            return f"{asks} {clause.says(many=many)} {_object(of)}?"
        is_of_some = of.many and not of.text.startswith(("both ", "they"))
        if of.clauses > 1 or role or (ends.is_date and is_of_some):
            return None  # When did the members of … die?
        if ends.is_date and clause.words.startswith("is "):
            clause = Clause(f"was {clause.words[3:]}")
        asked = clause.asked(of.text, many=of.many)
        if (ends.is_date or ends.kind == Kind.PLACE) and asked.endswith(_WHERE):
            return f"{'When' if ends.is_date else 'Where'} {asked[:-3]}?"
        return None if asks == "What" and asked.endswith(_WHERE) else f"{asks} {asked}?"

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """A noun phrase of at most two clauses."""
        (clause, asks_subject), noun, many = self._seen(step), self._noun(step, ends), ends.many
        role = clause.role(many=many)
        if role and asks_subject:
            phrase = NounPhrase(_of(role, of), role == plural(role), of.clauses, is_role=True)
            return None if _jars(clause, of, "") else phrase
        if role or noun in ("", "event") or _jars(clause, of, noun):
            return None
        name, is_person = plural(noun) if many else noun, ends.kind == Kind.PERSON
        if asks_subject:
            if of.clauses > 1 or (not self.is_typed and _is_anywhere(clause)):
                return None
            text = f"the {name} {'who' if is_person else 'that'} {clause.says(many=many)}"
            return NounPhrase(f"{text} {_object(of)}", many, of.clauses + 1)
        said = f"{of.text} {clause.says(many=of.many)}"
        if ends.kind == Kind.PLACE and said.endswith(_WHERE):
            text = "" if many else f"the {name} where {said[:-3]}"  # one is not in several places
        else:
            is_that = not is_person and not of.text.startswith("that ")
            text = f"the {name} {'that' if is_that else 'whom' if is_person else 'which'} {said}"
        return None if of.clauses or not text else NounPhrase(text, many, 2)

    def _noun(self, step: RelationStep, ends: Ends) -> str:
        """What one of the ends is called, "" for any thing."""
        (clause, _), listed = self._seen(step), self.nouns(step)[1]
        word = ends.word or ("" if self.is_typed and ends.kind != Kind.PLACE else listed)
        if ends.kind == Kind.PERSON:
            return "person"
        is_no_noun = not word.isascii() or word in ("date", "thing", "who")
        is_general = word in ("event", "place") and word != listed
        if is_no_noun or (word == "place" and ends.kind != Kind.PLACE):
            return ""
        return "" if is_general and clause.words.split()[-1] not in _PREPOSITIONS else singular(word)

    def is_name(self, entity: int) -> bool:
        """Without types, only what is written as a name is one: no rainbow Apple, no Mac software."""
        name = str(self.index.graph.entities.names[entity])
        words = [word for word in name.split() if word.casefold() not in FUNCTION_WORDS]
        is_code = " " not in name and not name.isalpha()
        is_written_so = bool(words) and not any(word[0].islower() for word in words)
        return self.is_typed or is_code or is_date(name) or is_written_so

    def _with_article(self, seed: int, name: str) -> str:
        if name in _PRONOUNS or name.split()[0].casefold() in _DETERMINERS:
            return name
        known = Wording.name(self, seed, {})
        is_misspelt = len(name.split()) == len(known.split()) and takes_article(known)
        is_title = int(self.kind_of[seed]) != Kind.WORK and (is_misspelt or takes_article(name))
        return f"the {name}" if is_title or self._is_common(seed, name) else name

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """A common noun begins with a small letter: the bell-rope, the Turkish slippers."""
        name = super().name(entity, called)
        first = name.split()[0]
        is_proper = first in self._proper_words or first[1:2].isupper() or first.endswith(_OF_PEOPLES)
        is_kept = is_proper or not self._is_common(entity, name)
        return name if is_kept else name[0].lower() + name[1:]

    @cached_property
    def _proper_words(self) -> frozenset[str]:
        """Words with a capital that stand inside a name."""
        names = self.index.graph.entities.names
        return frozenset(word for name in names for word in name.split()[1:] if word[:1].isupper())

    def _is_common(self, entity: int, name: str) -> bool:
        """Whether a name is a common noun, which takes an article: Village blacksmith, Baboon."""
        first, *rest = name.split()
        kind = Kind(int(self.kind_of[entity]))
        if not self.is_typed or first.casefold() in _DETERMINERS or "'" in first or "’" in first:
            return False
        if rest:
            is_noun = rest[0].isalpha() and rest[0].islower() and rest[0] not in FUNCTION_WORDS
            return kind not in (Kind.UNKNOWN, Kind.WORK) and is_noun
        return kind == Kind.THING and first[:1].isalpha() and (first[1:].islower() or "-" in first)


def _object(of: NounPhrase) -> str:
    return _PRONOUNS.get(of.text, (of.text,))[0]


def _of(role: str, of: NounPhrase) -> str:
    """The role of Bea, their role."""
    return f"{_PRONOUNS[of.text][1]} {role}" if of.text in _PRONOUNS else f"the {role} of {of.text}"


def _is_anywhere(clause: Clause) -> bool:
    """Whether many in the world are so, of whom a graph of facts has one: the person who lives in Rome."""
    is_of_kind = kind_of_type(clause.nouns[1]) in (Kind.WORK, Kind.OTHER) and clause.nouns[1] != "date"
    return clause.words.endswith(" in") and not is_of_kind


def _jars(clause: Clause, of: NounPhrase, noun: str) -> bool:
    """Whether a verb or a noun comes twice, a place is called `it`, or a noun of relation stands before
    another one or before several: the works that were published in the works, the parent of the friend
    of Bea."""
    words = set(clause.words.split()) - _BE - _PREPOSITIONS - _DETERMINERS
    is_in_it = of.text == "it" and clause.words.endswith(_WHERE)
    is_noun_again = noun and re.search(f"(the|that) ({noun}|{plural(noun)})\\b", of.text)
    are_several = of.many and of.text != "they"
    is_of_some = (clause.role(many=False) and (are_several or of.is_role)) or (are_several and words & _KIN)
    return bool(is_in_it or words & set(of.text.split()) or is_noun_again or is_of_some)


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


def listed_clause(words: str) -> Clause | None:
    """The table's clause for a relation type's words, with or without `is`, `was` or `has` before them."""
    return _listed().get(words) or _listed().get(re.sub("^(?:is|was|has) ", "", words))


@cache
def read_clause(words: str) -> Clause | None:
    """The clause of a relation type's words, from the table or as they read; None where they are none."""
    if (listed := listed_clause(words)) is not None:
        return listed
    parts = words.split()
    if not 0 < len(parts) < 4 or not all(part.isascii() and part.isalpha() for part in parts):
        return None
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        is_verb = is_present(first) and not lemma(first).endswith(_NOUN_ENDINGS)
        return Clause(first) if is_verb or is_past(first) else None
    article = "an" if (first if first != "has" else parts[1])[0] in "aeiou" else "a"
    if first == "has" and is_dictionary_word(last) and lemma(last) == last and not is_past(parts[1]):
        return Clause(f"is {article} {' '.join(parts[1:])} of", swapped=True)
    if last not in _PREPOSITIONS:
        return None
    if first in _BE:
        return Clause(words) if parts[1] not in _DETERMINERS else None
    if is_present(first) or first in _INTRANSITIVE:
        return Clause(words)
    if len(parts) > 2 or is_past(first) != first.endswith("ed"):
        return None
    if last == "by":
        return Clause(first, swapped=True)
    if first.endswith("ed"):
        return Clause(f"was {words}")
    return Clause(f"is {article} {words}") if last == "of" else None
