"""What goes to a model and what comes back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tiny_graph_rag.errors import json_kind, wrong_value

Purpose = Literal["linking", "answering", "judging", "retrieving", "rewriting"]
Role = Literal["system", "user"]
PURPOSES: tuple[Purpose, ...] = ("linking", "answering", "judging")  # that answers are accounted by
NOT_ASKED = "not asked: the run had stopped"  # the error of a call that was never made
LARGEST_COUNT = 1 << 53  # of tokens: what a float still holds exactly
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

    Raises ValueError for counts that no run can have: below 0, a part greater than its whole, no exact float.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    def __post_init__(self) -> None:
        parts = ((self.cached, self.prompt), (self.reasoning, self.completion))
        if not all(0 <= part <= whole <= LARGEST_COUNT for part, whole in parts):
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


NO_TOKENS = Tokens()


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a model.

    question: the id of the gold set's question that it is asked for. schema: a JSON schema that the answer
    must follow, by name. check: raises ValueError for a text that can't be used.
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


class Reply(Struct, frozen=True, omit_defaults=True):
    """What a model said and what it took. estimated: the tokens are our count, the API gave none that can
    be. vectors: float32 (texts, dimension) of a call that embeds, each of length 1; they are in no file."""

    text: str
    tokens: Tokens
    estimated: bool = False
    finish_reason: str = ""
    vectors: Any = None


class Outcome(Struct, frozen=True, omit_defaults=True):
    """How a call ended: with a reply, with an error in words, or (paid for, but of no use) with both.

    perhaps: the most that attempts took which broke off and may have been charged all the same.
    """

    reply: Reply | None = None
    error: str | None = None
    perhaps: Tokens = NO_TOKENS


# Structured output: the JSON schema that a reply must follow, and reading the reply.

Json = dict[str, Any]
NOT_JSON = (msgspec.MsgspecError, ValueError, RecursionError)  # what its decoder raises, of bytes too
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
    bare = text.strip().removeprefix(FENCE).removeprefix("json").removesuffix(FENCE)
    try:
        return msgspec.json.decode(bare, type=Json)
    except NOT_JSON:
        raise wrong_value("wanted a JSON object, got {got}", got=json_kind(text)) from None
