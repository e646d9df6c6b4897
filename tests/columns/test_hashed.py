"""The id table answers as a dict does, for any ids."""

from __future__ import annotations

import random

import pytest

from tiny_graph_rag.columns.hashed import LONGEST, IdTable, RepeatedIdError
from tiny_graph_rag.columns.strings import Strings

KINDS = {
    "short": lambda draw: f"e{draw.randrange(5000)}",
    "NUL at the end": lambda draw: "a" * draw.randrange(9) + "\0" * draw.randrange(9),
    "a common start": lambda draw: f"https://example.org/entity/{draw.randrange(3000)}",
    "Hangul": lambda draw: "".join(draw.choices("가나다라", k=draw.randrange(1, 6))),
    "longer than the table's rows": lambda draw: "x" * (LONGEST - 5) + str(draw.randrange(10**7)),
    "empty too": lambda draw: "ab"[: draw.randrange(3)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_known_ids_have_their_row_and_others_none(kind: str) -> None:
    draw = random.Random(1)
    ids = list(dict.fromkeys(KINDS[kind](draw) for _ in range(2000)))
    known, unknown = ids[: len(ids) // 2], [*ids[len(ids) // 2 :], "", "?", "é", "z" * 200, "\0"]
    asked = draw.choices([*known, *unknown], k=3000)
    row_of = {name: row for row, name in enumerate(known)}
    table = IdTable(Strings.of(known))
    assert table.rows(asked).tolist() == [row_of.get(item, -1) for item in asked]
    assert table.rows([]).tolist() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_repeated_id_is_refused(kind: str) -> None:
    draw = random.Random(2)
    ids = list(dict.fromkeys(KINDS[kind](draw) for _ in range(200)))
    with pytest.raises(RepeatedIdError):
        IdTable(Strings.of([*ids, ids[len(ids) // 3]]))


def test_a_table_without_ids_knows_none() -> None:
    assert IdTable(Strings.of([])).rows(["a", ""]).tolist() == [-1, -1]
