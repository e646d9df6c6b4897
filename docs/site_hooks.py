"""For the docs site only: links between the languages of a page are the site's own menu."""

from __future__ import annotations

import re
from typing import Any

# `[한국어](setup.ko.md)` and `[English](setup.md)` help readers of the files; on the site they lead nowhere.
BETWEEN_LANGUAGES = re.compile(r"\[(?:한국어|English)\]\([\w-]+(?:\.ko)?\.md\)(?: · )?")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page's text without links to its translations; the Korean pages link to Korean ones."""
    without = BETWEEN_LANGUAGES.sub("", markdown, count=1)
    return re.sub(r"(\]\([\w./-]+)\.ko\.md", r"\1.md", without)
