"""The pictures: a row for each tag or system, and hop curves. A notebook shows one by itself, without
`%matplotlib inline`. Below them the fonts that have their letters: Hangul shows, or a message says which
package brings it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.headline import subject
from tiny_graph_rag.report.plain import one_line, swept_measures, tags_of

Json = dict[str, Any]

TAGS_SHOWN, CURVES_SHOWN = 24, 9
DPI = 200
NEAR_THE_TITLE = 0.94  # of a panel: a value above its point would stand in the title
INK, ACCENT, GRID = "#1d1c1a", "#1d5a96", "#e3e0d8"
LINES = ("#1d5a96", "#a04a1c", "#1b7a4a", "#7a4b9c", "#8f5b00", "#65625c")
BASE_FONT = "DejaVu Sans"  # comes with matplotlib
LIKELY_FONTS = re.compile("pretendard|noto.?sans.?kr|nanum|malgun|applesd|unifont|cjk")  # have Hangul
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


class Picture(Figure):
    def drawn(self, form: str) -> bytes:
        """form: "png" or "svg". The same bytes every time: without a date or a version."""
        content = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        with rc_context(STYLE):
            self.savefig(content, format=form, dpi=DPI, metadata=metadata)
        return content.getvalue()

    def _repr_png_(self) -> bytes:
        return self.drawn("png")


def figures(documents: Sequence[Document]) -> Iterator[tuple[str, Picture]]:
    """(file name without ending, figure) of all that the documents have numbers for."""
    for document in documents:
        if document.has_questions:
            yield f"{document.name}-tags", _tags(document.content)
        elif document.kind == "sweep":
            yield f"{document.name}-hops", _hops(document.content)


def _is_known(measures: Json, measure: str) -> bool:
    """Whether a measure has a mean."""
    return (measures.get(measure) or {"mean": None})["mean"] is not None


def _tags(content: Json) -> Picture:
    """A panel a measure, a row for all questions and for each tag that has a value: its mean with the
    interval and as a figure."""
    summary = content["summary"]
    measures = [measure for measure in summary["measures"] if _is_known(summary["measures"], measure)]
    parts = [(tag, part["measures"]) for tag, part in (("all", summary), *tags_of(summary))]
    rows = [(tag, part) for tag, part in parts if any(_is_known(part, measure) for measure in measures)]
    rows = rows[: TAGS_SHOWN + 1]
    picture, panels = _panels(
        subject(content), len(measures), 2.6, 0.7 + 0.32 * max(1, len(rows)), across=4, left=1.8
    )
    for panel, measure in zip(panels, measures, strict=False):
        known = {row: part[measure] for row, (_, part) in enumerate(rows) if _is_known(part, measure)}
        for row, mean in known.items():
            if mean.get("low") is not None:
                panel.plot([mean["low"], mean["high"]], [row, row], color=ACCENT, linewidth=3, alpha=0.35)
            panel.plot(mean["mean"], row, "o", color=ACCENT, markersize=5)
            right = panel.get_yaxis_transform()  # of the panel
            panel.text(1.03, row, three(mean["mean"]), transform=right, va="center", size=8, color=INK)
        most = max(mean.get(end) or 0 for mean in known.values() for end in ("mean", "high"))
        panel.set(title=measure, xlim=(0, 1) if most <= 1 else (0, most * 1.05))
        panel.set_xlabel("mean with its 95 % interval")
        panel.grid(axis="x", color=GRID, linewidth=0.6)
        panel.set_axisbelow(True)
    panels[0].set_yticks(range(len(rows)), [drawable(_tag_words(*row), 40) for row in rows])
    panels[0].set_ylim(max(1, len(rows)) - 0.4, -0.6)  # the first on top
    return picture


def _tag_words(tag: str, measures: Json) -> str:
    """`2-hop  (n 12–40)`: the tag, and how many questions its means are of."""
    counts = sorted({mean["n"] for mean in measures.values() if mean["mean"] is not None})
    return f"{tag}  (n {'–'.join(map(str, counts[:: max(1, len(counts) - 1)]))})"


def _hops(content: Json) -> Picture:
    """A panel for all questions and each tag: the deciding measure by hops. Tags for which nothing is defined
    have none."""
    settings, measures = content["settings"], swept_measures(content)
    decides = content.get("decide_by")
    measure = str(decides) if decides in measures else measures[0]
    slices: dict[str, list[tuple[Json, Json]]] = {"": []}
    for setting in settings:
        for tag, part in (("", setting), *(setting.get("by_tag") or {}).items()):
            if _is_known(part["measures"], measure):
                slices.setdefault(tag, []).append((setting, part))
    shown = list(slices.items())[:CURVES_SHOWN]
    dataset = (content.get("dataset") or {}).get("name") or ""
    heading = " · ".join(part for part in (f"{measure} by hops", dataset) if part)
    picture, panels = _panels(heading, len(shown), 3.1, 2.5, across=3)
    systems = list(dict.fromkeys(setting["system"] for setting in settings))
    for panel, (tag, parts) in zip(panels, shown, strict=True):
        for colour, system in zip(LINES, systems, strict=False):
            means = [
                (own["hops"], part["measures"][measure]) for own, part in parts if own["system"] == system
            ]
            _curve(panel, means, colour, drawable(system, 30))
        n = max((part["measures"][measure]["n"] for _, part in parts), default=0)
        title = f"{drawable(tag, 30) if tag else 'all questions'}  (n {n})"
        panel.set(title=title, ylim=(0, 1.02), xlabel="hops")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(color=GRID, linewidth=0.6)
    if slices[""]:  # else there is no curve to name
        panels[0].legend(fontsize=7)
    return picture


def _curve(panel: Any, means: Sequence[tuple[int | None, Json]], colour: str, label: str) -> None:
    """A system's means by hops with their intervals, the best of them as a figure; a level line for one that
    does not walk. means: (hops, mean), hops None where there are none."""
    walked = sorted((hops, mean["mean"], mean) for hops, mean in means if hops is not None)
    for _, mean in means[: not walked]:
        panel.axhline(mean["mean"], color=colour, linestyle=":", label=label)
    if not walked:
        return
    hops, values = [row[0] for row in walked], [row[1] for row in walked]
    panel.plot(hops, values, color=colour, marker="o", markersize=3, label=label)
    at, top = max(zip(hops, values, strict=True), key=lambda pair: pair[1])
    panel.annotate(
        three(top),
        (at, top),
        xytext=(0, 5 if top < NEAR_THE_TITLE else -11),
        textcoords="offset points",
        ha="left" if at == min(hops) < max(hops) else "center",
        color=colour,
        size=8,
    )
    if all(mean.get("low") is not None for *_, mean in walked):
        low, high = ([mean[end] for *_, mean in walked] for end in ("low", "high"))
        panel.fill_between(hops, low, high, color=colour, alpha=0.15, linewidth=0)


def _panels(
    heading: str, count: int, width: float, height: float, *, across: int, left: float = 0.0
) -> tuple[Picture, list[Any]]:
    """A picture of `count` panels, one at least, with the same scale upwards, and what it shows above it.
    width, height: of a panel, in inches. across: panels side by side, at most. left: of the panels."""
    count = max(1, count)
    across = min(across, count)
    down = math.ceil(count / across)
    picture = Picture(figsize=(left + width * across, 0.6 + height * down))
    cells = list(picture.subplots(down, across, sharey=True, squeeze=False).flat)
    for empty in cells[count:]:
        empty.remove()
    picture.suptitle(drawable(heading, 100), x=0.01, ha="left", fontsize=11)
    return picture, cells[:count]


def families_for(letters: set[str]) -> list[str]:
    """Font families that together have all of `letters` that are letters; the first is the base font.

    Signs that `drawable` leaves out (emoji, marks) don't count. Raises UsageError naming what is missing.
    """
    needed = {ord(letter) for letter in letters if _has_to_show(letter)}
    missing = needed - _covered(font_manager.findfont(BASE_FONT))
    if not missing:
        return [BASE_FONT]
    for path in sorted(font_manager.findSystemFonts(), key=_likelihood):
        if missing <= _covered(path):
            font_manager.fontManager.addfont(path)
            return [BASE_FONT, font_manager.FontProperties(fname=path).get_name()]
    raise UsageError(
        "no font on this machine has the letters {shown}: pictures would show empty boxes. Install "
        "one: `apt-get install fonts-noto-cjk` (Debian, Ubuntu), `brew install font-noto-sans-cjk-kr` "
        "(macOS)",
        shown=repr("".join(map(chr, sorted(missing)[:8]))),
    )


def _likelihood(path: str) -> tuple[bool, bool, str]:
    """Fonts that have Hangul are looked at first, of a family the regular one."""
    name = Path(path).name.lower()
    return not LIKELY_FONTS.search(name), "regular" not in name, name


def _covered(path: str) -> set[int]:
    try:
        return set(FT2Font(path).get_charmap())
    except (RuntimeError, OSError):  # a font that FreeType can't read covers nothing
        return set()


def drawable(text: str, most: int = 60) -> str:
    """`text` in one line, with a dot for every sign that fonts commonly lack."""
    return "".join(sign if _has_to_show(sign) or sign == " " else "·" for sign in one_line(text, most))


def _has_to_show(sign: str) -> bool:
    return sign.isalnum() or (sign.isascii() and sign.isprintable()) or unicodedata.category(sign)[0] == "P"
