"""What columns of entities and relations are called: one vocabulary for every form.

JSON, JSONL, CSV, TSV, Parquet and tables of databases all name the same few things: `source_id`, `from`,
`head_entity`, `주어`. Keys are compared as words (`sourceEntityId`, `source_entity_id` and `Source Entity ID`
are one key), and what a table calls its columns is decided once, from all of its columns and some of their
values: `source` is where a relation begins, unless `subject` and `object` are there; then it is a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tiny_graph_rag.formats.graphs.rows import text_of
from tiny_graph_rag.formats.graphs.spelling import (
    admin_column,
    are_numbers,
    is_number,
    key_of,
    looks_like_id,
    words_of,
)
from tiny_graph_rag.formats.words import (
    CHUNK_KEYS,
    COMMON_TYPES,
    COUNTED,
    COUNTED_STEMS,
    DIRECTEDNESS,
    EDGE_KEYS,
    ID_WORDS,
    LABEL_WORDS,
    LANGUAGES,
    LETTERS,
    NAME_WORDS,
    NO_TYPES,
    NODE_KEYS,
    OTHER_WORDS,
    PAIRS,
    TIME_PAIRS,
    TYPE_WORDS,
    Role,
)

LONGEST_NAME = 120
SAMPLE = 10_000  # values of a column that are looked at

_TIME = re.compile(r"(1[0-9]|20)[0-9]{2}(-[0-9]{1,2}(-[0-9]{1,2}([T ].*)?)?)?")
Values = Callable[[str], Iterable[Any]]  # of a column


class End(NamedTuple):
    """One column of a pair. pair: the words for both ends and what else both columns say. kind: what the
    column holds of the end: its id, name, label or type."""

    pair: tuple[str, ...]
    is_target: bool
    kind: str


def end_of(column: str) -> list[End]:
    """What ends of a relation a column may hold, the likeliest first; empty for none."""
    words = words_of(column)
    found = []
    for pair in (*PAIRS, *LETTERS):
        for is_target, word in enumerate(pair):
            rest = _rest(words, word)
            kind = None if rest is None else _kind(rest)
            if rest is None or kind is None or (pair == LETTERS[-1] and not rest):
                continue
            if (
                len(word) == 1
                and word.isascii()
                and rest
                and rest[-1] not in ID_WORDS | NAME_WORDS | TYPE_WORDS
            ):
                continue
            found.append(End((*pair, " ".join(rest)), bool(is_target), kind))
    for pair in COUNTED:
        for is_target, word in enumerate(pair):
            if words.count(word) == 1 and len(words) > 1:
                place = words.index(word)
                stem, rest = words[:place], words[place + 1 :]
                kind = _kind((*stem, *rest))
                if stem and kind is not None:
                    found.append(End((*pair, " ".join((*stem, "", *rest))), bool(is_target), kind))
    return found


def _rest(words: tuple[str, ...], word: str) -> tuple[str, ...] | None:
    """What a column says next to the word for its end; None where the word is not there."""
    if words[:1] == (word,):
        return words[1:]
    if len(words) > 1 and words[-1] == word:
        return words[:-1]
    if len(words) == 1 and words[0].startswith(word):  # sourceid, 头实体
        rest = words[0][len(word) :]
        known = ID_WORDS | NAME_WORDS | LABEL_WORDS | TYPE_WORDS
        if rest in known or any(
            rest == f"{name}{tail}" for name in ("node", "entity") for tail in known if tail
        ):
            return (rest,)
    return None


def _kind(rest: tuple[str, ...]) -> str | None:
    last = rest[-1] if rest else ""
    if last in OTHER_WORDS:
        return None
    for kind, words in ((Role.ID, ID_WORDS), (Role.TYPE, TYPE_WORDS), ("label", LABEL_WORDS)):
        if last in words or (
            len(rest) == 1 and last.endswith(tuple(words)) and last not in NAME_WORDS and len(last) > 4
        ):
            return kind
    return Role.NAME


def edge_roles(
    columns: Sequence[str],
    values: Values | None = None,
    given: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
) -> dict[str, str]:
    """What each column of a table of relations is: column → role, in the order in which they count.

    Without `SOURCE` and `TARGET` among them it is no such table. given: column → role, as the user says it.
    strict: for a line that may be a triple: only words that are a header's.
    """
    roles = dict(given or {})
    left = [column for column in columns if column not in roles]
    _add_ends(roles, [column for column in left if not _is_time(column, values)], values, strict=strict)
    left = [column for column in left if column not in roles]
    for column in left:
        if not column or column.startswith("Unnamed: "):  # pandas' row numbers
            roles[column] = Role.UNUSED
        elif _is_directedness(column, values):
            roles[column] = Role.DIRECTED
        elif key_of(column) == "key" or _is_embedding(column):
            roles[column] = Role.UNUSED
    _add_keys(roles, left, EDGE_KEYS, lambda role, column: role != Role.WEIGHT or _is_weight(column, values))
    if Role.TYPE not in roles.values():  # `partnership_type`
        kinds = [column for column in left if column not in roles and words_of(column)[-1:] == ("type",)]
        roles.update(dict.fromkeys(kinds[:1], Role.TYPE))
    _put_last(roles, Role.TYPE, NO_TYPES, values, given)
    return _deciding(roles, values)


def node_roles(
    columns: Sequence[str], values: Values | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The same for a table of entities. Without `ID` and `NAME` among them it is no such table.

    `label` is a name, unless there are few of them: then they are types.
    """
    roles = dict(given or {})
    left = [column for column in columns if column not in roles]
    for column in left:
        if _is_embedding(column) or column.startswith("Unnamed: "):
            roles[column] = Role.UNUSED
    _add_keys(
        roles, left, NODE_KEYS, lambda role, column: key_of(column) != "group" or _are_words(column, values)
    )
    for column in left:
        admin = admin_column(column)
        if admin is not None and admin.kind == "LABEL":
            roles[column] = Role.TYPE
        elif key_of(column) == "label":
            _add_label(roles, column, values)
    _add_languages(roles, left)
    if Role.NAME not in roles.values():
        _add_name(roles, left, values)
    _put_last(roles, Role.TYPE, NO_TYPES, values, given)
    return _deciding(roles, values)


def _deciding(roles: dict[str, str], values: Values | None) -> dict[str, str]:
    """Roles of columns that decide: one behind a column without an empty cell is a detail."""
    if values is None:
        return roles
    full: set[str] = set()
    found = {}
    for column, role in roles.items():
        found[column] = Role.DETAIL if role in full and role != Role.ALIASES else role
        is_one_of_several = role not in (Role.DETAIL, Role.UNUSED) and [*roles.values()].count(role) > 1
        if is_one_of_several and not any(value is None or value == "" for value in values(column)):
            full.add(role)
    return found


def _add_languages(roles: dict[str, str], columns: Sequence[str]) -> None:
    """`label_en`, `name_zh`: the first language is the name where no column is, the others are aliases."""
    told = {}
    for column in columns:
        words = words_of(column)
        is_name = len(words) == 2 and words[0] in ("name", "label", "title") and words[1] in LANGUAGES
        if is_name and roles.get(column, Role.DETAIL) == Role.DETAIL:
            told[column] = LANGUAGES.index(words[1])
    for column in sorted(told, key=lambda column: told[column]):
        roles[column] = Role.ALIASES if Role.NAME in roles.values() else Role.NAME


def _is_time(column: str, values: Values | None) -> bool:
    """Whether a column `from`, `to`, `start` or `end` holds years or dates."""
    words = words_of(column)
    if values is None or not any(word in pair for pair in TIME_PAIRS for word in words):
        return False
    texts = [text_of(value) for value in islice(values(column), SAMPLE) if value not in (None, "")]
    return bool(texts) and all(map(_TIME.fullmatch, texts))


def _add_keys(
    roles: dict[str, str],
    columns: Sequence[str],
    vocabulary: Mapping[str, tuple[str, ...]],
    fits: Callable[[str, str], bool],
) -> None:
    """Give columns the role under which the vocabulary has their key, in its order.

    fits: whether a column may have a role.
    """
    for role, keys in {**vocabulary, Role.CHUNKS: CHUNK_KEYS}.items():
        place = {key: number for number, key in enumerate(reversed(keys))}
        known = [column for column in columns if key_of(column) in place]
        for column in sorted(known, key=lambda name: -place[key_of(name)]):
            if column not in roles and fits(role, column):
                roles[column] = role


def _add_label(roles: dict[str, str], column: str, values: Values | None) -> None:
    """A column `label` among entities: a name, a type or a detail."""
    typed = [other for other, role in roles.items() if role == Role.TYPE]
    id = next((other for other, role in roles.items() if role == Role.ID), None)
    named = [other for other, role in roles.items() if role == Role.NAME]
    labels: Iterable[Any] = values(column) if values is not None else ()
    if values is not None and id is not None:  # an id may stand in several rows
        labels = {text_of(key): label for key, label in zip(values(id), labels, strict=True)}.values()
    share = 2 / 3
    if not named and values is not None and id is not None:
        ids = list(islice((text_of(value) for value in values(id)), SAMPLE))
        share = (
            1 / 3 if all(map(looks_like_id, ids)) and not are_numbers(ids) else share
        )  # nothing else names
    if not typed and are_types(labels, share):
        roles[column] = Role.TYPE
    elif any(key_of(other) != "title" for other in named):  # it names those that they leave empty
        roles[column] = Role.DETAIL if are_types(labels) else Role.NAME
    else:  # a title next to a label is what a page shows of it
        for other in named:
            roles[other] = Role.DETAIL
        roles[column] = Role.NAME


def _add_name(roles: dict[str, str], columns: Sequence[str], values: Values | None) -> None:
    """A name by its looks: `username`, `name_en`, `entity_text`; where ids are numbers, the first short texts
    of which few are equal."""
    left = [column for column in columns if column not in roles or roles[column] == Role.DETAIL]
    for column in left:
        words = words_of(column)
        if (
            words[:1] == ("name",)
            or words[-1:] in (("name",), ("names",))
            or (words and words[-1].endswith("name"))
        ):
            roles[column] = Role.NAME
            return
        if words[-1:] in (("text",), ("value",), ("word",), ("mention",)) and (
            words[:-1] in (("entity",), ("node",)) or (len(words) == 1 and _are_short(column, values))
        ):
            roles[column] = Role.NAME
            return
    id = next((column for column, role in roles.items() if role == Role.ID), None)
    if values is None or id is None:
        return
    if _are_words(id, values) and not all(looks_like_id(text_of(value)) for value in values(id)):
        return
    for column in left:
        texts = [text_of(value) for value in islice(values(column), SAMPLE) if value not in (None, "")]
        is_told = not are_types(texts) and not any(map(looks_like_id, texts))
        if is_told and _are_short(column, values) and _are_words(column, values):
            roles[column] = Role.NAME
            return


def _are_short(column: str, values: Values | None) -> bool:
    """Whether a column holds single values that are no longer than names."""
    cells = islice(values(column), SAMPLE) if values is not None else ()
    texts = [value for value in cells if value not in (None, "")]
    return bool(texts) and all(
        isinstance(text, str | int | float) and len(str(text)) <= LONGEST_NAME for text in texts
    )


def are_types(values: Iterable[Any], share: float = 2 / 3) -> bool:
    """Whether so few of the values differ that they are no names. share: of all, the most that differ."""
    texts = [text_of(value).strip() for value in islice(values, SAMPLE) if value not in (None, "")]
    if not texts:
        return False
    different = set(texts)
    return (len(texts) > 1 and len(different) <= share * len(texts)) or all(
        text.casefold() in COMMON_TYPES for text in different
    )


def _add_ends(roles: dict[str, str], columns: Sequence[str], values: Values | None, *, strict: bool) -> None:
    """Find the two columns that name the ends, and what else tells of an end."""
    sides: dict[tuple[str, ...], tuple[dict[str, End], dict[str, End]]] = {}
    for column in columns:
        for end in end_of(column):
            sides.setdefault(end.pair, ({}, {}))[end.is_target].setdefault(column, end)
    complete = [
        (pair, next(iter(sources.items())), next(iter(targets.items())))
        for pair, (sources, targets) in sides.items()
        if sources and targets
    ]
    order = [*PAIRS, *LETTERS, *COUNTED]
    third = {words_of(column) for column in columns if {"3", "c"} & set(words_of(column))}
    if third:  # one of many columns that are numbered
        complete = [found for found in complete if found[0][:2] not in COUNTED]
    complete.sort(
        key=lambda found: (found[0][2] not in NAME_WORDS | ID_WORDS, order.index((found[0][0], found[0][1])))
    )
    if strict and not any(key_of(column) in EDGE_KEYS[Role.TYPE] for column in columns):
        known = COUNTED_STEMS | LABEL_WORDS | TYPE_WORDS
        complete = [
            found for found in complete if found[0][:2] in COUNTED or set(found[0][2].split()) <= known
        ]
    given = {role for role in roles.values() if role in (Role.SOURCE, Role.TARGET)}
    base: tuple[str, ...] | None = None
    for kinds in ((Role.ID, Role.NAME), ("label",)):
        for pair, (_, end), _ in complete:
            if end.kind in kinds and base is None and not given:
                base = pair[:2]
        if base is not None:
            break
    if base is not None:
        own = [found for found in complete if found[0][:2] == base]
        ids = [found for found in own if found[1][1].kind == Role.ID]
        names = [found for found in own if found[1][1].kind == Role.NAME]
        labels = [found for found in own if found[1][1].kind == "label"]
        ends = (ids or names or labels)[0]
        roles[ends[1][0]], roles[ends[2][0]] = Role.SOURCE, Role.TARGET
        rest = [*names, *labels] if ids else labels if names and not _has_spaces(ends[1][0], values) else []
        for number, (_, (source, end), (target, _)) in enumerate(rest):
            is_type = end.kind == "label" and (values is None or are_types(values(source)))
            if is_type:
                roles[source], roles[target] = Role.SOURCE_TYPE, Role.TARGET_TYPE
            elif number == 0 and source not in roles and target not in roles:
                roles[source], roles[target] = Role.SOURCE_NAME, Role.TARGET_NAME
    elif not given:
        _add_mixed(roles, columns)
    if {Role.SOURCE, Role.TARGET} <= set(roles.values()):
        for sources, targets in sides.values():  # one end's type may be there alone
            for role, ends_there in ((Role.SOURCE_TYPE, sources), (Role.TARGET_TYPE, targets)):
                for column, end in ends_there.items():
                    if end.kind == Role.TYPE and column not in roles and role not in roles.values():
                        roles[column] = role


def _has_spaces(column: str, values: Values | None) -> bool:
    """Whether some of a column's values are several words: names then, whose labels describe them."""
    sample = islice(values(column), SAMPLE) if values is not None else ()
    return any(" " in text_of(value).strip() for value in sample)


def _add_mixed(roles: dict[str, str], columns: Sequence[str]) -> None:
    """Ends whose words are of two pairs, `source` and `object`, or that say more of one end; or columns that
    pandas numbered."""
    plain = [column for column in columns if column and not column.startswith("Unnamed: ")]
    if plain == ["0", "1", "2"]:
        roles.update(zip(plain, (Role.SOURCE, Role.TYPE, Role.TARGET), strict=True))
        return
    ends: list[str | None] = [None, None]
    for is_target in (False, True):
        words = [pair[is_target] for pair in (*PAIRS, *LETTERS[:-1])]
        candidates = [column for column in columns if key_of(column) in words]
        ends[is_target] = min(candidates, key=lambda column: words.index(key_of(column)), default=None)
    for is_target in (False, True):
        if ends[is_target] is None and ends[not is_target] is not None:
            fits = [
                (end, column) for column in columns for end in end_of(column) if end.is_target == is_target
            ]
            ends[is_target] = next((column for end, column in fits if end.kind in (Role.ID, Role.NAME)), None)
    source, target = ends
    if source is not None and target is not None and source != target:
        roles[source], roles[target] = Role.SOURCE, Role.TARGET


def _put_last(
    roles: dict[str, str],
    role: str,
    words: frozenset[str],
    values: Values | None,
    given: Mapping[str, str] | None,
) -> None:
    """Of several columns of a role, put those last whose every value says nothing: a `type` that is
    `node`.
    """
    several = [column for column, other in roles.items() if other == role]
    if values is None or len(several) < 2:
        return
    for column in several:
        texts = _different(column, values)
        if texts and texts <= words and column not in (given or {}):
            roles[column] = roles.pop(column)


def _different(column: str, values: Values) -> set[str]:
    """A column's different texts, whatever their case."""
    return {text_of(value).strip().casefold() for value in islice(values(column), SAMPLE)} - {""}


def _is_directedness(column: str, values: Values | None) -> bool:
    """Gephi's `Type`: Directed or Undirected."""
    if key_of(column) not in ("type", "directed") or values is None:
        return False
    texts = _different(column, values)
    return bool(texts) and texts <= (
        DIRECTEDNESS if key_of(column) == "type" else {"true", "false", "1", "0"}
    )


def _is_embedding(column: str) -> bool:
    return words_of(column)[-1:] in (("embedding",), ("embeddings",)) or key_of(column) in (
        "vector",
        "embeddingvector",
    )


def _is_weight(column: str, values: Values | None) -> bool:
    """`weight` always; of other words only a column of numbers."""
    return values is None or key_of(column) in ("weight", "가중치") or not _are_words(column, values)


def _are_words(column: str, values: Values | None) -> bool:
    """Whether a column holds no numbers."""
    return values is None or not all(
        is_number(value) for value in islice(values(column), SAMPLE) if value not in (None, "")
    )
