"""The answering part of `eval`: whether, at what cost, with which progress.

Nothing of the API's libraries is imported unless answers are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.cli.asking import Model, failed_links, require_api
from tiny_graph_rag.cli.options import Generating
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, ServiceError, TinyGraphRagError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.linking import LINKERS, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.messages import said, t
from tiny_graph_rag.study.evaluate import Evaluation

if TYPE_CHECKING:
    from tiny_graph_rag.answers.accuracy import Comparing
    from tiny_graph_rag.answers.answering import AnsweringTask
    from tiny_graph_rag.answers.judge import Judging
    from tiny_graph_rag.answers.records import Answer
    from tiny_graph_rag.answers.rubrics import Rubric
    from tiny_graph_rag.config import Config
    from tiny_graph_rag.llm.base import Template
    from tiny_graph_rag.llm.chat import Chat
    from tiny_graph_rag.llm.setup import Tariff
    from tiny_graph_rag.study.evaluate import Evaluation


def prepare(
    session: Session, options: Generating, examples: EvalSet, results: Path | None
) -> Answering | None:
    """Everything that asking a model needs, checked before any work; None where none is asked.

    Raises UsageError for --generate and --linker llm without a key, for a cap without a price.
    """
    config = session.config
    links = asks_model(config)
    if links and not options.dry_run:
        require_api(session, f"--linker {config.retrieval.linker}")
    if not (config.api_key or config.openai.base_url or options.dry_run):
        from tiny_graph_rag.llm.setup import HOW_TO_TURN_ON

        if options.generate:
            require_api(session, "--generate")
        session.say("answers are not generated: no API is set; {how}", how=t(HOW_TO_TURN_ON))
        return None
    from tiny_graph_rag.answers.prompt import answer_template
    from tiny_graph_rag.answers.rubrics import parse_judges
    from tiny_graph_rag.llm.kept import journal_path
    from tiny_graph_rag.llm.setup import models

    template = answer_template(config.generation.prompt)
    generates = not options.skip_generation
    judges = parse_judges(config.generation.judge) if generates else ()
    used = models(config, judging=bool(judges), comparing=_compares(config, judges))
    if results is None:
        results = Path(config.storage.results_dir) / f"{examples.file_name}-results.json"
    model = Model.of(
        session,
        "answers" if generates else "linking",
        used,
        cap_usd=options.max_cost,
        journal=None if options.dry_run else journal_path(results),
        resume=options.resume,
    )
    return Answering(session, template, judges, model, generates)


@dataclass(frozen=True, slots=True)
class Answering:
    """What stands ready when retrieval begins. generates: whether answers are wanted, or only links."""

    session: Session
    template: Template
    judges: tuple[Rubric, ...]
    model: Model
    generates: bool

    @property
    def tariff(self) -> Tariff:
        return self.model.tariff

    @property
    def chat(self) -> Chat:
        return self.model.chat

    @contextmanager
    def linker_maker(self, questions: int) -> Iterator[LinkerMaker]:
        """For `evaluate`: `--linker llm` asks this run's model, with this run's journal and cap."""
        if not asks_model(self.session.config):
            yield make_linker
            return
        with self.model.progress("linking", questions) as done:
            try:
                yield partial(make_linker, chat=self.chat, done=done)
            except BaseException:
                self.model.close()
                raise

    def forecast(self, evaluation: Evaluation) -> None:
        """--dry-run: calls, tokens, cost.

        With --linker llm nothing is linked, so nothing retrieved: prompts count from no facts at all to
        generation.context_tokens of them.
        """
        from tiny_graph_rag.answers.forecast import forecast
        from tiny_graph_rag.answers.records import Answer
        from tiny_graph_rag.report.terminal.answers import forecast_lines

        settings, asked = evaluation.config.openai, self._asked(evaluation)
        counter, price = self.tariff.counter(settings.model), self.tariff.price(settings.model)
        rows, facts = [], 0
        config = self.session.config
        if asks_model(config):
            calls = LINKERS[config.retrieval.linker].calls(evaluation.examples.examples, config)
            found = forecast(calls, counter, map(self.chat.is_known, calls))
            rows.append(("linking", found, found.cost_usd(price)))
            facts = evaluation.config.generation.context_tokens
        known = (self.chat.is_known(call) for call in asked.calls())
        found = forecast(asked.calls(), counter, known, more_prompt=facts)
        rows.append(("answering", found, found.cost_usd(price)))
        if self.judges:
            # What will be judged is not known yet: answers of no length, then of the greatest.
            unwritten = [Answer("", None) for _ in evaluation.examples]
            verdicts = self._judging(evaluation, asked, unwritten).calls()
            judge = settings.judge_model or settings.model
            more = settings.max_tokens + facts
            found = forecast(verdicts, self.tariff.counter(judge), more_prompt=more)
            rows.append(("judging", found, found.cost_usd(self.tariff.price(judge))))
        if self._compares:
            model = evaluation.config.generation.accuracy_model
            unwritten = [Answer("…", None) for _ in evaluation.examples]
            embedded = self._comparing(evaluation, asked, unwritten).calls()
            found = forecast(embedded, self.tariff.counter(model), more_prompt=settings.max_tokens)
            rows.append(("judging by embeddings", found, found.cost_usd(self.tariff.price(model))))
        self.session.show(forecast_lines(rows))

    def answered(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation with its answers; as it is where only links were wanted."""
        if not self.generates:
            self.model.close()
            self.model.say_paid()
            return evaluation
        from tiny_graph_rag.answers.accuracy import compare_all
        from tiny_graph_rag.answers.answering import answer_all
        from tiny_graph_rag.answers.judge import judge_all
        from tiny_graph_rag.llm.setup import models
        from tiny_graph_rag.report.terminal.answers import answers_lines
        from tiny_graph_rag.study.answer_scores import summarise_answers

        asked = self._asked(evaluation)
        try:
            linked = sum(question.error is None for question in evaluation.linked)
            with self.model.progress("answering", linked) as done:
                answers = answer_all(asked, self.chat, done)
            if self.judges:
                judging = self._judging(evaluation, asked, answers.rows)
                with self.model.progress("judging", sum(1 for _ in judging.asked_of())) as done:
                    answers = judge_all(judging, self.chat, answers, done)
            if self._compares:
                comparing = self._comparing(evaluation, asked, answers.rows)
                with self.model.progress("comparing", sum(1 for _ in comparing.rows())) as done:
                    answers = compare_all(comparing, self.chat, answers, done)
        finally:
            self.model.close()
        notes = tuple(
            f"{model}: {self.tariff.describe(model)}; tokens where the API gives none by "
            f"{self.tariff.counter(model).name}"
            for model in models(evaluation.config, judging=bool(self.judges), comparing=self._compares)
        )
        answered = summarise_answers(
            replace(answers, notes=notes),
            [question.tags for question in evaluation.examples],
            [question.group for question in evaluation.examples],
        )
        self.session.show(answers_lines(answered))
        self.model.say_paid()
        return replace(evaluation, answered=answered)

    def _asked(self, evaluation: Evaluation) -> AnsweringTask:
        from tiny_graph_rag.answers.answering import AnsweringTask
        from tiny_graph_rag.answers.context import ContextMaker
        from tiny_graph_rag.retrieval.candidates import Filters

        config = evaluation.config
        contexts = ContextMaker(
            evaluation.graph,
            self.tariff.counter(config.openai.model),
            config.generation.context_tokens,
            Filters.of(evaluation.graph, config.retrieval).relations,
        )
        return AnsweringTask(
            evaluation.examples,
            evaluation.linked,
            evaluation.run,
            contexts,
            self.template,
            config,
            evaluation.judgments.references,
        )

    def _judging(self, evaluation: Evaluation, asked: AnsweringTask, answers: Sequence[Answer]) -> Judging:
        from tiny_graph_rag.answers.judge import Judging

        return Judging(asked, answers, self.judges, evaluation.config.evaluation.top_k)

    @property
    def _compares(self) -> bool:
        return _compares(self.session.config, self.judges)

    def _comparing(
        self, evaluation: Evaluation, asked: AnsweringTask, answers: Sequence[Answer]
    ) -> Comparing:
        from tiny_graph_rag.answers.accuracy import Comparing

        model = evaluation.config.generation.accuracy_model
        return Comparing(self._judging(evaluation, asked, answers), model)


def _compares(config: Config, judges: Sequence[Rubric]) -> bool:
    """Whether answers get ACC: it is made of the judge's factuality and of embeddings."""
    return bool(config.generation.accuracy_model) and any(judge.name == "factuality" for judge in judges)


SHOWN_FAILURES = 5


def problems(answering: Answering, evaluation: Evaluation) -> list[TinyGraphRagError]:
    """Once results are written: list the questions that failed, and give what the command must end with.

    That is FoundProblems (exit code 1) where the cap stopped the run, ServiceError (3) where too much
    failed. Listed before anything ends, so that a gate that fails as well hides none of them.
    """
    from tiny_graph_rag.llm.base import NOT_ASKED  # a run without a model loads none of it

    session, questions = answering.session, len(evaluation.examples)
    wanted = said("answer") if answering.generates else said("link")
    failed = _failed(evaluation)
    reasons = [f"{id}: {error}" for id, error in failed if error != NOT_ASKED]
    for line in reasons[:SHOWN_FAILURES]:
        session.warn("no {answer} to {question}", answer=wanted, question=line)
    if len(reasons) > SHOWN_FAILURES:
        session.warn("… and {n} more, all in the results", n=f"{len(reasons) - SHOWN_FAILURES:,}")
    if _was_stopped(answering, evaluation):
        verdicts = said(", verdicts are missing") if answering.judges else ""
        failure = answering.chat.client.last_failure
        if failure is not None:
            return [
                ServiceError(
                    "the run stopped before --max-cost {cap}: {n} of {all} questions have no {answer} and "
                    "score 0{verdicts}. The service failed meanwhile: {failure}. --resume with a higher cap "
                    "goes on",
                    cap=f"{answering.chat.budget.cap_usd:g}",
                    n=f"{len(failed):,}",
                    all=f"{questions:,}",
                    answer=wanted,
                    verdicts=verdicts,
                    failure=failure,
                )
            ]
        return [
            FoundProblems(
                "the run stopped before --max-cost {cap}: {n} of {all} questions have no {answer} and "
                "score "
                "0{verdicts}. --resume with a higher cap goes on",
                cap=f"{answering.chat.budget.cap_usd:g}",
                n=f"{len(failed):,}",
                all=f"{questions:,}",
                answer=wanted,
                verdicts=verdicts,
            )
        ]
    if not failed:
        return []
    if len(failed) / questions >= session.config.generation.fail_on_error:
        return [
            ServiceError(
                "{n} of {all} questions have no {answer}, first {first}. --resume asks them again; "
                "generation.fail_on_error sets the share that is too much",
                n=f"{len(failed):,}",
                all=f"{questions:,}",
                answer=wanted,
                first=reasons[0],
            )
        ]
    session.say(
        "{n} questions have no {answer} and score 0; --resume asks them again",
        n=f"{len(failed):,}",
        answer=wanted,
    )
    return []


def _failed(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Id and reason of each question without what was wanted."""
    ids = [question.id for question in evaluation.examples]
    if evaluation.answered is None:
        return failed_links(ids, evaluation.linked)
    answers = evaluation.answered.answers.rows
    return [(id, answer.error) for id, answer in zip(ids, answers, strict=True) if answer.error is not None]


def _was_stopped(answering: Answering, evaluation: Evaluation) -> bool:
    if evaluation.answered is not None:
        return not evaluation.answered.answers.complete
    return answering.chat.ledger.stopped is not None
