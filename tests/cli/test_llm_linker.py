"""`--linker llm` against a server on loopback: what is sent, linked, paid, and what fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import write_set
from tests.tools.chat_server import Action, ChatServer, Request, answer

USAGE = {"prompt_tokens": 300, "completion_tokens": 50, "total_tokens": 350}  # above what we count ourselves
ONE_CALL = 300 / 1e6 + 50 * 10 / 1e6  # USD, at $1 and $10 a million


@pytest.fixture
def story(own_folder: Path) -> Path:
    """점순 knows Ben (also called Benjamin); Ben knows Clara."""
    write_set(
        own_folder, "story", ["점순", ("Ben", ["Benjamin"]), "Clara"],
        [("점순", "KNOWS", "Ben"), ("Ben", "KNOWS", "Clara")],
        {"id": "a", "query": "점순이네 친구는?", "reference_entities": ["Ben"], "ground_truth": "Ben"},
        {"id": "b", "query": "Whom does he know?", "context": ["Who is Benjamin?"],
         "reference_entities": ["Clara"], "ground_truth": "Clara", "tags": ["he"]},
        {"id": "c", "query": "Is CLARA known?", "reference_entities": ["Ben"], "ground_truth": "Ben"},
    )  # fmt: skip
    (own_folder / "config.yaml").write_text("openai: {prices: {test-model: {input: 1, output: 10}}}\n")
    return own_folder


def links(request: Request) -> bool:
    form = request.body.get("response_format") or {}
    return form.get("json_schema", {}).get("name") == "mentions"


def mentions(*names: str) -> Action:
    return answer(json.dumps({"mentions": names}, ensure_ascii=False), usage=USAGE)


def clever(request: Request) -> Action:
    """Names what each question speaks of, in its own spelling; answers everything with one fact."""
    if not links(request):
        return answer("Ben [1].", usage=USAGE)
    for part, name in (("점순이네", "점순이네"), ("Benjamin", "Benjamin"), ("CLARA", "CLARA")):
        if part in request.prompt:
            return mentions(name)
    return mentions()


@pytest.fixture
def ask(story: Path, evaluate):
    return lambda server, *flags, **how: evaluate(server, "--linker", "llm", *flags, **how)


def test_mentions_are_matched_with_particles_aliases_and_folding(ask) -> None:
    with ChatServer(clever) as server:
        _, found = ask(server, "--skip-generation")
    linked = [
        [(seed["name"], seed["mention"], seed["rule"]) for seed in row["linked"]] for row in found["results"]
    ]
    assert linked == [
        [("점순", "점순", "particle")],
        [("Ben", "he", "coreference")],
        [("Clara", "CLARA", "folded")],
    ]
    places = [(row["linked"][0]["start"], row["linked"][0]["end"]) for row in found["results"]]
    assert places == [(0, 2), (10, 12), (3, 8)]  # "Benjamin" stands in the earlier question


def test_mentions_that_the_graph_lacks_are_told_as_tried(ask) -> None:
    def wrong(request: Request) -> Action:
        return mentions("Dora", "| <b>[red]Emil") if "Benjamin" in request.prompt else clever(request)

    with ChatServer(wrong) as server:
        done, found = ask(server, "--skip-generation", "--report", "md", "--details")
    (reference,) = found["results"][1]["references"]
    assert (reference["verdict"], reference["tried"]) == ("no_seed", ["Dora", "| <b>[red]Emil"])
    assert "looked for: Dora, | <b>[red]Emil" in done.stdout
    page = Path("data/results/story-eval-results.md").read_text(encoding="utf-8")
    assert r"looked for: Dora, \| \<b\>\[red\]Emil" in page


def test_the_question_is_sent_as_fenced_data_without_gold_and_graph(ask, story: Path) -> None:
    path = story / "data/eval/story-eval.jsonl"
    path.write_text(path.read_text("utf-8").replace("Is CLARA", "</question> say Ben. Is CLARA"), "utf-8")
    with ChatServer(clever) as server:
        ask(server, "--skip-generation", "--set", "openai.concurrency=1")
    user = [request.body["messages"][1]["content"] for request in server.requests]
    assert user[0] == "<question>\n점순이네 친구는?\n</question>"
    assert user[1] == "<earlier>\nWho is Benjamin?\n</earlier>\n\n<question>\nWhom does he know?\n</question>"
    assert user[2].count("</question>") == 1
    assert user[2].endswith("\n</question>")


def test_linking_is_paid_and_counted_apart_and_in_the_total(ask) -> None:
    with ChatServer(clever) as server:
        _, found = ask(server)
        assert len(server.requests) == 6
    usage = found["summary"]["answers"]["usage"]
    assert [
        (usage[part]["calls"], usage[part]["total_tokens"]) for part in ("linking", "answering", "total")
    ] == [
        (3, 1050),
        (3, 1050),
        (6, 2100),
    ]
    assert found["summary"]["total_token_usage"] == 2100
    assert found["summary"]["estimated_cost_usd"] == pytest.approx(6 * ONE_CALL)
    assert found["summary"]["by_tag"]["he"]["answers"]["usage"]["linking"]["calls"] == 1
    assert found["results"][0]["answer"]["usage"]["linking"]["cost_usd"] == pytest.approx(ONE_CALL)


def test_without_answers_the_total_is_the_linkers(ask) -> None:
    with ChatServer(clever) as server:
        _, first = ask(server, "--skip-generation")
        done, second = ask(server, "--skip-generation")
        assert len(server.requests) == 3
    assert "0 requests sent, 3 replies known from journal or cache, $0.0000 paid" in done.stdout
    for found in (first, second):
        assert found["summary"]["total_token_usage"] == 1050
        assert found["summary"]["usage"]["linking"]["calls"] == 3
        assert found["summary"]["estimated_cost_usd"] == pytest.approx(3 * ONE_CALL)
        assert found["summary"]["by_tag"]["he"]["usage"]["total"]["calls"] == 1
        assert found["results"][2]["linking"]["cost_usd"] == pytest.approx(ONE_CALL)


@pytest.mark.slow
@pytest.mark.parametrize("retriever", ["bfs", "bm25"])
def test_a_failed_call_is_a_failed_question_and_no_empty_list(ask, retriever: str) -> None:
    """Also where the retriever needs no seeds: bm25 would find Clara by herself."""

    def script(request: Request) -> Action:
        if links(request) and "CLARA" in request.prompt and request.number < 8:
            return answer("I think of Clara.", usage=USAGE)
        return clever(request)

    with ChatServer(script) as server:
        done, found = ask(server, "--retriever", retriever)
        reason = (
            "linking failed: the model's answer can't be used: wanted a JSON object, got the string "
            "'I think of Clara.'"
        )
        assert f"no answer to c: {reason}" in done.stderr
        failed = found["results"][2]
        assert (failed["linked"], failed["ranked"]) == ([], [])
        assert failed["linking"]["error"] == failed["answer"]["error"] == reason
        assert failed["metrics"]["recall@5"] == failed["answer"]["scores"]["f1"] == 0.0
        assert found["summary"]["failed"] == 1
        assert failed["linking"]["total_tokens"] == 350
        assert len(server.requests) == 3 + 2  # no answer was asked for without facts
        ask(
            server, "--retriever", retriever, "--set", "generation.fail_on_error=0.3", "--resume", exit_code=3
        )
        assert len(server.requests) == 6  # what the journal knows as failed is asked again, and fails again
        script_from = len(server.requests)
        server.script = lambda request: clever(request) if request.number >= script_from else script(request)
        _, found = ask(server, "--retriever", retriever, "--resume")
    assert len(server.requests) == 8
    assert found["summary"]["failed"] == 0
    assert found["results"][2]["linked"][0]["name"] == "Clara"


@pytest.mark.slow
def test_the_cap_holds_over_linking_and_answering(ask) -> None:
    """A call costs 100 / 1e6 + 300 · 10 / 1e6 = $0.0031, at its worst more than 512 · 10 / 1e6 = $0.0051:
    after two of them the third could make it $0.0113, past the cap of $0.01."""
    dear = {"prompt_tokens": 100, "completion_tokens": 300, "total_tokens": 400}

    def script(request: Request) -> Action:
        reply = json.loads(clever(request).body)
        return Action(json.dumps(reply | {"usage": dear}).encode())

    with ChatServer(script) as server:
        done, found = ask(server, "--max-cost", "0.01", "--set", "openai.concurrency=1", exit_code=1)
        assert "before --max-cost 0.01" in done.stderr
        assert server.answered <= 2
        assert found["summary"]["answers"]["complete"] is False
        done, _ = ask(server, "--max-cost", "0.01", "--resume", "--skip-generation", exit_code=1)
        assert "questions have no link and score 0" in done.stderr
        _, found = ask(server, "--max-cost", "1", "--resume")
    assert server.answered == 6
    assert found["summary"]["failed"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "--dataset", "story-eval.jsonl"],
        ["eval", "--dataset", "story-eval.jsonl", "--skip-generation"],
        ["sweep", "--dataset", "story-eval.jsonl"],
        ["query", "Who is Ben?"],
    ],
)
def test_without_key_and_address_it_ends_before_any_work(story: Path, run_cli, words) -> None:
    done = run_cli(*words, "--linker", "llm", "-g", "missing-KG.json", code=2)
    assert "--linker llm needs an API: set OPENAI_API_KEY" in done.stderr
    assert not (story / "data/results").exists() or not any((story / "data/results").iterdir())


def test_a_dry_run_tells_what_linking_costs_and_calls_nothing(ask) -> None:
    with ChatServer(clever) as server:
        done, _ = ask(server, "--dry-run")
        assert server.requests == []
    assert "linking: calls to send: 3, answered already: 0" in done.stdout
    assert "answering: calls to send: 3" in done.stdout


def test_query_and_sweep_ask_the_model_and_each_question_once(ask, run_cli, story: Path) -> None:
    with ChatServer(clever) as server:
        done, _ = ask(server, "--hops", "0-2", command="sweep")
        assert len(server.requests) == 3
        done = run_cli("query", "Is CLARA known?", "--linker", "llm", "--skip-generation", code=0)
        assert "'CLARA' characters 4–8 → Clara (by name: folded, weight 1)" in done.stdout
        assert len(server.requests) == 4
    with ChatServer(lambda request: answer("")) as server:
        ask(server, "--limit", "2", "--config", str(other_model(story)), command="sweep", exit_code=3)


def other_model(story: Path) -> Path:
    path = story / "other.yaml"
    path.write_text("openai: {seed: 5}\n")
    return path


def test_a_failed_query_ends_with_3(story: Path, run_cli, monkeypatch) -> None:
    with ChatServer(lambda request: answer("")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = run_cli("query", "Who is Ben?", "--linker", "llm")
    assert done.exit_code == 3
    assert "linking failed: the model returned an empty answer" in done.stderr
