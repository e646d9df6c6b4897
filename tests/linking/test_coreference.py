"""Pronouns and unsaid subjects find what earlier turns named."""

from __future__ import annotations

import pytest

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.coreference import pronouns
from tiny_graph_rag.linking.names import NameLinker

TYPES = {
    "PERSON": ["Helen Stoner", "Dr. Watson", "점순"],
    "PLACE": ["Crane Water", "산기슭"],
    "ANIMAL": ["Cheetah", "Baboon"],
    "WORK": ["The Stonor Case", "it"],
    "EVENT": ["Night vigil", "감자 사건"],
    "THING": ["Iron safe"],
    "FOOD": ["고추장"],
    "ORGANIZATION": ["구인회"],
    "OTHER": ["Nameless"],
}


@pytest.fixture
def linker() -> NameLinker:
    records = [{"name": name, "entity_type": type} for type, names in TYPES.items() for name in names]
    graph = KnowledgeGraph.from_records(records, [])
    return NameLinker(graph, NameIndex.of(graph))


def seeds(linker: NameLinker, text: str, *context: str) -> list[tuple[str, str, str]]:
    names = linker.finder.graph.entities.names
    found = linker.link([Example("q", text, (), context=context)])[0].seeds
    return [(names[seed.entity], seed.mention, seed.rule) for seed in found]


@pytest.mark.parametrize(
    ("text", "context", "wanted"),
    [
        ("Who was her sister?", ["Helen Stoner saw Crane Water."], [("Helen Stoner", "her", "coreference")]),
        ("Who lives there?", ["Helen Stoner saw Crane Water."], [("Crane Water", "there", "coreference")]),
        ("Is there a way to open it?", ["An iron safe."], [("Iron safe", "it", "coreference")]),
        (
            "Who fed them?",
            ["Helen Stoner waited.", "A cheetah and a baboon came."],
            [("Cheetah", "them", "coreference"), ("Baboon", "them", "coreference")],
        ),
        ("Where is he?", ["Dr. Watson came.", "Helen Stoner left."], [("Helen Stoner", "he", "coreference")]),
        ("Who lives in that place?", ["Crane Water is old."], [("Crane Water", "that place", "coreference")]),
        ("Did Helen Stoner meet him?", ["Helen Stoner, Dr. Watson."], [
            ("Helen Stoner", "Helen Stoner", "exact"), ("Dr. Watson", "him", "coreference")
        ]),
        ("Where was she?", ["Nameless came."], [("Nameless", "she", "coreference")]),
        ("And when?", ["Who kept the night vigil?"], [("Night vigil", "", "ellipsis")]),
        ("그는 누구야?", ["점순은 산기슭에 있어."], [("점순", "그", "coreference")]),
        ("거기서 뭘 했어?", ["점순은 산기슭에 있어."], [("산기슭", "거기", "coreference")]),
        ("그 일은 왜 났어?", ["감자 사건은 고추장보다 앞이야."], [("감자 사건", "그 일", "coreference")]),
        ("그 말고 거기 든 사람은?", ["점순은 구인회에 있었어."], [
            ("점순", "그", "coreference"), ("구인회", "거기", "coreference")
        ]),
        ("그만 하라고 한 사람은?", ["점순은 산기슭에 있어."], [("산기슭", "", "ellipsis")]),
        ("왜?", ["점순이 왜 그래?"], [("점순", "", "ellipsis")]),
    ],
)  # fmt: skip
def test_a_pronoun_means_the_most_recent_entity_of_its_kind(
    linker: NameLinker, text: str, context: list[str], wanted: list[tuple[str, str, str]]
) -> None:
    assert seeds(linker, text, *context) == wanted


def test_without_earlier_turns_a_pronoun_means_nothing_and_may_be_a_name(linker: NameLinker) -> None:
    assert seeds(linker, "Who was her sister?") == []
    assert seeds(linker, "who wrote it?") == [("it", "it", "exact")]


def test_the_span_of_a_pronoun_leaves_out_its_particles() -> None:
    text = "그녀가 그 사람에게 간 곳은?"
    assert [text[start:end] for start, end, _ in pronouns(text)] == ["그녀", "그 사람"]


def test_an_ellipsis_has_no_place_in_the_question(linker: NameLinker) -> None:
    (seed,) = linker.link([Example("q", "And when?", (), context=("Night vigil?",))])[0].seeds
    assert (seed.start, seed.end, seed.weight) == (None, None, 1.0)


def test_context_of_another_question_is_not_looked_at(linker: NameLinker) -> None:
    examples = [
        Example("a", "Who is she?", (), context=("Helen Stoner.",)),
        Example("b", "Who is she?", ()),
        Example("c", "Who is he?", (), context=("Hm.", "Dr. Watson.")),
    ]
    found = [[seed.entity for seed in linked_question.seeds] for linked_question in linker.link(examples)]
    assert [len(item) for item in found] == [1, 0, 1]
    assert found[0] != found[2]
