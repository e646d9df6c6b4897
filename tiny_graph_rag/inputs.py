"""Finding the files that a command reads, and which they were: nothing may be written over them."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import InputError, nearest
from tiny_graph_rag.messages import listed, said

# The inputs of the command that this process runs, and whether the user named them: `outputs` refuses to
# write over them. Kept here, where every reader passes, so that no command can forget to list one.
_inputs: dict[Path, bool] = {}
piped: dict[Path, bytes] = {}  # what pipes among them gave, which they do only once


def forget_inputs() -> None:
    """A command begins."""
    _inputs.clear()
    piped.clear()


def note_named(*paths: Path) -> None:
    """Files and folders that the user named to be read."""
    _inputs.update(dict.fromkeys(paths, True))


def note_read(*paths: Path) -> None:
    """Files that are read because of others; the readers of `files` say so themselves."""
    for path in paths:
        _inputs.setdefault(path, False)


def noted_inputs(*, named: bool = False) -> list[Path]:
    """What was noted since the command began. named: only what the user named."""
    return [path for path, is_named in _inputs.items() if is_named or not named]


def composed(name: str) -> str:
    """A file name in Unicode composition form C: a Mac writes Hangul names taken apart."""
    return unicodedata.normalize("NFC", name)


def readable(text: str) -> str:
    """The text with what is no UTF-8 in it as `?`: of a file's name, for what only holds text."""
    return text.encode("utf-8", "replace").decode()


def find_input(name: str | Path, folder: Path, what: str, *, or_folder: bool = False) -> Path:
    """The existing file that `name` means: in `folder` first, then in the current folder.

    or_folder: a folder will do.

    An absolute name is taken as it is. Matches whatever Unicode form (NFC, NFD) the disk holds.
    what: as the message should call it. Raises InputError with the nearest names.
    """
    path = Path(name).expanduser()
    places = [path] if path.is_absolute() else [folder / path, path]
    for place in places:
        found = _existing(place)
        if found is not None:
            if found.is_dir() and not or_folder:
                raise InputError(
                    "{path}: the {what} must be a file, this is a folder", path=found, what=said(what)
                )
            note_named(found)
            return found
    looked = ", ".join(dict.fromkeys(str(place.parent) for place in places))
    raise InputError(
        "{name}: no such {what} (looked in {places}){hint}",
        name=path.name,
        what=said(what),
        places=looked,
        hint=_instead(path, places, what, or_folder=or_folder),
    )


# The suffixes of what may be a knowledge graph among the files of a folder.
GRAPH_ENDINGS = (
    *(".json", ".graphml", ".xml", ".gexf", ".gml", ".net", ".paj", ".html", ".htm", ".xlsx", ".parquet"),
    *(".tsv", ".csv", ".txt", ".nt", ".ttl", ".turtle", ".nq", ".trig", ".rdf", ".owl", ".jsonld"),
    *(".sqlite", ".sqlite3", ".db", ".duckdb", ".cypher", ".cql", ".cyp"),
    *(".pkl", ".pklz", ".pickle", ".gpickle"),
)
RESULTS_FIRST = b'"schema_version"'  # the first key of whatever this program writes of results
MADE_BY = {
    "knowledge graph": "; `init` writes one to begin with",
    "gold set": "; `init` writes one to begin with",
    "results file": "; `eval` and `score` write one",
    "run": "; `eval --save-run FILE` writes one, and so may any other program",
    "draft": "; `recommend` writes one",
}


def _instead(path: Path, places: Sequence[Path], what: str, *, or_folder: bool) -> str:
    """What else it may be: a name like it, else what is of its kind in these folders, else what makes one."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    there = [file for place in places for file in _files_in(place.parent) if or_folder or file.is_file()]
    like = [file for file in there if (suffix in file.suffixes if suffix else file.suffix or file.is_dir())]
    for files in (like, there):
        spelled = {bare_name(file): composed(file.name) for file in reversed(files)}
        names = list(spelled.values())
        near = nearest(composed(path.name), names) or nearest(bare_name(path), list(spelled), spelled=spelled)
        if near:
            return near
    if like:
        return said("; there are: {names}", names=listed([composed(file.name) for file in like], 8))
    return said(MADE_BY[what]) if what in MADE_BY else ""


def is_results(path: Path) -> bool:
    """Whether it is a results file, which lies where runs are looked for and is none."""
    if not path.is_file():  # a named pipe is not opened: that waits for whoever writes
        return False
    try:
        with path.open("rb") as stream:
            return RESULTS_FIRST in stream.read(64)
    except OSError:
        return False


def _existing(path: Path) -> Path | None:
    if path.exists():
        return path
    wanted = composed(path.name)
    return next((item for item in _files_in(path.parent) if composed(item.name) == wanted), None)


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def bare_name(path: Path) -> str:
    """The file's name without `.gz` and its suffix, in NFC."""
    name = composed(path.name).removesuffix(".gz")
    return name.rsplit(".", 1)[0] if "." in name else name


def refuse_device(path: Path) -> None:
    """Raises InputError for a device, which may give without end (/dev/zero); /dev/null is an empty file."""
    mode = path.stat().st_mode
    note_read(path)
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and os.path.realpath(path) != os.path.realpath(os.devnull):
        raise InputError("{path}: this is a device, not a file", path=path)
