"""What choosing a setting by its mean loses, and how often one of several equal settings is claimed better.

    uv run python benchmarks/choosing.py --data ../shared/data   # 10 minutes; without MetaQA and MuSiQue 3
    uv run python benchmarks/choosing.py --only equal

Choosing is measured by bootstrap: on each set a sample of its question groups chooses, and what the choice
loses is taken on all questions, which stand for the truth. Claiming is simulated: nDCG@5 of single-reference
questions under settings that are equal in truth and independent.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.library import load_graph, load_questions
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.study.choosing import cheapest, choose
from tiny_graph_rag.study.settings import HOPS, candidates, label_of, question_groups, try_settings
from tiny_graph_rag.study.trials import GoldQuestions

ROOT = Path(__file__).parents[1]
SIZES = (54, 100, 150, 300)
SCORES = np.array([1.0, 0.6309, 0.5, 0.4307, 0.3869, 0.0])
SHARES = np.array([0.5, 0.12, 0.08, 0.04, 0.02, 0.24])
MOST_QUESTIONS = 300
SETS = {
    "English eval": ("data/eval/conan-doyle-speckled-band-eval.jsonl", "conan-doyle-speckled-band"),
    "English hardset": ("data/eval/conan-doyle-speckled-band-hardset.jsonl", "conan-doyle-speckled-band"),
    "Korean eval": ("data/eval/김유정-동백꽃-eval.jsonl", "김유정-동백꽃"),
    "Korean hardset": ("data/eval/김유정-동백꽃-hardset.jsonl", "김유정-동백꽃"),
    "verne": ("benchmarks/verne-voyages-eval.jsonl", "verne-voyages"),
    "gothic": ("benchmarks/gothic-novels-eval.jsonl", "gothic-novels"),
    "korean-novels": ("benchmarks/korean-novels-eval.jsonl", "korean-novels"),
    "norse": ("benchmarks/norse-myths-eval.jsonl", "norse-myths"),
    "appliances": ("benchmarks/home-appliances-eval.jsonl", "benchmarks/home-appliances"),
    "musique": ("musique-openie/musique-openie-eval.jsonl", "musique-openie/musique-openie-KG.json"),
    **{
        f"MetaQA {hops}-hop": (f"metaqa/metaqa-{hops}hop-eval.jsonl", "metaqa/metaqa-KG.json")
        for hops in (1, 2, 3)
    },
}
KINDS = {
    "hops": ({"hops"},),
    "retrievers": ({"retriever"},),
    "retrievers, hops": ({"hops"}, {"retriever"}, {"retriever", "hops"}),
    "without seeds, hops": ({"hops"}, {"exclude_seeds"}, {"exclude_seeds", "hops"}),
}
LARGE = 20_000  # entities from which pagerank takes minutes


def found(questions: str, graph: str, data: Path) -> tuple[Path, Path]:
    """The files of a set: of this repository, or in `data`."""
    if not (ROOT / questions).exists():
        return data / questions, data / graph
    graphs = (ROOT / f"data/kg/{graph}-KG.json", ROOT / f"benchmarks/{graph}-KG.json", ROOT / graph)
    return ROOT / questions, next(path for path in graphs if path.exists())


def measured(data: Path) -> Iterator[tuple[str, list[dict[str, object]], np.ndarray, np.ndarray]]:
    """(set, settings, their nDCG@5 a question, groups) of each set that is there."""
    for name, files in SETS.items():
        gold, path = found(*files, data)
        if not gold.exists():
            continue
        graph, examples = load_graph(str(path)), load_questions(str(gold))
        step = max(1, len(examples) // MOST_QUESTIONS)
        examples = replace(examples, examples=examples.examples[::step][:MOST_QUESTIONS])
        asked = GoldQuestions.with_references(graph, examples, Config(), Measure("ndcg", 5), allowed=1e9)
        wanted = [set_ for kind in KINDS.values() for set_ in kind]
        listed = [
            values
            for values in candidates(Config(), seeds_answer=False)
            if set(values) in wanted and not (len(graph) > LARGE and values.get("retriever") == "pagerank")
        ]
        tried = try_settings(asked, listed)
        table = np.stack([setting.answers.values for setting in tried])
        groups = question_groups(asked.examples.examples, asked.judgments)
        yield name, [setting.settings for setting in tried], table, groups


def lost(table: np.ndarray, costs: Sequence[tuple[str, float]], groups: np.ndarray, samples: int) -> float:
    """Mean loss of what samples of the groups choose, against the best of all questions."""
    random = np.random.default_rng(len(table) * 1000 + table.shape[1])
    size = int(groups.max()) + 1
    sums = np.stack([np.bincount(groups, weights=row, minlength=size) for row in table])
    counts = np.bincount(groups, minlength=size)
    truth, losses = table.mean(axis=1), []
    for _ in range(samples):
        drawn = random.integers(0, size, size)
        means = sums[:, drawn].sum(axis=1) / counts[drawn].sum()
        losses.append(float(truth.max() - truth[cheapest(means, costs)]))
    return float(np.mean(losses))


def choices(samples: int, data: Path) -> None:
    print("mean nDCG@5 lost by the choice, of so many settings\n")
    print("| set | questions | " + " | ".join(KINDS) + " |")
    print("|---|---:|" + "---:|" * len(KINDS))
    every: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for name, settings, table, groups in measured(data):
        cells = []
        for kind, wanted in KINDS.items():
            rows = [row for row, values in enumerate(settings) if not values or set(values) in wanted]
            costs = [
                (
                    label_of({key: value for key, value in settings[row].items() if key != "hops"}),
                    float(str(settings[row].get("hops", HOPS[1]))),
                )
                for row in rows
            ]
            loss = lost(table[rows], costs, groups, samples)
            every[kind].append(loss)
            cells.append(f"{loss:.4f} ({len(rows)})")
        print(f"| {name} | {table.shape[1]} | " + " | ".join(cells) + " |", flush=True)
    means = (f"{np.mean(losses):.4f}, {max(losses):.4f}" for losses in every.values())
    print("| mean, worst | | " + " | ".join(means) + " |")


def equal(simulations: int, settings: int = 25) -> None:
    print(f"\n% of {simulations} choices of {settings} equal settings that are certain to beat today's; mean")
    print("gain in sample and as expected on other questions (the truth is 0)\n")
    print("| n | certain | in sample | expected |\n|---|---:|---:|---:|")
    for questions in SIZES:
        certain, gains, expected = 0, 0.0, 0.0
        for number in range(simulations):
            random = np.random.default_rng([questions, number])
            table = SCORES[random.choice(len(SCORES), size=(settings, questions), p=SHARES)]
            choice = choose(table, [(str(row), 0.0) for row in range(settings)], 0, seed=number)
            certain += choice.certain and choice.setting != 0
            gains += float(table[choice.setting].mean() - table[0].mean())
            expected += choice.expected
        shares = (100 * certain / simulations, gains / simulations, expected / simulations)
        print(f"| {questions} | {shares[0]:.1f} % | {shares[1]:+.3f} | {shares[2]:+.3f} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--samples", type=int, default=400)
    options.add_argument("--simulations", type=int, default=300)
    options.add_argument("--data", type=Path, default=ROOT, help="folder of musique-openie and metaqa")
    options.add_argument("--only", default="", help="choices or equal")
    given = options.parse_args()
    if given.only in ("", "choices"):
        choices(given.samples, given.data)
    if given.only in ("", "equal"):
        equal(given.simulations)


if __name__ == "__main__":
    main()
