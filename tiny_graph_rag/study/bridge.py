"""References from what people already wrote: entities that the answer names, and the evidence, and not the
question.

Without a model: names and aliases of the graph are looked for in each text, as linking looks for them in a
question. What answer and evidence both name is nearly always meant; the rest is for somebody to judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct

from tiny_graph_rag.errors import UsageError, unknown
from tiny_graph_rag.formats.gold.drafts import Candidate, Draft
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.words import stem, words_of
from tiny_graph_rag.linking import Linker
from tiny_graph_rag.linking.base import Seed

ANSWER, EVIDENCE = "answer", "evidence"
ACCEPTED = {
    "both": "named in the answer and in the evidence",
    "exact": "the whole answer is its name",
    "answer": "named in the answer",
}
AROUND = 80  # characters shown on each side of a name
LONGEST_ANSWER = 60  # words from which an answer is an essay, whose names are not all asked for


class Bridged(Struct, frozen=True):
    """drafts: in file order. found, accepted: questions with a candidate, with a reference accepted.
    references: accepted ones of all questions. silent: ids of questions whose texts name no entity beyond
    the question's own. long: questions whose answer is too long for accepting."""

    drafts: tuple[Draft, ...]
    found: int
    accepted: int
    references: int
    silent: tuple[str, ...]
    long: int


def check_accept(text: str | None) -> tuple[str, ...]:
    """`both,exact` → its parts. Raises UsageError for what is none."""
    parts = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    for part in parts:
        if part not in ACCEPTED:
            raise unknown("--accept", part, list(ACCEPTED))
    return parts


def bridged(
    graph: KnowledgeGraph, examples: Sequence[Example], linker: Linker, accept: Sequence[str] = ()
) -> Bridged:
    """A draft of questions that have answers, evidence or both. Raises UsageError where none has."""
    if not any(example.ground_truth or example.reference_texts for example in examples):
        raise UsageError(
            "no question has an answer or evidence to look for names in; `recommend` proposes candidates "
            "from retrievers instead"
        )
    texts: list[str] = []
    owners: list[tuple[int, str, int]] = []  # question, where the text stands, its place there
    for row, example in enumerate(examples):
        for where, values in (
            ("question", (example.query, *example.context)),
            (ANSWER, example.ground_truth),
            (EVIDENCE, example.reference_texts),
        ):
            owners += [(row, where, place) for place in range(len(values))]
            texts += values
    linked = linker.link([Example(f"text-{number}", text, ()) for number, text in enumerate(texts)])
    named: list[dict[str, list[tuple[int, Seed]]]] = [{} for _ in examples]
    for (row, where, place), found in zip(owners, linked, strict=True):
        named[row].setdefault(where, []).extend((place, seed) for seed in found.named)
    drafts = [_draft(graph, example, named[row], accept) for row, example in enumerate(examples)]
    done = [draft for draft in drafts if draft.example.judged and draft.example.reference_entities]
    return Bridged(
        tuple(drafts),
        sum(bool(draft.candidates) for draft in drafts),
        len(done),
        sum(len(draft.example.reference_entities) for draft in done),
        tuple(draft.example.id for draft in drafts if not draft.candidates),
        sum(_is_long(draft.example) for draft in drafts if draft.candidates),
    )


def _is_long(example: Example) -> bool:
    return sum(len(text.split()) for text in example.ground_truth) > LONGEST_ANSWER


def _draft(
    graph: KnowledgeGraph,
    example: Example,
    named: dict[str, list[tuple[int, Seed]]],
    accept: Sequence[str],
) -> Draft:
    asked = {seed.entity for _, seed in named.get("question", ())}
    stems = _stems(" ".join((example.query, *example.context)))
    places: dict[int, list[dict[str, Any]]] = {}
    for where, values in ((ANSWER, example.ground_truth), (EVIDENCE, example.reference_texts)):
        for place, seed in named.get(where, ()):
            if seed.entity not in asked and not _is_asked(graph, seed.entity, stems):
                places.setdefault(seed.entity, []).append(_place(where, place, values[place], seed))
    order = sorted(places, key=lambda entity: (-_rank(places[entity]), graph.name_rank[entity]))
    chosen = [entity for entity in order if _is_accepted(places[entity], example, accept)]
    names = tuple(dict.fromkeys(str(graph.entities.names[entity]) for entity in chosen))
    given = example.reference_entities or example.highly_relevant_entities
    example = replace(
        example,
        reference_entities=example.reference_entities if given else names,
        judged=bool(given or names),
        record=None,
    )
    return Draft(
        example=example,
        candidates=tuple(Candidate.of(graph, entity, named=tuple(places[entity])) for entity in order),
        no_seed=not asked,
    )


def _rank(places: Iterable[dict[str, Any]]) -> int:
    where = {place["in"] for place in places}
    return 2 * (ANSWER in where) + (EVIDENCE in where)


def _is_accepted(places: Sequence[dict[str, Any]], example: Example, accept: Sequence[str]) -> bool:
    if any(place.get("whole") for place in places) and {"exact", "answer", "both"} & set(accept):
        return "exact" in accept or "answer" in accept or _rank(places) == 3
    if _is_long(example):
        return False
    return ("both" in accept and _rank(places) == 3) or ("answer" in accept and _rank(places) >= 2)


def _place(where: str, place: int, text: str, seed: Seed) -> dict[str, Any]:
    """Where a text names an entity, with the words around it. place: of the text among its like."""
    start, end = seed.start or 0, seed.end or 0
    found: dict[str, Any] = {"in": where, "text": place, "start": start, "end": end, "words": text[start:end]}
    found |= {"before": text[max(0, start - AROUND) : start], "after": text[end : end + AROUND]}
    if where == ANSWER and text[:start].strip(" \t\"'“‘") == "" == text[end:].strip(" \t.\"'”’"):
        found["whole"] = True
    return found


def _is_asked(graph: KnowledgeGraph, entity: int, asked: tuple[str, ...]) -> bool:
    """Whether the question names the entity in another form (a plural), or within a longer name."""
    spellings = (str(graph.entities.names[entity]), *graph.entities.aliases[entity])
    return any(_stands_in(_stems(spelling), asked) for spelling in spellings)


def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word, *_ in words_of(text))


def _stands_in(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    length = len(part)
    return bool(part) and any(whole[at : at + length] == part for at in range(len(whole) - length + 1))
