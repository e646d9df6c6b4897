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
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import readable
from tiny_graph_rag.messages import said

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


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a change gains: the mean change of the deciding measure over `n` questions (held-out ones for what
    is proven), its 95 % interval, and as control the same for as many random changes. None where not
    measured."""

    gain: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    control: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies above 0."""
        return self.low is not None and self.low > 0


NOT_MEASURED = Figures()


class Entry(Figures, frozen=True, kw_only=True):
    """What every proposal has.

    evidence: short sentences or quotations that speak for it. questions: ids of the questions that it would
    change. won, lost: ids of the questions that gain and that lose.
    """

    status: Status = DRAFT
    evidence: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


class ChosenSetting(Entry, frozen=True, kw_only=True):
    """values: retrieval settings by their names."""

    values: dict[str, Any]


class Words(Entry, frozen=True, kw_only=True):
    """words: what people say for a relation type (or entity type) of the graph."""

    type: str
    words: tuple[str, ...]


class Alias(Entry, frozen=True, kw_only=True):
    entity_id: str
    alias: Annotated[str, msgspec.Meta(pattern=r"\S")]
    name: str = ""
    """The entity's name, for whoever reads the file."""


class Merge(Entry, frozen=True, kw_only=True):
    """The entities drop_ids become one with keep_id: its aliases, texts and relations from then on.

    names: of keep_id first, then of drop_ids, for whoever reads the file.
    """

    keep_id: str
    drop_ids: tuple[str, ...]
    names: tuple[str, ...] = ()


class Rename(Alias, frozen=True, kw_only=True):
    """The entity was called `alias` in the older graph, by which gold set and questions still call it."""


class Ask(Entry, frozen=True, kw_only=True):
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


class NotKept(Figures, frozen=True, kw_only=True):
    """What was tried and did not hold. kind: settings, vocabulary, aliases, …; why: in words. in_sample: gain
    on the questions that chose it; the figures are held out."""

    kind: str
    what: str
    why: str
    in_sample: float | None = None


class Batch(Figures, frozen=True, kw_only=True):
    """What all proposals of one kind do together, as a cost and not as a reason. parts: of kind `all`, which
    holds every entry, the sum of what the kinds gain on their own."""

    kind: str
    entries: int
    questions: int = 0
    won: int = 0
    lost: int = 0
    parts: float | None = None


class Patch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """graph, questions: what it was made for. confirm: kinds all of whose drafts are confirmed. measure: what
    gains are of. batches, not_kept: what was measured next to the entries; they change nothing."""

    graph: Fingerprint
    questions: Fingerprint
    confirm: tuple[Literal["settings", "vocabulary", "aliases", "merges", "renames"], ...] = ()
    measure: str = ""
    settings: tuple[ChosenSetting, ...] = ()
    vocabulary: tuple[Words, ...] = ()
    aliases: tuple[Alias, ...] = ()
    merges: tuple[Merge, ...] = ()
    renames: tuple[Rename, ...] = ()
    ask: tuple[Ask, ...] = ()
    batches: tuple[Batch, ...] = ()
    not_kept: tuple[NotKept, ...] = ()

    def entries(self) -> list[tuple[str, Entry]]:
        """Every entry that can be decided, with where it stands: `aliases[0]`."""
        return [
            (f"{section}[{place}]", entry)
            for section in SECTIONS.values()
            for place, entry in enumerate(getattr(self, section))
        ]

    def has(self, status: Status) -> bool:
        """Whether an entry has this status."""
        return any(entry.status == status for _, entry in self.entries())

    def only(self, *statuses: Status) -> Patch:
        """The entries with one of these statuses."""
        return self.of(entry for _, entry in self.entries() if entry.status in statuses)

    def settled(self) -> Patch:
        """The same with the drafts of the kinds in `confirm` confirmed."""
        return self.of(
            msgspec.structs.replace(entry, status=CONFIRMED)
            if entry.status == DRAFT and SECTIONS[type(entry)] in self.confirm
            else entry
            for _, entry in self.entries()
        )

    def decided_as(self, earlier: Patch) -> Patch:
        """The same with what somebody decided in an earlier one: its drafts, and whatever was rejected."""
        known = {_change_of(entry): entry.status for _, entry in earlier.entries()}
        statuses = [(entry, known.get(_change_of(entry), DRAFT)) for _, entry in self.entries()]
        decided = self.of(
            msgspec.structs.replace(entry, status=status)
            if status == REJECTED or entry.status == DRAFT
            else entry
            for entry, status in statuses
        )
        return msgspec.structs.replace(decided, confirm=earlier.confirm)

    def plus(self, entries: Iterable[Entry]) -> Patch:
        """The patch with these entries behind those that it has."""
        return self.of([*(entry for _, entry in self.entries()), *entries])

    def of(self, entries: Iterable[Entry]) -> Patch:
        """The patch with these entries, each in its section, instead of its own."""
        made: dict[str, list[Entry]] = {section: [] for section in SECTIONS.values()}
        for entry in entries:
            made[SECTIONS[type(entry)]].append(entry)
        return msgspec.structs.replace(self, **{section: tuple(rows) for section, rows in made.items()})


# The kind of each entry, which is where it stands in a patch.
SECTIONS: dict[type[Entry], str] = {
    ChosenSetting: "settings",
    Words: "vocabulary",
    Alias: "aliases",
    Merge: "merges",
    Rename: "renames",
}


def _change_of(entry: Entry) -> tuple[str, ...]:
    """What an entry changes, whatever was measured of it."""
    change: tuple[str, ...] = ids_of(entry)
    match entry:
        case Alias():
            change = (*change, entry.alias)
        case Words():
            change = (entry.type, *entry.words)
        case ChosenSetting():
            change = tuple(map(str, sorted(entry.values.items())))
    return (SECTIONS[type(entry)], *change)


def ids_of(entry: Entry) -> tuple[str, ...]:
    """The ids of the entities that an entry changes."""
    match entry:
        case Alias():
            return (entry.entity_id,)
        case Merge():
            return (entry.keep_id, *entry.drop_ids)
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
            "{path}: {place}: can't be read as a patch ({wrong}). `fix -o FILE` writes one; correct this "
            "field or remove its entry",
            path=path.name,
            place=place or said("the file"),
            wrong=wrong,
        ) from error


def patch_text(patch: Patch, *, as_json: bool = False) -> str:
    """As YAML, or as JSON. What an entry changes stands first, then its status, then what was measured."""
    import yaml

    document = msgspec.to_builtins(patch)
    document = {"graph": document["graph"], "questions": document["questions"], "confirm": [], **document}
    for section in (*SECTIONS.values(), "ask"):
        document |= {section: [*map(_in_order, document[section])]} if section in document else {}
    if as_json:
        return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


def _in_order(entry: dict[str, Any]) -> dict[str, Any]:
    measured = ("evidence", "questions", *Figures.__struct_fields__, "won", "lost")
    changes = {name: value for name, value in entry.items() if name not in (*measured, "status")}
    rest = {name: entry[name] for name in measured if name in entry}
    return {**changes, "status": entry.get("status", DRAFT), **rest}
