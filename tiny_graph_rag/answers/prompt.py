"""The prompt: a template with places for the graph's facts and the question."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.llm.base import Template

PLACES = ("graph", "question")


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
