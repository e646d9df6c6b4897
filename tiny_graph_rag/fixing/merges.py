"""Entities that are one thing under two spellings.

Spellings meet by what they have in common (their core, their words in another order, all letters but one, an
alias), so that the work grows with the graph and not with its square. Which meetings are proposals is decided
by what the spellings differ in; what speaks against two entities being one is looked for in the graph.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, combinations
from operator import attrgetter

import msgspec
import numpy as np

from tiny_graph_rag.fixing.patch import Alias, Entry, Merge
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.name_forms import (
    ARTICLES,
    MONTHS,
    Difference,
    NameCore,
    are_distinct,
    core_of,
    differences,
    initials_of,
)
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.namesakes import abbreviations
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, table
from tiny_graph_rag.language.kinds import NAMED_KINDS, Kind, kinds_of_entities
from tiny_graph_rag.language.words import words_of_name
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

ALIKE_IN_DEGREE = 10  # entities on either side among which a random one is drawn
MOST_ALIKE = 12  # entities that share a core; more are a common word and not one thing
SINGLE_VALUED = 0.9  # share of the entities with a relation type that have one neighbour by it
FEWEST_HOLDERS = 20  # entities with a relation type before it can count as single-valued
HUB = 50  # relations; to share a neighbour with more says little
LONG_TITLE = 3  # words
MOST_CHANGES = 3  # in which two spellings of one description may differ
SHOWN = 3  # neighbours
INITIALS = re.compile("[A-Z]{3,6}s?")
LONG_INITIALS = 4  # letters, from which on two of one type are hardly the same by chance
LETTERS = re.compile("[A-Z]{2,3}")
SAME_AS = table("same alias aliases aka known called named spelled spelling synonym 별칭 이명 동일 별명 같음")
WRITING = frozenset(
    (
        Difference.CASE,
        Difference.SPACING,
        Difference.ACCENT,
        Difference.AND,
        Difference.ARTICLE,
        Difference.GLOSS,
    )
)


Pairs = dict[tuple[int, int], tuple[str, ...]]  # two rows, ascending → why they are one


def propose_merges(graph: KnowledgeGraph, questions: EvalSet) -> list[Merge]:
    """Merges for a person to judge, those that the questions speak of first.

    Of two spellings the entity with more relations is kept. An entity is in one proposal at most.
    """
    pairs = same_pairs(graph)
    clusters = _clusters(pairs, graph)
    asked = asked_about(graph, questions)
    degrees, ids, names = graph.adjacency.degrees, graph.entities.ids, graph.entities.names
    merges = []
    for rows in clusters:
        rows = sorted(rows, key=lambda row: (-degrees[row], graph.name_rank[row]))
        evidence = dict.fromkeys(
            why for pair, reasons in pairs.items() if set(pair) <= set(rows) for why in reasons
        )
        touched = dict.fromkeys(id for row in rows for id in asked.get(row, ()))
        merges.append(
            Merge(
                keep_id=ids[rows[0]],
                drop_ids=tuple(ids[row] for row in rows[1:]),
                names=tuple(names[row] for row in rows),
                evidence=tuple(evidence),
                questions=tuple(touched),
            )
        )
    return sorted(merges, key=lambda merge: (-len(merge.questions), merge.names))


def at_random(graph: KnowledgeGraph, entries: Sequence[Entry], random: np.random.Generator) -> list[Entry]:
    """As many merges or aliases, of other entities with about as many relations."""
    degrees = graph.adjacency.degrees
    free = np.argsort(degrees, kind="stable").tolist()
    ids, row_of_id = list(graph.entities.ids), graph.row_of_id

    def drawn(id: str) -> str:
        place = bisect_left(free, degrees[row_of_id[id]], key=degrees.__getitem__)
        low = max(0, min(place, len(free)) - ALIKE_IN_DEGREE)
        taken = int(random.integers(low, min(len(free), place + ALIKE_IN_DEGREE)))
        row: int = free.pop(taken)
        return ids[row]

    made: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Alias):
            made.append(msgspec.structs.replace(entry, entity_id=drawn(entry.entity_id)))
        elif isinstance(entry, Merge) and len(free) > len(entry.drop_ids):
            dropped = tuple(map(drawn, entry.drop_ids))
            made.append(Merge(keep_id=drawn(entry.keep_id), drop_ids=dropped))
    return made


def same_pairs(graph: KnowledgeGraph) -> Pairs:
    """Pairs of entities that look like one, and against which nothing speaks."""
    cores, facts = [core_of(name) for name in graph.entities.names], PairFacts(graph)
    pairs: Pairs = {}
    found = (_by_abbreviation(facts, cores), _by_spelling(facts, cores), _by_alias(facts))
    for one, other, why in chain.from_iterable(found):
        if (one, other) not in pairs:
            pairs[one, other] = (why, *facts.shared(one, other))
    return pairs


def _by_spelling(facts: PairFacts, cores: Sequence[NameCore]) -> Iterator[tuple[int, int, str]]:
    """Pairs of which one is another spelling of the other, by rules."""
    names = facts.graph.entities.names
    for one, other in dict.fromkeys(_meetings(cores)):
        changes = differences(names[one], names[other], (cores[one], cores[other]))
        if changes is None or facts.against(one, other):
            continue
        if _is_enough(changes, one, other, cores, facts):
            yield one, other, in_words(changes)


def in_words(changes: frozenset[Difference]) -> str:
    """What two names differ in, for a person to judge."""
    if not changes:
        return t("the names differ only in punctuation")
    listed = ", ".join(t(change) for change in Difference if change in changes)
    return t("the names differ only in {changes}", changes=listed)


def _is_enough(
    changes: frozenset[Difference], one: int, other: int, cores: Sequence[NameCore], facts: PairFacts
) -> bool:
    """Whether what two spellings differ in, and what the graph says of both, is reason to take them for one
    thing. What is rather a common noun than a name needs more: a farm is not the farms."""
    changes -= {Difference.GLOSS}
    words, names = max(len(cores[one].parts), len(cores[other].parts)), facts.graph.entities.names
    texts = (names[one], names[other])
    kinds = {int(facts.kinds[one]), int(facts.kinds[other])}
    is_named = bool(kinds & NAMED_KINDS)
    is_known = bool(kinds - {Kind.UNKNOWN, Kind.OTHER}) or facts.has_types
    if not changes or facts.is_told_same(one, other):
        return True
    if facts.same_description(one, other):
        return len(changes) <= MOST_CHANGES
    is_other = words < LONG_TITLE and is_named and len(kinds - {Kind.UNKNOWN}) > 1
    if is_other and changes & {Difference.SPACING, Difference.CASE}:
        return False  # a charity called BreadCare is not bread care
    if facts.neighbours_shared(one, other):
        return len(changes) <= MOST_CHANGES
    if Difference.ARTICLE in changes:
        title = Kind.WORK in kinds and words < LONG_TITLE
        capital = all(_last_words(text)[0][0].isupper() for text in texts)
        if title or not capital or not changes <= WRITING or facts.has_other_role(one, other):
            return False
        if words == 1 and not all(text[0].isupper() for text in texts):  # a band called the Fall
            return is_known or facts.has_shared_role(one, other) or texts[0].split()[-1].isupper()
        return len(changes) == 1 or words >= LONG_TITLE
    is_certain = is_known or facts.has_shared_role(one, other)
    if changes == {Difference.CASE}:
        if words == 1 and any(LETTERS.fullmatch(text) for text in texts):  # US, us
            return False
        if words >= LONG_TITLE or is_named:
            return Kind.WORK not in kinds or words >= LONG_TITLE
        if words == 1 or _is_other_noun(*texts) or any(map(str.islower, texts)):
            return is_certain
        return True
    if changes == {Difference.ACCENT} and words == 1:  # Küchen, Kuchen
        return is_named
    if changes <= WRITING:
        return len(changes) == 1 or words >= LONG_TITLE
    if changes - {Difference.CASE} == {Difference.PLURAL}:
        is_role = is_named and Kind.WORK not in kinds and facts.is_noun(one, other, cores[one].parts[-1])
        return is_certain and (is_role or _is_common(texts, is_known and not is_named))
    if changes == {Difference.PARTICLE}:  # 박정은 is not 박정
        return is_certain and not (Kind.PERSON in kinds and any(text.endswith("은") for text in texts))
    if changes == {Difference.TITLE}:
        bearers = sum(cores[one].parts[0] in core.parts for core in cores)
        return words > 1 or (bool(kinds & {Kind.PERSON, Kind.GROUP}) and bearers <= 2)
    if changes == {Difference.ORDER}:
        if (FUNCTION_WORDS - MONTHS).intersection(cores[one].parts):  # the line from Seoul to Busan
            return False
        if ("," in texts[0]) != ("," in texts[1]) or MONTHS.intersection(cores[one].parts):
            return True
        turns = [[*cores[one].parts[place:], *cores[one].parts[:place]] for place in range(words)]
        return words > LONG_TITLE or (words == LONG_TITLE and list(cores[other].parts) in turns)
    return changes == {Difference.SLIP} and (words > 1 or is_known)


def _is_other_noun(one: str, other: str) -> bool:
    """Whether the last word is part of the name in one spelling and a noun in the other: the European Tour,
    a European tour; the Conservative Party, a conservative party."""
    last = [text.split()[-1][0].isupper() for text in (one, other)]
    return last[0] != last[1]


def _is_common(texts: Iterable[str], is_known: bool) -> bool:
    """Whether the last word is a common noun: America is not Americas. is_known: whether types say so."""
    return is_known or not any(_last_words(text)[-1][0].isupper() for text in texts)


def _last_words(text: str) -> list[str]:
    words = text.split()
    return words[1:] if len(words) > 1 and words[0].lower() in ARTICLES else words or [" "]


def _meetings(cores: Sequence[NameCore]) -> Iterator[tuple[int, int]]:
    """Pairs of rows (ascending) that share a key; of a key that more than MOST_ALIKE have, none."""
    for key_of in (attrgetter(name) for name in ("text", "whole", "in_any_order", "letters")):
        sharing: dict[str, list[int]] = defaultdict(list)
        for row, core in enumerate(cores):
            sharing[key_of(core)].append(row)
        for key, rows in sharing.items():
            if key and len(rows) <= MOST_ALIKE:
                yield from combinations(rows, 2)


def _by_abbreviation(facts: PairFacts, cores: Sequence[NameCore]) -> Iterator[tuple[int, int, str]]:
    """Pairs of which a name or a text says both forms; and letters that only one name has as its initials,
    where a relation, a neighbour or the letters' own text joins the two, or they are four of one type."""
    graph = facts.graph
    names, types = graph.entities.names, graph.entities.types
    unclear: set[int] = set()
    for abbreviation in abbreviations(graph):
        unclear.update(abbreviation.unclear)
        said = t(
            "{short} is the abbreviation in {name}", short=abbreviation.short, name=names[abbreviation.source]
        )
        if not abbreviation.in_name:
            said = t("a text of the graph says {form}", form=f"{abbreviation.long} ({abbreviation.short})")
        yield from ((*pair, said) for pair in abbreviation.pairs() if not facts.are_of_other_kinds(*pair))
    initials: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(names):
        if (letters := initials_of(name)) is not None:
            initials[letters].append(row)
    for row, name in enumerate(names):
        if row in unclear or not INITIALS.fullmatch(name):
            continue
        longs = initials.get(name.casefold()) or initials.get(name.casefold().removesuffix("s"), [])
        if len({cores[long].text for long in longs}) != 1:
            continue
        is_alike = len(name) >= LONG_INITIALS and facts.has_types and types[row] == types[longs[0]]
        is_told = fold(names[longs[0]]) in fold(graph.entities.descriptions[row])
        is_near = graph.adjacency.are_joined(row, longs[0]) or facts.neighbours_shared(row, longs[0])
        if is_told or is_alike or is_near:
            said = t("{short} is the abbreviation in {name}", short=name, name=names[longs[0]])
            pairs = ((min(row, long), max(row, long)) for long in longs)
            yield from ((*pair, said) for pair in pairs if not facts.are_of_other_kinds(*pair))


def _by_alias(facts: PairFacts) -> Iterator[tuple[int, int, str]]:
    """Entities of which one has the other's name as an alias, and nobody else has it."""
    aliases, names = facts.graph.entities.aliases, facts.graph.entities.names
    owners = np.repeat(np.arange(len(facts.graph)), np.diff(aliases.offsets)).tolist()
    holders: dict[str, set[int]] = defaultdict(set)
    for owner, alias in zip(owners, aliases.items, strict=True):
        holders[fold(alias)].add(owner)
    named: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(names):
        if (folded := fold(name)) in holders:
            named[folded].append(row)
    for folded, rows in sorted(named.items()):
        both = sorted({*rows, *holders[folded]})
        is_clear = len(rows) == 1 and len(both) == 2
        if is_clear and not are_distinct(*(names[row] for row in both)) and not facts.against(*both):
            why = t("{alias} is an alias of one and the name of the other", alias=names[rows[0]])
            yield both[0], both[1], why


class PairFacts:
    """What the graph says for and against two entities being one."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph, self.adjacency = graph, graph.adjacency
        self.kinds = kinds_of_entities(graph.entities.types)

    def _around(self, row: int) -> list[tuple[int, int, bool]]:
        """(neighbour, code of the relation's type, whether the relation runs from `row`) of each relation."""
        slots = self.adjacency.slots(row)
        codes = self.graph.relations.types.codes[self.adjacency.relations[slots]]
        neighbours, forward = self.adjacency.neighbours[slots], self.adjacency.forward[slots]
        return list(zip(neighbours.tolist(), codes.tolist(), forward.tolist(), strict=True))

    def are_of_other_kinds(self, one: int, other: int) -> bool:
        """Whether their types say of both what they are, and not the same."""
        return len({int(self.kinds[one]), int(self.kinds[other])} - {Kind.UNKNOWN, Kind.OTHER}) > 1

    def against(self, one: int, other: int) -> bool:
        """Whether they are of different kinds, related to each other, or have different values where things
        have one (two years of release)."""
        if self.are_of_other_kinds(one, other):
            return True
        if self.adjacency.are_joined(one, other) and not self.is_told_same(one, other):
            return True
        mine, theirs = self._around(one), self._around(other)
        values: dict[tuple[int, bool], set[int]] = defaultdict(set)
        for neighbour, code, forward in mine:
            values[code, forward].add(neighbour)
        return any(
            neighbour not in values[code, forward]
            for neighbour, code, forward in theirs
            if (code, forward) in values and (code, forward) in self.single_valued
        )

    @cached_property
    def has_types(self) -> bool:
        """Whether the graph distinguishes entities by more than one type."""
        return len(self.graph.entities.types.names) > 1

    def is_told_same(self, one: int, other: int) -> bool:
        """Whether a relation says that they are one (`also known as`)."""
        types = self.graph.relations.types.names
        return any(
            neighbour == other and bool(SAME_AS.intersection(words_of_name(types[code])))
            for neighbour, code, _ in self._around(one)
        )

    def same_description(self, one: int, other: int) -> bool:
        texts = self.graph.entities.descriptions
        return bool(texts[one]) and fold(texts[one]) == fold(texts[other])

    def is_noun(self, one: int, other: int, word: str) -> bool:
        """Whether the text of one has the word in small letters, as no name is written: an engineer."""
        texts = self.graph.entities.descriptions
        return any(re.search(rf"\b{word}(?:s|es)?\b", texts[row]) for row in (one, other))

    def neighbours_shared(self, one: int, other: int) -> list[int]:
        """Neighbours by the same relation, or two of any; hubs say little."""
        mine, theirs = self._around(one), self._around(other)
        degrees = self.adjacency.degrees
        same = sorted({row for row, _, _ in set(mine) & set(theirs) if int(degrees[row]) <= HUB})
        both = sorted({neighbour for neighbour, *_ in mine} & {neighbour for neighbour, *_ in theirs})
        return same or (both if len(both) > 1 else [])

    def has_shared_role(self, one: int, other: int) -> bool:
        """Whether relations of one type lead to both, or away from both."""
        return bool(self._roles(one) & self._roles(other))

    def has_other_role(self, one: int, other: int) -> bool:
        """Whether both have relations and none of a type in common, where the graph was made to a schema: the
        genre Comedy is not the film The Comedy."""
        is_free_text = 10 * len(self.graph.relations.types.names) > len(self.graph.relations)
        roles = [self._roles(one), self._roles(other)]
        return not is_free_text and all(roles) and not roles[0] & roles[1]

    def _roles(self, row: int) -> set[tuple[int, bool]]:
        return {(code, forward) for _, code, forward in self._around(row)}

    def shared(self, one: int, other: int) -> tuple[str, ...]:
        """What speaks for one thing besides the names, in words."""
        reasons = []
        if self.is_told_same(one, other):
            reasons.append(t("a relation between them says that they are the same"))
        if self.same_description(one, other):
            reasons.append(t("they have the same description"))
        neighbours = self.neighbours_shared(one, other)
        if neighbours:
            names = ", ".join(self.graph.entities.names[row] for row in neighbours[:SHOWN])
            reasons.append(t("both are related to {names}", names=names))
        return tuple(reasons)

    @cached_property
    def single_valued(self) -> frozenset[tuple[int, bool]]:
        """Relation types (code, whether from source to target) by which an entity has one neighbour."""
        relations = self.graph.relations
        values: dict[tuple[int, bool], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        ends = zip(relations.sources.tolist(), relations.targets.tolist(), strict=True)
        for code, (source, target) in zip(relations.types.codes.tolist(), ends, strict=True):
            values[code, True][source].add(target)
            values[code, False][target].add(source)
        return frozenset(
            role
            for role, held in values.items()
            if len(held) >= FEWEST_HOLDERS
            and sum(len(others) == 1 for others in held.values()) >= SINGLE_VALUED * len(held)
        )


def _clusters(pairs: Pairs, graph: KnowledgeGraph) -> list[list[int]]:
    """Rows that are one thing: pairs joined where every two of the joined have met as a pair too; in the
    order of the names, so that no result depends on that of the pairs."""
    rank = graph.name_rank
    cluster_of: dict[int, list[int]] = {}
    for one, other in sorted(pairs, key=lambda pair: sorted((int(rank[pair[0]]), int(rank[pair[1]])))):
        mine, theirs = cluster_of.get(one, [one]), cluster_of.get(other, [other])
        if mine is theirs:
            continue
        if all((min(a, b), max(a, b)) in pairs for a in mine for b in theirs):
            joined = [*mine, *theirs]
            cluster_of.update((row, joined) for row in joined)
    distinct = {id(rows): rows for rows in cluster_of.values()}
    return sorted((sorted(rows) for rows in distinct.values()), key=lambda rows: rows[0])


def asked_about(graph: KnowledgeGraph, questions: EvalSet) -> dict[int, list[str]]:
    """Entity → ids of the questions that name it, or whose references do."""
    names = NameIndex.of(graph)
    asked: dict[int, list[str]] = defaultdict(list)
    linked = NameLinker(graph, names).link(questions.examples)
    for example, question in zip(questions, linked, strict=True):
        meant = names.meant_by(example.relevant_entities) | {seed.entity for seed in question.seeds}
        for row in sorted(meant):
            asked[row].append(example.id)
    return asked
