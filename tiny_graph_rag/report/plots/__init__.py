"""Pictures of results files for papers and slides: PNG and SVG by matplotlib (an extra)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.messages import ENGLISH, speaking
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.reports import Files, report

if TYPE_CHECKING:
    from tiny_graph_rag.report.plots.figures import Picture

# Light, quiet, and the same bytes every time: no date, ids from a fixed salt, text never read as formulas.
STYLE: Any = {
    "axes.edgecolor": "#b8b4aa",
    "axes.labelcolor": "#65625c",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
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
    """Each picture in its style, in English as all files, and with fonts that have its letters. purpose: who
    needs matplotlib."""
    try:
        # It says on standard error when it looks for fonts for the first time: no news for anybody.
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        import matplotlib
        from matplotlib.text import Text
    except ImportError as error:
        raise MissingExtraError(purpose, "matplotlib", "plots") from error
    from tiny_graph_rag.report.plots.figures import families_for, figures

    with matplotlib.rc_context(STYLE), speaking(ENGLISH):
        for name, picture in figures(documents):
            texts = picture.findobj(Text)
            families = families_for({letter for text in texts for letter in text.get_text()})
            for text in texts:
                text.set_fontfamily(families)
            yield name, picture
