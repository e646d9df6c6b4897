"""What is accepted, what is refused, and that a group never stands on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fixing.made import WORDS, world
from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.fixes import INTERRUPTED, USED_UP, figures_of, find_fixes
from tiny_graph_rag.fixing.vocabulary import QuestionEvidence, learn
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.study.choosing import FOLDS, REPEATS, held_out, splits
from tiny_graph_rag.study.recommend import likenesses
from tiny_graph_rag.study.settings import candidates, question_groups
from tiny_graph_rag.study.trials import BudgetSpent, GoldQuestions

NDCG = Measure("ndcg", 5)


def groups_of(*examples: Example) -> list[int]:
    graph = KnowledgeGraph.from_triples([("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", "Rex")])
    judgments = resolve(EvalSet(examples), NameIndex.of(graph), len(graph))
    return question_groups(examples, judgments, likenesses(examples)).tolist()


def test_the_same_references_or_nearly_the_same_words_are_one_group() -> None:
    found = groups_of(
        Example("a", "Whom does Anna know?", ("Bert",)),
        Example("b", "Which friend has she?", ("Bert",)),
        Example("c", "What does Bert own, pray?", ("Rex",)),
        Example("d", "What does Bert own, prays?", ("Anna", "Rex")),
        Example("e", "Something else entirely", ("Nobody",), group="g"),
        Example("f", "Nothing like it", ("Anna",), group="g"),
    )
    assert found[::2] == found[1::2]
    assert len(set(found)) == 3


def test_every_question_is_held_out_once_a_repeat_and_its_group_with_it() -> None:
    groups = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 6])
    parts = splits(groups, seed=3)
    assert len(parts) == FOLDS * REPEATS
    held = np.zeros(len(groups))
    for chosen_on, out in parts:
        assert not set(groups[chosen_on]) & set(groups[out])
        held[out] += 1
    assert (held == REPEATS).all()


def test_held_out_gains_come_from_choices_made_without_the_question() -> None:
    """A choice that remembers its own questions gains 1 on each of them and nothing on any other."""
    groups = np.arange(40)
    assert held_out(groups, 0, lambda rows, out: np.isin(out, rows).astype(float)).sum() == 0.0


def test_a_gain_that_all_questions_share_holds_and_that_of_one_group_does_not() -> None:
    gains = np.full(60, 0.2)
    assert figures_of(gains, np.arange(60)).holds
    assert not figures_of(gains, np.zeros(60, dtype=np.int64)).holds


def test_chance_is_not_accepted() -> None:
    random = np.random.default_rng(5)
    accepted = sum(
        figures_of(random.normal(0, 0.3, 60), np.arange(60)).holds for _ in range(200)
    )  # half of what a 95 % interval leaves out lies below: 2.5 % of 200 are 5
    assert accepted <= 12


def test_every_candidate_changes_something() -> None:
    listed = list(candidates(Config(), seeds_answer=False))
    assert len(listed) >= 20
    assert {} not in listed
    assert all(Config().replaced(values) != Config() for values in listed)


def test_words_are_learned_where_two_groups_say_them_and_a_seed_is_none() -> None:
    graph, _ = world(4)
    codes = {name: code for code, name in enumerate(graph.relations.types.names)}
    fillers = ("nice", "old", "dear")
    evidence: list[QuestionEvidence | None] = [
        QuestionEvidence({word: word, filler: filler}, (codes[type],))
        for type, word in WORDS.items()
        for filler in fillers
    ]
    rows = range(len(evidence))
    learned = learn(graph, evidence, np.arange(len(evidence)), rows, Config().ranking)
    # Each filler stands with every type alike, each word with its own type three times.
    assert [(one.type, one.word, one.holding) for one in learned] == [
        (type, WORDS[type], 3) for type in sorted(WORDS)
    ]
    # What the list of synonyms knows is not learned: mother for PARENT.
    parent = QuestionEvidence({"mother": "mother"}, (codes["PARENT"],))
    assert learn(graph, [parent] * 3, np.arange(3), range(3), Config().ranking) == []
    # Paraphrases of one question are one group, and one group is not enough.
    paraphrases = np.repeat(np.arange(4), 3)
    assert learn(graph, evidence, paraphrases, rows, Config().ranking) == []


def test_words_that_hold_on_other_questions_are_accepted_and_random_ones_gain_nothing() -> None:
    graph, examples = world()
    fixes = find_fixes(graph, examples, Config(), NDCG, ("vocabulary",))
    found = fixes.patch.vocabulary[0]
    assert {(entry.type, *entry.words) for entry in fixes.patch.vocabulary} == set(WORDS.items())
    assert found.holds
    assert found.gain == pytest.approx(1 - 0.487, abs=0.001)
    assert found.control is not None
    assert found.control < 0.1
    assert fixes.spent <= 60


def test_with_a_holdout_the_other_questions_decide() -> None:
    graph, examples = world(80)
    half = EvalSet(examples.examples[:40]), EvalSet(examples.examples[40:])
    fixes = find_fixes(graph, half[0], Config(), NDCG, ("vocabulary",), holdout=half[1])
    assert fixes.patch.vocabulary[0].n == 40


def test_few_questions_teach_nothing() -> None:
    graph, examples = world(20)
    fixes = find_fixes(graph, examples, Config(), NDCG, ("vocabulary",))
    assert not fixes.patch.vocabulary
    assert "too few groups of questions (20 of" in fixes.patch.not_kept[0].why


def test_used_up_evaluations_leave_what_is_known() -> None:
    graph, examples = world()
    fixes = find_fixes(graph, examples, Config(), NDCG, ("vocabulary", "settings"), allowed=3)
    assert fixes.stopped == USED_UP
    assert fixes.spent <= 3.001
    assert fixes.today > 0
    questions = GoldQuestions.with_references(graph, examples, Config(), NDCG, allowed=1)
    questions.ask()
    with pytest.raises(BudgetSpent):
        questions.ask()


def test_ctrl_c_leaves_what_is_known() -> None:
    graph, examples = world()

    def press(spent: float, what: str) -> None:
        if "--hops" in what:
            raise KeyboardInterrupt

    fixes = find_fixes(graph, examples, Config(), NDCG, ("vocabulary", "settings"), progress=press)
    assert fixes.stopped == INTERRUPTED
    assert fixes.patch.vocabulary
    assert not fixes.patch.settings
