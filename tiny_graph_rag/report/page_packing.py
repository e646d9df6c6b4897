"""The data inside a page: a results document and what is shown next to it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
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
    head = {key: value for key, value in document.items() if key not in ("results", "entities")}
    head["changed"] = changed_settings(document.get("config") or {})
    head["walked"] = walked(document.get("summary") or {})
    return {
        "head": head,
        "tops": TOPS,
        "goldSteps": gold_steps(document["summary"]) if "results" in document else [],
        "hops": hops_of(document) if "results" in document else None,
        "methods": _methods(document, peers or {}),
        "lead": headline(document) if "results" in document else [],
        "worst": _worst(document) if "results" in document else None,
        "others": others,
        "peers": [_peer(name, part) for name, part in (peers or {}).items()],
        "results": document.get("results", []),
        "entities": document.get("entities", {}),
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


def _peer(name: str, document: Json) -> Json:
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
        "results": rows,
    }


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
