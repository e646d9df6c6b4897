"""Questions in Korean, with particles that fit whatever stands before them.

Every relation is a phrase with a place for its one end: `~이 가진 것`, `~을 가진 사람`. Types named in
English are looked up among the commonest words of schemas; a type that is Korean itself is read as a noun or
as an adnominal form; of any other no question is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from tiny_graph_rag.gold.formulas import Path, RelationStep, Rows
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import Wording, phrase_lines
from tiny_graph_rag.language.function_words import RIEUL, final_consonant
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
    for types, phrase in phrase_lines("ko"):
        forward, _, backward = phrase.partition(" | ")
        pair = (forward, backward) if backward else (f"~이 {phrase} {{것}}", f"~을 {phrase} {{것}}")
        found.update(dict.fromkeys(types, pair))
    return found


_LEXICON = _lexicon()
_END = re.compile("~(으로|[이을과](?= ))?")
_HEAD = re.compile(r"\{(\w+)\}")
_HEADS = {Kind.PERSON: "사람", Kind.PLACE: "곳", Kind.WORK: "작품"}
_BARE = {"사람": "것", "사물": "것"}
_NEVER_PERSON = re.compile("{(?:곳|사물)}")
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
_PRONOUNS = {Kind.PERSON: "그 사람", Kind.PLACE: "그곳", Kind.WORK: "그 작품"}
_MIEUM, _RIEUL_MIEUM = 16, 10  # finals as `final_consonant` numbers them
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
    if words.endswith(_ADNOMINAL):
        return f"~이 {words} {{것}}", f"~을 {words} {{것}}"
    if final_of(words) in (_MIEUM, _RIEUL_MIEUM):  # 다스림, 만듦: a verb, which a noun's phrase can't hold
        return None
    return f"~의 {words}", f"{with_particle(words, '이')} ~인 {{것}}"


def _head(own: str, noun: str) -> str:
    """What a phrase ends in: the noun of what stands there; where that is general, its own."""
    is_own = not noun or (noun in ("것", "작품") and own not in ("것", *_HEADS.values()))
    return _BARE.get(own, own) if is_own else noun


@dataclass(eq=False)
class Korean(Wording):
    language: ClassVar[str] = "ko"

    def says(self, step: RelationStep) -> bool:
        return not self.index.undirected[step.type] and self._pair(step) is not None

    def kind_in_words(self, step: RelationStep) -> Kind:
        head = _HEAD.search((self._pair(step) or ("", ""))[step.backward])
        return _KIND_OF_HEAD.get(head[1], Kind.UNKNOWN) if head is not None else Kind.UNKNOWN

    def introduced(self, name: str) -> str:
        return f"{name}에 대해 알려 줘."

    def pronoun(self, kind: Kind) -> str:
        return _PRONOUNS.get(kind, "그것")

    def question(self, drawn: DrawnQuestion, called: Mapping[int, str]) -> str | None:
        paths, answers = drawn.formula.paths, drawn.found.answers
        last = paths[0].steps[-1]
        kind, dates = self.kind(last, answers), self.are_dates(answers)
        if kind is None or len(dates) > 1:
            return None
        noun = "때" if dates == {True} else self._noun(last, answers)
        text = self._phrase(paths, called, noun)
        if text is None:
            return None
        who = next((word for head, word in _ASKED_OF_HEAD.items() if text.endswith(head)), None)
        return " ".join(f"{with_particle(text, '은')} {who or _ASKED.get(kind, '무엇')}인가?".split())

    def _phrase(self, paths: Sequence[Path], called: Mapping[int, str], head: str) -> str | None:
        """What the paths lead to; None where a thing without a noun, or a date, stands in the middle."""
        path, both = paths[0], len(paths) == 2
        phrase, before = self._named(path.seed, called), Kind(int(self.kind_of[path.seed]))
        if both:
            phrase = f"{with_particle(phrase, '과')} {self._named(paths[1].seed, called)}"
        for place, (step, image) in enumerate(zip(path.steps, self.index.images(path)[1:], strict=True)):
            pair, kind = self._pair(step) or ("", ""), self.kind(step, image)
            template, opposite = pair[step.backward], pair[not step.backward]
            is_last = place == len(path.steps) - 1
            noun = head if is_last else self._noun(step, image)
            if (place and " ~인" in template) or (kind == Kind.PERSON and _NEVER_PERSON.search(template)):
                return None
            if (before == Kind.PERSON and _NEVER_PERSON.search(opposite)) or (both and template[1] == "의"):
                return None
            is_bare = noun in ("", "것") and template.endswith("}")
            if not is_last and (is_bare or kind is None or True in self.are_dates(image)):
                return None
            phrase, before = self._seen(step, phrase, noun, both=both), kind or Kind.UNKNOWN
        return phrase

    def _noun(self, step: RelationStep, ends: Rows) -> str:
        """What the step leads to is called, "" where nothing is known of it."""
        kind, word = self.kind(step, ends), self.type_word(step, ends)
        named = word if word and not word.isascii() else _TYPES.get(singular(word), "")
        if kind in (Kind.PERSON, Kind.UNKNOWN, None) or not named:
            return _HEADS.get(kind or Kind.UNKNOWN, "" if kind == Kind.UNKNOWN else "것")
        return named

    def _named(self, entity: int, called: Mapping[int, str]) -> str:
        name = self.name(entity, called)
        return f"‘{name}’" if len(name) == 1 else name  # 나가 would be read as a verb, 홰는 as a misprint

    def _pair(self, step: RelationStep) -> tuple[str, str] | None:
        """The phrases of the step's type, the vocabulary's first; None where there are none."""
        *words, name = self.words_for(step)
        pairs = (_korean_phrases(word.strip()) for word in words)
        return next((pair for pair in pairs if pair is not None), phrases_of(name))

    def _seen(self, step: RelationStep, of: str, noun: str, *, both: bool) -> str:
        """What one step leads to from `of`, as a noun phrase. noun: what it is called, "" where unknown;
        both: whether `of` names two, each of which leads there."""
        template = (self._pair(step) or ("", ""))[step.backward]
        if both:
            template = template.replace(" ", " 모두 ", 1)
        # Of what nobody knows the phrase's own noun serves, but for a person.
        template = _HEAD.sub(lambda head: _head(head[1], noun), template)
        return _END.sub(lambda found: with_particle(of, found[1] or ""), template, count=1)
