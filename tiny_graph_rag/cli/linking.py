"""`--linker llm` for commands that ask for nothing else: the linker with a model to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.messages import counted, said, shown, t

if TYPE_CHECKING:
    from tiny_graph_rag.llm.chat import Chat
    from tiny_graph_rag.llm.setup import Tariff


@dataclass(frozen=True, slots=True)
class Linking:
    """maker: for `evaluate` and `sweep`. chat: None where the linker asks no model."""

    session: Session
    maker: LinkerMaker
    chat: Chat | None = None

    @classmethod
    def of(cls, session: Session, *, cap_usd: float | None = None) -> Linking:
        """Before any work. cap_usd: what asking may cost at most. Raises UsageError where a model is needed
        and none can be asked, or a cap is given and its price unknown.

        Answers are cached but not journaled: there are no results that a journal could belong to.
        """
        config = session.config
        if not asks_model(config):
            return cls(session, make_linker)
        require_api(session, f"--linker {config.retrieval.linker}")
        from tiny_graph_rag.llm.setup import Tariff, open_chat

        tariff, model = Tariff(config), config.openai.model
        if cap_usd is not None:
            tariff.require_prices((model,))
        session.say(asking("linking", tariff, model))
        chat = open_chat(config, tariff, None, cap_usd=cap_usd)
        return cls(session, partial(make_linker, chat=chat), chat)

    def say_spent(self) -> None:
        if self.chat is not None:
            say_paid(self.session, self.chat)


def require_api(session: Session, option: str) -> None:
    """Raises UsageError where an option has no model to ask."""
    from tiny_graph_rag.llm.setup import HOW_TO_TURN_ON, can_ask

    if not can_ask(session.config):
        raise UsageError("{option} needs an API: {how}", option=option, how=said(HOW_TO_TURN_ON))


def asking(what: str, tariff: Tariff, model: str) -> str:
    """Which model does what, at which price, its tokens counted how."""
    return t(
        "{what}: {model} · {price} · tokens by {counter}",
        what=t(what),
        model=model,
        price=shown(tariff.describe(model)),
        counter=tariff.counter(model).name,
    )


def say_paid(session: Session, chat: Chat) -> None:
    """What this run itself asked and paid."""
    ledger, budget = chat.ledger, chat.budget
    known = f"{ledger.known:,}"
    parts = [
        counted(
            ledger.asked + ledger.again,
            "this run: {n} call made, {known} known from journal or cache",
            "this run: {n} calls made, {known} known from journal or cache",
            known=known,
        )
    ]
    if budget.unpriced:
        known_part = f"${budget.spent_usd:.4f}"
        parts.append(
            t("cost unknown: {n} replies of a model without a price", n=f"{budget.unpriced:,}")
            if not budget.spent_usd
            else t(
                "{usd} paid, and an unknown amount for {n} replies of a model without a price",
                usd=known_part,
                n=f"{budget.unpriced:,}",
            )
        )
    elif chat.price(session.config.openai.model) is not None:
        parts.append(t("{usd} paid", usd=f"${budget.spent_usd:.4f}"))
    if budget.doubtful:
        parts.append(t("{n} interrupted attempts may have been charged too", n=f"{budget.doubtful:,}"))
    session.say(", ".join(parts))


def failed_links(ids: Sequence[str], linked: Sequence[LinkedQuestion]) -> list[tuple[str, str]]:
    """Id and reason of the questions that could not be linked."""
    return [(id, seed.error) for id, seed in zip(ids, linked, strict=True) if seed.error is not None]
