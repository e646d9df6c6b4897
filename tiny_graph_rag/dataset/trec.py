"""Ids in TREC files: fields are separated by white space, so an id cannot hold any."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NEEDS_ESCAPE = re.compile(r"[\s%]")


def encoded(identifier: str) -> str:
    """White space (and %, so that the way back is sure) percent-encoded; everything else as it is."""
    return _NEEDS_ESCAPE.sub(lambda found: quote(found[0], safe=""), identifier)


def decoded(identifier: str) -> str:
    """The way back. Escapes of anything but white space and % belong to the id and stay."""
    if "%" not in identifier:
        return identifier
    return _ESCAPES.sub(_decoded_run, identifier)


def all_decoded(identifiers: list[str]) -> list[str]:
    """`decoded` of each; one look at all of them where none is escaped."""
    return list(map(decoded, identifiers)) if "%" in " ".join(identifiers) else identifiers


def _decoded_run(found: re.Match[str]) -> str:
    # Several escapes in a row may be one character in UTF-8 and its neighbours.
    text = unquote(found[0], errors="strict") if _is_utf8(found[0]) else found[0]
    return text if all(each.isspace() or each == "%" for each in text) else found[0]


def _is_utf8(escapes: str) -> bool:
    try:
        unquote(escapes, errors="strict")
    except UnicodeDecodeError:
        return False
    return True
