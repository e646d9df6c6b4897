"""Words for relation types, learned from gold questions and the paths from their seeds to their references.

Each question holds words, and its gold path holds relation types; which word speaks for which type is what
aligning the two tells when many questions are seen together. The model is the first of Brown, Della Pietra,
Della Pietra & Mercer, The Mathematics of Statistical Machine Translation (1993), with a word for none of the
types: a type on the path is spoken for by one of the question's words, or by none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.fixing.applying import with_words
from tiny_graph_rag.graph.bfs import shortest_paths
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.words import (
    asks_about_the_named,
    is_function_word,
    is_question_word,
    is_return_word,
    stem,
)
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.linking.question_words import RelationWords, tokens, without_seeds
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.statistics import Groups
from tiny_graph_rag.study.choosing import Rows
from tiny_graph_rag.study.trials import GoldQuestions

ROUNDS = 12  # of expectation maximisation; words settle after five or six
NOBODY = ""  # the word that stands for none of the question's
LEAST_SHARE = 0.5  # of a word's weight that must go to a type
LEAST_WEIGHT = 1.5  # questions' worth of evidence for a word and a type
LEAST_GROUPS = 2  # groups of questions that say it
MOST_REFERENCES = 5  # of a question, whose paths are looked at
LONGEST_PATH = 4


class QuestionEvidence(Struct, frozen=True):
    """words: stem → the word as the question has it. types: codes of relation types on the gold path."""

    words: dict[str, str]
    types: tuple[int, ...]


class LearnedWord(Struct, frozen=True):
    """rows: of the questions that hold the word and whose gold path holds the type. holding: questions that
    hold the word."""

    type: str
    word: str
    rows: tuple[int, ...]
    holding: int


def gold_evidence(questions: GoldQuestions) -> list[QuestionEvidence | None]:
    """Of each question its words and the types of its gold path; None where it has no such path, or no words.

    The path is `reference_relations` where the gold set has them, else the shortest from the seeds that
    the gold set names or that the question's names link to.
    """
    codes = {name: code for code, name in enumerate(questions.graph.relations.types.names)}
    linked = questions.today.linked
    return [_evidence(questions, row, question, codes) for row, question in enumerate(linked)]


def _evidence(
    questions: GoldQuestions, row: int, linked: LinkedQuestion, codes: dict[str, int]
) -> QuestionEvidence | None:
    graph, example = questions.graph, questions.examples.examples[row]
    types = [codes[one.type] for one in example.reference_relations if one.type in codes]
    if not types:
        seeds = sorted(questions.names.meant_by(example.seed_entities or ()))
        if example.seed_entities is None:
            seeds = [seed.entity for seed in linked.named]
        references = questions.judgments.references[row]
        answers = dict.fromkeys(entity for reference in references for entity in reference.entities)
        if not seeds or not answers:
            return None
        targets = list(answers)[:MOST_REFERENCES]
        paths = shortest_paths(graph.adjacency, graph.name_rank, seeds, targets).values()
        relations = [relation for path in paths if len(path) <= LONGEST_PATH for relation in path]
        types = [int(graph.relations.types.codes[relation]) for relation in relations]
    words = {stem(word): word for word in tokens(without_seeds(linked))[0].values() if _may_say_a_type(word)}
    return QuestionEvidence(words, tuple(dict.fromkeys(types))) if types and words else None


def _may_say_a_type(word: str) -> bool:
    closed = is_function_word(word) or is_question_word(word) or is_return_word(word)
    return not closed and not asks_about_the_named(word) and len(word) > 1 and not word.isdigit()


def learn(
    graph: KnowledgeGraph,
    evidence: Sequence[QuestionEvidence | None],
    groups: Groups,
    rows: Iterable[int],
    ranking: RankingPrices,
) -> list[LearnedWord]:
    """Words that these questions teach, by type and then by word; none that speaks for its type already,
    by its name or as a common word for the relation.
    """
    seen = [(row, one) for row in rows if (one := evidence[row]) is not None]
    given: dict[tuple[str, int], float] = defaultdict(lambda: 1.0)
    expected: dict[tuple[str, int], float] = {}
    for _ in range(ROUNDS):
        expected = defaultdict(float)
        for _, one in seen:
            words = (*one.words, NOBODY)
            for code in one.types:
                whole = sum(given[word, code] for word in words)
                for word in words:
                    expected[word, code] += given[word, code] / whole
        of_word: dict[str, float] = defaultdict(float)
        for (word, _), weight in expected.items():
            of_word[word] += weight
        given = defaultdict(float, {pair: weight / of_word[pair[0]] for pair, weight in expected.items()})
    holding: Counter[str] = Counter(word for _, one in seen for word in one.words)
    speaking: dict[tuple[str, int], list[int]] = defaultdict(list)
    surface: dict[str, Counter[str]] = defaultdict(Counter)
    for row, one in seen:
        for word, written in one.words.items():
            surface[word][written] += 1
            for code in one.types:
                speaking[word, code].append(row)
    known, names, found = RelationWords.of(graph, ranking), graph.relations.types.names, []
    for (word, code), share in given.items():
        if word == NOBODY or share < LEAST_SHARE or expected[word, code] < LEAST_WEIGHT:
            continue
        written = min(surface[word], key=lambda form: (-surface[word][form], form))
        mine = speaking[word, code]
        if code in known.claims(written) or len(np.unique(groups[mine])) < LEAST_GROUPS:
            continue
        found.append(LearnedWord(names[code], written, tuple(mine), holding[word]))
    return sorted(found, key=lambda one: (one.type, one.word))


def pairs_of(words: Iterable[LearnedWord]) -> list[tuple[str, str]]:
    """(type, word) of each."""
    return [(one.type, one.word) for one in words]


def at_random(graph: KnowledgeGraph, words: Sequence[LearnedWord], seed: int) -> list[tuple[str, str]]:
    """As many pairs: the same words, each for a relation type drawn at random."""
    random, names = np.random.default_rng(seed), graph.relations.types.names
    return [(names[int(random.integers(len(names)))], one.word) for one in words]


def gains_of_words(
    questions: GoldQuestions, pairs: Sequence[tuple[str, str]], rows: Rows, what: str
) -> Column:
    """(rows,) what these (type, word) pairs in the vocabulary gain for these questions."""
    if not pairs:
        return np.zeros(len(rows))
    answers = questions.ask(graph=with_words(questions.graph, pairs), rows=rows, what=what)
    return answers.values - questions.today.values[rows]
