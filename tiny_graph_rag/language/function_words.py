"""Closed classes of words: those that hold a sentence together and name nothing.

Only for what no statistic of a graph can tell: a story of sixty entities has too few names to show that `the`
is no content word. `NameIndex` adds the function words that it finds in the names of a larger graph.
"""

from __future__ import annotations


def table(words: str) -> frozenset[str]:
    """Words parted by white space, as a set: how this program writes its tables of words."""
    return frozenset(words.split())


ENGLISH = table("""
    a an the this that these those some any every each no all both either neither such same other another
    i me my mine we us our you your he him his she her hers it its they them their
    who whom whose which what where when why how
    and or but nor so if then than as of at by for from in into on onto off out over under up down to with
    within without about after before between among through during against near
    is am are was were be been being do does did done doing have has had having can could will would shall
    should may might must not there here also only just very too more most many much few
    name list give tell show find describe explain please
    """)

KOREAN = table("""
    것 거 게 건 걸 수 줄 데 바 때 등 및 또 더 왜 뭐 뭘 무엇 무슨 누구 누가 어디 언제 어떻게 어떤 어느 얼마 몇
    이 그 저 그것 이것 저것 그곳 이곳 저곳 여기 거기 저기 그녀 그들
    대해 대한 대하여 관한 관해 관하여 설명 설명해 알려 알려줘
    """)

FUNCTION_WORDS = ENGLISH | KOREAN

DETERMINERS = table("a an the this that these those my our your his her its their")

HONORIFICS = table("""
    mr mrs ms miss mister dr doctor prof professor sir madam madame lady lord 씨 님 선생 선생님 군 양
    """)
