"""What linking gives: the entities that a question speaks of.

To add a linker, write a Linker under `@linker(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.linkers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from msgspec import Struct

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.registry import Registry

if TYPE_CHECKING:
    from tiny_graph_rag.llm.base import Call, Outcome
    from tiny_graph_rag.llm.chat import Chat
    from tiny_graph_rag.llm.cost import Spent


REFERENCES = frozenset(("coreference", "ellipsis"))  # rules of seeds that an earlier turn names
TEXT = "text"  # the rule of a seed whose texts match the question


class Seed(Struct, frozen=True):
    """An entity that a question names, and why we think so.

    mention: the words of the question (or of an earlier turn). start, end: their characters in the question,
    None where the question itself holds no mention. rule: which rule linked them. weight: in (0, 1], the
    entity's share when several have the name.
    """

    entity: int
    mention: str
    start: int | None
    end: int | None
    rule: str
    weight: float = 1.0

    @classmethod
    def sharing(
        cls, entities: Sequence[int], mention: str, start: int | None, end: int | None, rule: str
    ) -> list[Self]:
        """A seed for each entity that one mention names; they share it."""
        share = 1 / max(1, len(entities))
        return [cls(entity, mention, start, end, rule, share) for entity in entities]

    @property
    def is_text(self) -> bool:
        return self.rule == TEXT

    @property
    def is_reference(self) -> bool:
        """Whether a pronoun, or what is left unsaid, stands for it."""
        return self.rule in REFERENCES


class LinkedQuestion(Struct, frozen=True):
    """A question with its seeds, in the order in which the text names them. id: the example's.

    error: why it could not be linked; such a question has failed, which is not the same as naming nothing.
    spent: what linking it took, None for linkers that ask no model. tried: where there are no seeds, the
    words or names that were looked for in the graph.
    """

    text: str
    seeds: tuple[Seed, ...] = ()
    id: str = ""
    error: str | None = None
    spent: Spent | None = None
    tried: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[Seed, ...]:
        """The seeds that the question names, or that earlier turns name for it."""
        return tuple([seed for seed in self.seeds if seed.rule != TEXT])

    @property
    def by_text(self) -> tuple[Seed, ...]:
        return tuple([seed for seed in self.seeds if seed.rule == TEXT])

    @property
    def starts(self) -> tuple[Seed, ...]:
        """Where a retriever starts that doesn't weigh how a seed was found: the named seeds, without any the
        text seeds."""
        return self.named or self.seeds


class LinkerTask(Struct, frozen=True, eq=False):
    """What a linker may be made from.

    chat: the model that it may ask, None where it `asks_model` not. done: gets each outcome of asking.
    """

    graph: KnowledgeGraph
    names: NameIndex
    config: Config
    chat: Chat | None = None
    done: Callable[[Outcome], None] = lambda outcome: None


class Linker(ABC):
    """Finds seeds. Made once for a graph and its options."""

    asks_model: ClassVar[bool] = False
    """Whether it asks a language model, which has to be there, is paid and may fail."""

    @classmethod
    @abstractmethod
    def of(cls, task: LinkerTask) -> Self:
        """Make it. Raises UsageError for settings that it can't use."""

    @classmethod
    def calls(cls, examples: Sequence[Example], config: Config) -> Sequence[Call]:
        """What linking these questions would ask a model, for `--dry-run`; nothing where it asks none."""
        return ()

    def check(self, examples: Sequence[Example]) -> None:  # noqa: B027 - most linkers can link anything
        """Raise before anything is linked where the questions lack what this linker needs."""

    def prepare(self, examples: Sequence[Example]) -> None:  # noqa: B027 - most linkers have nothing to do
        """Do together, and outside all timing, what `link` would otherwise wait for question by question."""

    @abstractmethod
    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        """One linked question an example, in order."""


LINKERS: Registry[type[Linker]] = Registry(
    "linker",
    "tiny_graph_rag.linking",
    {
        "names": "names:NameLinker",
        "names+text": "names:NameAndTextLinker",
        "gold": "names:GoldLinker",
        "none": "names:NoLinker",
        "llm": "llm:ModelLinker",
    },
)
linker = LINKERS.register  # @linker(name, line); line: what it does, for `--help` and the docs


def in_text_order(seeds: Sequence[Seed]) -> tuple[Seed, ...]:
    """Seeds by where they stand in the question, those without a place first; otherwise as they came."""
    return tuple(sorted(seeds, key=lambda seed: -1 if seed.start is None else seed.start))


LinkerMaker = Callable[[KnowledgeGraph, NameIndex, Config], Linker]


def asks_model(config: Config) -> bool:
    """Whether linking as configured asks a language model. Raises UsageError for an unknown linker."""
    return LINKERS[config.retrieval.linker].asks_model


def make_linker(
    graph: KnowledgeGraph,
    names: NameIndex,
    config: Config,
    *,
    chat: Chat | None = None,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> Linker:
    """The linker that `config.retrieval.linker` names. chat: whom it may ask; done: gets each outcome.

    Raises UsageError for an unknown name, and for one that asks a model without a chat.
    """
    name = config.retrieval.linker
    chosen = LINKERS[name]
    if chosen.asks_model and chat is None:
        raise UsageError(
            "--linker {name} needs a model to ask, and there is none here; use --linker names", name=name
        )
    return chosen.of(LinkerTask(graph, names, config, chat, done))
