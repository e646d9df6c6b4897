"""Pictures of results files for papers and slides: PNG and SVG by matplotlib (an extra)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.errors import MissingExtraError, UsageError
from tiny_graph_rag.messages import ENGLISH, speaking, spoken, t
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.systems import system_names

if TYPE_CHECKING:
    from tiny_graph_rag.report.plots.picture import Picture

# Light, quiet, and the same bytes every time: no date, ids from a fixed salt, text never read as formulas.
STYLE: dict[str, Any] = {
    "axes.edgecolor": "#b8b4aa",
    "axes.labelcolor": "#65625c",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "legend.frameon": False,
    "svg.hashsalt": "tiny-graph-rag",
    "text.parse_math": False,
    "xtick.color": "#65625c",
    "ytick.color": "#3a3834",
}


@report("png", "pictures for slides (extra: plots)")
def png(documents: Sequence[Document]) -> Files:
    return picture_files(documents, "png")


@report("svg", "pictures for papers (extra: plots)")
def svg(documents: Sequence[Document]) -> Files:
    return picture_files(documents, "svg")


def picture_files(documents: Sequence[Document], form: str) -> Files:
    """(name, content) of every picture that the documents have the numbers for. form: "png" or "svg".

    Raises MissingExtraError without matplotlib, UsageError where no font on this machine has the letters.
    """
    yield from (
        (f"{name}.{form}", picture.drawn(form)) for name, picture in _figures(documents, f"--report {form}")
    )


def drawn_figures(documents: Sequence[Document]) -> dict[str, Picture]:
    """Name → picture, for notebooks. Raises as `picture_files` does."""
    return dict(_figures(documents, "figures()"))


def _figures(documents: Sequence[Document], purpose: str) -> Iterator[tuple[str, Picture]]:
    """Each picture in its style and with fonts that have the letters. purpose: who needs matplotlib."""
    try:
        # It says on standard error when it looks for fonts for the first time: no news for anybody.
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        import matplotlib
    except ImportError as error:
        raise MissingExtraError(purpose, "matplotlib", "plots") from error
    from tiny_graph_rag.report.plots.figures import WORDS, figures
    from tiny_graph_rag.report.plots.fonts import families_for

    letters, language = _letters(documents), spoken()
    try:
        families = families_for(letters | set("".join(map(t, WORDS))))
    except UsageError:  # only the data's own letters are worth refusing
        families, language = families_for(letters), ENGLISH
    style: Any = STYLE | {"font.family": families}
    if len(families) > 1:  # of the second font there may be no bold: better all words the same way
        style["axes.titleweight"] = "normal"
    with matplotlib.rc_context(style):
        with speaking(language):
            made = list(figures(documents))
        yield from made


def _letters(documents: Sequence[Document]) -> set[str]:
    """The letters of all words that pictures show: names of sets, systems, tags and retrievers."""
    words = list(system_names([document for document in documents if document.has_questions]))
    for content in (document.content for document in documents):
        words += [(content.get("dataset") or {}).get("name", "")]
        words += list((content.get("summary") or {}).get("by_tag", {}))
        for setting in content.get("settings", []):
            words += [setting["system"], *setting.get("by_tag", {})]
        words += [row["system"] for rows in content.get("measures", {}).values() for row in rows]
    return {letter for word in words for letter in word}
