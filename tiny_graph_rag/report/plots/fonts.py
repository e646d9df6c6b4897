"""Fonts that have the letters: Hangul shows, or a message says which package brings it; no empty boxes."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.report.plain import one_line

BASE = "DejaVu Sans"  # comes with matplotlib
LIKELY = re.compile("pretendard|notosans(cjk|kr)|nanum|malgun|applesd|unifont|cjk")  # have Hangul


def families_for(letters: set[str]) -> list[str]:
    """Font families that together have all of `letters` that are letters; the first is the base font.

    Signs that `drawable` leaves out (emoji, marks) don't count. Raises UsageError naming what is missing.
    """
    from matplotlib import font_manager

    needed = {ord(letter) for letter in letters if _has_to_show(letter)}
    base = font_manager.findfont(BASE)
    missing = needed - _covered(base)
    if not missing:
        return [BASE]
    for path in sorted(font_manager.findSystemFonts(), key=_likelihood):
        if missing <= _covered(path):
            font_manager.fontManager.addfont(path)
            return [BASE, font_manager.FontProperties(fname=path).get_name()]
    shown = "".join(map(chr, sorted(missing)[:8]))
    raise UsageError(
        "no font on this machine has the letters {shown}: pictures would show empty boxes. Install "
        "one: `apt-get install fonts-noto-cjk` (Debian, Ubuntu), `brew install font-noto-sans-cjk-kr` "
        "(macOS)",
        shown=repr(shown),
    )


def drawable(text: str, most: int = 60) -> str:
    """`text` in one line, with a dot for every sign that fonts commonly lack."""
    return "".join(sign if _has_to_show(sign) or sign == " " else "·" for sign in one_line(text, most))


def _has_to_show(sign: str) -> bool:
    return sign.isalnum() or (sign.isascii() and sign.isprintable()) or unicodedata.category(sign)[0] == "P"


def _likelihood(path: str) -> tuple[bool, bool, str]:
    """Fonts that have Hangul are looked at first, of a family the regular one."""
    name = Path(path).name.lower().replace("-", "").replace("_", "")
    return not LIKELY.search(name), "regular" not in name, name


def _covered(path: str) -> set[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return set(FT2Font(path).get_charmap())
    except (RuntimeError, OSError):  # a font that FreeType can't read covers nothing
        return set()
