"""How much a slip of the finger costs: the same questions asked again in altered form."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tiny_graph_rag.errors import unknown
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.measures import Measure, score
from tiny_graph_rag.measures.paired import EQUAL, changes, interval
from tiny_graph_rag.measures.summary import numbered
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.study.evaluate import Drop, Evaluation, Perturbed, judge_on_graph


def parse_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Raises UsageError for an unknown kind."""
    for name in names:
        if name not in KINDS:
            raise unknown("--perturb", name, list(KINDS))
    return tuple(dict.fromkeys(names))


def perturb(evaluation: Evaluation, kinds: Sequence[str]) -> tuple[Perturbed, ...]:
    """Ask every question again in each altered form, by the same linker and retriever."""
    names = NameIndex.of(evaluation.graph)
    linker = make_linker(evaluation.graph, names, evaluation.config)
    retriever = make_retriever(evaluation.graph, evaluation.config, evaluation.examples, evaluation.judgments)
    seed, cutoff = evaluation.config.evaluation.seed, evaluation.config.evaluation.top_k
    measures = [score for score in evaluation.scores if score.kind.weight is None]
    recall = Measure("recall", cutoff)
    before = recall.compute(evaluation.judged)
    found = []
    for kind in kinds:
        # A generator of its own for each question: an added question changes no other.
        examples = [
            replace(
                question, query=KINDS[kind](question.query, random.Random(f"{seed} {kind} {question.id}"))
            )
            for question in evaluation.examples
        ]
        linked = linker.link(examples)
        run = retriever.retrieve(linked)
        judged = judge_on_graph(
            evaluation.graph, examples, names, linked, run, evaluation.judgments, measures, evaluation.config
        )
        after = recall.compute(judged)
        drops = {}
        for key, column in score(judged, measures).items():
            change = changes(column, evaluation.scores[key])
            defined = ~np.isnan(change)
            change = change[defined]
            groups = numbered([one.group for one in evaluation.examples])
            low, high = key.bounds
            between = interval(change, span=high - low, groups=None if groups is None else groups[defined])
            mean, drop = (
                float(part.mean()) if len(part) else float("nan") for part in (column[defined], change)
            )
            drops[key] = Drop(mean, drop, between.low, between.high, len(change))
        pairs = list(zip(examples, evaluation.examples, strict=True))
        found.append(
            Perturbed(
                kind,
                altered=sum(new.query != old.query for new, old in pairs),
                measures=drops,
                broken=tuple(
                    (examples[row].id, examples[row].query)
                    for row in np.flatnonzero(after < before - EQUAL).tolist()
                ),
            )
        )
    return tuple(found)


TYPO_SHARE = 0.05  # of the letters, at least one a question: some two typos in a line of 40
_QWERTY = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# The two-set Korean layout; shifted keys write what stands below them, so neighbours are those of the key.
_DUBEOLSIK = ("ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔ", "ㅁㄴㅇㄹㅎㅗㅓㅏㅣ", "ㅋㅌㅊㅍㅠㅜㅡ")
_INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_FIRST_SYLLABLE, _LAST_SYLLABLE = ord("가"), ord("힣")
_EXCHANGED = {
    "은": "는", "는": "은", "이": "가", "가": "이", "을": "를", "를": "을",
    "와": "과", "과": "와", "으로": "로", "로": "으로", "에게": "한테", "한테": "에게",
}  # fmt: skip
_DROPPED = (*_EXCHANGED, "의", "에서", "에", "도")
_PARTICLE = re.compile(
    rf"(?<=[가-힣]{{2}})({'|'.join(sorted(_DROPPED, key=len, reverse=True))})(?=[\s?!.,]|$)"
)


def lowered(text: str, chance: random.Random) -> str:
    """No capital letters."""
    return text.lower()


def mistyped(text: str, chance: random.Random) -> str:
    """Some letters replaced by a neighbouring key's."""
    places = [place for place, letter in enumerate(text) if _neighbours(letter)]
    letters = list(text)
    for place in chance.sample(places, min(len(places), max(1, round(TYPO_SHARE * len(places))))):
        letters[place] = chance.choice(_neighbours(letters[place]))
    return "".join(letters)


def respaced(text: str, chance: random.Random) -> str:
    """One space left out, and one put into a word of four letters or more."""
    gaps = [match.start() for match in re.finditer(r"(?<=\S) (?=\S)", text)]
    if gaps:
        place = chance.choice(gaps)
        text = text[:place] + text[place + 1 :]
    words = list(re.finditer(r"[^\W\d_]{4,}", text))
    if words:
        word = chance.choice(words)
        place = chance.randrange(word.start() + 1, word.end())
        text = text[:place] + " " + text[place:]
    return text


def without_particles(text: str, chance: random.Random) -> str:
    """Korean particles dropped or exchanged for their other form, each with an even chance."""

    def altered(found: re.Match[str]) -> str:
        return _EXCHANGED.get(found[1], "") if chance.random() < 0.5 else ""

    return _PARTICLE.sub(altered, text)


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "lower": lowered,
    "typos": mistyped,
    "spaces": respaced,
    "particles": without_particles,
}


def _beside(rows: tuple[str, ...]) -> dict[str, str]:
    """Key → the keys that touch it: left and right in its row, and those nearest above and below."""
    found = {}
    for line, row in enumerate(rows):
        for place, key in enumerate(row):
            near = [row[item] for item in (place - 1, place + 1) if 0 <= item < len(row)]
            near += [
                rows[line - 1][item] for item in (place, place + 1) if line and item < len(rows[line - 1])
            ]
            if line + 1 < len(rows):
                near += [
                    rows[line + 1][item] for item in (place - 1, place) if 0 <= item < len(rows[line + 1])
                ]
            found[key] = "".join(near)
    return found


_LATIN = _beside(_QWERTY)
_JAMO = _beside(_DUBEOLSIK)


def _neighbours(letter: str) -> list[str]:
    """What a slip of the finger can make of a letter; nothing where it has no key of its own."""
    if letter.lower() in _LATIN:
        near = _LATIN[letter.lower()]
        return [entity.upper() if letter.isupper() else entity for entity in near]
    if not _FIRST_SYLLABLE <= ord(letter) <= _LAST_SYLLABLE:
        return []
    code = ord(letter) - _FIRST_SYLLABLE
    parts = (code // 588, code % 588 // 28, code % 28)
    found = []
    for which, jamo in enumerate((_INITIALS, _VOWELS, _FINALS)):
        for near in _JAMO.get(jamo[parts[which]], ""):
            if near in jamo:
                changed = [*parts]
                changed[which] = jamo.index(near)
                found.append(chr(_FIRST_SYLLABLE + (changed[0] * 21 + changed[1]) * 28 + changed[2]))
    return found
