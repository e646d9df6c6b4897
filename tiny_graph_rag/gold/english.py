"""Questions in English.

A relation is a clause that one of its ends says of the other: `wrote`, `is located in`, `is a parent of`.
From it come the question of either end (Who wrote Tide? What did Bea write?) and the noun phrase that a
longer question holds (the person who wrote Tide, the parents of Bea, the city where Bea lives).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import ClassVar

from tiny_graph_rag.gold.inflection import infinitive, is_present, plural, takes_article
from tiny_graph_rag.gold.patterns import RelationStep
from tiny_graph_rag.gold.wording import Ends, NounPhrase, Wording, phrase_lines
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, table
from tiny_graph_rag.language.kinds import NAMED_KINDS, Kind, kind_of_type
from tiny_graph_rag.language.words import is_dictionary_word, lemma, words_of_name

_PREPOSITIONS = table(
    "by in at of to with on for from into about near under over after before through against"
)
_BE = {"is": "are", "was": "were"}
_WHERE = (" in", " at", " on")
# What is true of many in the world, of whom a graph of facts has one: the person who lives in Rome.
_OF_MANY = (*_WHERE, " for", " near", " member of")
_POSSESSIVES = {"they": "their", "it": "its"}
# Of several words, such a name wants an article that nobody can tell: the Green Dome, Central Park.
_BUILT_OR_MADE = table("event building facility landmark object item artifact artefact weapon document")
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
        if not many or not (is_present(first) or first in _BE):
            return self.words
        return f"{_BE.get(first) or infinitive(first)} {rest}".strip()

    def asked(self, subject: str, *, many: bool) -> str:
        """The clause as a question of its object: does Bea live in, were Bea and Cy born in."""
        first, _, rest = self.words.partition(" ")
        if first in _BE:
            return f"{self.says(many=many).split()[0]} {subject} {rest}"
        helper = "did" if not is_present(first) else "do" if many else "does"
        return f"{helper} {subject} {infinitive(first)} {rest}".strip()


@dataclass(eq=False)
class English(Wording):
    language: ClassVar[str] = "en"
    introduction: ClassVar[str] = "Tell me about {}."
    pronouns: ClassVar[Mapping[Kind, str]] = {
        Kind.PERSON: "they", Kind.THING: "it", Kind.GROUP: "it", Kind.WORK: "it", Kind.OTHER: "it"
    }  # fmt: skip
    follows_no_other: ClassVar[frozenset[str]] = table("""
        parent child father mother son daughter sibling brother sister husband wife married
        grandfather grandmother grandchild stepfather stepmother stepchild aunt uncle cousin
        killed victim knows knew
        """)

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
        """Of each relation type: by the table, its name in a graph with entity types, or the vocabulary."""
        clauses, read = [], read_clause if self.is_typed else listed_clause
        for name in self.index.graph.relations.types.names:
            words = [" ".join(words_of_name(word)) for word in (name, *self.vocabulary.get(name, ()))]
            clauses.append(next(filter(None, [read(words[0]), *map(read_clause, words[1:])]), Clause("")))
        return clauses

    def is_name(self, entity: int) -> bool:
        """Only what is written as a name is one, no bell-rope, no rainbow Apple, no Baboon; and of those that
        want an article only what is known to take it: not the Raiders."""
        name, kind = str(self.index.graph.entities.names[entity]), self.kind_of[entity]
        if kind == Kind.UNKNOWN and re.fullmatch(r"\S*[._(]\S*", name):
            return True  # of source code
        words = [word for word in re.split("[ -]+", name) if word.casefold() not in FUNCTION_WORDS]
        is_any = (kind == Kind.THING and len(words) == 1) or (kind == Kind.UNKNOWN and not self.is_typed)
        is_common = is_any and all(word.isdigit() or is_dictionary_word(word.casefold()) for word in words)
        is_made = " " in name and not self.words[entity].isdisjoint(_BUILT_OR_MADE)
        is_plural = kind not in NAMED_KINDS - {Kind.GROUP} and is_present(name.casefold().split()[-1])
        is_bare = (is_made or is_plural) and not takes_article(name)
        is_lower = name[0].islower() or any(word[:1].islower() for word in words)
        return bool(words) and not (is_lower or is_common or is_bare)

    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase | None:
        names = []
        for seed in seeds:
            name = self.name(seed, called)
            is_title = self.kind_of[seed] == Kind.WORK or name.split()[0].casefold() in FUNCTION_WORDS
            names.append(f"the {name}" if takes_article(name) and not is_title else name)
        if len(names) == 1:
            return NounPhrase(names[0], names[0] == "they")
        # Which of them are both Black God, White Devil and Brainstorm?
        is_clear = not re.search(r",|\band\b|&", " ".join(names))
        return NounPhrase(f"both {' and '.join(names)}", True) if is_clear else None

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        clause, asks_subject = self._seen(step)
        role, is_where = clause.role(many=ends.many), clause.words.endswith(_WHERE)
        is_who = ends.kind == Kind.PERSON or self.nouns(step)[1] == "who"
        noun = ends.noun or {Kind.PLACE: "place", Kind.GROUP: "organization"}.get(ends.kind, "")
        asks = "Who" if is_who else f"Which {plural(noun) if ends.many else noun}" if noun else "What"
        is_vague = asks == "What" and (of.clauses or (asks_subject and is_where))  # What is in Paris?
        if _jars(clause, of, asks_subject) or (is_vague and not role):
            return None
        if asks_subject and role:
            are = "are" if role == plural(role) else "is"
            return f"{'Who' if is_who else 'What'} {are} {_of(role, of)}?"
        if asks_subject:
            said = clause.says(many=ends.many and asks.startswith("Which"))  # `who` is singular
            return None if of.text == "they" or ends.kind == Kind.DATE else f"{asks} {said} {of.text}?"
        is_cut_off = of.text.split()[-1] in _PREPOSITIONS  # Where does the man whom Bea works for live?
        is_split = of.is_role and not is_where and clause.words.split()[0] in _BE  # Who are Bea's sons near?
        if role or is_cut_off or is_split or (of.clauses and is_who):
            return None
        asked = clause.asked(of.text, many=of.many)
        if ends.kind in (Kind.DATE, Kind.PLACE) and is_where:
            return f"{'When' if ends.kind == Kind.DATE else 'Where'} {asked[:-3]}?"
        return None if ends.kind == Kind.DATE else f"{asks} {asked}?"

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """A noun phrase of at most one clause."""
        (clause, asks_subject), many = self._seen(step), ends.many
        role, noun = clause.role(many=many), ends.noun or ("person" if ends.kind == Kind.PERSON else "")
        if _jars(clause, of, asks_subject):
            return None
        if role and asks_subject:
            return NounPhrase(_of(role, of), role == plural(role), of.clauses, is_role=True)
        is_one_of_many = clause.words.endswith(_OF_MANY) and kind_of_type(clause.nouns[1]) != Kind.WORK
        is_odd = asks_subject and (is_one_of_many or of.text == "they")
        if role or not noun or of.clauses or is_odd:
            return None
        name, said = plural(noun) if many else noun, f"{of.text} {clause.says(many=of.many)}"
        if asks_subject:
            text = f"{'who' if ends.kind == Kind.PERSON else 'that'} {clause.says(many=many)} {of.text}"
        elif ends.kind == Kind.PLACE and said.endswith(_WHERE):
            text = f"where {said[:-3]}"
        else:
            text = f"{'whom' if ends.kind == Kind.PERSON else 'that'} {said}"
        return NounPhrase(f"the {name} {text}", many, of.clauses + 1)


def _of(role: str, of: NounPhrase) -> str:
    """The role of Bea, their role."""
    return f"{_POSSESSIVES[of.text]} {role}" if of.text in _POSSESSIVES else f"the {role} of {of.text}"


def _jars(clause: Clause, of: NounPhrase, asks_subject: bool) -> bool:
    """Whether a thing in which something is is called `it`, or a noun of relation stands before another one
    or before several: the parent of the friend of Bea, who knows the friends of Bea."""
    is_role, are_several = bool(clause.role(many=False)), of.text.startswith("both ")
    is_in_it = of.text == "it" and clause.words.endswith(_WHERE)
    return is_in_it or (is_role and (of.is_role or are_several)) or (of.is_role and of.many and asks_subject)


@cache
def _listed() -> dict[str, Clause]:
    """The table: words of a type, verbs as infinitives → its clause; `*` is what the type itself says."""
    clauses = {}
    for types, phrase in phrase_lines("en"):
        said, _, nouns = phrase.partition(" | ")
        words, _, inverse = said.removeprefix("< ").partition(" ~ ")
        subject, object = ("" if noun == "-" else noun for noun in nouns.split(", "))
        clause = Clause(words, (subject, object), said.startswith("< "), inverse)
        clauses.update(dict.fromkeys(types, clause))
    return clauses


@cache
def listed_clause(words: str) -> Clause | None:
    """The table's clause for a relation type's words: murdered, was murdered by, nephew of."""
    bare = re.sub("^(?:is|are|was|were|has|had) (?:an? |the )?", "", words)
    first, _, rest = bare.partition(" ")
    listed, verb = _listed(), "" if first.endswith("ing") else infinitive(first)
    names = [words, bare]
    if rest or first.endswith("s") or "*" in listed.get(verb, Clause("")).words:  # awarded is of no award
        names.append(f"{verb} {rest}".strip())
    name = next(filter(listed.get, names), "")
    if not name:
        active = listed.get(verb) if rest == "by" and first.endswith("ed") else None
        return replace(active, words=first, swapped=True) if active and active.words == "*" else None
    clause = listed[name]
    own = f"{plural(first)} {rest}".strip() if bare == name and clause.words == "*" else bare
    own = name.removesuffix(" of") if " * of" in clause.words else own
    return replace(clause, words=clause.words.replace("*", own), inverse=clause.inverse.replace("*", own))


@cache
def read_clause(words: str) -> Clause | None:
    """The clause of a relation type's words, from the table or of a noun: has symptom. None for all others:
    a verb may want more than one object (she gave him it), a noun be one of either end."""
    has, _, noun = words.partition(" ")
    is_noun = has == "has" and is_dictionary_word(noun) and lemma(noun) == noun
    article = "an" if noun[:1] in tuple("aeiou") else "a"
    return listed_clause(words) or (Clause(f"is {article} {noun} of", swapped=True) if is_noun else None)
