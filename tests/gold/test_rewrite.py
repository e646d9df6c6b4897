"""`generate --rewrite` against a real server: what survives, what stays, what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.chat_server import Action, ChatServer, Request, answer
from tiny_graph_rag.formats.gold import read_eval_set

GRAPH = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"


def said(request: Request) -> str:
    """A rewriting that keeps everything."""
    return f"Say, {request.body['messages'][-1]['content'].splitlines()[0]}"


def generated(run_cli, monkeypatch: pytest.MonkeyPatch, path: Path, script, *more: object):
    with ChatServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        found = run_cli("generate -g", GRAPH, "--n", 12, "--rewrite", "--model", "m", "-o", path, *more)
        return found, len(server.requests)


def test_a_rewriting_replaces_the_words_and_nothing_else(run_cli, monkeypatch, tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.jsonl", tmp_path / "said.jsonl"
    assert run_cli("generate -g", GRAPH, "--n", 12, "-o", plain).exit_code == 0
    found, calls = generated(
        run_cli, monkeypatch, path, lambda request: answer(json.dumps({"question": said(request)}), request)
    )
    assert found.exit_code == 0, found.stderr
    assert calls == 12
    assert "questions rewritten: 12, left as they were: 0" in found.stdout
    for one, other in zip(read_eval_set(plain), read_eval_set(path), strict=True):
        assert other.query == f"Say, {one.query}"
        assert other.unknown["template"] == one.query
        assert other.reference_entities == one.reference_entities


def test_what_was_paid_for_is_not_asked_again(run_cli, monkeypatch, tmp_path: Path) -> None:
    with ChatServer(lambda pair: answer(json.dumps({"question": said(pair)}), pair)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        path = tmp_path / "said.jsonl"
        for _ in range(2):
            found = run_cli("generate -g", GRAPH, "--n", 6, "--rewrite", "-o", path, "--resume", code=0)
        assert len(server.requests) == 6
        assert "6 replies known from journal or cache" in found.stdout


def test_a_rewriting_that_loses_a_name_or_names_the_answer_leaves_the_template(
    run_cli, monkeypatch, tmp_path: Path
) -> None:
    plain, path = tmp_path / "plain.jsonl", tmp_path / "said.jsonl"
    run_cli("generate -g", GRAPH, "--n", 12, "-o", plain)
    answers = {question.query: question.reference_entities for question in read_eval_set(plain)}

    def script(request: Request) -> Action:
        question = request.body["messages"][-1]["content"].splitlines()[0]
        if request.number % 2:
            return answer(json.dumps({"question": "Who?"}), request)
        told = f"{question} Is it {', '.join(answers[question]) or 'nobody'}?"
        return answer(json.dumps({"question": told if answers[question] else "Who?"}), request)

    found, calls = generated(run_cli, monkeypatch, path, script, "--set", f"openai.concurrency={1}")
    assert found.exit_code == 0, found.stderr
    assert calls == 12
    assert "questions rewritten: 0, left as they were: 12" in found.stdout
    assert [question.query for question in read_eval_set(path)] == [
        question.query for question in read_eval_set(plain)
    ]


def test_without_an_api_or_with_a_dry_run_nothing_is_asked(run_cli, monkeypatch, tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    found = run_cli("generate -g", GRAPH, "--n", 5, "--rewrite", "-o", path, code=2)
    assert "--rewrite needs an API" in found.stderr
    found = run_cli("generate -g", GRAPH, "--n", 5, "--rewrite", "--dry-run", "-o", path, code=0)
    assert "rewriting" in found.stdout
    assert not path.exists()
