"""A request's optional parameters, and what an API refuses of them: settled once, then left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiny_graph_rag.llm.base import Call

# Ways to say one thing, tried from the left; None leaves it out.
WAYS: dict[str, tuple[str | None, ...]] = {
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "temperature": ("temperature", None),
    "seed": ("seed", None),
    "response_format": ("json_schema", "json_object", None),
}
SPELLED = {"max_completion_tokens": "max_tokens"}


class Parameters:
    """Which way each parameter is sent. Shared by all calls of a run to one model."""

    def __init__(self) -> None:
        self._way = dict.fromkeys(WAYS, 0)

    def of(self, call: Call) -> dict[str, Any]:
        """The optional part of a request."""
        found: dict[str, Any] = {str(self._current("max_tokens")): call.max_tokens}
        if call.temperature is not None and self._current("temperature"):
            found["temperature"] = call.temperature
        if call.seed is not None and self._current("seed"):
            found["seed"] = call.seed
        if call.schema is not None:
            way = self._current("response_format")
            if way == "json_schema":
                schema = {"name": call.schema_name, "strict": True, "schema": call.schema}
                found["response_format"] = {"type": way, "json_schema": schema}
            elif way == "json_object":
                found["response_format"] = {"type": way}
        return found

    def _current(self, name: str) -> str | None:
        return WAYS[name][self._way[name]]

    def refused(self, sent: Mapping[str, Any], body: object) -> str | None:
        """Learn from an API's refusal of `sent`; the parameter to say otherwise, None where it is no such.

        A parameter that another call's refusal has changed meanwhile counts as settled: just ask again.
        """
        named = _named(body, sent)
        if named is None:
            return None
        name = SPELLED.get(named, named)
        if self._is_sent(name, sent):
            if self._way[name] + 1 >= len(WAYS[name]):
                return None
            self._way[name] += 1
        return name

    def _is_sent(self, name: str, sent: Mapping[str, Any]) -> bool:
        """Whether the refused request said it in the way that is still the current one."""
        way = self._current(name)
        if name == "response_format":
            return isinstance(sent.get(name), Mapping) and sent[name].get("type") == way
        return way in sent


def _named(body: object, sent: Mapping[str, Any]) -> str | None:
    """Which of the sent parameters an error is about: by its `param`, else by the name in its text."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, Mapping):
        parameter = str(inner.get("param") or "").split(".")[0]
        if parameter in sent:
            return parameter
        inner = inner.get("message") or inner.get("detail") or ""
    text = str(inner)
    # The refused name stands before the advice: "'max_tokens' is not supported, use 'max_completion_tokens'".
    found = [(text.find(name), name) for name in sent if name in text]
    return min(found)[1] if found else None
