"""Long forms, abbreviations, and names that are never one."""

from __future__ import annotations

import pytest

from tiny_graph_rag.graph.name_forms import are_distinct, is_abbreviation, long_and_short


@pytest.mark.parametrize(
    ("name", "long", "short"),
    [
        ("Basal Cell Carcinoma (BCC)", "Basal Cell Carcinoma", "BCC"),
        ("AML (Acute Myeloid Leukemia)", "Acute Myeloid Leukemia", "AML"),
        ("mechanistic target of rapamycin [mTOR]", "mechanistic target of rapamycin", "mTOR"),
        ("Programmed Death 1 (PD-1)", "Programmed Death 1", "PD-1"),
        ("한국은행(한은)", "한국은행", "한은"),
        ("국민건강보험공단 (건보공단)", "국민건강보험공단", "건보공단"),
        ("전국경제인연합회(전경련)", "전국경제인연합회", "전경련"),
        ("다발성 경화증 (MS)", "다발성 경화증", "MS"),
        ("U.S. Bureau of Bread (BB)", "U.S. Bureau of Bread", "BB"),
    ],
)
def test_a_name_with_its_abbreviation_has_two_forms(name: str, long: str, short: str) -> None:
    assert long_and_short(name) == (long, short)


@pytest.mark.parametrize(
    "name",
    [
        "Titanic (1997)",
        "Paris (France)",
        "Mercury (planet)",
        "동백꽃(冬柏)",
        "PET (scan) room",
        "()",
        "(AML)",
        "A (B)",
        "한빛 (COMPANY)",
        "Disease in Danger (disorder)",
        "Report by Lead Line Supervisor (LLS)",
    ],
)
def test_brackets_that_hold_anything_else_make_no_form(name: str) -> None:
    assert long_and_short(name) is None


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("WHO", "World Health Organization", True),
        ("MTX", "methotrexate", True),
        ("HO", "World Health Organization", False),
        ("AB", "Very Long Name Of A Society That Begins", False),  # more than 2n words
        ("서울", "서울대학교병원", False),  # a part, not an abbreviation
        ("HTTP", "Hypertext Transfer Protocol", True),
        ("OW", "World Health Organization", False),
    ],
)
def test_abbreviations_are_aligned_as_schwartz_and_hearst_do(short: str, long: str, expected: bool) -> None:
    assert is_abbreviation(short, long) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stage 1A2", "Stage 2A1"),
        ("Stage I and II", "Stage III"),
        ("IL-2", "IL-12"),
        ("Type 1 diabetes", "Type II diabetes"),
        ("Pre-operative care", "Post-operative care"),
        ("left atrium", "right atrium"),
        ("non-melanoma", "melanoma"),
        ("Henry V", "Henry VI"),
        ("Summer 1888", "Summer 1889"),
        ("급성 백혈병", "만성 백혈병"),
    ],
)
def test_a_number_a_side_or_a_negation_keeps_two_names_apart(one: str, other: str) -> None:
    assert are_distinct(one, other)
    assert are_distinct(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Type 2 diabetes", "Type II diabetes"),
        ("PD-1", "PD1"),
        ("5 May 1890", "May 5, 1890"),
        ("1,000 Years", "1000 years"),
        ("South East Asia", "Southeast Asia"),
        ("Melanoma", "Melanomas"),
    ],
)
def test_what_is_only_written_otherwise_is_not_kept_apart(one: str, other: str) -> None:
    assert not are_distinct(one, other)
