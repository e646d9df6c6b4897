"""What a user meets first: help in two screens, files where completion says, words in any encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import read_json, write_set
from tiny_graph_rag.messages import LANGUAGES
from tiny_graph_rag.outputs import output_path
from tiny_graph_rag.report.plain import cell_width


@pytest.fixture
def tale(own_folder: Path) -> Path:
    """A chain, Anna to Dora over Rex, with a misspelt question, one beyond two hops and one that is found."""
    return write_set(
        own_folder,
        "tale",
        ["Anna", "Bertram", "Rex", "Dora"],
        [("Anna", "KNOWS", "Bertram"), ("Bertram", "OWNS", "Rex"), ("Rex", "BITES", "Dora")],
        {"id": "near", "query": "Whom does Anna know?", "reference_entities": ["Bertram"]},
        {"id": "far", "query": "Whom does Anna dread?", "reference_entities": ["Dora"]},
        {"id": "misspelt", "query": "What does Bertrram own?", "reference_entities": ["Rex"]},
    )


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


def test_the_worst_question_says_what_stood_in_the_way_and_how_to_look(tale: Path, run_cli) -> None:
    call = ("eval", "--dataset", "tale-eval.jsonl", "--skip-generation")
    said = run_cli(*call).stdout
    assert "1 of 3 questions: the answer is among the first 5." in said
    assert "Worst question: far (Dora: needs 3 hops)" in said
    assert "query --dataset tale-eval.jsonl --id far" in said
    details = run_cli(*call, "--details").stdout
    assert "Dora: needs 3 hops" in details
    assert "Rex: no entity of the question was recognised; looked for: Bertrram" in details


def test_what_was_tried_is_what_eval_says_of_it(tale: Path, run_cli) -> None:
    run_cli("eval --dataset tale-eval.jsonl --skip-generation -o ./r.json")
    summary = read_json(tale / "r.json")["summary"]
    tried = {record["label"]: record for record in summary["decision"]["tried"]}
    assert {"--set retrieval.fuzzy=0.85", "--hops 3"} <= set(tried)
    assert tried["--hops 3"]["against"] == "beyond_hops"
    assert summary["decision"]["recommended"] is None
    assert (
        "too few groups of questions to compare settings (3 of at least 30)" in summary["decision"]["reason"]
    )
    for label in ("--set retrieval.fuzzy=0.85", "--hops 3"):
        run_cli("eval --dataset tale-eval.jsonl", *label.split(), "-o", "./a.json", code=0)
        measures = read_json(tale / "a.json")["summary"]["measures"]
        assert tried[label]["mean"] == pytest.approx(measures[summary["decision"]["measure"]]["mean"])


def test_a_search_by_words_is_tried_where_questions_link_to_nothing(own_folder: Path, run_cli) -> None:
    question = {"id": "unlinked", "query": "What is owned?", "reference_entities": ["Rex"]}
    write_set(own_folder, "t", ["Ann Lee", "Rex"], [("Ann Lee", "OWNS", "Rex")], question)
    run_cli("eval --dataset t-eval.jsonl -o ./r.json --retriever bfs-plain")
    tried = read_json(own_folder / "r.json")["summary"]["decision"]["tried"]
    assert {record["label"]: record["against"] for record in tried}["--retriever bm25"] == "no_seed"
    said = run_cli("query", "What is owned?", "-g", "t-KG.json", "--retriever", "bm25").stdout
    assert "0.263    –" in said  # no hop is claimed for what was not walked to


def test_headers_show_every_setting_that_is_not_the_default(tale: Path, run_cli) -> None:
    (tale / "config.yaml").write_text("ranking:\n  step: 0.2\n")
    first = run_cli(
        "eval --dataset tale-eval.jsonl --skip-generation --set retrieval.fuzzy=0.9"
    ).stdout.splitlines()[0]
    assert first.endswith("bfs, 2 hops, fuzzy 0.9, ranking.step 0.2")


def test_a_page_can_be_named(tale: Path, run_cli) -> None:
    run_cli("eval --dataset tale-eval.jsonl --skip-generation -o ./r.json")
    assert run_cli("report r.json -o ./page.html").exit_code == 0
    assert (tale / "page.html").read_text("utf-8").startswith("<!doctype html>")
    both = run_cli("report r.json --report html,md -o ./page.html", code=2)
    assert "wanted a folder, or one report of this kind" in both.stderr


def test_sweep_takes_any_setting_and_names_the_best_mean_of_few_questions(tale: Path, run_cli) -> None:
    call = (
        "sweep",
        "--dataset",
        "tale-eval.jsonl",
        "--hops",
        "1-3",
        "--set",
        "retrieval.fuzzy=none,0.85",
        "--set",
        "ranking.step=0.1,0.3",
    )
    done = run_cli(*call, "-o", "./s.json", code=0)
    settings = read_json(tale / "s.json")["settings"]
    assert len(settings) == 3 * 2 * 2
    assert {(setting["settings"]["fuzzy"], setting["settings"]["step"]) for setting in settings} == {
        *((None, 0.1), (None, 0.3), (0.85, 0.1), (0.85, 0.3))
    }
    assert "No recommendation: too few groups of questions" in done.stdout
    assert "more settings (5): --details" in done.stdout
    wrong = run_cli("sweep --dataset tale-eval.jsonl --set ranking.stepp=1", code=2)
    assert "did you mean 'ranking.step'" in wrong.stderr
