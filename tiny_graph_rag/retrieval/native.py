"""What other libraries' retrievers return, as plain entities, relations and passages.

Nothing of theirs is imported: an object is known by the attributes that it has. LangChain's `Document`,
LlamaIndex's `NodeWithScore`, `TextNode` and responses, LightRAG's and GraphRAG's context answers,
fast-graphrag's and HippoRAG's, the dictionaries and test cases of ragas and DeepEval.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import ItemsView, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.formats.runs import Retrieved
from tiny_graph_rag.formats.runs.json_forms import entity_of, is_score
from tiny_graph_rag.run import Passage, Relation

MOST_ITEMS = 100_000  # of one kind for one question: a generator that never ends is stopped here
LONGEST_TEXT = 1_000_000  # characters of a name, a passage, an answer
LONGEST_ID = 256  # a returned string without white space that is no longer may be a passage's id
ENTITIES = ("entities", "retrieved_entities", "retrieved")
RELATIONS = ("relations", "relationships", "triples", "triplets", "edges")
PASSAGES = (
    *("passages", "chunks", "contexts", "documents", "docs", "source_documents", "source_nodes"),
    *("retrieved_contexts", "retrieval_context", "sources", "text_units"),
)
ANSWERS = ("answer", "response", "actual_output")
SOURCE_END = (
    *("source", "src_id", "source_entity_id", "source_id", "source_node_id", "head", "subject"),
    *("start", "src", "from", "entity1"),
)
TARGET_END = (
    *("target", "tgt_id", "target_entity_id", "target_id", "target_node_id", "tail", "object"),
    *("end", "tgt", "to", "entity2"),
)
TYPES = ("type", "relationship_type", "relation_type", "relation", "relationship", "predicate", "label")
ENTITY_NAMES = ("name", "entity_name", "entity", "title", "label")
TEXTS = ("page_content", "text", "content", "chunk", "body")
IDS = ("id", "chunk_id", "node_id", "id_", "doc_id", "_id")
SOURCES = ("source", "file_path", "file_name", "title")
WANTED = (
    "wanted a list of names, (name, score) pairs or objects, or an object with such lists under 'entities', "
    "'relations' or 'passages'"
)
_ARROW = re.compile(r"(.{1,500}?)\s*(?:-\[|—|->|-)\s*(.{1,200}?)\s*(?:\]->|→|->)\s*(.{1,500})")
# LightRAG's `only_need_context`: a heading, then a block of one JSON object a line.
_SECTION = re.compile(
    r"(entit|relation|chunk|source)[^\n`]{0,60}\n+```(?:json|csv)?\n(.*?)\n```", re.I | re.S
)
_SECTION_KINDS = {
    "entit": "entities",
    "relation": "relations",
    "chunk": "passages",
    "source": "passages",
}


@dataclass(slots=True)
class Unpacked:
    """What one question brought, each kind best first; None where nothing was said of that kind."""

    entities: tuple[Retrieved, ...] | None = None
    relations: tuple[Relation, ...] | None = None
    passages: tuple[Passage, ...] | None = None
    answer: str | None = None
    context: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)


def unpacked(value: Any) -> Unpacked:
    """Whatever a retriever returned for one question. Raises ValueError: what was wanted, what came."""
    answer = None
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        answer, value = value  # GraphRAG's (response, context data)
    if isinstance(value, str):
        value = _sections(value)
    if not _has_lists(value):
        inner = _attribute(value, ("data", "context", "context_data"))
        if _has_lists(inner):
            answer, value = _attribute(value, ANSWERS), inner  # LightRAG's and fast-graphrag's
    if not _has_lists(value):
        return _of_list(value)
    entities, relations = _attribute(value, ENTITIES), _relations_in(value)
    passages = [given for name in PASSAGES if (given := _attribute(value, (name,))) is not None]
    context = _attribute(value, ("context",))
    if not passages and isinstance(context, list | tuple):
        passages = [context]
    found = Unpacked(
        None if entities is None else _entities(_items(entities, "entities")),
        None if relations is None else tuple(map(_relation, _items(relations, "relations"))),
        tuple(map(_passage, chain.from_iterable(_items(each, "passages") for each in passages)))
        if passages
        else None,
        _text(_attribute(value, ANSWERS) if answer is None else answer, "the answer"),
        _text("\n".join(map(str, context)) if isinstance(context, list | tuple) else context, "the context"),
    )
    usage = _attribute(value, ("usage", "token_usage"))
    if isinstance(usage, Mapping):
        found.usage = dict(usage)
    scores = _attribute(value, ("doc_scores",))
    if found.passages and scores is not None:  # HippoRAG's lists side by side
        pairs = zip(found.passages, scores, strict=False)
        found.passages = tuple(passage._replace(score=_score(score)) for passage, score in pairs)
    return found


def _has_lists(value: Any) -> bool:
    """Whether it is an object that says which list is of what kind."""
    if value is None or isinstance(value, str | bytes | list | tuple):
        return False
    named = (*ENTITIES, *RELATIONS, "paths", *PASSAGES)
    if isinstance(value, Mapping):
        listed = isinstance(value.get("context"), list | tuple)
        return listed or any(value.get(name) is not None for name in named)
    if hasattr(value, "page_content") or hasattr(value, "get_content"):  # a document, not a list of them
        return False
    return any(_is_listed(getattr(value, name, None)) for name in named)


def _is_listed(value: Any) -> bool:
    return isinstance(value, list | tuple | Set | Mapping) or hasattr(value, "to_dict")


def _of_list(value: Any) -> Unpacked:
    """A bare list: its items say what they are. Mixed ones are taken apart, each kind in its own order."""
    if isinstance(value, Mapping) and value and all(is_score(score) for score in value.values()):
        value = [list(pair) for pair in value.items()]  # {name: score}
    if isinstance(value, Mapping):
        keys = ", ".join(repr(key)[:60] for key in islice(value, 12)) or "none"
        raise ValueError(f"{WANTED}, got an object with the keys {keys}")
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ValueError(f"{WANTED}, got {json_kind(value)}")
    by_kind: dict[str, list[Any]] = {"entities": [], "relations": [], "passages": []}
    for item in _items(value, "the returned list"):
        by_kind[_kind(item)].append(item)
    entities, relations, passages = by_kind.values()
    return Unpacked(
        _entities(entities) if entities or not (relations or passages) else None,
        tuple(map(_relation, relations)) if relations else None,
        tuple(map(_passage, passages)) if passages else None,
    )


def _items(value: Any, what: str) -> list[Any]:
    """The list, checked for an order and an end. Raises ValueError."""
    if isinstance(value, Set) and not isinstance(value, KeysView | ItemsView):
        raise ValueError(
            f"{what}: a {type(value).__name__} has no order, which a ranking needs. Return a list, best first"
        )
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a DataFrame, as GraphRAG's contexts are
        rows = value.to_dict("records")
        # Its `id` numbers the rows of this one context.
        return [{name: each[name] for name in each if name != "id" or "text" in each} for each in rows]
    if hasattr(value, "tolist") and not isinstance(value, list):
        value = value.tolist()
    if isinstance(value, Mapping) and all(is_score(score) for score in value.values()):
        value = [list(pair) for pair in value.items()]
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{what} must be a list, got {json_kind(value)}")
    items = list(islice(iter(value), MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS:
        raise ValueError(f"{what} has more than {MOST_ITEMS:,} items. Return the best first and stop there")
    return items


def _entities(items: Sequence[Any]) -> tuple[Retrieved, ...]:
    problems: list[str] = []
    found = [entity_of(_plain_entity(item), "the returned list", problems) for item in items]
    if problems:
        raise ValueError(problems[0])
    return tuple(_short(each) for each in found if each is not None)


def _short(place: Retrieved) -> Retrieved:
    name, id, score, *more = place
    text, type, source = (_text(value, "an entity's text") or "" for value in more)
    return Retrieved(
        _text(name, "an entity's name") or "", _text(id, "an id") or "", _finite(score), text, type, source
    )


def _plain_entity(item: Any) -> Any:
    """A name, a pair or an object of strings and numbers, as `formats.runs` reads them."""
    item, score = _with_score(item)
    if isinstance(item, str):
        return item if score is None else [item, score]
    if isinstance(item, list | tuple | bytes | bool | int | float) or item is None:
        return item if score is None else [item, score]
    names = ("id", "score", "text", "type", "source")
    fields = {name: _scalar(_attribute(item, (name,))) for name in names}
    if "text" not in _keys(item):
        fields.pop("text")
    fields["name"] = _scalar(_attribute(item, ENTITY_NAMES))
    fields["type"] = fields["type"] or _scalar(_attribute(item, ("entity_type",)))
    if score is not None:
        fields["score"] = score
    return fields if any(value is not None for value in fields.values()) else item


def _keys(item: Any) -> Iterable[str]:
    return item if isinstance(item, Mapping) else getattr(item, "__dict__", ())


def _relations_in(value: Any) -> Iterable[Any] | None:
    """Relations, and those of paths: a path is a list of triples, or of names and types by turns."""
    given, paths = _attribute(value, RELATIONS), _attribute(value, ("paths",))
    if paths is None:
        return given  # type: ignore[no-any-return]
    steps: dict[Any, None] = {}
    for path in _items(paths, "paths"):
        parts = list(path) if isinstance(path, Iterable) and not isinstance(path, str) else [path]
        if all(isinstance(part, str) for part in parts) and len(parts) % 2:
            triples: list[Any] = [tuple(parts[at : at + 3]) for at in range(0, len(parts) - 2, 2)]
        else:
            triples = parts
        steps.update(dict.fromkeys(map(_relation, triples)))
    return [*([] if given is None else _items(given, "relations")), *steps]


def _kind(item: Any) -> str:
    """What an item of a bare list is: a text is a passage, three words or two ends are a relation."""
    item, _ = _with_score(item)
    if isinstance(item, Relation):
        return "relations"
    if isinstance(item, list | tuple) and not hasattr(item, "_fields"):
        is_triple = len(item) == 3 and not is_score(item[1]) and not is_score(item[2])
        return "relations" if is_triple else "entities"
    if isinstance(item, str | bytes) or item is None or _attribute(item, ENTITY_NAMES[:-1]) is not None:
        return "entities"
    if _body(item) is not None:
        return "passages"
    two_ends = _attribute(item, SOURCE_END) is not None and _attribute(item, TARGET_END) is not None
    return "relations" if two_ends else "entities"


def _relation(item: Any) -> Relation:
    """Of a triple, an object with two ends, or `A -[TYPE]-> B`. Raises ValueError."""
    if isinstance(item, Relation):
        return item
    item, score = _with_score(item)
    if isinstance(item, str) and (arrow := _ARROW.fullmatch(item.strip())):
        item = arrow.groups()
    id = ""
    if isinstance(item, list | tuple) and len(item) in (3, 4):
        source, type, target = item[:3]
        score = _score(item[3]) if len(item) == 4 else score
    elif isinstance(item, list | tuple | str) or item is None:
        raise ValueError(
            f"a relation must be (source, type, target) or an object with 'source' and 'target', "
            f"got {json_kind(item)}"
        )
    else:
        source, target = _attribute(item, SOURCE_END), _attribute(item, TARGET_END)
        type = _attribute(item, TYPES)
        id = _name_of(_attribute(item, ("id", "relation_id", "relationship_id")))
        score = _score(_attribute(item, ("score",))) if score is None else score
    found = Relation(_name_of(source), _name_of(target), _name_of(type), id, _finite(score))
    if not id and not (found.source and found.target):
        raise ValueError(
            "a relation must be (source, type, target) or an object with 'source' and 'target' that are "
            f"names or ids, got {json_kind(item)}"
        )
    return found


def _name_of(value: Any) -> str:
    """An end or a type, by itself or as an object that has a name, an id or a label."""
    if value is not None and not isinstance(value, str | int | float):
        value = _attribute(value, (*ENTITY_NAMES, "id"))
    return _text(None if value is None or isinstance(value, bool) else _scalar(value), "a name") or ""


def _passage(item: Any) -> Passage:
    """Of a text, an id, or an object that has one of them. Raises ValueError."""
    item, score = _with_score(item)
    if isinstance(item, str) and item.strip():
        text = _text(item, "a passage") or ""
        is_id = len(text) <= LONGEST_ID and not any(map(str.isspace, text))
        return Passage(text if is_id else "", text, "", score)
    if isinstance(item, str | bytes | list | tuple | int | float) or item is None:
        raise ValueError(f"a passage must be a text, or an object with 'text' or 'id', got {json_kind(item)}")
    score = _score(_attribute(item, ("score",))) if score is None else score
    node = _attribute(item, ("node",))  # LlamaIndex wraps a node and its score
    item = item if node is None else node
    about = _attribute(item, ("metadata",))
    about = about if isinstance(about, Mapping) else {}
    id, source = _attribute(item, IDS), _attribute(item, SOURCES)
    id = _attribute(about, IDS) if id is None else id
    source = _attribute(about, SOURCES) if source is None else source
    found = Passage(
        _text(_scalar(id), "a passage's id") or "",
        _text(_body(item), "a passage") or "",
        _text(_scalar(source), "a passage's source") or "",
        score,
    )
    if not found.id and not found.text:
        raise ValueError(f"a passage must be a text, or an object with 'text' or 'id', got {json_kind(item)}")
    return found


def _body(item: Any) -> str | None:
    """The text of a chunk, document or node."""
    node = _attribute(item, ("node",))
    item = item if node is None else node
    text = _attribute(item, TEXTS)
    if text is None and hasattr(item, "get_content"):
        text = item.get_content()
    return text if isinstance(text, str) else None


def _with_score(item: Any) -> tuple[Any, float | None]:
    """(item, score) of a pair whose second is a number; the item alone otherwise."""
    if isinstance(item, list | tuple) and not hasattr(item, "_fields") and len(item) == 2:
        score = _scalar(item[1])
        if is_score(score):
            return item[0], float(score)
    return item, None


def _attribute(value: Any, names: Sequence[str]) -> Any:
    """The first of these that it has, as a key or as an attribute; None without one."""
    if isinstance(value, Mapping):
        return next((value[name] for name in names if value.get(name) is not None), None)
    if value is None or isinstance(value, str | bytes | int | float | list | tuple):
        return None
    for name in names:
        given = getattr(value, name, None)
        if given is not None and not callable(given):
            return given
    return None


def _scalar(value: Any) -> Any:
    """Numbers and strings of numpy as Python's."""
    return value.item() if hasattr(value, "item") and not isinstance(value, Mapping) else value


def _score(value: Any) -> float | None:
    value = _scalar(value)
    return float(value) if is_score(value) else None


def _finite(score: float | None) -> float | None:
    if score is not None and not math.isfinite(score):
        raise ValueError(f"a score must be a finite number, got {score}")
    return score


def _text(value: Any, what: str) -> str | None:
    """Plain characters that a file can hold: halves of characters (a cut emoji) become "?"."""
    if value is None:
        return None
    text = str.__str__(value) if isinstance(value, str) else str(value)
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{what} has {len(text):,} characters; at most {LONGEST_TEXT:,} are taken")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _sections(text: str) -> Any:
    """LightRAG's context in words as its lists; other texts as they are."""
    found: dict[str, list[Any]] = {}
    for heading, block in _SECTION.findall(text):
        rows = []
        for line in block.splitlines():
            try:
                row = json.loads(line.strip().strip(",[]"))
            except ValueError:
                continue
            if isinstance(row, dict):
                rows.append({name: row[name] for name in row if name != "id"})
        found.setdefault(_SECTION_KINDS[heading.lower()], []).extend(rows)
    return found or text
