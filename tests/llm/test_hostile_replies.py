"""Servers that are broken or mean harm: no key goes elsewhere, no reply ends a run, no cap is defeated."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.llm.test_chat import GOOD, KEY, PRICE, QUICK, ask, call, chat, scripted, used, written_in
from tests.tools.chat_server import Action, ChatServer, Request, answer, error
from tiny_graph_rag.errors import ConfigError, ServiceError
from tiny_graph_rag.llm.base import Call, Message, Outcome, Reply, Tokens
from tiny_graph_rag.llm.endpoint import Endpoint
from tiny_graph_rag.llm.kept import CACHE_FILE, Journal, ReplyCache
from tiny_graph_rag.secret import Secret

DEEP = "[" * 1100 + "]" * 1100


def embedding(*texts: str, purpose: str = "judging") -> Call:
    messages = tuple(Message("user", text) for text in texts or ("a", "b"))
    return Call(purpose, "q", "test-model", messages, max_tokens=0, embeds=True)  # type: ignore[arg-type]


def completion(text: str = "Anna", **changes: Any) -> Action:
    document = json.loads(answer(text).body) | changes
    return Action(json.dumps(document).encode())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("asked", [call(), embedding()])
def test_no_redirect_is_followed_with_a_key(status: int, asked: Call) -> None:
    with ChatServer(scripted(GOOD)) as other:
        away = Action(b"", status, {"Location": f"{other.url}/chat/completions?api-key=hunter22"})
        with ChatServer(scripted(away)) as server, pytest.raises(ServiceError) as raised:
            ask(server, [asked])
    assert "redirects to http://127.0.0.1" in str(raised.value)
    assert "hunter22" not in str(raised.value)
    assert "Set openai.base_url" in str(raised.value)
    assert other.requests == []


SHAPES = {
    "half a character": Action(answer("moon \\ud83d").body.replace(b"\\\\u", b"\\u")),
    "details are a list": completion(usage={"prompt_tokens": 9, "prompt_tokens_details": [1]}),
    "400 digits": completion(usage={"prompt_tokens": 10**400, "completion_tokens": 1}),
    "5,000 digits": Action(answer("Anna").body.replace(b'"created": 1', b'"created": ' + b"9" * 5000)),
    "deep body": Action(answer("Anna").body.replace(b'"created": 1', b'"created": ' + DEEP.encode())),
    "deep text": answer(DEEP),
    "nothing": Action(b""),
    "a choice is null": completion(choices=[None]),
    "content is a list": completion(choices=[{"message": {"content": [{"type": "text"}]}}]),
    "not UTF-8": Action(answer("Anna").body.replace(b"Anna", b"\xff\xfe")),
    "control characters": answer("An\x1b]0;title\x07na\x00"),
    "another length": replace(GOOD, headers={"Content-Length": "5"}),
    "error deep": Action(b'{"error": ' + DEEP.encode() + b"}", 400),
    "error of halves": Action(b'{"error": {"message": "\\ud83d"}}', 400),
    "wait for ever": error(429, "no", {"retry-after": "9" * 400}),
    "wait oddly": error(503, "no", {"retry-after-ms": "nan"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_any_reply_ends_as_an_answer_or_as_a_failed_question(shape: str, tmp_path: Path) -> None:
    """The question after it is answered, and what was journaled is read again."""

    def script(request: Request) -> Action:
        return SHAPES[shape] if request.prompt == "bad" else GOOD

    with ChatServer(script) as server:
        for resumed in (False, True):
            journal = Journal(tmp_path / "j.jsonl", resume=resumed)
            asking = chat(server, journal=journal, cache=ReplyCache(tmp_path / "c"), concurrency=1)
            before = len(server.requests)
            try:
                bad, good = asking.ask([call("bad"), call("good")])
            except ServiceError:
                if shape != "wait for ever":
                    raise
                return
            finally:
                journal.close()
            assert good.reply is not None
            assert good.reply.text == "Anna [1]."
            assert bad.reply is not None or bad.error
            if bad.reply is not None:
                bad.reply.text.encode()
                assert 0 <= PRICE.cost(bad.reply.tokens) < 1
        assert len(server.requests) == before, "the second run knows both from the journal"


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (115, Tokens(100, 15, cached=40, reasoning=5)),  # parts of their wholes, as OpenAI counts
        (155, Tokens(140, 15, cached=40, reasoning=5)),  # cached tokens beside the prompt's
        (120, Tokens(100, 20, cached=40, reasoning=5)),  # reasoning beside the completion's
        (160, Tokens(140, 20, cached=40, reasoning=5)),  # both
    ],
)
def test_parts_that_a_provider_counts_beside_their_whole_are_added(total: int, expected: Tokens) -> None:
    details = {"cached_tokens": 40}, {"reasoning_tokens": 5}
    usage = used(100, 15, prompt_tokens_details=details[0], completion_tokens_details=details[1])
    usage["total_tokens"] = total
    with ChatServer(scripted(answer("Anna", usage=usage))) as server:
        (found,) = ask(server)
    assert found.reply is not None
    assert (found.reply.tokens, found.reply.estimated) == (expected, False)


def test_a_spoiled_answer_in_the_cache_is_asked_again(tmp_path: Path) -> None:
    cache, asked = ReplyCache(tmp_path), call(check=json.loads)
    spoiled = [b"", b"[]", b"null", DEEP.encode(), b'{"reply": 3}', b"\xff", b'{"error": 7}']
    spoiled += [b'{"error": "\\ud83d"}', b'{"error": "\xfd"}', b"no json"]
    with ChatServer(scripted(answer('{"ok": 1}'))) as server:
        key = chat(server, cache=cache).key(asked)
        chat(server, cache=cache).ask([asked])
        whole = json.loads(cache.get(key) or b"")
        wrong = [{"text": "no json"}, {"text": '{"ok": "\ud83d"}'}]
        wrong += [{"tokens": {"prompt": count}} for count in ("many", -1, 10**400, 1 << 60)]
        for reply in wrong:
            spoiled.append(json.dumps({**whole, "reply": {**whole["reply"], **reply}}).encode())
        for number, spoilt in enumerate(spoiled, 2):
            cache.put({key: spoilt})
            (outcome,) = chat(server, cache=cache).ask([asked])
            assert outcome.error is None
            assert len(server.requests) == number, spoilt
        chat(server, cache=cache).ask([asked])
        assert len(server.requests) == number


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
def test_a_cache_that_is_no_database_is_made_anew(content: bytes, tmp_path: Path) -> None:
    ReplyCache(tmp_path).path.write_bytes(content)
    for suffix in ("-wal", "-shm", "-journal"):
        (tmp_path / f"{CACHE_FILE}{suffix}").unlink(missing_ok=True)
    # One that can't be kept keeps nothing.
    for place, kept in ((tmp_path, b"value"), (ReplyCache(tmp_path).path, None)):
        ReplyCache(place).put({"key": b"value"})
        assert ReplyCache(place).get("key") == kept


@pytest.mark.parametrize("key", ["sk-abc\ndef-secret", "sk-abc\r\nX-Evil: 1", "sk abc", "sk-점순", "sk-\x00"])
def test_a_key_that_no_header_can_hold_is_refused_at_the_start_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY contains") as raised:
        Endpoint("http://localhost:1/v1", Secret(key), 5.0)
    assert key[:6] not in str(raised.value)
    assert key[-5:] not in str(raised.value)


def test_an_answer_that_repeats_the_key_is_kept_without_it(tmp_path: Path) -> None:
    def script(request: Request) -> Action:
        return answer(f"You sent {request.headers['authorization']} and {KEY.reveal()} for hunter22")

    found, sent = [], []
    with ChatServer(script) as server:
        for url in (server.url, server.url.replace("http://", "http://user:hunter22@")):
            journal = Journal(tmp_path / "j.jsonl", resume=False)
            asking = chat(server, url=url, journal=journal, cache=ReplyCache(tmp_path / "c"))
            found += asking.ask([call(url)])
            journal.close()
            sent.append(server.requests[-1].headers["authorization"])
    written = str(found) + written_in(tmp_path)
    assert "You sent Bearer ***" in written
    assert "You sent Basic *** and *** for ***" in written
    assert KEY.reveal() not in written
    assert sent[1].split()[1] not in written


@pytest.mark.parametrize("asked", [call(), embedding()])
def test_query_and_user_of_an_address_work_for_chat_and_embeddings(
    asked: Call,
) -> None:
    vectors = Action(json.dumps({"data": [{"index": n, "embedding": [1.0, n]} for n in range(2)]}).encode())
    with ChatServer(scripted(vectors if asked.embeds else GOOD)) as server:
        url = server.url.replace("http://", "http://user:hunter22@") + "/?api-version=2026-01-01"
        (found,) = ask(server, [asked], url=url)
    assert found.error is None
    path = "/v1/embeddings" if asked.embeds else "/v1/chat/completions"
    assert server.requests[0].path == f"{path}?api-version=2026-01-01"
    assert server.requests[0].headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    "base_url",
    ["http://[::1", "http://host:99999/v1", "host/v1", "ftp://host", "http:///v1", "file:///etc"],
)
def test_what_is_no_address_is_refused_in_words(base_url: str) -> None:
    with pytest.raises(ConfigError, match=r"openai\.base_url .* must be an address such as http"):
        Endpoint(base_url, KEY, 5.0)


@pytest.mark.parametrize("asked", [call(), embedding()])
def test_a_dripping_server_has_no_longer_than_the_timeout(asked: Call) -> None:
    """Every byte comes in time, the whole reply after minutes."""
    with ChatServer(scripted(replace(GOOD, drip=0.2))) as server:
        (found,) = ask(server, [asked], timeout=0.4, patience=replace(QUICK, attempts=2))
    assert "no answer within 0.4 s" in str(found.error)


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(REPLY := Reply("점순", Tokens(9, 8, cached=7, reasoning=6), True, "stop")),
        Outcome(REPLY, "of no use", Tokens(1, 2)),
        Outcome(error="no", perhaps=Tokens(5, 6)),
    ],
)
def test_journal_and_cache_give_back_what_they_were_given(outcome: Outcome, tmp_path: Path) -> None:
    journal, cache = Journal(tmp_path / "j.jsonl", resume=False), ReplyCache(tmp_path)
    journal.begin()
    journal.record("key", call(), outcome)
    cache.keep_outcome("key", outcome)
    journal.close()
    journal = Journal(tmp_path / "j.jsonl", resume=True)
    kept = journal.finished["key"]
    assert (kept.reply, kept.error, kept.perhaps) == (outcome.reply, outcome.error, outcome.perhaps)
    assert cache.outcome("key") == outcome
    paid = outcome.perhaps if outcome.reply is None else outcome.perhaps + outcome.reply.tokens
    assert journal.paid == [("test-model", paid)]
    journal.close()


def test_a_running_event_loop_is_no_obstacle(tmp_path: Path) -> None:
    """As in a notebook."""
    import asyncio

    async def cell() -> list[Outcome]:
        return ask(server)

    with ChatServer(scripted(GOOD)) as server:
        (found,) = asyncio.run(cell())
    assert found.reply is not None


@pytest.mark.parametrize(
    "action",
    [replace(GOOD, wait=900.0), error(429, "later", {"retry-after": "900"})],
    ids=["silent", "rate limit"],
)
def test_ctrl_c_ends_a_wait_and_counts_what_may_have_been_charged(action: Action, tmp_path: Path) -> None:
    """Without it each of these waits lasts a quarter of an hour."""
    journal = Journal(tmp_path / "j.jsonl", resume=False)

    def interrupt() -> None:
        # What is refused has been answered by then: a call without an answer may have been charged.
        while not server.requests or (action.status != 200 and server.at_once):
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    with ChatServer(scripted(action)) as server:
        timer = threading.Thread(target=interrupt)
        timer.start()
        patience = replace(QUICK, longest_call=3000.0)
        asking = chat(server, timeout=900.0, journal=journal, patience=patience)
        with pytest.raises(KeyboardInterrupt):
            asking.ask([call(f"q{n}") for n in range(20)])
        timer.join()
    journal.close()
    journal = Journal(tmp_path / "j.jsonl", resume=True)
    assert bool(journal.paid_usd(lambda model: PRICE)) == (action.status == 200), "may have been charged"
    journal.close()
