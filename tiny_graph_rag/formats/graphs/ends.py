"""Which columns of a table of relations tell of the ends: pairs of columns in the same words (`source_id` and
`target_id`, `entity_1` and `entity_2`), and what each holds of an end, by the columns' names alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tiny_graph_rag.formats.graphs.table import key_of, words_of
from tiny_graph_rag.formats.words import (
    COUNTED,
    COUNTED_STEMS,
    EDGE_KEYS,
    ID_WORDS,
    LABEL_WORDS,
    LETTERS,
    NAME_WORDS,
    OTHER_WORDS,
    PAIRS,
    TYPE_WORDS,
    Role,
)

LABEL = "label"  # a kind of columns at an end: a name or a type
KINDS = ((Role.ID, ID_WORDS), (Role.TYPE, TYPE_WORDS), (LABEL, LABEL_WORDS))
ALL_PAIRS = (*PAIRS, *LETTERS, *COUNTED)


class End(NamedTuple):
    """What a column tells of an end in the words of a pair. rest: what else it says, which the column of the
    other end says as well. kind: what it holds of the end: its id, name, label or type."""

    is_target: bool
    rest: str
    kind: str


class Pair(NamedTuple):
    """Two columns that tell of both ends in the same words, and the same of them."""

    words: tuple[str, str]
    rest: str
    kind: str
    source: str
    target: str


def end_of(column: str, pair: tuple[str, str]) -> End | None:
    words = words_of(column)
    for is_target, word in enumerate(pair):
        parts = _around(words, word)
        if parts is None:
            continue
        before, after = parts
        kind = _kind((*before, *after))
        if pair in COUNTED:
            fits = bool(before)
        elif pair in LETTERS:
            last = (*before, *after)[-1:]
            fits = {*last} <= ID_WORDS | NAME_WORDS | TYPE_WORDS and (bool(last) or pair != LETTERS[-1])
        else:
            fits = not before or not after
        if kind is not None and fits:
            return End(bool(is_target), " ".join((*before, "", *after)).strip(), kind)
    return None


def _around(words: tuple[str, ...], word: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What a column says before and behind the word for its end; None where the word is not there."""
    if words.count(word) == 1:
        place = words.index(word)
        return words[:place], words[place + 1 :]
    if len(words) == 1 and words[0].startswith(word):  # sourceid, 头实体
        rest = words[0][len(word) :]
        known = (ID_WORDS | NAME_WORDS | LABEL_WORDS | TYPE_WORDS) - {""}
        if rest in known or rest.removeprefix("node").removeprefix("entity") in known:
            return (), (rest,)
    return None


def _kind(rest: tuple[str, ...]) -> str | None:
    last = rest[-1] if rest else ""
    if last in OTHER_WORDS:
        return None
    for kind, words in KINDS:
        is_glued = len(rest) == 1 and len(last) > 4 and last not in NAME_WORDS  # nodeid
        if last in words or (is_glued and last.endswith(tuple(words))):
            return kind
    return Role.NAME


def pairs_of(columns: Sequence[str], strict: bool) -> list[Pair]:
    """Pairs of which both columns are there, the likeliest first."""
    is_series = any({"3", "c"} & set(words_of(column)) for column in columns)  # numbered, more than two
    found = []
    for words in ALL_PAIRS[: -len(COUNTED)] if is_series else ALL_PAIRS:
        sides: tuple[dict[str, tuple[str, str]], dict[str, str]] = ({}, {})
        for column in columns:
            end = end_of(column, words)
            if end is not None and end.is_target:
                sides[1].setdefault(end.rest, column)
            elif end is not None:
                sides[0].setdefault(end.rest, (column, end.kind))
        found += [
            Pair(words, rest, kind, source, sides[1][rest])
            for rest, (source, kind) in sides[0].items()
            if rest in sides[1]
        ]
    if strict and not any(key_of(column) in EDGE_KEYS[Role.TYPE] for column in columns):
        known = COUNTED_STEMS | LABEL_WORDS | TYPE_WORDS
        found = [pair for pair in found if pair.words in COUNTED or set(pair.rest.split()) <= known]
    return sorted(found, key=lambda pair: pair.rest not in NAME_WORDS | ID_WORDS)
