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
from tiny_graph_rag.graph.name_forms import ARTICLES, has_initials, is_abbreviation, is_in_order
from tiny_graph_rag.graph.names import ALIAS, NameIndex
from tiny_graph_rag.graph.text_index import TextIndex, content_stem
from tiny_graph_rag.language.folding import Text, fold, folded_letters, spaced
from tiny_graph_rag.language.function_words import (
    FUNCTION_WORDS,
    HONORIFICS,
    NAMELESS,
    final_consonant,
    particle_cuts,
)
from tiny_graph_rag.language.kinds import NAMED_KINDS, Kind, kind_of_type, kinds_of_entities
from tiny_graph_rag.language.words import NOUN_FOLLOWS, is_question_word, stem
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.mentions import stems_of_types
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

MOST_WORDS = 3  # of a span
OTHER_TEXTS = 1  # entities, neighbours aside, whose texts may hold a word that is part of a name
MOST_HOLDERS = 50  # spellings with a word; a word of more is no name
LEAST_SYLLABLES = 3  # of a Korean word that is part of a name; shorter ones are nouns more often
SHORTEST = 2  # characters of a span
CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]).*|\d{3,}")
CAPITALS = re.compile("[A-Z]{2,6}")
SHORT_FOR = "{alias} is an abbreviation of the name"
PART_OF = "{alias} is part of the name, and of no other name"


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a question. text: as they stand there, without particles. words: folded. first, last: their
    places. is_capital: whether one begins with a capital inside the sentence."""

    text: str
    words: tuple[str, ...]
    first: int
    last: int
    is_capital: bool

    @property
    def is_korean(self) -> bool:
        return final_consonant(self.words[-1][-1]) is not None

    @property
    def is_sure(self) -> bool:
        """Whether it is written as only names are: in capitals, as a code."""
        return self.is_capital or bool(CODE.fullmatch(self.text) or CAPITALS.fullmatch(self.text))


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
    degrees, rows = graph.adjacency.degrees, graph.row_of_id
    entries.sort(key=lambda entry: (-len(entry.questions), -degrees[rows[entry.entity_id]], entry.alias))
    return entries


class _Finder:
    """Looks for what words of a question may be short for. A spelling (name or alias) is a number."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        self.kinds = kinds_of_entities(graph.entities.types)
        self.stems = stems_of_types(graph)
        self.texts = graph.shared(TextIndex, lambda: TextIndex(graph))
        rows = [row for row in range(len(names.names) + len(names.others)) if names.kind(row) <= ALIAS]
        self.spellings = [names.spelling(row) for row in rows]
        self.owners = [names.entity(row) for row in rows]
        self.words = [tuple(spaced(folded_letters(text)).split()) for text in self.spellings]
        self.by_word: dict[str, list[int]] = defaultdict(list)
        self.by_letter: dict[str, list[int]] = defaultdict(list)
        for spelling, words in enumerate(self.words):
            for word in dict.fromkeys(words):
                self.by_word[word].append(spelling)
            for letter in dict.fromkeys(word[0] for word in words):
                self.by_letter[letter].append(spelling)
        self.lines = "\n".join("".join(words) for words in self.words)
        self.ends = np.cumsum([len("".join(words)) + 1 for words in self.words])

    def find(self, example: Example, question: LinkedQuestion) -> Iterator[tuple[Span, int, str]]:
        """Spans of a question that names nothing, each with the entity that it is like and why. Of one that
        names something only what stands apart from it and is written as a name."""
        named = [seed for seed in question.named if seed.start is not None and seed.end is not None]
        if question.named and not named:
            return  # it speaks of what an earlier turn named
        text = Text.of(example.query)
        taken: set[int] = set()
        for place in range(len(text.words)):
            start, end = text.bounds(place)
            if any(start < (seed.end or 0) and end > (seed.start or 0) for seed in named):
                taken.add(place)
        references = self.names.meant_by(example.relevant_entities)
        references -= self.names.meant_by(example.seed_entities or ())
        for spans in _spans(text):
            places = range(spans[0].first, spans[0].last + 1)
            if taken.intersection(places):
                continue
            matches = [
                (span, *match)
                for span in spans
                if (span.is_sure or not named) and (match := self._match(span, text, references))
            ]
            if matches:
                taken.update(places)
                if len({entity for _, entity, _ in matches}) == 1:
                    yield matches[-1]  # the shortest is the name without its particles

    def _match(self, span: Span, text: Text, references: frozenset[int]) -> tuple[int, str] | None:
        """(the entity, why): one that the span abbreviates, else one of whose name it is a part; nothing
        where that is several entities."""
        if self.names.resolve(span.text)[0]:
            return None
        owners = {self.owners[spelling] for spelling in self._abbreviated(span)}
        if owners:
            return (owners.pop(), t(SHORT_FOR, alias=span.text)) if len(owners) == 1 else None
        holders = self._holding(span.words)
        owners = {self.owners[spelling] for spelling in holders}
        if len(owners) != 1 or not self._stands_for(span, holders[0], text, references):
            return None
        return owners.pop(), t(PART_OF, alias=span.text)

    def _abbreviated(self, span: Span) -> list[int]:
        """Of English names the letters in capitals, of Korean ones syllables in their order, two of which
        begin two words (한은 for 한국 은행)."""
        short = span.text
        is_word = span.is_korean and not self._is_common(span.words[0])
        if len(span.words) > 1 or not (is_word or CAPITALS.fullmatch(short)):
            return []
        is_short_for = is_abbreviation if span.is_korean else has_initials
        return [
            spelling
            for spelling in self.by_letter.get(short[0].casefold(), ())
            if is_short_for(short, self.spellings[spelling])
            if not span.is_korean
            or len(short) > SHORTEST
            or any(word.startswith(short[1]) for word in self.words[spelling][1:])
        ]

    def _holding(self, words: Sequence[str]) -> list[int]:
        """The spellings with these words in this order, others between them or not; words in Hangul may end
        longer ones (청정기 in 공기청정기) or be written together (안전위원회 for 안전 위원회)."""
        lists = [self.by_word.get(word, ()) for word in words]
        if all(lists):
            common = set(lists[0]).intersection(*lists)
            return [spelling for spelling in sorted(common) if is_in_order(words, self.words[spelling])]
        if final_consonant(words[-1][-1]) is None:
            return []
        holders = rows_holding(self.lines, words[-1], self.ends, MOST_HOLDERS)
        return [spelling for spelling in holders if _ends_or_runs(words, self.words[spelling])]

    def _stands_for(self, span: Span, spelling: int, text: Text, references: frozenset[int]) -> bool:
        """Whether words that are part of a name stand for it. They don't in `which robot`, in a phrase of
        capitals (South in South Pacific), where they only describe what is asked for, and where they are
        common words."""
        entity, word = self.owners[spelling], span.words[0]
        is_named = int(self.kinds[entity]) in NAMED_KINDS
        if any(map(str.isdigit, span.text)):
            return is_named or entity not in references
        if not (span.is_korean or span.is_capital):
            return False
        if span.first and text.words[span.first - 1].startswith(NOUN_FOLLOWS):
            return False
        if span.is_capital and any(_is_capital(text, place) for place in (span.first - 1, span.last + 1)):
            return False
        if (entity in references and not is_named) or all(map(self._is_common, span.words)):
            return False
        if self._is_inside(span, spelling):
            return False
        if len(span.words) > 1:
            return True
        is_noun = span.is_korean and len(word) < LEAST_SYLLABLES and not self._is_given_name(word, spelling)
        return not (is_noun or self._is_told(span, entity))

    def _is_given_name(self, word: str, spelling: int) -> bool:
        """Whether the word is a name in quotes, or one without its first syllable: 철수 in 김철수."""
        is_quoted = f"'{word}'" in self.spellings[spelling]
        return is_quoted or any(whole[1:] == word for whole in self.words[spelling])

    def _is_inside(self, span: Span, spelling: int) -> bool:
        """Whether the words only describe the name's last one: Carpathians in `Castle of the Carpathians`, a
        word of a title, what an event is about."""
        words, kind = self.words[spelling], int(self.kinds[self.owners[spelling]])
        first = words.index(span.words[0]) if span.words[0] in words else 0
        if first and words[first - 1] in FUNCTION_WORDS - (ARTICLES if first == 1 else frozenset()):
            return True
        is_last = "".join(words).endswith("".join(span.words))
        is_one = len(span.words) == 1 < len(words) or span.words[0] not in words
        return is_one and (kind == Kind.WORK or (kind == Kind.OTHER and not is_last))

    def _is_common(self, word: str) -> bool:
        """Whether a word says what kind of thing something is, or holds a sentence together."""
        if word in NAMELESS or word in HONORIFICS or is_question_word(word):
            return True
        return stem(word) in self.stems or kind_of_type(word) != Kind.UNKNOWN

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


def _spans(text: Text) -> Iterator[list[Span]]:
    """Runs of words that may be short for a name, the longest first: each as it stands, and where it is
    Korean, also without the particles that it may end in."""
    is_title = 3 * sum(text.capitals[1:]) >= 2 * len(text.words)  # nearly all words have a capital
    for size in range(min(MOST_WORDS, len(text.words)), 0, -1):
        for first in range(len(text.words) - size + 1):
            last = first + size - 1
            if _is_nameless(text, first) or _is_nameless(text, last):
                continue
            start, (begin, end) = text.bounds(first)[0], text.bounds(last)
            capital = not is_title and any(text.capitals[max(first, 1) : last + 1])
            word, spans = text.whole[begin:end], []
            for cut in (len(word), *particle_cuts(word)):
                words = (*text.words[first:last], fold(word[:cut]))
                if len("".join(words)) >= SHORTEST and (cut == len(word) or words[-1] not in NAMELESS):
                    spans.append(Span(text.whole[start : begin + cut], words, first, last, capital))
            if spans:
                yield spans


def _is_nameless(text: Text, place: int) -> bool:
    """Whether a word holds the sentence together; WHO doesn't."""
    start, end = text.bounds(place)
    return text.words[place] in NAMELESS and not CAPITALS.fullmatch(text.whole[start:end])


def _is_capital(text: Text, place: int) -> bool:
    """Whether a word stands there inside the sentence that begins with a capital."""
    if not 0 < place < len(text.words) or text.words[place] in NAMELESS:
        return False
    return text.capitals[place]
