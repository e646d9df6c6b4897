"""Texts → vectors, each text asked for once: kept under the cache folder by the SHA-256 of service, model and
text, so that a second run makes no call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.errors import ServiceError, amount
from tiny_graph_rag.llm.base import Call, Message
from tiny_graph_rag.llm.chat import Tariff, require_api
from tiny_graph_rag.llm.client import Attempts, Client
from tiny_graph_rag.llm.endpoint import CallFailed, Endpoint, Vectors
from tiny_graph_rag.llm.kept import ReplyCache
from tiny_graph_rag.messages import said

OPENAI = "https://api.openai.com/v1"


@dataclass(slots=True)
class Embedder:
    """One model of the service that `client` speaks to. url: the service's base, which its vectors are kept
    under. batch: texts a call. calls, texts, tokens: what was asked for so far."""

    client: Client
    url: str
    model: str
    cache: ReplyCache
    batch: int = 128
    calls: int = 0
    texts: int = 0
    tokens: int = 0

    def note(self) -> str:
        """What was asked and paid, for people."""
        budget = self.client.budget
        unknown = said("cost unknown: set embeddings.usd_per_million_embedded")
        return said(
            "embeddings: {calls} for {texts}, {tokens}, {cost}",
            calls=amount(self.calls, "call"),
            texts=amount(self.texts, "text"),
            tokens=amount(self.tokens, "token"),
            cost=unknown if budget.unpriced else f"{budget.spent_usd:.4f} USD",
        )

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

        async def ask(part: list[tuple[str, str]]) -> None:
            messages = tuple(Message("user", text) for _, text in part)
            call = Call("retrieving", "", self.model, messages, max_tokens=0, embeds=True)
            reply = await self.client.reply(call, Attempts())
            assert reply.vectors is not None
            self.calls, self.texts = self.calls + 1, self.texts + len(part)
            self.tokens += reply.tokens.total
            vectors = {key: vector for (key, _), vector in zip(part, reply.vectors, strict=True)}
            known.update(vectors)
            self.cache.put({key: vector.tobytes() for key, vector in vectors.items()})

        await self.client.each(parts, ask)

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
    require_api(config, option)
    tariff = Tariff(config)
    return Embedder(
        Client(Endpoint.of(config), tariff.counter, tariff.price, service.concurrency),
        service.base_url or OPENAI,
        settings.dense_model,
        ReplyCache(cache_folder()),
        settings.embeddings_batch,
    )
