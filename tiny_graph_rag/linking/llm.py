"""Linking by a model: it says which names a question holds, the graph's name index says whose they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import ClassVar, Self

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sections import OpenAI
from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.linking.base import LinkedQuestion, LinkerTask, linker
from tiny_graph_rag.linking.names import NameLinker, chosen
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Outcome, Template, read_object, strict_object
from tiny_graph_rag.llm.cost import Spent
from tiny_graph_rag.messages import said

SCHEMA = strict_object(mentions={"type": "array", "items": {"type": "string"}})
# A question that holds the fence's own words would end it; broken ones end nothing.
_FENCE = re.compile(r"<(?=\s*+(?:/\s*+)?(?:question|earlier)\b)", re.IGNORECASE)


@linker("llm", "asks the model which names the question contains")
class ModelLinker(NameLinker):
    """Asks once a question. A question whose call failed carries the error and has no seeds."""

    asks_model: ClassVar[bool] = True

    def __init__(self, task: LinkerTask) -> None:
        assert task.chat is not None, "make_linker has refused"
        super().__init__(task.graph, task.names)
        self.chat, self.settings, self.done = task.chat, task.config.openai, task.done
        # A question that is linked again, to time it or for another setting, is not paid for again.
        self._known: dict[str, Outcome] = {}

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(task)

    @classmethod
    def calls(cls, examples: Sequence[Example], config: Config) -> list[Call]:
        return [mention_call(example, config.openai) for example in examples]

    def prepare(self, examples: Sequence[Example]) -> None:
        """Ask for all questions at once."""
        self._outcomes(examples)

    def _outcomes(self, examples: Sequence[Example]) -> list[Outcome]:
        calls = [mention_call(example, self.settings) for example in examples]
        keys = [self.chat.key(call) for call in calls]
        new = {key: call for key, call in zip(keys, calls, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self.chat.ask(new.values(), self.done), strict=True))
        return [self._known[key] for key in keys]

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        outcomes = self._outcomes(examples)
        price = self.chat.price(self.settings.model)
        linked = []
        by_name = super().link(examples)
        for example, outcome, question in zip(examples, outcomes, by_name, strict=True):
            reply = outcome.reply if outcome.error is None else None
            mentions = read_mentions(reply.text) if reply else ()
            # The names in a mention, found as in a question: 점순이네 → 점순, the old mill → mill.
            meant = [
                (mention[part.start : part.end], part.entities, part.rule)
                for mention in mentions
                for part in self.finder.find(mention)
            ]
            seeds = chosen(question, meant)
            tried = () if seeds else mentions
            error, spent = outcome.error, Spent.on(outcome, price)
            if error not in (None, NOT_ASKED):
                error = said("linking failed: {error}", error=error)
            linked.append(LinkedQuestion(example.query, seeds, example.id, error, spent, tried))
        return linked


def mention_call(example: Example, settings: OpenAI) -> Call:
    """What the model is asked. Its answer is as long as answers may be: reasoning counts there too."""
    text = resources.files(__package__).joinpath("prompts/mentions.txt").read_text("utf-8")
    turns = "\n".join(_FENCE.sub("< ", turn) for turn in example.context)
    values = {
        "earlier": f"<earlier>\n{turns}\n</earlier>\n\n" if turns else "",
        "question": _FENCE.sub("< ", example.query),
    }
    return Call(
        "linking",
        example.id,
        settings.model,
        Template.of(text).fill(values),
        settings.max_tokens,
        settings.temperature,
        settings.seed,
        "mentions",
        SCHEMA,
        read_mentions,
    )


def read_mentions(text: str) -> tuple[str, ...]:
    """`{"mentions": ["Anna", "Ben"]}` → the names, each once. Raises ValueError for any other form."""
    mentions = read_object(text).get("mentions")
    if not isinstance(mentions, list) or not all(isinstance(mention, str) for mention in mentions):
        raise ValueError(said("'mentions' must be a list of names, got {got}", got=json_kind(mentions)))
    return tuple(dict.fromkeys(mention.strip() for mention in mentions if mention.strip()))
