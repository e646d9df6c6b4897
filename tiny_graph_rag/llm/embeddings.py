"""Texts → vectors, from any service that speaks OpenAI's `/embeddings`, each text asked for once.

The protocol is one POST, so the standard library does it and no client library is needed. Vectors are kept
under the cache folder by the SHA-256 of the service, the model and the text: a second run makes no call.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import math
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.stored import Arrays, BadArraysError, read_arrays, write_arrays
from tiny_graph_rag.config import Config, cache_folder
from tiny_graph_rag.errors import ServiceError, UsageError
from tiny_graph_rag.secret import HIDDEN, Secret, safe_url

OPENAI = "https://api.openai.com/v1"
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.5  # doubled from attempt to attempt
LONGEST_PAUSE_SECONDS = 30.0
PASSING = (408, 409, 429, 500, 502, 503, 504)  # worth another attempt
KEPT_AT_ONCE = 1024  # texts paid for between two writes to the cache
SHOWN_CHARACTERS = 200  # of a service's own message

Vectors = NDArray[np.float32]


@dataclass(slots=True)
class Spent:
    """What was asked and paid for. tokens: None once the service left its count out."""

    calls: int = 0
    texts: int = 0
    tokens: int | None = 0

    def cost_usd(self, usd_per_million: float | None) -> float | None:
        if self.calls == 0:
            return 0.0
        if usd_per_million is None or self.tokens is None:
            return None
        return self.tokens / 1_000_000 * usd_per_million

    def note(self, usd_per_million: float | None) -> str:
        """What a user should hear of it."""
        cost = self.cost_usd(usd_per_million)
        paid = "cost unknown: set embeddings.usd_per_million_embedded" if cost is None else f"{cost:.4f} USD"
        tokens = "tokens not reported" if self.tokens is None else f"{self.tokens:,} tokens"
        return f"embeddings: {self.calls:,} calls for {self.texts:,} texts, {tokens}, {paid}"


@dataclass(slots=True)
class Embedder:
    """One model of one service. url: the service's base, such as https://host/v1. folder: of the cache."""

    url: str
    model: str
    api_key: Secret
    folder: Path
    batch: int = 128
    timeout_seconds: float = 60.0
    spent: Spent = field(default_factory=Spent)
    _known: dict[bytes, Vectors] | None = None
    _new: dict[bytes, Vectors] = field(default_factory=dict)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimension), each of length 1. Raises ServiceError where the service fails for good."""
        keys = [self._key(text) for text in texts]
        known = self._read_cache()
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        waiting = list(missing.items())
        try:
            for start in range(0, len(waiting), self.batch):
                part = waiting[start : start + self.batch]
                for (key, _), vector in zip(part, self._asked([text for _, text in part]), strict=True):
                    self._new[key] = vector
                    known[key] = vector
                if len(self._new) >= KEPT_AT_ONCE:
                    self._write_cache()
        finally:
            self._write_cache()
        sizes = {len(known[key]) for key in keys}
        if len(sizes) > 1:
            raise ServiceError(
                f"{self.shown}: vectors of {self.model} have different dimensions: "
                f"{', '.join(map(str, sorted(sizes)))}. Name one model that always answers alike, "
                f"or delete {self._home()}"
            )
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, 0), dtype=np.float32)

    @property
    def shown(self) -> str:
        return safe_url(self.url)

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.url}\0{self.model}\0{text}".encode("utf-8", "replace")).digest()

    def _asked(self, texts: list[str]) -> list[Vectors]:
        body = json.dumps({"model": self.model, "input": texts, "encoding_format": "float"}).encode()
        answer = self._sent(body)
        self.spent.calls += 1
        self.spent.texts += len(texts)
        usage = answer.get("usage")
        tokens = usage.get("prompt_tokens", usage.get("total_tokens")) if isinstance(usage, dict) else None
        if not isinstance(tokens, int) or self.spent.tokens is None:
            self.spent.tokens = None
        else:
            self.spent.tokens += tokens
        return unit_vectors(answer, len(texts), self.shown)

    def _sent(self, body: bytes) -> dict[str, Any]:
        request = urllib.request.Request(
            self.url.rstrip("/") + "/embeddings",
            data=body,
            headers={"Content-Type": "application/json"},
        )
        if request.type not in ("http", "https"):
            raise UsageError(f"openai.base_url must start with http:// or https://, got {self.shown!r}")
        if self.api_key:
            request.add_header("Authorization", f"Bearer {self.api_key.reveal()}")
        problem = ""
        for attempt in range(ATTEMPTS):
            pause = min(FIRST_PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout_seconds) as response:
                    answer = json.loads(response.read())
                if isinstance(answer, dict):
                    return answer
                problem = "its answer is no JSON object"
            except urllib.error.HTTPError as error:
                problem = f"HTTP {error.code} {self._said(error)}".strip()
                if error.code in (401, 403):
                    raise ServiceError(f"{self.shown}: {problem}. Check OPENAI_API_KEY") from None
                if error.code not in PASSING:
                    raise ServiceError(f"{self.shown}: {problem}") from None
                pause = _retry_after(error.headers.get("Retry-After"), pause)
            except (OSError, http.client.HTTPException, ValueError) as error:
                problem = str(getattr(error, "reason", error)) or type(error).__name__
            if attempt < ATTEMPTS - 1:
                time.sleep(pause)
        raise ServiceError(f"{self.shown}: no embeddings after {ATTEMPTS} attempts; the last said: {problem}")

    def _said(self, error: urllib.error.HTTPError) -> str:
        """The service's message, without the key if it repeats it."""
        text = error.read().decode("utf-8", "replace")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            text = str(json.loads(text)["error"]["message"])
        return (text.replace(self.api_key.reveal(), HIDDEN) if self.api_key else text)[:SHOWN_CHARACTERS]

    def _home(self) -> Path:
        return self.folder / hashlib.sha256(f"{self.url}\0{self.model}".encode()).hexdigest()[:24]

    def _read_cache(self) -> dict[bytes, Vectors]:
        if self._known is None:
            self._known = {}
            for path in sorted(self._home().glob("*.arrays")):
                try:
                    arrays, _ = read_arrays(path)
                    keys, vectors = arrays["keys"], arrays["vectors"]
                except (BadArraysError, KeyError):
                    continue  # paid for again, as if it had never been kept
                self._known.update(
                    (keys[row].tobytes(), np.array(vectors[row]))
                    for row in range(min(len(keys), len(vectors)))
                )
        return self._known

    def _write_cache(self) -> None:
        by_size: dict[int, list[bytes]] = {}
        for key, vector in self._new.items():
            by_size.setdefault(len(vector), []).append(key)
        for keys in by_size.values():
            arrays: Arrays = {
                "keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1),
                "vectors": np.stack([self._new[key] for key in keys]),
            }
            try:
                write_arrays(self._home() / f"{uuid.uuid4().hex}.arrays", arrays, {"model": self.model})
            except OSError:
                break  # vectors that can't be kept still serve this run
        self._new.clear()


def make_embedder(config: Config, option: str) -> Embedder:
    """The configured service. Raises UsageError where neither key nor address is there; option: who asks."""
    service, settings = config.openai, config.embeddings
    if not service.base_url and not config.api_key:
        raise UsageError(
            f"{option} needs a service: set OPENAI_API_KEY for OpenAI's, or OPENAI_BASE_URL for "
            "another (http://localhost:11434/v1 for Ollama)"
        )
    return Embedder(
        service.base_url or OPENAI,
        settings.dense_model,
        config.api_key,
        cache_folder() / "embeddings",
        settings.embeddings_batch,
        service.timeout,
    )


def unit_vectors(answer: dict[str, Any], wanted: int, shown: str) -> list[Vectors]:
    """The vectors in a service's answer to `wanted` texts, in their order, each of length 1.

    shown: the service, for messages. Raises ServiceError for an answer of another form.
    """
    rows = answer.get("data")
    if not isinstance(rows, list) or len(rows) != wanted:
        got = f"{len(rows)}" if isinstance(rows, list) else "none"
        raise ServiceError(f"{shown}: wanted {wanted} embeddings for {wanted} texts, got {got}")
    found: dict[int, Vectors] = {}
    for place, row in enumerate(rows):
        index = row.get("index", place) if isinstance(row, dict) else place
        vector = row.get("embedding") if isinstance(row, dict) else None
        if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)):
            raise ServiceError(f"{shown}: embedding {index} is no list of finite numbers")
        length = math.sqrt(math.fsum(number * number for number in vector))
        if not length or not math.isfinite(length):
            raise ServiceError(f"{shown}: embedding {index} has no direction (all zeros, or too large)")
        found[index] = np.array([number / length for number in vector], dtype=np.float32)
    if sorted(found) != list(range(wanted)):
        raise ServiceError(f"{shown}: the embeddings' indexes are not 0 to {wanted - 1}")
    if len({len(vector) for vector in found.values()}) > 1:
        raise ServiceError(f"{shown}: embeddings of one answer have different dimensions")
    return [found[place] for place in range(wanted)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _retry_after(header: str | None, otherwise: float) -> float:
    try:
        return min(max(float(header or ""), 0.0), LONGEST_PAUSE_SECONDS)
    except ValueError:
        return otherwise
