"""Questions in Korean, with particles that fit whatever stands before them.

Every relation is a phrase with a place for its one end: `~이 가진 것`, `~을 가진 사람`. Types named in
English are looked up among the commonest words of schemas; a type that is Korean itself is read as a noun or
as an adnominal form; of any other no question is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import ClassVar

from tiny_graph_rag.gold.formulas import Path, RelationStep, Rows, type_name
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import NO_ENDS, Wording
from tiny_graph_rag.language.function_words import RIEUL, final_consonant, table
from tiny_graph_rag.language.kinds import Kind, singular
from tiny_graph_rag.language.words import words_of_name

# Forms after a consonant → after a vowel.
_PAIRS = {"은": "는", "이": "가", "을": "를", "과": "와", "으로": "로", "이나": "나"}
_DIGITS = (21, 8, 0, 16, 0, 0, 1, 8, 8, 0)  # finals of 영 일 이 삼 사 오 육 칠 팔 구
_TENS = ((8, 1), (4, 4), (3, 4), (2, 1), (1, 17))  # finals of 억 만 천 백 십, by zeros at the end
_LETTERS = {"l": 8, "m": 16, "n": 4, "r": 8}  # of letters said one by one: 엘 엠 엔 알
_SHORT_FINALS = {"b": 17, "p": 17, "k": 1, "c": 1, "t": 19}  # after one vowel: club, map, book, cat
_NEITHER = None


def final_of(text: str) -> int | None:
    """The final consonant with which a text is read aloud in Korean, 0 for none, None where nobody can tell.

    As `final_consonant` numbers them. Marks and a bracket at the end are not read, digits as Sino-Korean
    numbers (3 is 삼, 10 is 십), Latin letters as a word, capitals one by one.
    """
    read = re.search(r"(?<![^\W_])([^\W_]++)[\W_]*+$", re.sub(r"(?<=\w)\s*+\([^()]*+\)$", "", text))
    if read is None:
        return _NEITHER
    word = read[1]
    last = word[-1]
    if "가" <= last <= "힣":
        return final_consonant(last)
    if last.isdigit() and last.isascii():
        zeros = len(word) - len(word.rstrip("0"))
        if word.rstrip("0")[-1:].isdigit() and zeros:
            return next(final for least, final in _TENS if zeros >= least)
        return _DIGITS[int(last)]
    if not last.isascii():
        return _NEITHER
    letters = re.search(r"(?<![A-Za-z])[A-Za-z]++$", word)
    spelled = letters[0] if letters else last
    if len(spelled) == 1 or spelled.isupper():
        return _LETTERS.get(last.lower(), 0)
    return _final_of_latin(spelled.lower())


def _final_of_latin(word: str) -> int:
    last, before = word[-1], word[-2:-1]
    if word.endswith("ng"):
        return 21
    if word.endswith(("le", "me", "ne")) and before:  # 애플, 타임, 온라인: the e is not read
        return _LETTERS[before] if len(word) > 3 and word[-3] in "aeioubdgkpt" else 0
    if last in "lmn":
        return _LETTERS[last]
    if last in _SHORT_FINALS and before in tuple("aeiou") and word[-3:-2] not in tuple("aeiou"):
        return _SHORT_FINALS[last]
    if word.endswith("ck"):
        return 1
    return 0


def with_particle(text: str, particle: str) -> str:
    """`with_particle("점순", "이")` → 점순이, of 나 → 나가. particle: the form after a consonant, or one that
    has no other. Where the reading is not known both forms are written: 魯迅은(는)."""
    if particle not in _PAIRS:
        return text + particle
    other, final = _PAIRS[particle], final_of(text)
    if final is None:
        return f"{text}{particle}({other})"
    if final == 0 or (final == RIEUL and particle == "으로"):
        return text + other
    return text + particle


def _lexicon() -> dict[str, tuple[str, str]]:
    """Words of a type → its target seen from the source, its source seen from the target."""
    found = {}
    lines = resources.files(__package__).joinpath("phrases/ko.txt").read_text("utf-8").splitlines()
    for types, _, phrase in (line.partition(": ") for line in lines if not line.startswith("#")):
        forward, _, backward = phrase.partition(" | ")
        pair = (forward, backward) if backward else (f"~이 {phrase} {{것}}", f"~을 {phrase} {{것}}")
        found.update(dict.fromkeys(types.split(", "), pair))
    return found


_LEXICON = _lexicon()
_END = re.compile("~(으로|[이을과](?= ))?")
_HEAD = re.compile(r"\{(\w+)\}")
_HEADS = {Kind.PERSON: "사람", Kind.PLACE: "곳", Kind.WORK: "작품"}
_KIND_OF_HEAD = {head: kind for kind, head in _HEADS.items()}
_TYPES = {
    "animal": "동물", "plant": "식물", "event": "사건", "organization": "단체", "organisation": "단체",
    "group": "집단", "company": "회사", "family": "집안", "city": "도시", "town": "도시", "country": "나라",
    "village": "마을", "river": "강", "mountain": "산", "building": "건물", "film": "영화", "movie": "영화",
    "book": "책", "novel": "소설", "song": "노래", "album": "음반", "poem": "시", "magazine": "잡지",
    "newspaper": "신문", "school": "학교", "university": "대학", "food": "음식", "weapon": "무기",
    "tool": "도구", "product": "제품", "award": "상", "language": "언어", "genre": "갈래", "disease": "병",
    "technology": "기술",
}  # fmt: skip
_ASKED = {Kind.PERSON: "누구", Kind.PLACE: "어디"}
_ASKED_OF_HEAD = {" 곳": "어디", " 사람": "누구", " 해": "언제", " 때": "언제"}
_COUNTED = {Kind.PERSON: "몇 명", Kind.PLACE: "몇 곳", Kind.WORK: "몇 편"}
_COUNTED_NOUNS = {"책": "몇 권", "동물": "몇 마리", **dict.fromkeys(table("회사 단체 학교 대학"), "몇 곳")}
_PRONOUNS = {Kind.PERSON: "그 사람", Kind.PLACE: "그곳", Kind.WORK: "그 작품"}
_MIEUM, _RIEUL_MIEUM = 16, 10  # finals as `final_consonant` numbers them
# Nouns that are verbs with 하다, of what was done once and of what goes on.
_DONE = table("살해 공격 발견 설립 창작 저술 제작 생산 고용 치료 발명")
_DOING = table("사랑 상징 지배 사용 존경 의미")
_PLAIN_NOUNS = table("""
    사람 이름 마음 그림 꿈 봄 몸 힘 섬 밤 감 곰 솜 금 점 품 팀 게임 시스템 프로그램 다음 처음 모임 싸움 웃음
    울음 죽음 믿음 걸음 얼음 여름 구름 기름 씨름 바람 보람 가슴 사슴 아침 점심 요점 장점 단점 관점 시점 상점
    지점 작품 상품 제품 식품 약품 물품 책임 담임 후임 전임 임금 요금 지금 현금
    """)
_ADNOMINAL = ("한", "된", "하는", "되는", "던", "은", "는")


@lru_cache(1 << 14)
def phrases_of(name: str) -> tuple[str, str] | None:
    """The two phrases of a relation type: (target seen from the source, source seen from the target); None
    where there are no Korean words for it."""
    words = " ".join(words_of_name(name)) or name
    known = _LEXICON.get(words) or _LEXICON.get(words.removeprefix("is ").removeprefix("was "))
    return known or _korean_phrases(words)


def _korean_phrases(words: str) -> tuple[str, str] | None:
    """Of Korean words: 소유하다, 소유한 → an adnominal form, 스승 → a noun."""
    if not re.fullmatch("[가-힣0-9 ]+", words):
        return None
    if words.endswith("하다"):
        words = words.removesuffix("하다") + "하는"
    if words in _DONE or words in _DOING:
        words += "한" if words in _DONE else "하는"
    elif (stem := _stem_of_noun(words)) is not None:
        words = f"{stem}는"
    if words.endswith(_ADNOMINAL):
        return f"~이 {words} {{것}}", f"~을 {words} {{것}}"
    return f"~의 {words}", f"{with_particle(words, '이')} ~인 {{것}}"


def _stem_of_noun(words: str) -> str | None:
    """다스림 → 다스리, 만듦 → 만드: the stem of a verb that was made a noun; None of other words."""
    last = words[-1]
    if words.split()[-1] in _PLAIN_NOUNS or not "가" <= last <= "힣":
        return None
    final = final_consonant(last)
    if final not in (_MIEUM, _RIEUL_MIEUM):
        return None
    if last == "음":  # 먹음
        return words[:-1] or None
    return words[:-1] + chr(ord(last) - final)


@dataclass(eq=False)
class Korean(Wording):
    language: ClassVar[str] = "ko"

    def question(self, drawn: DrawnQuestion, called: Mapping[int, str], *, other: bool = False) -> str:
        formula, paths = drawn.formula, drawn.formula.paths
        last, answers = paths[0].steps[-1], drawn.found.answers
        kind, noun = self.kind(last, answers), "때" if self.asks_when(drawn) else self._noun(last, answers)
        head = noun or "것"
        who = _ASKED.get(kind, "무엇")
        said = [self._said(path, called, noun, other) for path in paths]
        ending: str | None = None
        match formula.operation:
            case "path":
                text = said[0]
            case "and":
                text = f"{said[0]} 가운데 {said[1]}"
            case "or":
                either = self._named(paths[0].seed, called), self._named(paths[1].seed, called)
                text = self._said(
                    paths[0], {paths[0].seed: f"{with_particle(either[0], '이나')} {either[1]}"}, noun, other
                )
            case "not":
                text = f"{said[0]} 가운데 {with_particle(said[1], '이')} 아닌 {head}"
            case "count":
                text, many = said[0], _COUNTED_NOUNS.get(noun) or _COUNTED.get(kind, "몇 가지")
                ending = f"이 모두 {many}인지 세어 줘." if other else f"은 모두 {many}인가?"
            case _ if formula.by is not None:
                most = self._seen(formula.by, "그것", self._noun(formula.by), other)
                most = most.removeprefix("그것이 ").replace("그것", _PRONOUNS.get(kind, "그것"))
                text = f"{said[0]} 가운데 {with_particle(most, '이')} 가장 많은 {head}"
            case _:
                attribute = with_particle(formula.attribute.replace("_", " "), "이")
                text = f"{said[0]} 가운데 {attribute} 가장 큰 {head}"
        if ending is None:
            who = next((word for head, word in _ASKED_OF_HEAD.items() if text.endswith(head)), who)
            ending = "을 모두 말해 줘." if other else f"은 {who}인가?"
        return " ".join(with_particle(text, ending[0]).split()) + ending[1:]

    def introduced(self, name: str) -> str:
        return f"{name}에 대해 알려 줘."

    def pronoun(self, kind: Kind) -> str:
        return _PRONOUNS.get(kind, "그것")

    def _said(self, path: Path, called: Mapping[int, str], head: str, other: bool) -> str:
        phrase = self._named(path.seed, called)
        for step, image in zip(path.steps[:-1], self.index.images(path)[1:], strict=False):
            phrase = self._seen(step, phrase, self._noun(step, image), other)
        return self._seen(path.steps[-1], phrase, head, other)

    def _noun(self, step: RelationStep, ends: Rows = NO_ENDS) -> str:
        """What the step leads to is called, "" where nothing is known of it."""
        kind, word = self.kind(step, ends), self.type_word(step, ends)
        named = word if word and not word.isascii() else _TYPES.get(singular(word), "")
        if kind in (Kind.PERSON, Kind.UNKNOWN) or not named:
            return _HEADS.get(kind, "" if kind == Kind.UNKNOWN else "것")
        return named

    def reads(self, drawn: DrawnQuestion) -> bool:
        """Whether nothing but a name stands before ~인: nobody follows 배우자가 몽운사에 속한 사람인 사람."""
        if not super().reads(drawn):
            return False
        later = [step for path in drawn.formula.paths for step in path.steps[1:]]
        return all(" ~인" not in (self._pair(step) or ("", ""))[step.backward] for step in later)

    def _named(self, entity: int, called: Mapping[int, str]) -> str:
        name = self.name(entity, called)
        return f"‘{name}’" if len(name) == 1 else name  # 나가 would be read as a verb, 홰는 as a misprint

    def _pair(self, step: RelationStep, other: bool = False) -> tuple[str, str] | None:
        """The phrases of the step's type, the vocabulary's first; None where there are none."""
        said = [pair for word in self.words_for(step) if (pair := _korean_phrases(word.strip())) is not None]
        return (said[-1] if other else said[0]) if said else phrases_of(type_name(self.index, step))

    def says(self, step: RelationStep) -> bool:
        return not self.index.undirected[step.type] and self._pair(step) is not None

    def kind_in_words(self, step: RelationStep) -> Kind:
        pair = self._pair(step)
        head = None if pair is None else _HEAD.search(pair[step.backward])
        return _KIND_OF_HEAD.get(head[1], Kind.UNKNOWN) if head is not None else Kind.UNKNOWN

    def _seen(self, step: RelationStep, of: str, noun: str, other: bool) -> str:
        """What one step leads to from `of`, as a noun phrase. noun: what it is called, "" where unknown."""
        pair = self._pair(step, other)
        assert pair is not None  # no step is drawn that there are no words for
        template = pair[step.backward]
        # Of what nobody knows the phrase's own noun serves, but for a person.
        template = _HEAD.sub(lambda head: noun or ("것" if head[1] == "사람" else head[1]), template)
        return _END.sub(lambda found: with_particle(of, found[1] or ""), template, count=1)
