"""Entities that are one by an abbreviation: AML, Acute Myeloid Leukemia and Acute Myeloid Leukemia (AML).

What says so is a name with both forms, or a description with the long form and the letters in brackets behind
it. Letters that two long forms of the graph share are nobody's: only the owner knows which is meant.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from msgspec import Struct

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.name_forms import (
    core_of,
    is_abbreviation,
    is_other_script,
    long_and_short,
)
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold

IN_BRACKETS = re.compile(r"\((?P<short>[^\W\d_a-z][\w&/-]{1,9})\)")
LONGEST = 12  # words of a long form
LEAST_OF_WORD = 4  # letters of a word of the long form that a text must have
BEFORE = 160  # characters in front of the brackets that are looked at


class Abbreviation(Struct, frozen=True):
    """short: the letters. long: what they stand for. source: row of the entity whose name or text says so.
    rows: of the entities that are called by either form or by both, ascending. in_name: whether the name of
    `source` says so. unclear: rows called by the letters, where another long form has the same letters."""

    short: str
    long: str
    source: int
    rows: tuple[int, ...]
    in_name: bool
    unclear: tuple[int, ...] = ()

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Two rows at a time that are one entity, the smaller one first."""
        return combinations(self.rows, 2)


def abbreviations(graph: KnowledgeGraph) -> list[Abbreviation]:
    """The abbreviations that two entities at least are called by, in the order of the entities."""
    index = NameIndex.of(graph)
    forms = [(row, long_and_short(name)) for row, name in enumerate(graph.entities.names)]
    stated = [(*pair, row, True) for row, pair in forms if pair]
    stated += _in_descriptions(graph, index)
    longs: dict[str, set[str]] = defaultdict(set)
    for long, short, _, _ in stated:
        longs[fold(short)].add(core_of(long).text)
    abbreviated = []
    for long, short, source, in_name in stated:
        by_long = {row for form in _numbers_of(long) for row in index.resolve(form)[0]}
        by_short = {
            row
            for form in _numbers_of(short)
            for row in index.resolve(form)[0]
            if not short.isupper() or graph.entities.names[row] == form
            if (in_name and not is_other_script(long, short))
            or _may_mean(graph, row, long, {source, *by_long})
        }
        is_clear = len(longs[fold(short)]) == 1
        rows = by_long | ({source} if in_name else set()) | (by_short if is_clear else set())
        unclear = () if is_clear else tuple(sorted(by_short - rows))
        if len(rows) > 1 or unclear:
            abbreviated.append(Abbreviation(short, long, source, tuple(sorted(rows)), in_name, unclear))
    return abbreviated


def _may_mean(graph: KnowledgeGraph, row: int, long: str, by_long: Iterable[int]) -> bool:
    """Whether an entity that is called by letters may be the long form: its type says so, or in one script
    its text, or nothing speaks of it. PBS is a primer binding site in one text and a buffer in another."""
    text, types = fold(graph.entities.descriptions[row]), graph.entities.types
    words = [word for word in fold(long).split() if len(word) >= LEAST_OF_WORD]
    is_alike = len(types.names) > 1 and types[row] in {types[other] for other in by_long}
    if is_other_script(long, graph.entities.names[row]):
        return is_alike
    return not text or is_alike or any(word in text for word in words)


def namesakes(graph: KnowledgeGraph) -> list[tuple[str, str]]:
    """(name, the other entity's name) of each entity that looks like another one's long or short form."""
    names, pairs = graph.entities.names, dict[int, int]()
    for abbreviation in abbreviations(graph):
        source = abbreviation.source if abbreviation.in_name else abbreviation.rows[0]
        for row in abbreviation.rows:
            if row != source:
                pairs.setdefault(row, source)
    return [(names[row], names[source]) for row, source in pairs.items()]


def _numbers_of(form: str) -> Iterable[str]:
    """The form, and its plural or singular: TPZ, TPZs."""
    singular = form.removesuffix("s").removesuffix("S")
    return dict.fromkeys((form, singular, f"{singular}s", f"{singular}S"))


def _in_descriptions(graph: KnowledgeGraph, index: NameIndex) -> Iterator[tuple[str, str, int, bool]]:
    """`… Basal cell carcinoma (BCC) …` where both are names of entities."""
    for row, text in enumerate(graph.entities.descriptions):
        if "(" not in text:
            continue
        for match in IN_BRACKETS.finditer(text):
            short = match["short"]
            if not index.resolve(short)[0]:
                continue
            words = text[max(0, match.start() - BEFORE) : match.start()].split()[-LONGEST:]
            for first in range(len(words) - 1):
                long = " ".join(words[first:])
                if index.resolve(long)[0] and is_abbreviation(short, long):
                    yield long, short, row, False
                    break
