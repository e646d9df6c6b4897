"""JSON and YAML that others wrote: parsed within bounds, and nothing taken silently.

A document may be nested a thousand deep, hold a number of 5,000 digits, half a character, a key twice, or
aliases that unfold to gigabytes: each is reported in words before it can cost the process its memory or its
life.

Gold sets, runs and graphs are read as records with their places, however a JSON file wraps them: one a line,
in a list, or in one object that holds them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tiny_graph_rag.errors import Problems, TinyGraphRagError, at
from tiny_graph_rag.files import decode_utf8, lines_of, read_bytes
from tiny_graph_rag.messages import Said, said

if TYPE_CHECKING:
    import mmap

MOST_YAML_BYTES = 1 << 24
MOST_YAML_DEPTH = 50
MOST_YAML_ALIASES = 20  # each can at most double what stands there: they unfold to a thousand values
YAML_DATE = "tag:yaml.org,2002:timestamp"
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class NotJsonError(ValueError):
    """line, column: from 1, 0 where no place can be named. wrong: what it is, in words. is_cut: whether the
    text ends where it is wrong."""

    def __init__(self, wrong: Said, line: int = 0, column: int = 0, *, is_cut: bool = False) -> None:
        super().__init__(wrong)
        self.wrong, self.line, self.column, self.is_cut = wrong, line, column, is_cut

    def at(self, file: object, line: int = 0, *, is_last: bool = True) -> Said:
        """`file:line:column: what is wrong`. line: of the file, where one line of it was parsed; is_last:
        whether that is its last."""
        place = f"{file}:{line or self.line}:{self.column}" if self.column else str(file)
        cut = said("; the file seems cut off") if self.is_cut and is_last else ""
        wrong = said("{wrong}{cut}", wrong=self.wrong, cut=cut)
        return at(f"{place}:{line}" if line and not self.column else place, wrong)


def parse_json(text: str, *, twice: list[str] | None = None, halves: bool = False) -> Any:
    """The value of one JSON text. Raises NotJsonError.

    twice: gets the keys that are given twice in an object, of which the last counts; None refuses them.
    halves: half a character passes.
    """

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            again = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
            if twice is None:
                key = repr(again[0][:60])
                raise NotJsonError(
                    said("the key {key} is given twice in one object; keep one of them", key=key)
                )
            twice.extend(again)
        return found

    try:
        value = json.loads(text, object_pairs_hook=made)
        if not halves and _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except NotJsonError:
        raise
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) - 1
        why = said("not JSON: {why}", why=said(error.msg))
        raise NotJsonError(why, error.lineno, error.colno, is_cut=is_cut) from None
    except RecursionError:
        raise NotJsonError(said("nested too deeply")) from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(str(error.object)[error.start]):04x}"
        raise NotJsonError(
            said(
                "contains half a character ({half}); the text was cut in the middle of a character", half=half
            )
        ) from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise NotJsonError(said("contains a number with too many digits")) from None
    return value


def decoded_json(text: str | bytes | memoryview | mmap.mmap) -> Any:
    """The value of JSON as many programs write it: quickly, NaN passes, and of a key given twice in an
    object the last counts. Raises NotJsonError; UnicodeDecodeError where bytes are no UTF-8."""
    import msgspec  # a small file needs no decoder

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return parse_json(text if isinstance(text, str) else str(text, "utf-8"), twice=[], halves=True)


def json_file(
    path: Path, failure: Callable[[Said], Exception], parse: Callable[[str], Any] = parse_json
) -> Any:
    """The document of a file. Raises `failure` with line and column, InputError for what can't be read."""
    try:
        return parse(decode_utf8(read_bytes(path), path))
    except NotJsonError as error:
        raise failure(error.at(path.name)) from error


def read_yaml(path: Path, failure: type[TinyGraphRagError]) -> Any:
    """The document, in the safe subset of YAML; by libyaml where PyYAML was built with it.

    Raises `failure` with line and column for what is no YAML, InputError for what can't be read.
    """
    raw = read_bytes(path)
    if len(raw) > MOST_YAML_BYTES:
        n, most = f"{len(raw):,}", f"{MOST_YAML_BYTES:,}"
        raise failure(at(path, "{n} bytes are too many for YAML; at most {most}", n=n, most=most))
    return parse_yaml(decode_utf8(raw, path), str(path), failure)


def parse_yaml(text: str, name: str, failure: type[TinyGraphRagError]) -> Any:
    """The value of one YAML text; a date is the text that it is in JSON. name: of the file or setting, for
    messages. Raises `failure`."""
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    spelled = {
        sign: [rule for rule in rules if rule[0] != YAML_DATE]
        for sign, rules in base.yaml_implicit_resolvers.items()
    }
    loader = type("Loader", (base,), {"yaml_implicit_resolvers": spelled})
    try:
        _check_events(yaml, text, loader, name, failure)
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        why = " ".join(str(getattr(error, "problem", None) or error).split())
        raise failure(said("{place}: not YAML: {why}", place=place, why=why)) from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:  # a date in month 13, say
        raise failure(said("{name}: a value can't be read: {error}", name=name, error=error)) from error


def _check_events(yaml: Any, text: str, loader: Any, name: str, failure: type[TinyGraphRagError]) -> None:
    """Before anything is made of it: depth and aliases bounded, no key twice. Raises `failure`."""
    aliases = 0
    # Of each open collection: the keys so far (None in a list), and whether a key comes next.
    open_: list[tuple[set[str] | None, bool]] = []
    for event in yaml.parse(text, Loader=loader):
        wrong = None
        if isinstance(event, yaml.CollectionEndEvent):
            open_.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if open_:
            keys, is_key = open_[-1]
            if keys is not None and is_key and isinstance(event, yaml.ScalarEvent):
                if event.value in keys:
                    key = repr(event.value[:60])
                    wrong = said("the key {value} is given twice; keep one of them", value=key)
                keys.add(event.value)
            open_[-1] = (keys, not is_key)
        if isinstance(event, yaml.AliasEvent):
            aliases += 1
            if aliases > MOST_YAML_ALIASES:
                wrong = said("more than {n} aliases (*name); write the values out", n=MOST_YAML_ALIASES)
        elif isinstance(event, yaml.CollectionStartEvent):
            open_.append((set() if isinstance(event, yaml.MappingStartEvent) else None, True))
            if len(open_) > MOST_YAML_DEPTH:
                wrong = said("nested more than {n} levels deep", n=MOST_YAML_DEPTH)
        if wrong is not None:
            raise failure(at(f"{name}:{event.start_mark.line + 1}:{event.start_mark.column + 1}", wrong))


class Record(NamedTuple):
    """number: line, row as a spreadsheet counts, or place in the list, from 1. place: for messages."""

    number: int
    place: str
    row: Any


def json_records(
    path: Path,
    text: str,
    problems: Problems,
    is_record: Callable[[dict[str, Any]], bool],
    rows_of: Callable[[Any], list[Any]],
) -> Iterator[Record]:
    """problems: get the lines that are no JSON. Raises their `failure` for a file without JSON.

    is_record: whether an object is one record, not the file's one object around them. rows_of: the records in
    the file's one value.
    """
    document, in_lines = _document(path, text, problems, is_record)
    return json_lines(path, text, problems) if in_lines else numbered(path, rows_of(document))


def numbered(path: Path, rows: list[Any]) -> Iterator[Record]:
    """Records of a list, by their places in it."""
    places = enumerate(rows, start=1)
    return (Record(number, f"{path.name}: question {number}", row) for number, row in places)


def json_lines(
    path: Path, text: str, problems: Problems, parse: Callable[[str], Any] = parse_json
) -> Iterator[Record]:
    """The value of each line that says anything; what is no JSON goes to `problems`."""
    last = text.count("\n") + 1
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except NotJsonError as error:
            problems.append(error.at(path.name, number, is_last=number == last))
            continue
        yield Record(number, f"{path.name}:{number}", row)


def _document(
    path: Path, text: str, problems: Problems, is_record: Callable[[dict[str, Any]], bool]
) -> tuple[Any, bool]:
    """The whole file's value, and whether it is one object a line instead."""
    line, _, rest = text.lstrip().partition("\n")
    first = _object(line) if line[:1] == "{" else None
    if first is not None and (rest.strip() or is_record(first)):
        return None, True
    try:
        return parse_json(text), False
    except NotJsonError as error:
        if line[:1] == "{" and (line.strip() != "{" or not rest.strip()) and _object(text) is None:
            return None, True
        raise problems.failure(error.at(path.name)) from error


def _object(text: str) -> dict[str, Any] | None:
    """A key that is given twice, or half a character, is for the reader of the line to say."""
    try:
        value = parse_json(text, twice=[], halves=True)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None
