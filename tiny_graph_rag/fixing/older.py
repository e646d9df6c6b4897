"""What a graph has lost since an older version of it, as far as the questions need it.

An entity of the older graph is still there where the newer one has its name, as a name or an alias. It was
renamed where both graphs say so (the same id under ids that stayed the same, an alias that became the name)
or where the two names are one by strict rules. Any other is gone: merged away or dropped, and is proposed to
be restored with its relations, when a question needs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tiny_graph_rag.fixing.merges import WRITING
from tiny_graph_rag.fixing.patch import Entry, Rename, RestoredEntity, RestoredRelation
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

Needs = Mapping[int, Sequence[str]]  # row of the older graph → ids of the questions that need it


def propose_older(graph: KnowledgeGraph, older: KnowledgeGraph, questions: EvalSet) -> list[Entry]:
    """Renames, then entities and relations of the older graph that the questions need and `graph` lacks.

    Needed is what a reference or seed names, what a question's text names, and what lies on a shortest path
    of the older graph between the two.
    """
    entities = _needed(older, questions)
    renames = renamed(graph, older)
    now = {**_still_there(graph, older), **{row: entity for row, (entity, _) in renames.items()}}
    ids = list(graph.entities.ids)
    id_of = {row: ids[entity] for row, entity in now.items()}
    taken = set(ids)
    lost = [row for row in sorted(entities) if row not in now]
    for row in lost:
        id_of[row] = older.entities.ids[row]
        while id_of[row] in taken:
            id_of[row] += "-older"
        taken.add(id_of[row])
    return [
        *(
            Rename(
                entity_id=ids[entity],
                was=older.entities.names[row],
                name=graph.entities.names[entity],
                evidence=(why,),
                questions=tuple(entities[row]),
            )
            for row, (entity, why) in sorted(renames.items())
            if row in entities
        ),
        *(_entity(graph, older, row, id_of[row], entities[row]) for row in lost),
        *_relations(older, id_of, {row: entities[row] for row in lost}),
    ]


def _still_there(graph: KnowledgeGraph, older: KnowledgeGraph) -> dict[int, int]:
    """Older row → row of the entity that has its name now."""
    found = NameIndex.of(graph).resolve_all(older.entities.names)
    return {row: found[name][0][0] for row, name in enumerate(older.entities.names) if found[name][0]}


def renamed(graph: KnowledgeGraph, older: KnowledgeGraph) -> dict[int, tuple[int, str]]:
    """Older row → the entity of a new name that it was renamed to, and why."""
    there, were = _still_there(graph, older), NameIndex.of(older)
    rows = graph.row_of_id
    by_id = {row: rows[id] for row, id in enumerate(older.entities.ids) if id in rows}
    same = sum(there.get(row) == entity for row, entity in by_id.items())
    if len(by_id) < FEWEST_IDS or same < STABLE_IDS * len(by_id):
        by_id = {}
    by_core: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(graph.entities.names):
        if not were.resolve(name)[0]:
            by_core[core_of(name).text].append(row)
    taken = set(there.values())
    claims: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for row in range(len(older)):
        found = None if row in there else _new_name(graph, older, row, by_id, by_core)
        if found is not None and found[0] not in taken:
            claims[found[0]].append((row, found[1]))
    # What two older entities claim was merged, not renamed.
    return {rows[0][0]: (entity, rows[0][1]) for entity, rows in claims.items() if len(rows) == 1}


def _new_name(
    graph: KnowledgeGraph,
    older: KnowledgeGraph,
    row: int,
    by_id: Mapping[int, int],
    by_core: Mapping[str, Sequence[int]],
) -> tuple[int, str] | None:
    """The entity that an older one became, and why."""
    if row in by_id:
        return by_id[row], t("it has the id of the older graph's entity")
    name, type = older.entities.names[row], fold(older.entities.types[row])
    for alias in older.entities.aliases[row]:
        rows, level = NameIndex.of(graph).resolve(alias)
        if len(rows) == 1 and level == "name":
            return rows[0], t("its name was an alias in the older graph")
    alike = []
    for entity in by_core.get(core_of(name).text, ()):
        changes = differences(name, graph.entities.names[entity])
        if changes is None or changes & {Difference.LETTER, Difference.ORDER}:
            continue
        if changes <= WRITING or type == fold(graph.entities.types[entity]):
            alike.append(entity)
    return (alike[0], t("the names are one by their words")) if len(alike) == 1 else None


def _needed(older: KnowledgeGraph, questions: EvalSet) -> Needs:
    """The entities of the older graph that questions need."""
    names, relations = NameIndex.of(older), older.relations
    needed: dict[int, list[str]] = defaultdict(list)
    linked = NameLinker(older, names).link(questions.examples)
    for example, question in zip(questions, linked, strict=True):
        references = names.meant_by(example.relevant_entities)
        seeds = {seed.entity for seed in question.seeds} | names.meant_by(example.seed_entities or ())
        steps: list[int] = []
        if seeds and references:
            paths = shortest_paths(older.adjacency, older.name_rank, sorted(seeds), sorted(references))
            steps = [row for path in paths.values() if len(path) <= FARTHEST for row in path]
        between = {int(column[row]) for column in (relations.sources, relations.targets) for row in steps}
        for row in sorted(references | seeds | between):
            needed[row].append(example.id)
    return needed


def _entity(
    graph: KnowledgeGraph, older: KnowledgeGraph, row: int, id: str, questions: Sequence[str]
) -> RestoredEntity:
    old, names = older.entities, NameIndex.of(graph)
    return RestoredEntity(
        id=id,
        name=old.names[row],
        type=old.types[row],
        description=old.descriptions[row],
        aliases=tuple(alias for alias in old.aliases[row] if not names.resolve(alias)[0]),
        source_chunks=tuple(old.source_chunks[row]),
        evidence=(t("the older graph has it; no entity has its name any more"),),
        questions=tuple(questions),
    )


def _relations(older: KnowledgeGraph, id_of: Mapping[int, str], lost: Needs) -> Iterator[RestoredRelation]:
    """Relations of restored entities to what is there. id_of: older row → its id now."""
    old, adjacency, names = older.relations, older.adjacency, older.entities.names
    asked: dict[int, list[str]] = defaultdict(list)
    for entity, questions in lost.items():
        for row in adjacency.relations[adjacency.slots(entity)].tolist():
            asked[row] += questions
    for row, questions in sorted(asked.items()):
        source, target = int(old.sources[row]), int(old.targets[row])
        if source in id_of and target in id_of:
            yield RestoredRelation(
                source_id=id_of[source],
                type=old.types[row],
                target_id=id_of[target],
                description=old.descriptions[row],
                weight=float(old.weights[row]),
                source_chunks=tuple(old.source_chunks[row]),
                names=(names[source], names[target]),
                evidence=(t("the older graph has this relation"),),
                questions=tuple(dict.fromkeys(questions)),
            )
