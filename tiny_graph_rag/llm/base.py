"""What goes to a model and what comes back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tiny_graph_rag.errors import json_kind, wrong_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Purpose = Literal["linking", "answering", "judging", "retrieving", "rewriting"]
Role = Literal["system", "user"]
PURPOSES: tuple[Purpose, ...] = ("linking", "answering", "judging")  # that answers are accounted by
NOT_ASKED = "not asked: the run had stopped"  # the error of a call that was never made
MOST_TOKENS = 10_000_000  # of one side of a call: no model reads or writes more; a larger count is a mistake
DIVIDER = "---"  # of a prompt: a line of its own between the system's part and the user's
KEY_VERSION = 1  # goes into every key: raise it when a request of the same content would mean something else

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt. system: "" for none. Places are the names of the values that it is filled with, such as
    {graph} and {question}; other braces stand for themselves."""

    system: str
    user: str

    @classmethod
    def of(cls, text: str) -> Template:
        """A line with DIVIDER alone stands between the system's part and the user's."""
        above, divider, below = text.replace("\r\n", "\n").partition(f"\n{DIVIDER}\n")
        return cls(above.strip(), below.strip()) if divider else cls("", text.strip())

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages. Filled in one pass, so that a fact that says {question} stays as it is."""
        parts: tuple[tuple[Role, str], ...] = (("system", self.system), ("user", self.user))
        return tuple(
            Message(role, _PLACE.sub(lambda found: values.get(found[1], found[0]), text))
            for role, text in parts
            if text
        )


@dataclass(frozen=True, slots=True)
class Tokens:
    """As the provider counts them. cached is a part of prompt, reasoning a part of completion.

    Raises ValueError for counts that no call can have: below 0, a part greater than its whole.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.cached <= self.prompt and 0 <= self.reasoning <= self.completion):
            raise wrong_value("{as_dict} are not token counts", as_dict=self.as_dict())

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )

    def as_dict(self) -> dict[str, int]:
        """As results files hold it."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.total,
            "cached_tokens": self.cached,
            "reasoning_tokens": self.reasoning,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Tokens:
        """As a file holds them, a part held to its whole. Raises KeyError, TypeError or ValueError."""
        prompt, completion, cached, reasoning = (
            _count(found[name])
            for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
        )
        return cls(prompt, completion, min(cached, prompt), min(reasoning, completion))


NO_TOKENS = Tokens()


def _count(value: object) -> int:
    """A count from a file, held between 0 and the most that two replies of one call can have."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no count")
    return min(max(value, 0), 2 * MOST_TOKENS)


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a model.

    question: the id of the gold set's question that it is asked for. schema: a JSON schema that the answer
    must follow, by name. check: raises ValueError for a text that can't be used; it is asked for once more.
    embeds: the messages' texts go to /embeddings, and the reply holds their vectors.
    """

    purpose: Purpose
    question: str
    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    seed: int | None = None
    schema_name: str = ""
    schema: dict[str, Any] | None = None
    check: Callable[[str], object] | None = None
    embeds: bool = False

    def key(self, base_url: str) -> str:
        """SHA-256 of everything that decides the answer. base_url: without secrets."""
        content = [
            KEY_VERSION,
            base_url,
            self.purpose,
            self.question,
            self.model,
            [[message.role, message.content] for message in self.messages],
            self.max_tokens,
            self.temperature,
            self.seed,
            self.schema,
            *(["embeddings"] if self.embeds else []),
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said and what it took. estimated: the tokens are our count, the API gave none that can
    be. vectors: (texts, dimension) of a call that embeds, each of length 1; they are in no file."""

    text: str
    tokens: Tokens
    estimated: bool = False
    finish_reason: str = ""
    vectors: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: with a reply, with an error in words, or (paid for, but of no use) with both.

    perhaps: the most that attempts took which broke off and may have been charged all the same.
    """

    reply: Reply | None = None
    error: str | None = None
    perhaps: Tokens = NO_TOKENS

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.reply is not None:
            found["reply"] = {
                "text": self.reply.text,
                "tokens": self.reply.tokens.as_dict(),
                "estimated": self.reply.estimated,
                "finish_reason": self.reply.finish_reason,
            }
        if self.error is not None:
            found["error"] = self.error
        if self.perhaps != NO_TOKENS:
            found["perhaps"] = self.perhaps.as_dict()
        return found

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Outcome:
        """Raises KeyError, TypeError or ValueError for what `as_dict` did not write."""
        perhaps = Tokens.from_dict(found["perhaps"]) if "perhaps" in found else NO_TOKENS
        error = found.get("error")
        if not isinstance(error, str | None):
            raise TypeError("an error is text")
        reply = found.get("reply")
        if reply is None:
            found["error"].encode()
            return cls(error=found["error"], perhaps=perhaps)
        text, estimated, reason = reply["text"], reply["estimated"], reply["finish_reason"]
        if not (isinstance(text, str) and isinstance(estimated, bool) and isinstance(reason, str)):
            raise TypeError("not a reply as it was kept")
        f"{text}{error}{reason}".encode()  # half a character is no text
        return cls(Reply(text, Tokens.from_dict(reply["tokens"]), estimated, reason), error, perhaps)


# Structured output: the JSON schema that a reply must follow, and reading the reply.

Json = dict[str, Any]
FENCE = "```"


def strict_object(**properties: Json) -> Json:
    """A JSON schema in the strict form that structured output wants: all required, nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> Json:
    """A reply as an object, out of its code fence if it has one. Raises ValueError in words."""
    bare = text.strip()
    if len(bare) >= 2 * len(FENCE) and bare.startswith(FENCE) and bare.endswith(FENCE):
        text = bare[len(FENCE) : -len(FENCE)].removeprefix("json")
    try:
        reply = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise wrong_value("wanted JSON, got JSON that is nested too deeply") from None
    except ValueError:
        raise wrong_value("wanted JSON, got {text}", text=repr(text[:60])) from None
    if not isinstance(reply, dict):
        raise wrong_value("wanted a JSON object, got {got}", got=json_kind(reply))
    return reply


def _no_number(name: str) -> float:
    raise wrong_value("{name} is not JSON", name=name)
