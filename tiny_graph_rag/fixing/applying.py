"""A patch applied to a graph in memory, and the gold set held to the entities that it meant before.

A change to the graph must not change what the questions are judged by: an alias on the right entity would
otherwise also make references resolvable, and a merge would make two of them one. So every reference keeps
the entities that it meant on the graph as it was. Only a reference that meant nothing may mean something
afterwards, and only an entity that was restored or renamed back from the older graph.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.config import Config, find_setting
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    REJECTED,
    Entry,
    Merge,
    Patch,
    PatchError,
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
    restore = chosen.restore
    if not (chosen.aliases or chosen.merges or restore.renames or restore.entities or restore.relations):
        return worded
    tables = _Tables(graph)
    tables.restore(restore.entities, restore.relations)
    for entity_id, name in chain(
        ((entry.entity_id, entry.alias) for entry in chosen.aliases),
        ((entry.entity_id, entry.was) for entry in restore.renames),
    ):
        tables.add_alias(entity_id, name)
    tables.merge(kept_ids(chosen.merges))
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
    row_of = patched.row_of_id
    kept = kept_ids(chosen.merges)
    returned: dict[str, set[int]] = {}
    spellings = chain(
        ((entry.was, entry.entity_id) for entry in chosen.restore.renames),
        ((name, entry.id) for entry in chosen.restore.entities for name in (entry.name, *entry.aliases)),
    )
    for name, id in spellings:
        returned.setdefault(fold(name), set()).add(row_of[kept.get(id, id)])
    ids, meanings = graph.entities.ids, dict(examples.meanings)
    written = chain.from_iterable(
        (*example.relevant_entities, *example.irrelevant_entities) for example in examples
    )
    for name in dict.fromkeys(written):
        entities, level = meanings[name] if name in meanings else names.resolve_reference(name)
        if entities:
            before = (ids[entity] for entity in entities)
            meanings[name] = tuple(sorted({row_of[kept.get(id, id)] for id in before})), level
        else:
            rows = tuple(sorted(returned.get(fold(name), ())))
            meanings[name] = rows, "alias" if rows else None
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
    restored: set[str] = set()
    for place, entity in patch.entries():
        if isinstance(entity, RestoredEntity) and entity.status != REJECTED:
            if entity.id in known or entity.id in restored:
                yield said(
                    "{place}: the id {id} is already used in the graph {graph}; give the restored "
                    "entity another id",
                    place=place,
                    id=repr(entity.id),
                    graph=graph.name,
                )
            restored.add(entity.id)
    kept_by: dict[str, str] = {}
    for place, entry in patch.entries():
        if entry.status == REJECTED:
            continue
        ends = known | restored
        if isinstance(entry, Merge):
            ends = known
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
            if id not in ends:
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
    for field in ("alias", "was", "name"):
        value = getattr(entry, field, None)
        if value is not None and (field != "name" or isinstance(entry, RestoredEntity)):
            yield field, value, bool(value.strip())
    if isinstance(entry, RestoredRelation):
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

    def restore(self, entities: Sequence[RestoredEntity], relations: Sequence[RestoredRelation]) -> None:
        for entity in entities:
            self.rows[entity.id] = len(self.entities.ids)
            self.entities.ids.append(entity.id)
            self.entities.names.append(entity.name)
            self.entities.types.append(entity.type or UNKNOWN_TYPE)
            self.entities.descriptions.append(entity.description)
            self.entities.aliases.append([*entity.aliases])
            self.entities.source_chunks.append([*entity.source_chunks])
            self.entities.details.append("")
        ends = [
            (relation, self.rows.get(relation.source_id), self.rows.get(relation.target_id))
            for relation in relations
        ]
        # A relation whose end was restored by an entry that is not applied waits for that entry.
        whole = [(one, start, end) for one, start, end in ends if start is not None and end is not None]
        if not whole:
            return
        old = self.relations
        taken, ids = set(old.ids), [f"restored-{number}" for number in range(1, len(whole) + 1)]
        while taken.intersection(ids):
            ids = [id + "'" if id in taken else id for id in ids]
        self.relations = Relations(
            ids=Strings.of([*old.ids, *ids]),
            sources=np.append(old.sources, np.array([start for _, start, _ in whole], dtype=np.int32)),
            targets=np.append(old.targets, np.array([end for *_, end in whole], dtype=np.int32)),
            types=Categories.of([*old.types, *[one.type or UNKNOWN_RELATION for one, *_ in whole]]),
            descriptions=Strings.of([*old.descriptions, *[one.description for one, *_ in whole]]),
            weights=np.append(old.weights, np.array([one.weight for one, *_ in whole])),
            source_chunks=StringLists.of([*old.source_chunks, *[one.source_chunks for one, *_ in whole]]),
            details=Strings.of([*old.details, *[""] * len(whole)]),
        )

    def merge(self, kept: Mapping[str, str]) -> None:
        """kept: dropped id → kept id."""
        for dropped_id, kept_id in kept.items():
            gone, row, known = self.rows[dropped_id], self.rows[kept_id], self.entities
            spellings = [known.names[gone], *known.aliases[gone]]
            more = [name for name in spellings if name != known.names[row]]
            known.aliases[row] = list(dict.fromkeys([*known.aliases[row], *more]))
            known.source_chunks[row] = list(
                dict.fromkeys([*known.source_chunks[row], *known.source_chunks[gone]])
            )
            texts = dict.fromkeys([known.descriptions[row], known.descriptions[gone]])
            known.descriptions[row] = "\n".join(text for text in texts if text)
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
