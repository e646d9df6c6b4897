"""A line means the same in a small file as in a large one: the careful readers against the quick way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tiny_graph_rag.errors import InputError
from tiny_graph_rag.measures import Measure, parse_measures, score
from tiny_graph_rag.scoring import opening
from tiny_graph_rag.scoring.opening import Request, attempts
from tiny_graph_rag.scoring.trec import AnotherWay

CASES = 3000
IDS = (
    "e1",
    "e2",
    "e3",
    "점순",
    "a\u00a0b",
    "a\u0085b",
    "a\u2028b",
    "%20",
    "a%",
    "²",
    "E1",
    "x" * 40,
    "-",
    "a,b",
)
SPACES = (" ", " ", " ", " ", "\t", "  ", "\x0b", "\x1c", "\x01", "\u00a0")
SCORES = ("1", "0.5", ".25", "-3", "1e3", "1e999", "nan", "inf", "1_0", "0x1", "", "²", "1.", "+2", "9" * 30)
GRADES = ("1", "0", "2", "-1", "+1", "1.0", "²", "--1", "9" * 12, "", "01")
SPOILT = (b"\x00", b"\xff", b"\xc3", b"\r", b"\xef\xbb\xbf", b"\n\n", b"\xc2\x85")


def files(chance: random.Random) -> tuple[bytes, bytes]:
    """A gold set and a run of a few lines, mostly sound."""

    def odd(sound: str, others: tuple[str, ...]) -> str:
        return chance.choice(others) if chance.random() < 0.04 else sound

    def lines(fields: list[list[str]]) -> bytes:
        ends = chance.choice(("\n", "\n", "\n", "\r\n"))
        made = [odd(" ", SPACES).join(field) + ends for field in fields]
        return "".join(made).encode()

    gold = [
        [f"q{chance.randrange(4)}", "0", chance.choice(IDS), odd(str(chance.randrange(3)), GRADES)]
        for _ in range(chance.randrange(1, 9))
    ]
    run = [
        [f"q{n % 4}", "Q0", chance.choice(IDS), "1", odd(str(chance.randrange(9)), SCORES), "t"]
        for n in sorted(chance.randrange(8) for _ in range(chance.randrange(1, 14)))
    ]
    found = [lines(gold), lines(run)]
    if chance.random() < 0.25:
        which = chance.randrange(2)
        at = chance.choice((0, chance.randrange(len(found[which]) + 1)))
        found[which] = found[which][:at] + chance.choice(SPOILT) + found[which][at:]
    return found[0], found[1]


def outcome(request: Request, measures: tuple[Measure, ...]) -> object:
    """The means, or the error in words."""
    try:
        for opened in attempts(request, None, None):
            columns: dict[str, dict[str, float]] = {}
            try:
                for stretch in opened.stretches:
                    found = score(stretch.judged, measures)
                    for place, question in enumerate(stretch.ids):
                        columns[question] = {
                            str(measure): float(found[measure][place]) for measure in measures
                        }
            except AnotherWay:
                continue
            return str(sorted(columns.items())), opened.notes()
    except InputError as error:
        return str(error)
    raise AssertionError("no way was taken")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_small_and_large_files_are_read_alike(
    seed: int, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, scored = random.Random(seed), 0
    measures = parse_measures("precision@5,recall@5,ndcg@5,mrr,map")
    request = Request(own_folder / "r.trec", own_folder / "g.qrels")
    for number in range(CASES // 3):
        gold, run = files(chance)
        request.gold.write_bytes(gold)
        request.run.write_bytes(run)
        found = []
        for large_from in (1 << 30, 0):
            monkeypatch.setattr(opening, "LARGE_BYTES", large_from)
            found.append(outcome(request, measures))
        assert found[0] == found[1], (seed, number, gold, run)
        scored += not isinstance(found[0], str)
    assert scored > CASES // 12, "most cases should be sound"
