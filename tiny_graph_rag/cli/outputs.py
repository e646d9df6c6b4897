"""Files that a command writes must be none that it reads, and no two of them the same."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tiny_graph_rag.errors import UsageError


def keep_apart(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse to write over what is read, or twice to one file; links and `..` are seen through.

    None stands for what was not asked for. Raises UsageError.
    """
    read = {os.path.realpath(each) for each in inputs if each is not None}
    written: set[str] = set()
    for path in outputs:
        if path is None or (
            path.exists() and not path.is_file()
        ):  # a device takes anything, any number of times
            continue
        place = os.path.realpath(path)
        if place in read:
            raise UsageError(
                f"{path}: this command reads that file and would destroy it; choose another name"
            )
        if place in written:
            raise UsageError(f"{path}: two outputs would go to this one file; rename one")
        written.add(place)
