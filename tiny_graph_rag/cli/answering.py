"""Answers by a model: whether, at what cost, with which progress.

Imported only where answers or links are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from tiny_graph_rag.answers.answering import AnsweringTask, answer_all, answer_template
from tiny_graph_rag.answers.context import ContextMaker
from tiny_graph_rag.answers.judge import Judging, judge_all
from tiny_graph_rag.answers.records import Answer
from tiny_graph_rag.answers.rubrics import Rubric, parse_judges
from tiny_graph_rag.cli.asking import Model
from tiny_graph_rag.cli.options import Generating
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, ServiceError, TinyGraphRagError
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LINKERS, LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Template
from tiny_graph_rag.llm.chat import HOW_TO_TURN_ON, can_ask, require_api
from tiny_graph_rag.llm.cost import Forecast, forecast
from tiny_graph_rag.llm.kept import journal_path
from tiny_graph_rag.messages import said, t
from tiny_graph_rag.report.terminal.answers import answers_lines, forecast_lines
from tiny_graph_rag.retrieval.candidates import Filters
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.answer_scores import summarise_answers
from tiny_graph_rag.study.evaluate import Evaluation

SHOWN_FAILURES = 5


def prepare(
    session: Session, options: Generating, examples: EvalSet, results: Path | None
) -> Answering | None:
    """Everything that asking a model needs, checked before any work; None where none is asked.

    Raises UsageError for --generate and --linker llm without a key, for a cap without a price.
    """
    config = session.config
    if asks_model(config) and not options.dry_run:
        require_api(config, f"--linker {config.retrieval.linker}")
    if not (can_ask(config) or options.dry_run):
        if options.generate:
            require_api(config, "--generate")
        session.say("answers are not generated: no API is set; {how}", how=t(HOW_TO_TURN_ON))
        return None
    template = answer_template(config.generation.prompt)
    generates = not options.skip_generation
    generation = config.generation
    judges = parse_judges(generation.judge, generation.accuracy_model) if generates else ()
    used = tuple(dict.fromkeys((config.openai.model, *(judge.model(config) for judge in judges))))
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
    return Answering(session, template, judges, model, used, generates)


def answering_task(
    model: Model,
    template: Template,
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion],
    run: Run,
    references: Sequence[tuple[Reference, ...]],
) -> AnsweringTask:
    """What is sent for each question: its text, and the facts around what was retrieved."""
    config = model.session.config
    contexts = ContextMaker(
        graph,
        model.tariff.counter(config.openai.model),
        config.generation.context_tokens,
        Filters.of(graph, config.retrieval).relations,
    )
    return AnsweringTask(examples, linked, run, contexts, template, config, references)


@dataclass(frozen=True, slots=True)
class Answering:
    """What stands ready when retrieval begins. used: names of models. generates: whether answers are wanted,
    or only links."""

    session: Session
    template: Template
    judges: tuple[Rubric, ...]
    model: Model
    used: tuple[str, ...]
    generates: bool

    @contextmanager
    def linker_maker(self, questions: int) -> Iterator[LinkerMaker]:
        """For `evaluate`: `--linker llm` asks this run's model, with this run's journal and cap."""
        if not asks_model(self.session.config):
            yield make_linker
            return
        with self.model.progress("linking", questions) as done:
            try:
                yield partial(make_linker, chat=self.model.chat, done=done)
            except BaseException:
                self.model.close()
                raise

    def forecast(self, evaluation: Evaluation) -> None:
        """--dry-run: calls, tokens, cost.

        With --linker llm nothing is linked, so nothing retrieved: prompts count from no facts at all to
        generation.context_tokens of them.
        """
        config, chat, tariff = self.session.config, self.model.chat, self.model.tariff

        def row(
            what: str, calls: Iterable[Call], model: str, more: int = 0
        ) -> tuple[str, Forecast, tuple[float, float] | None]:
            found = forecast(calls, tariff.counter(model), chat.is_known, more_prompt=more)
            return what, found, found.cost_usd(tariff.price(model))

        task, settings = self._task(evaluation), config.openai
        rows, facts = [], 0
        if asks_model(config):
            calls = LINKERS[config.retrieval.linker].calls(evaluation.examples.examples, config)
            rows.append(row("linking", calls, settings.model))
            facts = config.generation.context_tokens
        rows.append(row("answering", task.calls(), settings.model, facts))
        # What will be judged is not known yet: answers of no length, then of the greatest.
        more = settings.max_tokens + facts
        unwritten, cutoff = [Answer("", None)] * len(evaluation.examples), config.evaluation.top_k
        judging = Judging(task, unwritten, self.judges, cutoff)
        by_model: dict[str, list[Call]] = {}
        for call in judging.calls():
            by_model.setdefault(call.model, []).append(call)
        for model, calls in by_model.items():
            rows.append(row("judging by embeddings" if calls[0].embeds else "judging", calls, model, more))
        self.session.show(forecast_lines(rows))

    def answered(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation with its answers; as it is where only links were wanted."""
        if not self.generates:
            self.model.close()
            self.model.say_paid()
            return evaluation
        task, chat, config = self._task(evaluation), self.model.chat, self.session.config
        try:
            linked = sum(question.error is None for question in evaluation.linked)
            with self.model.progress("answering", linked) as done:
                answers = answer_all(task, chat, done)
            if self.judges:
                judging = Judging(task, answers.rows, self.judges, config.evaluation.top_k)
                with self.model.progress("judging", sum(1 for _ in judging.asked_of())) as done:
                    answers = judge_all(judging, chat, answers, done)
        finally:
            self.model.close()
        notes = tuple(
            f"{name}: {self.model.tariff.describe(name)}; tokens where the API gives none by "
            f"{self.model.tariff.counter(name).name}"
            for name in self.used
        )
        answered = summarise_answers(
            replace(answers, notes=notes),
            [question.tags for question in evaluation.examples],
            [question.group for question in evaluation.examples],
        )
        self.session.show(answers_lines(answered))
        self.model.say_paid()
        return structs.replace(evaluation, answered=answered)

    def _task(self, evaluation: Evaluation) -> AnsweringTask:
        return answering_task(
            self.model,
            self.template,
            evaluation.graph,
            evaluation.examples,
            evaluation.linked,
            evaluation.run,
            evaluation.judgments.references,
        )

    def problems(self, evaluation: Evaluation) -> list[TinyGraphRagError]:
        """Once results are written: list the questions that failed, and give what the command must end with.

        That is FoundProblems (exit code 1) where the cap stopped the run, ServiceError (3) where the server
        refused every call, or too much failed. Listed before anything ends, so that a gate that fails as well
        hides none of them.
        """
        session, chat = self.session, self.model.chat
        answered = evaluation.answered
        rows: Sequence[LinkedQuestion | Answer] = (
            evaluation.linked if answered is None else answered.answers.rows
        )
        was_stopped = chat.stopped if answered is None else not answered.answers.complete
        pairs = zip(evaluation.examples, rows, strict=True)
        failed = [(question.id, row.error) for question, row in pairs if row.error is not None]
        reasons = [f"{id}: {error}" for id, error in failed if error != NOT_ASKED]
        wanted = said("answer") if self.generates else said("link")
        for line in reasons[:SHOWN_FAILURES]:
            session.warn("no {answer} to {question}", answer=wanted, question=line)
        if len(reasons) > SHOWN_FAILURES:
            session.warn("… and {n} more, all in the results", n=f"{len(reasons) - SHOWN_FAILURES:,}")
        counts = {"n": f"{len(failed):,}", "all": f"{len(rows):,}", "answer": wanted}
        if was_stopped and (ended := chat.client.ended) is not None:
            return [
                ServiceError(
                    "{error}: {n} of {all} questions have no {answer} and score 0. Answers so far are kept: "
                    "--resume goes on",
                    error=ended,
                    **counts,
                )
            ]
        if was_stopped:
            stopped = said(
                "the run stopped before --max-cost {cap}: {n} of {all} questions have no {answer} and score "
                "0. --resume with a higher cap goes on",
                cap=f"{chat.budget.cap_usd:g}",
                **counts,
            )
            failure = chat.client.last_failure
            if failure is None:
                return [FoundProblems(stopped)]
            return [ServiceError(stopped, said("the service failed meanwhile: {failure}", failure=failure))]
        if failed and len(failed) / len(rows) >= session.config.generation.fail_on_error:
            return [
                ServiceError(
                    "{n} of {all} questions have no {answer}, first {first}. --resume asks them again; "
                    "generation.fail_on_error sets the share that is too much",
                    **counts,
                    first=reasons[0],
                )
            ]
        if failed:
            session.say("{n} questions have no {answer} and score 0; --resume asks them again", **counts)
        return []
