"""Questions in Korean, with particles that fit whatever stands before them.

Every relation is a phrase with a place for its one end: `~이 가진 것`, `~을 가진 사람`. Types named in
English are looked up among the commonest words of schemas; a type that is Korean itself is read as a noun or
as an adnominal form; of any other no question is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np

from tiny_graph_rag.gold.formulas import RelationStep
from tiny_graph_rag.gold.wording import Ends, NounPhrase, Wording, phrase_lines
from tiny_graph_rag.language.function_words import RIEUL, final_consonant, table
from tiny_graph_rag.language.kinds import Kind, singular
from tiny_graph_rag.language.words import words_of_name

# Forms after a consonant → after a vowel.
_PAIRS = {"은": "는", "이": "가", "을": "를", "과": "와", "으로": "로", "이나": "나"}
_DIGITS = "영일이삼사오육칠팔구"
_BY_ZEROS = "_십백천만만만만억억억억"  # how a number with so many zeros at its end is read
_IN_BRACKETS = re.compile(r"(?<=\w)\s*+\([^()]*+\)$")
_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]++)[\W_]*+$")
# Latin words that are read with a final ㄹ (애플, 서울), and with another one (타임, 북, 링).
_ENDS_IN_RIEUL = re.compile("(?:l|[aeioubdgkpt]le)$")
_ENDS_IN_CONSONANT = re.compile("(?:[mn]|ng|ck|[aeiou][aeioubdgkpt][mn]e|(?<![aeiou])[aeiou][bpkct])$")

_MARK = re.compile("~(으로|[이을과](?= ))?")
_HEAD = re.compile(r"\{(\w+)(?:=(\w+))?\}")
# What a phrase's own noun says of the kind; 것 may be anything.
_KINDS = {"사람": "person", "곳": "place", "작품": "work", "사물": "thing"}
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
_ASKED = {Kind.PERSON: "누구", Kind.PLACE: "어디", Kind.GROUP: "어디"}
_PRONOUNS = {Kind.PERSON: "그 사람", Kind.PLACE: "그곳", Kind.WORK: "그 작품", Kind.GROUP: "그곳"}
_KIN = table("부모 자식 아버지 어머니 아들 딸 형제 자매 형제자매 배우자 혼인한")
_MIEUM, _RIEUL_MIEUM = 16, 10  # finals as `final_consonant` numbers them
_ADNOMINAL = ("한", "된", "하는", "되는", "던", "은", "는")


def with_particle(text: str, particle: str) -> str:
    """`with_particle("점순", "이")` → 점순이, of 나 → 나가. particle: the form after a consonant, or one that
    has no other. Marks and a bracket at the end are not read. Where the reading is not known both forms are
    written: 魯迅은(는)."""
    if particle not in _PAIRS:
        return text + particle
    other, final = _PAIRS[particle], _final_of(text)
    if final is None:
        return f"{text}{particle}({other})"
    return text + (other if final == 0 or (final == RIEUL and particle == "으로") else particle)


def _final_of(text: str) -> int | None:
    """The final consonant with which a text is read aloud, as `final_consonant` numbers them (of Latin words
    only whether there is one, and whether it is ㄹ); None where nobody can tell."""
    read = _LAST_WORD.search(_IN_BRACKETS.sub("", text))
    word = read[1] if read else ""
    if not word[-1:].isascii() or not word:
        return final_consonant(word[-1]) if word else None
    if word[-1].isdigit():  # 삼, 십
        zeros = len(word) - len(word.rstrip("0"))
        digit = _DIGITS[int(word[-1])] if not zeros or zeros == len(word) else _BY_ZEROS[min(zeros, 11)]
        return final_consonant(digit)
    letters = re.split(r"[^A-Za-z]", word)[-1]
    if len(letters) == 1 or letters.isupper():  # 엘, 엠, 엔, 알
        return RIEUL if letters[-1] in "lLrR" else int(letters[-1] in "mMnN")
    letters = letters.lower()
    return RIEUL if _ENDS_IN_RIEUL.search(letters) else int(bool(_ENDS_IN_CONSONANT.search(letters)))


@cache
def _listed() -> dict[str, tuple[str, str]]:
    """Words of a type → its target seen from the source, its source seen from the target."""
    found = {}
    for types, phrase in phrase_lines("ko"):
        forward, _, backward = phrase.partition(" | ")
        pair = (forward, backward) if backward else (f"~이 {phrase} {{것}}", f"~을 {phrase} {{것}}")
        found.update(dict.fromkeys(types, pair))
    return found


@lru_cache(1 << 14)
def phrases_of(name: str) -> tuple[str, str] | None:
    """The two phrases of a relation type: (target seen from the source, source seen from the target); None
    where there are no Korean words for it."""
    words = " ".join(words_of_name(name)) or name
    known = _listed().get(words) or _listed().get(re.sub("^(?:is|was) |하다$", "", words))
    return known or _korean_phrases(words)


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
    follows_no_other: ClassVar[frozenset[str]] = _KIN

    def said(self, step: RelationStep) -> str:
        return self._seen(step)[0]

    def _pair(self, step: RelationStep) -> tuple[str, str] | None:
        """The phrases of the step's type, the vocabulary's first."""
        *words, name = self.words_for(step)
        pairs = (_korean_phrases(word.strip()) for word in words)
        pair = next((pair for pair in pairs if pair is not None), phrases_of(name))
        return None if pair and "{" not in pair[0] and self._is_among_people(step) else pair

    def _is_among_people(self, step: RelationStep) -> bool:
        """Of the noun of such a type nobody knows which of the two it is: 부모, 제자."""
        both = np.concatenate([self.index.ends_of(step), self.index.ends_of(step.reversed)])
        return bool((self.kind_of[both] == Kind.PERSON).all())

    def nouns(self, step: RelationStep) -> tuple[str, str]:
        leads, begins = (_HEAD.search(phrase) for phrase in self._seen(step))
        return tuple(_KINDS.get(head[1], "") if head else "" for head in (begins, leads))  # type: ignore[return-value]

    def _seen(self, step: RelationStep) -> tuple[str, str]:
        """The phrase of what the step leads to, and of what it leads from."""
        forward, backward = self._pair(step) or ("", "")
        return (backward, forward) if step.direction == "in" else (forward, backward)

    def introduced(self, seed: int) -> str:
        return f"{self.named([seed], {}).text}에 대해 알려 줘."

    def pronoun(self, kind: Kind) -> str:
        return _PRONOUNS.get(kind, "그것")

    def named(self, seeds: list[int], called: Mapping[int, str]) -> NounPhrase:
        """One syllable stands in quotes: 나가 would be read as a verb, 홰는 as a misprint."""
        names = [self.name(seed, called) for seed in seeds]
        names = [f"‘{name}’" if len(name) == 1 else name for name in names]
        text = names[0] if len(names) == 1 else f"{with_particle(names[0], '과')} {names[1]}"
        return NounPhrase(text, many=len(names) > 1)

    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        text = self._phrase(step, of, ends)
        if text is None:
            return None
        by_noun = {"곳": "어디", "사람": "누구", "해": "언제", "때": "언제", "장소": "어디"}.get(
            text.split()[-1]
        )
        return f"{with_particle(text, '은')} {by_noun or _ASKED.get(ends.kind, '무엇')}인가?"

    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        text = self._phrase(step, of, ends)
        is_again = text is not None and text.endswith("사람") and "사람" in of.text
        is_bare = text is None or text.endswith(" 것")
        return None if is_bare or is_again else NounPhrase(text or "", clauses=of.clauses + 1)

    def _phrase(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        """What one step leads to from `of`; None for a noun of two, or of something that has no name."""
        template = self._seen(step)[0]
        noun = self._noun(ends, _HEAD.search(template))
        if (of.many and template.startswith("~의")) or (of.clauses and " ~인" in template):
            return None
        if noun not in ("", "사람") and re.search(f"(^| ){noun}(?! )", of.text):  # 장소에 있는 장소
            return None
        if of.many:
            template = template.replace(" ", " 모두 ", 1)
        return _MARK.sub(
            lambda mark: with_particle(of.text, mark[1] or ""), _HEAD.sub(noun, template), count=1
        )

    def _noun(self, ends: Ends, head: re.Match[str] | None) -> str:
        """What the ends are called: by the phrase itself, by their type, else by their kind."""
        own = head[1] if head else ""
        if head and head[2]:
            return head[2]
        is_general = own in ("것", *_KINDS)
        named = ends.word if ends.word and not ends.word.isascii() else _TYPES.get(singular(ends.word), "")
        if ends.kind == Kind.PERSON or ends.is_date:
            return "사람" if not ends.is_date else "때" if is_general else own
        return named or (own if not is_general else "") or _HEADS.get(ends.kind, "것")
