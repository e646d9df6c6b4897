"""Aliases that questions use and the graph lacks: parts of a name, codes, abbreviations.

Looked for where a question names no entity, in words that one entity's name explains and no other's. What the
question asks for plays no part in it: an alias is proposed because words look like a name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.columns.arrays import rows_holding
from tiny_graph_rag.fixing.patch import Alias
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import ALIAS, NameIndex
from tiny_graph_rag.graph.text_index import TextIndex, content_stem
from tiny_graph_rag.language.folding import Text, fold, folded_letters, spaced
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
from tiny_graph_rag.language.name_forms import ARTICLES, has_initials, is_abbreviation
from tiny_graph_rag.language.words import NOUN_FOLLOWS, is_question_word
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.grades import stem_of, stems_of_types
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

MOST_WORDS = 4  # of a span
OTHER_TEXTS = 1  # entities, neighbours aside, whose texts may hold a word that is part of a name
MOST_HOLDERS = 50  # spellings with a word; a word of more is no name
LEAST_SYLLABLES = 3  # of a Korean word that is part of a name; shorter ones are nouns more often
SHORTEST = 2  # characters of a span
SURNAMES = frozenset(  # those that most Koreans have
    "김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구민진지"
    "엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모"
)
CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]).*|\d{3,}")
CAPITALS = re.compile("[A-Z]{2,6}")
SURE = re.compile(rf"{CODE.pattern}|{CAPITALS.pattern}")
WHY = {
    "code": "{alias} is the code in the name, and in no other name",
    "abbreviation": "{alias} is an abbreviation of the name",
    "part": "{alias} is part of the name, and of no other name",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a question. text: as they stand there, without particles. words: folded. first, last: their
    places. is_name_like: whether it is written as names are; is_capital: whether that is a capital inside the
    sentence."""

    text: str
    words: tuple[str, ...]
    first: int
    last: int
    is_name_like: bool
    is_capital: bool


def propose_aliases(graph: KnowledgeGraph, questions: EvalSet) -> list[Alias]:
    """Aliases for a person to judge, those that most questions use first, then those of entities with many
    relations. Words that point to two entities are left out."""
    names = NameIndex.of(graph)
    linked = NameLinker(graph, names).link(questions.examples)
    finder = _Finder(graph, names)
    uses: dict[str, list[tuple[int, str, str, str]]] = defaultdict(list)
    for example, question in zip(questions, linked, strict=True):
        for span, entity, why in finder.find(example, question):
            uses[fold(span.text)].append((entity, span.text, why, example.id))
    entries = []
    for meanings in uses.values():
        entity, alias, why, _ = meanings[0]
        if len({meant for meant, *_ in meanings}) == 1:
            entries.append(
                Alias(
                    entity_id=graph.entities.ids[entity],
                    alias=alias,
                    name=graph.entities.names[entity],
                    evidence=(why,),
                    questions=tuple(dict.fromkeys(id for *_, id in meanings)),
                )
            )
    degree = {id: int(degree) for id, degree in zip(graph.entities.ids, graph.adjacency.degrees, strict=True)}
    return sorted(entries, key=lambda entry: (-len(entry.questions), -degree[entry.entity_id], entry.alias))


class _Finder:
    """Looks for what words of a question may be short for. A spelling (name or alias) is a number."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        self.kinds = kinds_of_entities(graph.entities.types)
        self.stems = stems_of_types([*graph.relations.types.names, *graph.entities.types.names])
        self.texts = graph.shared(TextIndex, lambda: TextIndex(graph))
        rows = [row for row in range(len(names.names) + len(names.others)) if names.kind(row) <= ALIAS]
        self.spellings = [names.spelling(row) for row in rows]
        self.owners = [names.entity(row) for row in rows]
        self.words = [tuple(spaced(folded_letters(text)).split()) for text in self.spellings]
        self.by_word: dict[str, list[int]] = defaultdict(list)
        self.by_first: dict[str, list[int]] = defaultdict(list)
        for spelling, words in enumerate(self.words):
            for word in dict.fromkeys(words):
                self.by_word[word].append(spelling)
            for letter in dict.fromkeys(word[0] for word in words):
                self.by_first[letter].append(spelling)
        self.lines = "\n".join("".join(words) for words in self.words)
        self.ends = np.cumsum([len("".join(words)) + 1 for words in self.words])

    def find(self, example: Example, question: LinkedQuestion) -> Iterator[tuple[Span, int, str]]:
        """Spans of a question that names nothing, each with the entity that it is like and why. Of one that
        names something only what stands apart from it and is written as a name: in capitals, codes."""
        named = [seed for seed in question.named if seed.start is not None and seed.end is not None]
        if question.named and not named:
            return  # it speaks of what an earlier turn named
        text = Text.of(example.query)
        taken: set[int] = set()
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
            matches = [
                (span, *match)
                for span in spans
                if not named or SURE.fullmatch(span.text) or span.is_capital
                if (match := self._match(span, text, references))
            ]
            if matches:
                taken.update(places)
                if len({entity for _, entity, _ in matches}) == 1:
                    yield matches[-1]  # the shortest is the name without its particles

    def _match(self, span: Span, text: Text, references: frozenset[int]) -> tuple[int, str] | None:
        """(the entity, why) by the first rule that finds anything; nothing where that is several entities."""
        if self.names.resolve(span.text)[0]:
            return None
        rules = {"code": self._by_code, "abbreviation": self._by_abbreviation, "part": self._by_part}
        for rule, holding in rules.items():
            owners = {self.owners[spelling] for spelling in holding(span)}
            if owners:
                entity = owners.pop()
                is_meant = rule != "part" or self._is_meant(span, entity, text, references)
                return None if owners or not is_meant else (entity, t(WHY[rule], alias=span.text))
        return None

    def _is_meant(self, span: Span, entity: int, text: Text, references: frozenset[int]) -> bool:
        """Whether words that are part of a name stand for it: not in `which robot`, and not where they only
        describe what is asked for."""
        if span.first and text.words[span.first - 1].startswith(NOUN_FOLLOWS):
            return False
        if span.text[0].isupper() and any(
            _is_capital(text, place) for place in (span.first - 1, span.last + 1)
        ):
            return False  # South in South Pacific
        return entity not in references or int(self.kinds[entity]) in NAMED_KINDS

    def _by_code(self, span: Span) -> list[int]:
        return self._holding(span.words) if CODE.fullmatch(span.text) and len(span.words) == 1 else []

    def _by_abbreviation(self, span: Span) -> list[int]:
        """Of English names the letters in capitals, of Korean ones syllables in their order; two of them
        begin two words (한은 for 한국 은행)."""
        short = span.text
        is_korean = None not in map(final_consonant, short)
        if len(span.words) > 1 or not (is_korean or CAPITALS.fullmatch(short)):
            return []
        if is_korean and self._is_common(span.words[0]):
            return []
        is_short_for = is_abbreviation if is_korean else has_initials
        return [
            spelling
            for spelling in self.by_first.get(short[0].casefold(), ())
            if is_short_for(short, self.spellings[spelling])
            if not (is_korean and len(short) == SHORTEST)
            or any(word.startswith(short[1]) for word in self.words[spelling][1:])
        ]

    def _by_part(self, span: Span) -> list[int]:
        if not span.is_name_like or all(map(self._is_common, span.words)):
            return []
        holders = self._holding(span.words)
        owners = {self.owners[spelling] for spelling in holders}
        if len(owners) != 1 or any(map(str.isdigit, span.text)):
            return holders
        (owner,) = owners
        if owner not in holders or self._is_inside(span, owner):
            return []  # a part of an alias, a place in a name
        is_word = len(span.words) == 1
        return [] if is_word and (self._is_short_noun(span, owner) or self._is_told(span, owner)) else holders

    def _holding(self, words: Sequence[str]) -> list[int]:
        """The spellings with these words in this order, others between them or not; words in Hangul may end
        longer ones (청정기 in 공기청정기) or be written together (안전위원회 for 안전 위원회)."""
        lists = [self.by_word.get(word, ()) for word in words]
        if all(lists):
            common = set(min(lists, key=len)).intersection(*lists)
            return sorted(number for number in common if _in_order(words, self.words[number]))
        if final_consonant(words[-1][-1]) is not None:
            holders = rows_holding(self.lines, words[-1], self.ends, MOST_HOLDERS)
            return [number for number in holders if _ends_or_runs(words, self.words[number])]
        return []

    def _is_inside(self, span: Span, owner: int) -> bool:
        """Whether the words only describe the name's last one: Carpathians in `Castle of the Carpathians`, a
        word of a title, what an event is about."""
        words, kind = self.words[owner], int(self.kinds[owner])
        is_last = "".join(words).endswith("".join(span.words))
        if span.words[0] not in words:  # part of a compound, which ends in what it is
            return not (is_last or self._is_given_name(span, owner)) or kind == Kind.WORK
        first = words.index(span.words[0])
        if first and words[first - 1] in FUNCTION_WORDS - (ARTICLES if first == 1 else frozenset()):
            return True
        if len(span.words) > 1 or len(words) == 1:
            return False
        return kind == Kind.WORK or (kind == Kind.OTHER and not is_last)

    def _is_short_noun(self, span: Span, owner: int) -> bool:
        """Whether a word of two syllables is rather a noun: 교수 in 김철수 교수, 병원 in 세브란스 병원."""
        word = span.words[0]
        if final_consonant(word[0]) is None or len(word) >= LEAST_SYLLABLES:
            return False
        return not self._is_given_name(span, owner) and f"'{word}'" not in self.spellings[owner]

    def _is_given_name(self, span: Span, owner: int) -> bool:
        """Whether the word is what stands behind the surname of a person: 철수 in 김철수."""
        word, kind = span.words[0], int(self.kinds[owner])
        whole = (text for text in self.words[owner] if text.endswith(word))
        is_named = any(len(text) == len(word) + 1 and text[0] in SURNAMES for text in whole)
        return is_named and len(word) == SHORTEST and kind in (Kind.PERSON, Kind.UNKNOWN)

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


def _ends_or_runs(words: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether words end those of a name, in order, or are the name's last ones written together."""
    rest = iter(whole)
    if all(any(longer.endswith(word) for longer in rest) for word in words):
        return True
    return any("".join(whole[place:]) == "".join(words) for place in range(len(whole) - 1))


def _in_order(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


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
