"""Coming from upstream tiny-graph-RAG: its settings, its options, and `query` that answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import write_gold, write_kg
from tests.tools.chat_server import Action, ChatServer, Request, answer, error

SETTINGS = """\
openai:
    base_url: null
    model: "gpt-4o-mini"
    temperature: 0.0
    max_tokens: 4096
chunking:
    chunk_size: 1024
    chunk_overlap: 64
storage:
    kg_dir: null
    dataset_dir: null
    hardset_dir: "data/eval-hardset"
"""

# A results file as upstream writes it, two questions by hand.
RESULTS = {
    "summary": {"num_examples": 2, "k": 5, "avg_precision_at_k": 0.3, "total_tokens": 30},
    "results": [
        {
            "example_id": f"q{n}",
            "query": "Whom?",
            "reference_entities": ["Ben"],
            "retrieved_entities": ["Ben", "Anna"],
            "metrics": {"precision_at_k": p, "recall_at_k": 1.0, "mrr": 1.0, "ndcg_at_k": 1.0},
            "latency_seconds": 0.5,
            "token_usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            "estimated_cost_usd": 0.001,
            "tags": ["t"],
        }
        for n, p in ((1, 0.2), (2, 0.4))
    ],
}


@pytest.fixture
def town(own_folder: Path) -> Path:
    write_kg(own_folder / "data/kg/town-KG.json", ["Anna", "Ben"], [("Anna", "KNOWS", "Ben")])
    gold = {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Ben"]}
    write_gold(own_folder / "data/eval/town-eval.jsonl", gold)
    return own_folder


def told(request: Request) -> Action:
    return answer("Ben [1].", usage={"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100})


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch):
    """Make a server the API that is set up."""

    def use(server: ChatServer) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("OPENAI_MODEL", "test-model")

    return use


def test_its_settings_are_taken_and_what_makes_graphs_is_named(town: Path, run_cli) -> None:
    (town / "config.yaml").write_text(SETTINGS, encoding="utf-8")
    done = run_cli("eval", "--dataset", "town-eval.jsonl", "--skip-generation")
    assert done.exit_code == 0, done.output
    assert (
        "warning: config.yaml: ignored settings of upstream tiny-graph-RAG: chunking, storage.hardset_dir"
        in done.stderr
    )
    found = json.loads((town / "data/results/town-eval-results.json").read_text("utf-8"))
    assert (found["config"]["openai"]["model"], found["config"]["openai"]["max_tokens"]) == (
        "gpt-4o-mini",
        4096,
    )
    assert found["config"]["storage"]["kg_dir"] == "data/kg"


def test_a_section_of_nobodys_is_still_an_error(town: Path, run_cli) -> None:
    (town / "config.yaml").write_text("chunkin:\n  chunk_size: 1\n", encoding="utf-8")
    done = run_cli("eval", "--dataset", "town-eval.jsonl", "--skip-generation")
    assert done.exit_code == 2
    assert "unknown section 'chunkin'" in done.stderr


def test_its_prices_are_for_a_thousand_tokens(town: Path, run_cli, at) -> None:
    """1,000 tokens at $0.00015 and 100 at a tenth of $0.0006: $0.00021."""
    prices = ("--price-per-1k-input", "0.00015", "--price-per-1k-output", "0.0006")
    with ChatServer(told) as server:
        at(server)
        done = run_cli("eval", "--dataset", "town-eval.jsonl", *prices)
    assert done.exit_code == 0, done.output
    found = json.loads((town / "data/results/town-eval-results.json").read_text("utf-8"))
    assert found["summary"]["estimated_cost_usd"] == pytest.approx(0.00021)
    assert found["config"]["openai"]["prices"] == {"test-model": {"input": 0.15, "output": 0.6}}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (
            ("--price-per-1k-input", "1"),
            "--price-per-1k-output is missing, and 'nobodys-model' has no known price",
        ),
        (("--price-per-1k-output", "1"), "--price-per-1k-input is missing, and 'nobodys-model' has no"),
        (("--price-per-1k-input", "nan", "--price-per-1k-output", "1"), "must be an amount of USD"),
        (("--price-per-1k-input", "-1", "--price-per-1k-output", "1"), "--price-per-1k-input"),
    ],
)
def test_half_a_price_is_none(town: Path, run_cli, flags: tuple[str, ...], words: str) -> None:
    done = run_cli("eval", "--dataset", "town-eval.jsonl", "--model", "nobodys-model", *flags)
    assert done.exit_code == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("flag", "prices"),
    [
        ("--price-per-1k-input", {"input": 2000.0, "output": 1.6}),
        ("--price-per-1k-output", {"input": 0.4, "output": 2000.0, "cached_input": 0.1}),
    ],
)
def test_the_half_that_is_not_given_is_the_models_known_price(
    town: Path, run_cli, at, flag: str, prices: dict[str, float]
) -> None:
    (town / "config.yaml").write_text(
        "openai: {model: test-model, prices: {test-model: {input: 0.4, output: 1.6, cached_input: 0.1}}}\n"
    )
    with ChatServer(told) as server:
        at(server)
        done = run_cli("eval", "--dataset", "town-eval.jsonl", flag, "2")
    assert done.exit_code == 0, done.output
    found = json.loads((town / "data/results/town-eval-results.json").read_text("utf-8"))
    assert found["config"]["openai"]["prices"] == {"test-model": prices}


@pytest.mark.parametrize("asked", [["Whom does Anna know?"], ["--dataset", "town-eval.jsonl", "--id", "q1"]])
def test_query_answers_from_what_it_retrieved(town: Path, run_cli, at, asked: list[str]) -> None:
    with ChatServer(told) as server:
        at(server)
        done = run_cli("query", *asked, "-o", "./asked.json")
        prompts = [request.prompt for request in server.requests]
    assert done.exit_code == 0, done.output
    assert "Ben [1]." in done.stdout
    assert "answered by test-model" in done.stdout
    assert len(prompts) == 1
    assert "Anna —KNOWS→ Ben" in prompts[0]
    assert "Whom does Anna know?" in prompts[0]
    written = json.loads((town / "asked.json").read_text("utf-8"))["question"]["answer"]
    assert (written["text"], written["tokens"]["total_tokens"]) == ("Ben [1].", 1100)


def test_query_asks_nobody_without_an_api_or_when_told_not_to(town: Path, run_cli, at) -> None:
    assert run_cli("query", "Whom does Anna know?").exit_code == 0
    with ChatServer(told) as server:
        at(server)
        done = run_cli("query", "Whom does Anna know?", "--skip-generation")
        assert (done.exit_code, server.requests) == (0, [])


def test_a_query_without_an_answer_still_shows_what_was_retrieved(town: Path, run_cli, at) -> None:
    with ChatServer(lambda request: error(400, "no such thing")) as server:
        at(server)
        done = run_cli("query", "Whom does Anna know?", "-o", "./asked.json")
    assert done.exit_code == 3
    assert "Anna —KNOWS→ Ben" in done.stdout
    assert "no such thing" in done.stderr
    assert json.loads((town / "asked.json").read_text("utf-8"))["question"]["ranked"]


def test_its_results_files_are_read_by_compare_report_and_history(own_folder: Path, run_cli) -> None:
    for name in ("a", "b"):
        (own_folder / f"{name}_results.json").write_text(json.dumps(RESULTS, indent=2))
    compared = run_cli("compare", "./a_results.json", "./b_results.json")
    assert compared.exit_code == 0, compared.output
    assert "precision@5" in compared.stdout
    shown = run_cli("report", "./a_results.json", "--report", "md")
    assert shown.exit_code == 0, shown.output
    # (0.2 + 0.4) / 2, as upstream says too.
    assert "| precision@5 | 0.300 |" in (own_folder / "a_results.md").read_text("utf-8")
    past = run_cli("history", ".")
    assert "a_results" in past.stdout


def test_its_other_commands_are_answered_with_what_to_use(run_cli) -> None:
    done = run_cli("process", "novel.txt")
    assert done.exit_code == 2
    assert "process is a command of upstream tiny-graph-RAG; here: make the graph with" in done.stderr
