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
    done = run_cli("eval", "--dataset", "town-eval.jsonl", "--skip-generation", code=0)
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
