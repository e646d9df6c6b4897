"""One HTML page with everything in it: data, style and script, no network, no framework.

The parts lie in `page/` as ordinary HTML, CSS and JavaScript. A policy in the page forbids loading and allows
only the one style and the one script by their hashes, so even a mistake in escaping would not run.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

from tiny_graph_rag.messages import catalogue, shown, spoken
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.headline import changes_since
from tiny_graph_rag.report.page_packing import page_data, script_json
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.systems import Systems, page_systems

Json = dict[str, Any]

RESULT_SCRIPTS = (
    "data.js",
    "dom.js",
    "charts.js",
    "summary.js",
    "systems.js",
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
    for document in results or studies:
        others = [study.content for study in studies] if results else []
        same = [result for result in results if _gold(result) == _gold(document)]
        made = results_page(
            document.content,
            others,
            {result.name: result.content for result in same if result is not document},
            title=document.title,
            lead=changes_since(document),
            systems=_side_by_side(same, document),
        )
        yield f"{document.name}.html", made.encode("utf-8", "replace")


def _gold(document: Document) -> object:
    return document.content["dataset"].get("sha256")


def _side_by_side(same: Sequence[Document], document: Document) -> Mapping[str, Any] | None:
    found = Systems.of(same)
    return None if found is None else page_systems(found, same.index(document))


def results_page(
    document: Json,
    others: list[Json] | None = None,
    peers: Mapping[str, Json] | None = None,
    *,
    title: str = "",
    lead: Sequence[str] = (),
    systems: Mapping[str, Any] | None = None,
) -> str:
    """The page of a results document; others: sweeps and comparisons to show in the same page; peers: by
    name, results of the same gold set to show next to this one, question by question; systems: all of them
    side by side (`page_systems`). title: what the page is headed with, "" for the gold set's name. lead:
    sentences to stand below what the page says of the result itself."""
    dataset = (document.get("dataset") or {}).get("name") or document["kind"]
    data = page_data(document, others or [], peers)
    data["title"] = title
    data["lead"] = [shown(sentence) for sentence in (*data["lead"], *lead)]
    data["systems"] = systems
    return page(title or str(dataset), data, RESULT_SCRIPTS)


def history_page(folder: str, document: Json) -> str:
    """The page of results over time. folder: what to call them."""
    scripts = ("data.js", "dom.js", "charts.js", "summary.js", "list.js", "history.js")
    return page(folder, {**document, "name": folder}, scripts)


def page(title: str, data: Json, scripts: tuple[str, ...]) -> str:
    """A page that shows `data` by the scripts named, in this order."""
    folder = resources.files("tiny_graph_rag.report") / "page"
    style = (folder / "page.css").read_text(encoding="utf-8")
    code = "\n".join((folder / name).read_text(encoding="utf-8") for name in scripts)
    script = f'"use strict";\n(() => {{\n{code}\n}})();\n'
    kind, text = script_json({**data, "words": dict(catalogue(spoken()))})
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
        kind=kind,
        data=text,
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
