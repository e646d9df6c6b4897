"""Answers of earlier runs, one small file a call, found by the call's key."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tiny_graph_rag.llm.base import Outcome


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """folder: made when the first answer is kept. Processes may share it: files are moved into place."""

    folder: Path

    def get(self, key: str) -> Outcome | None:
        try:
            return Outcome.from_dict(json.loads(self._path(key).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):  # missing, or spoiled: asked again
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an answer. A cache that can't be written is no reason to stop: the journal has the answer."""
        path = self._path(key)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(outcome.as_dict(), ensure_ascii=False), encoding="utf-8")
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
