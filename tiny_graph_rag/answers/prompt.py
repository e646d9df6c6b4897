"""The prompt: a template with places for the graph's facts and the question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.llm.base import Message, Role

PLACES = ("graph", "question")
DIVIDER = "---"  # a line of its own: the system's part above, the user's below
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """system: "" for none. Places are the names of the values that it is filled with, {graph} and {question}
    of a prompt; other braces stand for themselves."""

    system: str
    user: str

    @classmethod
    def parse(cls, text: str, source: str) -> Template:
        """Raises UsageError where a place is missing."""
        for place in PLACES:
            if f"{{{place}}}" not in text:
                raise UsageError(
                    "{source}: the prompt needs {{{place}}} where the {place} should be inserted",
                    source=source,
                    place=place,
                )
        return cls.of(text)

    @classmethod
    def of(cls, text: str) -> Template:
        above, divider, below = text.replace("\r\n", "\n").partition(f"\n{DIVIDER}\n")
        return cls(above.strip(), below.strip()) if divider else cls("", text.strip())

    @classmethod
    def read(cls, file: str) -> Template:
        """file: "" for the built-in one. Raises InputError or UsageError in words."""
        if not file:
            return cls.parse(
                resources.files(__package__).joinpath("prompts/answer.txt").read_text("utf-8"), ""
            )
        path = Path(file).expanduser()
        return cls.parse(decode_utf8(read_bytes(path), path), str(path))

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages. Filled in one pass, so that a fact that says {question} stays as it is."""
        parts: tuple[tuple[Role, str], ...] = (("system", self.system), ("user", self.user))
        return tuple(
            Message(role, _PLACE.sub(lambda found: values.get(found[1], found[0]), text))
            for role, text in parts
            if text
        )


def question_text(example: Example) -> str:
    """The question, after the earlier turns that it may refer to."""
    turns = "".join(f"Earlier question: {turn}\n" for turn in example.context)
    return f"{turns}Question: {example.query}"
