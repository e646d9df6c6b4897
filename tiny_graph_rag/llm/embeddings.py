"""Texts → vectors, each text asked for once: kept under the cache folder by the SHA-256 of service, model and
text, so that a second run makes no call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tiny_graph_rag.config import Config, cache_folder
from tiny_graph_rag.errors import ServiceError, UsageError, amount
from tiny_graph_rag.llm.base import Call, Message, Reply
from tiny_graph_rag.llm.client import Attempts, Client
from tiny_graph_rag.llm.cost import TokenCounter
from tiny_graph_rag.llm.endpoint import CallFailed, Endpoint, Vectors
from tiny_graph_rag.llm.kept import ReplyCache
from tiny_graph_rag.messages import said

OPENAI = "https://api.openai.com/v1"


@dataclass(slots=True)
class Embedded:
    """What was asked and paid for. tokens: None once the service left its count out."""

    calls: int = 0
    texts: int = 0
    tokens: int | None = 0

    def add(self, texts: int, reply: Reply) -> None:
        self.calls += 1
        self.texts += texts
        counted = self.tokens is not None and not reply.estimated
        self.tokens = (self.tokens or 0) + reply.tokens.prompt if counted else None

    def cost_usd(self, usd_per_million: float | None) -> float | None:
        if self.calls == 0:
            return 0.0
        if usd_per_million is None or self.tokens is None:
            return None
        return self.tokens / 1_000_000 * usd_per_million

    def note(self, usd_per_million: float | None) -> str:
        """What a user should hear of it."""
        cost = self.cost_usd(usd_per_million)
        unknown = said("cost unknown: set embeddings.usd_per_million_embedded")
        reported = said("tokens not reported") if self.tokens is None else amount(self.tokens, "token")
        return said(
            "embeddings: {calls} for {texts}, {tokens}, {cost}",
            calls=amount(self.calls, "call"),
            texts=amount(self.texts, "text"),
            tokens=reported,
            cost=unknown if cost is None else f"{cost:.4f} USD",
        )


@dataclass(slots=True)
class Embedder:
    """One model of the service that `client` speaks to. url: the service's base, which its vectors are kept
    under. batch: texts a call."""

    client: Client
    url: str
    model: str
    cache: ReplyCache
    batch: int = 128
    spent: Embedded = field(default_factory=Embedded)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimension), each of length 1. Raises ServiceError where the service fails for good."""
        text_of = {self._key(text): text for text in texts}
        known = {key: vector for key in text_of if (vector := self._kept(key)) is not None}
        waiting = [(key, text) for key, text in text_of.items() if key not in known]
        if waiting:
            parts = (waiting[at : at + self.batch] for at in range(0, len(waiting), self.batch))
            try:
                self.client.run(lambda: self._ask_all(parts, known))
            except CallFailed as failure:
                raise ServiceError(
                    "{host}: no embeddings: {failure}", host=self.client.endpoint.host, failure=failure
                ) from None
        keys = [self._key(text) for text in texts]
        sizes = {len(known[key]) for key in keys}
        if len(sizes) > 1:
            raise ServiceError(
                "{host}: vectors of {model} have different dimensions: {names}. Name one model that "
                "always answers the same way, or delete {home}",
                host=self.client.endpoint.host,
                model=self.model,
                names=", ".join(map(str, sorted(sizes))),
                home=self.cache.path,
            )
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, 0), dtype=np.float32)

    async def _ask_all(self, parts: Iterator[list[tuple[str, str]]], known: dict[str, Vectors]) -> None:
        """Adds to `known`. What was paid for before a failure is kept."""

        async def step() -> bool:
            part = next(parts, None)
            if part is None:
                return False
            messages = tuple(Message("user", text) for _, text in part)
            call = Call("retrieving", "", self.model, messages, max_tokens=0, embeds=True)
            reply = await self.client.reply(call, Attempts())
            assert reply.vectors is not None
            self.spent.add(len(part), reply)
            vectors = {key: vector for (key, _), vector in zip(part, reply.vectors, strict=True)}
            known.update(vectors)
            self.cache.put({key: vector.tobytes() for key, vector in vectors.items()})
            return True

        await self.client.repeat(step)

    def _key(self, text: str) -> str:
        content = f"{self.url}\0{self.model}\0{text}".encode("utf-8", "replace")
        return "vector " + hashlib.sha256(content).hexdigest()

    def _kept(self, key: str) -> Vectors | None:
        """The vector of a key; None where none is kept, or it is not of length 1."""
        value = self.cache.get(key)
        if not value or len(value) % 4:
            return None
        vector = np.frombuffer(value, dtype=np.float32)
        return vector if abs(float(np.linalg.norm(vector)) - 1) < 1e-3 else None


def make_embedder(config: Config, option: str) -> Embedder:
    """The configured service. Raises UsageError where neither key nor address is there; option: who asks."""
    service, settings = config.openai, config.embeddings
    if not service.base_url and not config.api_key:
        raise UsageError(
            "{option} needs a service: set OPENAI_API_KEY for OpenAI's, or OPENAI_BASE_URL for "
            "another (http://localhost:11434/v1 for Ollama)",
            option=option,
        )
    endpoint = Endpoint.of(config)
    counter = TokenCounter(None, "estimate")
    return Embedder(
        Client(endpoint, lambda model: counter, lambda model: None, service.concurrency),
        service.base_url or OPENAI,
        settings.dense_model,
        ReplyCache(cache_folder()),
        settings.embeddings_batch,
    )
