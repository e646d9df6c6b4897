"""What `fix` found in words: four blocks, the same in the terminal, in Markdown and on the page.

Everything takes the content that `fixes_json` makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tiny_graph_rag.messages import counted, signed, t, three

Json = Mapping[str, Any]

PROVEN = "Proven: holds on questions that did not choose it"
TO_JUDGE = "For you to judge: the score shows what it costs, not whether it is right"
TO_ASK = "Ask: only somebody who knows the texts can answer"
NOT_KEPT = "Not kept"
KIND_WORDS = {
    "settings": "settings",
    "vocabulary": "words for relation types",
    "aliases": "aliases",
    "merges": "merges",
    "renames": "names of the older graph",
    "ask": "questions for you",
    "all": "all changes together",
}
SAMPLES = 5  # entries of a kind that are shown, so that it can be confirmed as a whole
UNEVEN = 0.005  # between the gain of all and the sum of the kinds' from which on it is reported
LONGEST_LIST = 6  # entries named in a line


@dataclass(frozen=True, slots=True)
class Row:
    """One change, or one kind of them. kind: whose questions it moves (`changes` of the content); ids: of the
    questions that it moves itself. gain, control: in words. samples: of the entries that it stands for."""

    kind: str
    what: str
    gain: str = ""
    control: str = ""
    note: str = ""
    ids: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


def summary_line(content: Json) -> str:
    today = content["today"]
    return t(
        "{measure} {today} now, over {questions} in {groups}; measured with {evaluations}",
        measure=content["measure"],
        today=three(today),
        questions=counted(content["questions"], "{n} question", "{n} questions"),
        groups=counted(content["groups"], "{n} group", "{n} groups"),
        evaluations=counted(round(content["evaluations"]), "{n} evaluation", "{n} evaluations"),
    )


def proven(content: Json) -> Iterator[Row]:
    from tiny_graph_rag.study.settings import label_of  # most commands show no fixes

    patch = content["patch"]
    for entry in patch.get("settings", ()):
        what, ids = label_of(dict(entry["values"])), tuple(moved_ids(entry))
        yield Row("settings", what, gain(entry), control(entry), moved_words(entry), ids)
    words = patch.get("vocabulary", ())
    if words:
        listed = "; ".join(f"{one['type']}: {', '.join(one['words'])}" for one in words[:LONGEST_LIST])
        n = sum(len(one["words"]) for one in words)
        what = counted(n, "{n} word for relation types", "{n} words for relation types")
        more = "; …" if len(words) > LONGEST_LIST else ""
        ids = tuple(dict.fromkeys(id for one in words for id in moved_ids(one)))
        yield Row("vocabulary", what, gain(words[0]), control(words[0]), f"{listed}{more}", ids)


def batches(content: Json) -> Iterator[Row]:
    """A line for each kind that a person judges, with what all its entries do together, and for all kinds."""
    for batch in content["patch"].get("batches", ()):
        named = [entry_words(kind, entry) for kind, entry in judged_entries(content) if kind == batch["kind"]]
        yield Row(
            batch["kind"],
            t(
                "{kind}: {n} proposed, {changed} would change",
                kind=t(KIND_WORDS[batch["kind"]]),
                n=f"{batch['entries']:,}",
                changed=counted(batch.get("questions", 0), "{n} question", "{n} questions"),
            ),
            gain(batch),
            control(batch),
            " · ".join(effects(batch)),
            samples=tuple(named[:SAMPLES]),
        )


def moved_ids(entry: Json) -> list[str]:
    """Of the questions that an entry moves, those that get better first."""
    return [*entry.get("won", ()), *entry.get("lost", ())]


def moved_words(entry: Json) -> str:
    won, lost = len(entry.get("won", ())), len(entry.get("lost", ()))
    return t("{won} better, {lost} worse", won=won, lost=lost)


def effects(batch: Json) -> Iterator[str]:
    """How many questions a batch moves up and down, and where its kinds don't add up."""
    if batch.get("won") or batch.get("lost"):
        yield t("{won} better, {lost} worse", won=batch.get("won", 0), lost=batch.get("lost", 0))
    if batch.get("parts") is not None and abs(batch["parts"] - batch["gain"]) >= UNEVEN:
        yield t("the kinds don't add up: their gains sum to {gain}", gain=signed(batch["parts"]))


def judged_entries(content: Json) -> Iterator[tuple[str, Json]]:
    """(kind, entry) of everything that a person decides."""
    for kind in ("aliases", "merges", "renames"):
        yield from ((kind, entry) for entry in content["patch"].get(kind, ()))


def entry_words(kind: str, entry: Json) -> str:
    """One proposal in a few words."""
    if kind == "merges":
        names = entry.get("names") or (entry["keep_id"], *entry["drop_ids"])
        return " = ".join(names)
    return f"{entry['alias']} → {entry.get('name') or entry['entity_id']}"


def judged(content: Json) -> Iterator[Row]:
    """Each batch, and each of its entries behind it."""
    for row in batches(content):
        yield row
        for kind, entry in judged_entries(content):
            if kind == row.kind:
                moved = moved_words(entry) if moved_ids(entry) else ""
                ids = tuple(dict.fromkeys((*moved_ids(entry), *entry.get("questions", ()))))
                note = "; ".join(entry.get("evidence", ()))
                yield Row(kind, f"– {entry_words(kind, entry)}", moved, "", note, ids)


def blocks_of(content: Json, *, whole: bool = True) -> Iterator[tuple[str, list[Row]]]:
    """The four blocks: their heads and rows; each proposal behind its batch only where `whole`."""
    yield PROVEN, list(proven(content))
    yield TO_JUDGE, list(judged(content) if whole else batches(content))
    yield TO_ASK, list(asked(content))
    yield NOT_KEPT, list(not_kept(content))


def asked(content: Json) -> Iterator[Row]:
    for entry in content["patch"].get("ask", ()):
        lifts = entry.get("lifts", 0)
        note = counted(lifts, "if so, {n} question would improve", "if so, {n} questions would improve")
        yield Row("ask", entry["question"], note=note if lifts else "", ids=tuple(entry.get("questions", ())))


def not_kept(content: Json) -> Iterator[Row]:
    for entry in content["patch"].get("not_kept", ()):
        kind = t(KIND_WORDS.get(entry["kind"], entry["kind"]))
        in_sample = entry.get("in_sample")
        chosen = "" if in_sample is None else t("{gain} where it was chosen", gain=signed(in_sample))
        yield Row(
            entry["kind"],
            f"{kind}: {entry['what']}",
            gain(entry),
            control(entry),
            "; ".join(part for part in (entry["why"], chosen) if part),
        )


def gain(entry: Json) -> str:
    """`+0.041 [0.010, 0.083], n 52`; "" where it was not measured."""
    if entry.get("gain") is None:
        return ""
    return f"{signed(entry['gain'])} [{three(entry['low'])}, {three(entry['high'])}], n {entry['n']:,}"


def control(entry: Json) -> str:
    if entry.get("control") is None:
        return ""
    return t("at random {gain}", gain=signed(entry["control"]))
