"""Closed classes of words: those that hold a sentence together and name nothing.

Only for what no statistic of a graph can tell: a story of sixty entities has too few names to show that `the`
is no content word. `NameIndex` adds the function words that it finds in the names of a larger graph.
"""

from __future__ import annotations

from collections.abc import Sequence


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


DETERMINERS = table("a an the this that these those my our your his her its their")

HONORIFICS = table("""
    mr mrs ms miss mister dr doctor prof professor sir madam madame lady lord 씨 님 선생 선생님 군 양
    """)
