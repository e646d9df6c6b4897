"""`eval` with answers, from the outside, against a server on loopback."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import read_json, write_set
from tests.tools.chat_server import Action, ChatServer, Request, answer, error
from tests.tools.encodings import install

KEY = "sk-this-key-must-never-be-seen"
PEOPLE = [f"Person{n}" for n in range(12)]
KINDS_OF_TOKENS = ["prompt", "completion", "total", "cached", "reasoning"]
UNCACHED = ("--set", "running.answer_cache=false")


@pytest.fixture
def story(own_folder: Path) -> Path:
    questions = [
        {"id": f"q{n}", "query": f"Who knows {name}?", "reference_entities": [name], "ground_truth": name,
         "tags": ["odd" if n % 2 else "even"]}
        for n, name in enumerate(PEOPLE)
    ]  # fmt: skip
    write_set(own_folder, "story", PEOPLE, [(a, "KNOWS", b) for a, b in pairwise(PEOPLE)], *questions)
    (own_folder / "config.yaml").write_text("openai: {prices: {test-model: {input: 1, output: 10}}}\n")
    return own_folder


@pytest.fixture
def ask(story: Path, evaluate, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return evaluate


def polite(request: Request) -> Action:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return answer("Person1 [1].", usage=usage)


def test_tokens_and_cost_are_told_by_question_by_tag_and_in_total(ask) -> None:
    """1000 · $1/M + 100 · $10/M = $0.002 a question, 12 questions."""
    with ChatServer(polite) as server:
        _, found = ask(server)
    assert found["summary"]["total_token_usage"] == 13200
    usage = found["summary"]["token_usage"]
    assert [name.removesuffix("_tokens") for name in usage] == KINDS_OF_TOKENS
    assert list(usage.values()) == [12000, 1200, 13200, 0, 0]
    assert found["summary"]["estimated_cost_usd"] == pytest.approx(0.024)
    odd = found["summary"]["by_tag"]["odd"]["answers"]["usage"]
    assert odd["answering"]["cost_usd"] == pytest.approx(0.012)
    first = found["results"][0]["answer"]
    assert (first["text"], first["error"], first["cost_usd"]) == ("Person1 [1].", None, pytest.approx(0.002))
    assert first["citations"]
    assert set(first["citations"]) <= set(found["entities"])


def test_estimates_are_marked_and_scores_without_a_true_answer_explained(ask, story: Path, run_cli) -> None:
    path = story / "data/eval/story-eval.jsonl"
    path.write_text(path.read_text("utf-8").replace("ground_truth", "unused"), "utf-8")
    with ChatServer(lambda request: answer("Person1 [1].", usage=None)) as server:
        done, found = ask(server, "--report", "md")
    assert found["summary"]["answers"]["scores"]["exact_match"]["n"] == 0
    assert "no question has a ground_truth" in done.stdout
    page = next(story.rglob("*.md")).read_text("utf-8")
    assert f"≈ {found['summary']['total_token_usage']:,} tokens, ≈ " in page


def test_without_key_and_address_answers_are_explained_and_nothing_fails(story: Path, run_cli) -> None:
    done = run_cli("eval --dataset story-eval.jsonl", code=0)
    assert "answers are not generated: no API is set; set OPENAI_API_KEY" in done.stdout
    found = read_json(story / "data/results/story-eval-results.json")
    assert found["summary"]["total_token_usage"] == 0
    assert found["summary"]["estimated_cost_usd"] == 0.0


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--generate"], "--generate needs an API: set OPENAI_API_KEY"),
        (["--generate", "--skip-generation"], "can't be used together"),
        (["--dry-run", "--skip-generation"], "can't be used together"),
        (["--dry-run", "--set", "generation.prompt=missing.txt"], "missing.txt: can't be read"),
        (["--dry-run", "--max-cost", "1", "--model", "unheard-of"], "the price of 'unheard-of' is unknown"),
        (["--dry-run", "--set", "generation.fail_on_error=2"], "fail_on_error must be from 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(story: Path, run_cli, flags, expected) -> None:
    done = run_cli("eval --dataset story-eval.jsonl", *flags, code=2)
    assert expected in done.stderr
    assert not (story / "data/results/story-eval-results.json").exists()


def test_a_wrong_price_says_where(story: Path, run_cli) -> None:
    (story / "config.yaml").write_text("openai: {prices: {gpt-4.1-mini: {input: free, output: 1}}}\n")
    done = run_cli("eval --dataset story-eval.jsonl --dry-run", code=2)
    assert "config.yaml: openai.prices.gpt-4.1-mini must be {input: …, output: …}" in done.stderr
    assert "got `str` - at `$.input`" in done.stderr


def test_the_second_run_is_answered_from_the_cache_and_costs_the_same_on_paper(ask) -> None:
    with ChatServer(polite) as server:
        _, first = ask(server)
        done, second = ask(server)
        assert len(server.requests) == 12
        ask(server, *UNCACHED)
        assert len(server.requests) == 24
    assert "0 requests sent, 12 replies known from journal or cache, $0.0000 paid" in done.stdout
    answers = [[result["answer"] for result in found["results"]] for found in (first, second)]
    assert answers[0] == answers[1]
    assert first["summary"]["estimated_cost_usd"] == second["summary"]["estimated_cost_usd"]


def test_failed_questions_are_listed_and_retried_alone(ask) -> None:
    def script(request: Request) -> Action:
        return answer("") if "Person3?" in request.prompt and request.number < 12 else polite(request)

    with ChatServer(script) as server:
        done, found = ask(server)
        assert "warning: no answer to q3: the model returned an empty answer" in done.stderr
        assert found["summary"]["failed"] == found["summary"]["by_tag"]["odd"]["failed"] == 1
        assert found["results"][3]["answer"]["error"] == "the model returned an empty answer"
        _, found = ask(server, "--resume")
    assert len(server.requests) == 13
    assert found["summary"]["failed"] == 0


def test_a_failing_gate_hides_no_failed_question(ask) -> None:
    """Failed questions first, then results and gates; 3 goes before 1, and both reasons are said."""

    def script(request: Request) -> Action:
        return answer("") if "Person3?" in request.prompt else polite(request)

    with ChatServer(script) as server:
        done, found = ask(server, "--fail-under", "mrr>=1.01", exit_code=1)
        assert "no answer to q3: the model returned an empty answer" in done.stderr
        assert "gate mrr>=1.01" in done.stderr
        assert done.stderr.index("no answer to q3") < done.stderr.index("gate mrr")
        assert found["summary"]["failed"] == 1
        few = ("--set", "generation.fail_on_error=0.05")
        done, _ = ask(server, "--fail-under", "mrr>=1.01", *few, exit_code=3)
    assert "gate mrr>=1.01" in done.stderr
    assert "1 of 12 questions have no answer" in done.stderr


def test_the_cap_stops_in_order_and_a_higher_one_goes_on(ask) -> None:
    with ChatServer(polite) as server:
        done, found = ask(server, "--max-cost", "0.025", *UNCACHED, exit_code=1)
        assert server.answered * 0.002 <= 0.025
        assert "before --max-cost 0.025" in done.stderr
        assert found["summary"]["answers"]["complete"] is False
        answered = server.answered
        assert found["summary"]["failed"] == 12 - answered
        _, found = ask(server, "--max-cost", "1", "--resume", *UNCACHED)
    assert server.answered == 12
    assert found["summary"]["answers"]["complete"] is True


def test_a_service_that_refuses_from_then_on_ends_with_3_and_what_there_is(ask) -> None:
    def script(request: Request) -> Action:
        return polite(request) if request.number < 4 else error(429, "slow down", {"retry-after": "0"})

    with ChatServer(script) as server:
        done, found = ask(server, *UNCACHED, exit_code=3)
        assert "slow down; so it went 15 times in a row: 8 of 12 questions have no answer" in done.stderr
        assert found["summary"]["failed"] == 8
        server.script = polite
        _, found = ask(server, "--resume", *UNCACHED)
    assert server.answered == 12
    assert found["summary"]["answers"]["complete"] is True


def test_a_refused_key_ends_the_run_with_3_and_is_shown_nowhere(ask, story: Path) -> None:
    with ChatServer(lambda request: error(401, f"Incorrect API key provided: {KEY}")) as server:
        done, found = ask(server, exit_code=3)
    assert found is None
    assert "Set OPENAI_API_KEY" in done.stderr
    files = [path.read_text("utf-8", "replace") for path in story.rglob("*") if path.is_file()]
    assert KEY not in "".join((done.output, *files))


@pytest.mark.slow
def test_a_dry_run_calls_nothing_and_counts_what_the_server_then_counts(
    ask, story: Path, monkeypatch
) -> None:
    """Within 2 %; the server counts with tiktoken, each message with the 4 tokens of the chat format."""
    import tiktoken

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(install("o200k_base", story / "encodings")))
    encoding = tiktoken.get_encoding("o200k_base")
    billed = []

    def script(request: Request) -> Action:
        texts = [message["content"] for message in request.body["messages"]]
        billed.append(sum(len(encoding.encode(text)) + 4 for text in texts) + 3)
        return answer("점순", usage={"prompt_tokens": billed[-1], "completion_tokens": 1, "total_tokens": 0})

    with ChatServer(script) as server:
        done, _ = ask(server, "--dry-run", "--model", "gpt-4.1-mini", "--save-run", "./run.trec")
        assert not Path("run.trec").exists()
        assert server.requests == []
        (line,) = [line for line in done.stdout.splitlines() if "prompt tokens: " in line]
        counted = int(line.partition("prompt tokens: ")[2].split()[0].replace(",", ""))
        ask(server, "--model", "gpt-4.1-mini")
    assert counted == pytest.approx(sum(billed), rel=0.02)
    assert "tokens by tiktoken o200k_base" in done.stdout


def test_what_a_dry_run_says_at_most_is_never_passed_where_every_verdict_is_unreadable(
    ask, story: Path, monkeypatch
) -> None:
    """The worst server there is: no verdict can be read, and every reply is as long as it may be. It bills
    the request as it came, with the schema that it must keep to."""
    import tiktoken

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(install("o200k_base", story / "encodings")))
    encoding = tiktoken.get_encoding("o200k_base")
    billed: list[tuple[int, int]] = []

    def script(request: Request) -> Action:
        texts = [message["content"] for message in request.body["messages"]]
        prompt = sum(len(encoding.encode(text)) + 4 for text in texts) + 3
        if "response_format" in request.body:
            prompt += len(encoding.encode(json.dumps(request.body["response_format"])))
        longest = request.body.get("max_completion_tokens") or request.body["max_tokens"]
        billed.append((prompt, longest))
        text = "well " * longest
        usage = {"prompt_tokens": prompt, "completion_tokens": longest, "total_tokens": prompt + longest}
        return answer(text, usage=usage)

    judged = ("--judge", "correctness,faithfulness", "--set", "openai.max_tokens=40")
    with ChatServer(script) as server:
        forecast, _ = ask(server, "--dry-run", *judged)
        assert server.requests == []
        done, found = ask(server, *judged)
    rows = [line for line in forecast.stdout.splitlines() if line.strip().startswith("cost: ")]
    most = sum(float(line.rpartition("$")[2]) for line in rows)
    spent = sum(prompt * 1e-6 + completion * 10e-6 for prompt, completion in billed)
    assert len(rows) == 2
    assert len(billed) == 12 + 2 * 12
    assert spent <= most <= 2 * spent
    assert found["summary"]["estimated_cost_usd"] == pytest.approx(spent)
    assert f"this run: {len(billed)} requests sent" in done.stdout + done.stderr
    assert f"${spent:.4f}" in done.stdout + done.stderr


def test_what_a_judge_without_a_price_costs_is_unknown_in_every_line(ask, story: Path) -> None:
    """The answers' own cost is known and said as such; no line gives it as what was paid in all."""
    (story / "config.yaml").write_text(
        "openai: {judge_model: unpriced, prices: {test-model: {input: 1, output: 10}}}\n"
    )

    def script(request: Request) -> Action:
        if request.body["model"] == "unpriced":
            return answer(json.dumps({"verdict": "correct", "reason": "so"}))
        return polite(request)

    with ChatServer(script) as server:
        dry, _ = ask(server, "--dry-run", "--judge", "correctness")
        done, found = ask(server, "--judge", "correctness")
    costs = [line.strip() for line in dry.stdout.splitlines() if line.strip().startswith("cost: ")]
    assert len(costs) == 2
    assert costs[1] == "cost: unknown"
    assert found["summary"]["estimated_cost_usd"] is None
    paid = [line for line in (done.stdout + done.stderr).splitlines() if "paid" in line]
    assert paid
    assert all("unknown" in line for line in paid), paid


def test_a_query_without_an_answer_still_shows_what_was_retrieved(ask, story: Path, run_cli) -> None:
    query = "query Person0? --hops 1 -o ./asked.json"
    with ChatServer(lambda request: error(400, "no such thing")) as server:
        ask(server, "--skip-generation")
        assert run_cli(query, "--skip-generation").exit_code == 0
        assert server.requests == []
        done = run_cli(query, code=3)
    assert "Person0 —KNOWS→ Person1" in done.stdout
    assert "no such thing" in done.stderr
    assert read_json(story / "asked.json")["question"]["ranked"]


def test_of_many_failures_the_first_are_shown_and_the_rest_counted(ask) -> None:
    with ChatServer(lambda request: answer("")) as server:
        done, _ = ask(server, exit_code=3)
    assert done.stderr.count("warning: no answer to q") == 5
    assert "… and 7 more, all in the results" in done.stderr


def test_a_cap_reached_while_the_service_fails_ends_with_3_and_the_reason(ask) -> None:
    def script(request: Request) -> Action:
        return error(503, "busy") if request.number % 5 == 4 else polite(request)

    with ChatServer(script) as server:
        done, found = ask(server, "--max-cost", "0.02", *UNCACHED, exit_code=3)
    assert "before --max-cost 0.02" in done.stderr
    assert "the server failed (503): busy" in done.stderr
    assert found["summary"]["failed"] > 0
