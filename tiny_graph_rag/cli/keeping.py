"""Earlier results are kept when new ones are written under the same name, so that `history` can show them."""

from __future__ import annotations

import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.files import bare_name, is_results
from tiny_graph_rag.messages import t

if TYPE_CHECKING:
    from tiny_graph_rag.cli.session import Session

KEPT = 20  # results of each name; a folder that grows without end would surprise people


def keep_earlier(session: Session, path: Path) -> None:
    """Copy the results at `path`, if any, to `history/` in the same folder, before they are replaced.

    Only below the results folder: elsewhere a file was named by hand, and a folder next to it would be in the
    way. The oldest copies beyond KEPT are removed. Says so when the first result is kept.
    """
    results = os.path.realpath(session.config.storage.results_dir)
    if not is_results(path) or not os.path.realpath(path).startswith(results + os.sep):
        return
    from tiny_graph_rag.report.history import KEPT_IN  # most runs keep nothing, and start without it

    folder, name = path.parent / KEPT_IN, bare_name(path)
    is_first = not folder.exists()
    folder.mkdir(exist_ok=True)
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    _copy(path, folder / f"{name}-{written:%Y%m%dT%H%M%S.%fZ}.json")
    ending = re.compile(rf"{re.escape(name)}-\d{{8}}T\d{{6}}\.\d{{6}}Z\.json")
    copies = sorted(file for file in folder.iterdir() if ending.fullmatch(file.name))
    for file in copies[:-KEPT]:
        file.unlink(missing_ok=True)
    if is_first:
        session.note(
            t(
                "earlier results are kept in {folder} (the last {n} of each name); `history` shows them",
                folder=folder,
                n=KEPT,
            )
        )


def _copy(path: Path, target: Path) -> None:
    """A second name for the same bytes costs nothing; where a file system has none, a copy."""
    if target.exists():
        return
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)
