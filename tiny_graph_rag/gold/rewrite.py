"""`generate --rewrite`: a model says the template's question as a person would; the question stays the same.

What the program needs must survive: every name by which the question calls its seeds (a noisy one too). A
rewriting that loses one, names an answer or grows long is not used. The template is kept under `template`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tiny_graph_rag.config.sections import OpenAI
from tiny_graph_rag.errors import wrong_value
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.llm.base import Call, Message, Outcome, read_object

LONGEST = 3  # times as long as its template a rewriting may be, and 80 characters more
SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}
_INSTRUCTIONS = (
    "You rewrite questions that a program made from templates, so that they read as a person would ask them. "
    "Keep the language. Keep the meaning exactly: what is asked for, every condition, every step from one "
    "thing to the next. Keep every text between <keep> and </keep> letter by letter, as it is spelt, even "
    "where it looks misspelt. Add no names, facts or hints, and do not answer. "
    'Reply as JSON: {"question": "..."}'
)


def rewrite_call(example: Example, settings: OpenAI, gives_away: Callable[[Example, str], bool]) -> Call:
    """What the model is asked. gives_away: whether a wording names an answer."""
    words = tuple(dict.fromkeys(example.unknown.get("mentions", ())))
    text = f"{example.query}\n\n" + "\n".join(f"<keep>{word}</keep>" for word in words)

    def check(reply: str) -> str:
        question = " ".join(str(read_object(reply).get("question") or "").split())
        lost = [word for word in words if nfc(word) not in nfc(question)]
        if not question:
            raise wrong_value("'question' is missing")
        if lost:
            raise wrong_value("it lost {names}", names=", ".join(map(repr, lost)))
        if len(question) > LONGEST * len(example.query) + 80:
            raise wrong_value("it is much longer than the original question")
        if gives_away(example, question):
            raise wrong_value("it names an answer")
        return question

    return Call(
        "rewriting",
        example.id,
        settings.model,
        (Message("system", _INSTRUCTIONS), Message("user", text)),
        settings.max_tokens,
        settings.temperature,
        settings.seed,
        "question",
        SCHEMA,
        check,
    )


def rewritten(
    examples: Sequence[Example], calls: Sequence[Call], outcomes: Sequence[Outcome]
) -> tuple[tuple[Example, ...], int]:
    """The questions as the model says them, and how many kept their template."""
    made, kept = [], 0
    for example, call, outcome in zip(examples, calls, outcomes, strict=True):
        if outcome.error is not None or outcome.reply is None or call.check is None:
            made.append(example)
            kept += 1
            continue
        query = str(call.check(outcome.reply.text))
        made.append(replace(example, query=query, unknown={**example.unknown, "template": example.query}))
    return tuple(made), kept
