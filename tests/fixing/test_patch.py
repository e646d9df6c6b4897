"""The patch file: read, written, applied in memory; the gold set keeps what it meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tiny_graph_rag.fixing.applying import apply, frozen, patched
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    DRAFT,
    Alias,
    ChosenSetting,
    Entry,
    Fingerprint,
    Merge,
    Patch,
    PatchError,
    Rename,
    Words,
    patch_text,
    read_patch,
)
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex

TWO = "Two of them."
OLDER = Rename(entity_id="4", alias="Kim Su", status=CONFIRMED)


def town() -> KnowledgeGraph:
    return KnowledgeGraph.from_records(
        {
            "1": {"name": "Air purifier A3", "description": "It cleans.", "source_chunks": ["c1"]},
            "2": {"name": "Filter"},
            "3": {"name": "Filters", "aliases": ["mesh"], "description": TWO, "attributes": {"n": 2}},
            "4": {"name": "Kim"},
        },
        [
            {"source_entity_id": "1", "relationship_type": "HAS", "target_entity_id": "3"},
            {"source_entity_id": "4", "relationship_type": "MADE", "target_entity_id": "1"},
        ],
        name="town",
    )


def patch(*entries: Entry, **more: Any) -> Patch:
    return Patch(graph=Fingerprint("town"), questions=Fingerprint("asked"), **more).of(entries)


def write_patch(path: Path, patch: Patch) -> None:
    path.write_text(patch_text(patch, as_json=path.suffix == ".json"), encoding="utf-8")


def asked(*references: str) -> EvalSet:
    return EvalSet((Example("q", "what is asked?", references),))


def meant(examples: EvalSet, graph: KnowledgeGraph) -> list[tuple[str, ...]]:
    (row,) = resolve(examples, NameIndex.of(graph), len(graph)).references
    return [tuple(graph.entities.ids[entity] for entity in reference.entities) for reference in row]


def test_a_patch_is_read_as_it_was_written(tmp_path: Path) -> None:
    whole = patch(
        ChosenSetting(values={"hops": 4}, gain=0.05, low=0.01, high=0.09, n=80),
        Words(type="HAS", words=("가진", "with")),
        Alias(entity_id="1", alias="A3", evidence=("part of the name",), questions=("q",)),
        Merge(keep_id="2", drop_ids=("3",), status=CONFIRMED),
        Rename(entity_id="4", alias="Kim Su"),
        measure="ndcg@5",
    )
    write_patch(tmp_path / "fixes.yaml", whole)
    assert read_patch(tmp_path / "fixes.yaml") == whole
    text = (tmp_path / "fixes.yaml").read_text(encoding="utf-8")
    assert "entity_id: '1'\n  alias: A3\n  status: draft\n" in text
    assert "가진" in text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("aliases: [{entity_id: E1, alias: A3, status: yes}]", "aliases[0].status: "),
        ("aliases: [{entity_id: E1}]", "aliases[0]: Object missing required field `alias`"),
        ("aliases: [{entity_id: E1, alias: ' '}]", "aliases[0].alias: Expected `str` matching regex"),
        ("alias: []", "the file: Object contains unknown field `alias`"),
        ("merges: [{keep_id: 1, drop_ids: [a]}]", "merges[0].keep_id: Expected `str`, got `int`"),
    ],
)
def test_a_broken_file_is_refused_with_the_entry_and_what_to_do(
    tmp_path: Path, wrong: str, message: str
) -> None:
    path = tmp_path / "fixes.yaml"
    path.write_text(f"graph: {{name: a}}\nquestions: {{name: b}}\n{wrong}\n")
    with pytest.raises(PatchError) as error:
        read_patch(path)
    told = str(error.value).replace("can't be read as a patch (", "")
    assert told.startswith(f"fixes.yaml: {message}")
    assert "correct this field" in str(error.value)


def test_only_confirmed_entries_apply_unless_drafts_are_asked_for() -> None:
    fixes = patch(
        Alias(entity_id="1", alias="A3"),
        Alias(entity_id="2", alias="net", status=CONFIRMED),
        Alias(entity_id="4", alias="Su", status="rejected"),
    )
    assert list(apply(town(), fixes).entities.aliases) == [[], ["net"], ["mesh"], []]
    both = apply(town(), fixes, (CONFIRMED, DRAFT))
    assert list(both.entities.aliases) == [["A3"], ["net"], ["mesh"], []]


def test_a_kind_is_confirmed_as_a_whole_but_for_what_was_rejected(tmp_path: Path) -> None:
    aliases = (Alias(entity_id="1", alias="A3"), Alias(entity_id="4", alias="Su", status="rejected"))
    fixes = patch(*aliases, Merge(keep_id="2", drop_ids=("3",)), confirm=("aliases",))
    for name in ("fixes.yaml", "fixes.json"):
        write_patch(tmp_path / name, fixes)
        read = read_patch(tmp_path / name)
        assert [entry.status for _, entry in read.entries()] == [CONFIRMED, "rejected", DRAFT]
    assert (tmp_path / "fixes.json").read_text(encoding="utf-8").startswith("{")


def test_what_was_decided_of_a_draft_is_kept() -> None:
    merge, words = Merge(keep_id="2", drop_ids=("3",)), Words(type="OWNS", words=("hat",))
    rejected = Alias(entity_id="1", alias="A3", status="rejected")
    new = patch(Alias(entity_id="1", alias="A3", gain=0.1, n=3), merge, words)
    earlier = patch(rejected, structs.replace(merge, status=CONFIRMED), confirm=("vocabulary",))
    kept = new.decided_as(earlier)
    assert [entry.status for _, entry in kept.entries()] == [DRAFT, "rejected", CONFIRMED]
    assert (kept.confirm, kept.aliases[0].gain) == (("vocabulary",), 0.1)
    setting = ChosenSetting(values={"hops": 4, "exclude_seeds": True}, status=CONFIRMED, gain=0.2)
    refused = structs.replace(setting, status="rejected", gain=0.1)
    assert patch(setting).decided_as(patch(refused)).settings[0].status == "rejected"
    assert patch(setting).decided_as(patch(structs.replace(refused, status=DRAFT))) == patch(setting)


def test_a_merge_takes_names_texts_and_relations_along() -> None:
    made = apply(town(), patch(Merge(keep_id="2", drop_ids=("3",), status=CONFIRMED)))
    assert list(made.entities.ids) == ["1", "2", "4"]
    assert made.entities.aliases[1] == ["Filters", "mesh"]
    assert made.entities.descriptions[1] == TWO
    assert made.entities.details[1] == '{"attributes": {"n": 2}}'
    ends = made.relations.sources.tolist(), made.relations.targets.tolist()
    assert ends == ([0, 2], [1, 0])


def test_merges_may_follow_one_another_and_not_contradict_each_other() -> None:
    first = Merge(keep_id="2", drop_ids=("3",), status=CONFIRMED)
    made = apply(town(), patch(first, Merge(keep_id="4", drop_ids=("2",), status=CONFIRMED)))
    assert list(made.entities.ids) == ["1", "4"]
    assert set(made.entities.aliases[1]) == {"Filter", "Filters", "mesh"}
    for other, said in (("3", "'2' is merged into two entities, or into itself"), ("4", "'3'")):
        second = Merge(keep_id=other, drop_ids=("2",) if other == "3" else ("3",), status=CONFIRMED)
        with pytest.raises(PatchError, match=rf"merges\[1\]: {said}"):
            apply(town(), patch(first, second))


@pytest.mark.parametrize(
    "entry",
    [
        Alias(entity_id="gone", alias="A3"),
        Merge(keep_id="1", drop_ids=("gone",)),
        Rename(entity_id="gone", alias="x"),
        Words(type="gone", words=("x",)),
    ],
)
def test_what_the_graph_no_longer_has_is_an_error_unless_it_was_rejected(entry: Entry) -> None:
    with pytest.raises(PatchError, match="'gone'; run `fix` again"):
        apply(town(), patch(entry))
    rejected = structs.replace(entry, status="rejected")
    assert list(apply(town(), patch(rejected)).entities.ids) == list(town().entities.ids)


def test_words_are_added_to_the_owners() -> None:
    fixes = patch(Words(type="HAS", words=("with", "owns"), status=CONFIRMED))
    graph = replace(town(), vocabulary={"HAS": ("owns",)})
    assert apply(graph, fixes).vocabulary == {"HAS": ("owns", "with")}


@pytest.mark.parametrize(
    ("entries", "references", "wanted"),
    [
        # An alias makes no reference resolvable.
        ([Alias(entity_id="1", alias="A3", status=CONFIRMED)], ("A3", "Filter"), [(), ("2",)]),
        # A reference to a merged entity means the one that stands for it.
        ([Merge(keep_id="2", drop_ids=("3",), status=CONFIRMED)], ("Filters", "Kim"), [("2",), ("4",)]),
        # A lost reference is found again by the name of the older graph.
        ([OLDER, Rename(entity_id="2", alias="Lee")], ("kim su", "Lee"), [("4",), ()]),
    ],
)
def test_references_mean_what_they_meant(entries: Any, references: Any, wanted: Any) -> None:
    graph, examples = patched(town(), asked(*references), patch(*entries))
    assert meant(examples, graph) == wanted


def test_an_alias_that_another_entity_has_as_its_name_moves_no_reference() -> None:
    graph = town()
    fixes = patch(Alias(entity_id="1", alias="mesh", status=CONFIRMED))
    made = apply(graph, fixes)
    assert meant(asked("mesh"), made) == [("1", "3")]  # read anew it would mean both
    assert meant(frozen(asked("mesh"), graph, made, fixes), made) == [("3",)]
