"""What columns of entities and relations are called: one vocabulary for every form.

JSON, JSONL, CSV, TSV, Parquet and tables of databases all name the same few things: `source_id`, `from`,
`head_entity`, `주어`. Keys are compared as words (`sourceEntityId`, `source_entity_id` and `Source Entity ID`
are one key), and what a table calls its columns is decided once, from all of its columns and some of their
values: `source` is where a relation begins, unless `subject` and `object` are there; then it is a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from tiny_graph_rag.formats.graphs.rows import (
    ALIASES,
    CHUNKS,
    DESCRIPTION,
    DETAIL,
    DIRECTED,
    ID,
    NAME,
    SOURCE,
    SOURCE_NAME,
    SOURCE_TYPE,
    TARGET,
    TARGET_NAME,
    TARGET_TYPE,
    TYPE,
    UNUSED,
    WEIGHT,
    text_of,
)

# Of two columns of one role, the one that is named first here counts.
NODE_KEYS: dict[str, tuple[str, ...]] = {
    ID: (
        "id", "entityid", "nodeid", "vertexid", "conceptid", "uid", "uuid", "guid", "identifier", "key",
        "iri",
        "uri", "nid", "eid", "식별자", "아이디", "编号", "標識",
    ),
    NAME: (
        "name", "entityname", "nodename", "conceptname", "displayname", "preferredname", "preflabel",
        "fullname",
        "title", "entity", "names", "node", "vertex", "concept", "term", "이름", "명칭", "개체", "개체명",
        "엔티티", "노드",
        "名称", "名字", "名稱", "实体", "实体名", "實體", "名前",
    ),
    TYPE: (
        "entitytype", "nodetype", "type", "types", "labels", "nodelabel", "nodelabels", "entitylabel",
        "category",
        "categories", "kind", "class", "entityclass", "semantictype", "group", "유형", "개체유형", "종류",
        "타입",
        "분류", "类型", "类别", "實體類型", "類型", "种类", "タイプ",
    ),
    DESCRIPTION: (
        "description", "desc", "entitydescription", "summary", "definition", "observations", "설명",
        "정의", "描述",
        "说明", "简介", "描述", "説明",
    ),
    ALIASES: ("aliases", "alias", "altlabels", "altlabel", "synonyms", "alsoknownas", "별칭", "이명", "别名",
    "別名"),
}  # fmt: skip
EDGE_KEYS: dict[str, tuple[str, ...]] = {
    ID: ("id", "edgeid", "relationid", "relationshipid", "relid", "linkid", "tripleid"),
    TYPE: (
        "relationshiptype", "relationtype", "reltype", "edgetype", "linktype", "relation", "relationship",
        "relations", "rel", "predicate", "pred", "edgelabel", "relationlabel", "relationshiplabel",
        "relationname",
        "relationshipname", "relname", "predicatelabel", "interaction", "interactiontype", "metaedge", "edge",
        "type", "label", "labels", "property", "verb", "kind", "name", "title", "p", "r", "관계", "관계유형",
        "관계명", "술어", "서술어", "유형", "关系", "关系类型", "关系名", "關係", "谓语", "谓词", "謂語",
        "関係", "述語",
    ),
    DESCRIPTION: (
        "description", "desc", "relationshipdescription", "relationdescription", "edgedescription",
        "explanation",
        "설명", "관계설명", "描述", "说明", "説明",
    ),
    WEIGHT: (
        "weight", "edgeweight", "relationshipweight", "strength", "relationshipstrength", "score",
        "weights", "value", "가중치", "权重",
        "权重", "權重",
    ),
}  # fmt: skip
CHUNK_KEYS = (
    "sourceid", "sourceids", "sourcechunks", "sourcechunk", "sourcechunkid", "chunks", "chunkid", "chunkids",
    "textunitids", "tripletsourceid", "sourcefile", "sourcedoc", "sourcedocument", "docid", "documentid",
    "source",
)  # fmt: skip
# Words for both ends. Pairs are tried in this order, so a `source` next to `subject` and `object` is no end.
PAIRS = (
    ("subject", "object"), ("subj", "obj"), ("head", "tail"), ("source", "target"), ("src", "dst"),
    ("src", "tgt"), ("source", "destination"), ("source", "dest"), ("src", "dest"), ("src", "target"),
    ("from", "to"), ("start", "end"), ("origin", "destination"), ("주어", "목적어"), ("주체", "객체"),
    ("출발점", "도착점"), ("출발", "도착"), ("시작", "끝"), ("머리", "꼬리"), ("원본", "대상"),
    ("主语", "宾语"),
    ("主語", "賓語"), ("主語", "目的語"), ("主体", "客体"), ("头", "尾"), ("頭", "尾"), ("源", "目标"),
    ("源", "目標"), ("起点", "终点"), ("始点", "終点"),
)  # fmt: skip
LETTERS = (
    ("s", "o"),
    ("h", "t"),
    ("u", "v"),
    ("x", "y"),
)  # these alone say too little, but for the first three
COUNTED = (("1", "2"), ("a", "b"), ("i", "j"), ("一", "二"))  # entity_1 and entity_2, node_a and node_b
ID_WORDS = frozenset(
    {"id", "ids", "key", "uid", "uuid", "guid", "index", "idx", "iri", "uri", "code", "no", "编号"}
)
NAME_WORDS = frozenset(
    {
        "", "name", "entity", "ent", "node", "vertex", "concept", "term", "title", "text", "value", "이름",
        "명",
        "노드", "개체", "엔티티", "实体", "實體", "节点", "名称", "名",
    }
)  # fmt: skip
LABEL_WORDS = frozenset({"label", "labels"})
TYPE_WORDS = frozenset(
    {"type", "types", "kind", "category", "class", "group", "유형", "종류", "类型", "類型"}
)
# What a pair of columns may be about that is no end: `start_date` and `end_date`.
OTHER_WORDS = frozenset(
    {
        "date", "time", "datetime", "timestamp", "ts", "year", "month", "day", "at", "hour", "age", "page",
        "line",
        "char", "offset", "pos", "position", "span", "token", "column", "row", "lat", "lon", "lng",
        "latitude",
        "longitude", "degree", "weight", "score", "count", "description", "desc", "embedding",
        "embeddings", "chunk",
        "chunks", "doc", "document", "file", "port", "handle", "arrow", "color", "url", "properties",
        "날짜", "일",
        "sentence", "length", "size", "x", "y", "amount", "price",
    }
)  # fmt: skip
COUNTED_STEMS = ID_WORDS | NAME_WORDS | {
    "e", "n", "v", "item", "person", "gene", "protein", "drug", "interactor", "user", "character", "actor",
    "author",
    "word", "element", "member", "object", "subject", "entities", "nodes",
}  # fmt: skip
DIRECTEDNESS = frozenset({"directed", "undirected", "mixed", "mutual"})
NO_TYPES = frozenset(
    {"node", "nodes", "entity", "vertex", "edge", "link", "relationship", "relation", "default", "custom"}
)
# What a label says where a graph is too small for counting.
COMMON_TYPES = frozenset(
    {
        "person", "people", "character", "location", "place", "city", "country", "organization",
        "organisation", "org",
        "company", "event", "product", "concept", "topic", "category", "date", "animal", "object", "movie",
        "film",
        "book", "author", "disease", "drug", "gene", "protein", "symptom", "technology", "skill", "group",
        "인물",
        "사람", "장소", "도시", "조직", "회사", "사건", "개념", "동물", "제품", "人物", "地点", "组织",
        "公司", "事件",
    }
)  # fmt: skip
LONGEST_NAME = 120
SAMPLE = 10_000  # values of a column that are looked at

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_ADMIN = re.compile(
    r"(?P<name>[^:]*):(?P<kind>ID|START_ID|END_ID|TYPE|LABEL|IGNORE|[a-z]+(?:\[\])?)"
    r"(?:\((?P<space>[^()]*)\))?(?:\{.*\})?",
)

Values = Callable[[str], Iterable[Any]]  # of a column


class AdminColumn(NamedTuple):
    """A column as neo4j-admin's import names it: `personId:ID(Person)`, `since:int`, `:TYPE`."""

    name: str
    kind: str
    space: str


def admin_column(column: str) -> AdminColumn | None:
    """None for a plain name."""
    match = _ADMIN.fullmatch(column.strip())
    return AdminColumn(match["name"], match["kind"], match["space"] or "") if match else None


@lru_cache(maxsize=1 << 12)
def words_of(column: str) -> tuple[str, ...]:
    """`sourceEntityID`, `source_entity_id` → source, entity, id."""
    admin = admin_column(column)
    if admin is not None and admin.kind.isupper():
        column = admin.kind
    elif admin is not None:
        column = admin.name
    return tuple(word.casefold() for word in _WORD.findall(column))


def key_of(column: str) -> str:
    """`Entity Type`, `entityType` → `entitytype`."""
    return "".join(words_of(column))


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
    for kind, words in ((ID, ID_WORDS), (TYPE, TYPE_WORDS), ("label", LABEL_WORDS)):
        if last in words or (
            len(rest) == 1 and last.endswith(tuple(words)) and last not in NAME_WORDS and len(last) > 4
        ):
            return kind
    return NAME


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
    _add_ends(roles, left, values, strict=strict)
    left = [column for column in left if column not in roles]
    for column in left:
        if not column or column.startswith("Unnamed: "):  # pandas' row numbers
            roles[column] = UNUSED
        elif _is_directedness(column, values):
            roles[column] = DIRECTED
        elif key_of(column) == "key" or _is_embedding(column):
            roles[column] = UNUSED
    _add_keys(roles, left, EDGE_KEYS, lambda role, column: role != WEIGHT or _is_weight(column, values))
    _put_last(roles, TYPE, NO_TYPES, values, given)
    return roles


def node_roles(
    columns: Sequence[str], values: Values | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The same for a table of entities. Without `ID` and `NAME` among them it is no such table.

    `label` is a name, unless there are few of them: then they are types.
    """
    roles = dict(given or {})
    left = [column for column in columns if column not in roles]
    for column in left:
        if _is_embedding(column):
            roles[column] = UNUSED
    _add_keys(
        roles, left, NODE_KEYS, lambda role, column: key_of(column) != "group" or _are_words(column, values)
    )
    for column in left:
        admin = admin_column(column)
        if admin is not None and admin.kind == "LABEL":
            roles[column] = TYPE
        elif key_of(column) == "label":
            _add_label(roles, column, values)
    if NAME not in roles.values() and ID in roles.values():
        _add_name(roles, left, values)
    _put_last(roles, TYPE, NO_TYPES, values, given)
    return roles


def _add_keys(
    roles: dict[str, str],
    columns: Sequence[str],
    vocabulary: Mapping[str, tuple[str, ...]],
    fits: Callable[[str, str], bool],
) -> None:
    """Give columns the role under which the vocabulary has their key, in its order.

    fits: whether a column may have a role.
    """
    for role, keys in {**vocabulary, CHUNKS: CHUNK_KEYS}.items():
        place = {key: number for number, key in enumerate(reversed(keys))}
        known = [column for column in columns if key_of(column) in place]
        for column in sorted(known, key=lambda name: -place[key_of(name)]):
            if column not in roles and fits(role, column):
                roles[column] = role


def _add_label(roles: dict[str, str], column: str, values: Values | None) -> None:
    """A column `label` among entities: a name, a type or a detail."""
    typed = [other for other, role in roles.items() if role == TYPE]
    id = next((other for other, role in roles.items() if role == ID), None)
    labels: Iterable[Any] = values(column) if values is not None else ()
    if values is not None and id is not None:  # an id may stand in several rows
        labels = {text_of(key): label for key, label in zip(values(id), labels, strict=True)}.values()
    named = [other for other, role in roles.items() if role == NAME]
    if not typed and are_types(labels):
        roles[column] = TYPE
    elif any(key_of(other) != "title" for other in named):
        roles[column] = DETAIL
    else:  # a title next to a label is what a page shows of it
        for other in named:
            roles[other] = DETAIL
        roles[column] = NAME


def _add_name(roles: dict[str, str], columns: Sequence[str], values: Values | None) -> None:
    """A name by its looks: `username`, `name_en`, `entity_text`; where ids are numbers, the first short texts
    of which few are equal."""
    left = [column for column in columns if column not in roles or roles[column] == DETAIL]
    for column in left:
        words = words_of(column)
        if (
            words[:1] == ("name",)
            or words[-1:] in (("name",), ("names",))
            or (words and words[-1].endswith("name"))
        ):
            roles[column] = NAME
            return
        if len(words) == 2 and words[0] in ("entity", "node") and words[1] in ("text", "value", "word"):
            roles[column] = NAME
            return
    id = next(column for column, role in roles.items() if role == ID)
    if values is None or _are_words(id, values):
        return
    for column in left:
        texts = [
            text_of(value).strip() for value in islice(values(column), SAMPLE) if value not in (None, "")
        ]
        if (
            texts
            and max(map(len, texts)) <= LONGEST_NAME
            and not are_types(texts)
            and _are_words(column, values)
        ):
            roles[column] = NAME
            return


def are_types(values: Iterable[Any]) -> bool:
    """Whether so few of the values differ that they are no names."""
    texts = [text_of(value).strip() for value in islice(values, SAMPLE) if value not in (None, "")]
    if not texts:
        return False
    different = set(texts)
    return (len(texts) > 1 and 3 * len(different) <= 2 * len(texts)) or all(
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
    if strict and not any(key_of(column) in EDGE_KEYS[TYPE] for column in columns):
        known = COUNTED_STEMS | LABEL_WORDS | TYPE_WORDS
        complete = [
            found for found in complete if found[0][:2] in COUNTED or set(found[0][2].split()) <= known
        ]
    given = {role for role in roles.values() if role in (SOURCE, TARGET)}
    base: tuple[str, ...] | None = None
    for kinds in ((ID, NAME), ("label",)):
        for pair, (_, end), _ in complete:
            if end.kind in kinds and base is None and not given:
                base = pair[:2]
        if base is not None:
            break
    if base is not None:
        own = [found for found in complete if found[0][:2] == base]
        ids = [found for found in own if found[1][1].kind == ID]
        names = [found for found in own if found[1][1].kind == NAME]
        labels = [found for found in own if found[1][1].kind == "label"]
        ends = (ids or names or labels)[0]
        roles[ends[1][0]], roles[ends[2][0]] = SOURCE, TARGET
        rest = [*names, *labels] if ids else labels if names else []
        for number, (_, (source, end), (target, _)) in enumerate(rest):
            is_type = end.kind == "label" and (values is None or are_types(values(source)))
            if is_type:
                roles[source], roles[target] = SOURCE_TYPE, TARGET_TYPE
            elif number == 0 and source not in roles and target not in roles:
                roles[source], roles[target] = SOURCE_NAME, TARGET_NAME
    elif not given:
        _add_mixed(roles, columns)
    if {SOURCE, TARGET} <= set(roles.values()):
        for sources, targets in sides.values():  # one end's type may be there alone
            for role, ends_there in ((SOURCE_TYPE, sources), (TARGET_TYPE, targets)):
                for column, end in ends_there.items():
                    if end.kind == TYPE and column not in roles and role not in roles.values():
                        roles[column] = role


def _add_mixed(roles: dict[str, str], columns: Sequence[str]) -> None:
    """Ends whose words are of two pairs, `source` and `object`, or that say more of one end; or columns that
    pandas numbered."""
    plain = [column for column in columns if column and not column.startswith("Unnamed: ")]
    if plain == ["0", "1", "2"]:
        roles.update(zip(plain, (SOURCE, TYPE, TARGET), strict=True))
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
            ends[is_target] = next((column for end, column in fits if end.kind in (ID, NAME)), None)
    source, target = ends
    if source is not None and target is not None and source != target:
        roles[source], roles[target] = SOURCE, TARGET


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
        texts = {text_of(value).strip().casefold() for value in islice(values(column), SAMPLE)} - {""}
        if texts and texts <= words and column not in (given or {}):
            roles[column] = roles.pop(column)


def _is_directedness(column: str, values: Values | None) -> bool:
    """Gephi's `Type`: Directed or Undirected."""
    if key_of(column) not in ("type", "directed") or values is None:
        return False
    texts = {text_of(value).strip().casefold() for value in islice(values(column), SAMPLE)} - {""}
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
    if values is None or key_of(column) in ("weight", "가중치"):
        return True
    return all(_is_number(value) for value in islice(values(column), SAMPLE) if value not in (None, ""))


def _are_words(column: str, values: Values | None) -> bool:
    """Whether a column holds no numbers."""
    return values is None or not all(
        _is_number(value) for value in islice(values(column), SAMPLE) if value not in (None, "")
    )


def are_numbers(values: Sequence[str]) -> bool:
    """Whether all of some cells are numbers."""
    return bool(values) and all(map(_is_number, values))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
