"""A patch applied to a graph in memory, and the gold set held to the entities that it meant before.

A change to the graph must not change what the questions are judged by: an alias on the right entity would
otherwise also make references resolvable, and a merge would make two of them one. So every reference keeps
the entities that it meant on the graph as it was. Only a reference that meant nothing may mean something
afterwards, and only an entity that an older graph called so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from tiny_graph_rag.config import Config, find_setting
from tiny_graph_rag.errors import amount
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    DRAFT,
    REJECTED,
    Alias,
    Merge,
    Patch,
    PatchError,
    Status,
    Words,
    ids_of,
    read_patch,
)
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.patterns import with_patterns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.tables import Entities
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.messages import Said, said, shown, t
from tiny_graph_rag.study.settings import can_be_tried, label_of


def apply(graph: KnowledgeGraph, patch: Patch, statuses: Sequence[Status] = (CONFIRMED,)) -> KnowledgeGraph:
    """The graph with the entries of these statuses applied; settings are not the graph's and do nothing here.

    Raises PatchError for every entry, rejected ones apart, that names an entity, a type or an end that the
    graph lacks, and for merges that contradict each other.
    """
    problems = list(_problems(graph, patch))
    if problems:
        raise PatchError(*problems)
    chosen = patch.only(*statuses)
    worded = with_words(graph, ((entry.type, word) for entry in chosen.vocabulary for word in entry.words))
    if not any(ids_of(entry) for _, entry in chosen.entries()):
        return worded
    made = _changed(graph, (*chosen.aliases, *chosen.renames), kept_ids(chosen.merges))
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
        returned.setdefault(fold(rename.alias), set()).add(rename.entity_id)
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
    kept_by: dict[str, str] = {}
    for place, entry in entries:
        if isinstance(entry, Merge):
            yield from _contradictions(place, entry, kept_by)
        for id in ids_of(entry):
            if id not in known:
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


def _changed(graph: KnowledgeGraph, aliases: Iterable[Alias], merged: Mapping[str, str]) -> KnowledgeGraph:
    """The graph with these aliases, and without the entities merged away. merged: dropped id → kept id."""
    known, row_of = graph.entities, graph.row_of_id
    names, spellings = known.names, list(map(list, known.aliases))
    descriptions, details = list(known.descriptions), list(known.details)
    chunks = list(map(list, known.source_chunks))
    stands_for = list(range(len(graph)))

    def add(row: int, *others: str) -> None:
        unknown = (other for other in others if other != names[row])
        spellings[row] = list(dict.fromkeys([*spellings[row], *unknown]))

    for alias in aliases:
        add(row_of[alias.entity_id], alias.alias)
    for dropped, kept in merged.items():
        gone, row = row_of[dropped], row_of[kept]
        stands_for[gone] = row
        add(row, names[gone], *spellings[gone])
        chunks[row] = list(dict.fromkeys([*chunks[row], *chunks[gone]]))
        descriptions[row] = "\n".join(filter(None, dict.fromkeys([descriptions[row], descriptions[gone]])))
        details[row] = _joined_details(details[row], details[gone])
    left = [row for row, other in enumerate(stands_for) if row == other]
    place_of = {row: place for place, row in enumerate(left)}
    place = np.array([place_of[row] for row in stands_for], dtype=np.int32)
    columns = {one.name: getattr(known, one.name) for one in fields(known)}
    columns |= {"aliases": spellings, "descriptions": descriptions, "details": details}
    columns |= {"source_chunks": chunks}
    entities = Entities(
        **{
            name: type(getattr(known, name)).of([values[row] for row in left])
            for name, values in columns.items()
        }
    )
    relations = graph.relations
    relations = replace(relations, sources=place[relations.sources], targets=place[relations.targets])
    return KnowledgeGraph.of(entities, relations, notes=graph.notes)


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


VARIED = ("retriever", "hops", "exclude_seeds", "linker", "fuzzy", "text_seeds")


def with_patch(config: Config, patch: Patch, name: str) -> Config:
    """The configuration with a patch's confirmed settings. name: of its file, for messages.

    A file that came from somebody else must not run code or send questions away, so only settings that `fix`
    itself tries are taken. Raises PatchError for any other, and for a value that can't be.
    """
    for place, entry in enumerate(patch.settings):
        if entry.status != CONFIRMED:
            continue
        for key, value in entry.values.items():
            if key not in VARIED:
                raise PatchError(
                    "{file}: settings[{place}]: {key}: {value} isn't allowed in a patch; allowed "
                    "settings: {allowed}",
                    file=name,
                    place=place,
                    key=key,
                    value=repr(value)[:60],
                    allowed=", ".join(VARIED),
                )
            find_setting(key).checked(value, f"{name}: settings[{place}]: {key}")
        config = config.replaced(entry.values)
        if not can_be_tried(config):
            raise PatchError(
                "{file}: settings[{place}]: these settings would run code or ask a service; give them as "
                "options instead",
                file=name,
                place=place,
            )
    return config


@dataclass(frozen=True, slots=True)
class UsedPatch:
    """`--patch FILE`: the confirmed entries of a patch, applied in memory for one command."""

    path: Path
    patch: Patch
    sha256: str

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(path, read_patch(path), sha256_of(path))

    @property
    def has_words(self) -> bool:
        return bool(self.patch.only(CONFIRMED).vocabulary)

    @property
    def settings(self) -> str:
        """The confirmed settings as options; "" where there are none."""
        return " ".join(label_of(entry.values) for entry in self.patch.only(CONFIRMED).settings)

    def record(self) -> dict[str, Any]:
        """As results files hold it."""
        return {
            "name": self.path.name,
            "sha256": self.sha256,
            "applied": ", ".join(by_kind(self.patch.only(CONFIRMED))),
        }

    def fits(self, graph: KnowledgeGraph) -> bool:
        """Whether it was made for this version of the graph, as far as both are known."""
        made_for = self.patch.graph.sha256
        return not made_for or not graph.sha256 or made_for == graph.sha256

    def line(self) -> str:
        """`patch fixes.yaml: 2 aliases, 1 merge · 12 drafts are not applied`."""
        drafts = sum(entry.status == DRAFT for _, entry in self.patch.entries())
        counts = ", ".join(map(shown, by_kind(self.patch.only(CONFIRMED))))
        applied = counts or t("nothing is confirmed, so nothing is applied")
        line = t("patch {file}: {applied}", file=self.path.name, applied=applied)
        return line + (" · " + t("{n} not decided yet and not applied", n=f"{drafts:,}") if drafts else "")


def by_kind(patch: Patch) -> list[Said]:
    """`2 aliases`, `1 merge`: how many entries of each kind a patch has, kinds without any left out."""
    counts = (
        (len(patch.settings), amount(len(patch.settings), "setting")),
        (len(patch.vocabulary), amount(sum(len(entry.words) for entry in patch.vocabulary), "word")),
        (len(patch.aliases), amount(len(patch.aliases), "alias", "aliases")),
        (len(patch.merges), amount(len(patch.merges), "merge")),
        (len(patch.renames), amount(len(patch.renames), "rename")),
    )
    return [words for n, words in counts if n]
