"""Writing files: never over what a command reads, and whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from threading import get_ident

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.inputs import composed, noted_inputs
from tiny_graph_rag.messages import said

KEPT_IN = "history"  # folder in a folder of results: what `eval` and `score` replaced
LEFTOVER_SECONDS = 3600  # longer than any write takes


class Outputs:
    """The files that one command writes: none that it reads, none in a folder that it reads, no two to one
    file."""

    def __init__(self) -> None:
        self._claimed: dict[Path, bool] = {}

    def claim(self, path: Path, *, is_own: bool = False, replaces: bool = True) -> Path:
        """`path`, if this command may write it; anything may go to a device, any number of times.

        is_own: the program keeps the file for itself (a sidecar, a journal), so it may have read it.
        replaces: whether a file of that name may be replaced at all. Raises UsageError.
        """
        check_writable(path)
        if is_device(path):
            return path
        if any(_is_same(path, other) for other in self._claimed):
            raise UsageError("{path}: two outputs would be written to this file; rename one", path=path)
        if not replaces and path.exists():
            raise UsageError("{path} already exists; choose another name with -o", path=path)
        self._claimed[path] = is_own
        self.confirm()
        return path

    def confirm(self) -> None:
        """Look at every claimed file again. Raises UsageError for one that is, or lies in, what is read."""
        for path, is_own in self._claimed.items():
            for other in noted_inputs(named=is_own):
                if _is_same(path, other):
                    raise UsageError(
                        "{path}: this command reads that file and would destroy it; choose another name",
                        path=path,
                    )
                if path.is_file() and other.is_dir() and other.samefile(path.resolve().parent):
                    raise UsageError(
                        "{path}: this command reads the folder {folder} and would replace a file in it; "
                        "choose another name",
                        path=path,
                        folder=other,
                    )

    def write(self, path: Path, parts: Iterable[bytes | memoryview]) -> None:
        """Write a claimed file, whole or not at all."""
        self.confirm()
        write_atomically(path, parts)
        self._claimed.pop(path, None)  # a report reads what was just written


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are one file: links and `..` seen through, by inode (a hard link) or composed name."""
    if composed(os.path.realpath(one)) == composed(os.path.realpath(other)):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def output_path(name: str | Path, folder: Path) -> Path:
    """Where `-o NAME` lies: under `folder`, unless it starts with ./, ../ or /, or with the folder itself, as
    completing a name in the shell gives it; then it is taken as it stands."""
    refuse_dash(name)
    text = str(name)
    path = Path(text).expanduser()
    if path.is_absolute() or text.startswith(("./", "../")):
        return path
    return path if Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder)) else folder / path


def refuse_dash(name: str | Path) -> None:
    """Raises UsageError for `-`, standard output, where only a file will do."""
    if str(name) == "-":
        raise UsageError("-: this can't go to standard output; give a file name")


def check_writable(path: Path) -> None:
    """Refuse before any work what could not be written after it. Raises UsageError."""
    refuse_dash(path)
    if path.is_dir():
        raise UsageError("{path}: results must go to a file, this is a folder", path=path)
    if is_device(path):
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe = _temporary(_behind_link(path))
        probe.touch()
        probe.unlink()
    except OSError as error:
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise UsageError("{path}: wanted a folder, this is a file", path=error.filename) from error
        raise UsageError(
            "{folder}: nothing can be written here ({why}); choose another folder",
            folder=path.parent,
            why=said(error.strerror or ""),
        ) from error


def write_atomically(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write to a temporary file next to `path` and move it into place: whole or not at all.

    Into a pipe or a device (/dev/null, /dev/stdout) it writes directly: moving a file there would replace it.
    A link stays one; what it points to is replaced. Raises OSError, with `path` as its file.
    """
    if is_device(path):
        with path.open("wb") as stream:
            stream.writelines(parts)
        return
    path = _behind_link(path)
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as stream:
            for part in parts:
                stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # nothing can be removed where nothing can be written
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    remove_leftovers(path)


def is_device(path: Path) -> bool:
    """Whether it is a device or a pipe: what is written there goes on, and replaces nothing."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _behind_link(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}.tmp")


def remove_leftovers(path: Path) -> None:
    """What killed processes left half written of a file or folder; a young one may still be written."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
