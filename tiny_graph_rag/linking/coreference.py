"""Pronouns, and questions that leave their subject unsaid, link to what earlier turns named.

`Who was her sister?` after `Honoria Westphail, near Harrow.` speaks of Honoria Westphail. The antecedent is
the most recent entity whose kind the pronoun allows: the last turn first, in a turn the last mention. An
entity of unknown kind is second choice (of *it* and *there* any that is no person), an entity that the
question itself names is none.

Pronouns are those of English and Korean, and nouns behind a demonstrative: that film, 그 사람.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.language.folding import Text
from tiny_graph_rag.language.function_words import PARTICLES, particle_cuts, table
from tiny_graph_rag.language.kinds import Kind, kind_of_type
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.mentions import Mention


class Referent(NamedTuple):
    """What a pronoun may stand for; in one question those with the same referent mean the same. kinds: of its
    antecedent, first and second choice."""

    kinds: frozenset[Kind]
    otherwise: frozenset[Kind] = frozenset({Kind.UNKNOWN})
    word: str = ""


PERSON = frozenset({Kind.PERSON})
THINGS = frozenset({Kind.THING, Kind.WORK, Kind.GROUP, Kind.OTHER})
NO_PERSON = frozenset(Kind) - PERSON
THEY, IT = Referent(frozenset(Kind)), Referent(THINGS, NO_PERSON)
_PRONOUNS = {
    word: referent
    for referent, words in (
        (Referent(PERSON, word="he"), "he him his himself 그 그이 그자"),
        (Referent(PERSON, word="she"), "she her hers herself 그녀"),
        (Referent(PERSON), "걔 얘 쟤 그애 그분 이분 저분 그사람"),
        (Referent(PERSON | {Kind.THING}), "그놈 이놈 저놈 그녀석 이녀석"),
        (IT, "it its itself this that these those"),
        (IT, "그것 이것 저것 그거 이거 저거 그건 이건 저건 그게 이게 저게 그걸 이걸 저걸"),
        (Referent(frozenset({Kind.PLACE}), NO_PERSON), "there here 거기 여기 저기 그곳 이곳 저곳 거긴 여긴"),
        (THEY, "they them their theirs themselves 그들 이들 걔네 걔들 얘들 그녀들 그분들 그것들"),
    )
    for word in words.split()
}
_DEMONSTRATIVES = table("this that these those 그 이 저")
_BE = table("is are was were be been being s")  # `there is` names no place
_NOT_PRONOUNS = table("그만 그대로 이만 이대로 그나마 그보다 그야말로 여보")


def pronouns(text: str) -> list[tuple[int, int, Referent]]:
    """The pronouns of a text, in order: where each stands, with a demonstrative before it and no particles
    behind it, and what it may stand for."""
    whole = Text.of(text)
    words, standing = whole.words, []
    neighbours = zip(["", *words], words, [*words[1:], ""], strict=False)
    for place, (before, word, after) in enumerate(neighbours):
        noun, length = _meaning(word, _of_noun) if before in _DEMONSTRATIVES else (None, 0)
        referent, length = (noun, length) if noun else _meaning(word, _PRONOUNS.get)
        is_of_noun = word in _DEMONSTRATIVES and after and after not in PARTICLES  # 그 말고 is of none
        is_none = word in _NOT_PRONOUNS or (word == "there" and not _BE.isdisjoint((before, after)))
        if referent is not None and not is_of_noun and not is_none:
            start = whole.starts[place]
            first = whole.starts[place - 1] if noun else start
            standing.append((*whole.span(first, start + length), referent))
    return standing


def _of_noun(noun: str) -> Referent | None:
    """What a noun stands for behind a demonstrative: that film, 그 사람."""
    if noun in ("것", "거"):
        return IT
    kind = kind_of_type(noun)
    return None if kind == Kind.UNKNOWN else Referent(frozenset({kind}))


def _meaning(word: str, meaning: Callable[[str], Referent | None]) -> tuple[Referent | None, int]:
    """What the longest form means with which the word begins, particles alone behind it; and its length."""
    for length in (len(word), *particle_cuts(word)):
        reference = meaning(word[:length])
        if reference is not None:
            return reference, length
    return None, 0


Turns = Sequence[Sequence[Mention]]  # of the earlier turns, oldest first


def from_context(
    text: str, mentions: Sequence[Mention], turns: Turns, kinds: NDArray[np.uint8], *, unsaid: bool
) -> list[Seed]:
    """What the question's pronouns mean; or, where it names nothing at all, what was spoken of last.

    mentions: of the question itself. kinds: of each entity of the graph. unsaid: whether a question without
    mention and pronoun may be about what was spoken of last.
    """
    used = {entity for mention in mentions for entity in mention.entities}
    known: set[Referent] = set()
    seeds: list[Seed] = []
    for start, end, referent in pronouns(text):
        if referent not in known:
            known.add(referent)
            antecedents = _antecedents(referent, turns, kinds, used)
            seeds += Seed.sharing(antecedents, text[start:end], start, end, "coreference")
            used.update(antecedents)
    if unsaid and not seeds and not mentions:
        last = next((turn[-1] for turn in reversed(turns) if turn), None)
        if last is not None:
            seeds = Seed.sharing(last.entities, "", None, None, "ellipsis")
    return seeds


def _antecedents(referent: Referent, turns: Turns, kinds: NDArray[np.uint8], used: set[int]) -> list[int]:
    for wanted in (referent.kinds, referent.otherwise):
        for turn in reversed(turns):
            free = [[entity for entity in mention.entities if entity not in used] for mention in turn]
            fitting = [its for one in free if (its := [entity for entity in one if kinds[entity] in wanted])]
            if fitting:
                return list(dict.fromkeys(chain(*fitting))) if referent == THEY else fitting[-1]
    return []
