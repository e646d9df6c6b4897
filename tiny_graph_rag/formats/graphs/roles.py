"""What columns of entities and relations are: one vocabulary (words.py) for every form.

JSON, JSONL, CSV, TSV, Parquet and tables of databases all name the same few things: `source_id`, `from`,
`head_entity`, `주어`. Keys are compared as words (`sourceEntityId`, `source_entity_id` and `Source Entity ID`
are one key), and what a table calls its columns is decided once, from all of its columns and some of their
values: `source` is where a relation begins, unless `subject` and `object` are there; then it is a document.

Before that counts what the user calls them (named.py).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from tiny_graph_rag.formats.graphs.base import EDGE_NAMES, NODE_NAMES, NONE, Columns
from tiny_graph_rag.formats.graphs.table import (
    HEADLESS,
    SAMPLE,
    Table,
    admin_kind,
    key_of,
    words_of,
)
from tiny_graph_rag.formats.tables import is_number
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
    LONE,
    MISSING,
    NAME_WORDS,
    NO_TYPES,
    NODE_KEYS,
    OTHER_WORDS,
    PAIRS,
    TIME_PAIRS,
    TYPE_WORDS,
    UNUSED_KEYS,
    Role,
)
from tiny_graph_rag.graph.building import looks_like_id
from tiny_graph_rag.language.kinds import is_date

LONGEST_NAME = 120
MOST_TYPES = 2 / 3  # of the values of a column of types, those that differ
LABEL = "label"  # a kind of columns at an end: a name or a type
KINDS = ((Role.ID, ID_WORDS), (Role.TYPE, TYPE_WORDS), (LABEL, LABEL_WORDS))
ALL_PAIRS = (*PAIRS, *LETTERS, *COUNTED)
TYPE_STEMS = {"type", "relation", "predicate"}
TIME = re.compile(r"(1[0-9]|20)[0-9]{2}(-[0-9]{1,2}(-[0-9]{1,2}([T ].*)?)?)?")


def edge_roles(
    table: Table, given: Columns = NONE, *, strict: bool = False, known: Collection[str] = ()
) -> dict[str, str]:
    """What each column of a table of relations is: column → role, in the order in which they count.

    Without `SOURCE` and `TARGET` among them it is no such table. strict: for a line that may be a triple:
    only words that are a header's. known: ids and names of entities, most of which the columns of ends hold
    where no words tell them.
    """
    roles = given.roles(EDGE_NAMES, table.names)
    left = [column for column in table.names if column not in roles]
    if not {Role.SOURCE, Role.TARGET} & set(roles.values()):
        usable = [column for column in left if column not in HEADLESS and not _is_time(table, column)]
        _add_ends(roles, table, usable, strict)
        roles |= _without_header(table, known) if HEADLESS[0] in left else {}
    if known and not has_ends(roles):
        texts = {column: table.texts(column) for column in left}
        ends = [name for name in left if 2 * sum(text in known for text in texts[name]) > len(texts[name])]
        roles.update(zip(ends, (Role.SOURCE, Role.TARGET), strict=True) if len(ends) == 2 else ())
    _add_keys(roles, table, {Role.DIRECTED: ("directed", "type"), **EDGE_KEYS, Role.UNUSED: ("key",)})
    if Role.TYPE not in roles.values():  # `partnership_type`, `relation_en`
        rest = [name for name in left if name not in roles and not re.search(r"\d", name)]  # not `m2Type`
        kinds = [name for name in rest if TYPE_STEMS & {*words_of(name)[:1], *words_of(name)[-1:]}]
        roles.update(dict.fromkeys(kinds, Role.TYPE))
    return _deciding(roles, table, given)


def _without_header(table: Table, known: Collection[str]) -> dict[str, str]:
    """Of a table without a header: source, relation, target; or the ends that are known; or, where the first
    and the third share no name, those that share most of theirs, or stand before weights."""
    fields = [name for name in HEADLESS if name in table.names]
    texts = list(map(table.texts, fields))
    seen, ends = list(map(set, texts)), (0, len(fields) - 1)
    numbers = [bool(several) and all(map(is_number, several)) for several in texts]
    if len(fields) == len(HEADLESS) and known:
        held = [sum(text in known for text in several) for several in texts]
        ends = (0, 1) if held[1] > held[2] else ends
    elif len(fields) == len(HEADLESS) and not seen[0] & seen[2]:
        for pair in ((1, 2), (0, 1)):
            first, second = (seen[at] for at in pair)
            if len(first & second) * 2 >= min(len(first), len(second)) > 1:
                ends = pair
        ends = (0, 1) if numbers[2] and not numbers[0] else ends
    roles = dict.fromkeys(fields, Role.TYPE)
    for at in set(range(len(fields))) - {*ends}:
        roles[fields[at]] = Role.WEIGHT if numbers[at] and ends != (0, 2) else Role.TYPE
    return roles | {fields[ends[0]]: Role.SOURCE, fields[ends[1]]: Role.TARGET}


def node_roles(table: Table, given: Columns = NONE) -> dict[str, str]:
    """The same for a table of entities. Without `ID` and `NAME` among them it is no such table.

    `label` is a name, unless there are few of them: then they are types.
    """
    roles = given.roles(NODE_NAMES, table.names)
    left = [column for column in table.names if column not in roles]
    _add_keys(roles, table, NODE_KEYS)
    for column in left:
        if admin_kind(column) == "LABEL":
            roles[column] = Role.TYPE
        elif key_of(column) == "label":
            _add_label(roles, table, column)
    if Role.ID not in roles.values():
        _add_id(roles, table, left)
    _add_languages(roles, left)
    if not any(_share(table, name) == 1 for name in of_role(roles, Role.NAME)):
        _add_name(roles, table, left)
    return _deciding(roles, table, given)


def _add_ends(roles: dict[str, str], table: Table, columns: Sequence[str], strict: bool) -> None:
    """Find the two columns that name the ends, by their ids, else by their names, else by labels; what else
    there is of them tells of them."""
    kinds = (Role.ID, Role.NAME, LABEL)
    usable = [pair for pair in pairs_of(columns, strict) if pair.kind in kinds]
    if not usable:
        return
    if len({pair.words for pair in usable}) > 1:  # what few relations say is a detail of theirs
        usable = [pair for pair in usable if _share(table, pair.source) >= 0.5] or usable
    words = min(usable, key=lambda pair: pair.kind == LABEL).words
    own = [pair for pair in usable if pair.words == words]
    ends, *more = sorted(own, key=lambda pair: kinds.index(pair.kind))
    roles[ends.source], roles[ends.target] = Role.SOURCE, Role.TARGET
    if ends.kind == Role.NAME and any(" " in text for text in table.texts(ends.source)):
        more = []  # names, which labels describe
    for pair in more:
        names = ends.kind == Role.ID or (ends.rest, pair.rest) == ("", "name")  # `from` next to `from_name`
        names = names and 2 * len({*table.texts(pair.source)}) >= len({*table.texts(ends.source)})
        if pair.kind == LABEL and are_types(table.texts(pair.source) or ["person"]):
            roles[pair.source], roles[pair.target] = Role.SOURCE_TYPE, Role.TARGET_TYPE
        elif (names or pair.kind == LABEL) and Role.SOURCE_NAME not in roles.values():
            roles[pair.source], roles[pair.target] = Role.SOURCE_NAME, Role.TARGET_NAME
    for column in (column for column in columns if column not in roles):  # one end's type may be there alone
        end = next(filter(None, (end_of(column, pair) for pair in (words, *PAIRS))), None)
        role = (Role.SOURCE_TYPE, Role.TARGET_TYPE)[end is not None and end.is_target]
        if end is not None and end.kind == Role.TYPE and role not in roles.values():
            roles[column] = role


def names_ends(columns: Sequence[str], given: Columns = NONE, *, strict: bool = False) -> bool:
    """Whether columns of these names hold relations. strict: as `edge_roles` has it."""
    return has_ends(edge_roles(Table.of_header(columns), given, strict=strict))


def has_ends(roles: Mapping[str, str]) -> bool:
    return {Role.SOURCE, Role.TARGET} <= set(roles.values())


def names_entities(columns: Sequence[str], given: Columns = NONE) -> bool:
    """Whether columns of these names hold entities."""
    return bool({Role.ID, Role.NAME} & set(node_roles(Table.of_header(columns), given).values()))


def of_role(roles: Mapping[str, str], *wanted: str) -> list[str]:
    """The columns of some roles, in the order in which they count."""
    return [column for column, role in roles.items() if role in wanted]


def _add_keys(roles: dict[str, str], table: Table, vocabulary: Mapping[str, tuple[str, ...]]) -> None:
    """Give columns the role under which the vocabulary has their key, in its order."""
    for column in table.names:
        if column not in roles and _says_nothing(table, column):
            roles[column] = Role.UNUSED
    for role, keys in {**vocabulary, Role.CHUNKS: CHUNK_KEYS}.items():
        known = [column for column in table.names if key_of(column) in keys]
        for column in sorted(known, key=lambda name: keys.index(key_of(name))):
            if column not in roles and _may_be(role, table, column):
                roles[column] = role


def _may_be(role: str, table: Table, column: str) -> bool:
    """Whether a column's values fit a role: types are a line each, weights are numbers, groups are none."""
    key = key_of(column)
    if role == Role.DIRECTED:  # Gephi's `Type`: Directed or Undirected
        return _hold_only(table, column, DIRECTEDNESS[key])
    if role == Role.TYPE and (
        column[:1] == "_" or any("\n" in text or "<br" in text for text in table.texts(column))
    ):
        return False  # a program's own, such as LlamaIndex's `_node_type`; what a page shows of it
    if role == Role.TYPE and key in ("title", "value"):
        return not any(any(map(str.isdigit, text)) for text in table.texts(column))
    if role == Role.WEIGHT:
        return key in ("weight", "가중치") or not table.texts(column) or not _are_words(table, column)
    return key != "group" or (_are_words(table, column) and not _hold_only(table, column, NO_TYPES))


def _deciding(roles: dict[str, str], table: Table, given: Columns) -> dict[str, str]:
    """Roles of columns that decide: one behind a column without an empty cell is a detail, and a type that
    says nothing (`node`), or not of each row, stands behind the others."""
    types = of_role(roles, Role.TYPE)
    for column in types if len(types) > 1 else ():
        says_all = _share(table, column) == 1 and not _hold_only(table, column, NO_TYPES)
        if column not in given.named.values() and not says_all:
            roles[column] = roles.pop(column)
    for role in set(roles.values()) - {Role.ALIASES, Role.UNUSED, Role.DETAIL}:
        is_full = False
        for column in of_role(roles, role):
            if is_full:
                roles[column] = Role.DETAIL
            is_full = is_full or _share(table, column) == 1
    return roles


def _share(table: Table, column: str) -> float:
    """Of the rows those that say something there; 0 where there is no row."""
    return sum(cell not in (None, "") for cell in table.cells(column)) / max(table.rows, 1)


# --- which columns tell of the ends: pairs of columns in the same words (`source_id` and `target_id`,
# `entity_1` and `entity_2`), by their names alone


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
            fits = bool(before) or (pair in LONE and not after)
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
        if last in words:
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
            if rest in sides[1] and (rest or words not in LONE or len(columns) > len(HEADLESS))
        ]
    if strict and not any(key_of(column) in EDGE_KEYS[Role.TYPE] for column in columns):
        known = COUNTED_STEMS | LABEL_WORDS | TYPE_WORDS
        found = [pair for pair in found if pair.words in COUNTED or set(pair.rest.split()) <= known]
    return sorted(found, key=lambda pair: pair.rest not in NAME_WORDS | ID_WORDS)


# --- entities


def _add_label(roles: dict[str, str], table: Table, column: str) -> None:
    """A column `label` among entities: a name, a type or a detail."""
    ids, names = of_role(roles, Role.ID), of_role(roles, Role.NAME)
    labels = [text for text in table.texts(column) if text not in MISSING]
    count, share = len(labels), MOST_TYPES
    if ids and labels:  # an id may stand in several rows
        pairs = zip(map(str, table.first_of(ids) or ()), map(str, table.cells(column)), strict=True)
        count = len({*islice(pairs, SAMPLE)})
        texts = table.texts(ids[0])
        if not names and all(map(looks_like_id, texts)) and not all(map(is_number, texts)):
            share /= 2  # nothing else names
    types = [type for type in of_role(roles, Role.TYPE) if not _hold_only(table, type, NO_TYPES)]
    if not any(_share(table, type) == 1 for type in types) and are_types(labels, share, count):
        roles[column] = Role.TYPE
    elif any(key_of(other) != "title" for other in names):  # it names those that they leave empty
        roles[column] = Role.DETAIL if are_types(labels) else Role.NAME
    else:  # a title next to a label is what a page shows of it
        roles.update(dict.fromkeys(names, Role.DETAIL))
        roles[column] = Role.NAME


def _add_languages(roles: dict[str, str], columns: Sequence[str]) -> None:
    """`label_en`, `name_zh`: the first language is the name where no column is, the others are aliases."""
    told = {}
    for column in columns:
        first, *rest = words_of(column) or ("",)
        if first in ("name", "label", "title") and len(rest) == 1 and rest[0] in LANGUAGES:
            told[column] = LANGUAGES.index(rest[0])
    for column in sorted(told, key=lambda column: told[column]):
        roles[column] = Role.ALIASES if Role.NAME in roles.values() else Role.NAME


def _add_id(roles: dict[str, str], table: Table, columns: Sequence[str]) -> None:
    """The first column such as `movieId` whose values all differ."""
    for column in columns:
        texts = table.texts(column)
        is_id = len(words_of(column)) > 1 and words_of(column)[-1] in ("id", "key", "code", "uri", "iri")
        if column not in roles and is_id and texts and len(set(texts)) == table.rows:
            roles[column] = Role.ID
            return


def _add_name(roles: dict[str, str], table: Table, columns: Sequence[str]) -> None:
    """A name by its looks: `username`, `umls_concept`, `text`; where ids say nothing, the first short texts.
    Few of its values are equal."""
    left = [column for column in columns if roles.get(column, Role.DETAIL) == Role.DETAIL]
    for column in left:
        last = (words_of(column) or ("",))[-1]
        is_text = last in ("text", "value", "word", "mention", "concept", "term") and _are_short(
            table, column
        )
        if (last.endswith(("name", "names")) or is_text) and not are_types(table.texts(column)):
            roles[column] = Role.NAME
            return
    ids = [text for column in of_role(roles, Role.ID) for text in table.texts(column)]
    if ids and (all(map(is_number, ids)) or all(map(looks_like_id, ids))):
        for column in left:
            texts = table.texts(column)
            says = not are_types(texts) and not any(map(looks_like_id, texts))
            if says and _are_short(table, column) and _are_words(table, column):
                roles[column] = Role.NAME
                return


# --- values


def are_types(texts: Sequence[str], share: float = MOST_TYPES, count: int = 0) -> bool:
    """Whether so few texts differ that they are no names. share: of all, the most that differ. count: of
    all, where some stand there several times for one entity."""
    count, different = count or len(texts), set(texts)
    is_common = all(text.casefold() in COMMON_TYPES for text in different)
    return bool(different) and (is_common or (count > 1 and len(different) <= share * count))


def _are_words(table: Table, column: str) -> bool:
    """Whether a column holds no numbers, as far as is known."""
    texts = table.texts(column)
    return not texts or not all(map(is_number, texts))


def _are_short(table: Table, column: str) -> bool:
    """Whether a column holds single values that are no longer than names."""
    texts = table.texts(column)
    return bool(texts) and all(len(text) <= LONGEST_NAME and text[:1] not in ("[", "{") for text in texts)


def _hold_only(table: Table, column: str, words: frozenset[str]) -> bool:
    texts = {text.casefold() for text in table.texts(column)}
    return bool(texts) and texts <= words


def _says_nothing(table: Table, column: str) -> bool:
    """pandas' row numbers, vectors, and what follows from the graph or places it on paper."""
    key = key_of(column)
    is_place = key in ("x", "y") and {"x", "y"} <= set(map(key_of, table.names))
    return (
        not column
        or column.startswith("Unnamed: ")
        or words_of(column)[-1:] in (("embedding",), ("embeddings",))
        or key in UNUSED_KEYS
        or ((is_place or key == "degree") and not _are_words(table, column))
    )


def _is_time(table: Table, column: str) -> bool:
    """Whether a column `from`, `to`, `start` or `end` holds years or dates."""
    texts = (
        table.texts(column) if any(word in pair for pair in TIME_PAIRS for word in words_of(column)) else []
    )
    return bool(texts) and all(
        TIME.fullmatch(text) or (is_date(text) and not text.isdecimal()) for text in texts
    )
