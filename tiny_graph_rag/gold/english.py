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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

from tiny_graph_rag.gold.formulas import Path, RelationStep, Rows, type_name
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import LONGEST_PATH, NO_ENDS, Wording
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, singular
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
class Noun:
    """What an entity is called that is not named. who: what asks for it. that: what joins a clause to it.
    adverb: what asks for it instead, of `lives in` and the like: Where does Bea live?"""

    one: str
    many: str
    who: str
    that: str = "that"
    adverb: str = ""

    @property
    def said_by_adverb(self) -> tuple[str, ...]:
        """The prepositions that the adverb stands for: Where is it, of what is it located in."""
        return (" in", " at", " on") if self.adverb == "When" else (" in", " at")

    @property
    def some(self) -> str:
        """One of several, with what joins its clause: `someone who`."""
        return f"{self.new} {self.that}"

    @property
    def every(self) -> str:
        known = {"person": "everyone", "thing": "everything"}
        return f"{known.get(self.one, f'every {self.one}')} {self.that}"

    @property
    def new(self) -> str:
        """Spoken of for the first time."""
        return {"person": "someone", "thing": "something"}.get(self.one, f"{_article(self.one)} {self.one}")


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
    if len(words) > 2 and words[0] in ("a", "an", "the") and words[-1] in _PREPOSITIONS:
        return Phrase("be", " ".join(words))
    if words in (["is", "a"], ["is", "an"], ["a", "kind", "of"], ["instance", "of"]):
        return Phrase("be", "a kind of")
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
    if first in _MODALS and len(words) > 1:
        return Phrase("verb", text)
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


@dataclass(frozen=True, slots=True)
class Clause:
    """What one step says of what it leads to.

    Where that is the subject (`lives at the Lawn`): says, of several (`live at the Lawn`), denied (`does not
    live at the Lawn`). Where it is the object: asked (`did Helen visit`), says (`Helen visited`), denied.
    """

    is_subject: bool
    says: str
    denied: str
    of_several: str = ""
    asked: str = ""


@dataclass(eq=False)
class English(Wording):
    language: ClassVar[str] = "en"

    def says(self, step: RelationStep) -> bool:
        if self.index.undirected[step.type]:
            return False
        name, schema = type_name(self.index, step), len(self.index.graph.relations.types.names) <= SCHEMA
        own = read_type(name)
        return any(_sure(word, own) for word in self.words_for(step)) or _is_plain(name, schema=schema)

    def kind_in_words(self, step: RelationStep) -> Kind:
        """A person: who made a work (`directed by`, `composed`), was born somewhere, or has a noun of people
        (`actor`)."""
        phrase = self._phrase(step, False)
        words = phrase.words.split()
        if step.backward == phrase.swapped:
            made = phrase.form == "be" and words[-1] == "by" and words[0] in _MADE
            role = phrase.form == "noun" and singular(words[-1]) in _PEOPLE
        else:
            made = phrase.form == "verb" and len(words) == 1 and bool({words[0], lemma(words[0])} & _MAKES)
            role = phrase.form == "be" and words[0] in _LIVED
        return Kind.PERSON if made or role else Kind.UNKNOWN

    def noun(self, step: RelationStep, ends: Rows = NO_ENDS) -> Noun:
        """What the step leads to is called, by its entity type where that has a word for it."""
        kind, word = self.kind(step, ends), self.type_word(step, ends)
        if kind == Kind.PERSON or not word or not word.isascii():
            return _NOUNS.get(kind, _THING)
        one = singular(word)
        return Noun(one, _plural(one), f"Which {one}", adverb="Where" if kind == Kind.PLACE else "")

    def question(self, drawn: DrawnQuestion, called: Mapping[int, str], *, other: bool = False) -> str:
        formula, paths = drawn.formula, drawn.formula.paths
        last = paths[0].steps[-1]
        noun = self.noun(last, drawn.found.answers)
        noun = replace(noun, adverb="When") if self.asks_when(drawn) else noun
        several = len(drawn.found.answers) > 1
        match formula.operation:
            case "path" | "or":
                called = self._coordinated(paths, called, "{} or {}")
                named = other and formula.operation == "path"
                text = self._asked(noun, paths[0], called, several, named)
                if named:
                    return text
            case "and" if paths[0].steps == paths[1].steps:
                called = self._coordinated(paths, called, "both {} and {}")
                text = self._asked(noun, paths[0], called, several, False)
            case "and" | "not":
                one, two = (self._clause(path, called, other) for path in paths)
                comma = "," if len(paths[0].steps) > 1 else ""  # what follows is not said of the inner one
                text = self._of_two(noun, one, two, comma, denied=formula.operation == "not")
            case "count":
                clause = self._clause(paths[0], called, other)
                phrase = self._phrase(last, other)
                if phrase.form == "noun" and last.backward == phrase.swapped:
                    of = self._inner(paths[0], called, other)
                    text = f"How many {_plural(phrase.words)} does {of} have?"
                else:
                    text = f"How many {noun.many} {clause.of_several if clause.is_subject else clause.asked}?"
            case _:
                clause = self._clause(paths[0], called, other)
                of_them = clause.of_several if clause.is_subject else clause.says
                most = f"has the highest {_spaced(formula.attribute)}"
                if formula.by is not None:
                    most = self._most(formula.by, noun, other)
                which = "who" if noun.one == "person" else "which one"
                text = f"Of the {noun.many} {noun.that} {of_them}, {which} {most}?"
        text = " ".join(text.split())
        return f"Can you tell me: {text[:1].lower()}{text[1:]}" if other else text

    def introduced(self, name: str) -> str:
        return f"Tell me about {name}."

    def pronoun(self, kind: Kind) -> str:
        return f"that {_NOUNS[kind].one}" if kind in _NOUNS else "it"

    def _coordinated(
        self, paths: Sequence[Path], called: Mapping[int, str], joined: str
    ) -> Mapping[int, str]:
        """The seeds of two paths with the same steps as one name: `Anna or Ben`."""
        if len(paths) < 2:
            return called
        both = joined.format(*(self.name(path.seed, called) for path in paths))
        return {**called, paths[0].seed: both}

    @staticmethod
    def _of_two(noun: Noun, one: Clause, two: Clause, comma: str, *, denied: bool) -> str:
        if not denied and one.is_subject and not two.is_subject:
            one, two = two, one
        if not one.is_subject:
            return f"{noun.who} {one.asked} {noun.that} {two.denied if denied else two.says}?"
        if two.is_subject:
            joined = f"but {two.denied}" if denied else f"and {two.says}"
            return f"{noun.who} {one.says}{comma} {joined}?"
        return f"{noun.who} {one.says}, other than the {noun.many} {noun.that} {two.says}?"

    def _most(self, by: RelationStep, noun: Noun, other: bool) -> str:
        """`owns the most works`, `has the most things located in it`: counted is what `by` leads to."""
        phrase, counted = self._phrase(by, other), self.noun(by)
        words, forward, those, such = phrase.words, by.backward == phrase.swapped, counted.many, counted.that
        it = "them" if noun.one == "person" else "it"
        match phrase.form:
            case "noun" if forward:
                return f"has the most {_plural(words)}"
            case "noun":
                return f"is {'among ' if _is_plural(words) else ''}the {words} of the most {those}"
            case "be":
                return f"is {words} the most {those}" if forward else f"has the most {those} {words} {it}"
        if forward:
            return f"{words} the most {those}"
        return f"has the most {those} {such} {_of_several(words)} {it}"

    def _phrase(self, step: RelationStep, other: bool) -> Phrase:
        own = read_type(type_name(self.index, step))
        sure = [phrase for word in self.words_for(step) if (phrase := _sure(word, own))] or [own]
        return sure[-1] if other else sure[0]

    def _inner(self, path: Path, called: Mapping[int, str], other: bool) -> str:
        """What the last step starts from, as a noun phrase; `the` where it is one."""
        phrase, images = self.name(path.seed, called), self.index.images(path)
        for step, image in zip(path.steps[:-1], images[1:], strict=False):
            phrase = self._noun(step, phrase, image, other)
        return phrase

    def _noun(self, step: RelationStep, of: str, image: Rows, other: bool) -> str:
        phrase, noun, is_one = self._phrase(step, other), self.noun(step, image), len(image) == 1
        if phrase.form == "noun" and step.backward == phrase.swapped and not _is_plural(phrase.words):
            return f"{'the' if is_one else _article(phrase.words)} {phrase.words} of {of}"
        clause = self._stepped(step, of, other)
        if is_one:
            return f"the {noun.one} {noun.that} {clause.says}"
        return f"{noun.some} {clause.says}"

    def _clause(self, path: Path, called: Mapping[int, str], other: bool) -> Clause:
        return self._stepped(path.steps[-1], self._inner(path, called, other), other)

    def _stepped(self, step: RelationStep, of: str, other: bool) -> Clause:
        """What one step from `of` says."""
        phrase = self._phrase(step, other)
        words, backward = phrase.words, step.backward != phrase.swapped
        if phrase.form == "be":
            if backward:
                return Clause(True, f"is {words} {of}", f"is not {words} {of}", f"are {_roles(words)} {of}")
            return Clause(False, f"{of} is {words}", f"{of} is not {words}", asked=f"is {of} {words}")
        if phrase.form == "verb":
            helper, base = _with_helper(words)
            if not backward:
                return Clause(
                    False, f"{of} {words}", f"{of} {helper} not {base}", asked=f"{helper} {of} {base}"
                )
            of_several = f"{_of_several(words)} {of}"
            return Clause(True, f"{words} {of}", f"{helper} not {base} {of}", of_several)
        is_plural = _is_plural(words)
        if backward:
            among = "among" if is_plural else "as"
            end = f"{of} {among} its {words}"
            return Clause(True, f"has {end}", f"does not have {end}", f"have {of} {among} their {words}")
        role = f"among the {words} of {of}" if is_plural else f"{_article(words)} {words} of {of}"
        roles = role if is_plural else f"{_plural(words)} of {of}"
        return Clause(True, f"is {role}", f"is not {role}", f"are {roles}")

    def _asked(self, noun: Noun, path: Path, called: Mapping[int, str], several: bool, other: bool) -> str:
        """The question of one path; what would stand in the middle of a clause comes before it instead."""
        told = ""
        if len(path.steps) > 1 and not self._nests(path):
            told, of = self._told(path, called, other)
        else:
            of = self._inner(path, called, other)
        step = path.steps[-1]
        phrase = self._phrase(step, other)
        if phrase.form == "noun" and step.backward == phrase.swapped:
            plural = several or _is_plural(phrase.words)
            role = f"the {_plural(phrase.words) if plural else phrase.words} of {of}"
            if other:
                return f"{told}Name {role}."
            return f"{told}{'Who' if noun.who == 'Who' else 'What'} {'are' if plural else 'is'} {role}?"
        clause = self._stepped(step, of, other)
        if other:
            return f"{told}Name {noun.every} {clause.says}."
        if clause.is_subject:
            return f"{told}{noun.who} {clause.says}?"
        if noun.adverb and clause.asked.endswith(noun.said_by_adverb):
            return f"{told}{noun.adverb} {clause.asked[:-3]}?"
        return f"{told}{noun.who} {clause.asked}?"

    def _nests(self, path: Path) -> bool:
        """Whether the steps make one sentence that can be followed: what a step leads from stands at its end,
        or, of two, is the subject of a plain verb (`What did the person who sent Baboon carry?`)."""
        first, *middle, last = path.steps
        if len(path.steps) > LONGEST_PATH or any(map(self._is_object, middle)):
            return False
        if any(map(self._ends_otherwise, path.steps[1:])):
            return False
        if not self._is_object(last):
            return True
        phrase = self._phrase(last, False)
        is_plain = phrase.form == "verb" and phrase.words.split()[-1] not in _PREPOSITIONS
        return is_plain and not middle and not self._is_object(first)

    def _is_object(self, step: RelationStep) -> bool:
        phrase = self._phrase(step, False)
        return phrase.form != "noun" and step.backward == phrase.swapped

    def _ends_otherwise(self, step: RelationStep) -> bool:
        """Whether what it leads from stands in the middle: has Ann as its director."""
        phrase = self._phrase(step, False)
        return phrase.form == "noun" and step.backward != phrase.swapped

    def reads(self, drawn: DrawnQuestion) -> bool:
        """Whether it is one sentence, or two of a path of two steps; two conditions join where the second can
        follow the first: `that is native to India`, not `that Anna is not involved in`, which nobody adds."""
        if not super().reads(drawn):
            return False
        first, *others = drawn.formula.paths
        if not self.is_long and len(first.steps) > 2 and not self._nests(first):
            return False
        if drawn.formula.operation not in ("and", "not"):
            return True
        one, two = first.steps[-1], others[0].steps[-1]
        if len(first.steps) > 1 and (self._is_object(one) or self._ends_otherwise(one)):
            return False
        return not self._is_object(two) or one == two

    def _told(self, path: Path, called: Mapping[int, str], other: bool) -> tuple[str, str]:
        """All steps but the last as sentences, and what the last starts from: `A is published in a certain
        work. `, `that work`."""
        sentences, of = [], self.name(path.seed, called)
        # Where the seed is `that person` already, whoever comes next is `a second person`.
        nouns = Counter([of.removeprefix("that ")] if path.seed in called else [])
        for step, image in zip(path.steps[:-1], self.index.images(path)[1:], strict=False):
            noun = self.noun(step, image)
            nouns[noun.one] += 1
            new = noun.new if nouns[noun.one] == 1 else f"{_NEW[nouns[noun.one]]} {noun.one}"
            sentence = self._sentence(step, of, new, other)
            is_ours = not sentence.startswith(self.name(path.seed, called)) or path.seed in called
            sentences.append(f"{sentence[:1].upper() if is_ours else sentence[:1]}{sentence[1:]}. ")
            of = f"{_SAME[nouns[noun.one]]} {noun.one}"
        return "".join(sentences), of

    def _sentence(self, step: RelationStep, of: str, new: str, other: bool) -> str:
        phrase = self._phrase(step, other)
        words, backward = phrase.words, step.backward != phrase.swapped
        if phrase.form == "noun":
            whose, what = (new, of) if backward else (of, new)
            return f"{whose} has {what} {'among its' if _is_plural(words) else 'as its'} {words}"
        verb = f"is {words}" if phrase.form == "be" else words
        return f"{new} {verb} {of}" if backward else f"{of} {verb} {new}"


SCHEMA = 150  # relation types up to which they are a schema's, each a phrase that somebody chose
_THING = Noun("thing", "things", "What")
_NOUNS = {
    Kind.PERSON: Noun("person", "people", "Who", "who"),
    Kind.PLACE: Noun("place", "places", "Which place", adverb="Where"),
    Kind.WORK: Noun("work", "works", "Which work"),
    Kind.GROUP: Noun("group", "groups", "Which group"),
}
_NEW = ("", "", "a second", "a third")
_SAME = ("", "that", "the second", "the third")
_MADE = table("""
    written directed painted composed sung performed created authored narrated illustrated invented discovered
    translated edited drawn designed born raised
    """)
# What people alone make, and what happens to them alone.
_MAKES = table("write direct paint compose sing author narrate illustrate invent translate")
_LIVED = table("born married engaged buried educated widowed divorced baptised baptized")
_PEOPLE = table("""
    actor actress author writer director producer composer singer screenwriter editor illustrator translator
    narrator inventor founder president king queen father mother parent child son daughter brother sister
    sibling wife husband spouse friend teacher student aunt uncle cousin owner leader player coach
    """)
_MODALS = table("will would can could may might must shall should")
_STRAY = table("a an the and or not no this that these those it its his her their of s")


def _is_plain(name: str, *, schema: bool) -> bool:
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
    if phrase.form == "noun" or inner[-1] not in _PREPOSITIONS:
        return False
    return inner[-1] == "of" or inner[-2:-1] == [] or inner[-2] in _PARTICIPLES or inner[-2].endswith("ed")


def _is_plural(words: str) -> bool:
    return words.endswith("s") and not words.endswith(("ss", "us", "is"))


def _plural(words: str) -> str:
    if _is_plural(words):
        return words
    if words.endswith("y") and words[-2:-1] not in _VOWELS:
        return f"{words[:-1]}ies"
    return f"{words}es" if words.endswith(("s", "x", "ch", "sh")) else f"{words}s"


def _roles(words: str) -> str:
    """What several are: located in, sisters of."""
    if not words.startswith(("a ", "an ")):
        return words
    role = words.partition(" ")[2].removesuffix(" of")
    return f"{'children' if role == 'child' else _plural(role)} of"


def _of_several(words: str) -> str:
    """A verb as several have it: lives at → live at."""
    first, *rest = words.split()
    base = "have" if first == "has" else lemma(first) if _is_present(first) else first
    return " ".join([base, *rest])


def _with_helper(words: str) -> tuple[str, str]:
    """What a verb is asked with, and the verb then: (does, live at), (did, visit), (will, be held in)."""
    first, *rest = words.split()
    if first in _MODALS and rest:
        return first, " ".join(rest)
    if first == "has":
        return "does", " ".join(["have", *rest])
    helper = "does" if _is_present(first) else "did" if lemma(first) != first or _is_past(first) else "can"
    return helper, " ".join([lemma(first), *rest])


def _sure(word: str, own: Phrase) -> Phrase | None:
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


def _article(words: str) -> str:
    return "an" if words[:1].lower() in _VOWELS else "a"


def _spaced(name: str) -> str:
    return re.sub(r"[_\s]+", " ", name).strip()
