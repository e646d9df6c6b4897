"""One request to an OpenAI-compatible API through its own client library, and what its failures mean."""

from __future__ import annotations

import base64
import email.utils
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from tiny_graph_rag.errors import ConfigError, MissingExtraError, ServiceError
from tiny_graph_rag.llm.base import Call, Reply, Tokens
from tiny_graph_rag.llm.cost import TokenCounter
from tiny_graph_rag.secret import Secret, safe_url, scrubbed, url_secrets

if TYPE_CHECKING:
    from openai import AsyncOpenAI


Kind = Literal["fatal", "rejected", "limited", "transient"]
LOCAL_KEY = "none"  # servers that need no key get a header all the same: the library insists
LIMITED_STATUS = 429
TRANSIENT_STATUS = (408, 409, 425)


class CallFailed(Exception):  # noqa: N818 - an outcome that the caller sorts by kind
    """kind: "fatal" no call can succeed, "rejected" this one can't, "limited" too many, "transient" retry.

    retry_after: seconds that the API asks to wait, None where it says nothing. charged: it may cost money.
    unreachable: no server answered at all.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        retry_after: float | None = None,
        charged: bool = False,
        unreachable: bool = False,
        body: object = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.retry_after, self.charged = kind, retry_after, charged
        self.unreachable, self.body = unreachable, body


class Endpoint:
    """Where calls go. Made once a run; `connect` opens the connections for one event loop."""

    def __init__(self, base_url: str, key: Secret, timeout: float) -> None:
        try:
            import openai  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("generating answers", "openai", "llm") from error
        self.shown_url = safe_url(base_url)
        self.secrets = (key, *url_secrets(base_url))
        self._url, self._parameters, self._headers = _split(base_url, key)
        self._key = Secret(key.reveal() or LOCAL_KEY)
        self.timeout = timeout

    def connect(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._key.reveal(),
            base_url=self._url or None,
            timeout=self.timeout,
            max_retries=0,  # retries are ours: they know of caps, journals and each other
            default_headers=self._headers,
            default_query=self._parameters,
        )

    async def send(
        self, client: AsyncOpenAI, call: Call, extra: dict[str, Any], counter: TokenCounter
    ) -> Reply:
        """One attempt. extra: the request's other parameters. Raises CallFailed, its text free of secrets."""
        import openai

        path, body = _request(call, extra)
        try:
            # The plain form of chat.completions.create: JSON in, JSON out. Converting every request to the
            # library's own types and back costs it a third of its time.
            answer = await client.post(path, cast_to=object, body=body)
        except openai.APITimeoutError:
            raise CallFailed(
                "transient", f"no answer within {self.timeout:g} s (openai.timeout)", charged=True
            ) from None
        except openai.APIStatusError as error:
            raise self._refused(
                error, "generation.accuracy_model" if call.embeds else "openai.model"
            ) from None
        except openai.APIConnectionError as error:
            raise self._broken(error) from None
        except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is not JSON
            raise CallFailed(
                "transient", self._clean(f"the answer is not what the protocol says: {error}"), charged=True
            ) from None
        return self._similarity(answer, call, counter) if call.embeds else self._reply(answer, call, counter)

    def _refused(self, error: Any, setting: str) -> CallFailed:
        status = int(error.status_code)
        said = self._clean(_said(error.body) or str(error.message))
        retry_after = seconds_to_wait(error.response.headers)
        where = self.shown_url or "api.openai.com"
        if status == 401:
            return CallFailed(
                "fatal", f"{where} refuses the key (401): {said}. Set OPENAI_API_KEY to a valid key"
            )
        if status == 403:
            return CallFailed(
                "fatal", f"{where} forbids it (403): {said}. Check OPENAI_API_KEY and {setting}"
            )
        if status == 404:
            return CallFailed(
                "fatal",
                f"{where} does not know the model or path (404): {said}. Check {setting} and openai.base_url",
            )
        if status == LIMITED_STATUS:
            if getattr(error, "code", None) == "insufficient_quota":
                return CallFailed("fatal", f"{where} has no credit left for this key (429): {said}")
            return CallFailed("limited", f"rate limit (429): {said}", retry_after=retry_after)
        if status >= 500 or status in TRANSIENT_STATUS:
            return CallFailed("transient", f"the server failed ({status}): {said}", retry_after=retry_after)
        return CallFailed("rejected", f"the API refuses the request ({status}): {said}", body=error.body)

    def _broken(self, error: Exception) -> CallFailed:
        cause = error.__cause__
        unreachable = type(cause).__name__ in ("ConnectError", "ConnectTimeout")
        detail = self._clean(str(cause or error)) or type(cause or error).__name__
        where = self.shown_url or "api.openai.com"
        if unreachable:
            return CallFailed("transient", f"can't reach {where}: {detail}", unreachable=True)
        return CallFailed("transient", f"the connection to {where} broke: {detail}", charged=True)

    def _reply(self, answer: Any, call: Call, counter: TokenCounter) -> Reply:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            text = message.get("content") or message.get("refusal") or ""
            if not isinstance(text, str):
                raise TypeError
        except (AttributeError, KeyError, IndexError, TypeError):
            said = self._clean(_said(answer) or str(answer)[:200])
            raise CallFailed(
                "transient", f"the answer is not a chat completion: {said}", charged=True
            ) from None
        tokens, estimated = _usage(answer.get("usage"), text, call, counter)
        return Reply(text.strip(), tokens, estimated, str(choice.get("finish_reason") or ""))

    def _similarity(self, answer: Any, call: Call, counter: TokenCounter) -> Reply:
        from tiny_graph_rag.llm.embeddings import unit_vectors

        try:
            first, *others = unit_vectors(answer, len(call.messages), self.shown_url or "api.openai.com")
        except (AttributeError, ServiceError) as error:
            raise CallFailed("transient", self._clean(str(error)), charged=True) from None
        usage = answer.get("usage")
        prompt = usage.get("prompt_tokens", usage.get("total_tokens")) if isinstance(usage, Mapping) else None
        nearest = repr(max(float(first @ each) for each in others))
        if isinstance(prompt, int):
            return Reply(nearest, Tokens(prompt))
        counted = sum(counter.count(each.content) for each in call.messages)
        return Reply(nearest, Tokens(counted), estimated=True)

    def _clean(self, text: str) -> str:
        return scrubbed(" ".join(text.split()), self.secrets)[:500]


def _request(call: Call, extra: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Path and body. Embeddings take no parameters of chats."""
    if call.embeds:
        texts = [each.content for each in call.messages]
        return "/embeddings", {"model": call.model, "input": texts, "encoding_format": "float"}
    messages = [{"role": each.role, "content": each.content} for each in call.messages]
    return "/chat/completions", {"model": call.model, "messages": messages, **extra}


def _split(base_url: str, key: Secret) -> tuple[str, dict[str, str], dict[str, str]]:
    """The address without user and query, the query, and the headers that carry user and key instead.

    So the library, its logs and its errors never see them in a URL. Raises ConfigError for no http address.
    """
    if not base_url:
        return "", {}, {}
    parts = urlsplit(base_url)
    try:
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        port_ok = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise ConfigError(
            f"openai.base_url (OPENAI_BASE_URL) must be an address such as http://localhost:11434/v1, "
            f"got {safe_url(base_url)!r}"
            if port_ok
            else "openai.base_url (OPENAI_BASE_URL) has no valid port"
        )
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    if parts.hostname.endswith(".azure.com") and key:
        headers["api-key"] = key.reveal()
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", "")), dict(parse_qsl(parts.query)), headers


def _said(body: object) -> str:
    """The sentence in an error's body, in the forms that servers use."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            return str(inner.get("message") or inner.get("detail") or json.dumps(inner, ensure_ascii=False))
        return str(inner)
    return str(body) if isinstance(body, str) else ""


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """`retry-after-ms`, else `retry-after` in seconds or as a date; None where neither can be read."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        text = headers.get("retry-after", "")
        if not text:
            return None
        if text.replace(".", "", 1).isdigit():
            return float(text)
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _usage(usage: Any, text: str, call: Call, counter: TokenCounter) -> tuple[Tokens, bool]:
    """The provider's count, else ours, marked."""
    usage = usage if isinstance(usage, Mapping) else {}
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if isinstance(prompt, int) and isinstance(completion, int):
        cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
        reasoning = _detail(usage, "completion_tokens_details", "reasoning_tokens")
        return Tokens(prompt, completion, cached, reasoning), False
    return Tokens(counter.prompt(call.messages), counter.count(text)), True


def _detail(usage: Mapping[str, Any], part: str, name: str) -> int:
    value = (usage.get(part) or {}).get(name)
    return value if isinstance(value, int) else 0


# Ways to say one thing, tried from the left; None leaves it out.
WAYS: dict[str, tuple[str | None, ...]] = {
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "temperature": ("temperature", None),
    "seed": ("seed", None),
    "response_format": ("json_schema", "json_object", None),
}
SPELLED = {"max_completion_tokens": "max_tokens"}


class Parameters:
    """Which way each parameter is sent. Shared by all calls of a run to one model."""

    def __init__(self) -> None:
        self._way = dict.fromkeys(WAYS, 0)

    def of(self, call: Call) -> dict[str, Any]:
        """The optional part of a request."""
        found: dict[str, Any] = {str(self._current("max_tokens")): call.max_tokens}
        if call.temperature is not None and self._current("temperature"):
            found["temperature"] = call.temperature
        if call.seed is not None and self._current("seed"):
            found["seed"] = call.seed
        if call.schema is not None:
            way = self._current("response_format")
            if way == "json_schema":
                schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
                found["response_format"] = {"type": way, "json_schema": schema}
            elif way == "json_object":
                found["response_format"] = {"type": way}
        return found

    def _current(self, name: str) -> str | None:
        return WAYS[name][self._way[name]]

    def refused(self, sent: Mapping[str, Any], body: object) -> str | None:
        """Learn from an API's refusal of `sent`; the parameter to say otherwise, None where it is no such.

        A parameter that another call's refusal has changed meanwhile counts as settled: just ask again.
        """
        named = _named(body, sent)
        if named is None:
            return None
        name = SPELLED.get(named, named)
        if self._is_sent(name, sent):
            if self._way[name] + 1 >= len(WAYS[name]):
                return None
            self._way[name] += 1
        return name

    def _is_sent(self, name: str, sent: Mapping[str, Any]) -> bool:
        """Whether the refused request said it in the way that is still the current one."""
        way = self._current(name)
        if name == "response_format":
            return isinstance(sent.get(name), Mapping) and sent[name].get("type") == way
        return way in sent


def _named(body: object, sent: Mapping[str, Any]) -> str | None:
    """Which of the sent parameters an error is about: by its `param`, else by the name in its text."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, Mapping):
        parameter = str(inner.get("param") or "").split(".")[0]
        if parameter in sent:
            return parameter
        inner = inner.get("message") or inner.get("detail") or ""
    text = str(inner)
    # The refused name stands before the advice: "'max_tokens' is not supported, use 'max_completion_tokens'".
    found = [(text.find(name), name) for name in sent if name in text]
    return min(found)[1] if found else None
