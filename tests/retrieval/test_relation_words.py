"""Words claim relation types by index and in columns: the same as word by word and type by type."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import TextIndex
from tiny_graph_rag.language.kinds import KINDS_ASKED, NO_RELATIONS, asked_kind, synonyms
from tiny_graph_rag.language.words import (
    dictionary_form,
    is_function_word,
    is_in_listed_language,
    is_korean,
    likeness,
    stem,
    words_of_name,
)
from tiny_graph_rag.linking.question_words import NO_WORD, RelationWords
from tiny_graph_rag.retrieval.query import Reader, TextWords

PRICES = RankingPrices()
WEIGHTS = {
    grade: round(1000 * price) for grade, price in ((3, 1.0), (2, PRICES.same_stem), (1, PRICES.related_word))
}
OTHER_NAME = round(1000 * PRICES.vocabulary_word)

ENGLISH_WORDS = """
write wrote written writer screenwriter screenplay play played player act actor acted actress thought think
rethink taught teach mistaught teacher teaching direct directed director direction locate located location
born birth birthplace place places city country year date time person people found founder foundation
"""
KOREAN_WORDS = """
감독 감독한 감독이 각본 각본가 각본을 출연 출연한 배우 배우가 태어난 태어나다 장소 장소에서 시간 시기
사람 사람이 사람들 나라 나라의 설립 설립자 설립한 이름 이름은 가족 아버지 아버지의 어머니
"""
ENGLISH, KOREAN = ENGLISH_WORDS.split(), KOREAN_WORDS.split()
ASKING = ["who", "when", "where", "누가", "언제", "어디", "of", "the"]

Claimed = dict[int, tuple[int, int]]  # type → weight, place


def forms(word: str) -> list[str]:
    beginnings = [word[:end] for end in range(len(word), 1, -1)] if is_korean(word) else [word, stem(word)]
    return [*beginnings, dictionary_form(word)]


def known_as(said: str) -> set[str]:
    return {said, stem(said), dictionary_form(said), said.removesuffix("하다")}


def plainly_claimed(names: list[str], vocabulary: dict[str, list[str]], word: str) -> Claimed:
    """Every word of every name is compared; of equal weights the first counts."""
    words = [
        [other_word for other_word in words_of_name(name) if not is_function_word(other_word)]
        for name in names
    ]
    kinds = asked_kind(word) - NO_RELATIONS
    all_words = {other for its in words for other in its}
    held = {stem(other) for its in words for other in its}
    others = []
    for its, name in zip(words, names, strict=True):
        telling = [other for other in its if other not in KINDS_ASKED and synonyms(other)]
        common = [other for head in (*its[-1:], *telling[-1:]) for other in synonyms(head)]
        common = [other for other in common if other not in KINDS_ASKED and stem(other) not in held]
        others.append({form for said in (*common, *vocabulary.get(name, ())) for form in known_as(said)})
    known = next((form for form in forms(word) if any(form in own for own in (all_words, *others))), None)
    best: Claimed = {}
    for type_ in range(len(names)):
        ways = []
        if not is_function_word(word):
            ways += [
                (WEIGHTS[grade], place)
                for place, other in enumerate(words[type_])
                if (grade := likeness(word, other))
            ]
        ways += [(OTHER_NAME, place) for place, other in enumerate(words[type_]) if other in kinds]
        if known in others[type_]:
            ways.append((OTHER_NAME, NO_WORD))
        if ways:
            most = max(weight for weight, _ in ways)
            best[type_] = next(way for way in ways if way[0] == most)
    return best


def are_apart(one: str, other: str) -> bool:
    """Whether they are in different languages: no word of one script is in both names, or the function words
    of one are listed alone."""
    words = words_of_name(one), words_of_name(other)
    listed = [is_in_listed_language(" ".join(its)) for its in words]
    return listed[0] != listed[1] or set(map(is_korean, words[0])).isdisjoint(map(is_korean, words[1]))


def plainly_mentioned(
    names: list[str], claims: dict[int, Claimed]
) -> list[tuple[list[int], list[int], int, bool]]:
    """Types one by one, best covered first; each takes the words that no better one has taken."""
    ranked = []
    for type_ in {type_ for claimed in claims.values() for type_ in claimed}:
        mine = [(place, *claimed[type_]) for place, claimed in claims.items() if type_ in claimed]
        cover: dict[int, int] = {}
        for _, weight, part in mine:
            cover[part] = max(cover.get(part, 0), weight)
        by_owner = cover.pop(NO_WORD, 0)
        words = [word for word in words_of_name(names[type_]) if not is_function_word(word)]
        coverage = max(by_owner, sum(cover.values()) // max(1, len(words)))
        places = [place for place, _, _ in mine]
        ranked.append((-coverage, names[type_], type_, mine, set(places)))
    taken: set[int] = set()
    mentions = []
    for coverage, _, type_, mine, claimed in sorted(ranked, key=lambda pair: pair[:2]):
        own = [flip for flip in mine if flip[0] not in taken]
        if own:
            named = [place for place, _, part in own if part != NO_WORD]
            apart = any(after - before > 1 for before, after in pairwise(named))
            places = [place for place, _, _ in own]
            mentions.append(([type_], places, max(row[1] for row in own), apart, coverage, claimed))
            taken.update(places)
        else:
            for types, _, _, _, its_coverage, its_words in mentions:
                is_as_good = its_coverage == coverage or are_apart(names[type_], names[types[0]])
                if its_words == claimed and is_as_good:
                    types.append(type_)
    return [(sorted(types), places, weight, apart) for types, places, weight, apart, _, _ in mentions]


@pytest.mark.slow
@pytest.mark.parametrize("words", [ENGLISH, KOREAN, ENGLISH + KOREAN])
@pytest.mark.parametrize("seed", range(4))
def test_types_claim_the_words_of_a_question_as_if_each_were_compared(words: list[str], seed: int) -> None:
    chance = random.Random(f"{seed} {words[0]}")
    names = sorted(
        {" ".join(chance.choices([*words, "of", "by"], k=chance.randint(1, 4))) for _ in range(80)}
    )
    chance.shuffle(names)
    vocabulary = {name: chance.sample(words, 2) for name in chance.sample(names, 10)}
    types = RelationWords(names, vocabulary, PRICES)
    graph = KnowledgeGraph.from_triples([("a", name, "b") for name in names])
    reader = Reader(types, TextWords(graph, TextIndex(graph), {}, PRICES), PRICES)
    for length in [*range(1, 12)] * 3 + [150]:
        asked = dict(enumerate(chance.choices([*words, *ASKING, "nothing"], k=length)))
        claims = {place: plainly_claimed(names, vocabulary, word) for place, word in asked.items()}
        for place, word in asked.items():
            assert types.claims(word) == claims[place]
        mentions = [
            (sorted(_mention.types), _mention.places, _mention.weight, _mention.repeated)
            for _mention in reader._mentions(asked, listed=True)
        ]
        assert mentions == plainly_mentioned(names, claims)
