"""One request to an OpenAI-compatible API through its own client library, and what its failures mean.

    POST /chat/completions    messages → text and the tokens that it took
    POST /embeddings          texts → one vector each

No redirect is followed (a key would go along), `openai.timeout` is for the whole of a reply, and what is not
what the protocol says fails in words.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import require_trust
from tiny_graph_rag.errors import ConfigError, ServiceError, optional
from tiny_graph_rag.llm.base import Call, Reply, Tokens
from tiny_graph_rag.llm.cost import TokenCounter
from tiny_graph_rag.messages import said
from tiny_graph_rag.secret import Secret, is_loopback, is_private, safe_url, scrubbed, url_secrets

if TYPE_CHECKING:
    import openai

FailureKind = Literal["fatal", "rejected", "limited", "transient"]
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
SHOWN_CHARACTERS = 500  # of what a server says
MOST_TOKENS = 10_000_000  # of one side of a call: no model reads or writes more; a larger count is a mistake


@dataclass(eq=False, repr=False)
class CallFailed(Exception):  # noqa: N818 - an outcome that the caller sorts by kind
    """kind: "fatal" no call can succeed, "rejected" this one can't, "limited" too many, "transient" retry.

    retry_after: seconds that the API asks to wait, None where it says nothing. charged: it may cost money.
    unreachable: no server answered at all.
    """

    kind: FailureKind
    message: str
    retry_after: float | None = None
    charged: bool = False
    unreachable: bool = False
    body: object = None

    def __str__(self) -> str:
        return self.message


class Endpoint:
    """Where calls go. Made once a run; `connect` opens the connections for one event loop.

    timeout: seconds for a whole call. Raises ConfigError for an address or a key that can't be one.
    """

    def __init__(self, base_url: str, key: Secret, timeout: float) -> None:
        optional("openai", said("asking a model"), "llm")
        if re.search(r"[^\x21-\x7e]", key.reveal()):  # the library would show it in its own error
            raise ConfigError(
                "OPENAI_API_KEY contains a character that isn't valid in a key (a space, a line break or a "
                "letter beyond ASCII). Copy the key again, in one line"
            )
        self._url, self._parameters, self._headers = _split(base_url)
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
        return cls(service.base_url, key, service.timeout)

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
            default_headers=self._headers,
            default_query=self._parameters,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )

    async def send(
        self, client: openai.AsyncOpenAI, call: Call, extra: dict[str, Any], counter: TokenCounter
    ) -> Reply:
        """One attempt. extra: a chat's other parameters. Raises CallFailed, its text free of secrets."""
        import openai

        # The library insists on a key; a server that has none gets no header of it.
        headers: Any = {} if self._key or self._headers else {"Authorization": openai.Omit()}
        texts = [message.content for message in call.messages]
        chat: Any = [{"role": message.role, "content": message.content} for message in call.messages]
        try:
            async with asyncio.timeout(self.timeout):
                if call.embeds:
                    vectors = await client.embeddings.create(
                        model=call.model, input=texts, encoding_format="float", extra_headers=headers
                    )
                    return _embedded(vectors, texts, counter)
                answer = await client.chat.completions.create(
                    model=call.model, messages=chat, extra_headers=headers, **extra
                )
                return self._said(answer, call, counter)
        except (TimeoutError, openai.APITimeoutError):
            problem = f"no answer within {self.timeout:g} s (openai.timeout)"
        except openai.APIStatusError as error:
            raise self._refused(error, call) from None
        except openai.APIConnectionError as error:
            raise self._broken(error) from None
        except ServiceError as error:
            problem = self._clean(str(error))
        except Exception as error:
            # Whatever a reply is made of, it ends its own question and no other; the library raises a dozen
            # kinds of error on the way.
            problem = f"the answer is not what the protocol says: {self._clean(str(error) or repr(error))}"
        raise CallFailed("transient", problem, charged=True)

    def _refused(self, error: openai.APIStatusError, call: Call) -> CallFailed:
        status = int(error.status_code)
        kind: FailureKind = "fatal"  # what no other call would change
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

    def _said(self, answer: Any, call: Call, counter: TokenCounter) -> Reply:
        """answer: a ChatCompletion; the library takes a reply as it comes and promises no types."""
        choices: Any = getattr(answer, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        text = getattr(message, "content", None) or getattr(message, "refusal", None) or ""
        if message is None or not isinstance(text, str):
            came = answer.model_dump() if hasattr(answer, "model_dump") else answer
            raise ServiceError(
                "the answer is not a chat completion: {sentence}", sentence=_sentence(came) or str(came)[:200]
            )
        text = scrubbed(whole_characters(text.strip()), self.secrets)
        reason = str(getattr(choices[0], "finish_reason", None) or "")
        tokens, is_estimated = _counted(getattr(answer, "usage", None), call, text, counter)
        return Reply(text, tokens, is_estimated, whole_characters(reason)[:40])

    def _clean(self, text: str) -> str:
        text = " ".join(whole_characters(text[: 20 * SHOWN_CHARACTERS]).split())
        return scrubbed(text, self.secrets)[:SHOWN_CHARACTERS]


def _setting(call: Call) -> str:
    """What names the model of a call."""
    if not call.embeds:
        return "openai.model"
    return "embeddings.dense_model" if call.purpose == "retrieving" else "generation.accuracy_model"


def _split(base_url: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """The address without user and query, the query, and the header that carries the user instead.

    So the library, its logs and its errors never see them in a URL. Raises ConfigError for no http address.
    """
    if not base_url:
        return "", {}, {}
    try:
        parts = urlsplit(base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a host or port that can't be read
        is_address = False
    if not is_address:
        raise ConfigError(
            "openai.base_url (OPENAI_BASE_URL) must be an address such as http://localhost:11434/v1"
        )
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
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
    """`retry-after-ms`, else `retry-after` in seconds; None where neither is a number."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    return None


def whole_characters(text: str) -> str:
    """Text that every file can hold: halves of a character become one where they meet, else U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _counted(usage: object, call: Call, text: str, counter: TokenCounter) -> tuple[Tokens, bool]:
    """What a chat took, and whether any of it is our count.

    A count that is missing, 0 or can't be true is our likely one. Our lowest count is the floor of the
    others: a cost cap that believed a server's smaller one would never be reached.
    """
    tokens = reported(usage)
    least = sum(counter.range(message.content)[0] for message in call.messages)
    of_prompt = max(tokens.prompt, least) if tokens.prompt else counter.prompt(call)[1]
    of_text = max(tokens.completion, counter.range(text)[0]) if tokens.completion else counter.count(text)
    is_ours = (of_prompt, of_text) != (tokens.prompt, tokens.completion)
    return replace(tokens, prompt=of_prompt, completion=of_text), is_ours


def reported(usage: object) -> Tokens:
    """The provider's count of a chat; 0 for what it does not say or can't be true.

    Some providers count cached tokens next to the prompt's and reasoning next to the completion's. Their
    total says so, and a part that is greater than its whole can be nothing else.
    """
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = _count(getattr(usage, "prompt_tokens_details", None), "cached_tokens")
    reasoning = _count(getattr(usage, "completion_tokens_details", None), "reasoning_tokens")
    if not (prompt and completion):
        return Tokens(prompt, completion)
    beyond = _count(usage, "total_tokens") - prompt - completion
    if cached > prompt or (cached and beyond in (cached, cached + reasoning)):
        prompt += cached
    if reasoning > completion or (reasoning and beyond in (reasoning, cached + reasoning)):
        completion += reasoning
    return Tokens(prompt, completion, cached, reasoning)


def _count(usage: object, name: str) -> int:
    """A count that a provider gives; 0 where it gives none that can be."""
    value = getattr(usage, name, None)
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0


def _embedded(answer: Any, texts: list[str], counter: TokenCounter) -> Reply:
    """answer: a CreateEmbeddingResponse, or whatever came in its place. Raises ServiceError."""
    vectors = unit_vectors(getattr(answer, "data", None), len(texts))
    usage = getattr(answer, "usage", None)
    tokens = _count(usage, "prompt_tokens") or _count(usage, "total_tokens")
    least, likely, _ = (sum(counts) for counts in zip(*map(counter.range, texts), strict=True))
    return Reply("", Tokens(max(tokens, least) if tokens else likely), not tokens, vectors=vectors)


def unit_vectors(rows: Any, wanted: int) -> Vectors:
    """(wanted, dimension): the vectors of `wanted` texts, in the order of the texts, each of length 1.

    Raises ServiceError for what is not the `data` of an answer to them.
    """
    try:
        places = [place if row.index is None else row.index for place, row in enumerate(rows)]
        if sorted(places) != list(range(wanted)):
            raise ServiceError(
                "wanted embeddings with the indexes 0 to {last}, got {places}", last=wanted - 1, places=places
            )
        found = {place: row.embedding for place, row in zip(places, rows, strict=True)}
        vectors = np.array([found[place] for place in range(wanted)], dtype=np.float64).reshape(wanted, -1)
        with np.errstate(over="ignore"):  # a length beyond every number is refused below
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ServiceError(
            "embeddings of one answer are not numbers of one dimension: {error}", error=error
        ) from None
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ServiceError("an embedding has no direction: all zeros, not finite or too large")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
