"""The same question asked otherwise: with a noisy name, or after a turn that named its seed.

A variant keeps what its question asks and wants; only the words differ, so a retriever that answers one and
not the other shows what it stumbles over.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from tiny_graph_rag.gold.patterns import seeds_of
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import Wording
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold, nfc, nfd, scripts_of
from tiny_graph_rag.language.kinds import Kind

VARIANTS = ("alias-noise", "coreference")
OTHER_FORMS = ("their", "its")  # of pronouns
LEAST_LETTERS = 4  # of a name that a slip leaves recognisable; of Hangul letters (jamo), not syllables
SLIPS = 12  # tried for one that is no other entity's name


@dataclass(frozen=True, slots=True)
class QuestionVariant:
    """noise: of alias-noise, "alias" or "spelling". context: earlier turns. mentions: what the
    question calls its seeds."""

    kind: str
    query: str
    noise: str = ""
    context: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


def variant(
    kind: str, drawn: DrawnQuestion, wording: Wording, names: NameIndex, chance: random.Random
) -> QuestionVariant | None:
    """A question in another form; None where the graph or the words give none."""
    seeds = seeds_of(drawn.formula)
    if kind == "coreference":
        called = wording.pronouns.get(Kind(int(wording.kind_of[seeds[0]])))
        if len(seeds) != 1 or not called:
            return None
        query = wording.question(drawn.formula, drawn.answers, {seeds[0]: called})
        of = wording.named(seeds, {})
        introduced = wording.introduction.format(of.text if of else "").replace("..", ".")
        forms = [form for form in (called, *OTHER_FORMS) if re.search(rf"\b{form}", query or "")]
        return QuestionVariant(kind, query, "", (introduced,), tuple(forms[:1])) if query else None
    seed = seeds[int(chance.random() * len(seeds))]
    found = noisy_name(wording.index.graph, seed, names, chance)
    if found is None:
        return None
    mentions = tuple(wording.name(item, {seed: found[0]}) for item in seeds)
    query = wording.question(drawn.formula, drawn.answers, {seed: found[0]})
    return QuestionVariant(kind, query, found[1], (), mentions) if query else None


def noisy_name(
    graph: KnowledgeGraph, entity: int, names: NameIndex, chance: random.Random
) -> tuple[str, str] | None:
    """What somebody might call the entity, and how that differs: an "alias" in its script that means it
    alone, or a slip of "spelling" that means nothing else in the graph, by lot."""
    name = str(graph.entities.names[entity])
    aliases = [
        alias
        for alias in graph.entities.aliases[entity]
        if len(alias) > 1
        and alias.isprintable()
        and scripts_of(alias) == scripts_of(name)
        and fold(alias) != fold(name)
        and names.resolve(alias)[0] == (entity,)
    ]
    if not aliases or chance.random() < 0.5:
        for _ in range(SLIPS):
            wrong = slip(name, chance)
            if wrong and fold(wrong) != fold(name) and not names.resolve(wrong)[0]:
                return wrong, "spelling"
    return (aliases[int(chance.random() * len(aliases))], "alias") if aliases else None


def slip(name: str, chance: random.Random) -> str | None:
    """The name with one slip inside: a Hangul letter taken for a similar one (점순 → 정순); of ASCII letters
    two swapped, or one left out. None where the name is too short or in another script."""
    letters = [part for letter in nfc(name) for part in (nfd(letter) if "가" <= letter <= "힣" else letter)]
    inner = [
        place
        for place in range(1, len(letters))
        if letters[place].isalpha() and letters[place - 1].isalpha() and not letters[place].isupper()
    ]
    if len(letters) < LEAST_LETTERS or not inner:
        return None
    place = inner[int(chance.random() * len(inner))]
    letter = letters[place]
    similar = next((row for row in _SIMILAR_LETTERS if letter in row), "").replace(letter, "")
    if similar:
        letters[place] = similar[int(chance.random() * len(similar))]
    elif not letter.isascii():
        return None
    elif chance.random() < 0.5 and "".join(letters[place + 1 : place + 2]).isalpha():
        letters[place : place + 2] = letters[place + 1], letter
    else:
        del letters[place]
    return nfc("".join(letters))


# Hangul letters as they are combined: leading consonants, vowels, final consonants that are often confused.
_SIMILAR_LETTERS = (
    *("ᄀᄁᄏ", "ᄃᄄᄐ", "ᄇᄈᄑ", "ᄉᄊᄌᄍᄎ", "ᄂᄅ", "ᅢᅦᅤᅨ", "ᅡᅥ", "ᅩᅮ", "ᅬᅫᅰ", "ᅣᅧ", "ᅭᅲ", "ᅳᅵ"),
    *("ᆫᆼᆷ", "ᆮᆺᆻᆽᆾᇀ", "ᆨᆿᆩ", "ᆸᇁ"),
)
