"""Closed classes of words: those that hold a sentence together and name nothing, and Korean particles.

They are listed because no statistic of a graph can tell them: a story of sixty entities has too few names to
show that `the` is no content word.

A particle may follow a name inside its word. `점순이와` is a name and `와`; `집에서는` a name, `에서` and
`는`; `나무` is not `나` and something. Where a particle has two forms, one follows a vowel, one a consonant;
texts made from templates often mix them up (`허생원와`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from tiny_graph_rag.language.folding import Stretch, Text, fold


def table(words: str) -> frozenset[str]:
    """Words parted by white space, as a set: how this program writes its tables of words."""
    return frozenset(words.split())


# What asks for an answer and is no part of the question, at its start in English and at its end in Korean:
# `List …`, `… 알려 줘`. Elsewhere it is a word like others: what did she find?
REQUESTS = table("""
    name list give tell show find describe explain please let lets
    알려 알려줘 알려줘요 알려주세요 알려줄래 설명 설명해 설명해줘 설명해주세요 설명하라 말해 말해줘
    말해주세요 말하라 보여 보여줘 보여주세요 찾아 찾아줘 찾아주세요 나열 나열해 나열해줘 나열하라 적어줘
    꼽아줘 줘 줘요 주세요 줄래
    """)

ENGLISH = table("""
    a an the this that these those some any every each no all both either neither such same other others
    another one ones own i me my mine we us our you your he him his she her hers it its they them their theirs
    who whom whose which what where when why how s
    and or but nor so if then than because while as of at by for from in into on onto upon off out over under
    up down to with within without about after before behind between among through during against near
    is am are was were be been being do does did done doing have has had having can could will would shall
    should may might must not there here also only just very too more most many much few now once again
    get gets got
    """)

KOREAN = table("""
    것 것을 것은 것이 것이지 것인가 것이다 거 게 건 걸 수 줄 데 바 때 등 및 또 더 안 못 못한 중 가운데
    왜 뭐 뭘 무엇 무슨 누구 누가 어디 언제 어떻게 어떤 어느 얼마 몇 두 한 세 네
    이 그 저 이가 이의 이들 이런 그런 저런 그것 이것 저것 그곳 이곳 저곳 여기 거기 저기 그녀 그들
    있는 있던 있어 있다 없던 없는 되어 된 되던 하러 할 하던 했던 하는
    대해 대한 대하여 대해서 관한 관해 관하여
    """)

FUNCTION_WORDS = ENGLISH | KOREAN
NAMELESS = FUNCTION_WORDS | REQUESTS  # what names nothing, wherever it stands


def without_requests(words: Sequence[str]) -> Sequence[str]:
    """A question's folded words without what asks for its answer at either end."""
    start, end = 0, len(words)
    while start < end and words[start] in REQUESTS:
        start += 1
    while end > start and words[end - 1] in REQUESTS and not words[end - 1].isascii():
        end -= 1
    return words[start:end]


AUXILIARIES = table("do does did")
VERBS = AUXILIARIES | table("is are was were has have had")  # that may be all a sentence has
ENGLISH_ADVERBS = table("where when how why")  # question words that ask by a verb
RELATIVE = table("that which who whom")
KOREAN_ADVERBS = ("어디", "언제", "왜", "어떻게", "곳은", "때는")

HONORIFICS = table("""
    mr mrs ms miss mister dr doctor prof professor sir madam madame lady lord 씨 님 선생 선생님 군 양
    """)


FIRST_SYLLABLE = 0xAC00
FINALS = 28  # possible final consonants, none included
RIEUL = 8  # the final ㄹ, after which 로 stands as after a vowel
LONGEST_REST = 24  # syllables behind a name: the longest chain and a copula; more are another word
_PAIRS = table(
    """
    은/는 이/가 을/를 과/와 아/야 이랑/랑 이나/나 이여/여 이며/며 이고/고 이든/든 이든지/든지 이라/라
    이라도/라도 이라는/라는 이라고/라고 이란/란 이야말로/야말로 으로/로 으로서/로서 으로써/로써
    으로부터/로부터
    """
)
_EVERYWHERE = table(
    """
    의 에 에게 에게서 한테 한테서 께 께서 께옵서 에서 서 까지 부터 마다 처럼 보다 도 만 같이 대로
    만큼 마저 조차 밖에 하고 뿐 커녕 에다 에다가 더러 보고 치고 말고 이다 이야 이에요 입니다 이라고
    인가 인가요 인데 인지 일까 일까요 이란 이랑 이냐 임 인 일
    """
)
# Bound to a name of two syllables or more: with one syllable they make another word (나 + 님, 동 + 네).
_SUFFIXES = table("씨 님 선생 선생님 군 양 들 네")

_TWO_FORMS = dict(pair.split("/") for pair in _PAIRS)  # after a consonant → after a vowel
_AFTER_VOWEL = frozenset(_TWO_FORMS.values())
# Behind one syllable a misfitting 이, 은 or 가 makes another word more often than not (차이, 나은, 국가).
_SAFE_MISFITS = ("와", "를")
# Forms of 이다 that end a sentence or a clause; nothing but 요 stands behind them.
_COPULA = (
    "(?:이(?:었|시|셨)?|였|셨)?(?:다|고|며|면|지|지만|죠|자|나|니|니까|냐|네|어|습니다|습니까|던|던가|을까|는지"
    "|는가|거든|잖아|시여|여|랍니다|래)|이?라(?:면|서|면서|던|는데|던데)|예요|입니다|입니까"
    "|(?:인|일)(?:가|데|지|까|지도|텐데)?"
)
# Verb endings as well: one syllable and these are more often a verb or a noun (가라, 나며).
_ENDINGS = table("라 라는 라고 라도 란 며 고 든 여 인 일 임 서 아 야")
PARTICLES = frozenset(_TWO_FORMS) | _AFTER_VOWEL | _EVERYWHERE | table("에게서는 에게는 에서는")


def final_consonant(syllable: str) -> int | None:
    """0 for none, 1 to 27 for one, None where the character is no Hangul syllable."""
    place = ord(syllable) - FIRST_SYLLABLE
    return place % FINALS if 0 <= place < 19 * 21 * FINALS else None


def fits(particle: str, final: int | None) -> bool:
    """Whether a particle has the form that stands behind this final consonant. None: how a name in other
    letters or digits sounds is not known, so both forms fit."""
    if final is None or particle in _EVERYWHERE:
        return True
    is_vowel = final == 0 or (final == RIEUL and particle.lstrip("으").startswith("로"))
    return particle in (_AFTER_VOWEL if is_vowel else _TWO_FORMS)


@cache
def _chains() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may stand behind a name of several syllables, and behind one and a first particle: more particles,
    four at most together, 요 behind them."""
    particle, suffix = ("|".join(sorted(forms, key=len, reverse=True)) for forms in (PARTICLES, _SUFFIXES))
    many = re.compile(f"(?!요$)(?:{suffix})?(?:{particle}){{0,4}}(?:{_COPULA})?요?")
    return many, re.compile(f"(?:{particle}){{0,3}}요?")


@lru_cache(maxsize=1 << 16)
def are_particles(name: str, rest: str) -> bool:
    """Whether `rest`, the remainder of the word behind `name`, reads as a chain of particles. Both folded."""
    if not 0 < len(rest) <= LONGEST_REST:
        return False
    many, more = _chains()
    final = final_consonant(name[-1])
    if len(name) > 1 or final is None:
        return many.fullmatch(rest) is not None
    return any(
        (fits(rest[:length], final) or rest[:length] in _SAFE_MISFITS)
        and rest[:length] not in _ENDINGS
        and more.fullmatch(rest, length) is not None
        for length in range(1, len(rest) + 1)
    )


def particle_cuts(word: str) -> Iterator[int]:
    """Places in a word behind which Korean particles may stand, the longest name first."""
    for cut in range(len(word) - 1, max(0, len(word) - LONGEST_REST), -1):
        if final_consonant(word[cut]) is None:
            return
        if are_particles(word[:cut], word[cut:]):
            yield cut


def ends_a_name(text: Text, stretch: Stretch) -> bool:
    """Whether a word ends with the stretch, or particles alone stand behind it."""
    first, last = stretch
    if not last.inside or text.ends[last.word] - last.end > LONGEST_REST:
        return not last.inside
    return are_particles(text.kept[first.start : last.end], text.kept[last.end : text.ends[last.word]])


def stands_in(phrase: str, whole: str) -> bool:
    """Whether a phrase stands in a text as a name would, folded, from a word's start to a word's end."""
    text, folded = Text.of(whole), fold(phrase)
    return any(
        text.kept[first.start : last.end] == folded and ends_a_name(text, (first, last))
        for first, last in text.stretches(lambda cut: cut.start + len(folded))
    )


_DIGITS = "영일이삼사오육칠팔구"  # zeros are read 십, 백, 천, 만 or 억, which end in a consonant too
_IN_BRACKETS = re.compile(r"(?<=\w)\s*+\([^()]*+\)$")
_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]++)[\W_]*+$")
# Latin words that are read with a final ㄹ (애플, 서울), and with another one (타임, 북, 링).
_ENDS_IN_RIEUL = re.compile("(?:l|[aeioubdgkpt]le)$")
_ENDS_IN_CONSONANT = re.compile("(?:[mn]|ng|ck|[aeiou][aeioubdgkpt][mn]e|(?<![aeiou])[aeiou][bpkct])$")


def with_particle(text: str, particle: str) -> str:
    """`with_particle("점순", "이")` → 점순이, of 나 → 나가. particle: the form after a consonant, or one that
    has no other. Marks and a bracket at the end are not read. Where the reading is not known both forms are
    written: 魯迅은(는)."""
    if particle not in _TWO_FORMS:
        return text + particle
    other, final = _TWO_FORMS[particle], _final_of(text)
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
    if word[-1].isdigit():
        return final_consonant(_DIGITS[int(word[-1])])
    letters = re.split(r"[^A-Za-z]", word)[-1]
    if len(letters) == 1 or letters.isupper():  # 엘, 엠, 엔, 알
        return RIEUL if letters[-1] in "lLrR" else int(letters[-1] in "mMnN")
    letters = letters.lower()
    return RIEUL if _ENDS_IN_RIEUL.search(letters) else int(bool(_ENDS_IN_CONSONANT.search(letters)))
