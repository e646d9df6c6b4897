"""Structured output: the JSON schema that a reply must follow, and reading the reply."""

from __future__ import annotations

import json
import re
from typing import Any

from tiny_graph_rag.errors import json_kind

Json = dict[str, Any]
_FENCED = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)


def strict_object(**properties: Json) -> Json:
    """A JSON schema in the strict form that structured output wants: all required, nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> Json:
    """A reply as an object, out of its code fence if it has one. Raises ValueError in words."""
    fenced = _FENCED.match(text.strip())
    try:
        reply = json.loads(fenced[1] if fenced else text)
    except ValueError:
        raise ValueError(f"wanted JSON, got {text[:60]!r}") from None
    if not isinstance(reply, dict):
        raise ValueError(f"wanted a JSON object, got {json_kind(reply)}")
    return reply
