"""What the libraries say of an unreadable file, as far as another language says it too.

Braces stand for what changes. A library's sentence that is not here is shown as it came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

SENTENCES = (
    # msgspec
    "JSON is malformed: {what} (byte {place})",
    "invalid character",
    "trailing characters",
    "expected ',' or ']'",
    "expected ',' or '}}'",
    "Input data was truncated",
    "Object missing required field {field} - at {place}",
    "Object missing required field {field}",
    "Expected {wanted}, got {got} - at {place}",
    "Expected {wanted}, got {got}",
    "Invalid enum value {value} - at {place}",
    "Number out of range - at {place}",
    # expat
    "no element found",
    "not well-formed (invalid token)",
    "unclosed token",
    "partial character",
    "mismatched tag",
    "duplicate attribute",
    "junk after document element",
    "undefined entity",
    "unclosed CDATA section",
    "unbound prefix",
    "syntax error",
    # PyYAML and libyaml
    "did not find expected {what}",
    "could not find expected ':'",
    "found character that cannot start any token",
    "found unexpected end of stream",
    "found unknown escape character",
    "found undefined alias",
    "mapping values are not allowed in this context",
    "block sequence entries are not allowed in this context",
    "control characters are not allowed",
    # Parquet, spreadsheets, SQLite
    "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.",
    "File is not a zip file",
    "File not found {name}",
    "Bad CRC-32 for file {name}",
    "file is not a database",
    "database disk image is malformed",
    # RDF
    "Parser error at {place}: {what}",
    "syntax error: {what}",
    # HTTP
    "All connection attempts failed",
    "Server disconnected without sending a response.",
)


@lru_cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each sentence with the pattern that finds what stands for its braces."""
    made = []
    for sentence in SENTENCES:
        parts = re.split(r"\{(\w+)\}", sentence.replace("{{", "\0").replace("}}", "\1"))
        words = [re.escape(part.replace("\0", "{").replace("\1", "}")) for part in parts[::2]]
        names = [f"(?P<{name}>.+?)" for name in parts[1::2]]
        pattern = "".join(word + name for word, name in zip(words, [*names, ""], strict=True))
        made.append((sentence, re.compile(pattern, re.DOTALL)))
    return tuple(made)


def translated(text: str, catalogue: Mapping[str, str]) -> str:
    """`text` in the catalogue's language where a library is known to say it, else as it stands."""
    if len(text) > 1000:
        return text
    for sentence, pattern in _patterns():
        match = pattern.fullmatch(text)
        if match and sentence in catalogue:
            values = {name: translated(value, catalogue) for name, value in match.groupdict().items()}
            return catalogue[sentence].format(**values)
    return text
