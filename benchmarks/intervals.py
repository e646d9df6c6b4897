"""How often 95 % intervals hold the truth: simulated samples of known truth, as evaluations meet them.

    uv run python benchmarks/intervals.py                 # every cell, 4,000 samples each: four minutes
    uv run python benchmarks/intervals.py --only difference --samples 2000

A cell is a kind of sample (scores of one system, pooled counts, differences of two systems, paraphrases of
one question); it is drawn at each size, and the table says in how many of the samples the interval held the
true mean, in percent: percentile bootstrap of single questions (2,000 draws) / this program's interval.
`unmarked` is the same for the samples that the program doesn't mark with `?`, and their share.
`tests` is how often signs that flip give p < .05, and how often `compare` calls the systems different;
`false positives` the same of paraphrases of one question, where the systems are equal. `monotone` is how
often a question that scores less raises the low end, and by how much at most.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures.paired import difference_p, interval, randomisation_p
from tiny_graph_rag.measures.statistics import mean_of

SIZES = (20, 30, 54, 100, 200, 500)
SIZES_NAMED = [f"n = {n}" for n in SIZES]
LEVEL = 0.07  # of equal systems called different
RESAMPLES, BOOTSTRAPPED = 2000, 500  # draws of the bootstrap; samples that it is tried on
SINGLE_REFERENCE = (1.0, 0.6309, 0.5, 0.4307, 0.3869, 0.0)  # nDCG@5 by rank, missed last
LOSSES = np.array([1.0, 0.5, 0.37, 0.67])
EQUAL_BUT_SKEWED = ((0.05, 0.4, 0.02), (0.1, 0.4, 0.04), (0.1, 0.2, 0.02))  # gain, how often, loses 1

Table = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], tuple[Table, Table | None]]


@dataclass(frozen=True)
class Cell:
    """draw: (random, samples, n) → values and weights, (samples, n) each. kind: `mean` or `difference`.
    per_group: questions that are paraphrases of one. true: the mean where it is known, else it is drawn."""

    name: str
    draw: Draw
    kind: str = "mean"
    per_group: int = 1
    true: float | None = None


def cells() -> Iterator[Cell]:
    for value, often in ((1.0, 0.98), (0.2, 0.98), (0.2, 0.9), (0.2, 0.5)):
        yield Cell(f"two values {{0, {value:g}}}, p = {often:g}", _two_valued(value, often))
    yield Cell("nDCG near 1, 3 % misses", _choice((1.0, 0.92, 0.0), (0.8, 0.17, 0.03)), true=0.9564)
    yield Cell("nDCG near 1, 2 % misses", _choice((1.0, 0.92, 0.0), (0.8, 0.18, 0.02)), true=0.9656)
    yield Cell("nDCG mostly .92, 3 % misses", _choice((0.92, 1.0, 0.0), (0.8, 0.17, 0.03)), true=0.906)
    yield Cell("nDCG of many values, 2 % misses", _graded(0.02))
    yield Cell("rare hits: 3 % score 1, 17 % .08", _choice((0.0, 0.08, 1.0), (0.8, 0.17, 0.03)), true=0.0436)
    yield Cell("precision@5, 3 % have five references", _of_five, true=0.95 * (0.03 + 0.97 * 0.2))
    yield Cell("nDCG@5, 90 % at rank 1", _choice(SINGLE_REFERENCE, (0.9, 0.04, 0.02, 0.01, 0.01, 0.02)))
    yield Cell("nDCG@5, 95 % at rank 1", _choice(SINGLE_REFERENCE, (0.95, 0.03, 0.01, 0.005, 0.0, 0.005)))
    yield Cell("nDCG@5, 60 % at rank 1", _choice(SINGLE_REFERENCE, (0.6, 0.12, 0.08, 0.04, 0.02, 0.14)))
    yield Cell("MRR, 25 % found", _choice((1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 0), (0.05,) * 5 + (0.75,)))
    yield Cell("recall@5, 1 to 3 references, .95", _recall(0.95))
    yield Cell("recall@5, 1 to 3 references, .6", _recall(0.6))
    yield Cell("even, between 0 and 1", lambda random, samples, n: (random.beta(4, 4, (samples, n)), None))
    for often in (0.98, 0.95, 0.6):
        yield Cell(f"micro recall {often:g}", _pooled(often, _geometric))
    yield Cell("micro precision .2, five each", _pooled(0.2, lambda random, shape: np.full(shape, 5)))
    yield Cell("micro recall .95, few questions weigh most", _pooled(0.95, _heavy))
    yield Cell("difference, 2 % lose 1", _moved(0.02, 0, LOSSES[:1]), "difference", true=-0.02)
    yield Cell("difference, 2 % lose some", _moved(0.02, 0, LOSSES), "difference")
    yield Cell("difference, 5 % lose 1", _moved(0.05, 0, LOSSES[:1]), "difference", true=-0.05)
    yield Cell("difference, 2 % lose, 2 % win", _moved(0.02, 0.02, LOSSES[:2]), "difference", true=0)
    yield Cell("difference, 10 % lose, 5 % win", _moved(0.10, 0.05, LOSSES), "difference")
    yield Cell("difference, 20 % lose, 20 % win", _moved(0.20, 0.20, LOSSES), "difference", true=0)
    yield Cell(
        "difference, normal",
        lambda random, samples, n: (random.normal(0.05, 0.2, (samples, n)), None),
        "difference",
    )
    for gain, often, lose in EQUAL_BUT_SKEWED:
        yield Cell(
            f"difference 0: {often:.0%} gain {gain:g}, {lose:.0%} lose 1",
            _gains_and_losses(gain, often, lose),
            "difference",
            true=0,
        )
    yield Cell("3 paraphrases each, correlation .8", _paraphrased(0.6), per_group=3)
    yield Cell("3 paraphrases each, equal systems", _equal_paraphrased, "difference", 3, true=0)


def _two_valued(value: float, often: float) -> Draw:
    return lambda random, samples, n: (np.where(random.random((samples, n)) < often, value, 0.0), None)


def _choice(values: tuple[float, ...], shares: tuple[float, ...]) -> Draw:
    def draw(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
        return np.asarray(
            random.choice(np.array(values), size=(samples, n), p=shares), dtype=np.float64
        ), None

    return draw


def _graded(missed: float) -> Draw:
    """nDCG of several references: half of the questions perfect, the others down to .85, some missed."""

    def draw(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
        shortfall = 0.15 * random.random((samples, n)) * (random.random((samples, n)) < 0.5)
        return np.where(random.random((samples, n)) < missed, 0.0, 1 - shortfall), None

    return draw


def _of_five(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
    """precision@5 of questions with one reference, and rare ones with five; 95 % are found."""
    hits = random.binomial(np.where(random.random((samples, n)) < 0.03, 5, 1), 0.95)
    return np.asarray(hits / 5), None


def _gains_and_losses(gain: float, often: float, lose: float) -> Draw:
    def draw(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
        at = random.random((samples, n))
        return np.where(at < often, gain, np.where(at > 1 - lose, -1.0, 0.0)), None

    return draw


def _normal(mean: float, deviation: float) -> Draw:
    return lambda random, samples, n: (np.clip(random.normal(mean, deviation, (samples, n)), -1, 1), None)


def _lognormal(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
    """Mean 0; most lose a little and few gain much."""
    return 0.1 * (random.lognormal(0.0, 1.0, (samples, n)) - math.exp(0.5)), None


def _hits(random: np.random.Generator, of: NDArray[np.int64], often: float) -> Table:
    """Share found of so many references, with questions that are easier and harder."""
    ease = random.beta(8 * often, 8 * (1 - often), of.shape)
    return np.asarray(random.binomial(of, ease) / of)


def _recall(often: float) -> Draw:
    return lambda random, samples, n: (_hits(random, random.integers(1, 4, (samples, n)), often), None)


def _pooled(often: float, sizes: Callable[[np.random.Generator, tuple[int, int]], NDArray[np.int64]]) -> Draw:
    def draw(random: np.random.Generator, samples: int, n: int) -> tuple[Table, Table]:
        of = sizes(random, (samples, n))
        return _hits(random, of, often), of.astype(np.float64)

    return draw


def _geometric(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
    return np.asarray(random.geometric(0.35, shape), dtype=np.int64)


def _heavy(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
    return np.asarray(np.minimum(1 + np.floor(random.pareto(1.5, shape)), 60), dtype=np.int64)


def _moved(lose: float, win: float, sizes: Table) -> Draw:
    def draw(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
        at, size = random.random((samples, n)), random.choice(sizes, size=(samples, n))
        return np.where(at < lose, -size, np.where(at > 1 - win, size, 0.0)), None

    return draw


def _correlated(random: np.random.Generator, samples: int, n: int) -> Table:
    """Hidden ease of questions in threes: correlation .8 within one three."""
    own, common = random.standard_normal((samples, n)), random.standard_normal((samples, n // 3))
    return np.asarray(np.sqrt(0.2) * own + np.sqrt(0.8) * np.repeat(common, 3, axis=1))


def _paraphrased(threshold: float) -> Draw:
    return lambda random, samples, n: (
        np.clip(0.5 + 0.5 * (_correlated(random, samples, n) + threshold), 0, 1),
        None,
    )


def _equal_paraphrased(random: np.random.Generator, samples: int, n: int) -> tuple[Table, None]:
    return 0.2 * _correlated(random, samples, n), None


def truth(cell: Cell) -> float:
    if cell.true is not None:
        return cell.true
    values, weights = cell.draw(np.random.default_rng(99), 3000, 2700)
    return float(np.average(values, weights=weights))


def held(cell: Cell, n: int, samples: int) -> tuple[float, float, float, float]:
    """Shares: held by the bootstrap, by our interval, by it where it is not marked; share not marked."""
    true = truth(cell)
    n -= n % cell.per_group
    random = np.random.default_rng([n, samples])
    values, weights = cell.draw(random, samples, n)
    groups = np.arange(n) // cell.per_group if cell.per_group > 1 else None
    ours, sure = np.zeros(samples, dtype=bool), np.zeros(samples, dtype=bool)
    for row in range(samples):
        if cell.kind == "mean":
            found = mean_of(values[row], None if weights is None else weights[row], groups=groups)
            low, high, sure[row] = found.low, found.high, found.reliable
        else:
            between = interval(values[row], groups=groups)
            low, high, sure[row] = between.low, between.high, between.reliable
        ours[row] = low <= true + 1e-9 and true - 1e-9 <= high
    few = None if weights is None else weights[:BOOTSTRAPPED]
    boot = _bootstrapped(values[:BOOTSTRAPPED], few, true, random)
    return boot, float(ours.mean()), float(ours[sure].mean()) if sure.any() else np.nan, float(sure.mean())


def _bootstrapped(values: Table, weights: Table | None, true: float, random: np.random.Generator) -> float:
    n = values.shape[1]
    counts = random.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    weighing = np.ones_like(values) if weights is None else weights
    drawn = (values * weighing) @ counts.T / (weighing @ counts.T)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    return float(((low <= true + 1e-9) & (true - 1e-9 <= high)).mean())


def false_positives(n: int, samples: int, *, in_groups: bool) -> float:
    """How often the randomisation test finds p < .05 between equal systems, with three paraphrases each."""
    n -= n % 3
    values, _ = _equal_paraphrased(np.random.default_rng([n, 5]), samples, n)
    groups = np.arange(n) // 3 if in_groups else None
    return float(np.mean([randomisation_p(row, seed=0, groups=groups) < 0.05 for row in values]))


def samples_to_test() -> Iterator[tuple[str, Draw]]:
    """Differences to be tested: of equal systems first, then of systems that differ."""
    for gain, often, lose in EQUAL_BUT_SKEWED:
        name = f"equal: {often:.0%} gain {gain:g}, {lose:.0%} lose 1"
        yield name, _gains_and_losses(gain, often, lose)
    yield "equal: normal, deviation .2", _normal(0.0, 0.2)
    yield "equal: 20 % lose, 20 % win", _moved(0.2, 0.2, LOSSES)
    yield "equal: lognormal tail", _lognormal
    yield "better: normal, +.05, deviation .2", _normal(0.05, 0.2)
    yield "better: normal, +.1, deviation .2", _normal(0.1, 0.2)
    yield "better: normal, +.03, deviation .08", _normal(0.03, 0.08)
    yield "better: 30 % win, 15 % lose", _moved(0.15, 0.3, LOSSES)
    yield "better: 20 % win, 5 % lose", _moved(0.05, 0.2, LOSSES)
    yield "better: 10 % win", _moved(0.0, 0.1, LOSSES)
    yield "better: 30 % gain .1, none loses", _gains_and_losses(0.1, 0.3, 0.0)


def called_different(draw: Draw, n: int, samples: int) -> tuple[float, float]:
    """Share of samples with p < .05 by flipping signs alone; share that `compare` calls different."""
    values, _ = draw(np.random.default_rng([n, 7]), samples, n)
    flipped = sure = 0
    for row in values:
        flipped += randomisation_p(row, seed=0, draws=2000) < 0.05
        ends = interval(row)
        sure += difference_p(row, seed=0, draws=2000) < 0.05 and not ends.low <= 0 <= ends.high
    return flipped / samples, sure / samples


def raised(kind: Callable[[Cell], bool], n: int, trials: int) -> tuple[float, float]:
    """Share of the trials in which a question that scores less raises the low end, and the largest rise.

    A trial: a sample of a cell, one of its questions set to the lowest score, to that of another question, or
    to any in between.
    """
    random, rises = np.random.default_rng([n, 11]), []
    for cell in filter(kind, cells()):
        least = 0.0 if cell.kind == "mean" else -1.0
        tables = cell.draw(random, trials, n - n % cell.per_group)
        values, weights = np.clip(tables[0], least, 1), tables[1]
        for row, sample in enumerate(values):
            weight = None if weights is None else weights[row]
            question = random.integers(len(sample))
            lower = random.choice((least, random.choice(sample), random.uniform(least, 1)))
            worse = sample.copy()
            worse[question] = min(lower, sample[question])
            lows = [
                (mean_of(one, weight) if cell.kind == "mean" else interval(one)).low
                for one in (sample, worse)
            ]
            rises.append(lows[1] - lows[0])
    return float(np.mean(np.array(rises) > 1e-12)), max(0.0, *rises)


def found_by_monotone(mean: float, deviation: float, n: int) -> float:
    """The most samples that intervals with monotone ends could call better, in normal differences.

    They would also call better each such sample with its losses taken away. The same is what the samples look
    like of systems whose true difference is 0, because a share of the questions lose 1, as long as none of
    them is drawn; and of those at most LEVEL may be called different.
    """
    gains = float(np.clip(np.random.default_rng(1).normal(mean, deviation, 1_000_000), 0, None).mean())
    none_drawn = (1 - gains / (1 + gains)) ** n
    return min(1.0, LEVEL / none_drawn)


def print_monotone(samples: int) -> None:
    print(
        "\n| a question scores less: low end raised, % of samples (by at most) | "
        + " | ".join(SIZES_NAMED)
        + " |"
    )
    print("|---|" + "---|" * len(SIZES))
    kinds: dict[str, Callable[[Cell], bool]] = {
        "means": lambda cell: cell.kind == "mean" and cell.per_group == 1 and "micro" not in cell.name,
        "pooled means": lambda cell: "micro" in cell.name,
        "differences": lambda cell: cell.kind == "difference" and cell.per_group == 1,
    }
    for name, kind in kinds.items():
        rises = [raised(kind, n, samples) for n in SIZES]
        cells_shown = [f"{100 * often:.1f} ({most:.4f})" if often else "0" for often, most in rises]
        print(f"| {name} | " + " | ".join(cells_shown) + " |", flush=True)
    bounds = [found_by_monotone(0.03, 0.08, n) for n in SIZES]
    now = [called_different(_normal(0.03, 0.08), n, min(samples, 1000))[1] for n in SIZES]
    print(
        "| +.03, deviation .08: a monotone interval could find / found | "
        + " | ".join(
            f"{100 * bound:.0f} / {100 * share:.0f}" for bound, share in zip(bounds, now, strict=True)
        )
        + " |"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--samples", type=int, default=4000)
    options.add_argument("--only", default="", help="cells whose name has this in it")
    given = options.parse_args()
    print("bootstrap / this program, % of samples whose interval held the true mean; `unmarked` by n\n")
    print("| sample | " + " | ".join(SIZES_NAMED) + " | unmarked |")
    print("|---|" + "---|" * (len(SIZES) + 1))
    for cell in cells():
        if given.only not in cell.name:
            continue
        row = [held(cell, n, given.samples) for n in SIZES]
        shown = [f"{100 * boot:.0f} / {100 * ours:.1f}" for boot, ours, _, _ in row]
        trusted = [f"{100 * item:.1f}" if share else "–" for _, _, item, share in row]
        print(f"| {cell.name} | " + " | ".join(shown) + f" | {' '.join(trusted)} |", flush=True)
    if given.only in "tests":
        print("\n| p < .05 by signs / called different, % | " + " | ".join(SIZES_NAMED) + " |")
        print("|---|" + "---|" * len(SIZES))
        for name, draw in samples_to_test():
            shares = [called_different(draw, n, min(given.samples, 1000)) for n in SIZES]
            shown = [f"{100 * flipped:.1f} / {100 * sure:.1f}" for flipped, sure in shares]
            print(f"| {name} | " + " | ".join(shown) + " |", flush=True)
    if given.only in "monotone":
        print_monotone(min(given.samples, 1000))
    if given.only in "false positives":
        tests = min(given.samples, 1000)
        print("\n| equal systems, 3 paraphrases each: p < .05 in % | " + " | ".join(SIZES_NAMED) + " |")
        print("|---|" + "---|" * len(SIZES))
        for in_groups, name in ((False, "each question by itself"), (True, "in groups")):
            found = [100 * false_positives(n, tests, in_groups=in_groups) for n in SIZES]
            print(f"| {name} | " + " | ".join(f"{item:.1f}" for item in found) + " |", flush=True)


if __name__ == "__main__":
    main()
