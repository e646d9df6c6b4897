"""The linkers that ask nobody: by the names in the question, by these and texts, by what the gold set says.

Seeds by text are the entities whose own texts match most of what a question says outside its mentions.
Linking by the gold set, or without any seeds, judges retrieval apart from linking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, compress, repeat
from typing import Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import found_in
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.text_index import BEGUN, Bits, TextIndex, content_stem
from tiny_graph_rag.language.folding import HAS_UNSPACED, folded_letters
from tiny_graph_rag.language.kinds import kinds_of_entities
from tiny_graph_rag.language.words import (
    POSSESSIVE,
    is_in_listed_language,
    likeness,
    words_in,
    words_of,
    words_tried,
)
from tiny_graph_rag.linking.base import TEXT, LinkedQuestion, Linker, LinkerTask, Seed, in_text_order, linker
from tiny_graph_rag.linking.coreference import from_context
from tiny_graph_rag.linking.fuzzy import NearNames
from tiny_graph_rag.linking.mentions import Mention, MentionFinder, apart
from tiny_graph_rag.linking.question_words import (
    content_stems_of,
    tokens,
    without_seeds,
)


@linker("names", "names, aliases, pronouns; retrieval.fuzzy: similar names")
class NameLinker(Linker):
    """Names in the question; pronouns and what is left unsaid from its context; then, if wanted, near names.

    fuzzy: how similar a misspelt name must be, in (0, 1]; None for exact names only.
    """

    def __init__(self, graph: KnowledgeGraph, names: NameIndex, fuzzy: float | None = None) -> None:
        self.finder = MentionFinder(graph, names)
        self.near = NearNames(self.finder, fuzzy) if fuzzy is not None else None

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(task.graph, task.names, task.config.retrieval.fuzzy)

    @cached_property
    def _kinds(self) -> NDArray[np.uint8]:
        """(entities,): only a question with turns before it asks for all of them."""
        return kinds_of_entities(self.finder.graph.entities.types)

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        linked = []
        for example in examples:
            mentions, *turns = map(self.finder.find, (example.query, *example.context))
            seeds = self._seeds(example, mentions, turns)
            tried = () if seeds else words_tried((example.query, *example.context))
            linked.append(LinkedQuestion(example.query, seeds, example.id, tried=tried))
        return linked

    def _seeds(
        self, example: Example, mentions: Sequence[Mention], turns: Sequence[Sequence[Mention]]
    ) -> tuple[Seed, ...]:
        telling = [mention for mention in mentions if mention.is_telling]
        near = self.near.mentions(example.query, telling) if self.near else []
        from_turns: list[Seed] = []
        if turns:
            earlier = [[mention for mention in turn if mention.is_telling] for turn in turns]
            from_turns = from_context(example.query, telling, earlier, self._kinds, unsaid=not near)
        named = [*telling, *near] if near or from_turns else mentions
        return in_text_order([*chain(*(mention.seeds(example.query) for mention in named)), *from_turns])


def chosen(linked: LinkedQuestion, meant: Sequence[tuple[str, tuple[int, ...], str]]) -> tuple[Seed, ...]:
    """The seeds of a question whose entities are meant, and one without a place for each other that is.

    meant: words, the entities that they mean, and the rule.
    """
    wanted = {entity for _, entities, _ in meant for entity in entities}
    seeds = [seed for seed in linked.named if seed.entity in wanted]
    wanted.difference_update(seed.entity for seed in seeds)
    for words, entities, rule in meant:
        bearers = Seed.sharing(entities, words, None, None, rule)
        seeds += [seed for seed in bearers if seed.entity in wanted]
        wanted.difference_update(entities)
    return in_text_order(seeds)


# Questions whose text seeds are kept: those that differ by the names in them have the same.
KNOWN_QUESTIONS = 1 << 14
NEAR_BEST = 0.5  # of what the best match has of the question, so much at least has a seed by text
MOST_BEARERS = 100  # entities whose names hold a word; of more, a rarer word of the name has to lead to it
COMMON_SHARE, FEWEST_TEXTS = 0.05, 5  # of the entities: whose texts hold a common word, at least


@linker("names+text", "names, plus entities whose texts match other words")
class NameAndTextLinker(NameLinker):
    """The seeds of `names`, then up to `ranking.text_seeds` seeds by text, the best match first.

    Every text seed has the rule `text`, the words that it matches as its mention, and the same weight.
    """

    def __init__(self, task: LinkerTask) -> None:
        super().__init__(task.graph, task.names, task.config.retrieval.fuzzy)
        self.graph, self.ranking, graph = task.graph, task.config.ranking, task.graph
        self.index = graph.shared(TextIndex, lambda: TextIndex(graph))
        self._by_text = lru_cache(KNOWN_QUESTIONS)(self._seeds_by_text)

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(task)

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return [self._with_text_seeds(question) for question in super().link(examples)]

    def _with_text_seeds(self, question: LinkedQuestion) -> LinkedQuestion:
        named = [seed for seed in question.seeds if not self._is_common_word(seed)]
        if len(named) < len(question.seeds):
            question = replace(question, seeds=tuple(named))
        masked = without_seeds(question)
        inflected = () if is_in_listed_language(masked) else self._inflected(question)
        if inflected:
            question = replace(question, seeds=in_text_order([*question.seeds, *inflected]))
            masked = without_seeds(question)
        seeds = self._by_text(tuple(tokens(masked)[0].values()), bool(question.seeds))
        if not seeds:
            return question
        return replace(question, seeds=(*question.seeds, *seeds), tried=())

    def _inflected(self, question: LinkedQuestion) -> list[Seed]:
        """Seeds of names that are inflected: each word a form of the name's; the longest names first."""
        text = question.text
        words = [(POSSESSIVE.sub("", text[start:end]), start, end) for _, start, end in words_of(text)]
        has_case = not question.text.islower()
        found: dict[tuple[int, int], set[int]] = {}
        for place, (written, start, _) in enumerate(words):
            for entity in self.index.named_like(written, MOST_BEARERS):
                name = words_in(self.graph.entities.names[entity])
                asked, _, ends = zip(*words[place : place + len(name)], strict=True)
                if len(asked) == len(name) and all(map(may_be_form, name, asked, repeat(has_case))):
                    found.setdefault((start, ends[-1]), set()).add(entity)
        rank = self.graph.name_rank.__getitem__
        mentions = [Mention(*span, tuple(sorted(its, key=rank)), "form") for span, its in found.items()]
        mentions.sort(key=lambda mention: (mention.start - mention.end, mention.start))
        taken = [(seed.start or 0, seed.end or 0) for seed in question.seeds]
        return [*chain(*(mention.seeds(question.text) for mention in apart(mentions, taken)))]

    def _is_common_word(self, seed: Seed) -> bool:
        """Whether a name is rather a word: one in lower case that many texts of the graph hold, as
        `treatment` in a graph of medicine. Its entity may still match by text."""
        if seed.is_reference or not seed.mention.islower() or not seed.mention.isalpha():
            return False
        stem = content_stem(seed.mention)
        texts = len(self.index.own_bits(stem).entities) if stem is not None else 0
        return texts >= max(FEWEST_TEXTS, COMMON_SHARE * len(self.graph))

    def _seeds_by_text(self, words: tuple[str, ...], is_named: bool) -> tuple[Seed, ...]:
        stems = content_stems_of(words)
        if not stems:
            return ()
        bits_of = self.index.own_bits
        entities, bits = self.index.total(map(bits_of, stems))
        if not len(entities) and not is_named:  # what stands around an entity is better than nothing
            bits_of = self.index.bits
            entities, bits = self.index.total(map(bits_of, stems))
        near = np.flatnonzero(bits >= NEAR_BEST * bits.max(initial=0))
        best = near[np.lexsort((self.graph.name_rank[entities[near]], -bits[near]))]
        best = best[: self.ranking.text_seeds]
        seeds = entities[best]
        held = words_held(bits_of, words, seeds)
        return tuple(
            Seed(entity, " ".join(its), None, None, TEXT, 1 / len(best))
            for entity, its in zip(seeds.tolist(), held, strict=True)
        )


FORM_LOSES = 2  # letters of a name, at most
# Malayalam consonants as they end a word, and before an ending.
CHILLU = str.maketrans("\u0d7a\u0d7b\u0d7c\u0d7d\u0d7e\u0d7f", "\u0d23\u0d28\u0d30\u0d32\u0d33\u0d15")


def may_be_form(name: str, written: str, has_case: bool) -> bool:
    """Whether a word may be an inflected form of a name's: like that, or begun so, whatever the ending is:
    with all but the last two letters (Sampo, *Sammon*), in a script without case with all.

    has_case: whether the text has capitals; then a word without one is no form of a name that has one.
    """
    is_small = written[0].islower()
    if is_small and has_case and name[0].isupper():
        return False
    own, asked = folded_letters(name), folded_letters(written)
    kept = own[: max(BEGUN, len(own) - FORM_LOSES)] if written[0].isupper() else own.translate(CHILLU)
    is_begun = len(kept) >= BEGUN and asked.startswith(kept) and HAS_UNSPACED.search(asked) is None
    return bool(likeness(own, asked)) or (is_begun and not is_small)


def words_held(
    bits_of: Callable[[str], Bits], words: Iterable[str], entities: NDArray[np.int64]
) -> list[tuple[str, ...]]:
    """Of each entity those of the words that its texts hold, each once, in order. bits_of: a stem's."""
    stems = {word: stem for word in words if (stem := content_stem(word)) is not None}
    told = [bits_of(stem) for stem in stems.values()]
    holds = np.array([found_in(bits.entities[bits.bits > 0], entities) for bits in told]).T.tolist()
    return [tuple(compress(stems, its)) for its in holds or [()] * len(entities)]


SHOWN = 5  # ids of questions without seeds that the message lists


@linker("gold", "the gold set's seed_entities; measures retrieval alone")
class GoldLinker(NameLinker):
    """The entities of `seed_entities`, at the places where `names` links them.

    With the same entities its seeds are those of `names`, so that both are ranked the same. An entity that
    `names` does not link gives a seed without a place; a name that the graph lacks gives none.
    """

    def check(self, examples: Sequence[Example]) -> None:
        """Raises UsageError with a count where questions have no 'seed_entities' (an empty list is one)."""
        missing = [example.id for example in examples if example.seed_entities is None]
        if missing:
            more = ", …" if len(missing) > SHOWN else ""
            raise UsageError(
                "--linker gold needs 'seed_entities' on every question; {missing} of {examples} "
                "have none ({names}{more}). Add the names that each question mentions, or use "
                "--linker names.",
                missing=f"{len(missing):,}",
                examples=f"{len(examples):,}",
                names=", ".join(missing[:SHOWN]),
                more=more,
            )

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return self.from_linked(examples, super().link(examples))

    def from_linked(
        self, examples: Sequence[Example], linked: Sequence[LinkedQuestion]
    ) -> list[LinkedQuestion]:
        """The same for questions that are linked already. linked: one an example, in order; of their seeds
        those by name count."""
        gold = []
        for example, question in zip(examples, linked, strict=True):
            names = example.seed_entities or ()
            meant = [(name, self.finder.names.resolve(name)[0], "gold") for name in names]
            seeds = tuple([replace(seed, rule="gold") for seed in chosen(question, meant)])
            gold.append(LinkedQuestion(example.query, seeds, example.id, tried=() if seeds else names))
        return gold


@linker("none", "no seeds, for retrievers that don't need them")
class NoLinker(Linker):
    """No seeds, for retrievers that need none."""

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls()

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return [LinkedQuestion(example.query, (), example.id) for example in examples]
