"""Questions in English.

A relation is a clause that one of its ends says of the other: `wrote`, `is located in`, `is a parent of`.
From it come the question of either end (Who wrote Tide? What did Bea write?) and the noun phrase that a
longer question holds (the person who wrote Tide, the parents of Bea).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import ClassVar

from tiny_graph_rag.gold.formulas import Path, RelationStep, Rows
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import Wording, is_date, phrase_lines
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, kind_of_type, singular
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
_NOUN_ENDINGS = ("er", "or", "ment", "tion", "ist", "ty", "age", "year", "date")
_DETERMINERS = table("the a an his her its their our my your this that some")
_OF_PEOPLES = ("ish", "ian", "ean", "ese")  # Turkish slippers keep their capital
_ROLE = re.compile(r"is (?:a|an|the) (.+) of")


@dataclass(frozen=True, slots=True)
class Clause:
    """words: what the subject says of the object: `lives in`. swapped: the relation's target is the subject.
    nouns: for the subject and the object where entities have no types, "" for any thing."""

    words: str
    swapped: bool = False
    nouns: tuple[str, str] = ("", "")
    is_listed: bool = False

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


@dataclass(frozen=True, slots=True)
class Noun:
    """What an entity is called that is not named."""

    one: str
    many: str
    kind: Kind

    @property
    def that(self) -> str:
        return "who" if self.kind == Kind.PERSON else "that"

    def asks(self, *, many: bool) -> str:
        if self.kind == Kind.PERSON:
            return "Who"
        return f"Which {self.many if many else self.one}" if self.one != "thing" else "What"


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """clauses: how many it holds. A clause that ends in its verb (that Bea wrote) holds no other."""

    text: str
    many: bool = False
    clauses: int = 0


@dataclass(eq=False)
class English(Wording):
    language: ClassVar[str] = "en"

    def says(self, step: RelationStep) -> bool:
        clause = None if self.index.undirected[step.type] else self._clause(step)
        return clause is not None and (clause.is_listed or self.is_typed)

    def kind_in_words(self, step: RelationStep) -> Kind:
        clause = self._clause(step)
        noun = clause.nouns[not self._asks_subject(step, clause)] if clause else ""
        return Kind.PERSON if noun == "person" else kind_of_type(noun) if noun else Kind.UNKNOWN

    def introduced(self, name: str) -> str:
        return f"Tell me about {name}."

    def pronoun(self, kind: Kind) -> str:
        return {Kind.PERSON: "that person", Kind.PLACE: "that place"}.get(kind, "it")

    def question(self, drawn: DrawnQuestion, called: Mapping[int, str]) -> str | None:
        paths, answers = drawn.formula.paths, drawn.found.answers
        clauses = [self._clause(step) for step in paths[0].steps]
        starts = [self._start(path, called) for path in paths]
        says_twice = len({clause and clause.words for clause in clauses}) < len(clauses)
        if says_twice or not self._fit(paths[0]) or len(self.are_dates(answers)) > 1 or None in starts:
            return None
        phrase: NounPhrase | None = NounPhrase(starts[0] or "")
        if len(paths) == 2:
            phrase = NounPhrase(f"both {starts[0]} and {starts[1]}", many=True)
        images = self.index.images(paths[0])[1:-1]
        for step, image in zip(paths[0].steps, images, strict=False):
            phrase = phrase and self._phrase(step, phrase, image)
        return self._asked(paths[0].steps[-1], phrase, answers) if phrase else None

    def _fit(self, path: Path) -> bool:
        """Whether each step leads to the kind of thing that the next one speaks of, by their words."""
        return all(
            len({self.kind_in_words(one), self.kind_in_words(RelationStep(two.code ^ 1)), Kind.UNKNOWN}) < 3
            for one, two in pairwise(path.steps if not self.is_typed else ())
        )

    def _asked(self, step: RelationStep, of: NounPhrase, answers: Rows) -> str | None:
        """The question of one step from `of`."""
        clause, noun, many = self._clause(step), self._noun(step, answers), len(answers) > 1
        if clause is None or noun is None or (clause.role and of.text.startswith("both ")):
            return None
        asks = noun.asks(many=many)
        if self._asks_subject(step, clause):
            if not clause.role:  # `who` and `what` are singular, whatever they ask for
                return f"{asks} {clause.says(many=many and asks.startswith('Which'))} {of.text}?"
            role = plural(clause.role) if many else clause.role
            who = "Who" if noun.kind == Kind.PERSON else "What"
            whose = f"its {role}" if of.text == "it" else f"the {role} of {of.text}"
            return f"{who} {'are' if many else 'is'} {whose}?"
        if of.clauses > 1 or (clause.role and (of.clauses or of.many or noun.kind != Kind.PERSON)):
            return None
        if clause.role:
            return f"Whose {clause.role} is {of.text}?"
        is_date = self.are_dates(answers) == {True}
        if is_date and clause.words.startswith("is "):
            clause = Clause(f"was {clause.words[3:]}")
        asked = clause.asked(of.text, many=of.many)
        if (is_date or noun.kind == Kind.PLACE) and asked.endswith((" in", " at", " on")):
            return f"{'When' if is_date else 'Where'} {asked[:-3]}?"
        return f"{asks} {asked}?"

    def _phrase(self, step: RelationStep, of: NounPhrase, image: Rows) -> NounPhrase | None:
        """What one step from `of` leads to, as a noun phrase of at most two clauses."""
        clause, noun, many = self._clause(step), self._noun(step, image), len(image) > 1
        if clause is None or noun is None or True in self.are_dates(image):
            return None
        if self._asks_subject(step, clause) and clause.role:
            role = plural(clause.role) if many else clause.role
            return NounPhrase(f"the {role} of {of.text}", many, of.clauses)
        if clause.role or noun.one == "thing":
            return None
        name = noun.many if many else noun.one
        if self._asks_subject(step, clause):
            text = f"the {name} {noun.that} {clause.says(many=many)} {of.text}"
            return NounPhrase(text, many, of.clauses + 1) if of.clauses < 2 else None
        text = (
            f"the {name} {'that' if noun.that == 'who' else noun.that} {of.text} {clause.says(many=of.many)}"
        )
        return None if of.clauses else NounPhrase(text, many, 2)

    def _clause(self, step: RelationStep) -> Clause | None:
        words = [" ".join(words_of_name(word)) for word in self.words_for(step)]
        clauses = [read_clause(word) for word in words if word.isascii()]
        clause = next((clause for clause in clauses if clause), None)
        own = read_clause(words[-1])
        if clause and own and clause is not own and not clause.is_listed and own.swapped:
            return Clause(clause.words, swapped=True, nouns=own.nouns, is_listed=own.is_listed)
        return clause

    @staticmethod
    def _asks_subject(step: RelationStep, clause: Clause) -> bool:
        return step.backward != clause.swapped

    def _noun(self, step: RelationStep, ends: Rows) -> Noun | None:
        """What the step leads to is called; None where nobody knows whether to ask who or what."""
        kind, clause = self.kind(step, ends), self._clause(step)
        if kind is None or clause is None:
            return None
        listed = clause.nouns[not self._asks_subject(step, clause)]
        word = self.type_word(step, ends) if self.is_typed else listed
        one = "person" if kind == Kind.PERSON else singular(word) if word.isascii() and word else "thing"
        if one in ("date", "place") and kind != Kind.PLACE:
            one = "thing"
        return Noun(one, {"person": "people"}.get(one) or plural(one), kind)

    def _start(self, path: Path, called: Mapping[int, str]) -> str | None:
        """The seed's name with the article that it needs; None for a text that is no name."""
        name, kind = self.name(path.seed, called), Kind(int(self.kind_of[path.seed]))
        words = str(self.index.graph.entities.names[path.seed]).split()
        is_code = len(words) == 1 and not name.isalpha()
        if not (self.is_typed or is_code or is_date(name) or any(word[0].isupper() for word in words)):
            return None
        return f"the {name}" if path.seed not in called and _is_common(words, kind) else name

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """A common noun begins with a small letter: the bell-rope, the Turkish slippers."""
        name, kind = super().name(entity, called), Kind(int(self.kind_of[entity]))
        first = name.split()[0]
        is_kept = entity in called or first[1:2].isupper() or first.endswith(_OF_PEOPLES)
        return name if is_kept or not _is_common(name.split(), kind) else name[0].lower() + name[1:]


def _is_common(words: list[str], kind: Kind) -> bool:
    """Whether a name is a common noun, which takes an article: Village blacksmith, Baboon."""
    first, *rest = words
    if first.casefold() in _DETERMINERS or "'" in first or "’" in first:
        return False
    if rest:
        return kind not in (Kind.UNKNOWN, Kind.WORK) and rest[0].isalpha() and rest[0].islower()
    return kind == Kind.THING and first[:1].isalpha() and first[1:].islower()


def plural(words: str) -> str:
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
    if verb.endswith("xed"):  # whose lemma the dictionary lacks
        return verb[:-2]
    return lemma(verb) if not if_present or _is_present(verb) else verb


@cache
def _listed() -> dict[str, Clause]:
    clauses = {}
    for types, phrase in phrase_lines("en"):
        words, _, nouns = phrase.partition(" | ")
        subject, object = ("" if noun == "-" else noun for noun in nouns.split(", "))
        clause = Clause(words.removeprefix("< "), words.startswith("< "), (subject, object), True)
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
