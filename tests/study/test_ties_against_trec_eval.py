"""`--ties trec` equals trec_eval where scores are equal, or only in float32, on both ways of reading."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measures.test_against_trec_eval import ASKED, PEERS
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.runs import read_run
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.scoring.judging import stretches
from tiny_graph_rag.scoring.stretches import Stretch
from tiny_graph_rag.scoring.trec import GoldTable, TrecRun

QUESTIONS_AN_EXAMPLE = 30  # 200 examples of these are 6,000 random rankings
# Each line holds numbers that differ in float64 and not in float32.
ALIKE = (
    ("1", "1.0", "1.00000001", "0.99999999"),
    ("0", "-0.0", "1e-60", "-1e-60"),
    ("16777216", "16777217", "16777216.5"),
    ("-3.3", "-3.30000001"),
    ("1e39", "2e39", "3.5e38"),
    ("0.1", "0.10000000001"),
)
IDS = [*(f"d{n}" for n in range(12)), "D1", "d", "\u00e9", "z\uff5e", "\U0001f600", "\uac00-1", "d-1", "d_1"]


def write_files(folder: Path, chance: random.Random) -> None:
    run, qrels = [], []
    for number in range(QUESTIONS_AN_EXAMPLE):
        judged = {key: chance.choice((0, 1, 1, 2)) for key in chance.sample(IDS, chance.randint(1, 8))}
        judged[next(iter(judged))] = 1
        qrels += [f"q{number} 0 {key} {grade}" for key, grade in judged.items()]
        values = [key for some in chance.sample(ALIKE, chance.choice((1, 2, 6))) for key in some]
        ranking = chance.sample(IDS, chance.choice((1, 5, len(IDS))))
        run += [f"q{number} Q0 {key} 1 {chance.choice(values)} tag" for key in ranking]
    (folder / "run").write_text("".join(f"{question}\n" for question in run), encoding="utf-8")
    (folder / "qrels").write_text("".join(f"{line}\n" for line in qrels), encoding="utf-8")


def carefully(folder: Path) -> Iterator[Stretch]:
    return stretches(read_gold(folder / "qrels").questions, read_run(folder / "run", "trec", ties="trec"))


def quickly(folder: Path) -> Iterator[Stretch]:
    gold = GoldTable.of((folder / "qrels").read_bytes())
    return TrecRun(folder / "run", gold, "trec").stretches()


@pytest.mark.slow
@pytest.mark.parametrize("way", [carefully, quickly])
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_ties_are_broken_as_trec_eval_breaks_them(way, tmp_path_factory: pytest.TempPathFactory, seed: int):
    folder = tmp_path_factory.mktemp("ties")
    write_files(folder, random.Random(seed))
    with (folder / "run").open(encoding="utf-8") as stream:
        run = pytrec_eval.parse_run(stream)
    with (folder / "qrels").open(encoding="utf-8") as stream:
        qrels = pytrec_eval.parse_qrel(stream)
    peer = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    seen = 0
    for stretch in way(folder):
        seen += len(stretch.ids)
        for ours, theirs in PEERS.items():
            found = Measure.parse(ours).compute(stretch.judged)
            expected = np.array([peer[id_][theirs] for id_ in stretch.ids])
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=ours)
    assert seen == QUESTIONS_AN_EXAMPLE
