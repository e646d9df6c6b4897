"""Questions in Korean, with particles that fit whatever stands before them.

Every relation is a phrase with a place for its one end: `~이 가진 것`, `~을 가진 사람`. Types named in
English are looked up among the commonest words of schemas; a type that is Korean itself is read as a noun or
as an adnominal form; of any other no question is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

from tiny_graph_rag.gold.formulas import RelationStep
from tiny_graph_rag.gold.wording import Ends, NounPhrase, Wording, phrase_lines
from tiny_graph_rag.language.function_words import final_consonant, table
from tiny_graph_rag.language.kinds import Kind, singular
from tiny_graph_rag.language.particles import with_particle
from tiny_graph_rag.language.words import words_of_name

_MARK = re.compile("~(으로|[이을과](?= ))?")
_HEAD = re.compile(r"\{(\w+)(?:=(\w+))?\}")
# What a phrase's own noun says of the kind; 것 may be anything.
_KINDS = {"사람": "person", "곳": "place", "작품": "work", "사물": "thing", "것": ""}
_HEADS = {Kind.PERSON: "사람", Kind.PLACE: "곳", Kind.WORK: "작품", Kind.GROUP: "단체"}
_TYPES = {
    "animal": "동물", "plant": "식물", "event": "사건", "organization": "단체", "organisation": "단체",
    "group": "집단", "company": "회사", "family": "집안", "city": "도시", "town": "도시", "country": "나라",
    "village": "마을", "river": "강", "mountain": "산", "building": "건물", "film": "영화", "movie": "영화",
    "book": "책", "novel": "소설", "song": "노래", "album": "음반", "poem": "시", "magazine": "잡지",
    "newspaper": "신문", "school": "학교", "university": "대학", "food": "음식", "weapon": "무기",
    "tool": "도구", "product": "제품", "award": "상", "language": "언어", "genre": "갈래", "disease": "병",
    "technology": "기술",
}  # fmt: skip
_GENERAL = table("단체 집단 조직 기관 장소 작품")  # types that say less than a phrase's own noun
_ASKED = {Kind.PERSON: "누구", Kind.PLACE: "어디", Kind.GROUP: "어디"}
_ASKED_BY_NOUN = {"곳": "어디", "사람": "누구", "해": "언제", "때": "언제", "장소": "어디"}
_PRONOUNS = {
    Kind.PERSON: "그 사람", Kind.PLACE: "그곳", Kind.WORK: "그 작품", Kind.GROUP: "그곳", Kind.OTHER: "그 일",
}  # fmt: skip
_MIEUM, _RIEUL_MIEUM = 16, 10  # finals as `final_consonant` numbers them
_ADNOMINAL = ("한", "된", "하는", "되는", "던", "은", "는")


@cache
def _listed() -> dict[str, tuple[str, str]]:
    """Words of a type → its target seen from the source, its source seen from the target."""
    found = {}
    for types, phrase in phrase_lines("ko"):
        forward, _, backward = phrase.partition(" | ")
        pair = (forward, backward) if backward else (f"~이 {phrase} {{것}}", f"~을 {phrase} {{것}}")
        found.update(dict.fromkeys(types, pair))
    return found


@cache
def phrases_of(name: str, vocabulary: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """The two phrases of a relation type: (target seen from the source, source seen from the target); None
    where there are no Korean words for it."""
    words = " ".join(words_of_name(name)) or name
    known = _listed().get(words) or _listed().get(re.sub("^(?:is|was|has) |하다$", "", words))
    return known or next(filter(None, map(_korean_phrases, (*vocabulary, words))), None)


def _korean_phrases(words: str) -> tuple[str, str] | None:
    """Of Korean words: 소유하다, 소유한 → an adnominal form, 스승 → a noun."""
    if not re.fullmatch("[가-힣0-9 ]+", words):
        return None
    if words.endswith("하다"):
        words = words.removesuffix("하다") + "하는"
    if words.endswith(_ADNOMINAL):
        return f"~이 {words} {{것}}", f"~을 {words} {{것}}"
    if final_consonant(words[-1]) in (_MIEUM, _RIEUL_MIEUM):  # 다스림, 만듦: a verb, no noun
        return None
    return f"~의 {words}", f"{with_particle(words, '이')} ~인 {{것}}"


@dataclass(eq=False)
class Korean(Wording):
    language: ClassVar[str] = "ko"
    introduction: ClassVar[str] = "{}에 대해 알려 줘."
    follows_no_other: ClassVar[frozenset[str]] = table(
        "부모 자식 아버지 어머니 아들 딸 형제 자매 형제자매 배우자 혼인한"
    )

    def said(self, step: RelationStep) -> str:
        return "" if step.type in self._unclear else self._seen(step)[0]

    @cached_property
    def _unclear(self) -> set[int]:
        """Nouns between people that the table lacks: nobody knows who of the two is the 제자."""
        nouns = [type for type, (forward, _) in enumerate(self._pairs) if "{" not in forward]
        ends = {type: self.index.ends_of(RelationStep(type, "both")) for type in nouns}
        return {type for type in nouns if (self.kind_of[sorted(ends[type])] == Kind.PERSON).all()}

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        """The phrases of each relation type, empty for none."""
        names = self.index.graph.relations.types.names
        return [phrases_of(name, self.vocabulary.get(name, ())) or ("", "") for name in names]

    def nouns(self, step: RelationStep) -> tuple[str, str]:
        leads, begins = (_HEAD.search(phrase) for phrase in self._seen(step))
        return _KINDS.get(begins[1], "") if begins else "", _KINDS.get(leads[1], "") if leads else ""

    def _seen(self, step: RelationStep) -> tuple[str, str]:
        """The phrase of what the step leads to, and of what it leads from."""
        forward, backward = self._pairs[step.type]
        return (backward, forward) if step.direction == "in" else (forward, backward)

    def pronoun(self, seed: int, kind: Kind) -> str:
        return _PRONOUNS.get(kind, "그것")

    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase:
        """One syllable stands in quotes: 나가 would be read as a verb, 홰는 as a misprint."""
        names = [self.name(seed, called) for seed in seeds]
        first, *others = (f"‘{name}’" if len(name) == 1 else name for name in names)
        return NounPhrase(" ".join([with_particle(first, "과"), *others]) if others else first, bool(others))

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        text = self._phrase(step, of, ends)
        asked = _ASKED_BY_NOUN.get(text.rpartition(" ")[2]) or _ASKED.get(ends.kind, "무엇")
        return f"{with_particle(text, '은')} {asked}인가?" if text else None

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        text = self._phrase(step, of, ends)
        is_again = text.endswith("사람") and "사람" in of.text
        is_bare = not text or text.endswith(" 것")
        return None if is_again or is_bare else NounPhrase(text, clauses=of.clauses + 1)

    def _phrase(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str:
        """What one step leads to from `of`; "" for a noun of two, or of something that has no name."""
        template = self._seen(step)[0]
        noun = self._noun(ends, _HEAD.search(template))
        is_noun_of_two = of.many and (template.startswith("~의") or " ~인" in template)
        is_again = noun not in ("", "사람") and re.search(f"(^| ){noun}(?! )", of.text)  # 장소에 있는 장소
        if is_noun_of_two or is_again or (of.clauses and " ~인" in template):
            return ""
        if of.many:
            template = template.replace(" ", " 모두 ", 1)
        phrase = _HEAD.sub(noun, template)
        return _MARK.sub(lambda mark: with_particle(of.text, mark[1] or ""), phrase, count=1)

    def _noun(self, ends: Ends, head: re.Match[str] | None) -> str:
        """What the ends are called: by the phrase itself, by their type, else by their kind."""
        own, own_of_person = (head[1], head[2]) if head else ("", None)
        specific = "" if own in _KINDS else own
        if own_of_person or ends.is_date or ends.kind == Kind.PERSON:
            return own_of_person or ((specific or "때") if ends.is_date else "사람")
        named = _TYPES.get(singular(ends.word), "") if ends.word.isascii() else ends.word
        if named in _GENERAL:
            named = specific or named
        return named or specific or _HEADS.get(ends.kind, "것")
