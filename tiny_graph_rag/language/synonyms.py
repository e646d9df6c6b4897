"""Common words for the relations that most graphs have: kinship, life, work, places, works, organisations.

A thesaurus of relations, not of the language: each group holds words that a question uses for one relation,
whatever a graph calls it. Only words that no relation type's name holds are looked up here.
"""

from __future__ import annotations

from functools import cache

from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.words import lemma

_TABLE = """
    spouse wife husband partner consort bride groom couple married marry wed marriage spouses 배우자 아내 남편
    부인 결혼 ;
    parent parents father mother mom mum dad mommy daddy papa mama begetter
    부모 아버지 어머니 아빠 엄마 부친 모친 ;
    child children son daughter kid kids offspring heir baby descendant 자식 자녀 아들 딸 ;
    sibling siblings brother sister bro sis twin 형제 자매 남매 오빠 누나 언니 동생 ;
    relative relatives kin family relation 친척 가족 ;
    gender sex 성별 ;
    nationality nation country citizenship citizen homeland 국적 나라 국가 ;
    ethnicity race ethnic tribe people 민족 인종 ;
    religion faith belief creed denomination church religious 종교 신앙 ;
    language tongue speak spoken speaks 언어 말 ;
    profession occupation job career work trade vocation employment living 직업 일 ;
    title position office post rank role 직위 직책 지위 ;
    birthplace birth born hometown 출생 출생지 태어난 고향 ;
    death died die deceased dead decease pass 사망 죽음 죽은 ;
    cause reason 원인 이유 ;
    burial buried grave tomb cemetery 무덤 묘지 묻힌 ;
    institution school university college academy alma education educated study studied graduate
    graduated attend ;
    attended 학교 대학 대학교 졸업 ;
    employer company firm employs employed business 회사 직장 ;
    founder founded founders establish established creator started 설립자 창립자 창업자 설립 창립 ;
    leader head chief boss president director chairman ceo 대표 지도자 사장 회장 ;
    member members membership belongs belong joined 회원 구성원 소속 ;
    owner owned owns belongs possession 소유 소유자 주인 ;
    location located place site position situated lies 위치 장소 소재지 ;
    headquarters headquarter seat base based 본사 본부 ;
    capital 수도 ;
    residence lived lives home house dwelling reside resided resident 거주 거주지 살던 사는 ;
    neighbour neighbor border borders adjacent adjoins 이웃 접한 ;
    author writer wrote written write penned novelist 저자 작가 지은이 쓴 ;
    director directed direct filmmaker 감독 연출 ;
    actor actress star stars starred starring cast performer played 배우 출연 주연 연기 ;
    composer composed compose music scored 작곡 작곡가 ;
    singer artist musician band vocalist sang performed 가수 음악가 ;
    producer produced produce production 제작 제작자 프로듀서 ;
    publisher published publish 출판 출판사 발행 ;
    genre kind type sort style category 장르 종류 유형 ;
    character characters protagonist role 등장인물 주인공 ;
    award awards prize won honour honor medal 상 수상 ;
    date year time day 날짜 연도 시기 ;
    team club squad side plays 팀 구단 선수단 ;
    sport game plays 종목 운동 ;
    instrument plays played 악기 ;
    friend friends companion buddy pal 친구 벗 ;
    enemy foe rival opponent 적 원수 경쟁자 ;
    teacher taught mentor tutor instructor 스승 선생 교사 ;
    student pupil disciple apprentice 제자 학생 ;
    influence influenced inspired inspiration 영향 ;
    part parts component contains includes 부분 구성 ;
    cause causes caused leads 원인 ;
    kill killed kills murder murdered slay slew slain killer murderer assassinate 살해 살인 죽인 ;
    attack attacked attacks assault assaulted fight fought battle 공격 싸움 싸운 ;
    love loves loved lover beloved romance 사랑 연인 애인 ;
    hate hates hated dislike despise despised 미움 증오 ;
    help helped helps aid aided assist assisted rescue rescued saved 도움 구조 ;
    send sent sends dispatch dispatched ship shipped mail mailed 보낸 발송 ;
    give gave given gift present presented donate donated 선물 기증 ;
    buy bought buys purchase purchased acquire acquired acquisition 구입 인수 매입 ;
    sell sold sells sale seller 판매 매각 ;
    travel travelled traveled journey voyage visit visited 여행 방문 ;
    discover discovered discovery discoverer 발견 ;
    invent invented inventor invention 발명 ;
    protect protects protected protector guard guards guarded defend defended 보호 수호 ;
    rule ruled rules ruler reign reigned govern governed king queen 통치 다스린 왕 ;
    steal stole stolen steals rob robbed theft thief 훔친 도둑 절도 ;
    build built builds construct constructed builder 건설 건축 ;
    fear fears feared afraid 두려움 ;
"""  # groups end with ;
GROUPS = tuple(table(group) for group in _TABLE.split(";") if group.strip())


@cache
def _groups_of() -> dict[str, tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    for number, words in enumerate(GROUPS):
        for word in words:
            groups.setdefault(word, []).append(number)
    return {word: tuple(numbers) for word, numbers in groups.items()}


def synonyms(word: str) -> frozenset[str]:
    """Words that may mean the relation which a graph calls `word`; none for a word of no group."""
    numbers = _groups_of().get(word) or _groups_of().get(lemma(word)) or ()
    return frozenset[str]().union(*(GROUPS[number] for number in numbers)) - {word}
