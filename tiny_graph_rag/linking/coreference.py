"""Pronouns, and questions that leave their subject unsaid, link to what earlier turns named.

`Who was her sister?` after `Honoria Westphail, near Harrow.` speaks of Honoria Westphail. The antecedent is
the most recent entity whose kind the pronoun allows: the last turn first, in a turn the last mention. An
entity of unknown kind is second choice, an entity that the question itself names is none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.language.kinds import Kind
from tiny_graph_rag.language.pronouns import PronounReference, pronouns
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.grades import Grade
from tiny_graph_rag.linking.mentions import Mention

Turns = Sequence[Sequence[Mention]]  # of the earlier turns, oldest first

# For each reference the kinds of its antecedent, first choice and second choice.
_KINDS: dict[PronounReference, tuple[frozenset[Kind], frozenset[Kind]]] = {
    **dict.fromkeys(
        (PronounReference.HE, PronounReference.SHE, PronounReference.PERSON),
        (frozenset({Kind.PERSON}), frozenset({Kind.UNKNOWN})),
    ),
    PronounReference.CREATURE: (frozenset({Kind.PERSON, Kind.THING}), frozenset({Kind.UNKNOWN})),
    PronounReference.IT: (
        frozenset({Kind.THING, Kind.WORK, Kind.GROUP, Kind.OTHER}),
        frozenset({Kind.PLACE, Kind.UNKNOWN}),
    ),
    PronounReference.THERE: (frozenset({Kind.PLACE}), frozenset({Kind.GROUP, Kind.UNKNOWN})),
    PronounReference.WORK: (frozenset({Kind.WORK}), frozenset({Kind.UNKNOWN})),
    PronounReference.EVENT: (frozenset({Kind.OTHER}), frozenset({Kind.UNKNOWN})),
    PronounReference.THEY: (
        frozenset(Kind) - {Kind.UNKNOWN, Kind.PLACE},
        frozenset({Kind.PLACE, Kind.UNKNOWN}),
    ),
}


def from_context(
    text: str,
    mentions: Sequence[Mention],
    turns: Turns,
    kinds: NDArray[np.uint8],
    *,
    unsaid: bool = True,
) -> list[Seed]:
    """What the question's pronouns mean; or, where it names nothing at all, what was spoken of last.

    mentions: of the question itself. kinds: of each entity of the graph. unsaid: whether a question without
    mention and pronoun may be about what was spoken of last.
    """
    named = {entity for mention in mentions for entity in mention.entities}
    taken: dict[PronounReference, tuple[int, ...]] = {}
    seeds: list[Seed] = []
    for pronoun in pronouns(text):
        if pronoun.reference in taken:
            continue
        used = named.union(*taken.values())
        antecedents = _antecedents(pronoun.reference, turns, kinds, used)
        taken[pronoun.reference] = antecedents
        start, end = pronoun.start, pronoun.end
        seeds += Seed.sharing(antecedents, text[start:end], start, end, "coreference")
    if unsaid and not seeds and not mentions:
        last = next((turn[-1] for turn in reversed(turns) if turn), None)
        if last is not None:
            seeds = Seed.sharing(last.entities, "", None, None, "ellipsis")
    return seeds


def _antecedents(
    reference: PronounReference, turns: Turns, kinds: NDArray[np.uint8], used: set[int]
) -> tuple[int, ...]:
    for wanted in _KINDS[reference]:
        for turn in reversed(turns):
            fitting = [
                tuple(entity for entity in mention.entities if kinds[entity] in wanted and entity not in used)
                for mention in turn
            ]
            fitting = [entities for entities in fitting if entities]
            if fitting:
                if reference is PronounReference.THEY:
                    return tuple(dict.fromkeys(entity for entities in fitting for entity in entities))
                return fitting[-1]
    return ()


def is_telling(mention: Mention) -> bool:
    """Whether a mention outweighs the context: not where the name is but a relation's or a function word."""
    return mention.grade < Grade.RELATION
