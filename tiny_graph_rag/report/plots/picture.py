"""A picture with its colours and panels, which a notebook shows by itself, without `%matplotlib inline`."""

from __future__ import annotations

import math
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

DPI = 200
ACROSS = 4  # panels side by side
INK, SOFT, ACCENT, GRID = "#1d1c1a", "#65625c", "#1d5a96", "#e3e0d8"
LINES = ("#1d5a96", "#a04a1c", "#1b7a4a", "#7a4b9c", "#8f5b00", "#65625c")


class Picture(Figure):
    def drawn(self, form: str) -> bytes:
        """form: "png" or "svg". The same bytes every time: without a date or a version."""
        content = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        self.savefig(content, format=form, dpi=DPI, metadata=metadata)
        return content.getvalue()

    def _repr_png_(self) -> bytes:
        return self.drawn("png")

    def headed(self, *parts: str) -> None:
        """What it shows, above it."""
        self.suptitle(" · ".join(part for part in parts if part), x=0.01, ha="left", fontsize=11)


def panels(
    count: int,
    width: float,
    height: float,
    *,
    across: int = ACROSS,
    margin: tuple[float, float],
    sharex: bool = False,
) -> tuple[Picture, list[Any]]:
    """A picture of `count` panels, one at least, with the same scale. width, height: of a panel, in inches.
    margin: the width left of them and the height above them."""
    across = min(across, max(1, count))
    down = max(1, math.ceil(count / across))
    picture = Picture(figsize=(margin[0] + width * across, margin[1] + height * down))
    cells = list(picture.subplots(down, across, sharex=sharex, sharey=True, squeeze=False).flat)
    for empty in cells[max(1, count) :]:
        empty.remove()
    return picture, cells[: max(1, count)]


def lined(panel: Any, axis: str = "both") -> None:
    """Thin lines behind what the panel shows."""
    panel.grid(axis=axis, color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
