"""The answering part of `eval`: whether, at what cost, with which progress, and how it ended.

Nothing of the API's libraries is imported unless answers are asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.cli.options import Generating
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.dataset.examples import EvalSet
from tiny_graph_rag.errors import FoundProblems, ServiceError, UsageError

if TYPE_CHECKING:
    from tiny_graph_rag.evaluation.runner import Evaluation
    from tiny_graph_rag.generation.answering import Asked
    from tiny_graph_rag.generation.base import Answer
    from tiny_graph_rag.generation.judge import Judging
    from tiny_graph_rag.generation.prompt import Template
    from tiny_graph_rag.generation.rubrics import Rubric
    from tiny_graph_rag.llm.base import Outcome
    from tiny_graph_rag.llm.chat import Chat
    from tiny_graph_rag.llm.setup import Tariff

SHOWN_FAILURES = 5


def prepare(session: Session, options: Generating, examples: EvalSet, results: Path) -> Answering | None:
    """Everything that answering needs, checked before any work; None where answers are not to be generated.

    Raises UsageError for options that contradict each other, for --generate without a key, for a cap
    without a price.
    """
    if options.skip_generation:
        for name in ("generate", "dry_run"):
            if getattr(options, name):
                raise UsageError(f"--skip-generation and --{name.replace('_', '-')} exclude each other")
        return None
    config = session.config
    if not (config.api_key or config.openai.base_url or options.dry_run):
        from tiny_graph_rag.llm.setup import HOW_TO_TURN_ON

        if options.generate:
            raise UsageError(f"--generate needs an API: {HOW_TO_TURN_ON}")
        session.say(f"answers are not generated: no API is set; {HOW_TO_TURN_ON}")
        return None
    from tiny_graph_rag.generation.prompt import Template
    from tiny_graph_rag.generation.rubrics import parse_judges
    from tiny_graph_rag.llm.journal import journal_path
    from tiny_graph_rag.llm.setup import Tariff, models, open_chat

    template, tariff = Template.read(config.generation.prompt), Tariff(config)
    judges = parse_judges(config.generation.judge)
    used = models(config, judging=bool(judges))
    for model in used:
        session.say(f"answers: {model} · {tariff.describe(model)} · tokens by {tariff.counter(model).name}")
    if options.max_cost is not None:
        tariff.require_prices(used)
    if session.to_stdout:
        results = Path(config.storage.results_dir) / f"{examples.name}-results.json"
    chat = open_chat(
        config,
        tariff,
        None if options.dry_run else journal_path(results),
        resume=options.resume or options.retry_failed,
        retry_failed=options.retry_failed,
        cap_usd=options.max_cost,
    )
    return Answering(session, template, judges, tariff, chat)


@dataclass(frozen=True, slots=True)
class Answering:
    """What stands ready when retrieval begins."""

    session: Session
    template: Template
    judges: tuple[Rubric, ...]
    tariff: Tariff
    chat: Chat

    def forecast(self, evaluation: Evaluation) -> None:
        """--dry-run: calls, tokens, cost."""
        from tiny_graph_rag.generation.base import Answer
        from tiny_graph_rag.generation.forecast import forecast
        from tiny_graph_rag.report.answers_console import print_forecast

        settings, asked = evaluation.config.openai, self._asked(evaluation)
        known = (self.chat.is_known(call) for call in asked.calls())
        found = forecast(asked.calls(), self.tariff.counter(settings.model), known)
        rows = [("answering", found, found.cost_usd(self.tariff.price(settings.model)))]
        if self.judges:
            # What will be judged is not known yet: answers of no length, then of the greatest.
            unwritten = [Answer("", None) for _ in evaluation.examples]
            calls = self._judging(evaluation, asked, unwritten).calls()
            judge = settings.judge_model or settings.model
            found = forecast(calls, self.tariff.counter(judge), more_prompt=settings.max_tokens)
            rows.append(("judging", found, found.cost_usd(self.tariff.price(judge))))
        print_forecast(rows, self.session.console)

    def answered(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation with its answers."""
        from tiny_graph_rag.evaluation.answers import summarise_answers
        from tiny_graph_rag.generation.answering import answer_all
        from tiny_graph_rag.generation.judge import judge_all
        from tiny_graph_rag.llm.setup import models
        from tiny_graph_rag.report.answers_console import print_answers

        asked = self._asked(evaluation)
        try:
            with self._progress("answering", len(evaluation.examples)) as done:
                answers = answer_all(asked, self.chat, done)
            if self.judges:
                judging = self._judging(evaluation, asked, answers.rows)
                with self._progress("judging", sum(1 for _ in judging.pairs())) as done:
                    answers = judge_all(judging, self.chat, answers, done)
        finally:
            self._close()
        notes = tuple(
            f"{model}: {self.tariff.describe(model)}; tokens where the API gives none by "
            f"{self.tariff.counter(model).name}"
            for model in models(evaluation.config, judging=bool(self.judges))
        )
        answered = summarise_answers(
            replace(answers, notes=notes),
            [each.tags for each in evaluation.examples],
            seed=evaluation.config.evaluation.seed,
        )
        print_answers(answered, self.session.console)
        self._say_what_was_paid()
        return replace(evaluation, answered=answered)

    def check(self, evaluation: Evaluation) -> None:
        """Once results are written: exit code 1 where the cap stopped the run, 3 where too much failed."""
        assert evaluation.answered is not None
        answers, examples = evaluation.answered.answers, evaluation.examples
        failed = [
            f"{example.id}: {each.error}"
            for example, each in zip(examples, answers.rows, strict=True)
            if each.error is not None
        ]
        if not answers.complete:
            raise FoundProblems(
                f"the run stopped before --max-cost {self.chat.cap_usd:g}: {len(failed):,} of "
                f"{len(examples):,} questions have no answer and score 0"
                f"{', verdicts are missing' if self.judges else ''}. --resume with a higher cap goes on"
            )
        if not failed:
            return
        for line in failed[:SHOWN_FAILURES]:
            self.session.warn(f"no answer to {line}")
        if len(failed) / len(examples) >= self.session.config.generation.fail_on_error:
            raise ServiceError(
                f"{len(failed):,} of {len(examples):,} questions have no answer, first {failed[0]}. "
                "--retry-failed asks them again; --fail-on-error sets the share that is too much"
            )
        self.session.say(
            f"{len(failed):,} questions have no answer and score 0; --retry-failed asks them again"
        )

    def _asked(self, evaluation: Evaluation) -> Asked:
        from tiny_graph_rag.generation.answering import Asked
        from tiny_graph_rag.generation.context import ContextMaker
        from tiny_graph_rag.retrieval.filters import Filters

        config = evaluation.config
        contexts = ContextMaker(
            evaluation.graph,
            self.tariff.counter(config.openai.model),
            config.generation.context_tokens,
            Filters.of(evaluation.graph, config.retrieval).relations,
        )
        return Asked(
            evaluation.examples,
            evaluation.linked,
            evaluation.run,
            contexts,
            self.template,
            config,
            evaluation.judgments.references,
        )

    def _judging(self, evaluation: Evaluation, asked: Asked, answers: Sequence[Answer]) -> Judging:
        from tiny_graph_rag.generation.judge import Judging

        return Judging(asked, answers, self.judges, evaluation.config.evaluation.top_k)

    def _close(self) -> None:
        if self.chat.journal is not None:
            self.chat.journal.close()

    def _say_what_was_paid(self) -> None:
        ledger, budget = self.chat.ledger, self.chat.budget
        parts = [f"this run: {ledger.asked:,} calls made, {ledger.known:,} known from journal or cache"]
        if self.tariff.price(self.session.config.openai.model) is not None:
            parts.append(f"${budget.spent_usd:.4f} paid")
        if budget.doubtful:
            parts.append(f"{budget.doubtful:,} attempts that broke off may have been charged too")
        self.session.say(", ".join(parts))

    @contextmanager
    def _progress(self, what: str, calls: int) -> Iterator[Callable[[Outcome], None]]:
        """Questions done, tokens, money, failures and time left, where somebody can see it."""
        if self.session.quiet or not sys.stderr.isatty():
            yield lambda outcome: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        tokens = 0
        columns = (
            TextColumn(what),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[spent]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=calls, spent="")

            def done(outcome: Outcome) -> None:
                nonlocal tokens
                tokens += outcome.reply.tokens.total if outcome.reply is not None else 0
                money, failed = self.chat.budget.spent_usd, self.chat.ledger.failed
                bar.update(task, advance=1, spent=f"{tokens:,} tokens · ${money:.4f} · {failed} failed")

            yield done
