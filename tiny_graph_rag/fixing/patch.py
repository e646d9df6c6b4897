"""The patch file: proposed changes to a graph and its settings, each with evidence and a decision.

    graph: {name: town, sha256: 9f2c…}
    questions: {name: town, sha256: 51d0…}
    confirm: [merges]
    aliases:
      - {entity_id: E7, alias: A3, status: draft, evidence: [part of the name], questions: [Q4]}
    merges:
      - {keep_id: E1, drop_ids: [E9], status: confirmed}

Only confirmed entries are applied, and drafts of the kinds in `confirm`. What is applied changes no file:
`convert --patch` writes the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import msgspec

from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import readable
from tiny_graph_rag.messages import said
from tiny_graph_rag.outputs import write_atomically

Status = Literal["draft", "confirmed", "rejected"]
DRAFT: Status = "draft"
CONFIRMED: Status = "confirmed"
REJECTED: Status = "rejected"
_PLACE = re.compile(r"(?P<wrong>.*?)(?: - at `\$\.?(?P<place>[^`]*)`)?", re.DOTALL)


class PatchError(InputError):
    """A patch file that can't be read, or that doesn't fit the graph it is applied to."""


class Fingerprint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name and SHA-256 of a file; sha256 is "" for what was not read from one."""

    name: str
    sha256: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What every proposal has.

    evidence: short sentences or quotations that speak for it. questions: ids of the questions that it would
    change. gain, low, high: mean change of the deciding measure over `n` questions (held-out ones for what
    is proven), and its interval. control: the same for as many random changes. won, lost: ids of questions.
    """

    status: Status = DRAFT
    evidence: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    control: float | None = None
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


class ChosenSetting(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """values: retrieval settings by their names."""

    values: dict[str, Any]


class TriedSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What settings did to all questions, in sample. p: corrected for all that were tried."""

    values: dict[str, Any]
    gain: float
    won: int
    lost: int
    p: float | None = None


class Words(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """words: what people say for a relation type (or entity type) of the graph."""

    type: str
    words: tuple[str, ...]


class Alias(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    entity_id: str
    alias: str
    name: str = ""
    """The entity's name, for whoever reads the file."""


class Merge(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The entities drop_ids become one with keep_id: its aliases, texts and relations from then on.

    names: of keep_id first, then of drop_ids, for whoever reads the file.
    """

    keep_id: str
    drop_ids: tuple[str, ...]
    names: tuple[str, ...] = ()


class Rename(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The entity was called `was` in the older graph, by which gold set and questions still call it."""

    entity_id: str
    was: str
    name: str = ""


class RestoredEntity(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An entity of the older graph that this one lacks. id: one that this graph doesn't use."""

    id: str
    name: str
    type: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    source_chunks: tuple[str, ...] = ()


class RestoredRelation(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A relation of the older graph. source_id, target_id: of this graph, or of restored entities; names: of
    both, for whoever reads the file."""

    source_id: str
    type: str
    target_id: str
    description: str = ""
    weight: float = 1.0
    source_chunks: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Restore(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    renames: tuple[Rename, ...] = ()
    entities: tuple[RestoredEntity, ...] = ()
    relations: tuple[RestoredRelation, ...] = ()


NOTHING_RESTORED = Restore()


class Ask(Entry, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What only the graph's owner knows; never applied.

    question: in words. entity_ids: the two that may be related, or none where a lost reference is meant.
    reference: that reference. texts: passages that name both, or that mention it. chunks: their ids.
    lifts: how many questions would gain from a yes.
    """

    question: str
    entity_ids: tuple[str, ...] = ()
    reference: str = ""
    texts: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    lifts: int = 0


class NotKept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was tried and did not hold. kind: settings, vocabulary, aliases, …; why: in words.

    in_sample: gain on the questions that chose it. gain, low, high, n: held out. control: of as many random
    changes.
    """

    kind: str
    what: str
    why: str
    in_sample: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    control: float | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What all proposals of one kind do together, as a cost and not as a reason. control: as many random
    changes. parts: of kind `all`, which holds every entry, the sum of what the kinds gain on their own."""

    kind: str
    entries: int
    questions: int = 0
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    won: int = 0
    lost: int = 0
    control: float | None = None
    parts: float | None = None


class Patch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """graph, questions: what it was made for. confirm: kinds all of whose drafts are confirmed. measure: what
    gains are of. batches, settings_tried, not_kept: what was measured next to the entries; they change
    nothing."""

    graph: Fingerprint
    questions: Fingerprint
    confirm: tuple[Literal["settings", "vocabulary", "aliases", "merges", "restore"], ...] = ()
    measure: str = ""
    settings: tuple[ChosenSetting, ...] = ()
    vocabulary: tuple[Words, ...] = ()
    aliases: tuple[Alias, ...] = ()
    merges: tuple[Merge, ...] = ()
    restore: Restore = NOTHING_RESTORED
    ask: tuple[Ask, ...] = ()
    batches: tuple[Batch, ...] = ()
    settings_tried: tuple[TriedSetting, ...] = ()
    not_kept: tuple[NotKept, ...] = ()

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Every entry that can be decided, with where it stands: `aliases[0]`, `restore.renames[1]`."""
        for section in SECTIONS.values():
            for place, entry in enumerate(attrgetter(section)(self)):
                yield f"{section}[{place}]", entry

    def to_decide(self) -> list[str]:
        """Where the entries stand that nobody has decided yet."""
        return [place for place, entry in self.entries() if entry.status == DRAFT]

    def applies(self) -> bool:
        """Whether anything is confirmed."""
        return any(entry.status == CONFIRMED for _, entry in self.entries())

    def only(self, *statuses: Status) -> Patch:
        """The entries with one of these statuses."""
        return self.of(entry for _, entry in self.entries() if entry.status in statuses)

    def decided(self, statuses: dict[str, Status]) -> Patch:
        """The same with new statuses. statuses: where an entry stands (`aliases[0]`) → its status."""
        return self.of(
            msgspec.structs.replace(entry, status=statuses.get(place, entry.status))
            for place, entry in self.entries()
        )

    def settled(self) -> Patch:
        """The same with the drafts of the kinds in `confirm` confirmed."""
        return self.decided(
            {place: CONFIRMED for place in self.to_decide() if re.split(r"[.\[]", place)[0] in self.confirm}
        )

    def plus(self, entries: Iterable[Entry]) -> Patch:
        """The patch with these entries behind those that it has."""
        return self.of([*(entry for _, entry in self.entries()), *entries])

    def of(self, entries: Iterable[Entry]) -> Patch:
        """The patch with these entries, each in its section, instead of its own."""
        made: dict[str, list[Any]] = {section: [] for section in SECTIONS.values()}
        for entry in entries:
            made[SECTIONS[type(entry)]].append(entry)
        columns = {section: tuple(rows) for section, rows in made.items()}
        restore = Restore(*(columns.pop(f"restore.{name}") for name in Restore.__struct_fields__))
        restore = NOTHING_RESTORED if restore == NOTHING_RESTORED else restore  # a default is not written
        return msgspec.structs.replace(self, **columns, restore=restore)


# Where the entries of each kind stand in a patch.
SECTIONS: dict[type[Entry], str] = {
    ChosenSetting: "settings",
    Words: "vocabulary",
    Alias: "aliases",
    Merge: "merges",
    Rename: "restore.renames",
    RestoredEntity: "restore.entities",
    RestoredRelation: "restore.relations",
}


def ids_of(entry: Entry) -> tuple[str, ...]:
    """The ids of the entities that an entry changes; a restored one's is its own."""
    match entry:
        case Alias() | Rename():
            return (entry.entity_id,)
        case Merge():
            return (entry.keep_id, *entry.drop_ids)
        case RestoredEntity():
            return (entry.id,)
        case RestoredRelation():
            return (entry.source_id, entry.target_id)
    return ()


def empty_patch(graph: KnowledgeGraph, questions: EvalSet, measure: str = "") -> Patch:
    """A patch without entries for this graph and gold set."""
    return Patch(
        graph=Fingerprint(readable(graph.name), graph.sha256),
        questions=Fingerprint(readable(questions.name), questions.sha256),
        measure=measure,
    )


def read_patch(path: Path) -> Patch:
    """Raises PatchError for what is no patch file, with the entry and field that is wrong."""
    document = read_yaml(path, PatchError)
    try:
        return msgspec.convert(document, type=Patch, strict=True).settled()
    except msgspec.ValidationError as error:
        parts = _PLACE.fullmatch(str(error))
        place, wrong = (parts["place"] or "", parts["wrong"]) if parts else ("", str(error))
        raise PatchError(
            "{path}: {place}: {wrong}. `fix -o FILE` writes a patch file; correct this field or remove "
            "its entry",
            path=path.name,
            place=place or said("the file"),
            wrong=wrong,
        ) from error


def write_patch(path: Path, patch: Patch) -> None:
    """As `patch_text` has it, whole or not at all; what stood there is replaced."""
    write_atomically(path, [patch_text(patch, as_json=path.suffix == ".json").encode()])


def patch_text(patch: Patch, *, as_json: bool = False) -> str:
    """As YAML, or as JSON. What an entry changes stands first, then its status, then what was measured."""
    import yaml

    document = msgspec.to_builtins(patch)
    document = {"graph": document["graph"], "questions": document["questions"], "confirm": [], **document}
    for section in ("settings", "vocabulary", "aliases", "merges", "ask"):
        document |= {section: [*map(_in_order, document[section])]} if section in document else {}
    if "restore" in document:
        document["restore"] = {kind: [*map(_in_order, rows)] for kind, rows in document["restore"].items()}
    if as_json:
        return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


def _in_order(entry: dict[str, Any]) -> dict[str, Any]:
    measured = Entry.__struct_fields__
    changes = {name: value for name, value in entry.items() if name not in measured}
    rest = {name: entry[name] for name in measured if name in entry and name != "status"}
    return {**changes, "status": entry.get("status", DRAFT), **rest}
