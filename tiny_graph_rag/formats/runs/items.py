"""One item of what a retriever returned: an entity, a relation or a passage, from any of the usual shapes.

Objects of other libraries are known by their attributes; nothing of theirs is imported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tiny_graph_rag.errors import json_kind, wrong_value
from tiny_graph_rag.formats.records import is_id, keys_of
from tiny_graph_rag.formats.runs import Retrieved
from tiny_graph_rag.formats.words import (
    ENTITY_NAMES,
    PASSAGE_IDS,
    PASSAGE_SOURCES,
    PASSAGE_TEXTS,
    RELATION_TYPES,
    SOURCE_END,
    TARGET_END,
)
from tiny_graph_rag.run import Passage, Relation

LONGEST_ID = 256  # a returned string without white space that is no longer may be a passage's id
_ARROW = re.compile(r"(.{1,500}?)\s*(?:-\[|—|->|-)\s*(.{1,200}?)\s*(?:\]->|→|->)\s*(.{1,500})")


def is_score(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    return isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**300
    )


def entity_of(value: Any) -> Retrieved:
    """A place of a ranking: of a name, a (name, score) pair, or an object with a name or an id, by its keys
    or its attributes. Raises ValueError."""
    if isinstance(value, Retrieved):
        return value
    item, score = with_score(value)
    if is_id(item):
        return Retrieved(plain_text(item) or "", score=score)
    found = [scalar(attribute(item, names)) for names in (ENTITY_NAMES, ("id",), ("text",))]
    name, id, text = (str(one) if is_id(one) else "" for one in found)
    if not (name or id or text):
        raise wrong_value(
            "an entity must be a name, a [name, score] pair or an object with 'name' or 'id', got "
            "{got}{keys}",
            got=json_kind(value),
            keys=keys_of(item),
        )
    given = scalar(attribute(item, ("score",))) if score is None else score
    if given is not None and not is_score(given):
        raise wrong_value("'score' of an entity must be a number, got {got}", got=json_kind(given))
    return Retrieved(name or ("" if id else text), id, None if given is None else float(given), text)


def kind_of(item: Any) -> str:
    """What an item of a bare list is: a text is a passage, three words or two ends are a relation."""
    item, _ = with_score(item)
    if isinstance(item, Relation):
        return "relations"
    if is_list(item):
        is_triple = len(item) == 3 and not is_score(item[1]) and not is_score(item[2])
        return "relations" if is_triple else "entities"
    if isinstance(item, str | bytes) or item is None or attribute(item, ENTITY_NAMES) is not None:
        return "entities"
    if _body(item) is not None or attribute(item, PASSAGE_IDS[1:]) is not None:
        return "passages"
    two_ends = attribute(item, SOURCE_END) is not None and attribute(item, TARGET_END) is not None
    return "relations" if two_ends else "entities"


def relation_of(item: Any) -> Relation:
    """Of a triple, an object with two ends, or `A -[TYPE]-> B`. Raises ValueError."""
    if isinstance(item, Relation):
        return item
    item, score = with_score(item)
    if isinstance(item, str) and (arrow := _ARROW.fullmatch(item.strip())):
        item = arrow.groups()
    id = ""
    if is_list(item) and len(item) in (3, 4):
        source, type, target = item[:3]
        score = score_of(item[3]) if len(item) == 4 else score
    else:
        source, target = attribute(item, SOURCE_END), attribute(item, TARGET_END)
        type = attribute(item, RELATION_TYPES)
        id = _name_of(attribute(item, ("id", "relation_id", "relationship_id")))
        score = score_of(attribute(item, ("score",))) if score is None else score
    found = Relation(_name_of(source), _name_of(target), _name_of(type), id, finite(score))
    if not id and not (found.source and found.target):
        raise wrong_value(
            "a relation must be (source, type, target) or an object with 'source' and 'target' that are "
            "names or ids, got {got}",
            got=json_kind(item),
        )
    return found


def _name_of(value: Any) -> str:
    """An end or a type, by itself or as an object that has a name, an id or a label."""
    if value is not None and not isinstance(value, str | int | float):
        value = attribute(value, (*ENTITY_NAMES, "label", "id"))
    return plain_text(None if isinstance(value, bool) else scalar(value)) or ""


def passage_of(item: Any) -> Passage:
    """Of a text, an id, or an object that has one of them. Raises ValueError."""
    item, score = with_score(item)
    if isinstance(item, str) and item.strip():
        text = plain_text(item) or ""
        is_id = len(text) <= LONGEST_ID and not any(map(str.isspace, text))
        return Passage(text if is_id else "", text, "", score)
    score = score_of(attribute(item, ("score",))) if score is None else score
    node = attribute(item, ("node",))  # LlamaIndex wraps a node and its score
    item = item if node is None else node
    about = attribute(item, ("metadata",))
    about = about if isinstance(about, Mapping) else {}
    id, source = attribute(item, PASSAGE_IDS), attribute(item, PASSAGE_SOURCES)
    id = attribute(about, PASSAGE_IDS) if id is None else id
    source = attribute(about, PASSAGE_SOURCES) if source is None else source
    found = Passage(
        plain_text(scalar(id)) or "",
        plain_text(_body(item)) or "",
        plain_text(scalar(source)) or "",
        score,
    )
    if not found.id and not found.text:
        raise wrong_value(
            "a passage must be a text, or an object with 'text' or 'id', got {got}", got=json_kind(item)
        )
    return found


def _body(item: Any) -> str | None:
    """The text of a chunk, document or node, which LlamaIndex wraps with its score."""
    node = attribute(item, ("node",))
    item = item if node is None else node
    text = attribute(item, PASSAGE_TEXTS)
    if text is None and hasattr(item, "get_content"):
        text = item.get_content()
    return text if isinstance(text, str) else None


def with_score(item: Any) -> tuple[Any, float | None]:
    """(item, score) of a pair whose second is a number; the item alone otherwise."""
    if is_list(item) and len(item) == 2:
        score = scalar(item[1])
        if is_score(score):
            return item[0], float(score)
    return item, None


def is_list(value: Any) -> bool:
    """Whether it is a list or a tuple, and no record with named fields."""
    return isinstance(value, list | tuple) and not hasattr(value, "_fields")


def attribute(value: Any, names: Sequence[str]) -> Any:
    """The first of these that it has, as a key or as an attribute; None without one."""
    if isinstance(value, Mapping):
        return next((value[name] for name in names if value.get(name) is not None), None)
    if value is None or is_list(value) or isinstance(value, str | bytes | int | float):
        return None
    for name in names:
        given = getattr(value, name, None)
        if given is not None and not callable(given):
            return given
    return None


def scalar(value: Any) -> Any:
    """Numbers and strings of numpy as Python's."""
    return value.item() if hasattr(value, "item") and not isinstance(value, Mapping) else value


def score_of(value: Any) -> float | None:
    value = scalar(value)
    return float(value) if is_score(value) else None


def finite(score: float | None) -> float | None:
    if score is not None and not math.isfinite(score):
        raise wrong_value("a score must be a finite number, got {score}", score=score)
    return score


def plain_text(value: Any) -> str | None:
    """Plain characters that a file can hold: halves of characters (a cut emoji) become "?"."""
    if value is None:
        return None
    text = str.__str__(value) if isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
