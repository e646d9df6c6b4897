"""What a user meets first: help in two screens, files where completion says, words in any encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT, write_gold, write_kg
from tiny_graph_rag.fixing import asking
from tiny_graph_rag.messages import LANGUAGES
from tiny_graph_rag.outputs import output_path
from tiny_graph_rag.report.plain import cell_width


@pytest.fixture
def tale(own_folder: Path) -> Path:
    """A chain, Anna to Dora over Rex, with a misspelt question, one beyond two hops and one that is found."""
    write_kg(
        own_folder / "data/kg/tale-KG.json",
        ["Anna", "Bertram", "Rex", "Dora"],
        [("Anna", "KNOWS", "Bertram"), ("Bertram", "OWNS", "Rex"), ("Rex", "BITES", "Dora")],
    )
    write_gold(
        own_folder / "data/eval/tale-eval.jsonl",
        {"id": "near", "query": "Whom does Anna know?", "reference_entities": ["Bertram"]},
        {"id": "far", "query": "Whom does Anna dread?", "reference_entities": ["Dora"]},
        {"id": "misspelt", "query": "What does Bertrram own?", "reference_entities": ["Rex"]},
    )
    return own_folder


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("command", ["eval", "sweep", "score", "query", "compare"])
def test_help_fits_two_screens(run_cli, command: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run_cli(command, "--lang", language, "--help").stdout.splitlines()
    assert 0 < len(lines) <= 2 * 50  # lines of a terminal window
    assert max(map(cell_width, lines)) <= 80


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("x.json", "data/results/x.json"),
        ("sub/x.json", "data/results/sub/x.json"),
        ("data/results/x.json", "data/results/x.json"),
        ("data/results/sub/x.json", "data/results/sub/x.json"),
        ("data//results/x.json", "data/results/x.json"),
        ("./x.json", "x.json"),
        ("../x.json", "../x.json"),
        ("/x.json", "/x.json"),
        ("data/x.json", "data/results/data/x.json"),
    ],
)
def test_a_name_that_already_has_the_results_folder_is_taken_as_it_stands(given: str, place: str) -> None:
    assert output_path(given, Path("data/results")) == Path(place)


def test_the_worst_questions_say_what_stood_in_the_way_and_how_to_look(tale: Path, run_cli) -> None:
    said = run_cli("eval", "--dataset", "tale-eval.jsonl", "--skip-generation").stdout
    assert "2 of 3 questions score 0 (ndcg@5)" in said
    assert "Dora: needs 3 hops" in said
    assert "Rex: no entity of the question was recognised; looked for: Bertrram" in said
    assert "query --dataset tale-eval.jsonl --id far" in said
    assert run_cli("query", "--dataset", "tale-eval.jsonl", "--id", "far").exit_code == 0


def test_advice_names_the_flag_and_what_trying_it_changed(tale: Path, run_cli) -> None:
    run_cli("eval", "--dataset", "tale-eval.jsonl", "--skip-generation", "-o", "./r.json")
    advice = json.loads((tale / "r.json").read_text("utf-8"))["summary"]["recommendations"]
    tried = {
        advice_line["evidence"]["flag"]: advice_line["evidence"]
        for advice_line in advice
        if advice_line["rule"] == "tried"
    }
    assert {"--fuzzy 0.85", "--hops 3"} <= set(tried)
    for flag, evidence in tried.items():
        name, value = flag.split()
        again = run_cli(
            "eval", "--dataset", "tale-eval.jsonl", "--skip-generation", name, value, "-o", "./a.json"
        )
        assert again.exit_code == 0
        measures = json.loads((tale / "a.json").read_text("utf-8"))["summary"]["measures"]
        assert evidence["whole_after"] == pytest.approx(measures[evidence["measure"]]["mean"])


def test_what_is_not_installed_is_named_with_its_extra(
    tale: Path, run_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)  # as where the extra is missing
    said = run_cli("eval", "--dataset", "tale-eval.jsonl", "--skip-generation").stdout
    assert "not tried: `--fuzzy 0.85` may help the questions in which no entity was recognised (1)" in said
    assert "uv sync --inexact --extra fuzzy" in said


def test_a_search_by_words_is_tried_where_questions_link_to_nothing(
    own_folder: Path, run_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "RETRIEVERS", ())  # the best of several is named, and others read texts too
    write_kg(own_folder / "data/kg/t-KG.json", ["Ann Lee", "Rex"], [("Ann Lee", "OWNS", "Rex")])
    write_gold(
        own_folder / "data/eval/t-eval.jsonl",
        {"id": "unlinked", "query": "What is owned?", "reference_entities": ["Rex"]},
    )
    run_cli(
        *("eval", "--dataset", "t-eval.jsonl", "--skip-generation"),
        *("-o", "./r.json", "--retriever", "bfs-plain"),
    )
    advice = json.loads((own_folder / "r.json").read_text("utf-8"))["summary"]["recommendations"]
    assert "--retriever bm25" in {advice_line["evidence"].get("flag") for advice_line in advice}
    said = run_cli("query", "What is owned?", "-g", "t-KG.json", "--retriever", "bm25").stdout
    assert "0.263     –" in said  # no hop is claimed for what was not walked to


def test_headers_show_every_setting_that_is_not_the_default(tale: Path, run_cli) -> None:
    (tale / "config.yaml").write_text("ranking:\n  step: 0.2\n")
    first = run_cli(
        "eval", "--dataset", "tale-eval.jsonl", "--skip-generation", "--fuzzy", "0.9"
    ).stdout.splitlines()[0]
    assert first.endswith("bfs, 2 hops, fuzzy 0.9, ranking.step 0.2")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("stats",),
        ("measures",),
        ("query", "Who is Anna?"),
        ("validate", "--dataset", "tale-eval.jsonl"),
        ("history",),
    ],
)
def test_every_command_gives_json(tale: Path, run_cli, command: tuple[str, ...]) -> None:
    run_cli("eval", "--dataset", "tale-eval.jsonl", "--skip-generation")
    done = run_cli(*command, "-o", "-")
    document = json.loads(done.stdout)
    assert document["kind"] in ("stats", "measures", "query", "validation", "history")
    assert document["made"]["command"]


def test_a_page_can_be_named(tale: Path, run_cli) -> None:
    run_cli("eval", "--dataset", "tale-eval.jsonl", "--skip-generation", "-o", "./r.json")
    assert run_cli("report", "r.json", "-o", "./page.html").exit_code == 0
    assert (tale / "page.html").read_text("utf-8").startswith("<!doctype html>")
    both = run_cli("report", "r.json", "--report", "html,md", "-o", "./page.html")
    assert both.exit_code == 2
    assert "2 reports would be written to this file" in both.stderr


def test_sweep_takes_any_setting_and_names_the_best_mean_of_few_questions(tale: Path, run_cli) -> None:
    call = (
        "sweep",
        "--dataset",
        "tale-eval.jsonl",
        "--hops",
        "1-3",
        "--fuzzy",
        "none,0.85",
        "--set",
        "ranking.step=0.1,0.3",
    )
    done = run_cli(*call, "-o", "./s.json")
    assert done.exit_code == 0, done.stderr
    settings = json.loads((tale / "s.json").read_text("utf-8"))["settings"]
    assert len(settings) == 3 * 2 * 2
    assert {(setting["settings"]["fuzzy"], setting["settings"]["step"]) for setting in settings} == {
        *((None, 0.1), (None, 0.3), (0.85, 0.1), (0.85, 0.3))
    }
    assert "best mean: " in done.stdout
    assert "reachable within h hops: mean share" in done.stdout
    wrong = run_cli("sweep", "--dataset", "tale-eval.jsonl", "--set", "ranking.stepp=1")
    assert wrong.exit_code == 2
    assert "did you mean 'ranking.step'" in wrong.stderr


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp949", "ascii", "latin-1"])
def test_narrow_encodings_get_plain_signs_and_no_escapes_of_ours(tale: Path, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), "eval", "--dataset", "tale-eval.jsonl", "--skip-generation"],
        cwd=tale,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=HANGS,
        check=True,
    )
    shown = done.stdout.decode(encoding)
    assert "\\u" not in shown
    assert "----" in shown or "─" in shown
    assert "where recall is lost" in shown


def test_korean_is_spoken_where_it_is_asked_for(tale: Path, run_cli, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("eval", "--dataset", "tale-eval.jsonl", "--skip-generation")
    assert "recall을 잃는 단계" in run_cli(*call, "--lang", "ko").stdout
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert "recall을 잃는 단계" in run_cli(*call).stdout
    assert "where recall is lost" in run_cli(*call, "--lang", "en").stdout
    wrong = run_cli(*call, "--lang", "kr")
    assert wrong.exit_code == 2
    assert "en, ko" in wrong.stderr


def test_the_version_tells_which_extras_are_there(run_cli) -> None:
    said = run_cli("--version").stdout
    assert "extras: " in said
    assert "plots" in said
