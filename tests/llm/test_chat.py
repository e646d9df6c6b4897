"""The client against a real server on loopback that behaves and misbehaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tools.chat_server import Action, ChatServer, Request, answer, error
from tiny_graph_rag.errors import ServiceError
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Message, Outcome, Tokens
from tiny_graph_rag.llm.chat import CUT_OFF, EMPTY, Chat
from tiny_graph_rag.llm.client import Client, Patience
from tiny_graph_rag.llm.cost import Price, TokenCounter
from tiny_graph_rag.llm.endpoint import Endpoint
from tiny_graph_rag.llm.kept import Journal, ReplyCache
from tiny_graph_rag.secret import Secret

KEY = Secret("sk-this-key-must-never-be-seen")
QUICK = Patience(attempts=4, first_wait=0.01, longest_wait=0.02)
PRICE = Price(100.0, 1000.0, 10.0, "test")


def call(text: str = "Who?", **more: Any) -> Call:
    given = {"purpose": "answering", "question": text, "model": "test-model", "max_tokens": 50} | more
    return Call(messages=(Message("user", text),), **given)


def chat(server: ChatServer, *, timeout: float = 60.0, **more: Any) -> Chat:
    counter = TokenCounter(None, "estimate")
    of_client = {"concurrency": 4, "patience": QUICK, "price": lambda model: PRICE} | {
        name: more.pop(name) for name in ("concurrency", "patience", "price", "cap_usd") if name in more
    }
    endpoint = Endpoint(more.pop("url", server.url), more.pop("key", KEY), timeout)
    return Chat(Client(endpoint, lambda model: counter, **of_client), **more)


def scripted(*actions: Action | Callable[[Request], Action]) -> Callable[[Request], Action]:
    """One action a request, the last for all that follow."""

    def script(request: Request) -> Action:
        action = actions[min(request.number, len(actions) - 1)]
        return action if isinstance(action, Action) else action(request)

    return script


def ask(server: ChatServer, calls: Sequence[Call] = (call(),), **more: Any) -> list[Outcome]:
    return chat(server, **more).ask(calls)


def journaled(
    path: Path, server: ChatServer, calls: Sequence[Call], *, resume: bool = True, **more: Any
) -> list[Outcome]:
    """Ask with a journal that is opened for it and closed."""
    with closing(Journal(path, resume=resume)) as journal:
        return ask(server, calls, journal=journal, **more)


def used(prompt: Any = 10, completion: Any = 50, **more: Any) -> dict[str, Any]:
    """usage as a server tells it."""
    return {"prompt_tokens": prompt, "completion_tokens": completion} | more


GOOD = answer("Anna [1].")


def test_a_good_answer_comes_with_the_providers_own_count() -> None:
    usage = used(7, 5, prompt_tokens_details={"cached_tokens": 4}, total_tokens=12)
    usage["completion_tokens_details"] = {"reasoning_tokens": 2}
    with ChatServer(scripted(answer("Anna [1].", usage=usage))) as server:
        (found,) = ask(server, [call(temperature=0.0, seed=3)])
    assert (found.error, found.reply.estimated) == (None, False)
    assert (found.reply.text, found.reply.tokens) == ("Anna [1].", Tokens(7, 5, cached=4, reasoning=2))
    body = server.requests[0].body
    sent = {name: body[name] for name in ("model", "temperature", "seed", "max_tokens")}
    assert sent == {"model": "test-model", "temperature": 0.0, "seed": 3, "max_tokens": 50}
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY.reveal()}"


def test_a_missing_usage_is_counted_here_and_marked() -> None:
    with ChatServer(scripted(answer("Anna", usage=None))) as server:
        (found,) = ask(server)
    # "Who?" and "Anna" are four bytes each: a token; the message is 4 more, the start of the reply 3.
    assert (found.reply.tokens, found.reply.estimated) == (Tokens(8, 1), True)


def test_a_rate_limit_is_obeyed_to_the_second_by_all_calls() -> None:
    limited = error(429, "slow down", {"retry-after": "0.4"})
    with ChatServer(scripted(limited, GOOD)) as server:
        found = ask(server, [call(f"q{n}") for n in range(8)], concurrency=1)
    assert [item.error for item in found] == [None] * 8
    assert server.arrived[1] - server.arrived[0] >= 0.4
    assert len(server.requests) == 9


def test_a_rate_limit_lowers_the_number_of_calls_under_way() -> None:
    """A server that takes four at once: from sixteen the client comes down, and everything is answered."""

    def script(request: Request) -> Action:
        return replace(GOOD, wait=0.02) if server.at_once <= 4 else error(429, "busy", {"retry-after": "0"})

    with ChatServer(script) as server:
        found = ask(server, [call(f"q{n}") for n in range(120)], concurrency=16)
        refused = len(server.requests) - server.answered
    assert all(item.error is None for item in found)
    assert refused < 120, "every second call was refused: nothing was learnt"


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_refuses_everybody_ends_the_run_with_what_it_has(status: int, tmp_path: Path) -> None:
    patience, calls = replace(QUICK, in_a_row=6), [call(f"q{n}") for n in range(40)]
    refusal = error(status, "no room")
    with ChatServer(scripted(GOOD, GOOD, GOOD, refusal)) as server:
        for answered, asks in ((3, 3 + 6 * 4 + 4), (40, 37)):
            journal = Journal(tmp_path / "j.jsonl", resume=True)
            before = len(server.requests)
            asking = chat(server, journal=journal, patience=patience, retry_failed=True)
            found = asking.ask(calls)
            journal.close()
            assert len(server.requests) - before <= asks
            assert sum(item.error is None for item in found) == answered
            if answered == 3:
                assert found[-1].error == NOT_ASKED
                assert "no room; so it went 6 times in a row" in str(asking.client.ended)
            server.script = scripted(GOOD)
        server.script = scripted(refusal)
        with pytest.raises(ServiceError, match="in a row"):
            ask(server, calls, patience=patience)


def test_a_call_with_its_waits_has_an_end() -> None:
    patience = replace(QUICK, in_a_row=1000, longest_call=0.2)
    with ChatServer(scripted(error(429, "no", {"retry-after": "0.05"}))) as server:
        (found,) = ask(server, patience=patience)
    assert 2 <= len(server.requests) <= 4
    assert "rate limit (429): no" in str(found.error)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (replace(GOOD, wait=900.0), "no answer within 0.4 s (openai.timeout)"),
        (replace(GOOD, drop_after=40), "broke"),
        (Action(b'{"id": "chatcmpl-1", "choices": [{'), "not what the protocol says"),
        (Action(b"<html>gateway</html>", headers={"Content-Type": "text/html"}), "not a chat completion"),
        (Action(b'{"error": {"message": "overloaded"}}'), "not a chat completion: overloaded"),
        (Action(b"{}"), "not a chat completion"),
    ],
)
def test_what_fails_in_passing_is_tried_again_and_counted_as_perhaps_charged(bad: Action, words: str) -> None:
    late = "within" in words
    with ChatServer(scripted(bad, GOOD)) as server:
        asking = chat(server, timeout=5.0 if late else 60.0)  # the good answer has time to come
        assert asking.ask([call()])[0].error is None
    assert asking.budget.doubtful == 1
    with ChatServer(scripted(bad)) as server:
        (found,) = ask(server, timeout=0.4 if late else 60.0)
    assert found.reply is None
    assert words in str(found.error)
    assert "(4 attempts)" in str(found.error)
    assert late or len(server.requests) == QUICK.attempts  # on a busy machine one may be late in leaving


@pytest.mark.parametrize(
    ("refusal", "name", "after"),
    [
        (
            error(400, "'max_tokens' is unsupported, use 'max_completion_tokens'", param="max_tokens"),
            "max_tokens",
            {"max_completion_tokens": 50},
        ),
        (error(400, "'temperature' does not support 0", param="temperature"), "temperature", {}),
        (Action(b'{"detail": "seed: extra inputs are not permitted"}', 422), "seed", {}),
        (error(400, "response_format json_schema is not supported"), "response_format", {}),
    ],
)
def test_a_refused_parameter_is_settled_once_for_the_run(
    refusal: Action, name: str, after: dict[str, int]
) -> None:

    def script(request: Request) -> Action:
        return refusal if name in request.body else GOOD

    more = {"temperature": 0.0, "seed": 1, "schema": {"type": "object"}, "schema_name": "verdict"}
    with ChatServer(script) as server:
        found = ask(server, [call(f"q{n}", **more) for n in range(40)], concurrency=4)
    assert all(item.error is None for item in found)
    refused = [request for request in server.requests if name in request.body]
    assert 1 <= len(refused) <= 4, "only calls that were under way together may meet the refusal"
    assert all(server.requests[-1].body.get(key) == value for key, value in after.items())


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (answer(""), EMPTY),
        (answer(None), EMPTY),
        (answer("", finish_reason="length"), CUT_OFF),
        (error(400, "this model's maximum context length is 10 tokens"), "refuses the request (400)"),
        (answer("no json"), "can't be used"),
    ],
)
def test_what_cannot_get_better_fails_once_with_its_reason(bad: Action, words: str) -> None:
    with ChatServer(scripted(bad)) as server:
        (found,) = ask(server, [call(check=json.loads)])
    assert words in str(found.error)
    assert len(server.requests) == 1
    if words == "can't be used":  # and is paid for
        assert found.reply.tokens.prompt == 10


@pytest.mark.parametrize(
    ("bad", "setting"),
    [
        (error(401, f"Incorrect API key provided: {KEY.reveal()}"), "Set OPENAI_API_KEY"),
        (error(403, "no access"), "Check OPENAI_API_KEY"),
        (error(404, "The model does not exist"), "Check openai.model"),
        (error(429, "quota", code="insufficient_quota"), "no credit left"),
        (error(429, "come back tomorrow", {"retry-after": "86400"}), "asks to wait 86,400 s"),
    ],
)
def test_what_no_call_can_survive_ends_the_run_at_once_and_shows_no_key(bad: Action, setting: str) -> None:
    with ChatServer(scripted(bad)) as server, pytest.raises(ServiceError) as raised:
        ask(server, [call(f"q{n}") for n in range(100)])
    assert setting in str(raised.value)
    assert KEY.reveal() not in str(raised.value)
    assert raised.value.__suppress_context__
    assert len(server.requests) <= 4


def test_no_server_ends_the_run_and_names_the_setting() -> None:
    with ChatServer(scripted(GOOD)) as server:
        pass
    with pytest.raises(ServiceError, match=r"can't reach .* Check openai\.base_url"):
        ask(server, [call(f"q{n}") for n in range(100)])


def test_answers_come_in_the_order_of_the_questions() -> None:
    def script(request: Request) -> Action:
        return answer(f"to {request.prompt}", wait=0.05 if request.number % 2 == 0 else 0.0)

    with ChatServer(script) as server:
        found = ask(server, [call(f"q{n}") for n in range(20)])
    assert [item.reply.text for item in found if item.reply] == [f"to q{n}" for n in range(20)]


def test_a_journal_answers_for_calls_that_finished(tmp_path: Path) -> None:
    path, calls = tmp_path / "j.jsonl", [call(f"q{n}") for n in range(10)]
    with ChatServer(scripted(GOOD)) as server:
        # A new run begins in the journal with its first call, and opening it alone begins none.
        for resume, asked, expected, sections in (
            (False, 5, 5, 1),
            (True, 10, 10, 1),
            (True, 10, 10, 1),
            (False, 0, 10, 1),
            (False, 10, 20, 2),
        ):
            if asked:
                journaled(path, server, calls[:asked], resume=resume)
            else:
                Journal(path, resume=resume).close()
            assert len(server.requests) == expected
            assert path.read_text("utf-8").count("tiny-graph-rag-journal") == sections


def test_a_retried_call_counts_with_both_its_replies_against_the_cap(tmp_path: Path) -> None:
    """Two replies were paid for, one of no use: 2 · 7 prompt tokens at $100 a million, and
    "Anna", which the server counts as none, is one token at $1000."""
    replies = (answer(text, usage=used(7, 0, total_tokens=7)) for text in ("", "Anna"))
    with ChatServer(scripted(*replies)) as server:
        for retry in (False, True):
            journaled(tmp_path / "j.jsonl", server, [call("a")], retry_failed=retry)
    journal = Journal(tmp_path / "j.jsonl", resume=True)
    assert journal.paid_usd(lambda model: PRICE) == pytest.approx((14 * 100 + 1 * 1000) / 1e6)
    journal.close()


def test_a_changed_question_is_a_new_call(tmp_path: Path) -> None:
    cache_of = ReplyCache(tmp_path / "answers")
    with ChatServer(scripted(GOOD)) as server:
        for changed in ({}, {"seed": 1}, {"max_tokens": 51}, {"model": "other"}, {"temperature": 0.5}, {}):
            chat(server, cache=cache_of).ask([call(**changed)])
    assert len(server.requests) == 5


def test_a_torn_last_line_is_cut_off_and_the_call_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with ChatServer(scripted(GOOD)) as server:
        journaled(path, server, [call("a"), call("b")], concurrency=1)
        whole = path.read_bytes()
        path.write_bytes(whole[:-20])
        journal = Journal(path, resume=True)
        assert len(journal.finished) == 1
        journal.close()
        journaled(path, server, [call("a"), call("b")])
    assert len(server.requests) == 3
    assert path.read_bytes() == whole


def test_only_failed_calls_are_retried_and_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"

    def script(request: Request) -> Action:
        return answer("") if request.prompt == "bad" and request.number < 2 else GOOD

    with ChatServer(script) as server:
        for retry, errors in ((False, 1), (False, 1), (True, 0)):
            asked = [call("good"), call("bad")]
            found = journaled(path, server, asked, concurrency=1, retry_failed=retry)
            assert sum(item.error is not None for item in found) == errors
    assert [request.prompt for request in server.requests] == ["good", "bad", "bad"]


def test_the_cap_holds_under_concurrency_32() -> None:
    """Each call is 10 prompt and at most 50 answer tokens: 8.5e-5·… the server bills the most allowed."""
    cost = PRICE.cost(Tokens(10, 50))
    with ChatServer(scripted(answer("Anna", usage=used(total_tokens=60), wait=0.01))) as server:
        asking = chat(server, concurrency=32, cap_usd=cost * 40)
        found = asking.ask([call(f"question {n}") for n in range(500)])
    billed = server.answered * cost
    assert billed <= cost * 40
    assert server.answered >= 38, "the cap stops the run long before it must"
    assert asking.budget.spent_usd == pytest.approx(billed)
    assert [item.error for item in found].count(NOT_ASKED) == 500 - server.answered


BROKEN: dict[str, Action] = {
    "503": error(503, "busy"),
    "a page": Action(b"<html>busy</html>", headers={"content-type": "text/html"}),
    "an event stream": Action(b"data: {}\n\n", headers={"content-type": "text/event-stream"}),
    "broken compression": Action(b"\x1f\x8bxx", headers={"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("one_in", [1, 5])
def test_a_call_that_would_be_retried_when_the_cap_is_reached_is_not_asked(
    broken: Action, one_in: int
) -> None:
    """Every question has an outcome, whatever fails on the way to the cap."""
    cap_usd = PRICE.cost(Tokens(10, 50)) * 40

    def script(request: Request) -> Action:
        return (
            broken if request.number % one_in == one_in - 1 else answer("Anna", usage=used(total_tokens=60))
        )

    with ChatServer(script) as server:
        patience = replace(QUICK, in_a_row=1000)
        asking = chat(server, concurrency=8, cap_usd=cap_usd, patience=patience)
        outcomes = asking.ask([call(f"question {number}") for number in range(100)])
    assert len(outcomes) == 100
    assert outcomes[-1].error is not None
    assert asking.budget.spent_usd + asking.budget.doubtful_usd <= cap_usd


LONG = "word " * 2000


def lying(**changes: Any) -> Action:
    """2,000 words with fields of the reply changed."""
    return Action(json.dumps(json.loads(answer(LONG).body) | changes).encode())


# What a server says that prompt and answer took.
COUNTS: list[tuple[Any, Any]] = [(1, 0), (0, 1), (2, 5), (0, 0), (10, -1), (7, 10**9), (5, None)]
COUNTS += [(1.5, 2.5), ("9", "9"), ([1], {"a": 1}), (-(10**9), 5), (10**400, 5), (True, 5), (10, -(10**9))]
# What it says of their parts.
PARTS: list[tuple[str, str, int]] = [
    ("prompt_tokens_details", "cached_tokens", 10**6),
    ("prompt_tokens_details", "cached_tokens", -(10**9)),
    ("completion_tokens_details", "reasoning_tokens", -9),
]
LIES: dict[str, Action] = {
    **{f"usage {counts}": lying(usage=used(*counts)) for counts in COUNTS},
    **{f"{part} {count}": lying(usage=used(10, 5, **{name: {part: count}})) for name, part, count in PARTS},
    "usage empty": lying(usage={}),
    "usage missing": answer(LONG, usage=None),
    "usage null": lying(usage=None),
    "usage nested": lying(usage={"usage": used(1, 1)}),
    "usage NaN": Action(lying(usage=7).body.replace(b'"usage": 7', b'"usage": {"prompt_tokens": NaN}')),
    "all cached": lying(usage=used(9, 1, prompt_tokens_details={"cached_tokens": 9}, total_tokens=-5)),
    "another model": lying(model="free-model", usage=used(1, 0)),
    "one id for all": lying(id="chatcmpl-1", usage=used(1, 0)),
    "an event stream": Action(b"data: {}\n\n" * 2000, headers={"content-type": "text/event-stream"}),
    "cut off": replace(answer(LONG), drop_after=5000),
    "cut off, whole by its length": Action(answer(LONG).body[:5000]),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("max_tokens", [50, 2500])
def test_a_server_that_lies_about_what_it_charges_cannot_pass_the_cap(lie: str, max_tokens: int) -> None:
    """2,000 words are at least 1,800 tokens, whatever `usage` says; a server that ignores max_tokens passes
    the cap by the calls under way at most."""
    least = PRICE.cost(Tokens(0, 1800))
    with ChatServer(scripted(LIES[lie])) as server:
        asking = chat(server, concurrency=4, cap_usd=least * 10, patience=replace(QUICK, attempts=2))
        found = asking.ask([call(f"question {number}", max_tokens=max_tokens) for number in range(40)])
    assert all(PRICE.cost(item.reply.tokens) > 0 for item in found if item.reply)
    spent = asking.budget.spent_usd + asking.budget.doubtful_usd
    if server.answered and asking.budget.spent_usd:
        assert server.answered <= 10 + 4
        assert spent >= least * server.answered
    else:  # no reply could be used: attempts count at their most
        assert spent <= least * 10


def test_a_resumed_run_counts_what_was_paid_before(tmp_path: Path) -> None:
    cost, path = PRICE.cost(Tokens(10, 50)), tmp_path / "j.jsonl"
    with ChatServer(scripted(answer("Anna", usage=used(total_tokens=60)))) as server:
        for _ in range(3):
            journaled(path, server, [call(f"q{n}") for n in range(50)], cap_usd=cost * 10)
    assert server.answered <= 10


def written_in(folder: Path) -> str:
    return "".join(path.read_text("latin-1") for path in folder.rglob("*") if path.is_file())


def test_no_key_reaches_journal_cache_or_errors(tmp_path: Path) -> None:
    leaking = error(400, f"bad request by {KEY.reveal()} at http://user:hunter22@host")
    with ChatServer(scripted(GOOD, leaking)) as server:
        url = server.url.replace("http://", "http://user:hunter22@")
        journal = Journal(tmp_path / "j.jsonl", resume=False)
        kept = {"journal": journal, "cache": ReplyCache(tmp_path / "cache")}
        asking = chat(server, url=url, price=lambda model: None, concurrency=1, **kept)
        found = asking.ask([call("a"), call("b")])
        journal.close()
    written = written_in(tmp_path) + str(found) + repr(asking)
    assert "refuses the request" in written
    assert KEY.reveal() not in written
    assert "hunter22" not in written
    assert server.requests[0].headers["authorization"].startswith("Basic ")
