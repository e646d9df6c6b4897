"""Values of measures, a second time: by plain loops over lists that share nothing with this program, and by
every other program that is installed.

    uv run python -m tests.tools.independent_values              # loops, pytrec_eval, scipy: 200,000 values
    uv run --with ranx --with scikit-learn python -m tests.tools.independent_values

Random runs and gold sets with graded references, judged-irrelevant and unjudged entities, equal scores, odd
ids, questions without gold, empty lists and questions that the run lacks. They are scored in memory and, as
files, by the command `score`. Prints how many values each program compared, and every difference.
"""

from __future__ import annotations

import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from tests.conftest import ROOT
from tiny_graph_rag.measures import parse_measures
from tiny_graph_rag.measures.paired import randomisation_p
from tiny_graph_rag.measures.statistics import wilson
from tiny_graph_rag.scoring.frames import judged_dicts

Ranking = list[str] | None  # None: the run lacks the question
Grades = dict[str, int]
Gold = dict[str, Grades]
Scored = dict[str, dict[str, float]]  # question → entity → score
Values = dict[str, dict[str, float]]  # measure → question → value
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
    found[f"contest_map@{k}"] = NAN if failed else ap(first, hits) if good else float(not names)
    return found


class Tally:
    """How many values each program compared, and every one that differs."""

    def __init__(self) -> None:
        self.compared: Counter[str] = Counter()
        self.wrong: list[str] = []

    def compare(self, program: str, what: str, ours: float, theirs: float, within: float = 1e-9) -> None:
        self.compared[program] += 1
        if not (math.isnan(ours) and math.isnan(theirs)) and not abs(ours - theirs) <= within:
            self.wrong.append(f"{what}: {ours}, and by {program} {theirs}")

    def compare_all(self, program: str, what: str, ours: Values, theirs: Values) -> None:
        for measure, column in theirs.items():
            for question, value in column.items():
                self.compare(program, f"{measure} of {question} ({what})", ours[measure][question], value)


def in_memory(seed: int, questions: int, tally: Tally) -> None:
    """Dictionaries, with empty lists and questions without gold, against the loops."""
    chance, k = random.Random(seed), random.Random(seed).choice((1, 3, 5, 10))
    every = [f"d{place}" for place in range(30)]
    gold: Gold = {}
    run: Scored = {}
    for number in range(questions):
        sizes = chance.choice((0, 1, 2, 5)), chance.choice((0, 0, 3))
        judged = chance.sample(every, sum(sizes))
        gold[f"q{number}"] = {
            name: chance.choice((1, 1, 2, 3)) if place < sizes[0] else 0 for place, name in enumerate(judged)
        }
        if chance.random() > 0.2:
            ranking = chance.sample(every, chance.choice((0, 1, 4, 12, 30)))
            run[f"q{number}"] = {name: -float(place) for place, name in enumerate(ranking)}
    expected = [values(list(run[q]) if q in run else None, gold[q], k) for q in gold]
    scored = judged_dicts(run, gold)
    for measure in parse_measures(",".join(expected[0])):
        for question, value in enumerate(measure.compute(scored).tolist()):
            what = f"{measure} of q{question} (seed {seed})"
            tally.compare("loops, in memory", what, value, expected[question][str(measure)], 1e-12)


ODD = ("d%20e", "Ünïcode", "가나-1", "a:b/c", "'quote'", '"q"', "0", "-1", "1e5", "NaN", "null", "#x", "z～e")
CUTOFFS = (1, 2, 5, 10, 100)
ALIKE = (0.0, 0.0, 1e-9)  # added to a score of 1/8 or more it makes another number, and none of 32 bits


def files(seed: int, questions: int) -> tuple[Gold, Scored]:
    """A gold set and a run with equal scores, some as 32-bit numbers alone, such as TREC files can hold."""
    chance = random.Random(seed)
    every = [*ODD, *(f"d{place}" for place in range(40))]
    gold: Gold = {}
    run: Scored = {}
    for number in range(questions):
        question = chance.choice(("q{}", "질문-{}", "q%20{}", "{}")).format(number)
        relevant, irrelevant = chance.choice((1, 1, 3, 9)), chance.choice((0, 0, 4))
        judged = chance.sample(every, relevant + irrelevant)
        gold[question] = {
            name: chance.choice((1, 1, 2, 3)) if place < relevant else 0 for place, name in enumerate(judged)
        }
        if chance.random() > 0.1:
            coarse = chance.choice((2, 5, 1000))
            ranking = chance.sample(every, chance.choice((1, 3, 7, 20, len(every))))
            run[question] = {name: chance.randrange(coarse) / 8 + chance.choice(ALIKE) for name in ranking}
    return gold, run


def order(scores: dict[str, float]) -> list[str]:
    """Best first; of equal scores (as 32-bit numbers) the last id, as trec_eval sorts."""

    def key(name: str) -> tuple[float, bytes]:
        return struct.unpack("f", struct.pack("f", scores[name]))[0], name.encode()

    return sorted(scores, key=key, reverse=True)


def by_command(gold: Gold, run: Scored, measures: list[str], folder: Path) -> Values:
    """What `score` writes for these files."""
    run_file, gold_file, output = folder / "run.trec", folder / "gold.qrels", folder / "results.json"
    run_file.write_text(
        "".join(f"{q} Q0 {d} 0 {score} me\n" for q, row in run.items() for d, score in row.items()), "utf-8"
    )
    gold_file.write_text(
        "".join(f"{q} 0 {d} {grade}\n" for q, row in gold.items() for d, grade in row.items()), "utf-8"
    )
    command = [sys.executable, "main.py", "score", "--run", str(run_file), "--gold", str(gold_file)]
    command += ["--measures", ",".join(measures), "--ties", "trec", "-o", str(output), "--quiet"]
    subprocess.run(command, cwd=ROOT, check=True)
    found: Values = {name: {} for name in measures}
    written = {unquote(question): question for question in gold}  # white space is encoded in TREC files
    for result in json.loads(output.read_text("utf-8"))["results"]:
        for name, value in result["metrics"].items():
            found[name][written[result["id"]]] = NAN if value is None else value
    return found


def by_loops(gold: Gold, run: Scored) -> Values:
    found: Values = {}
    for question, grades in gold.items():
        for k in CUTOFFS:
            ranking = order(run[question]) if question in run else None
            for name, value in values(ranking, grades, k).items():
                found.setdefault(name, {})[question] = value
    return found


def whole(found: Values, gold: Gold) -> Values:
    """0 for the questions that a program leaves out, as `trec_eval -c` averages."""
    return {name: {q: column.get(q, 0.0) for q in gold} for name, column in found.items()}


def by_pytrec_eval(gold: Gold, run: Scored) -> Values:
    import pytrec_eval

    cut = {"precision": "P", "recall": "recall", "hit": "success", "ndcg": "ndcg_cut", "map": "map_cut"}
    names = {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in cut.items() for k in CUTOFFS}
    names |= {"mrr": "recip_rank", "map": "map", "ndcg": "ndcg", "rprec": "Rprec", "bpref": "bpref"}
    names["set_f1"] = "set_F"
    asked = {f"{theirs}.{','.join(map(str, CUTOFFS))}" for theirs in cut.values()}
    asked |= {"recip_rank", "map", "ndcg", "Rprec", "bpref", "set_F"}
    found = pytrec_eval.RelevanceEvaluator(gold, asked).evaluate(run)
    return whole({ours: {q: row[name] for q, row in found.items()} for ours, name in names.items()}, gold)


def by_ranx(gold: Gold, run: Scored) -> Values:
    """The same order given as scores without ties; empty runs are not for it."""
    from ranx import Qrels, Run, evaluate

    cut = {name: name for name in ("precision", "recall", "f1", "mrr", "map", "ndcg")}
    cut |= {"hit": "hit_rate", "ndcg_exp": "ndcg_burges"}
    names = {f"{ours}@{k}": f"{theirs}@{k}" for k in CUTOFFS for ours, theirs in cut.items()}
    names |= {"mrr": "mrr", "map": "map", "ndcg": "ndcg", "rprec": "r-precision"}
    ranked = {q: {d: -float(place) for place, d in enumerate(order(row))} for q, row in run.items()}
    scores = Run(ranked)
    evaluate(Qrels({q: gold[q] for q in run}), scores, list(dict.fromkeys(names.values())))
    # Its rbp multiplies by the grade, where its documentation and the paper have 0 or 1.
    plain = {q: {d: int(grade > 0) for d, grade in gold[q].items()} for q in run}
    evaluate(Qrels(plain), scores, ["rbp.80"])
    return whole(
        {ours: dict(scores.scores[name]) for ours, name in (names | {"rbp": "rbp.80"}).items()}, gold
    )


def by_scikit_learn(gold: Gold, run: Scored) -> Values:
    """ndcg_score over returned, padding and missed entities; the measures of sets over all of them."""
    from sklearn.metrics import f1_score, ndcg_score, precision_score, recall_score

    found: Values = {}
    for question, grades in gold.items():
        ranking = order(run.get(question, {}))
        missed = [name for name in grades if name not in ranking]
        line = [*ranking, *(f" {place}" for place in range(max(CUTOFFS))), *missed]
        gains = np.array([grades.get(name, 0) for name in line])
        below = -np.arange(len(line), dtype=float)
        for k in CUTOFFS:
            for name, gain in (("ndcg", gains), ("ndcg_exp", 2**gains - 1)):
                value = ndcg_score([gain], [below], k=k, ignore_ties=True)
                found.setdefault(f"{name}@{k}", {})[question] = float(value)
            returned = np.array([name in ranking[:k] for name in line])
            sets = (("set_precision", precision_score), ("recall", recall_score), ("set_f1", f1_score))
            for name, measured in sets:
                value = measured(gains > 0, returned, zero_division=0)
                found.setdefault(f"{name}@{k}", {})[question] = float(value)
    return found


PROGRAMS: dict[str, tuple[str, Callable[[Gold, Scored], Values]]] = {
    "loops": ("json", by_loops),
    "pytrec_eval": ("pytrec_eval", by_pytrec_eval),
    "ranx": ("ranx", by_ranx),
    "scikit-learn": ("sklearn", by_scikit_learn),
}


def programs() -> Iterator[tuple[str, Callable[[Gold, Scored], Values]]]:
    for name, (module, peer) in PROGRAMS.items():
        if find_spec(module):
            yield name, peer


def as_files(seed: int, questions: int, tally: Tally) -> None:
    """TREC files through the command, against every program that is installed."""
    gold, run = files(seed, questions)
    theirs = {name: peer(gold, run) for name, peer in programs()}
    measures = list(dict.fromkeys(measure for found in theirs.values() for measure in found))
    with tempfile.TemporaryDirectory() as folder:
        ours = by_command(gold, run, measures, Path(folder))
    for name, found in theirs.items():
        tally.compare_all(name, f"files of seed {seed}", ours, found)


def figures(seed: int, tally: Tally) -> None:
    """p values and intervals against scipy."""
    from scipy import stats

    random = np.random.default_rng(seed)
    for n in (2, 3, 7, 12, 40, 200):
        changes = np.round(random.normal(0.05, 0.3, n), int(random.integers(1, 4)))
        what = f"{n} differences, seed {seed}"
        if n <= 7 and (changes != 0).all():
            how = {"permutation_type": "samples", "n_resamples": np.inf, "alternative": "two-sided"}
            test = stats.permutation_test((changes,), np.mean, **how)
            tally.compare("scipy", f"signs of {what}", randomisation_p(changes, seed=0), test.pvalue)
        hits = int(random.integers(0, n + 1))
        ends = stats.binomtest(hits, n).proportion_ci(method="wilson")
        for mine, end in zip(wilson(hits, n), ends, strict=True):
            tally.compare("scipy", f"Wilson of {hits} in {n}", mine, float(end))


def main() -> int:
    tally = Tally()
    for seed in range(60):
        in_memory(seed, 100, tally)
    for seed in range(12):
        as_files(seed, 120, tally)
    for seed in range(200):
        figures(seed, tally)
    print(*tally.wrong, sep="\n", end="\n" if tally.wrong else "")
    for program, count in tally.compared.items():
        print(f"{program}: {count:,} values compared")
    print(f"{tally.compared.total():,} values compared, {len(tally.wrong):,} differ")
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
