"""Lines and tables as text, the same on a terminal and in a pipe, in the width that there is: what results
are called, what is said of them first, and what the commands show."""

from __future__ import annotations

import io
import json
import math
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import ROOT, write_gold, write_kg
from tests.report.make_results import results
from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import figure
from tiny_graph_rag.report.headline import headline, system_words
from tiny_graph_rag.report.plain import cell_width, cut
from tiny_graph_rag.report.tables import View, end_words, worst_questions
from tiny_graph_rag.report.terminal import (
    Console,
    CopiedLine,
    StrongLine,
    joined_in_lines,
    table_lines,
    wrapped,
)
from tiny_graph_rag.report.terminal.screens import without_common_start
from tiny_graph_rag.study.compare import align
from tiny_graph_rag.study.results_file import read_system


def printed(shown: str | View, width: int | None = None) -> str:
    stream = io.StringIO()
    Console(stream, width=width).print(shown)
    return stream.getvalue()


def test_words_stand_to_the_left_and_figures_to_the_right_of_columns_that_hangul_widens() -> None:
    rows = (("1", "점순", Mean(0.908, 0.7, 0.95, 9)), ("12", "[b]x", Mean(1.0, 0.8, 1.0, 40)))
    assert table_lines(View(("n", "이름", "score"), rows, (1,), "제목")) == [
        "제목",
        "",
        "  n  이름            score",
        " ─────────────────────────",
        "  1  점순   0.908 .70–.95?",
        " 12  [b]x  1.000 .80–1.00?",
        "",
    ]


@pytest.mark.parametrize(
    ("shown", "width", "lines"),
    [
        ("a b c", 3, ["a b", "c"]),
        ("a b c", None, ["a b c"]),  # a pipe has no width
        (CopiedLine("a b c"), 3, ["a b c"]),
        ("수탉 수탉", 5, ["수탉", "수탉"]),  # nine columns
        ("a\x1b[31mb\u202e", None, ["a[31mb"]),
        (StrongLine("bold"), None, ["bold"]),
        (StrongLine("bold"), 80, ["\x1b[1mbold\x1b[0m"]),
        (View(("x",), (("d\ne\x07",),)), None, ["", " x", " ───", " d e", ""]),
        (View(("measure",), ()), None, ["", " measure", " ───────", ""]),
    ],
)
def test_a_line_is_shown_as_its_reader_needs_it(
    shown: str | View, width: int | None, lines: list[str]
) -> None:
    assert printed(shown, width).splitlines() == lines


def test_wrapped_lines_keep_their_words_and_a_longer_word_stays_whole() -> None:
    assert wrapped("  ab cd efghijkl m", 6, "  ") == ["  ab", "  cd", "  efghijkl", "  m"]
    assert wrapped("ab cd ef gh", 6, "  ", 2) == ["ab cd", "  ef…"]


def test_a_wide_sign_takes_two_columns_and_an_accent_none() -> None:
    assert [cell_width(text) for text in ("abc", "수탉", "漢a", "e\u0301", "\u200d")] == [3, 4, 3, 1, 0]


def test_a_line_is_never_cut_inside_a_number() -> None:
    line = "Ann: at rank 10, Bob"
    assert {cut(line, width) for width in (14, 15, 16)} == {"Ann: at rank…", "Ann: at rank 10…"}
    assert cut(line, len(line)) == line


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (402.7, 2, "403"),
        (1.5e6, 2, "1,500,000"),
        (0.2512, 2, "0.25"),
        (9.996, 3, "10"),
        (4.1, 3, "4.1"),
        (0.0000412, 2, "0.000041"),
        (-0.5, 2, "-0.5"),
        (100, 3, "100"),
        (0, 3, "0"),
        (None, 3, "–"),
        (math.nan, 3, "–"),
        (math.inf, 3, "–"),
    ],
)
def test_a_figure_has_no_power_of_ten(value: float | None, digits: int, text: str) -> None:
    assert figure(value, digits) == text


def test_one_hop_is_no_hops_and_systems_are_told_apart() -> None:
    assert end_words({"verdict": "beyond_hops", "hop": 1}) == "needs 1 hop"
    settings = [{"system": "bfs"}, {"system": "bfs, exclude-seeds on"}, {"system": "bfs"}]
    assert system_words({"kind": "sweep", "settings": settings}) == "bfs; bfs, exclude-seeds on"


def test_the_address_of_a_model_says_nothing_of_who_retrieved() -> None:
    changed = {"retrieval": {"retriever": "bfs"}, "openai": {"base_url": "http://127.0.0.1:1/v1"}}
    assert system_words({"kind": "eval", "config": changed, "summary": {}}) == "bfs"


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


def test_names_are_labels_or_files_without_their_endings(tmp_path) -> None:
    made = results(3, 3)
    (tmp_path / "more").mkdir()
    named = {"x-results.json": "BM25, tuned", "dpr-results.json": None, "more/dpr-results.json": None}
    for name, label in named.items():
        (tmp_path / name).write_text(json.dumps(made | {"made": {"label": label}}), encoding="utf-8")
    systems = align([read_system(tmp_path / name) for name in named])
    assert [system.name for system in systems] == ["BM25, tuned", "dpr", "dpr (2)"]


def answered(*questions: tuple[int, int]) -> dict:
    """A result of questions with (found, missed) references, a tag `t` on the last five."""
    rows = [
        {
            "id": f"q{row}",
            "query": "?",
            "tags": ["t"] if row >= len(questions) - 5 else [],
            "linked": [],
            "ranked": [],
            "references": [{"name": f"n{at}", "entity_ids": []} for at in range(found + missed)],
            "metrics": {"mrr": float(missed == 0)},
            "tp": [f"n{at}" for at in range(found)],
            "fn": [f"n{at}" for at in range(missed)],
        }
        for row, (found, missed) in enumerate(questions)
    ]

    def means(part: list[dict]) -> dict:
        known = [row["metrics"]["mrr"] for row in part if row["references"]]
        mean = sum(known) / len(known) if known else None
        return {"mrr": {"mean": mean, "low": 0.0, "high": 1.0, "n": len(known), "reliable": False}}

    tagged = [row for row in rows if row["tags"]]
    by_tag = {"t": {"questions": len(tagged), "measures": means(tagged)}}
    summary = {"k": 5, "questions": len(rows), "measures": means(rows), "by_tag": by_tag}
    return {"summary": summary, "results": rows}


def test_the_first_sentence_counts_whole_answers_and_parts() -> None:
    single = answered(*[(1, 0)] * 18, (0, 1))
    assert headline(single)[0] == "18 of 19 questions: the answer is among the first 5."
    assert headline(single)[1] == "Weakest: t (mrr 0.800 over 5 questions; 0.947 over all)."
    several = answered((2, 0), (1, 1), (0, 2), (0, 0))
    expected = "1 of 3 questions: the whole answer is among the first 5; 1 more in part."
    assert headline(several)[0] == expected
    assert headline(answered((1, 0)))[0] == "1 of 1 question: the answer is among the first 5."


def test_nothing_is_said_of_answers_that_nobody_judged() -> None:
    passages = answered((0, 1), (0, 1))
    passages["summary"]["measures"] = {"passages:recall@5": {"mean": 0.5, "n": 2}}
    passages["summary"]["by_tag"] = {}
    assert headline(passages) == []


def test_the_worst_are_those_below_1_and_undefined_is_no_loss() -> None:
    content = answered((1, 0), (0, 1), (0, 0), (0, 1))
    content["results"][0]["metrics"]["mrr"] = 0.1
    content["results"][2]["metrics"]["mrr"] = None
    assert worst_questions(content) == ("mrr", [1, 3, 0])


@pytest.mark.parametrize("width", range(40, 81))
def test_what_two_lines_have_no_room_for_is_counted(width: int) -> None:
    parts = [f"measure{'x' * length} 0.5" for length in (3, 9, 1, 14, 6, 2)]
    for count in range(1, len(parts) + 1):
        lines = list(joined_in_lines(parts[:count], width))
        more = re.search(r"(\d) more: --details$", lines[-1])
        assert " ".join(lines).count("measure") + (int(more[1]) if more else 0) == count
        assert max(map(len, lines)) <= width
