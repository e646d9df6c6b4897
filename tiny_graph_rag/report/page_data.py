"""The data inside a page: a results document in columns, without what it says twice.

`page/data.js` puts it together again, question by question, when somebody looks.
"""

from __future__ import annotations

import base64
import json
import zlib
from itertools import pairwise
from typing import Any

from tiny_graph_rag.report.columns import Packer

Json = dict[str, Any]

PLAIN_UP_TO = 1_000_000  # characters: a small page stays readable text, a larger one is deflated
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page_data(document: Json, others: list[Json]) -> Json:
    """document: what the page shows. others: sweeps and comparisons that are shown with it."""
    packer = Packer()
    names = {entity: each["name"] for entity, each in document.get("entities", {}).items()}
    head = {key: value for key, value in document.items() if key not in ("results", "entities")}
    rows = [_thin(each, names) for each in document.get("results", [])]
    entities = document.get("entities", {})
    return {
        "head": head,
        "others": others,
        "questions": len(rows),
        "results": packer.pack(rows),
        "entities": packer.pack([{"id": key, **value} for key, value in entities.items()]),
        "entityCount": len(entities),
        "strings": packer.strings,
    }


def _thin(question: Json, names: dict[str, str]) -> Json:
    """Without names that stand in `entities`, and with walks as a start and its steps."""
    thin = {**question}
    for field in ("linked", "ranked"):
        thin[field] = [_without_known_name(each, names) for each in question[field]]
    thin["ranked"] = [_with_short_walk(each, "walk") for each in thin["ranked"]]
    thin["references"] = [_with_short_walk(each, "path") for each in question["references"]]
    return thin


def _without_known_name(each: Json, names: dict[str, str]) -> Json:
    if names.get(each["id"]) != each["name"]:
        return each
    return {field: value for field, value in each.items() if field != "name"}


def _with_short_walk(each: Json, field: str) -> Json:
    """Each step starts where the one before it ended; only the first start is kept."""
    steps = each.get(field)
    if not steps or any(one["to"] != other["from"] for one, other in pairwise(steps)):
        return each
    short = {
        "start": steps[0]["from"],
        "steps": [{key: value for key, value in step.items() if key != "from"} for step in steps],
    }
    return {**each, field: short}


def script_json(data: Json) -> tuple[str, str]:
    """(type, text) of the script element that holds the data; no `</script>` can stand in the text."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate can't be written as UTF-8; it is shown as the sign for a broken character.
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= PLAIN_UP_TO:
        for sign, code in _UNSAFE.items():
            text = text.replace(sign, code)
        return "application/json", text
    packed = base64.b64encode(zlib.compress(text.encode(), 9))
    return "text/plain", packed.decode()
