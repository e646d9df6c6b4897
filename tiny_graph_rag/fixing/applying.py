"""A patch applied to a graph in memory, and the gold set held to the entities that it meant before.

A change to the graph must not change what the questions are judged by: an alias on the right entity would
otherwise also make references resolvable, and a merge would make two of them one. So every reference keeps
the entities that it meant on the graph as it was. Only a reference that meant nothing may mean something
afterwards, and only an entity that was restored or renamed back from the older graph.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.config import Config, find_setting
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    REJECTED,
    Alias,
    Entry,
    Merge,
    Patch,
    PatchError,
    Rename,
    RestoredEntity,
    RestoredRelation,
    Status,
    Words,
    ids_of,
)
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.patterns import with_patterns
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.tables import Entities, Relations
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.study.settings import can_be_tried


def apply(graph: KnowledgeGraph, patch: Patch, statuses: Sequence[Status] = (CONFIRMED,)) -> KnowledgeGraph:
    """The graph with the entries of these statuses applied; settings are not the graph's and do nothing here.

    Raises PatchError for every entry, rejected ones apart, that names an entity, a type or an end that the
    graph lacks, that restores an id in use, and for merges that contradict each other.
    """
    problems = list(_problems(graph, patch))
    if problems:
        raise PatchError(*problems)
    chosen = patch.only(*statuses)
    worded = with_words(graph, ((entry.type, word) for entry in chosen.vocabulary for word in entry.words))
    if not any(ids_of(entry) for _, entry in chosen.entries()):
        return worded
    tables = _Tables(graph)
    for entity in chosen.restored_entities:
        tables.restore(entity)
    tables.restore_relations(chosen.restored_relations)
    for alias in chosen.aliases:
        tables.add_alias(alias.entity_id, alias.alias)
    for rename in chosen.renames:
        tables.add_alias(rename.entity_id, rename.was)
    for dropped, kept in kept_ids(chosen.merges).items():
        tables.merge(dropped, kept)
    made = tables.graph()
    return replace(
        made, name=graph.name, sha256=graph.sha256, origin=graph.origin, vocabulary=worded.vocabulary
    )


def with_words(graph: KnowledgeGraph, words: Iterable[tuple[str, str]]) -> KnowledgeGraph:
    """The graph with these (type, word) pairs in its vocabulary; what was derived of it stays."""
    vocabulary = {type: tuple(known) for type, known in graph.vocabulary.items()}
    for type, word in words:
        vocabulary[type] = tuple(dict.fromkeys([*vocabulary.get(type, ()), word]))
    return replace(graph, vocabulary=vocabulary)


def kept_ids(merges: Iterable[Merge]) -> dict[str, str]:
    """Dropped id → the id that stands for it in the end. Merges must not contradict each other."""
    parents = {dropped: merge.keep_id for merge in merges for dropped in merge.drop_ids}
    found = {}
    for dropped, kept in parents.items():
        while kept in parents:
            kept = parents[kept]
        found[dropped] = kept
    return found


def frozen(
    examples: EvalSet,
    graph: KnowledgeGraph,
    patched: KnowledgeGraph,
    patch: Patch,
    statuses: Sequence[Status] = (CONFIRMED,),
) -> EvalSet:
    """The gold set with every reference held to what it meant on `graph`, as rows of `patched`."""
    examples = with_patterns(graph, examples)
    if patched.entities is graph.entities:
        return examples
    chosen, names = patch.only(*statuses), NameIndex.of(graph)
    kept, ids = kept_ids(chosen.merges), graph.entities.ids
    returned: dict[str, set[str]] = {}
    for rename in chosen.renames:
        returned.setdefault(fold(rename.was), set()).add(rename.entity_id)
    for entity in chosen.restored_entities:
        for name in (entity.name, *entity.aliases):
            returned.setdefault(fold(name), set()).add(entity.id)
    meanings = dict(examples.meanings)
    for name in {
        name for example in examples for name in (*example.relevant_entities, *example.irrelevant_entities)
    }:
        entities, level = meanings[name] if name in meanings else names.resolve_reference(name)
        meant = {ids[entity] for entity in entities} or returned.get(fold(name), set())
        rows = tuple(sorted({patched.row_of_id[kept.get(id, id)] for id in meant}))
        meanings[name] = rows, level if entities or not rows else "alias"
    return replace(examples, meanings=meanings)


def patched(
    graph: KnowledgeGraph, examples: EvalSet, patch: Patch, statuses: Sequence[Status] = (CONFIRMED,)
) -> tuple[KnowledgeGraph, EvalSet]:
    """The graph with a patch applied, and the gold set that goes with it. Raises PatchError as `apply`."""
    made = apply(graph, patch, statuses)
    return made, frozen(examples, graph, made, patch, statuses)


def _problems(graph: KnowledgeGraph, patch: Patch) -> Iterator[Said]:
    """What no longer fits the graph, an entry a sentence; rejected entries may be stale."""
    known = set(graph.entities.ids)
    types = {*graph.relations.types.names, *graph.entities.types.names}
    entries = [(place, entry) for place, entry in patch.entries() if entry.status != REJECTED]
    restored = Counter(entry.id for _, entry in entries if isinstance(entry, RestoredEntity))
    kept_by: dict[str, str] = {}
    for place, entry in entries:
        if isinstance(entry, RestoredEntity) and (entry.id in known or restored[entry.id] > 1):
            yield said(
                "{place}: the id {id} is already used in the graph {graph}; give the restored "
                "entity another id",
                place=place,
                id=repr(entry.id),
                graph=graph.name,
            )
        if isinstance(entry, Merge):
            yield from _contradictions(place, entry, kept_by)
        for field, value, is_sound in _values_of(entry):
            if not is_sound:
                yield said(
                    "{place}: {field} can't be {value}; correct it, or set the entry's status to rejected",
                    place=place,
                    field=field,
                    value=repr(value),
                )
        for id in ids_of(entry):
            if id not in known and (isinstance(entry, Merge) or id not in restored):
                yield said(
                    "{place}: the graph {graph} has no entity {id}; run `fix` again on this graph, or set "
                    "the entry's status to rejected",
                    place=place,
                    graph=graph.name,
                    id=repr(id),
                )
        if isinstance(entry, Words) and entry.type not in types:
            yield said(
                "{place}: the graph {graph} has no relation or entity type {type}; run `fix` again on this "
                "graph, or set the entry's status to rejected",
                place=place,
                graph=graph.name,
                type=repr(entry.type),
            )


def _values_of(entry: Entry) -> Iterator[tuple[str, object, bool]]:
    """(field, value, whether a graph can hold it) of the names and weights that an entry brings."""
    match entry:
        case Alias():
            yield "alias", entry.alias, bool(entry.alias.strip())
        case Rename():
            yield "was", entry.was, bool(entry.was.strip())
        case RestoredEntity():
            yield "name", entry.name, bool(entry.name.strip())
        case RestoredRelation():
            yield "weight", entry.weight, 0 <= entry.weight < math.inf


def _contradictions(place: str, merge: Merge, kept_by: dict[str, str]) -> Iterator[Said]:
    """kept_by: dropped id → kept id so far; gets those of this merge."""
    for dropped in merge.drop_ids:
        root = merge.keep_id
        while root in kept_by and root != dropped:
            root = kept_by[root]
        if root == dropped or kept_by.get(dropped, merge.keep_id) != merge.keep_id:
            yield said(
                "{place}: {id} is merged into two entities, or into itself; keep one of these merges",
                place=place,
                id=repr(dropped),
            )
        else:
            kept_by[dropped] = merge.keep_id


class _Tables:
    """A graph's columns as lists that can be changed; `graph` puts them together again."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        known = graph.entities
        self.before, self.relations = graph, graph.relations
        self.entities = SimpleNamespace(**{one.name: list(getattr(known, one.name)) for one in fields(known)})
        self.rows = dict(graph.row_of_id)
        self.moved: dict[int, int] = {}

    def add_alias(self, entity_id: str, alias: str) -> None:
        row, known = self.rows[entity_id], self.entities
        if alias != known.names[row] and alias not in known.aliases[row]:
            known.aliases[row] = [*known.aliases[row], alias]

    def restore(self, entity: RestoredEntity) -> None:
        self.rows[entity.id] = len(self.entities.ids)
        self.entities.ids.append(entity.id)
        self.entities.names.append(entity.name)
        self.entities.types.append(entity.type or UNKNOWN_TYPE)
        self.entities.descriptions.append(entity.description)
        self.entities.aliases.append([*entity.aliases])
        self.entities.source_chunks.append([*entity.source_chunks])
        self.entities.details.append("")

    def restore_relations(self, relations: Sequence[RestoredRelation]) -> None:
        """A relation whose end was restored by an entry that is not applied waits for that entry."""
        whole = [one for one in relations if one.source_id in self.rows and one.target_id in self.rows]
        if not whole:
            return
        old, rows = self.relations, self.rows
        taken, ids = set(old.ids), [f"restored-{number}" for number in range(1, len(whole) + 1)]
        while taken.intersection(ids):
            ids = [f"{id}'" for id in ids]
        self.relations = Relations(
            ids=Strings.of([*old.ids, *ids]),
            sources=np.append(old.sources, np.array([rows[one.source_id] for one in whole], dtype=np.int32)),
            targets=np.append(old.targets, np.array([rows[one.target_id] for one in whole], dtype=np.int32)),
            types=Categories.of([*old.types, *(one.type or UNKNOWN_RELATION for one in whole)]),
            descriptions=Strings.of([*old.descriptions, *(one.description for one in whole)]),
            weights=np.append(old.weights, [one.weight for one in whole]),
            source_chunks=StringLists.of([*old.source_chunks, *(one.source_chunks for one in whole)]),
            details=Strings.of([*old.details, *("" for _ in whole)]),
        )

    def merge(self, dropped_id: str, kept_id: str) -> None:
        gone, row, known = self.rows[dropped_id], self.rows[kept_id], self.entities
        for spelling in (known.names[gone], *known.aliases[gone]):
            self.add_alias(kept_id, spelling)
        chunks = dict.fromkeys([*known.source_chunks[row], *known.source_chunks[gone]])
        texts = dict.fromkeys([known.descriptions[row], known.descriptions[gone]])
        known.source_chunks[row] = list(chunks)
        known.descriptions[row] = "\n".join(filter(None, texts))
        known.details[row] = _joined_details(known.details[row], known.details[gone])
        self.moved[gone] = row

    def graph(self) -> KnowledgeGraph:
        rows, old = range(len(self.entities.ids)), self.relations
        kept = [row for row in rows if row not in self.moved]
        place_of = {row: place for place, row in enumerate(kept)}
        place = np.array([place_of[self.moved.get(row, row)] for row in rows], dtype=np.int32)
        columns: dict[str, Any] = {
            name: type(getattr(self.before.entities, name)).of([values[row] for row in kept])
            for name, values in vars(self.entities).items()
        }
        entities = Entities(**columns)
        relations = replace(old, sources=place[old.sources], targets=place[old.targets])
        return KnowledgeGraph.of(entities, relations, notes=self.before.notes)


def _joined_details(kept: str, dropped: str) -> str:
    """Attributes and unknown keys of both; where both have one, the kept entity's counts."""
    if not kept or not dropped:
        return kept or dropped
    first: dict[str, Any] = json.loads(kept)
    second: dict[str, Any] = json.loads(dropped)
    joined = {**second, **first}
    if isinstance(first.get("attributes"), dict) and isinstance(second.get("attributes"), dict):
        joined["attributes"] = {**second["attributes"], **first["attributes"]}
    return json.dumps(joined, ensure_ascii=False)


VARIED = ("retriever", "hops", "exclude_seeds", "linker", "fuzzy", "max_degree", "text_seeds")


def with_patch(config: Config, patch: Patch, name: str) -> Config:
    """The configuration with a patch's confirmed settings. name: of its file, for messages.

    A file that came from somebody else must not run code or send questions away, so only settings that `fix`
    itself tries are taken. Raises PatchError for any other, and for a value that can't be.
    """
    for place, entry in enumerate(patch.settings):
        if entry.status != CONFIRMED:
            continue
        for key, value in entry.values.items():
            if key not in VARIED or not find_setting(key).accepts(value):
                raise PatchError(
                    "{file}: settings[{place}]: {key}: {value} isn't allowed in a patch; allowed "
                    "settings: {allowed}",
                    file=name,
                    place=place,
                    key=key,
                    value=repr(value)[:60],
                    allowed=", ".join(VARIED),
                )
        config = config.replaced(entry.values)
        if not can_be_tried(config):
            raise PatchError(
                "{file}: settings[{place}]: these settings would run code or ask a service; give them as "
                "options instead",
                file=name,
                place=place,
            )
    return config
