"""ACC against a server on loopback that judges and embeds: the figure, its cost, its failures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.conftest import write_set
from tests.tools.chat_server import Action, ChatServer, Request, answer, error
from tiny_graph_rag.answers.records import Answer
from tiny_graph_rag.answers.rubrics import accuracy

VECTORS = {"Anna": [2.0, 0.0], "Anna B.": [3.0, 4.0], "Benjamin": [0.0, 1.0], "Ben": [-1.0, 0.0]}
USAGE = {"prompt_tokens": 8, "total_tokens": 8}
VERDICT = {  # TP 2, FP 1, FN 1: F1 = 2·2 / (2·2 + 1 + 1) = 2/3
    "answer": [{"statement": "s", "supported": flag, "reason": ""} for flag in (True, True, False)],
    "truth": [{"statement": "s", "present": flag, "reason": ""} for flag in (True, True, False)],
}


def embedded(request: Request) -> Action:
    rows = [{"index": place, "embedding": VECTORS[text]} for place, text in enumerate(request.body["input"])]
    return Action(json.dumps({"data": rows, "usage": USAGE}).encode())


def script(request: Request) -> Action:
    if request.path.endswith("/embeddings"):
        return embedded(request)
    if "response_format" in request.body:
        return answer(json.dumps(VERDICT))
    return answer("" if "Clara?" in request.prompt else "Anna [1]" if "Anna?" in request.prompt else "Ben")


@pytest.fixture
def ask(own_folder: Path, evaluate):
    names = ["Anna", "Ben", "Clara"]
    relations = [("Anna", "KNOWS", "Ben"), ("Ben", "KNOWS", "Clara")]
    truths = ["Benjamin", "Anna B."], ["Anna"], "Clara"
    asked = [
        {"id": id, "query": f"{name}?", "reference_entities": [name], "ground_truth": truth}
        for id, name, truth in zip("abc", names, truths, strict=True)
    ]
    dream = {"id": "d", "query": "Who dreams?", "reference_entities": []}
    write_set(own_folder, "story", names, relations, *asked, dream)
    prices = "{test-model: {input: 1, output: 1}, small: {input: 1000, output: 0}}"
    (own_folder / "config.yaml").write_text(f"openai: {{prices: {prices}}}\n")

    def run(server: ChatServer, *flags: str, exit_code: int = 0):
        own = {"--judge": "factuality", "--set": "generation.accuracy_model=small"}
        words = [part for pair in own.items() if pair[0] not in flags for part in pair]
        return evaluate(server, *words, *flags, exit_code=exit_code)

    return run


def test_accuracy_is_three_quarters_facts_and_one_quarter_meaning() -> None:
    for factuality, similarity, expected in ((1.0, 1.0, 1.0), (0.5, -1.0, 0.125), (math.nan, 1.0, math.nan)):
        answer = Answer("Anna", None, scores={"factuality": factuality, "accuracy": similarity})
        assert accuracy(answer).scores["accuracy"] == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
def test_accuracy_by_question_with_its_tokens_and_cost_in_judging(ask) -> None:
    """a: "Anna" (2, 0) and "Anna B." (3, 4), the nearer truth: cosine 3/5; .75 · 2/3 + .25 · .6 = .65.
    b: "Ben" (-1, 0) and "Anna": cosine -1; .5 - .25 = .25. c failed: 0. d has no truth. Mean (.65 + .25) / 3.
    """
    with ChatServer(script) as server:
        _, found = ask(server)
        _, second = ask(server)
        paths = [request.path.rpartition("/")[2] for request in server.requests]
    values = [result["answer"]["scores"]["accuracy"] for result in found["results"]]
    assert values == [pytest.approx(0.65), pytest.approx(0.25), 0.0, None]
    assert found["results"][0]["answer"]["verdicts"]["accuracy"] == {"similarity": pytest.approx(0.6)}
    mean = found["summary"]["answers"]["scores"]["accuracy"]
    assert (mean["mean"], mean["n"]) == (pytest.approx(0.3), 3)
    assert paths.count("embeddings") == 2
    sent = {tuple(request.body["input"]) for request in server.requests if "input" in request.body}
    assert sent == {("Anna", "Benjamin", "Anna B."), ("Ben", "Anna")}
    judging = found["summary"]["answers"]["usage"]["judging"]
    verdicts = found["results"][1]["answer"]["usage"]["judging"]
    assert judging["calls"] == 4
    assert verdicts["cost_usd"] == pytest.approx(8 * 1000 / 1e6 + (verdicts["total_tokens"] - 8) / 1e6)
    assert paths.count("completions") == 7  # 4 answers and 2 verdicts, and c, which failed, once more
    assert second["summary"]["estimated_cost_usd"] == found["summary"]["estimated_cost_usd"]
    assert second["results"][0]["answer"] == found["results"][0]["answer"]


@pytest.mark.slow
def test_an_embedding_that_could_not_be_had_counts_as_unlike_and_is_retried(ask) -> None:
    def failing(request: Request) -> Action:
        return error(400, "too long") if request.path.endswith("/embeddings") else script(request)

    with ChatServer(failing) as server:
        _, found = ask(server)
        # .75 · 2/3 + .25 · -1
        assert found["results"][0]["answer"]["scores"]["accuracy"] == pytest.approx(0.25)
        assert found["summary"]["answers"]["scores"]["accuracy"]["failed"] > 0
        assert found["results"][0]["answer"]["scores"]["factuality"] == pytest.approx(2 / 3)
        assert "too long" in found["results"][0]["answer"]["verdicts"]["accuracy"]["error"]
        server.script = script
        _, found = ask(server, "--resume")
    assert found["results"][0]["answer"]["scores"]["accuracy"] == pytest.approx(0.65)


def test_an_unknown_model_of_embeddings_ends_with_3_and_names_the_setting(ask) -> None:
    def unknown(request: Request) -> Action:
        return error(404, "no such model") if request.path.endswith("/embeddings") else script(request)

    with ChatServer(unknown) as server:
        done, _ = ask(server, exit_code=3)
    assert "Check generation.accuracy_model and openai.base_url" in done.stderr


def test_embeddings_are_in_the_dry_run_and_need_a_price_under_a_cap(ask) -> None:
    with ChatServer(script) as server:
        done, _ = ask(server, "--dry-run")
        assert "judging by embeddings: calls to send: 3" in done.stdout
        done, _ = ask(server, "--max-cost", "1", "--set", "generation.accuracy_model=unheard-of", exit_code=2)
        assert "--max-cost needs a price, and the price of 'unheard-of' is unknown" in done.stderr
        assert server.requests == []


def test_nothing_is_embedded_without_the_judge_of_facts(ask) -> None:
    with ChatServer(script) as server:
        _, found = ask(server, "--judge", "correctness")
    assert not [request for request in server.requests if request.path.endswith("/embeddings")]
    assert "accuracy" not in found["summary"]["answers"]["scores"]
