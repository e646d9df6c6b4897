"""Values of measures, a second time: by plain loops over lists that share nothing with this program.

    uv run python -m tests.tools.independent_values              # 100,000 values and more, half a minute

Random runs and gold sets with graded references, judged-irrelevant entities, questions without gold, empty
lists and questions that the run lacks. Prints how many values were compared, and every difference.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable

from tiny_graph_rag.measures import parse_measures
from tiny_graph_rag.scoring.frames import judged_dicts

Ranking = list[str] | None  # None: the run lacks the question
Grades = dict[str, int]
NAN = math.nan


def dcg(grades: list[int]) -> float:
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades))


def ap(flags: list[bool], divisor: int) -> float:
    hits, total = 0, 0.0
    for rank, flag in enumerate(flags, start=1):
        hits += flag
        total += hits / rank if flag else 0.0
    return total / divisor if divisor else 0.0


def values(ranking: Ranking, gold: Grades, k: int) -> dict[str, float]:
    """Every measure of one question; the worst value where the run lacks it."""
    failed, names = ranking is None, ranking or []
    good = {name: grade for name, grade in gold.items() if grade > 0}
    bad = {name for name, grade in gold.items() if grade == 0}
    flags = [name in good for name in names]
    first, hits = flags[:k], sum(flags[:k])
    rank = next((place for place, flag in enumerate(flags, start=1) if flag), 0)
    best = sorted(good.values(), reverse=True)
    found = {
        f"precision@{k}": hits / k,
        f"recall@{k}": hits / max(len(good), 1),
        f"f1@{k}": 2 * hits / (len(good) + k),
        f"hit@{k}": float(hits > 0),
        f"all_hit@{k}": float(hits == len(good)),
        "mrr": 1 / rank if rank else 0.0,
        "map": ap(flags, len(good)),
        f"map@{k}": ap(first, len(good)),
        f"map_hits@{k}": ap(first, hits),
        "rprec": sum(flags[: len(good)]) / max(len(good), 1),
        f"ndcg@{k}": dcg([good.get(name, 0) for name in names[:k]]) / (dcg(best[:k]) or 1),
        "ndcg": dcg([good.get(name, 0) for name in names]) / (dcg(best) or 1),
        "rbp": 0.2 * sum(0.8**place for place, flag in enumerate(flags) if flag),
        f"micro_precision@{k}": hits / min(len(names), k) if names else (0.0 if failed else NAN),
        f"set_precision@{k}": hits / min(len(names), k) if names else 0.0,
    }
    if not good:
        found = dict.fromkeys(found, NAN)
    found[f"judged_bad@{k}"] = (1.0 if failed else sum(name in bad for name in names[:k]) / k) if bad else NAN
    found["no_answer_accuracy"] = NAN if good else float(not failed and not names)
    found[f"contest_map@{k}"] = ap(first, hits) if good else float(not failed and not names)
    return found


def compare(seed: int, questions: int, say: Callable[[str], object]) -> tuple[int, int]:
    """How many values were compared, and how many differ."""
    chance, k = random.Random(seed), random.Random(seed).choice((1, 3, 5, 10))
    gold: dict[str, Grades] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(questions):
        every = [f"d{place}" for place in range(30)]
        sizes = chance.choice((0, 1, 2, 5)), chance.choice((0, 0, 3))
        judged = chance.sample(every, sum(sizes))
        gold[f"q{number}"] = {
            name: chance.choice((1, 1, 2, 3)) if place < sizes[0] else 0 for place, name in enumerate(judged)
        }
        if chance.random() > 0.2:
            ranking = chance.sample(every, chance.choice((0, 1, 4, 12, 30)))
            run[f"q{number}"] = {name: -float(place) for place, name in enumerate(ranking)}
    expected = [values(list(run[q]) if q in run else None, gold[q], k) for q in gold]
    judged = judged_dicts(run, gold)
    compared = wrong = 0
    for measure in parse_measures(",".join(expected[0])):
        for question, value in enumerate(measure.compute(judged).tolist()):
            want = expected[question][str(measure)]
            compared += 1
            if not (math.isnan(want) and math.isnan(value)) and not abs(want - value) <= 1e-12:
                wrong += 1
                say(f"{measure} of q{question} (seed {seed}): {value}, and by loops {want}")
    return compared, wrong


def main() -> int:
    compared = wrong = 0
    for seed in range(60):
        some, differ = compare(seed, 100, print)
        compared, wrong = compared + some, wrong + differ
    print(f"{compared:,} values compared, {wrong:,} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
