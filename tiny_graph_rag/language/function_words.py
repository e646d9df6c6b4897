"""Closed classes of words: those that hold a sentence together and name nothing, and Korean particles.

They are listed because no statistic of a graph can tell them: a story of sixty entities has too few names to
show that `the` is no content word.

A particle may follow a name inside its word. `점순이와` is a name and `와`; `집에서는` a name, `에서` and
`는`; `나무` is not `나` and something. Where a particle has two forms, one follows a vowel, one a consonant;
texts made from templates often mix them up (`허생원와`), so a misfit is distinguished from no particle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache

from tiny_graph_rag.language.folding import Text, fold


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
ENGLISH_ADVERBS = table("where when how why")  # question words that ask by a verb
KOREAN_ADVERBS = ("어디", "언제", "왜", "어떻게", "곳은", "때는")

HONORIFICS = table("""
    mr mrs ms miss mister dr doctor prof professor sir madam madame lady lord 씨 님 선생 선생님 군 양
    """)


FIRST_SYLLABLE = 0xAC00
FINALS = 28  # possible final consonants, none included
RIEUL = 8  # the final ㄹ, after which 로 stands as after a vowel
LONGEST_PARTICLE = 4  # syllables
LONGEST_REST = 24  # syllables behind a name: the longest chain and a copula; more are another word
LONGEST_CHAIN = 4  # 에게서부터는도: more than four particles in a row are no particles


class ParticleFit(IntEnum):
    NONE = 0
    MISFIT = 1
    FITS = 2


_TWO_FORMS = table(
    """
    은/는 이/가 을/를 과/와 아/야 이랑/랑 이나/나 이여/여 이며/며 이고/고 이든/든 이든지/든지
    이라/라 이라도/라도 이라는/라는 이라고/라고 이라면/라면 이란/란 이라서/라서 이면/면 이지만/지만
    이지/지 이자/자 이야말로/야말로 이니/니 이니까/니까 이던/던 이었던/였던 이었다/였다 이었고/였고
    이었을/였을 이었지/였지 이었나/였나 이었어/였어 이에요/예요 이다/다 이냐/냐 이네/네 으로/로
    으로서/로서 으로써/로써 으로부터/로부터 으로는/로는
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

_AFTER_CONSONANT = frozenset(pair.split("/")[0] for pair in _TWO_FORMS)
_AFTER_VOWEL = frozenset(pair.split("/")[1] for pair in _TWO_FORMS)
_AS_AFTER_VOWEL = frozenset(form for form in _AFTER_VOWEL if form.startswith("로"))
_EUI = frozenset(form for form in _AFTER_CONSONANT if form.startswith("으"))
# A name of one syllable and a misfitting 이, 은 or 가 is often another word (차이, 나은, 국가).
_SAFE_MISFITS = frozenset(("와", "를"))
# Forms of 이다 that end a sentence or a clause; nothing but 요 stands behind them.
_COPULA = re.compile(
    "(?:이(?:었|시|셨)?|였|셨)"
    "(?:다|고|며|면|지|죠|나|니|니까|냐|네|어|습니다|습니까|던|던가|을까|는지|는가|거든|잖아|시여|여|랍니다|래)"
    "|이?라(?:면서|던|는데|던데)|입니다|입니까|(?:인|일)(?:가|데|지|까|지도|텐데)?"
)
_POLITE = "요"  # behind any particle: 점순이는요
# Verb endings as well: one syllable and these are more often a verb or a noun (가라, 나면, 수다).
_ENDINGS = table("라 라는 라고 라면 라서 라도 란 면 며 고 다 지 니 든 자 여 냐 네 인 일 임 서 아 야 던")


def final_consonant(syllable: str) -> int | None:
    """0 for none, 1 to 27 for one, None where the character is no Hangul syllable."""
    place = ord(syllable) - FIRST_SYLLABLE
    return place % FINALS if 0 <= place < 19 * 21 * FINALS else None


def particles(name: str, rest: str) -> ParticleFit:
    """How `rest`, the remainder of the word behind `name`, reads as a chain of particles. Both folded."""
    if len(rest) > LONGEST_REST:
        return ParticleFit.NONE
    return _chain(rest, final_consonant(name[-1]), len(name) == 1 and final_consonant(name) is not None, 0)


def particle_cuts(word: str) -> Iterator[int]:
    """Places in a word behind which Korean particles may stand, the longest name first."""
    for cut in range(len(word) - 1, max(0, len(word) - LONGEST_REST), -1):
        if final_consonant(word[cut]) is None:
            return
        if particles(word[:cut], word[cut:]) == ParticleFit.FITS:
            yield cut


def stands_in(phrase: str, whole: str) -> bool:
    """Whether a phrase stands in a text as a name would, folded, from a word's start to a word's end."""
    text, folded = Text.of(whole), fold(phrase)
    cuts = text.cuts() if folded else []
    opens = {cut.start for cut in cuts if cut.opens}
    return any(
        text.kept.endswith(folded, 0, cut.end)
        and cut.end - len(folded) in opens
        and (not cut.inside or particles(folded, text.rest_of_word(cut.end)) != ParticleFit.NONE)
        for cut in cuts
    )


@lru_cache(maxsize=1 << 16)
def _chain(rest: str, final: int | None, one_syllable: bool, depth: int) -> ParticleFit:
    if depth == LONGEST_CHAIN:
        return ParticleFit.NONE
    if not one_syllable and _COPULA.fullmatch(rest.removesuffix(_POLITE)):
        return ParticleFit.FITS
    best = ParticleFit.NONE
    for length in range(1, min(LONGEST_PARTICLE, len(rest)) + 1):
        particle, left = rest[:length], rest[length:]
        fit = _fit(particle, final)
        if depth == 0 and not one_syllable:
            # 점순 + 이 + 가: a name that ends in a consonant takes 이 before other particles.
            if particle in _SUFFIXES or (particle == "이" and left and final not in (0, None)):
                fit = ParticleFit.FITS
        elif depth == 0 and (
            particle in _ENDINGS or (fit is ParticleFit.MISFIT and particle not in _SAFE_MISFITS)
        ):
            fit = ParticleFit.NONE
        if fit and left and left != _POLITE:
            fit = min(fit, _chain(left, final_consonant(particle[-1]), one_syllable, depth + 1))
        best = max(best, fit)
    return best


def _fit(particle: str, final: int | None) -> ParticleFit:
    """final None: how a name in other letters or digits sounds is not known, so both forms fit."""
    if particle in _EVERYWHERE:
        return ParticleFit.FITS
    vowel = final in (0, None) or (final == RIEUL and particle in _AS_AFTER_VOWEL)
    consonant = final is None or (final != 0 and not (final == RIEUL and particle in _EUI))
    if particle in _AFTER_VOWEL:
        return ParticleFit.FITS if vowel else ParticleFit.MISFIT
    if particle in _AFTER_CONSONANT:
        return ParticleFit.FITS if consonant else ParticleFit.MISFIT
    return ParticleFit.NONE


# What a stem drops: particles that stand behind any word, then one ending of a verb.
PARTICLES = _AFTER_CONSONANT | _AFTER_VOWEL | _EVERYWHERE | table("에게서는 에게는 에서는")
ENDINGS = table(
    "하였습니다 했습니다 하였던 하였다 합니다 입니다 이었던 이었다 으려고 시키는 시킨 했던 했다 "
    "하는 하던 하여 해서 하게 하고 하며 한다 되는 되었 된다 였던 였다 었던 았던 었다 았다 으며 "
    "으면 려고 지만 는데 인가 일까 인지 이다 에는 는다 던 은 는 을 를 고 며 면 게 지 다 한 할 함 "
    "해 기 된 될 됨 음 "
    "나요 하나요 했나요 하였나요 되나요 됐나요 되었나요 었나요 았나요 였나요 습니까 합니까 됩니까 했습니까 "
    "었습니까 았습니까 하는가 했는가 었는가 았는가 하니 했니 었니 았니 해요 했어 했어요 었어 았어 었어요 "
    "았어요 하죠 했지 하는지 했는지 었는지 았는지 하나 했나 었나 았나 하지 하냐 했냐"
)
