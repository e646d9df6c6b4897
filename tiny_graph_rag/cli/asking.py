"""How a command asks a model: one way for answers, links, judgments and rewritten questions.

Nothing of the API's libraries is imported unless a model is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import SHOWN_PROBLEMS, ServiceError
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.messages import counted, said, t, verbatim

if TYPE_CHECKING:
    from tiny_graph_rag.llm.base import Outcome
    from tiny_graph_rag.llm.chat import Chat, Tariff


class Model(Struct, frozen=True):
    """The models of one run with their prices, cap, cache and journal."""

    session: Session
    tariff: Tariff
    chat: Chat

    @classmethod
    def of(
        cls,
        session: Session,
        what: str,
        used: Sequence[str] = (),
        *,
        cap_usd: float | None = None,
        journal: Path | None = None,
        resume: bool = False,
    ) -> Model:
        """Before any work. what: it is asked for ("linking"), which the user sees with model and price. used:
        names of models, the answering one where there are none. journal: next to results that it belongs to.

        Raises UsageError for a cap without a price, ConfigError for an address that may not be asked.
        """
        from tiny_graph_rag.llm.chat import Tariff, open_chat

        tariff, used = Tariff(session.config), used or (session.config.openai.model,)
        if cap_usd is not None:
            tariff.require_prices(tuple(used))
        for name in used:
            session.say(
                "{what}: {model} · {price} · tokens by {counter}",
                what=said(what),
                model=name,
                price=tariff.describe(name),
                counter=tariff.counter(name).name,
            )
        if journal is not None:
            session.outputs.claim(journal, is_own=True)
        chat = open_chat(session.config, tariff, journal, resume=resume, retry_failed=resume, cap_usd=cap_usd)
        return cls(session, tariff, chat)

    @contextmanager
    def progress(self, what: str, calls: int) -> Iterator[Callable[[Outcome], None]]:
        """Calls done, tokens, money, failures and time left, where somebody can see it."""
        calls_done = tokens = 0
        with self.session.progress(what, calls, least=0) as bar:

            def done(outcome: Outcome) -> None:
                nonlocal calls_done, tokens
                calls_done += 1
                tokens += outcome.reply.tokens.total if outcome.reply is not None else 0
                money, failed = self.chat.budget.spent_usd, self.chat.failed
                bar(
                    calls_done,
                    t(
                        "{tokens} tokens · ${cost} · {failed} failed",
                        tokens=f"{tokens:,}",
                        cost=f"{money:.4f}",
                        failed=failed,
                    ),
                )

            yield done

    def close(self) -> None:
        """Let go of the journal."""
        if self.chat.journal is not None:
            self.chat.journal.close()

    def say_paid(self) -> None:
        """What this run itself asked and paid."""
        budget = self.chat.budget
        parts = [
            counted(
                self.chat.asked,
                "this run: {n} request sent, {known} replies known from journal or cache",
                "this run: {n} requests sent, {known} replies known from journal or cache",
                known=f"{self.chat.known:,}",
            )
        ]
        if budget.spent_usd or self.chat.price(self.session.config.openai.model) is not None:
            parts.append(t("{usd} paid", usd=f"${budget.spent_usd:.4f}"))
        if budget.unpriced:
            n = f"{budget.unpriced:,}"
            parts.append(t("cost unknown, replies of a model without a price: {n}", n=n))
        if budget.doubtful:
            parts.append(t("{n} interrupted attempts may have been charged too", n=f"{budget.doubtful:,}"))
        self.session.say(", ".join(parts))


class CommandLinker(Struct, frozen=True):
    """The linker of a command that asks a model for nothing else. maker: for `evaluate` and `sweep`. model:
    None where the linker asks none. Replies are cached; there are no results a journal could belong to."""

    maker: LinkerMaker
    model: Model | None = None

    @classmethod
    def of(cls, session: Session, *, cap_usd: float | None = None) -> CommandLinker:
        """Before any work. Raises UsageError where a model is needed and none can be asked."""
        if not asks_model(session.config):
            return cls(make_linker)
        from tiny_graph_rag.llm.chat import require_api

        require_api(session.config, f"--linker {session.config.retrieval.linker}")
        model = Model.of(session, "linking", cap_usd=cap_usd)
        return cls(partial(make_linker, chat=model.chat), model)

    def conclude(self, linked: Sequence[LinkedQuestion] = ()) -> None:
        """Say what was paid. Raises ServiceError where one of these questions could not be linked."""
        if self.model is not None:
            self.model.say_paid()
        failed = [f"{question.id}: {question.error}" for question in linked if question.error is not None]
        if failed:
            raise ServiceError(*map(verbatim, failed[:SHOWN_PROBLEMS]))
