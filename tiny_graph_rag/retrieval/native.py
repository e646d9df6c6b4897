"""What other libraries' retrievers return, as plain entities, relations and passages.

Nothing of theirs is imported: an object is known by the attributes that it has. LangChain's `Document`,
LlamaIndex's `NodeWithScore`, `TextNode` and responses, LightRAG's and GraphRAG's context answers,
fast-graphrag's and HippoRAG's, the dictionaries and test cases of ragas and DeepEval.
"""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from itertools import chain, islice
from typing import Any

from tiny_graph_rag.errors import RunError, at, json_kind
from tiny_graph_rag.formats.runs import Retrieved, failure_of, in_order
from tiny_graph_rag.formats.runs.items import (
    attribute,
    entity_of,
    finite,
    is_score,
    kind_of,
    passage_of,
    plain_text,
    relation_of,
    score_of,
)
from tiny_graph_rag.messages import said
from tiny_graph_rag.run import Passage, Relation

KINDS = ("entities", "relations", "passages")
MOST_ITEMS = 100_000  # of one kind for one question: a generator that never ends is stopped here
ENTITIES = ("entities", "retrieved_entities", "retrieved")
RELATIONS = ("relations", "relationships", "triples", "triplets", "edges")
PASSAGES = (
    *("passages", "chunks", "contexts", "documents", "docs", "source_documents", "source_nodes"),
    *("retrieved_contexts", "retrieval_context", "sources", "text_units"),
)
ANSWERS = ("answer", "response", "actual_output")
WANTED = (
    "wanted a list of names, (name, score) pairs or objects, or an object with such lists under 'entities', "
    "'relations' or 'passages'"
)


@dataclass(frozen=True, slots=True)
class OwnReply:
    """What one question brought. entities, relations, passages: best first, None where it returned nothing
    of that kind. error: why it failed, None otherwise. usage: amounts and words."""

    entities: tuple[Retrieved, ...] | None = None
    relations: tuple[Relation, ...] | None = None
    passages: tuple[Passage, ...] | None = None
    seconds: float = 0.0
    error: str | None = None
    answer: str | None = None
    context: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        listed = {
            kind: [item._asdict() for item in values[kind]] for kind in KINDS if values[kind] is not None
        }
        return values | listed


def reply_of(value: Any) -> OwnReply:
    """Whatever a retriever returned for one question. Raises ValueError: what was wanted, what came."""
    answer = None
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        answer, value = value  # GraphRAG's (response, context data)
    if not _has_lists(value):
        inner = attribute(value, ("data", "context", "context_data"))
        if _has_lists(inner):
            answer, value = attribute(value, ANSWERS), inner  # LightRAG's and fast-graphrag's
    if not _has_lists(value):
        return _of_list(value)
    entities, relations = attribute(value, ENTITIES), attribute(value, RELATIONS)
    passages = [given for name in PASSAGES if (given := attribute(value, (name,))) is not None]
    context = attribute(value, ("context",))
    if not passages and isinstance(context, list | tuple):
        passages = [context]
    usage, scores = attribute(value, ("usage", "token_usage")), attribute(value, ("doc_scores",))
    error = failure_of(attribute(value, ("error",)))
    found = tuple(map(passage_of, chain.from_iterable(_items(passage, "passages") for passage in passages)))
    if found and scores is not None:  # HippoRAG's lists side by side
        pairs = zip(found, scores, strict=False)
        found = tuple(passage._replace(score=score_of(score)) for passage, score in pairs)
    reply = OwnReply(
        None if entities is None else _entities(_items(entities, "entities")),
        None if relations is None else tuple(map(relation_of, _items(relations, "relations"))),
        found if passages else None,
        answer=plain_text(attribute(value, ANSWERS) if answer is None else answer),
        context=plain_text("\n".join(map(str, context)) if isinstance(context, list | tuple) else context),
        usage=_usage(usage),
    )
    if error is not None and not (reply.entities or reply.relations or reply.passages):
        raise ValueError(error)
    return reply


def reply_from(given: dict[str, Any]) -> OwnReply:
    """Of `as_dict`, from a journal or another process. Raises ValueError or KeyError where it is none."""
    seconds, error = score_of(given["seconds"]), given["error"]
    if seconds is None or not math.isfinite(seconds):
        raise ValueError
    if error is not None:
        return OwnReply(seconds=seconds, error=str(error))
    kinds = {kind: given[kind] for kind in KINDS if given.get(kind) is not None}
    reply = reply_of({**kinds, **{name: given.get(name) for name in ("answer", "context", "usage")}})
    return replace(reply, seconds=seconds)


def error_text(error: BaseException) -> str:
    """Type and first line of an error, whatever its own methods do; nobody's traceback."""
    try:
        line = plain_text(next(iter(str(error).splitlines()), "")[:300]) or ""
    except BaseException:
        line = ""
    line = "".join(sign if sign.isprintable() else " " for sign in line).strip()
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _usage(given: Any) -> dict[str, Any]:
    """Amounts and words; what is neither is left out."""
    usage: dict[str, Any] = {}
    for name, amount in given.items() if isinstance(given, Mapping) else ():
        key = plain_text(name) or ""
        if isinstance(amount, str):
            usage[key] = plain_text(amount)
        elif is_score(amount) and math.isfinite(amount) and amount >= 0:
            usage[key] = amount
    return usage


def _has_lists(value: Any) -> bool:
    """Whether it is an object that says which list is of what kind."""
    if value is None or isinstance(value, str | bytes | list | tuple):
        return False
    named = (*ENTITIES, *RELATIONS, *PASSAGES)
    if isinstance(value, Mapping):
        listed = isinstance(value.get("context"), list | tuple)
        return listed or any(value.get(name) is not None for name in named)
    if hasattr(value, "page_content") or hasattr(value, "get_content"):  # a document, not a list of them
        return False
    return any(_is_listed(getattr(value, name, None)) for name in named)


def _is_listed(value: Any) -> bool:
    return isinstance(value, list | tuple | Set | Mapping) or hasattr(value, "to_dict")


def _of_list(value: Any) -> OwnReply:
    """A bare list: its items say what they are. Mixed ones are taken apart, each kind in its own order."""
    if isinstance(value, Mapping) and value and all(is_score(score) for score in value.values()):
        value = [list(pair) for pair in value.items()]  # {name: score}
    if isinstance(value, Mapping):
        keys = ", ".join(repr(key)[:60] for key in islice(value, 12)) or "none"
        raise ValueError(said("{wanted}, got an object with the keys {keys}", wanted=said(WANTED), keys=keys))
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ValueError(said("{wanted}, got {got}", wanted=said(WANTED), got=json_kind(value)))
    by_kind: dict[str, list[Any]] = {"entities": [], "relations": [], "passages": []}
    for item in _items(value, "the returned list"):
        by_kind[kind_of(item)].append(item)
    entities, relations, passages = by_kind.values()
    return OwnReply(
        _entities(entities) if entities or not (relations or passages) else None,
        tuple(map(relation_of, relations)) if relations else None,
        tuple(map(passage_of, passages)) if passages else None,
    )


def _items(value: Any, what: str) -> list[Any]:
    """The list, checked for an order and an end. Raises ValueError."""
    if isinstance(value, Set) and not isinstance(value, KeysView | ItemsView):
        raise ValueError(
            said(
                "{what}: a {kind} has no order. Return a list, best first",
                what=what,
                kind=type(value).__name__,
            )
        )
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a DataFrame, as GraphRAG's contexts are
        rows = value.to_dict("records")
        # Its `id` numbers the rows of this one context.
        return [{name: row[name] for name in row if name != "id" or "text" in row} for row in rows]
    if hasattr(value, "tolist") and not isinstance(value, list):
        value = value.tolist()
    if isinstance(value, Mapping) and all(is_score(score) for score in value.values()):
        value = [list(pair) for pair in value.items()]
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(said("{what} must be a list, got {got}", what=what, got=json_kind(value)))
    items = list(islice(iter(value), MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS:
        raise ValueError(
            said(
                "{what} has more than {most_items} items; return only the best ones",
                what=what,
                most_items=f"{MOST_ITEMS:,}",
            )
        )
    return items


def _entities(items: Sequence[Any]) -> tuple[Retrieved, ...]:
    try:
        found = list(map(entity_of, items))
    except ValueError as error:
        raise ValueError(at("the returned list", error)) from error
    try:
        return tuple(in_order(list(map(_short, found)), "the returned list"))
    except RunError as error:
        raise ValueError(str(error)) from error


def _short(place: Retrieved) -> Retrieved:
    name, id, text = (plain_text(value) or "" for value in (place.name, place.id, place.text))
    return Retrieved(name, id, finite(place.score), text)
