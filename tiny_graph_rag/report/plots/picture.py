"""A picture that a notebook shows by itself, without `%matplotlib inline`."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

DPI = 200


class Picture(Figure):
    def drawn(self, form: str) -> bytes:
        """form: "png" or "svg". The same bytes every time: without a date or a version."""
        content = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        self.savefig(content, format=form, dpi=DPI, metadata=metadata)
        return content.getvalue()

    def _repr_png_(self) -> bytes:
        return self.drawn("png")
