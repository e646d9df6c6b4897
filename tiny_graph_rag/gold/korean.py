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

from tiny_graph_rag.gold.inflection import infinitive
from tiny_graph_rag.gold.patterns import RelationStep
from tiny_graph_rag.gold.wording import Ends, NounPhrase, Wording, phrase_lines
from tiny_graph_rag.language.function_words import table, with_particle
from tiny_graph_rag.language.kinds import Kind
from tiny_graph_rag.language.words import singular, words_of_name

_MARK = re.compile("~(으로|[이을과](?= ))?")
_OWN = re.compile("(나의?|내|저의?|제|너의?|네|우리) |.$")  # a name that begins so, or has one letter
_HEAD = re.compile(r"\{(\w+)(?:=(\w+))?\}")
_HEADS = {Kind.PLACE: "곳", Kind.WORK: "작품", Kind.GROUP: "단체", Kind.DATE: "때"}
_ANY = table("것 곳 작품 단체 직장 사물 사람 행사")  # nouns of phrases that any kind of thing may replace
_TYPES = {
    "animal": "동물", "plant": "식물", "event": "사건", "organization": "단체", "group": "집단",
    "company": "회사", "family": "집안", "city": "도시", "town": "도시", "country": "나라", "village": "마을",
    "river": "강", "film": "영화", "movie": "영화", "book": "책", "novel": "소설", "song": "노래",
    "magazine": "잡지", "newspaper": "신문", "school": "학교", "university": "대학", "food": "음식",
    "character": "인물", "등장인물": "인물", "person": "사람", "people": "사람", "인간": "사람",
}  # fmt: skip
_GENERAL = table("단체 집단 조직 기관 장소 작품")  # types that say less than a phrase's own noun
_ASKED = {Kind.PERSON: "누구", Kind.PLACE: "어디", Kind.GROUP: "어디", Kind.DATE: "언제"}


@cache
def _listed() -> dict[str, tuple[str, str]]:
    """Words of a type, of verbs the infinitive → its target seen from the source, its source seen from the
    target; `*` is the type's own word."""
    found: dict[str, tuple[str, str]] = {}
    for types, phrase in phrase_lines("ko"):
        forward, _, backward = phrase.partition(" | ")
        of_verb = (f"~이 {phrase} {{것}}", f"~을 {phrase} {{것}}")
        found.update(dict.fromkeys(types, (forward, backward) if "~" in phrase else of_verb))
    return found


@cache
def phrases_of(name: str, vocabulary: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """The two phrases of a relation type: (target seen from the source, source seen from the target); None
    where there are no Korean words for it."""
    words = " ".join(words_of_name(name)) or name
    bare = re.sub("^(?:is|was|are|has) (?:an? |the )?|하다$| ?관계$", "", words)
    for known in (words, bare, infinitive(bare)):
        if known in _listed():
            forward, backward = _listed()[known]
            return forward.replace("*", known), backward.replace("*", known)
    return next(filter(None, map(_verb_phrases, (*vocabulary, words))), None)


def _verb_phrases(words: str) -> tuple[str, str] | None:
    """Of a Korean verb that takes an object: 소개하다, 소개한. A noun may be any: X의 설치 is no question."""
    words = re.sub("하다$", "하는", words)
    is_verb = re.fullmatch("[가-힣0-9 ]+(?:한|하는)", words)
    return (f"~이 {words} {{것}}", f"~을 {words} {{것}}") if is_verb else None


@dataclass(eq=False)
class Korean(Wording):
    language: ClassVar[str] = "ko"
    introduction: ClassVar[str] = "{}에 대해 알려 줘."
    pronouns: ClassVar[Mapping[Kind, str]] = {
        Kind.PERSON: "그 인물", Kind.PLACE: "그곳", Kind.GROUP: "그곳", Kind.WORK: "그 작품"
    }  # fmt: skip
    follows_no_other: ClassVar[frozenset[str]] = table(
        "부모 자식 아버지 어머니 아들 딸 형제 자매 형제자매 배우자 혼인한 결혼한 조부모 손주 조상 후손 아는"
    )

    def said(self, step: RelationStep) -> str:
        return self._seen(step)[0]

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        """The phrases of each relation type, empty for none."""
        names = self.index.graph.relations.types.names
        return [phrases_of(name, self.vocabulary.get(name, ())) or ("", "") for name in names]

    def nouns(self, step: RelationStep) -> tuple[str, str]:
        leads, begins = (_HEAD.search(phrase) for phrase in self._seen(step))
        return begins[1] if begins else "", leads[1] if leads else ""

    def _seen(self, step: RelationStep) -> tuple[str, str]:
        """The phrase of what the step leads to, and of what it leads from."""
        forward, backward = self._pairs[step.type]
        return (backward, forward) if step.direction == "in" else (forward, backward)

    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase:
        """Titles, events, single letters and what begins with 나의 stand in quotes: 나가 reads as a verb."""
        names = []
        for seed in seeds:
            name, kind = self.name(seed, called), self.kind_of[seed]
            is_title = kind == Kind.WORK or (kind == Kind.OTHER and " " in name)
            is_quoted = _OWN.match(name) or (is_title and name not in self.pronouns.values())
            names.append(f"‘{name}’" if is_quoted else name)
        both = f"{with_particle(names[0], '과')} {names[1]}" if len(names) > 1 else names[0]
        return NounPhrase(both, len(names) > 1)

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        text = self._phrase(step, of, ends)
        return f"{with_particle(text, '은')} {_ASKED.get(ends.kind, '무엇')}인가?" if text else None

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        text, template = self._phrase(step, of, ends), self._seen(step)[0]
        # A place or a group has many of whom the same is true, and a graph knows one: 서울에 사는 사람.
        of_many = template.startswith("~에") and self.usual_kind(step.reversed) in (
            Kind.PLACE,
            Kind.GROUP,
        )
        is_one_of_many = ends.kind in (Kind.PERSON, Kind.PLACE) and (of_many or " ~인" in template)
        return None if is_one_of_many or not text else NounPhrase(text, clauses=of.clauses + 1)

    def _phrase(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str:
        """What one step leads to from `of`; "" for a noun of two or of a noun, for a noun that comes twice
        (장소에 있는 장소), for something that has no name after a clause, and for people by a noun that the
        table lacks: nobody knows who of the two is the 제자."""
        template = self._seen(step)[0]
        head, is_noun = _HEAD.search(template), template.startswith("~의 ")
        noun = self._noun(ends, head) if head else ""
        is_noun_again = is_noun and (of.many or "의 " in of.text)
        is_again = is_noun_again or (noun and re.search(f"(^| |그){noun}(?! )", of.text))
        is_bare = noun == "것" and (of.clauses or " ~인" in template)
        is_far = (of.many and not template.startswith("~")) or (of.clauses and " ~인" in template)
        is_sayable = noun if head else template and ends.kind != Kind.PERSON
        if is_again or is_bare or is_far or not is_sayable:
            return ""
        if of.many:
            template = template.replace(" ", " 모두 ", 1)
        phrase = _HEAD.sub(noun, template)
        return _MARK.sub(lambda mark: with_particle(of.text, mark[1] or ""), phrase, count=1)

    def _noun(self, ends: Ends, head: re.Match[str]) -> str:
        """What the ends are called: by the phrase itself, by their type, else by their kind; "" where they
        are people and the phrase speaks of something else."""
        own, own_of_person = head[1], head[2]
        named = _TYPES.get(singular(ends.noun), "" if ends.noun.isascii() else ends.noun)
        if ends.kind == Kind.PERSON:
            return own_of_person or (named or "인물" if own in ("것", "사람") else "")
        general = _HEADS.get(ends.kind, "것") if own in _ANY else own
        return general if named in ("", *_GENERAL) else named
