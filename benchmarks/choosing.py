"""How often a sweep over settings that do equally well leads elsewhere, and how far its mean is off.

    uv run python benchmarks/choosing.py                 # a minute

Simulated: nDCG@5 of single-reference questions under several hop limits that are equal in truth, so that
whatever differs is chance. `most questions the same` is what hop limits really do: most questions score alike
under all of them.
"""

from __future__ import annotations

import argparse

import numpy as np

from tiny_graph_rag.study.choosing import recommend

SIZES = (30, 54, 100, 200, 500)
SCORES = np.array([1.0, 0.6309, 0.5, 0.4307, 0.3869, 0.0])
SHARES = np.array([0.5, 0.12, 0.08, 0.04, 0.02, 0.24])
TRUE_MEAN = float(SCORES @ SHARES)


def led_elsewhere(
    questions: int, *, settings: int, sweeps: int, same: float = 0.0, systems: bool = False
) -> tuple[float, float, float]:
    """Share of sweeps that recommend another than the first; how far above the truth lie, on average, the
    best mean and the mean that is reported. same: share of the questions that score alike everywhere.
    systems: retrievers or run files, which have no hops, in place of hop limits."""
    random = np.random.default_rng([questions, settings, int(100 * same)])
    elsewhere, best, reported = 0, 0.0, 0.0
    for sweep in range(sweeps):
        common = random.choice(len(SCORES), size=(1, questions), p=SHARES)
        own = random.choice(len(SCORES), size=(settings, questions), p=SHARES)
        table = SCORES[np.where(random.random((1, questions)) < same, common, own)]
        found = recommend(
            list(table),
            [None if systems else hops for hops in range(settings)],
            range(settings),
            tolerance=0.02,
            higher_is_better=True,
            seed=sweep,
        )
        elsewhere += found.setting != 0
        best += float(table.mean(axis=1).max()) - TRUE_MEAN
        reported += found.held_out.mean - TRUE_MEAN
    return elsewhere / sweeps, best / sweeps, reported / sweeps


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--sweeps", type=int, default=300)
    options.add_argument("--only", default="", help="rows whose name has this in it")
    given = options.parse_args()
    print("% of sweeps that lead elsewhere than to the first; best and reported mean less the truth\n")
    print("| settings | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for settings, same, systems, name in (
        (6, 0.0, False, "6"),
        (6, 0.7, False, "6, most questions the same"),
        (12, 0.0, False, "12"),
        (6, 0.0, True, "6, without hops"),
    ):
        if given.only not in name:
            continue
        if systems:
            print("\n| systems | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
            print("|---|" + "---|" * len(SIZES))
        cells = []
        for questions in SIZES:
            elsewhere, best, reported = led_elsewhere(
                questions, settings=settings, sweeps=given.sweeps, same=same, systems=systems
            )
            cells.append(f"{100 * elsewhere:.1f} %, {best:+.3f}, {reported:+.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
