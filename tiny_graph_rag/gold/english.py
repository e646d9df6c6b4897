"""Questions in English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tiny_graph_rag.gold.english_phrases import (
    PREPOSITIONS,
    Phrase,
    article,
    is_plain,
    is_plural,
    of_several,
    phrase_of_word,
    plural,
    read_type,
    roles,
    with_helper,
)
from tiny_graph_rag.gold.formulas import Path, RelationStep, Rows, type_name
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import LONGEST_PATH, NO_ENDS, Wording
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, singular
from tiny_graph_rag.language.words import lemma


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
        return {"person": "someone", "thing": "something"}.get(self.one, f"{article(self.one)} {self.one}")


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
        return any(phrase_of_word(word, own) for word in self.words_for(step)) or is_plain(
            name, schema=schema
        )

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
        return Noun(one, plural(one), f"Which {one}", adverb="Where" if kind == Kind.PLACE else "")

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
                    text = f"How many {plural(phrase.words)} does {of} have?"
                else:
                    text = f"How many {noun.many} {clause.of_several if clause.is_subject else clause.asked}?"
            case _:
                clause = self._clause(paths[0], called, other)
                of_them = clause.of_several if clause.is_subject else clause.says
                most = f"has the highest {' '.join(formula.attribute.replace('_', ' ').split())}"
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
                return f"has the most {plural(words)}"
            case "noun":
                return f"is {'among ' if is_plural(words) else ''}the {words} of the most {those}"
            case "be":
                return f"is {words} the most {those}" if forward else f"has the most {those} {words} {it}"
        if forward:
            return f"{words} the most {those}"
        return f"has the most {those} {such} {of_several(words)} {it}"

    def _phrase(self, step: RelationStep, other: bool) -> Phrase:
        own = read_type(type_name(self.index, step))
        sure = [phrase for word in self.words_for(step) if (phrase := phrase_of_word(word, own))] or [own]
        return sure[-1] if other else sure[0]

    def _inner(self, path: Path, called: Mapping[int, str], other: bool) -> str:
        """What the last step starts from, as a noun phrase; `the` where it is one."""
        phrase, images = self.name(path.seed, called), self.index.images(path)
        for step, image in zip(path.steps[:-1], images[1:], strict=False):
            phrase = self._noun(step, phrase, image, other)
        return phrase

    def _noun(self, step: RelationStep, of: str, image: Rows, other: bool) -> str:
        phrase, noun, is_one = self._phrase(step, other), self.noun(step, image), len(image) == 1
        if phrase.form == "noun" and step.backward == phrase.swapped and not is_plural(phrase.words):
            return f"{'the' if is_one else article(phrase.words)} {phrase.words} of {of}"
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
                return Clause(True, f"is {words} {of}", f"is not {words} {of}", f"are {roles(words)} {of}")
            return Clause(False, f"{of} is {words}", f"{of} is not {words}", asked=f"is {of} {words}")
        if phrase.form == "verb":
            helper, base = with_helper(words)
            if not backward:
                return Clause(
                    False, f"{of} {words}", f"{of} {helper} not {base}", asked=f"{helper} {of} {base}"
                )
            says_of_several = f"{of_several(words)} {of}"
            return Clause(True, f"{words} {of}", f"{helper} not {base} {of}", says_of_several)
        are_several = is_plural(words)
        if backward:
            among = "among" if are_several else "as"
            end = f"{of} {among} its {words}"
            return Clause(True, f"has {end}", f"does not have {end}", f"have {of} {among} their {words}")
        role = f"among the {words} of {of}" if are_several else f"{article(words)} {words} of {of}"
        of_them = role if are_several else f"{plural(words)} of {of}"
        return Clause(True, f"is {role}", f"is not {role}", f"are {of_them}")

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
            are_several = several or is_plural(phrase.words)
            role = f"the {plural(phrase.words) if are_several else phrase.words} of {of}"
            if other:
                return f"{told}Name {role}."
            return f"{told}{'Who' if noun.who == 'Who' else 'What'} {'are' if are_several else 'is'} {role}?"
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
        is_plain = phrase.form == "verb" and phrase.words.split()[-1] not in PREPOSITIONS
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
            return f"{whose} has {what} {'among its' if is_plural(words) else 'as its'} {words}"
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
