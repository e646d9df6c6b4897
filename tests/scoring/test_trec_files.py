"""The quick way through large TREC files gives what the careful readers give, line by line and as a whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.conftest import read_json
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.measures import Measure, parse_measures, score
from tiny_graph_rag.scoring import opening, trec
from tiny_graph_rag.scoring.opening import Request, attempts
from tiny_graph_rag.scoring.trec import AnotherWay

MEASURES = "ndcg@5,precision@5,recall@{1,10},mrr,map,bpref,rprec,micro_f1@3,contest_map@3,judged_bad@5"


def write_files(folder: Path, chance: random.Random, *, irregular: bool, ties: bool) -> None:
    """Long and short ids, Hangul, questions that only one file has, judged 0, scores that are equal or are so
    as 32-bit numbers; irregular: duplicates, and lines in any order."""
    documents = [f"d{n}" for n in range(30)] + [f"문서-{n}-with-a-long-name" for n in range(30)] + ["a%20b"]
    lines, qrels = [], []
    for number in range(120):
        question = f"q{number}" if number % 3 else f"question-{number:06d}"
        if number % 10:
            judged = chance.sample(documents, chance.randint(1, 8))
            qrels += [f"{question} 0 {key} {chance.randint(0, 2)}\n" for key in judged]
        if number % 7:
            ranking = chance.sample(documents, chance.randint(1, 40))
            ranking += ranking[:2] * irregular
            scores = [
                chance.choice((1, 1.000000001, 2.5, -3)) if ties else chance.uniform(-9, 9) for _ in ranking
            ]
            if number % 2:
                scores.sort(reverse=True)
            pairs = zip(ranking, scores, strict=True)
            lines += [f"{question} Q0 {key} 1 {score} x\n" for key, score in pairs]
    if irregular:
        chance.shuffle(lines)
    (folder / "run").write_text("".join(lines), encoding="utf-8")
    (folder / "gold").write_text("".join(qrels), encoding="utf-8")


def results(run_cli, *more: str) -> tuple[dict, list[str]]:
    done = run_cli(f"score --run run --gold gold --measures {MEASURES} -o ./o.json", *more, code=0)
    document = read_json("o.json")
    rows = {
        result["id"]: (result["metrics"], result["tp"], result["fp"], sorted(result["fn"]))
        for result in document["results"]
    }
    return {"rows": rows, "summary": document["summary"]}, sorted(done.stderr.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("ties", ["list", "trec"])
def test_the_quick_way_equals_the_careful_one(
    own_folder: Path, run_cli, monkeypatch: pytest.MonkeyPatch, seed: int, irregular: bool, ties: str
) -> None:
    write_files(own_folder, random.Random(seed), irregular=irregular, ties=seed % 2 == 0)
    careful, said = results(run_cli, "--ties", ties)
    monkeypatch.setattr(opening, "LARGE_BYTES", 0)
    monkeypatch.setattr(trec, "BLOCK_BYTES", 700)
    monkeypatch.setattr(trec, "CELLS", 200)
    if not irregular:
        monkeypatch.setattr(opening, "open_run", None)  # it must not be needed
    quick, said_too = results(run_cli, "--ties", ties)
    for question, (metrics, *lists) in careful["rows"].items():
        assert quick["rows"][question] == (pytest.approx(metrics, nan_ok=True), *lists)
    assert len(quick["rows"]) == len(careful["rows"])
    for name, measure in careful["summary"]["measures"].items():
        assert quick["summary"]["measures"][name] == pytest.approx(measure, nan_ok=True)
    assert [request.split("(such as")[0] for request in said_too] == [
        request.split("(such as")[0] for request in said
    ]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("q1 Q0 d1 1 2 x\nq1 Q0 d2 2 nan x\n", "run:2: the score must be a number such as 0.5, got 'nan'"),
        (
            "q1 Q0 d1 1 2 x\nq1 Q0 d2 2",
            "run:2: wanted 6 fields (question Q0 document rank score tag), got 4; the",
        ),
    ],
)
def test_what_the_quick_way_cannot_read_the_careful_one_explains(
    own_folder: Path, run_cli, monkeypatch: pytest.MonkeyPatch, run: str, expected: str
) -> None:
    (own_folder / "run").write_text(run)
    (own_folder / "gold").write_text("q1 0 d1 1\n")
    monkeypatch.setattr(opening, "LARGE_BYTES", 0)
    assert expected in run_cli("score --run run --gold gold -o ./o.json", code=2).stderr
    assert not Path("o.json").exists()


def test_tabs_and_double_spaces_are_read_with_care(own_folder: Path, run_cli, monkeypatch) -> None:
    (own_folder / "run").write_text("q1  Q0 d1 1 2 x\nq1\tQ0\td2\t2\t1\tx\r\n")
    (own_folder / "gold").write_text("q1 0 d2 1\n")
    monkeypatch.setattr(opening, "LARGE_BYTES", 0)
    found, _ = results(run_cli)
    assert found["rows"]["q1"][0]["mrr"] == 0.5


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
