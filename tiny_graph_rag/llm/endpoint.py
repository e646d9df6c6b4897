"""One request to an OpenAI-compatible API through its own client library, and what its failures mean.

    POST /chat/completions    messages → text and the tokens that it took
    POST /embeddings          texts → one vector each

A server may be broken or hostile: no redirect is followed (a key would go along), a reply has a largest size
and `openai.timeout` is for the whole of it, and one that is not what the protocol says fails in words.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import math
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config, require_trust
from tiny_graph_rag.errors import ConfigError, ServiceError, optional
from tiny_graph_rag.llm.base import MOST_TOKENS, NO_TOKENS, Call, Reply, Tokens
from tiny_graph_rag.llm.cost import TokenCounter
from tiny_graph_rag.messages import said
from tiny_graph_rag.secret import Secret, is_loopback, is_private, safe_url, scrubbed, url_secrets

if TYPE_CHECKING:
    import httpx2
    import openai
    from openai.types import CompletionUsage, CreateEmbeddingResponse
    from openai.types.chat import ChatCompletion

Kind = Literal["fatal", "rejected", "limited", "transient"]
Vectors = NDArray[np.float32]

NO_KEY = "none"  # never sent
# The sentence for a refusal, by its status or by what it amounts to.
REFUSED: dict[int | str, str] = {
    401: "{host} refuses the key (401): {reply}. Set OPENAI_API_KEY to a valid key",
    403: "{host} forbids it (403): {reply}. Check OPENAI_API_KEY and {setting}",
    404: "{host} does not know the model or path (404): {reply}. Check {setting} and openai.base_url",
    "redirected": "{host} redirects to {clean} ({status}); a key is not sent after a redirect. Set "
    "openai.base_url to the address that answers",
    "no credit": "{host} has no credit left for this key (429): {reply}",
    "limited": "rate limit (429): {reply}",
    "transient": "the server failed ({status}): {reply}",
    "rejected": "the API refuses the request ({status}): {reply}",
}
LIMITED_STATUS = 429
TRANSIENT_STATUS = (408, 409, 425)
MIB = 1 << 20
SHOWN_CHARACTERS = 500  # of what a server says
CHARACTERS_PER_TOKEN = 128  # at most, in any vocabulary that providers use
LEAST_CUT = 1 << 16  # characters of an answer that are always taken
_NOT_IN_A_KEY = re.compile(r"[^\x21-\x7e]")


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
    """Where calls go. Made once a run; `connect` opens the connections for one event loop.

    timeout: seconds for a whole call. largest_reply: MiB. Raises ConfigError for an address or a key that
    can't be one.
    """

    def __init__(self, base_url: str, key: Secret, timeout: float, largest_reply: int = 32) -> None:
        optional("openai", said("asking a model"), "llm")
        _check_key(key)
        self._url, self._parameters, self._headers = _split(base_url, key)
        self.shown_url = safe_url(base_url)
        sent = (header.rpartition(" ")[2] for header in self._headers.values())
        self.secrets = (key, *url_secrets(base_url), *map(Secret, sent))
        if any(self.secrets) and not is_private(base_url):
            raise ConfigError(
                "openai.base_url (OPENAI_BASE_URL) is {address}: a key isn't sent to another machine "
                "over plain http, where anybody on the way can read it. Use https, or unset "
                "OPENAI_API_KEY where that server needs none",
                address=self.shown_url,
            )
        self._key = key
        self.timeout = timeout
        self._most_bytes = largest_reply * MIB

    @classmethod
    def of(cls, config: Config) -> Endpoint:
        """The service of `openai`. The key goes only where it was set for: not to an address that an
        untrusted config.yaml names. Such an address is refused, on this machine it is asked without a key.

        Raises ConfigError.
        """
        service, key = config.openai, config.api_key
        if "base_url" in config.untrusted:
            if not is_loopback(service.base_url):
                require_trust(config, "base_url")
            key = Secret()
        return cls(service.base_url, key, service.timeout, service.largest_reply)

    @property
    def host(self) -> str:
        """For messages."""
        return self.shown_url or "api.openai.com"

    def connect(self) -> openai.AsyncOpenAI:
        import openai

        return openai.AsyncOpenAI(
            api_key=self._key.reveal() or NO_KEY,
            base_url=self._url or None,
            timeout=self.timeout,
            max_retries=0,  # retries are ours: they know of caps, journals and each other
            default_headers={**self._headers, "Accept-Encoding": "identity"},
            default_query=self._parameters,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [self._bounded]}
            ),
        )

    async def send(
        self, client: openai.AsyncOpenAI, call: Call, extra: dict[str, Any], counter: TokenCounter
    ) -> Reply:
        """One attempt. extra: a chat's other parameters. Raises CallFailed, its text free of secrets."""
        import openai

        try:
            async with asyncio.timeout(self.timeout):
                if call.embeds:
                    return self._embedded(await self._embed(client, call), call, counter)
                return self._said(await self._chat(client, call, extra), call, counter)
        except (TimeoutError, openai.APITimeoutError):
            problem = f"no answer within {self.timeout:g} s (openai.timeout)"
        except openai.APIStatusError as error:
            raise self._refused(error, call) from None
        except openai.APIConnectionError as error:
            raise self._broken(error) from None
        except ServiceError as error:
            problem = self._clean(str(error))
        except Exception as error:
            # Whatever a reply is made of (no JSON, JSON a thousand deep, numbers of 5,000 digits), it ends
            # its own question and nothing else; the library raises a dozen kinds of error on the way.
            problem = f"the answer is not what the protocol says: {self._clean(str(error) or repr(error))}"
        raise CallFailed("transient", problem, charged=True)

    async def _chat(self, client: openai.AsyncOpenAI, call: Call, extra: dict[str, Any]) -> ChatCompletion:
        messages: Any = [{"role": message.role, "content": message.content} for message in call.messages]
        answer: ChatCompletion = await client.chat.completions.create(
            model=call.model, messages=messages, extra_headers=self._omitted(), **extra
        )
        return answer

    async def _embed(self, client: openai.AsyncOpenAI, call: Call) -> CreateEmbeddingResponse:
        texts = [message.content for message in call.messages]
        return await client.embeddings.create(
            model=call.model, input=texts, encoding_format="float", extra_headers=self._omitted()
        )

    def _omitted(self) -> dict[str, Any]:
        """The library insists on a key; a server that has none gets no header of it."""
        from openai import Omit

        return {} if self._key or self._headers else {"Authorization": Omit()}

    async def _bounded(self, response: httpx2.Response) -> None:
        """Before a reply is read: nothing beyond the largest size comes into memory."""
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed != "identity":
            raise ServiceError(
                "the answer is compressed as {packed}, which was not requested", packed=repr(packed)
            )
        response.stream = _bounded(response.stream, self._most_bytes)

    def _refused(self, error: openai.APIStatusError, call: Call) -> CallFailed:
        status = int(error.status_code)
        kind: Kind = "fatal"  # what no other call would change
        why: int | str = status
        if 300 <= status < 400:
            why = "redirected"
        elif status == LIMITED_STATUS and error.code == "insufficient_quota":
            why = "no credit"
        elif status == LIMITED_STATUS:
            why = kind = "limited"
        elif status >= 500 or status in TRANSIENT_STATUS:
            why = kind = "transient"
        elif status not in REFUSED:
            why = kind = "rejected"
        message = said(
            REFUSED[why],
            host=self.host,
            status=status,
            setting=_setting(call),
            reply=self._clean(_sentence(error.body) or str(error.message)),
            clean=self._clean(safe_url(error.response.headers.get("location", "")) or "another address"),
        )
        return CallFailed(kind, message, retry_after=seconds_to_wait(error.response.headers), body=error.body)

    def _broken(self, error: Exception) -> CallFailed:
        cause = error.__cause__
        detail = self._clean(str(cause or error)) or type(cause or error).__name__
        is_away = type(cause).__name__ in ("ConnectError", "ConnectTimeout")
        message = said(
            "can't reach {host}: {detail}" if is_away else "the connection to {host} broke: {detail}",
            host=self.host,
            detail=detail,
        )
        return CallFailed("transient", message, charged=not is_away, unreachable=is_away)

    def _said(self, answer: ChatCompletion, call: Call, counter: TokenCounter) -> Reply:
        # The library takes a reply as it comes and promises no types.
        choices: Any = getattr(answer, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        text: Any = getattr(message, "content", None) or getattr(message, "refusal", None) or ""
        if message is None or not isinstance(text, str):
            came = answer.model_dump() if hasattr(answer, "model_dump") else answer
            raise ServiceError(
                "the answer is not a chat completion: {sentence}", sentence=_sentence(came) or str(came)[:200]
            )
        text = text.strip()
        longest = max(LEAST_CUT, CHARACTERS_PER_TOKEN * call.max_tokens)
        if len(text) > longest:  # what counts, scores and writes it would work for minutes
            raise ServiceError(
                "the answer has {n} characters, more than {max_tokens} tokens can hold (openai.max_tokens)",
                n=f"{len(text):,}",
                max_tokens=f"{call.max_tokens:,}",
            )
        text = scrubbed(whole_characters(text), self.secrets).strip()
        reason: Any = getattr(choices[0], "finish_reason", None)
        tokens, is_estimated = _counted(reported(getattr(answer, "usage", None)), call, text, counter)
        return Reply(text, tokens, is_estimated, whole_characters(str(reason or ""))[:40])

    def _embedded(self, answer: CreateEmbeddingResponse, call: Call, counter: TokenCounter) -> Reply:
        vectors = unit_vectors(getattr(answer, "data", None), len(call.messages))
        usage: Any = getattr(answer, "usage", None)
        prompt = _count(getattr(usage, "prompt_tokens", None)) or _count(getattr(usage, "total_tokens", None))
        if prompt:
            least = sum(counter.range(message.content)[0] for message in call.messages)
            return Reply("", Tokens(max(prompt, least)), vectors=vectors)
        counted = sum(counter.count(message.content) for message in call.messages)
        return Reply("", Tokens(counted), estimated=counted > 0, vectors=vectors)

    def _clean(self, text: str) -> str:
        text = scrubbed(" ".join(whole_characters(text[: 20 * SHOWN_CHARACTERS]).split()), self.secrets)
        return text[:SHOWN_CHARACTERS]


def _setting(call: Call) -> str:
    """What names the model of a call."""
    if not call.embeds:
        return "openai.model"
    return "embeddings.dense_model" if call.purpose == "retrieving" else "generation.accuracy_model"


def _bounded(stream: Any, most_bytes: int) -> Any:
    """The stream; raises ServiceError in words beyond so many bytes."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > most_bytes:
                    raise ServiceError(
                        "the answer is larger than {most_bytes} MiB (openai.largest_reply)",
                        most_bytes=f"{most_bytes // MIB:,}",
                    )
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _check_key(key: Secret) -> None:
    """Raises ConfigError for a key that no header can hold; the library would show it in its own error."""
    invalid = _NOT_IN_A_KEY.search(key.reveal())
    if invalid is not None:
        raise ConfigError(
            "OPENAI_API_KEY contains a character at position {start} of {n} that isn't valid in a key (a "
            "space, a line break or a letter beyond ASCII). Copy the key again, in one line",
            start=invalid.start() + 1,
            n=len(key.reveal()),
        )


def _split(base_url: str, key: Secret) -> tuple[str, dict[str, str], dict[str, str]]:
    """The address without user and query, the query, and the headers that carry user and key instead.

    So the library, its logs and its errors never see them in a URL. Raises ConfigError for no http address.
    """
    if not base_url:
        return "", {}, {}
    try:
        parts = urlsplit(base_url)
        port_ok = parts.port is None or parts.port > 0
        host = parts.hostname
    except ValueError:
        raise ConfigError(
            "openai.base_url (OPENAI_BASE_URL) is not a valid address: its host or port can't be read"
        ) from None
    if parts.scheme not in ("http", "https") or not host or not port_ok:
        raise ConfigError(
            "openai.base_url (OPENAI_BASE_URL) must be an address such as http://localhost:11434/v1, "
            "got {base_url}",
            base_url=repr(safe_url(base_url)),
        )
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    if host.endswith(".azure.com") and key:
        headers["api-key"] = key.reveal()
    netloc = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, netloc, parts.path, "", "")), dict(parse_qsl(parts.query)), headers


def _sentence(body: object) -> str:
    """The sentence in an error's body, in the forms that servers use."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if not isinstance(inner, Mapping):
            return str(inner)
        words = inner.get("message") or inner.get("detail")
        return str(words or json.dumps(inner, ensure_ascii=False, default=str)[:SHOWN_CHARACTERS])
    return str(body) if isinstance(body, str) else ""


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """`retry-after-ms`, else `retry-after` in seconds or as a date; None where neither can be read."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        text = headers.get("retry-after", "")
        if not text:
            return None
        if text.replace(".", "", 1).isdecimal():
            return float(text)
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def whole_characters(text: str) -> str:
    """Text that every file can hold: halves of a character become one where they meet, else U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def reported(usage: CompletionUsage | None) -> Tokens | None:
    """The provider's count of a chat; None where it gives none that can be true.

    Some providers count cached tokens next to the prompt's and reasoning next to the completion's. Their
    total says so, and a part that is greater than its whole can be nothing else.
    """
    prompt = _count(getattr(usage, "prompt_tokens", None))
    completion = _count(getattr(usage, "completion_tokens", None))
    if prompt is None or completion is None:
        return None
    cached = _part(usage, "prompt_tokens_details", "cached_tokens")
    reasoning = _part(usage, "completion_tokens_details", "reasoning_tokens")
    if cached is None or reasoning is None:
        return None
    beyond = _count(getattr(usage, "total_tokens", None))
    beyond = 0 if beyond is None else beyond - prompt - completion
    if cached > prompt or (cached and beyond in (cached, cached + reasoning)):
        prompt += cached
    if reasoning > completion or (reasoning and beyond in (reasoning, cached + reasoning)):
        completion += reasoning
    return Tokens(prompt, completion, cached, reasoning)


def _counted(reported: Tokens | None, call: Call, text: str, counter: TokenCounter) -> tuple[Tokens, bool]:
    """What a chat took, and whether any of it is our count.

    A field that is missing or 0 is our likely count. Our lowest count is the floor of the others: a cost cap
    that believed a server's smaller one would never be reached.
    """
    tokens = reported or NO_TOKENS
    least = sum(counter.range(message.content)[0] for message in call.messages)
    prompt = max(tokens.prompt, least) if tokens.prompt else counter.prompt(call.messages)
    completion = max(tokens.completion, counter.range(text)[0]) if tokens.completion else counter.count(text)
    is_ours = (prompt, completion) != (tokens.prompt, tokens.completion)
    return replace(tokens, prompt=prompt, completion=completion), is_ours


def _part(usage: object, part: str, name: str) -> int | None:
    """0 where the provider says nothing of it."""
    value = getattr(getattr(usage, part, None), name, None)
    return 0 if value is None else _count(value)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def unit_vectors(rows: object, wanted: int) -> Vectors:
    """(wanted, dimension): the vectors of `wanted` texts, in the order of the texts, each of length 1.

    Raises ServiceError for what is not the `data` of an answer to them.
    """
    if not isinstance(rows, list) or len(rows) != wanted:
        got = f"{len(rows)}" if isinstance(rows, list) else "none"
        raise ServiceError("wanted {wanted} embeddings for {wanted} texts, got {got}", wanted=wanted, got=got)
    found: dict[int, Vectors] = {}
    for place, row in enumerate(rows):
        index = getattr(row, "index", None)
        index = place if index is None else index
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < wanted or index in found:
            raise ServiceError("the embeddings' indexes are not 0 to {wanted}", wanted=wanted - 1)
        found[index] = _unit_vector(getattr(row, "embedding", None), index)
    if len({len(vector) for vector in found.values()}) > 1:
        raise ServiceError("embeddings of one answer have different dimensions")
    return np.stack([found[place] for place in range(wanted)])


def _unit_vector(numbers: object, index: int) -> Vectors:
    # A list of anything but numbers makes an array of another kind; a bool among numbers would not.
    vector = np.zeros(0)
    if isinstance(numbers, list):
        with suppress(ValueError, OverflowError):
            vector = np.array(numbers)
    if vector.ndim != 1 or not len(vector) or vector.dtype.kind not in "iuf" or not np.isfinite(vector).all():
        raise ServiceError("embedding {index} is not a list of finite numbers", index=index)
    with np.errstate(over="ignore"):  # a length beyond every number is refused below
        length = math.sqrt(math.fsum((vector.astype(np.float64) ** 2).tolist()))
    if not length or not math.isfinite(length):
        raise ServiceError("embedding {index} has no direction (all zeros, or too large)", index=index)
    return (vector / length).astype(np.float32)
