"""Where a command may write: never over what it reads, and never twice to one file.

Every file that a command writes is claimed here, before any work where its name is known by then, and looked
at once more before the first byte goes out: a reader may have opened further files meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import (
    bare_name,
    check_writable,
    composed,
    is_device,
    is_results,
    named_inputs,
    read_inputs,
    write_atomically,
)

# What no graph, gold set or run consists of: it may be replaced in a folder that is read.
SHOWN_ONLY = (".html", ".md", ".tex", ".png", ".svg")


class Outputs:
    """The files that one command writes."""

    def __init__(self) -> None:
        self._claimed: dict[Path, bool] = {}
        self._beside: list[tuple[Path, tuple[str, ...]]] = []
        self._written: set[Path] = set()

    def claim(self, path: Path, *, is_own: bool = False, replaces: bool = True) -> Path:
        """`path`, if this command may write it.

        is_own: the program keeps the file for itself (a sidecar, a journal), so it may have read it; it is
        still no file that the user named. replaces: whether a file of that name may be replaced at all.
        Raises UsageError for what can't be written, what is read, and what another output goes to.
        """
        check_writable(path)
        if is_device(path):  # it takes anything, any number of times
            return path
        self._check(path, is_own)
        if any(_is_same(path, other) for other in self._claimed):
            raise UsageError("{path}: two outputs would be written to this file; rename one", path=path)
        if not replaces and path.exists():
            raise UsageError("{path} already exists; choose another name with -o", path=path)
        self._claimed[path] = is_own
        return path

    def claim_beside(self, path: Path, suffixes: tuple[str, ...]) -> None:
        """Reports of these suffixes next to `path`: their names begin as its own and are not known yet.

        Each is claimed when it is made. Raises UsageError where an input could be one of them.
        """
        self._beside.append((path, suffixes))
        self._check_beside()

    def confirm(self) -> None:
        """Look at every claimed file again. Raises UsageError for one that was opened for reading since."""
        for path, is_own in self._claimed.items():
            if path not in self._written:  # a report reads what was just written
                self._check(path, is_own)
        self._check_beside()

    def _check_beside(self) -> None:
        for path, suffixes in self._beside:
            for read in (*named_inputs(), *read_inputs()):
                is_named_so = composed(read.name).startswith(bare_name(path))
                if is_named_so and read.suffix[1:].lower() in suffixes and _is_same(read.parent, path.parent):
                    raise UsageError(
                        "{path}: this command reads that file, and --report {suffix} next to {name} "
                        "could destroy it; choose another name with -o",
                        path=read,
                        suffix=read.suffix[1:],
                        name=path.name,
                    )

    def write(self, path: Path, parts: Iterable[bytes | memoryview]) -> None:
        """Write a claimed file, whole or not at all."""
        self.confirm()
        write_atomically(path, parts)
        self._written.add(path)

    def _check(self, path: Path, is_own: bool) -> None:
        named = named_inputs()
        read = named if is_own else [*named, *read_inputs()]
        if any(_is_same(path, other) for other in read):
            raise UsageError(
                "{path}: this command reads that file and would destroy it; choose another name", path=path
            )
        for folder in named:
            if folder.is_dir() and _is_part(path, folder):
                raise UsageError(
                    "{path}: this command reads the folder {folder} and would replace a file in it; "
                    "choose another name",
                    path=path,
                    folder=folder,
                )


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are one file: by name, links and `..` seen through, or by inode (a hard link, a name in
    other case where the file system takes no notice of it)."""
    if composed(os.path.realpath(one)) == composed(os.path.realpath(other)):
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist yet
        return False


def _is_part(path: Path, folder: Path) -> bool:
    """Whether an existing file may belong to the graph or the sets that `folder` holds."""
    if not path.is_file() or path.suffix.lower() in SHOWN_ONLY or is_results(path):
        return False
    return any(_is_same(one.parent, folder) for one in (path, Path(os.path.realpath(path))))
