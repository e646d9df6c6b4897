"""What `fix` accepts, what it refuses, and how much of it is chance.

    uv run python benchmarks/fixes.py                     # our hardsets, a PathQuestion-like set: two minutes
    uv run python benchmarks/fixes.py --described         # settings on described graphs, chosen on one half
    uv run python benchmarks/fixes.py --random    # what random words are accepted for, on all our sets
    uv run python benchmarks/fixes.py --data ../shared/data   # MetaQA and MuSiQue, too, where they are there

First, learned kinds: what is accepted with the gold set, and with words (or settings) drawn at random, which
must gain nothing. The PathQuestion-like set is made here (seed 1): people and places, relation types in words
of a database, two-step questions in words of people, about half of which the types' names do not hold.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.fixes import LEARNED_FROM, Fixes, figures_of, find_fixes
from tiny_graph_rag.fixing.patch import Figures
from tiny_graph_rag.fixing.vocabulary import gains_of_words
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.question_words import tokens, types_say_something, without_seeds
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.study.settings import question_groups
from tiny_graph_rag.study.trials import GoldQuestions

ROOT = Path(__file__).resolve().parent.parent
HARDSETS = ("conan-doyle-speckled-band", "김유정-동백꽃")
DESCRIBED = ("gothic-novels", "verne-voyages", "norse-myths", "korean-novels")
CONTROLS, RANDOM_WORDS = 20, 10
MEASURE = Measure("ndcg", 5)
# Relation type → how people ask for it. About half of the words share nothing with the type's name.
ASKED = {
    "parent": ("parent", "begetter", "forebear"),
    "spouse": ("spouse", "better half", "other half"),
    "place_of_birth": ("birthplace", "cradle", "native soil"),
    "place_of_death": ("deathbed site", "last breath spot", "place of death"),
    "profession": ("profession", "trade", "line of work"),
    "religion": ("religion", "creed", "church"),
    "nationality": ("nationality", "passport", "homeland"),
    "institution": ("institution", "alma mater", "schooling"),
    "sibling": ("sibling", "kin of the same litter", "womb mate"),
    "cause_of_death": ("cause of death", "undoing", "killer illness"),
    "ethnicity": ("ethnicity", "stock", "bloodline"),
    "employer": ("employer", "boss", "paymaster"),
}
TO_PEOPLE = ("parent", "spouse", "sibling", "employer")
SYLLABLES = ("ka", "lo", "mi", "ner", "tu", "vas", "el", "dor", "rin", "sha", "po", "gal")


def path_questions(count: int, seed: int = 1, people: int = 400) -> tuple[KnowledgeGraph, EvalSet]:
    """A graph of people, and so many two-step questions on it."""
    random = np.random.default_rng(seed)

    def name(syllables: int) -> str:
        return "".join(SYLLABLES[int(row)] for row in random.integers(len(SYLLABLES), size=syllables)).title()

    persons = list(dict.fromkeys(f"{name(2)} {name(3)}" for _ in range(people)))
    things = {
        type: list(dict.fromkeys(f"{name(3)} {name(2)}" for _ in range(25)))
        for type in ASKED
        if type not in TO_PEOPLE
    }
    triples = []
    for person in persons:
        for type in ASKED:
            choices = persons if type in TO_PEOPLE else things[type]
            target = choices[int(random.integers(len(choices)))]
            if target != person and random.random() < 0.8:
                triples.append((person, type, target))
    graph = KnowledgeGraph.from_triples(triples, name="path-questions")
    out = {(source, type): target for source, type, target in triples}
    asked: list[Example] = []
    while len(asked) < count:
        person = persons[int(random.integers(len(persons)))]
        first = TO_PEOPLE[int(random.integers(len(TO_PEOPLE)))]
        second = list(ASKED)[int(random.integers(len(ASKED)))]
        middle = out.get((person, first))
        answer = out.get((middle, second)) if middle else None
        if not answer or answer == person:
            continue
        words = [ASKED[type][int(random.integers(3))] for type in (second, first)]
        query = f"what is the {words[0]} of the {words[1]} of {person}?"
        asked.append(Example(f"q{len(asked)}", query, (answer,), seed_entities=(person,)))
    return graph, EvalSet(tuple(asked), name="path-questions")


def verdict_of(fixes: Fixes, kind: str) -> str:
    patch = fixes.patch
    accepted: Sequence[Figures] = patch.settings if kind == "settings" else patch.vocabulary
    refused = [entry for entry in patch.not_kept if entry.kind == kind]
    figures = accepted[0] if accepted else refused[0]
    verdict = "accepted" if accepted else f"refused: {'; '.join(entry.why for entry in refused)}"
    if figures.gain is None:
        return verdict
    control = "" if figures.control is None else f", random {figures.control:+.3f}"
    return f"{verdict}: held out {figures.gain:+.3f} [{figures.low:.3f}, {figures.high:.3f}]{control}"


def report(name: str, graph: KnowledgeGraph, examples: EvalSet, kinds: Sequence[str]) -> None:
    started = time.process_time()
    fixes = find_fixes(graph, examples, Config(), MEASURE, kinds)
    seconds = time.process_time() - started
    for kind in kinds:
        asked = f"{fixes.questions} / {fixes.groups}"
        print(f"| {name} | {asked} | {fixes.today:.3f} | {kind} | {verdict_of(fixes, kind)} |")
    print(f"|  |  |  | | {fixes.spent:.0f} evaluations, {seconds:.1f} CPU s |", flush=True)


def random_control(name: str, graph: KnowledgeGraph, examples: EvalSet) -> None:
    """Words of the questions for types drawn at random, as often as CONTROLS, by the same acceptance:
    what is accepted of them, and what it gains, a refused kind gaining nothing."""
    questions = GoldQuestions.with_references(graph, examples, Config(), MEASURE, allowed=float("inf"))
    groups = question_groups(questions.examples.examples, questions.judgments)
    words = sorted(
        {word for one in questions.today.linked for word in tokens(without_seeds(one))[0].values()}
    )
    types = graph.relations.types.names
    gains, accepted = [], 0
    for seed in range(CONTROLS):
        random = np.random.default_rng(seed)
        drawn = random.choice(words, size=min(RANDOM_WORDS, len(words)), replace=False).tolist()
        pairs = [(types[int(random.integers(len(types)))], str(word)) for word in drawn]
        differences = gains_of_words(questions, pairs, questions.rows, "")
        found = figures_of(differences, groups)
        holds = found.holds and len(np.unique(groups)) >= LEARNED_FROM
        accepted += holds
        gains.append(float(differences.mean()) if holds else 0.0)
    print(f"| {name} | {CONTROLS} × {RANDOM_WORDS} | {accepted} | {np.mean(gains):+.4f} |", flush=True)


def our_sets() -> Iterator[tuple[str, KnowledgeGraph, EvalSet]]:
    for name in HARDSETS:
        graph = read_graph(ROOT / "data" / "kg" / f"{name}-KG.json", None, lambda text: None)
        for kind in ("eval", "hardset"):
            yield f"{name}-{kind}", graph, read_eval_set(ROOT / "data" / "eval" / f"{name}-{kind}.jsonl")
    for name in DESCRIBED:
        graph = read_graph(ROOT / "benchmarks" / f"{name}-KG.json", None, lambda text: None)
        if types_say_something(graph):
            yield name, graph, read_eval_set(ROOT / "benchmarks" / f"{name}-eval.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=(25, 50, 100, 200))
    options = parser.parse_args()
    if options.random:
        print("| set | random words | accepted | accepted gain |")
        print("|---|---|---:|---:|")
        for name, graph, examples in (*our_sets(), ("PathQuestion-like", *path_questions(100))):
            random_control(name, graph, examples)
        return
    print("| set | questions / groups | nDCG@5 | kind | verdict |")
    print("|---|---:|---:|---|---|")
    for name in HARDSETS:
        graph = read_graph(ROOT / "data" / "kg" / f"{name}-KG.json", None, lambda text: None)
        examples = read_eval_set(ROOT / "data" / "eval" / f"{name}-hardset.jsonl")
        report(name, graph, examples, ("vocabulary", "settings"))
    for size in options.sizes:
        graph, examples = path_questions(size)
        report("PathQuestion-like", graph, examples, ("vocabulary",))
    if options.data is not None:
        folder = options.data / "metaqa"
        graph = read_graph(folder / "metaqa-KG.json", None, lambda text: None)
        examples = read_eval_set(folder / "metaqa-2hop-eval.jsonl")
        step = len(examples) // 200
        spread = replace(examples, examples=examples.examples[::step])
        report("MetaQA 2 hops", graph, spread, ("vocabulary",))


if __name__ == "__main__":
    main()
