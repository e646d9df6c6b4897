"""`eval --watch`: again whenever the graph, the gold set, the vocabulary or the settings change.

Every run is a process of its own, the same command without `--watch`: what it prints and writes is what a
user would get, and a file that is broken while somebody edits it ends that run only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.config import CONFIG_FILE
from tiny_graph_rag.formats.graphs import ENDING
from tiny_graph_rag.messages import listed, signed, t, three
from tiny_graph_rag.report.plain import worst_by

LOOK_EVERY = 0.3  # seconds between two looks at the files
SETTLED = 0.2  # seconds without a change after which an editor is done writing
LISTED = 8  # questions named of those that moved
MOVED = 0.0005  # of a mean, what three digits show

Stamp = tuple[tuple[int, int] | None, ...]


def watch(session: Session, results: Path, dataset: Path, graph: Path) -> None:
    """Run, show what moved, wait for a change; until interrupted."""
    call = [*_program(), *(argument for argument in sys.argv[1:] if argument != "--watch")]
    files = _watched(session, dataset, graph)
    before: dict[str, Any] | None = None
    while True:
        seen = _stamp(files)
        quiet = ["--quiet"] if before is not None else []
        done = subprocess.run([*call, *quiet], check=False)
        if done.returncode in (0, 1) and results.is_file():
            after = _read(results)
            if before is not None:
                for line in moved(before, after):
                    session.say(line)
            before = after
        session.say("watching {files}; Ctrl-C ends", files=", ".join(file.name for file in files))
        sys.stdout.flush()  # somebody may be reading along
        changed = _wait(files, seen)
        session.say(f"\n{time.strftime('%H:%M:%S')} · " + t("changed: {files}", files=", ".join(changed)))
        sys.stdout.flush()


def _program() -> list[str]:
    """As this run was called, so that the commands it prints are those that work here."""
    called = Path(sys.argv[0])
    if called.name == "main.py":
        return [sys.executable, str(called)]
    if called.suffix == "" and os.access(called, os.X_OK):
        return [str(called)]
    return [sys.executable, "-m", "tiny_graph_rag"]


def _watched(session: Session, dataset: Path, graph: Path) -> list[Path]:
    """What decides the results; a file that isn't there may come."""
    chosen = session.config.retrieval.vocabulary
    if chosen == "auto":
        vocabulary = [graph.with_name(graph.name.partition("-KG.")[0] + ENDING)]
    else:
        vocabulary = [] if chosen == "none" else [Path(chosen)]
    return [graph, dataset, session.config.file or Path(CONFIG_FILE), *vocabulary]


def _stamp(files: list[Path]) -> Stamp:
    return tuple(_of(file) for file in files)


def _of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _wait(files: list[Path], seen: Stamp) -> list[str]:
    """Names of the files that changed, once they have settled."""
    while (now := _stamp(files)) == seen:
        time.sleep(LOOK_EVERY)
    while True:
        time.sleep(SETTLED)
        later = _stamp(files)
        if later == now:
            break
        now = later
    return [file.name for file, one, other in zip(files, seen, now, strict=True) if one != other]


def _read(results: Path) -> dict[str, Any]:
    """Means and each question's measures."""
    from tiny_graph_rag.study.results_file import measured_values

    return measured_values(results)


def moved(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """What is not the same: means, questions that rose or fell, questions that came or went."""
    still = True
    for name, mean in after["means"].items():
        was = before["means"].get(name)
        if mean is None or was is None or abs(mean - was) < MOVED:
            continue
        still = False
        yield f"  {name} {three(was)} → {three(mean)} ({signed(mean - was)})"
    measure = worst_by(list(after["means"])) or next(iter(after["means"]))
    rose: list[str] = []
    fell: list[str] = []
    for id, metrics in after["questions"].items():
        now, was = metrics.get(measure), before["questions"].get(id, {}).get(measure)
        if now is not None and was is not None and abs(now - was) >= MOVED:
            (rose if now > was else fell).append(id)
    came = [id for id in after["questions"] if id not in before["questions"]]
    gone = [id for id in before["questions"] if id not in after["questions"]]
    for said, ids in (
        ("{measure} rose in {n} questions: {ids}", rose),
        ("{measure} fell in {n} questions: {ids}", fell),
        ("{n} new questions: {ids}", came),
        ("{n} questions removed: {ids}", gone),
    ):
        if ids:
            still = False
            values = {"n": len(ids), "ids": listed(ids, LISTED), "measure": measure}
            yield "  " + t(said, **values)
    if still:
        yield "  " + t("no score changed")
