"""The colours of all pictures."""

from __future__ import annotations

INK, SOFT, ACCENT, LOST, GRID = "#1d1c1a", "#65625c", "#1d5a96", "#d9897f", "#e3e0d8"
LINES = ("#1d5a96", "#a04a1c", "#1b7a4a", "#7a4b9c", "#8f5b00", "#65625c")
