"""Aliases that questions use and the graph lacks: parts, codes, abbreviations, misspellings, other scripts.

Looked for where a question names no entity, in words that one entity's name explains and no other's. What the
question asks for plays no part in it: an alias is proposed because words look or sound like a name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

import msgspec
import numpy as np

from tiny_graph_rag.fixing.applying import apply
from tiny_graph_rag.fixing.patch import DRAFT, Alias, empty_patch
from tiny_graph_rag.fixing.shortenings import LEAST_SYLLABLES, SHORTEST, SHORTEST_SOUND, Shortenings
from tiny_graph_rag.fixing.spellings import ARTICLES, Difference, core_of, differences, in_words
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.text_index import TextIndex, content_stem
from tiny_graph_rag.language.folding import Text, fold
from tiny_graph_rag.language.function_words import (
    FUNCTION_WORDS,
    HONORIFICS,
    LONGEST_REST,
    NAMELESS,
    ParticleFit,
    final_consonant,
    particles,
)
from tiny_graph_rag.language.kinds import NAMED_KINDS, Kind, kind_of_type, kinds_of_entities
from tiny_graph_rag.language.sounds import consonants_of, script_of, sound_of
from tiny_graph_rag.language.words import NOUN_FOLLOWS, is_question_word
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.grades import stem_of, stems_of_types
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

MOST_WORDS = 4  # of a span
OTHER_TEXTS = 1  # entities, neighbours aside, whose texts may hold a word that is part of a name
SOUNDS_ALIKE = 0.6  # of two sounds with the same consonants; vowels are guesses
SHORT_SOUNDS_ALIKE = 0.7  # of two consonants
SURNAMES = frozenset(  # those that most Koreans have
    "김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구민진지"
    "엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모"
)
LETTERS = frozenset((Difference.LETTER, Difference.DOUBLED, Difference.SWAPPED))
CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]).*|\d{3,}")
JAMO = re.compile("[ㄱ-ㅎ]{2,}")
CAPITALS = re.compile("[A-Z]{2,6}")
SURE = re.compile(rf"{CODE.pattern}|{JAMO.pattern}|{CAPITALS.pattern}")


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a question. text: as they stand there, without particles. words: folded. last: the number of
    the last word, first: of the first. is_name_like: whether it is written as names are; is_capital: whether
    that is a capital inside the sentence."""

    text: str
    words: tuple[str, ...]
    first: int
    last: int
    is_name_like: bool
    is_capital: bool


@dataclass(frozen=True, slots=True)
class Match:
    """entity: the only one that a rule finds. why: in words. is_part: whether it is by a part of its name."""

    entity: int
    why: str
    is_part: bool = False


def propose_aliases(graph: KnowledgeGraph, questions: EvalSet) -> list[Alias]:
    """Aliases for a person to judge, those that most questions use first.

    Only those with which the question links to the entity. Words that point to two entities are left out.
    """
    names = NameIndex.of(graph)
    linked = NameLinker(graph, names).link(questions.examples)
    finder = _Finder(graph, names)
    proposed: dict[str, dict[int, list[tuple[str, str, str]]]] = defaultdict(lambda: defaultdict(list))
    for example, question in zip(questions, linked, strict=True):
        for span, match in finder.find(example, question):
            proposed[fold(span.text)][match.entity].append((span.text, match.why, example.id))
    ids, entries = graph.entities.ids, []
    for meanings in proposed.values():
        if len(meanings) > 1:
            continue
        ((entity, uses),) = meanings.items()
        entries.append(
            Alias(
                entity_id=ids[entity],
                alias=uses[0][0],
                name=graph.entities.names[entity],
                evidence=(uses[0][1],),
                questions=tuple(dict.fromkeys(id for _, _, id in uses)),
            )
        )
    entries = _that_link(graph, questions, entries)
    return sorted(entries, key=lambda entry: (-len(entry.questions), entry.alias, entry.entity_id))


def at_random(graph: KnowledgeGraph, aliases: Sequence[Alias], random: np.random.Generator) -> list[Alias]:
    """As many aliases, each of an entity drawn at random."""
    rows = random.integers(len(graph), size=len(aliases)).tolist()
    ids = graph.entities.ids
    return [
        msgspec.structs.replace(alias, entity_id=ids[row]) for alias, row in zip(aliases, rows, strict=True)
    ]


def _that_link(graph: KnowledgeGraph, questions: EvalSet, entries: list[Alias]) -> list[Alias]:
    """The aliases with which a question links to their entity, and these questions."""
    if not entries:
        return []
    patch = msgspec.structs.replace(empty_patch(graph, questions), aliases=tuple(entries))
    patched = apply(graph, patch, (DRAFT,))
    wanted = {id for entry in entries for id in entry.questions}
    examples = [example for example in questions if example.id in wanted]
    linked = NameLinker(patched, NameIndex.of(patched)).link(examples)
    seeds = {
        example.id: {patched.entities.ids[seed.entity] for seed in question.seeds}
        for example, question in zip(examples, linked, strict=True)
    }
    kept = []
    for entry in entries:
        using = tuple(id for id in entry.questions if entry.entity_id in seeds[id])
        if using:
            kept.append(msgspec.structs.replace(entry, questions=using))
    return kept


class _Finder:
    """Looks for what words of a question may be short for."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        self.kinds = kinds_of_entities(graph.entities.types)
        self.stems = stems_of_types([*graph.relations.types.names, *graph.entities.types.names])
        self.texts = graph.shared(TextIndex, lambda: TextIndex(graph))
        self._known: dict[tuple[str, bool], Match | None] = {}

    @cached_property
    def spellings(self) -> Shortenings:
        return Shortenings(self.names)

    def find(self, example: Example, question: LinkedQuestion) -> Iterator[tuple[Span, Match]]:
        """Spans of a question that names nothing, each with the entity that it is like. Of one that names
        something only what stands apart from it and is written as a name: in capitals, codes, consonants."""
        named = [seed for seed in question.named if seed.start is not None and seed.end is not None]
        if question.named and not named:
            return  # it speaks of what an earlier turn named
        taken: set[int] = set()
        text = Text.of(example.query)
        for number in range(len(text.words)):
            start, end = text.bounds(number)
            if any(start < (seed.end or 0) and end > (seed.start or 0) for seed in named):
                taken.add(number)
        references = self.names.meant_by(example.relevant_entities)
        references -= self.names.meant_by(example.seed_entities or ())
        for spans in _spans(text):
            places = range(spans[0].first, spans[0].last + 1)
            if taken.intersection(places):
                continue
            matches = []
            for span in spans:
                if named and not (SURE.fullmatch(span.text) or span.is_capital):
                    continue
                match = self._match(span)
                if match and not (match.is_part and not self._is_meant(span, match, text, references)):
                    matches.append((span, match))
            if matches:
                # The shortest is the name without its particles, where all are like one name.
                taken.update(places)
                if len({match.entity for _, match in matches}) == 1:
                    yield matches[-1]

    def _is_meant(self, span: Span, match: Match, text: Text, references: frozenset[int]) -> bool:
        """Whether words that are part of a name stand for it: not in `which robot`, and not where they only
        describe what is asked for."""
        if span.first and text.words[span.first - 1].startswith(NOUN_FOLLOWS):
            return False
        if span.text[0].isupper() and any(
            _is_capital(text, place) for place in (span.first - 1, span.last + 1)
        ):
            return False  # South in South Pacific
        return match.entity not in references or int(self.kinds[match.entity]) in NAMED_KINDS

    def _match(self, span: Span) -> Match | None:
        key = span.text, span.is_name_like
        if key not in self._known:
            self._known[key] = self._matched(span)
        return self._known[key]

    def _matched(self, span: Span) -> Match | None:
        """By the first rule that finds anything; nothing where that is several entities."""
        rules: tuple[Callable[[Span], dict[int, str]], ...] = (
            self._by_spelling, self._by_code, self._by_initials, self._by_part, self._by_syllables,
            self._by_sound, self._by_letters,
        )  # fmt: skip
        if self.names.resolve(span.text)[0]:
            return None
        for rule in rules:
            found = rule(span)
            if found:
                if len(found) > 1:
                    return None
                ((entity, why),) = found.items()
                return Match(entity, why, is_part=rule == self._by_part)
        return None

    def _by_spelling(self, span: Span) -> dict[int, str]:
        found = {}
        for spelling in self.spellings.by_core.get(core_of(span.text).text, ()):
            changes = differences(span.text, self.spellings.texts[spelling])
            if changes is not None and len(changes) == 1 and self._may_be(span, changes, spelling):
                found[self.spellings.owners[spelling]] = in_words(changes)
        return found

    def _may_be(self, span: Span, changes: frozenset[Difference], spelling: int) -> bool:
        """A bank is not Banks: names of one thing have no plural, and in lower case are often other words."""
        is_named = int(self.kinds[self.spellings.owners[spelling]]) in NAMED_KINDS
        return not is_named or (span.is_name_like and Difference.PLURAL not in changes)

    def _by_code(self, span: Span) -> dict[int, str]:
        if not CODE.fullmatch(span.text) or " " in span.text:
            return {}
        why = t("{alias} is the code in the name, and in no other name", alias=span.text)
        return self.spellings.owners_of(self.spellings.holding(span.words), why)

    def _by_initials(self, span: Span) -> dict[int, str]:
        spellings: Iterable[int] = ()
        if JAMO.fullmatch(span.text):
            why = t("{alias} are the first consonants of the name's syllables", alias=span.text)
            spellings = self.spellings.by_jamo.get(span.text, ())
        elif len(span.words) == 1 and CAPITALS.fullmatch(span.text):
            why = t("{alias} are the initials of the name", alias=span.text)
            spellings = self.spellings.by_initials.get(span.text.lower(), ())
        elif len(span.words) > 1 and any(len(word) == 1 for word in span.words) and span.is_name_like:
            why = t("{alias} is the name with initials", alias=span.text)
            spellings = self.spellings.with_initials(span.words)
        return self.spellings.owners_of(spellings, why) if spellings else {}

    def _by_part(self, span: Span) -> dict[int, str]:
        if not self._may_name(span):
            return {}
        holders = self.spellings.holding(span.words)
        why = t("{alias} is part of the name, and of no other name", alias=span.text)
        owners = self.spellings.owners_of(holders, why)
        if len(owners) != 1 or any(map(str.isdigit, span.text)):
            return owners
        (owner,) = owners
        if owner not in holders or self._is_inside(span, owner):
            return {}  # a part of an alias, a place in a name
        is_word = len(span.words) == 1
        return {} if is_word and (self._is_short_noun(span, owner) or self._is_told(span, owner)) else owners

    def _is_inside(self, span: Span, owner: int) -> bool:
        """Whether the words only describe the name's last one: Carpathians in `Castle of the Carpathians`, a
        word of a title, what an event is about."""
        words, kind = self.spellings.words[owner], int(self.kinds[owner])
        is_last = "".join(words).endswith("".join(span.words))
        if span.words[0] not in words:  # part of a compound, which ends in what it is
            return not (is_last or self._is_given_name(span, owner)) or kind == Kind.WORK
        first = words.index(span.words[0])
        if first and words[first - 1] in FUNCTION_WORDS - ARTICLES:
            return True
        if first > 1 and words[first - 1] in ARTICLES:
            return True
        if len(span.words) > 1 or len(words) == 1:
            return False
        return kind == Kind.WORK or (kind == Kind.OTHER and not is_last)

    def _is_short_noun(self, span: Span, owner: int) -> bool:
        """Whether a word of two syllables is rather a noun: 교수 in 김철수 교수, 병원 in 세브란스 병원."""
        word = span.words[0]
        if final_consonant(word[0]) is None or len(word) >= LEAST_SYLLABLES:
            return False
        return not self._is_given_name(span, owner) and f"'{word}'" not in self.spellings.texts[owner]

    def _is_given_name(self, span: Span, owner: int) -> bool:
        """Whether the word is what stands behind the surname of a person: 철수 in 김철수."""
        word, kind = span.words[0], int(self.kinds[owner])
        whole = (text for text in self.spellings.words[owner] if text.endswith(word))
        is_named = any(len(text) == len(word) + 1 and text[0] in SURNAMES for text in whole)
        return is_named and len(word) == SHORTEST and kind in (Kind.PERSON, Kind.UNKNOWN)

    def _may_name(self, span: Span) -> bool:
        """Whether it is written as names are and says more than a kind of thing."""
        return span.is_name_like and not all(map(self._is_common, span.words))

    def _is_common(self, word: str) -> bool:
        """Whether a word says what kind of thing something is, or holds a sentence together."""
        if word in NAMELESS or word in HONORIFICS or is_question_word(word):
            return True
        return stem_of(word) in self.stems or kind_of_type(word) != Kind.UNKNOWN

    def _is_told(self, span: Span, owner: int) -> bool:
        """Whether texts of other entities that are not related to the owner have the word: a common word."""
        stem = content_stem(span.text)
        if stem is None or not self.texts:
            return False
        adjacency = self.graph.adjacency
        near = {owner, *adjacency.neighbours[adjacency.slots(owner)].tolist()}
        return len(set(self.texts.own_bits(stem).entities.tolist()) - near) > OTHER_TEXTS

    def _by_syllables(self, span: Span) -> dict[int, str]:
        if len(span.words) > 1 or script_of(span.text) != "hangul" or self._is_common(span.words[0]):
            return {}
        why = t("{alias} is made of syllables of the name, in order", alias=span.text)
        owners = self.spellings.owners_of(self.spellings.abbreviated(span.words[0]), why)
        if owners:
            return owners
        inside = self.spellings.owners_of(self.spellings.abbreviated_inside(span.words[0]), why)
        return {owner: why for owner in inside if int(self.kinds[owner]) == Kind.GROUP}

    def _by_sound(self, span: Span) -> dict[int, str]:
        script = script_of(span.text)
        if not script or not self._may_name(span):
            return {}
        sounding = []
        sound = sound_of(span.text)
        consonants = consonants_of(sound)
        other_script = "latin" if script == "hangul" else "hangul"
        for other, spelling in self.spellings.by_sound(other_script).get(consonants, ()):
            if sound[0].isupper() != other[0].isupper():
                continue
            alike = SequenceMatcher(None, sound, other, autojunk=False).ratio()
            if alike >= (SOUNDS_ALIKE if len(consonants) > SHORTEST_SOUND else SHORT_SOUNDS_ALIKE):
                sounding.append(spelling)
        why = t("{alias} sounds like the name in other letters", alias=span.text)
        return self.spellings.owners_of(sounding, why)

    def _by_letters(self, span: Span) -> dict[int, str]:
        """One letter apart from a name, or from a word that one name alone has."""
        found: dict[int, str] = {}
        for name, holders in self.spellings.near(core_of(span.text)) if self._may_name(span) else ():
            changes = differences(span.text, name)
            if changes is not None and changes & LETTERS:
                found |= self.spellings.owners_of(holders, in_words(changes))
        return found


def _spans(text: Text) -> Iterator[list[Span]]:
    """Runs of words that may be short for a name, the longest first: each as it stands, and where it is
    Korean, also without the particles that it may end in."""
    capitals = sum(text.whole[text.bounds(number)[0]].isupper() for number in range(1, len(text.words)))
    has_case = 3 * capitals < 2 * len(text.words)  # in a title nearly all words have a capital
    for size in range(min(MOST_WORDS, len(text.words)), 0, -1):
        for first in range(len(text.words) - size + 1):
            last = first + size - 1
            if _is_nameless(text, first, has_case) or _is_nameless(text, last, has_case):
                continue
            start, (begin, end) = text.bounds(first)[0], text.bounds(last)
            word, spans = text.whole[begin:end], []
            for cut in (len(word), *_cuts(word)):
                written = text.whole[start : begin + cut]
                words = (*text.words[first:last], fold(word[:cut]))
                if len(fold(written)) < SHORTEST or (cut < len(word) and words[-1] in NAMELESS):
                    continue
                hangul = any(final_consonant(letter) is not None for letter in written)
                capital = has_case and any(
                    text.whole[text.bounds(number)[0]].isupper() and number > 0
                    for number in range(first, last + 1)
                )
                latin_in_hangul = not hangul and text.is_without_case
                is_name_like = hangul or capital or latin_in_hangul or any(map(str.isdigit, written))
                spans.append(Span(written, words, first, last, is_name_like, capital))
            if spans:
                yield spans


def _is_nameless(text: Text, number: int, has_case: bool) -> bool:
    """Whether a word holds the sentence together; WHO and the A of A. Doyle don't."""
    start, end = text.bounds(number)
    written = text.whole[start:end]
    is_short = has_case and written.isupper() and (len(written) > 1 or text.whole[end : end + 1] == ".")
    return text.words[number] in NAMELESS and not is_short


def _is_capital(text: Text, number: int) -> bool:
    """Whether a word stands there inside the sentence that begins with a capital."""
    if not 0 < number < len(text.words) or text.words[number] in NAMELESS:
        return False
    return text.whole[text.bounds(number)[0]].isupper()


def _cuts(word: str) -> Iterator[int]:
    """Places in a word behind which Korean particles may stand, the longest name first."""
    for cut in range(len(word) - 1, max(0, len(word) - LONGEST_REST), -1):
        if final_consonant(word[cut]) is None:
            return
        if particles(word[:cut], word[cut:]) == ParticleFit.FITS:
            yield cut
