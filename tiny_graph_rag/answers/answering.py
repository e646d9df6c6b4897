"""One answer a question: contexts become prompts, prompts become calls, replies become answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from tiny_graph_rag.answers.context import Context, ContextMaker
from tiny_graph_rag.answers.records import Answer, Answers
from tiny_graph_rag.answers.scores import (
    abstention_score,
    agreement_scores,
    citation_scores,
    failed_scores,
)
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Outcome, Purpose, Template
from tiny_graph_rag.llm.chat import Chat
from tiny_graph_rag.llm.cost import Spent
from tiny_graph_rag.run import Run

# The built-in prompt asks for `[no answer]`; the others are how models say it anyway.
_ABSTAINS = re.compile(
    r"\[\s*no answer\s*\]|\bi (?:do not|don['’]t) know\b"
    r"|\b(?:cannot|can['’]t|could not) (?:be )?(?:answer|determin|find|found)"
    r"|\bno (?:information|answer) (?:is |was )?(?:available|given|found)"
    r"|\b(?:do|does) not (?:say|mention|contain|hold|provide|specify|state)\b"
    r"|알 수 없|알수 없|모르겠|모릅니다|(?:정보|내용|언급|답)[이가은는]? ?없|나와 ?있지 않|나오지 않",
    re.IGNORECASE,
)
PLACES = ("graph", "question")  # of a prompt
NOTHING_SENT = Context((), "", 0, False)
_CITATION = re.compile(r"\[(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\]")


def answer_template(file: str) -> Template:
    """file: "" for the built-in one. Raises InputError or UsageError in words, also where a place is
    missing."""
    if not file:
        return Template.of(resources.files(__package__).joinpath("prompts/answer.txt").read_text("utf-8"))
    path = Path(file).expanduser()
    text = decode_utf8(read_bytes(path), path)
    for place in PLACES:
        if f"{{{place}}}" not in text:
            raise UsageError(
                "{source}: the prompt needs {{{place}}} where the {place} should be inserted",
                source=path,
                place=place,
            )
    return Template.of(text)


def question_text(example: Example) -> str:
    """The question, after the earlier turns that it may refer to."""
    turns = "".join(f"Earlier question: {turn}\n" for turn in example.context)
    return f"{turns}Question: {example.query}"


@dataclass(frozen=True, slots=True)
class AnsweringTask:
    """Everything that a question's prompt is made of. sent: what each context spoke of, without its text,
    which is made when it is needed, so that memory stays flat."""

    examples: Sequence[Example]
    linked: Sequence[LinkedQuestion]
    run: Run
    contexts: ContextMaker
    template: Template
    config: Config
    references: Sequence[tuple[Reference, ...]]
    sent: dict[int, Context] = field(default_factory=dict)

    def context(self, row: int) -> Context:
        """Of the seeds and the first k entities: what measures judge is what the model is sent."""
        seeds = [seed.entity for seed in self.linked[row].seeds]
        ranked = self.run.entities[self.run.rows(row)][: self.config.evaluation.top_k]
        return self.contexts.make(seeds, ranked.tolist())

    def call(self, row: int) -> Call:
        settings, example = self.config.openai, self.examples[row]
        context = self.context(row)
        self.sent[row] = replace(context, text="")
        return Call(
            "answering",
            example.id,
            settings.model,
            self.template.fill({"graph": context.text, "question": question_text(example)}),
            settings.max_tokens,
            settings.temperature,
            settings.seed,
        )

    def calls(self) -> Iterator[Call]:
        """Of the questions that could be linked: the others have failed already."""
        return (self.call(row) for row, seed in enumerate(self.linked) if seed.error is None)


def answer_all(
    asked: AnsweringTask, chat: Chat, done: Callable[[Outcome], None] = lambda outcome: None
) -> Answers:
    """Ask every question. Raises ServiceError where the API can't be used at all."""
    outcomes = iter(chat.ask(asked.calls(), done))
    price = chat.price(asked.config.openai.model)
    rows = []
    for row, linked in enumerate(asked.linked):
        spent: dict[Purpose, Spent] = {} if linked.spent is None else {"linking": linked.spent}
        if linked.error is not None:
            context, found = NOTHING_SENT, Answer("", linked.error, spent=spent)
        else:
            outcome, context = next(outcomes), asked.sent[row]
            found = _answer(outcome, context, {**spent, "answering": Spent.on(outcome, price)})
        rows.append(replace(found, scores=_scores(found, asked, row, context)))
    return Answers(tuple(rows), complete=all(row.error != NOT_ASKED for row in rows))


def _answer(outcome: Outcome, context: Context, spent: dict[Purpose, Spent]) -> Answer:
    text = outcome.reply.text if outcome.reply is not None else ""
    cited = cited_facts(text)
    entities = dict.fromkeys(entity for number in cited for entity in context.entities(number))
    return Answer(
        text=text,
        error=outcome.error,
        abstained=outcome.error is None and abstains(text),
        cited=cited,
        citations=tuple(entities),
        spent=spent,
        facts=len(context.facts),
        context_tokens=context.tokens,
        left_out=context.left_out,
    )


def _scores(answer: Answer, asked: AnsweringTask, row: int, context: Context) -> dict[str, float]:
    example = asked.examples[row]
    scores = (
        agreement_scores(without_citations(answer.text), example)
        | citation_scores([context.entities(number) for number in answer.cited], asked.references[row])
        | abstention_score(answer.abstained, example)
    )
    return scores if answer.error is None else failed_scores(scores)


def cited_facts(text: str) -> tuple[int, ...]:
    """Numbers in square brackets, each once, in order: `Anna [2] and Ben [1, 2].` → (2, 1)."""
    numbers = (int(number) for found in _CITATION.finditer(text) for number in re.split(r"[,;]", found[1]))
    return tuple(dict.fromkeys(numbers))


def without_citations(text: str) -> str:
    """The answer's own words, for comparing with the ground truth."""
    return re.sub(r"(?<!\s)\s++([.,;:!?])", r"\1", _CITATION.sub("", text)).strip()


def abstains(text: str) -> bool:
    """Whether an answer says that it has none: the prompt's own sign or one of the usual phrases."""
    return bool(_ABSTAINS.search(nfc(text)))
