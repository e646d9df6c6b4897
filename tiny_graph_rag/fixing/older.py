"""What a graph has lost since an older version of it, as far as the questions need it.

An entity of the older graph is still there where the newer one has its name, as a name or an alias. It was
renamed where both graphs say so (the same id under ids that stayed the same, an alias that became the name)
or where the two names are one by strict rules. Any other is gone: merged away or dropped, and is proposed to
be restored with its relations, when a question needs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.fixing.merges import WRITING
from tiny_graph_rag.fixing.patch import Entry, Rename, Restore, RestoredEntity, RestoredRelation
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.bfs import shortest_paths
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.name_forms import Difference, core_of, differences
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

STABLE_IDS = 0.9  # share of the ids in both graphs whose names are the same, from which on ids mean something
FEWEST_IDS = 5  # ids in both graphs before they can
FARTHEST = 4  # relations of a path in the older graph that is restored


def at_random(
    graph: KnowledgeGraph, older: KnowledgeGraph, entries: Sequence[Entry], random: np.random.Generator
) -> Iterator[Entry]:
    """As many entries: each with another entity of the graph, a restored entity with another older name."""

    def drawn(values: Strings) -> str:
        return str(values[int(random.integers(len(values)))])

    ids, names = graph.entities.ids, older.entities.names
    for entry in entries:
        match entry:
            case Rename():
                yield msgspec.structs.replace(entry, entity_id=drawn(ids))
            case RestoredEntity():
                yield msgspec.structs.replace(entry, name=drawn(names), aliases=())
            case RestoredRelation():
                yield msgspec.structs.replace(entry, target_id=drawn(ids))


@dataclass(slots=True)
class _Comparison:
    """The older graph seen from the newer one. moved: older row → newer row, of what is still there.
    renames: older row → (newer row, why)."""

    graph: KnowledgeGraph
    older: KnowledgeGraph
    moved: dict[int, int]
    renames: dict[int, tuple[int, str]] = field(default_factory=dict)

    def now(self, row: int) -> int | None:
        renamed = self.renames.get(row)
        return self.moved.get(row) if renamed is None else renamed[0]


def propose_older(graph: KnowledgeGraph, older: KnowledgeGraph, questions: EvalSet) -> Restore:
    """Renames, entities and relations of the older graph that the questions need and `graph` lacks.

    Needed is what a reference or seed names, what a question's text names, and what lies on a shortest path
    of the older graph between the two, where the newer graph has no path as short.
    """
    compared = _compared(graph, older)
    needs = _needs(compared, questions)
    lost = [row for row in sorted(needs.entities) if compared.now(row) is None]
    ids = _new_ids(graph, older, lost)
    return Restore(
        _renames(compared, needs.entities),
        _entities(compared, lost, ids, needs.entities),
        _relations(compared, ids, needs),
    )


def _compared(graph: KnowledgeGraph, older: KnowledgeGraph) -> _Comparison:
    names, were = NameIndex.of(graph), NameIndex.of(older)
    moved: dict[int, int] = {}
    for row, name in enumerate(older.entities.names):
        rows, _ = names.resolve(name)
        if rows:
            moved[row] = rows[0]
    compared = _Comparison(graph, older, moved)
    taken = set(moved.values())
    new_ids = graph.row_of_id
    both = [(row, new_ids[id]) for row, id in enumerate(older.entities.ids) if id in new_ids]
    same = sum(moved.get(row) == now for row, now in both)
    ids_mean = len(both) >= FEWEST_IDS and same >= STABLE_IDS * len(both)
    by_id = dict(both) if ids_mean else {}
    fresh = [row for row, name in enumerate(graph.entities.names) if not were.resolve(name)[0]]
    by_core: dict[str, list[int]] = defaultdict(list)
    for row in fresh:
        by_core[core_of(graph.entities.names[row]).text].append(row)
    claims: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for row, name in enumerate(older.entities.names):
        if row not in moved:
            for now, why in _new_names(compared, row, name, by_id, by_core, names):
                claims[now].append((row, why))
    for now, claimed in claims.items():
        if len(claimed) == 1 and now not in taken:  # what two older entities claim was merged, not renamed
            compared.renames[claimed[0][0]] = now, claimed[0][1]
    return compared


def _new_names(
    compared: _Comparison,
    row: int,
    name: str,
    by_id: Mapping[int, int],
    by_core: Mapping[str, Sequence[int]],
    names: NameIndex,
) -> list[tuple[int, str]]:
    """The entity that an older one was renamed to, and why: at most one."""
    graph, older = compared.graph, compared.older
    if row in by_id:
        return [(by_id[row], t("it has the id of the older graph's entity"))]
    for alias in older.entities.aliases[row]:
        rows, level = names.resolve(alias)
        if len(rows) == 1 and level == "name":
            return [(rows[0], t("its name was an alias in the older graph"))]
    alike = [
        now
        for now in by_core.get(core_of(name).text, ())
        if (changes := differences(name, graph.entities.names[now])) is not None
        and not changes & {Difference.LETTER, Difference.ORDER}
        and (changes <= WRITING or fold(older.entities.types[row]) == fold(graph.entities.types[now]))
    ]
    if len(alike) == 1:
        return [(alike[0], t("the names are one by their words"))]
    return []


@dataclass(slots=True)
class _Needs:
    """entities: older row → ids of the questions that need it. relations: older row → the same."""

    entities: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    relations: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))


def _needs(compared: _Comparison, questions: EvalSet) -> _Needs:
    older = compared.older
    were = NameIndex.of(older)
    linked = NameLinker(older, were).link(questions.examples)
    needs = _Needs()
    for example, question in zip(questions, linked, strict=True):
        references = were.meant_by(example.relevant_entities)
        seeds = {seed.entity for seed in question.seeds} | were.meant_by(example.seed_entities or ())
        for row in sorted(references | seeds):
            needs.entities[row].append(example.id)
        for row in _broken(compared, sorted(seeds), sorted(references)):
            needs.relations[row].append(example.id)
            for end in (int(older.relations.sources[row]), int(older.relations.targets[row])):
                if example.id not in needs.entities[end]:
                    needs.entities[end].append(example.id)
    return needs


def _broken(compared: _Comparison, seeds: Sequence[int], references: Sequence[int]) -> list[int]:
    """The relations of shortest paths of the older graph that the newer one has no path as short for."""
    graph, older = compared.graph, compared.older
    if not seeds or not references:
        return []
    paths = shortest_paths(older.adjacency, older.name_rank, np.array(seeds), references)
    ends = {row: compared.now(row) for row in references}
    starts = [now for row in seeds if (now := compared.now(row)) is not None]
    targets = sorted({now for now in ends.values() if now is not None})
    today: dict[int, list[int]] = {}
    if starts and targets:
        today = shortest_paths(graph.adjacency, graph.name_rank, np.array(starts), targets)
    broken: list[int] = []
    for row, path in paths.items():
        now = ends[row]
        still = today.get(now) if now is not None else None
        if 0 < len(path) <= FARTHEST and (still is None or len(still) > len(path)):
            broken += path
    return broken


def _new_ids(graph: KnowledgeGraph, older: KnowledgeGraph, lost: Sequence[int]) -> dict[int, str]:
    """Older row → an id that the newer graph doesn't use, the older one where it can be."""
    taken, ids = set(graph.entities.ids), {}
    for row in lost:
        id = older.entities.ids[row]
        while id in taken:
            id += "-older"
        taken.add(id)
        ids[row] = id
    return ids


def _renames(compared: _Comparison, needed: Mapping[int, Sequence[str]]) -> tuple[Rename, ...]:
    graph, older = compared.graph, compared.older
    return tuple(
        Rename(
            entity_id=graph.entities.ids[now],
            was=older.entities.names[row],
            name=graph.entities.names[now],
            evidence=(why,),
            questions=tuple(needed[row]),
        )
        for row, (now, why) in sorted(compared.renames.items())
        if row in needed
    )


def _entities(
    compared: _Comparison, lost: Sequence[int], ids: Mapping[int, str], needed: Mapping[int, Sequence[str]]
) -> tuple[RestoredEntity, ...]:
    old, names = compared.older.entities, NameIndex.of(compared.graph)
    return tuple(
        RestoredEntity(
            id=ids[row],
            name=old.names[row],
            type=old.types[row],
            description=old.descriptions[row],
            aliases=tuple(alias for alias in old.aliases[row] if not names.resolve(alias)[0]),
            source_chunks=tuple(old.source_chunks[row]),
            evidence=(t("the older graph has it; no entity has its name any more"),),
            questions=tuple(needed[row]),
        )
        for row in lost
    )


def _relations(compared: _Comparison, ids: Mapping[int, str], needs: _Needs) -> tuple[RestoredRelation, ...]:
    """Relations of restored entities to what is there, and those that broken paths need."""
    graph, old = compared.graph, compared.older.relations
    new_ids, older_names = graph.entities.ids, compared.older.entities.names

    def name(row: int) -> str:
        now = compared.now(row)
        return str(older_names[row] if now is None else graph.entities.names[now])

    def end(row: int) -> str | None:
        now = compared.now(row)
        return ids.get(row) if now is None else new_ids[now]

    present = _triples(graph)
    older = compared.older.adjacency
    slots = [older.relations[older.slots(row)] for row in ids]
    touching = distinct(np.concatenate([*slots, np.array(list(needs.relations), dtype=np.int32)]))[0].tolist()
    made = []
    for row in touching:
        ends = int(old.sources[row]), int(old.targets[row])
        source, target = map(end, ends)
        key = (source, old.types[row], target)
        if source is None or target is None or source == target or key in present:
            continue
        present.add(key)
        asked = needs.relations.get(row) or [
            id for side in ends if side in ids for id in needs.entities.get(side, ())
        ]  # fmt: skip
        made.append(
            RestoredRelation(
                source_id=source,
                type=old.types[row],
                target_id=target,
                description=old.descriptions[row],
                weight=float(old.weights[row]),
                source_chunks=tuple(old.source_chunks[row]),
                names=(name(ends[0]), name(ends[1])),
                evidence=(t("the older graph has this relation"),),
                questions=tuple(dict.fromkeys(asked)),
            )
        )
    return tuple(made)


def _triples(graph: KnowledgeGraph) -> set[tuple[str | None, str, str | None]]:
    ids, relations = list(graph.entities.ids), graph.relations
    return {
        (ids[source], type, ids[target])
        for source, type, target in zip(
            relations.sources.tolist(), relations.types, relations.targets.tolist(), strict=True
        )
    }
