"""One HTML page with everything in it: data, style and script, no network, no framework.

The parts lie in `page/` as ordinary HTML, CSS and JavaScript. A policy in the page forbids loading and allows
only the one style and the one script by their hashes, so even a mistake in escaping would not run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

from tiny_graph_rag.answers.rubrics import QUALITIES
from tiny_graph_rag.config import changed_settings
from tiny_graph_rag.messages import catalogue, shown, spoken
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.headline import headline
from tiny_graph_rag.report.plain import VERDICT_WORDS, verdict_words, walked
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.tables import worst_questions
from tiny_graph_rag.report.views import count_lines, gold_steps, hops_of
from tiny_graph_rag.results import encoded

Json = dict[str, Any]

WORST_OPENED = 3
TOPS = dict.fromkeys(QUALITIES, 5)  # the best values that are not 1
RESULT_SCRIPTS = (
    "data.js",
    "dom.js",
    "charts.js",
    "summary.js",
    "studies.js",
    "fixes.js",
    "layout.js",
    "picture.js",
    "question.js",
    "lead.js",
    "list.js",
    "main.js",
)


@report("html", "a page for the browser that works offline")
def pages(documents: Sequence[Document]) -> Files:
    """A page for each result, with the others of its gold set next to it; sweeps and comparisons go into it,
    or get their own where there is none."""
    results = [document for document in documents if document.has_questions]
    studies = [document for document in documents if not document.has_questions]
    others = [study.content for study in studies] if results else []
    for document in results or studies:
        peers = {
            result.name: result.content
            for result in results
            if result is not document and _gold(result) == _gold(document)
        }
        page = results_page(document.content, others, peers)
        yield f"{document.name}.html", page.encode("utf-8", "replace")


def _gold(document: Document) -> object:
    return document.content["dataset"].get("sha256")


def results_page(
    document: Json, others: list[Json] | None = None, peers: Mapping[str, Json] | None = None
) -> str:
    """The page of a results document; others: sweeps and comparisons to show in the same page; peers: by
    name, results of the same gold set to show next to this one, question by question."""
    dataset = (document.get("dataset") or {}).get("name") or document["kind"]
    head = {key: value for key, value in document.items() if key not in ("results", "entities")}
    head["changed"] = changed_settings(document.get("config") or {})
    head["walked"] = walked(document.get("summary") or {})
    data: Json = {
        "head": head,
        "tops": TOPS,
        "others": others or [],
        "peers": [_peer(name, part) for name, part in (peers or {}).items()],
        "verdicts": _verdict_texts(document),
        "results": document.get("results", []),
        "entities": document.get("entities", {}),
    }
    if "results" in document:
        measure, rows = worst_questions(document)
        data |= {
            "goldSteps": gold_steps(document["summary"]),
            "lead": [shown(sentence) for sentence in headline(document)],
            "counts": count_lines(document["summary"]),
            "worst": {"measure": measure, "rows": rows[:WORST_OPENED]},
        }
    return page(str(dataset), data, RESULT_SCRIPTS)


def _verdict_texts(document: Json) -> dict[str, str]:
    """What became of a reference, in words, in the order in which a page lists it."""
    hops = hops_of(document) if "results" in document else None
    cutoff = (document.get("summary") or {}).get("k", "k")
    return {verdict: verdict_words(verdict, cutoff, hops) for verdict in ("hit", *reversed(VERDICT_WORDS))}


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
    return {"name": name, "ids": [result["id"] for result in document["results"]], "results": rows}


def page(title: str, data: Json, scripts: tuple[str, ...]) -> str:
    """A page that shows `data` by the scripts named, in this order."""
    folder = resources.files("tiny_graph_rag.report") / "page"
    style = (folder / "page.css").read_text(encoding="utf-8")
    code = "\n".join((folder / name).read_text(encoding="utf-8") for name in scripts)
    script = f'"use strict";\n(() => {{\n{code}\n}})();\n'
    text = encoded({**data, "words": dict(catalogue(spoken()))})
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(title),
        language=spoken(),
        policy=policy,
        style=style,
        script=script,
        data=base64.b64encode(zlib.compress(text, 9)).decode(),  # in which no `</script>` can stand
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
