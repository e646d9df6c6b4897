"""The screens of six commands: the result first, in few lines of 80 columns, in both languages; and every
command that a screen prints runs as printed.
"""

from __future__ import annotations

import math
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, write_gold, write_kg
from tiny_graph_rag.report.plain import cell_width
from tiny_graph_rag.report.terminal.screens import without_common_start

SETS = {
    "en": ("conan-doyle-speckled-band-hardset", "conan-doyle-speckled-band-KG"),
    "ko": ("김유정-동백꽃-hardset", "김유정-동백꽃-KG"),
}
MOST_LINES = {"eval": 20, "compare": 15, "sweep": 15, "fix": 15, "validate": 20, "stats": 20}
HEADS = {"en": "questions · bfs, 2 hops", "ko": "bfs, 2홉"}
COPIED = "  tiny-graph-rag "


def rows_of(text: str) -> int:
    """Rows of a terminal of 80 columns: a line to be copied takes as many as it needs."""
    return sum(max(1, math.ceil(cell_width(line) / 80)) for line in text.splitlines())


@pytest.fixture
def screens(run_cli, tmp_path, monkeypatch):
    """Command → what it prints of the hardset of a language."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for folder in ("eval", "kg"):
        (tmp_path / "data" / folder).symlink_to(ROOT / "data" / folder)

    def of(language: str) -> dict[str, str]:
        gold, graph = SETS[language]
        known = ("--dataset", f"{gold}.jsonl", "-g", f"{graph}.json")
        calls = {
            "eval": (*known, "--skip-generation", "-o", "a.json"),
            "other": (*known, "--skip-generation", "--retriever", "bm25", "-o", "b.json"),
            "compare": ("a.json", "b.json", "-o", "c.json"),
            "sweep": (*known, "-o", "s.json"),
            "fix": (*known, "--kinds", "settings", "--evaluations", "4", "-o", "f.yaml"),
            "validate": known,
            "stats": ("-g", f"{graph}.json"),
        }
        printed = {}
        for name, arguments in calls.items():
            done = run_cli("eval" if name == "other" else name, *arguments, "--lang", language, code=0)
            printed[name] = done.stdout
        return printed

    return of


@pytest.mark.slow
@pytest.mark.parametrize("language", SETS)
def test_six_commands_fit_one_screen_and_what_they_print_runs(language, screens, run_cli):
    printed = screens(language)
    for name, most in MOST_LINES.items():
        assert rows_of(printed[name]) <= most, printed[name]
        for line in printed[name].splitlines():
            assert cell_width(line) <= 80 or line.startswith(COPIED), line
    assert HEADS[language] in printed["eval"].splitlines()[0]
    assert ("measures" in printed["compare"]) == (language == "en"), "a sentence in one language"
    copied = [line for text in printed.values() for line in text.splitlines() if line.startswith(COPIED)]
    assert len(copied) >= 4  # `fix` and `query`, for each of two evaluations, and what applies a patch
    for line in copied:
        arguments = shlex.split(line)[1:]
        few = ("--kinds", "settings", "--evaluations", "2") if arguments[0] == "fix" else ()
        run_cli(*arguments, *few, "--lang", language, code=0)


def evaluated(run_cli, folder: Path, *questions, options=()) -> str:
    write_kg(
        folder / "data/kg/tale-KG.json",
        ["점순", "점순네 수탉", "Rex", "우리 수탉", "Zoe"],
        [
            ("점순", "OWNS", "점순네 수탉"),
            ("점순네 수탉", "FIGHTS", "우리 수탉"),
            ("우리 수탉", "FEARS", "Rex"),
        ],
    )
    gold = [
        {"query": "점순이 키우는 닭은?", "reference_entities": ["점순네 수탉"], "tags": ["1-hop"]},
        {"query": "점순네 수탉이 싸운 닭은?", "reference_entities": ["우리 수탉"], "tags": ["1-hop"]},
        {"query": "점순이 닭이 싸운 닭이 겁내는 것은?", "reference_entities": ["Rex"], "tags": ["3-hop"]},
        {"query": "Who is it?", "reference_entities": ["Zoe", "Nobody"], "tags": ["긴 꼬리표"]},
        {"query": "점순의 꿈은?", "reference_entities": [], "tags": ["no-answer"]},
    ]
    write_gold(folder / "data/eval/tale-eval.jsonl", *gold, *questions)
    options = ("--retriever", "bfs-plain", "--top-k", "2", "--skip-generation", *options)
    done = run_cli("eval --dataset tale-eval.jsonl", *options, code=0)
    return done.stdout


def test_the_screen_says_the_result_what_is_lost_and_what_few_questions_can_not_show(run_cli, tmp_path):
    """Two of four questions have their answer among the first 2. Of five references two are found, Zoe and
    Nobody have no seed or no entity, Rex is at rank 3 or beyond."""
    printed = evaluated(run_cli, tmp_path)
    assert "2 of 4 questions: the answer is among the first 2." in printed
    assert "5 references: 2 found" in printed
    assert "1 no-answer question: 0 correctly returned nothing, 1 returned entities" in printed
    assert "fewer than 30 questions show large differences only" in printed


@pytest.mark.parametrize(("language", "head"), [("en", "Where recall is lost"), ("ko", "recall을 잃는 단계")])
def test_details_are_all_tables_in_the_readers_language(run_cli, tmp_path, language, head):
    printed = evaluated(run_cli, tmp_path, options=("--details", "--report", "md", "--lang", language))
    assert head in printed
    assert len(printed.splitlines()) > 40
    (page,) = (tmp_path / "data/results").glob("*.md")
    assert f"## {head}" in page.read_text(encoding="utf-8")


def test_a_pipe_gets_no_colour_codes_and_quiet_prints_nothing(run_cli, tmp_path):
    assert "\x1b" not in evaluated(run_cli, tmp_path)
    assert evaluated(run_cli, tmp_path, options=("--quiet",)) == ""


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["hardset-bfs", "hardset-bm25"], ["bfs", "bm25"]),
        (["bm25", "bfs"], ["bm25", "bfs"]),
        (["a b", "a c", "a d"], ["b", "c", "d"]),
        (["same", "same"], ["same", "same"]),
    ],
)
def test_columns_are_called_by_what_tells_their_systems_apart(names: list[str], short: list[str]) -> None:
    assert without_common_start(names) == short


def test_the_command_that_recommend_prints_finds_the_draft_wherever_it_lies(run_cli, tmp_path) -> None:
    write_kg(tmp_path / "data/kg/tale-KG.json", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/questions.txt").write_text("Whom does Anna know?\n", encoding="utf-8")
    for options in ((), ("-o", "./elsewhere.jsonl"), ("--dataset-dir", "mine")):
        done = run_cli("recommend --dataset mine/questions.txt -g tale-KG.json", *options, code=0)
        (line,) = [line for line in done.stdout.splitlines() if "review it with: " in line]
        arguments = shlex.split(line.partition("review it with: ")[2])
        assert Path(arguments[arguments.index("--dataset") + 1]).exists(), line
        assert ("--dataset-dir" in arguments) == ("--dataset-dir" in options)


def test_names_cannot_command_the_terminal(run_cli, tmp_path):
    evil = {"query": "Who is \x1b]0;owned\x07 [red]Zoe[/red] \u202eevil?", "reference_entities": ["\x1b[2J"]}
    question = evil | {"tags": ["[bold]\x1b[31m"]}
    printed = evaluated(run_cli, tmp_path, question, options=("--details",))
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "[red]Zoe[/red]" in printed
