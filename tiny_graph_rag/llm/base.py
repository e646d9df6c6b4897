"""What goes to a model and what comes back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tiny_graph_rag.errors import json_kind

Purpose = Literal["linking", "answering", "judging"]
PURPOSES: tuple[Purpose, ...] = ("linking", "answering", "judging")
KEY_VERSION = 1  # goes into every key: raise it when a request of the same content would mean something else

NOT_ASKED = "not asked: the run stopped at --max-cost"


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """As the provider counts them. cached is a part of prompt, reasoning a part of completion."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

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


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a model.

    question: the id of the gold set's question that it is asked for. schema: a JSON schema that the answer
    must follow, by name. check: raises ValueError for a text that can't be used; it is asked for once more.
    embeds: the messages' texts go to /embeddings, and the reply is the cosine of the first with the nearest
    of the others.
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
            [[each.role, each.content] for each in self.messages],
            self.max_tokens,
            self.temperature,
            self.seed,
            self.schema,
            *(["embeddings"] if self.embeds else []),
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said and what it took. estimated: the tokens are our count, the API gave none."""

    text: str
    tokens: Tokens
    estimated: bool = False
    finish_reason: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: with a reply, with an error in words, or (paid for, but of no use) with both."""

    reply: Reply | None = None
    error: str | None = None

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
        return found

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Outcome:
        """Raises KeyError or TypeError for what `as_dict` did not write."""
        reply = found.get("reply")
        if reply is None:
            return cls(error=str(found["error"]))
        tokens = reply["tokens"]
        counted = Tokens(
            int(tokens["prompt_tokens"]),
            int(tokens["completion_tokens"]),
            int(tokens["cached_tokens"]),
            int(tokens["reasoning_tokens"]),
        )
        kept = Reply(str(reply["text"]), counted, bool(reply["estimated"]), str(reply["finish_reason"]))
        return cls(kept, found.get("error"))


Json = dict[str, Any]
_FENCED = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)


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
    fenced = _FENCED.match(text.strip())
    try:
        reply = json.loads(fenced[1] if fenced else text)
    except ValueError:
        raise ValueError(f"wanted JSON, got {text[:60]!r}") from None
    if not isinstance(reply, dict):
        raise ValueError(f"wanted a JSON object, got {json_kind(reply)}")
    return reply
