"""The data inside a page: a results document in columns, without what it says twice.

`page/data.js` puts it together again, question by question, when somebody looks.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tiny_graph_rag.answers.rubrics import QUALITIES
from tiny_graph_rag.config import changed_settings
from tiny_graph_rag.report.headline import headline
from tiny_graph_rag.report.plain import walked
from tiny_graph_rag.report.tables import gold_steps, in_full, worst_questions
from tiny_graph_rag.report.views import hops_of, methods

Json = dict[str, Any]

WORST_OPENED = 3
TOPS = dict.fromkeys(QUALITIES, 5)  # the best values that are not 1
PLAIN_UP_TO = 1_000_000  # characters: a small page stays readable text, a larger one is deflated
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page_data(document: Json, others: list[Json], peers: Mapping[str, Json] | None = None) -> Json:
    """document: what the page shows. others: sweeps and comparisons that are shown with it. peers: name →
    results of other systems on the same gold set, to be seen question by question next to this one."""
    packer = Packer()
    names = {entity: part["name"] for entity, part in document.get("entities", {}).items()}
    head = {key: value for key, value in document.items() if key not in ("results", "entities")}
    head["changed"] = changed_settings(document.get("config") or {})
    head["walked"] = walked(document.get("summary") or {})
    rows = [_thin(item, names) for item in document.get("results", [])]
    entities = document.get("entities", {})
    return {
        "head": head,
        "tops": TOPS,
        "goldSteps": gold_steps(document["summary"]) if "results" in document else [],
        "hops": hops_of(document) if "results" in document else None,
        "methods": _methods(document, peers or {}),
        "lead": headline(document) if "results" in document else [],
        "worst": _worst(document) if "results" in document else None,
        "others": others,
        "peers": [_peer(name, part, packer) for name, part in (peers or {}).items()],
        "questions": len(rows),
        "results": packer.pack(rows),
        "entities": packer.pack([{"id": key, **value} for key, value in entities.items()]),
        "entityCount": len(entities),
        "strings": packer.strings,
    }


def _worst(document: Json) -> Json:
    """The questions that the page opens, and the measure that chose them."""
    measure, rows = worst_questions(document)
    return {"measure": measure, "rows": rows[:WORST_OPENED]}


def _methods(document: Json, peers: Mapping[str, Json]) -> Json | None:
    """All systems side by side with what they took, this one first; None where it is alone."""
    if not peers:
        return None
    shown = methods({"": document["summary"], **{name: part["summary"] for name, part in peers.items()}})
    return {"head": shown.head[1:], "rows": [list(map(in_full, row)) for row in shown.rows]}


def _peer(name: str, document: Json, packer: Packer) -> Json:
    """What is shown of another system: measures, the first k, the end of each reference."""
    most = document["summary"]["k"]
    rows = [
        {
            "metrics": result["metrics"],
            "ranked": [{"id": one["id"], "name": one["name"]} for one in result["ranked"][:most]],
            "references": [
                {"name": one["name"], "verdict": one.get("verdict"), "rank": one.get("rank")}
                for one in result["references"]
            ],
        }
        for result in document["results"]
    ]
    return {
        "name": name,
        "ids": [result["id"] for result in document["results"]],
        "results": packer.pack(rows),
    }


def _thin(question: Json, names: dict[str, str]) -> Json:
    """Without names that stand in `entities`, and with walks as a start and its steps."""
    thin = {**question}
    for field in ("linked", "ranked"):
        thin[field] = [_without_known_name(item, names) for item in question[field]]
    thin["ranked"] = [_with_short_walk(entity, "walk") for entity in thin["ranked"]]
    thin["references"] = [_with_short_walk(reference, "path") for reference in question["references"]]
    return thin


def _without_known_name(item: Json, names: dict[str, str]) -> Json:
    if names.get(item["id"]) != item["name"]:
        return item
    return {field: value for field, value in item.items() if field != "name"}


def _with_short_walk(item: Json, field: str) -> Json:
    """Each step starts where the one before it ended; only the first start is kept."""
    steps = item.get(field)
    if not steps or any(one["to"] != other["from"] for one, other in pairwise(steps)):
        return item
    short = {
        "start": steps[0]["from"],
        "steps": [{key: value for key, value in step.items() if key != "from"} for step in steps],
    }
    return {**item, field: short}


def script_json(data: Json) -> tuple[str, str]:
    """(type, text) of the script element that holds the data; no `</script>` can stand in the text."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate can't be written as UTF-8; it is shown as the sign for a broken character.
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= PLAIN_UP_TO:
        for sign, code in _UNSAFE.items():
            text = text.replace(sign, code)
        return "application/json", text
    packed = base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9))
    return "text/plain", packed.decode()


SIGNIFICANT_DIGITS = 7  # more than any screen shows, and half the bytes of full precision

_MISSING = object()


class Packer:
    """Packs columns that share one table of strings (`strings`, in order of first appearance)."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def strings(self) -> list[str]:
        return list(self._places)

    def pack(self, rows: Sequence[Any]) -> list[Any]:
        """The column of `rows`: anything that JSON can hold."""
        absent = [row_cells is None or row_cells is _MISSING for row_cells in rows]
        if any(absent) and not all(row_cells is None for row_cells in rows):
            present = [row_cells for row_cells, gone in zip(rows, absent, strict=True) if not gone]
            if not all(isinstance(value, int | float) for value in present) or _MISSING in rows:
                digits = "".join("1" if row is None else "2" if row is _MISSING else "0" for row in rows)
                return ["?", digits, self.pack(present)]
        kinds = {type(row_cells) for row_cells in rows}
        if len(kinds) == 1:
            kind = next(iter(kinds))
            if kind is str:
                places = [self._places.setdefault(row_cells, len(self._places)) for row_cells in rows]
                return ["c", rows[0]] if len(set(places)) == 1 else ["s", places]
            if kind is list:
                return [
                    "l",
                    [len(row_cells) for row_cells in rows],
                    self.pack([item for row_cells in rows for item in row_cells]),
                ]
            if kind is dict:
                fields = dict.fromkeys(field for row_cells in rows for field in row_cells)
                columns = [
                    [name, self.pack([row_cells.get(name, _MISSING) for row_cells in rows])]
                    for name in fields
                ]
                return ["o", columns]
        if kinds <= {int, float, bool, type(None)}:
            numbers = [_short(row_cells) for row_cells in rows]
            same = len(kinds) == 1 and all(number == numbers[0] for number in numbers)
            return ["c", numbers[0]] if same else ["n", numbers]
        return ["j", list(rows)]


def _short(value: float | None) -> float | int | None:
    if not isinstance(value, float):
        return value
    short = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
