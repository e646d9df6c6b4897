"""Finding input files and writing output files so that an interruption never leaves half of one."""

from __future__ import annotations

import codecs
import contextlib
import glob
import gzip
import hashlib
import io
import mmap
import os
import stat
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Thread, get_ident

from tiny_graph_rag.errors import InputError, UsageError, nearest
from tiny_graph_rag.messages import said

GZIP_MAGIC, PARQUET_MAGIC = b"\x1f\x8b", b"PAR1"
ZIP_MAGIC = b"PK\x03\x04"  # what an .xlsx workbook is
BYTE_ORDER_MARK = codecs.BOM_UTF8
MAPPED_FROM_BYTES = 1 << 24  # below this, reading is quicker than mapping page by page
COPIED_BYTES = 1 << 20
DEFAULT_UNPACKED = 1 << 30  # bytes
DECLARED_TIMES, DECLARED_PART = 20, 5  # the file's size, and the part of what may be unpacked
ON_DISK = 16  # times as much for a file that is mapped, not read
LEFTOVER_SECONDS = 3600  # longer than any write takes


# The inputs of the command that this process runs; `outputs` refuses to write over them. Kept here, where
# every reader passes, so that no command can forget to list one.
_named: dict[Path, None] = {}
_read: dict[Path, None] = {}


def forget_inputs() -> None:
    """A command begins."""
    _named.clear()
    _read.clear()


def note_named(*paths: Path) -> None:
    """Files and folders that the user named to be read."""
    _named.update(dict.fromkeys(paths))


def note_read(*paths: Path) -> None:
    """Files that are read because of others; the readers of this module say so themselves."""
    _read.update(dict.fromkeys(paths))


def named_inputs() -> list[Path]:
    return list(_named)


def read_inputs() -> list[Path]:
    return list(_read)


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
    what: one of KINDS, else as the message should call it. Raises InputError with the nearest names.
    """
    path = Path(name).expanduser()
    places = [path] if path.is_absolute() else [folder / path, path]
    for place in places:
        found = _existing(place)
        if found is not None:
            with contextlib.suppress(OSError):  # what can't be looked at says so when it is read
                refuse_device(found)
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


# What may be offered for a name that is not there, and what makes one. Of formats the registry knows the
# suffixes: (what one is called there, in which package they lie).
_FORMATS = {
    "knowledge graph": ("graph format", "tiny_graph_rag.formats.graphs"),
    "gold set": ("gold format", "tiny_graph_rag.formats.gold"),
    "questions": ("gold format", "tiny_graph_rag.formats.gold"),
    "run": ("run format", "tiny_graph_rag.formats.runs"),
}
_ENDINGS = {"results file": (".json",), "draft": (".jsonl",), "vocabulary": (".yaml", ".yml")}
KINDS = (*_FORMATS, *_ENDINGS)
RESULTS_FIRST = b'"schema_version"'  # the first key of whatever this program writes of results
MADE_BY = {
    "knowledge graph": "; `init` writes one to begin with",
    "gold set": "; `init` writes one to begin with",
    "results file": "; `eval` and `score` write one",
    "run": "; `eval --save-run FILE` writes one, and so may any other program",
    "draft": "; `recommend` writes one",
}


def endings_of(what: str) -> tuple[str, ...]:
    """The suffixes that files of a kind have, below `.gz`; empty for a kind that is not known."""
    if what not in _FORMATS:
        return _ENDINGS.get(what, ())
    from tiny_graph_rag.registry import Registry  # where a name was wrong, or the shell asks

    choices = Registry[object](*_FORMATS[what]).choices().values()
    return tuple(
        dict.fromkeys(suffix for choice in choices for suffix in choice.settings.get("suffixes", ()))
    )


def files_of_kind(folder: Path, what: str) -> list[str]:
    """Names of a folder's files of a kind, as `find_input` calls it."""
    return _of_kind(folder, endings_of(what), what)


def _instead(path: Path, places: Sequence[Path], what: str, *, or_folder: bool) -> str:
    """What else it may be: names like it, else files of its kind where it was looked for first, else what
    makes one."""
    endings = endings_of(what) or (path.suffix,)
    is_named = _ending(path) in endings
    if is_named:
        endings = (_ending(path),)
    there = [_of_kind(place.parent, endings, what) for place in places]
    names = list(dict.fromkeys(name for names_there in there for name in names_there))
    if or_folder:
        beside = (path for place in places for path in _files_in(place.parent))
        names += [composed(path.name) for path in beside if path.is_dir()]
    spelled = {bare_name(Path(name)): name for name in reversed(names)}
    wanted = composed(path.name)
    hint = nearest(wanted, names) or nearest(
        bare_name(path) if is_named else wanted, list(spelled), spelled=spelled
    )
    if hint:
        return hint
    first = next((names_there for names_there in there if names_there), None)
    if first is None:
        return said(MADE_BY[what]) if what in MADE_BY else ""
    return said("; there are: {names}", names=", ".join(first[:8]) + (" …" if len(first) > 8 else ""))


def _ending(path: Path) -> str:
    """The suffix that tells what a file is, below `.gz`."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _of_kind(folder: Path, endings: Sequence[str], what: str) -> list[str]:
    found = (path for path in _files_in(folder) if path.is_file() and _ending(path) in endings)
    return [composed(item.name) for item in found if what != "run" or not is_results(item)]


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


def read_bytes(path: Path) -> bytes:
    """The file's content, unpacked when it is gzip; a pipe's until it ends. Raises InputError in words."""
    try:
        refuse_device(path)
        with path.open("rb") as stream:
            if not stream.seekable():
                content = stream.read(_most_unpacked + 1)
                if content.startswith(GZIP_MAGIC):
                    content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(_most_unpacked + 1)
                check_unpacked(path, len(content))
                return content
            if stream.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
                stream.seek(0)
                return stream.read()
        with gzip.open(path) as unpacked:
            content = unpacked.read(_most_unpacked + 1)
        check_unpacked(path, len(content))
        return content
    except (EOFError, OSError, ValueError, zlib.error) as error:  # ValueError: a NUL in the name
        raise _unreadable(path, error) from error


def refuse_device(path: Path) -> None:
    """Raises InputError for a device, which may give without end (/dev/zero); /dev/null is an empty file."""
    mode = path.stat().st_mode
    note_read(path)
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and os.path.realpath(path) != os.path.realpath(os.devnull):
        raise InputError("{path}: this is a device, not a file", path=path)


def read_start(path: Path, most: int) -> bytes:
    """At most so many bytes from the file's start, unpacked when it is gzip. Raises InputError in words."""
    try:
        refuse_device(path)
        with path.open("rb") as stream:
            if stream.read(2) == GZIP_MAGIC:
                stream.seek(0)
                with gzip.open(stream) as unpacked:
                    return unpacked.read(most)
            stream.seek(0)
            return stream.read(most)
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(path, error) from error


def mapped(path: Path, *, private: bool = False) -> bytes | mmap.mmap:
    """The file's content, unpacked when it is gzip: memory-mapped where it is large, else its bytes.

    A large gzip file is unpacked into a nameless temporary file. private: a mapping may be written to, which
    changes nothing but memory. Raises InputError in words.
    """
    access = mmap.ACCESS_COPY if private else mmap.ACCESS_READ
    try:
        refuse_device(path)
        with path.open("rb") as stream:
            packed = stream.read(2) == GZIP_MAGIC
            if os.fstat(stream.fileno()).st_size < MAPPED_FROM_BYTES:
                return read_bytes(path)
            if not packed:
                return mmap.mmap(stream.fileno(), 0, access=access)
        from tempfile import TemporaryFile

        with TemporaryFile() as unpacked:
            with gzip.open(path) as stream:
                while block := stream.read(COPIED_BYTES):
                    unpacked.write(block)
                    check_unpacked(path, unpacked.tell() // ON_DISK)  # as pages of a file, not as memory
            unpacked.flush()
            if not unpacked.tell():
                return b""
            return mmap.mmap(unpacked.fileno(), 0, access=access)
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(path, error) from error


_most_unpacked = DEFAULT_UNPACKED


def allow_unpacked(gib: float) -> None:
    """How large a packed file may become (`running.largest_unpacked`), for this process."""
    global _most_unpacked  # of the outside world, like the disk's own limits: no reader is handed it
    _most_unpacked = int(gib * (1 << 30))


def check_unpacked(path: Path, size: int) -> None:
    """Raises InputError for a packed file that becomes larger than is allowed. size: unpacked, in bytes."""
    if size > _most_unpacked:
        raise InputError(
            "{path}: unpacks to more than {most} GiB. If it is meant to, allow it with "
            "running.largest_unpacked in config.yaml",
            path=path,
            most=f"{_most_unpacked / (1 << 30):g}",
        )


def check_declared(path: Path, size: int, what: str) -> None:
    """Refuse a file that says of itself that it holds `size` bytes in memory, where that is out of all
    proportion to it and more than a part of what packed files may unpack to. Raises InputError."""
    if size > max(_most_unpacked // DECLARED_PART, DECLARED_TIMES * path.stat().st_size):
        raise InputError(
            "{path}: declares {what} in {size} bytes. If it is meant to, allow it with "
            "running.largest_unpacked in config.yaml",
            path=path,
            what=what,
            size=f"{path.stat().st_size:,}",
        )


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, EOFError):
        return InputError("{path}: the gzip file ends too early; it was cut off. Copy it again", path=path)
    if isinstance(error, zlib.error):
        return InputError("{path}: the gzip file is damaged ({why}). Copy it again", path=path, why=error)
    refused = getattr(error, "strerror", None)
    why = said(refused) if refused else error
    return InputError("{place}: can't be read ({why})", place=path, why=why)


def decode_utf8(raw: bytes, path: Path) -> str:
    """Text of a UTF-8 file, with or without byte order mark; another encoding is named where it shows."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _not_utf8(path, line, raw) from error


def lines_of(text: str) -> Iterator[str]:
    """What stands between line feeds, one by one: a list of millions of short lines takes more than they."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def check_utf8(buffer: bytes | mmap.mmap, path: Path) -> None:
    """What `decode_utf8` finds wrong, without the text in memory."""
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    for start in range(0, len(buffer), COPIED_BYTES):
        block = buffer[start : start + COPIED_BYTES]
        try:
            decoder.decode(block, final=start + COPIED_BYTES >= len(buffer))
        except UnicodeDecodeError as error:
            line += block.count(b"\n", 0, max(0, error.start))
            raise _not_utf8(path, line, block) from error
        line += block.count(b"\n")


def _not_utf8(path: Path, line: int, raw: bytes) -> InputError:
    return InputError(
        "{place}: not UTF-8 text ({encoding}). Save it as UTF-8",
        place=f"{path}:{line}",
        encoding=_likely_encoding(raw),
    )


def _likely_encoding(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return said("it looks like UTF-16")
    try:
        codecs.getincrementaldecoder("cp949")().decode(raw)  # a block may end within a character
    except UnicodeDecodeError:
        return said("the encoding is unknown")
    return said(
        "it looks like CP949/EUC-KR: `iconv -f CP949 -t UTF-8` converts it, and so does Excel's 'CSV UTF-8'"
    )


def is_own_folder(folder: Path) -> bool:
    """Whether nobody else can put files there: true where it does not exist. One of ours that others may
    write to is closed to them."""
    try:
        found = folder.stat()
        if not hasattr(os, "geteuid"):
            return True
        if found.st_uid != os.geteuid():
            return False
        if found.st_mode & 0o022:
            folder.chmod(0o700)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def combined_sha256(sums: Sequence[str]) -> str:
    """Of one file its own sum; of several the SHA-256 of their sums, in order."""
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def sha256_meanwhile(path: Path) -> Callable[[], str]:
    """Start `sha256_of`, of a large file in a thread of its own; what is returned waits for it."""
    if not path.is_file() or path.stat().st_size < MAPPED_FROM_BYTES:
        return lambda: sha256_of(path)
    from concurrent.futures import Future

    found: Future[str] = Future()

    def work() -> None:
        try:
            found.set_result(sha256_of(path))
        except BaseException as error:
            found.set_exception(error)

    # Not of a pool: whoever fails meanwhile need not wait for it before the program ends.
    Thread(target=work, daemon=True).start()
    return found.result


def output_path(name: str | Path, folder: Path) -> Path:
    """Where `-o NAME` lies: under `folder`, unless it starts with ./, ../ or /, or with the folder itself, as
    completing a name in the shell gives it; then it is taken as it stands."""
    text = str(name)
    path = Path(text).expanduser()
    if path.is_absolute() or text.startswith(("./", "../", "~")):
        return path
    known = Path(os.path.normpath(folder)).parts
    if known and Path(os.path.normpath(path)).parts[: len(known)] == known:
        return path
    return folder / path


def check_writable(path: Path) -> None:
    """Refuse before any work what could not be written after it. Raises UsageError."""
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
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    _remove_leftovers(path)


def is_device(path: Path) -> bool:
    """Whether it is a device or a pipe: what is written there goes on, and replaces nothing."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _behind_link(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}.tmp")


def is_left_over(path: Path, process: str) -> bool:
    """Whether the process of this number, which made the file, has ended. Where that can't be asked, whether
    the file is older than any write takes."""
    if os.name == "posix" and process.isdecimal():
        try:
            os.kill(int(process), 0)
        except (ProcessLookupError, OverflowError):
            return True
        except PermissionError:
            return False
        return False
    with contextlib.suppress(OSError):
        return time.time() - path.stat().st_mtime > LEFTOVER_SECONDS
    return False


def _remove_leftovers(path: Path) -> None:
    """What killed processes left half written; a young one may belong to a process that still runs."""
    now = time.time()
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError):
            if now - leftover.stat().st_mtime > LEFTOVER_SECONDS:
                leftover.unlink()
