"""`--patch FILE`: the confirmed entries of a patch, applied in memory for one command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tiny_graph_rag.config import Config
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.fixing.applying import patched, with_patch
from tiny_graph_rag.fixing.fixes import by_kind
from tiny_graph_rag.fixing.patch import CONFIRMED, DRAFT, Patch, read_patch
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import shown, t
from tiny_graph_rag.study.settings import label_of


@dataclass(frozen=True, slots=True)
class UsedPatch:
    path: Path
    patch: Patch
    sha256: str

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(path, read_patch(path), sha256_of(path))

    def configured(self, config: Config) -> Config:
        return with_patch(config, self.patch, self.path.name)

    @property
    def has_words(self) -> bool:
        return bool(self.patch.only(CONFIRMED).vocabulary)

    @property
    def settings(self) -> str:
        """The confirmed settings as options; "" where there are none."""
        return " ".join(label_of(entry.values) for entry in self.patch.only(CONFIRMED).settings)

    def record(self) -> dict[str, Any]:
        """As results files hold it."""
        return {
            "name": self.path.name,
            "sha256": self.sha256,
            "applied": ", ".join(by_kind(self.patch.only(CONFIRMED))),
        }

    def fits(self, graph: KnowledgeGraph) -> bool:
        """Whether it was made for this version of the graph, as far as both are known."""
        made_for = self.patch.graph.sha256
        return not made_for or not graph.sha256 or made_for == graph.sha256

    def applied(self, graph: KnowledgeGraph, examples: EvalSet) -> tuple[KnowledgeGraph, EvalSet]:
        """Raises PatchError for what no longer fits the graph."""
        return patched(graph, examples, self.patch)

    def line(self) -> str:
        """`patch fixes.yaml: 2 aliases, 1 merge · 12 drafts are not applied`."""
        drafts = sum(entry.status == DRAFT for _, entry in self.patch.entries())
        counts = ", ".join(map(shown, by_kind(self.patch.only(CONFIRMED))))
        applied = counts or t("nothing is confirmed, so nothing is applied")
        line = t("patch {file}: {applied}", file=self.path.name, applied=applied)
        return line + (" · " + t("{n} not decided yet and not applied", n=f"{drafts:,}") if drafts else "")
