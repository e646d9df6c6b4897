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
from tiny_graph_rag.language.kinds import Kind, kind_of_type
from tiny_graph_rag.language.words import is_dictionary_word, lemma, words_of_name

_PREPOSITIONS = table("""
    by in at of to with on for from into onto as about near under over after before between during through
    against within upon across along among around behind inside outside toward towards
    """)
_BE = table("is was are were")
_PLURAL_VERBS = {"is": "are", "was": "were", "has": "have"}
_WHERE = (" in", " at", " on")
# What is true of many in the world, of whom a graph of facts has one: the person who lives in Rome.
_OF_MANY = (*_WHERE, " for", " near", " member of")
_KIN = table("""
    parent child father mother son daughter sibling brother sister husband wife married
    grandfather grandmother grandchild stepfather stepmother stepchild aunt uncle cousin
    """)
_NOUN_ENDINGS = tuple(table("er or ment tion ist ty age year date ance ence ship ing"))
_DETERMINERS = table("the a an his her its their our my your this that some")
_PRONOUNS = {"they": ("", "their"), "it": ("it", "its")}  # as an object (not of one person), before a noun
_NOUNS = {Kind.PERSON: "person", Kind.PLACE: "place", Kind.GROUP: "organization"}  # where they share no other
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
    pronouns: ClassVar[Mapping[Kind, str]] = {
        Kind.PERSON: "they", Kind.THING: "it", Kind.GROUP: "it", Kind.WORK: "it", Kind.OTHER: "it"
    }  # fmt: skip
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

    def is_name(self, entity: int) -> bool:
        """Only what is written as a name is one: no bell-rope, no rainbow Apple, no Baboon."""
        name, kind = str(self.index.graph.entities.names[entity]), Kind(int(self.kind_of[entity]))
        words = [word for word in re.split("[ -]+", name) if word.casefold() not in FUNCTION_WORDS]
        is_code = kind == Kind.UNKNOWN and re.fullmatch(r"\S*[._(]\S*", name) is not None
        is_common = kind == Kind.THING and len(words) == 1 and is_dictionary_word(name.casefold())
        is_written_so = bool(words) and not any(word[:1].islower() for word in words)
        return is_code or (is_written_so and not is_common)

    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase:
        names = [self._with_article(seed, self.name(seed, called)) for seed in seeds]
        if len(names) > 1:
            return NounPhrase(f"both {' and '.join(names)}", True)
        return NounPhrase(names[0], names[0] == "they")

    def _with_article(self, seed: int, name: str) -> str:
        is_title = self.kind_of[seed] == Kind.WORK or name.split()[0].casefold() in _DETERMINERS
        return f"the {name}" if takes_article(name) and not is_title else name

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        clause, asks_subject = self._seen(step)
        role, is_where = clause.role(many=ends.many), clause.words.endswith(_WHERE)
        noun = ends.noun or ("" if ends.kind == Kind.PERSON else _NOUNS.get(ends.kind, ""))
        is_who = ends.kind == Kind.PERSON or (self.nouns(step)[1] == "who" and not ends.noun)
        asks = "Who" if is_who else f"Which {plural(noun) if ends.many else noun}" if noun else "What"
        is_vague = asks == "What" and (of.clauses or (asks_subject and is_where))  # What is in Paris?
        if _jars(clause, of) or (is_vague and not role):
            return None
        if asks_subject and role:
            are = "are" if role == plural(role) else "is"
            return f"{'Who' if is_who else 'What'} {are} {_of(role, of)}?"
        if asks_subject:
            many, whom = ends.many and asks.startswith("Which"), _object(of)  # `who` is singular
            return f"{asks} {clause.says(many=many)} {whom}?" if whom and ends.kind != Kind.DATE else None
        is_cut_off = of.text.split()[-1] in _PREPOSITIONS  # Where does the man whom Bea works for live?
        if role or is_cut_off or (of.clauses and is_who):
            return None
        if ends.kind == Kind.DATE and clause.words.startswith("is "):
            clause = Clause(f"was {clause.words[3:]}")
        asked = clause.asked(of.text, many=of.many)
        if ends.kind in (Kind.DATE, Kind.PLACE) and is_where:
            return f"{'When' if ends.kind == Kind.DATE else 'Where'} {asked[:-3]}?"
        is_odd = is_where and (of.clauses or (asks == "What" and ends.kind != Kind.WORK))
        return None if is_odd else f"{asks} {asked}?"

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """A noun phrase of at most one clause."""
        (clause, asks_subject), many = self._seen(step), ends.many
        role, noun = clause.role(many=many), "person" if ends.kind == Kind.PERSON else ends.noun
        if _jars(clause, of):
            return None
        if role and asks_subject:
            return NounPhrase(_of(role, of), role == plural(role), of.clauses, is_role=True)
        is_one_of_many = clause.words.endswith(_OF_MANY) and kind_of_type(clause.nouns[1]) != Kind.WORK
        is_odd = asks_subject and (is_one_of_many or not _object(of))
        if role or not noun or of.clauses or is_odd:
            return None
        name, said = plural(noun) if many else noun, f"{of.text} {clause.says(many=of.many)}"
        if asks_subject:
            text = f"{'who' if noun == 'person' else 'that'} {clause.says(many=many)} {_object(of)}"
        elif ends.kind == Kind.PLACE and said.endswith(_WHERE):
            text = f"where {said[:-3]}"
        else:
            text = f"{'whom' if noun == 'person' else 'that'} {said}"
        return NounPhrase(f"the {name} {text}", many, of.clauses + 1)


def _object(of: NounPhrase) -> str:
    return _PRONOUNS.get(of.text, (of.text,))[0]


def _of(role: str, of: NounPhrase) -> str:
    """The role of Bea, their role."""
    return f"{_PRONOUNS[of.text][1]} {role}" if of.text in _PRONOUNS else f"the {role} of {of.text}"


def _jars(clause: Clause, of: NounPhrase) -> bool:
    """Whether a verb comes twice, a thing in which something is is called `it`, or a noun of relation stands
    before another one or before several: the parent of the friend of Bea."""
    words = set(clause.words.split()) - _BE - _PREPOSITIONS - _DETERMINERS
    is_in_it = of.text == "it" and clause.words.endswith(_WHERE)
    are_several = of.many and of.text != "they"
    is_of_some = (clause.role(many=False) and (are_several or of.is_role)) or (are_several and words & _KIN)
    return bool(is_in_it or words & set(of.text.split()) or is_of_some)


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
    if last not in _PREPOSITIONS or (first in _BE and parts[1] in _DETERMINERS):
        return None
    if first in _BE or is_present(first):
        return Clause(words)
    if len(parts) > 2 or is_past(first):
        is_passive = last == "by" and len(parts) == 2 and first.endswith("ed")
        return Clause(first, swapped=True) if is_passive else None
    return Clause(f"is {article} {words}") if last == "of" else None
