"""Pictures of results files for papers and slides: PNG and SVG by matplotlib (an extra)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.messages import ENGLISH, speaking
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.reports import Files, report

if TYPE_CHECKING:
    from tiny_graph_rag.report.plots.figures import Picture


@report("png", "pictures for slides (extra: plots)")
def png(documents: Sequence[Document]) -> Files:
    return picture_files(documents, "png")


@report("svg", "pictures for papers (extra: plots)")
def svg(documents: Sequence[Document]) -> Files:
    return picture_files(documents, "svg")


def picture_files(documents: Sequence[Document], form: str) -> Files:
    """(name, content) of every picture that the documents have the numbers for. form: "png" or "svg"."""
    for name, picture in drawn_figures(documents, f"--report {form}").items():
        yield f"{name}.{form}", picture.drawn(form)


def drawn_figures(documents: Sequence[Document], purpose: str = "figures()") -> dict[str, Picture]:
    """Name → picture, in English as all files, and with fonts that have its letters. purpose: who needs
    matplotlib.

    Raises MissingExtraError without matplotlib, UsageError where no font on this machine has the letters.
    """
    try:
        # It says on standard error when it looks for fonts for the first time: no news for anybody.
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        import matplotlib
        from matplotlib.text import Text
    except ImportError as error:
        raise MissingExtraError(purpose, "matplotlib", "plots") from error
    from tiny_graph_rag.report.plots.figures import STYLE, families_for, figures

    with matplotlib.rc_context(STYLE), speaking(ENGLISH):
        pictures = dict(figures(documents))
        for picture in pictures.values():
            texts = picture.findobj(Text)
            families = families_for({letter for text in texts for letter in text.get_text()})
            for text in texts:
                text.set_fontfamily(families)
    return pictures
