"""What stands in files: their bytes, unpacked where they are gzip, their text, their SHA-256."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import io
import mmap
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from tiny_graph_rag.errors import InputError
from tiny_graph_rag.inputs import piped, refuse_device
from tiny_graph_rag.messages import said

GZIP_MAGIC, PARQUET_MAGIC = b"\x1f\x8b", b"PAR1"
ZIP_MAGIC = b"PK\x03\x04"  # what an .xlsx workbook is
BYTE_ORDER_MARK = codecs.BOM_UTF8
MAPPED_FROM_BYTES = 1 << 24  # below this, reading is quicker than mapping page by page
COPIED_BYTES = 1 << 20
DEFAULT_UNPACKED = 1 << 30  # bytes
DECLARED_TIMES, DECLARED_PART = 20, 5  # the file's size, and the part of what may be unpacked
ON_DISK = 16  # times as much for a file that is mapped, not read


def read_bytes(path: Path) -> bytes:
    """The file's content, unpacked when it is gzip; a pipe's until it ends. Raises InputError in words."""
    with _opened(path) as stream:
        if not isinstance(stream, gzip.GzipFile):
            return stream.read()
        content = stream.read(_most_unpacked + 1)
        check_unpacked(path, len(content))
        return content


def read_start(path: Path, most: int) -> bytes:
    """At most so many bytes from the file's start, unpacked when it is gzip. Raises InputError in words."""
    with _opened(path) as stream:
        return stream.read(most)


def mapped(path: Path, *, private: bool = False) -> bytes | mmap.mmap:
    """The file's content, unpacked when it is gzip: memory-mapped where it is large, else its bytes.

    A large gzip file is unpacked into a nameless temporary file. private: a mapping may be written to, which
    changes nothing but memory. Raises InputError in words.
    """
    if not _is_large(path):
        return read_bytes(path)
    access = mmap.ACCESS_COPY if private else mmap.ACCESS_READ
    with _opened(path) as stream:
        if not isinstance(stream, gzip.GzipFile):
            return mmap.mmap(stream.fileno(), 0, access=access)
        from tempfile import TemporaryFile

        with TemporaryFile() as unpacked:
            while block := stream.read(COPIED_BYTES):
                unpacked.write(block)
                check_unpacked(path, unpacked.tell() // ON_DISK)  # as pages of a file, not as memory
            unpacked.flush()
            if not unpacked.tell():
                return b""
            return mmap.mmap(unpacked.fileno(), 0, access=access)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    """The file from its start, a GzipFile where it is packed. Raises InputError in words, also for what
    reading it raises."""
    try:
        refuse_device(path)
        with _stream(path) as stream:
            is_packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            stream.seek(0)
            yield gzip.GzipFile(fileobj=stream) if is_packed else stream
    except (EOFError, OSError, ValueError, zlib.error) as error:  # ValueError: a NUL in the name
        raise _unreadable(path, error) from error


_last_read: dict[Path, tuple[tuple[int, ...], bytes]] = {}  # of one file: when, and its content


def _stream(path: Path) -> io.BytesIO | io.BufferedReader:
    """The file; of a small one its content, read once as long as it stays as it is: its format, its text and
    its SHA-256 are then those of the same bytes. A pipe's, given once, stays as long as the command runs."""
    found = path.stat()
    if stat.S_ISFIFO(found.st_mode):
        if path not in piped:
            with path.open("rb") as pipe:
                piped[path] = pipe.read(_most_unpacked + 1)
            check_unpacked(path, len(piped[path]))
        return io.BytesIO(piped[path])
    if not stat.S_ISREG(found.st_mode) or found.st_size >= MAPPED_FROM_BYTES:
        return path.open("rb")
    when = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    if _last_read.get(path, (None,))[0] != when:
        _last_read.clear()
        _last_read[path] = when, path.read_bytes()
    return io.BytesIO(_last_read[path][1])


def _is_large(path: Path) -> bool:
    """Whether it is worth mapping; not what is no file: its reader says so."""
    try:
        return path.is_file() and path.stat().st_size >= MAPPED_FROM_BYTES
    except OSError:
        return False


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
        raise InputError(
            "{place}: not UTF-8 text ({encoding}). Save it as UTF-8",
            place=f"{path}:{line}",
            encoding=_likely_encoding(raw),
        ) from error


def lines_of(text: str) -> Iterator[str]:
    """What stands between line feeds, one by one: a list of millions of short lines takes more than they."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
OTHER_ENCODINGS = {"cp949": "CP949/EUC-KR", "shift_jis": "Shift JIS", "gb18030": "GB18030"}
# Of texts in the first two: what their usual signs are in, which these are, and the least share of them. All
# three can often be read as each other, but then with rare signs.
USUAL_SIGNS = {"cp949": ("euc_kr", "가", "힣", 0.8), "shift_jis": ("shift_jis", "ぁ", "ヿ", 0.2)}


def _other_encoding(raw: bytes) -> str | None:
    """The first of OTHER_ENCODINGS that bytes look like. They may end within a character."""
    for encoding in OTHER_ENCODINGS:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(raw)
        except UnicodeDecodeError:
            continue
        if encoding not in USUAL_SIGNS:
            return encoding
        usual, first, last, least = USUAL_SIGNS[encoding]
        found = sum(first <= sign <= last for sign in raw.decode(usual, "ignore"))
        if found >= least * sum(sign > "\x7f" for sign in text):
            return encoding
    return None


def _likely_encoding(raw: bytes) -> str:
    if raw[:2] in UTF_16_MARKS:
        return said("it looks like UTF-16")
    encoding = _other_encoding(raw)
    if encoding is None:
        return said("the encoding is unknown")
    return said(
        "it looks like {called}: `iconv -f {encoding} -t UTF-8` converts it, and so does Excel's 'CSV UTF-8'",
        called=OTHER_ENCODINGS[encoding],
        encoding=encoding.upper(),
    )


def text_in(path: Path, *, others: bool = False) -> str | None:
    """The file as text, None for Parquet and worksheets. others: text that is not UTF-8 but wholly CP949, or
    UTF-16 with its mark, is read too; `encoding_of` tells. Raises InputError for any other."""
    raw = read_bytes(path)
    if raw[:4] in (PARQUET_MAGIC, ZIP_MAGIC):
        return None
    encoding = encoding_of(raw) if others else "utf-8"
    return decode_utf8(raw, path) if encoding == "utf-8" else raw.decode(encoding)


def encoding_of(raw: bytes) -> str:
    """utf-8, or UTF-16 with its mark or Korean CP949, in which all of it can be read; utf-8 too where there
    is none."""
    for encoding in ("utf-8", "utf-16" if raw[:2] in UTF_16_MARKS else "cp949"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "cp949" and _other_encoding(raw) != encoding:
            continue
        if encoding == "utf-8" or not any(ord(sign) < 9 for sign in text):  # bytes of no text at all
            return encoding
    return "utf-8"


def sha256_of(path: Path) -> str:
    with _stream(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp_of(path: Path) -> list[int]:
    """What the file system says of a file; every write changes one of these. Raises OSError."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def combined_sha256(sums: Sequence[str]) -> str:
    """Of one file its own sum; of several the SHA-256 of their sums, in order."""
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
