"""A large graph for the speed benchmarks: preferential attachment, 5 relations an entity, seed 1.

    uv run python benchmarks/generate.py big-KG.json [--entities 1000000] [--edges 5] [--seed 1]

Writes KG JSON (1.3 GB for a million entities) and, beside it, `big-eval.jsonl` with 10,000 questions that
each name one or two entities. The same arguments give the same bytes on every machine.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RELATIONS = ("WORKS_WITH", "LOCATED_IN", "PART_OF", "WRITTEN_BY", "KNOWS", "OWNS", "CAUSES", "USES", "LEADS")
TYPES = ("PERSON", "PLACE", "ORGANISATION", "EVENT", "WORK", "OBJECT")
SYLLABLES = (
    "ba",
    "ko",
    "ri",
    "ten",
    "mu",
    "sal",
    "do",
    "vi",
    "lor",
    "gan",
    "pe",
    "shi",
    "ur",
    "nax",
    "el",
    "fo",
)
PIECE = 50_000


def preferential_edges(entities: int, edges: int, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(sources, targets): entity i > 0 makes `edges` relations to ends of relations made before it.

    Choosing a random end of an earlier relation chooses an entity in proportion to its degree.
    """
    random = np.random.default_rng(seed)
    sources = np.repeat(np.arange(1, entities, dtype=np.int64), edges)
    made_before = (sources - 1) * edges
    # Two ends an earlier relation; entity 0 stands for itself once, so that entity 1 finds somebody.
    chosen = (random.random(len(sources)) * (2 * made_before + 1)).astype(np.int64)
    targets = np.full(len(sources), -1, dtype=np.int64)
    targets[chosen == 0] = 0
    is_source = (chosen > 0) & (chosen % 2 == 1)
    targets[is_source] = sources[(chosen[is_source] - 1) // 2]
    copied = (chosen - 1) // 2  # the others take that relation's target, once it is known
    waiting = np.flatnonzero(targets < 0)
    while len(waiting):
        targets[waiting] = targets[copied[waiting]]
        waiting = waiting[targets[waiting] < 0]
    return sources.astype(np.int32), targets.astype(np.int32)


def names(entities: int, seed: int) -> list[str]:
    """Two words and a number an entity: no name twice, many words shared."""
    random = np.random.default_rng([seed, 1])
    parts = random.integers(0, len(SYLLABLES), size=(entities, 5)).tolist()
    pick = SYLLABLES
    return [
        f"{(pick[a] + pick[b]).title()} {(pick[c] + pick[d] + pick[e]).title()} {row}"
        for row, (a, b, c, d, e) in enumerate(parts)
    ]


def write_graph(path: Path, entities: int, edges: int, seed: int) -> None:
    sources, targets = preferential_edges(entities, edges, seed)
    called = names(entities, seed)
    random = np.random.default_rng([seed, 2])
    kinds = random.integers(0, len(RELATIONS), size=len(sources)).tolist()
    with path.open("w", encoding="utf-8") as out:
        out.write('{"entities": {')
        for start in range(0, entities, PIECE):
            out.write(", " if start else "")
            out.write(
                ", ".join(
                    f'"e{row}": {{"entity_id": "e{row}", "name": "{called[row]}", '
                    f'"entity_type": "{TYPES[row % len(TYPES)]}", '
                    f'"description": "{called[row]} is entity number {row} of a graph made for benchmarks.", '
                    f'"attributes": {{}}, "source_chunks": ["c{row // 10}"]}}'
                    for row in range(start, min(start + PIECE, entities))
                )
            )
        out.write('}, "relationships": [')
        for start in range(0, len(sources), PIECE):
            out.write(", " if start else "")
            ends = zip(
                range(start, start + PIECE),
                sources[start : start + PIECE].tolist(),
                targets[start : start + PIECE].tolist(),
                kinds[start : start + PIECE],
                strict=False,
            )
            out.write(
                ", ".join(
                    f'{{"relationship_id": "r{row}", "source_entity_id": "e{source}", '
                    f'"target_entity_id": "e{target}", "relationship_type": "{RELATIONS[kind]}", '
                    f'"description": "{RELATIONS[kind].lower()} (chapter {row % 97})", '
                    f'"weight": {row % 10 / 10 + 0.1:.1f}, '
                    f'"source_chunks": ["c{row // 50}"]}}'
                    for row, source, target, kind in ends
                )
            )
        out.write("]}\n")


def write_questions(path: Path, entities: int, seed: int, questions: int = 10_000) -> None:
    called = names(entities, seed)
    chosen = np.random.default_rng([seed, 3]).integers(0, entities, size=(questions, 3)).tolist()
    with path.open("w", encoding="utf-8") as out:
        for number, (a, b, answer) in enumerate(chosen):
            also = f" and {called[b]}" if number % 2 else ""
            row = {
                "id": f"q{number}",
                "query": f"Who works with {called[a]}{also} on the case?",
                "reference_entities": [called[answer]],
                "seed_entities": [called[a], called[b]] if number % 2 else [called[a]],
            }
            out.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write_graph(given.graph, given.entities, given.edges, given.seed)
    questions = given.graph.with_name(
        given.graph.name.removesuffix(".json").removesuffix("-KG") + "-eval.jsonl"
    )
    write_questions(questions, given.entities, given.seed)
    print(f"{given.graph}: {given.graph.stat().st_size / 1e9:.2f} GB; {questions}")


if __name__ == "__main__":
    main()
