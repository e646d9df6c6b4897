"""What `fix` found in words: four blocks, the same in the terminal, in Markdown and on the page.

Everything takes the content that `fixes_json` makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from tiny_graph_rag.messages import counted, signed, t, three

Json = Mapping[str, Any]

PROVEN = "Proven: settings, p corrected for all tried; words, measured on other questions"
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


class Row(Struct, frozen=True):
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


def blocks_of(content: Json, *, whole: bool = True) -> Iterator[tuple[str, list[Row]]]:
    """The four blocks: their heads and rows; each proposal behind its batch only where `whole`."""
    patch = content["patch"]
    yield PROVEN, [*_settings(patch), *_vocabulary(patch)]
    yield TO_JUDGE, list(_judged(patch, whole=whole))
    yield TO_ASK, list(_asked(patch))
    yield NOT_KEPT, list(_not_kept(patch))


def _measured(
    kind: str, what: str, entry: Json, note: str = "", ids: Iterable[str] = (), samples: Iterable[str] = ()
) -> Row:
    """A row with the gain of an entry, `+0.041 [0.010, 0.083], n 52`, and that of entries drawn at random,
    each "" where it was not measured. ids: some may come twice."""
    gain = control = ""
    if entry.get("gain") is not None:
        gain = f"{signed(entry['gain'])} [{three(entry['low'])}, {three(entry['high'])}], n {entry['n']:,}"
    if entry.get("control") is not None:
        control = t("at random {gain}", gain=signed(entry["control"]))
    return Row(kind, what, gain, control, note, tuple(dict.fromkeys(ids)), tuple(samples))


def _settings(patch: Json) -> Iterator[Row]:
    from tiny_graph_rag.study.settings import label_of  # most commands show no fixes

    for entry in patch.get("settings", ()):
        what = label_of(dict(entry["values"]))
        yield _measured("settings", what, entry, _moved_words(entry), _moved_ids(entry))


def _vocabulary(patch: Json) -> Iterator[Row]:
    """One row for all words: they were measured together."""
    words = patch.get("vocabulary", ())
    if words:
        listed = "; ".join(f"{one['type']}: {', '.join(one['words'])}" for one in words[:LONGEST_LIST])
        n = sum(len(one["words"]) for one in words)
        what = counted(n, "{n} word for relation types", "{n} words for relation types")
        more = "; …" if len(words) > LONGEST_LIST else ""
        ids = (id for one in words for id in _moved_ids(one))
        yield _measured("vocabulary", what, words[0], f"{listed}{more}", ids)


def _judged(patch: Json, *, whole: bool) -> Iterator[Row]:
    """A row for each kind that a person judges, with what all its entries do together, and for all kinds;
    behind it its entries."""
    for batch in patch.get("batches", ()):
        kind, changed = batch["kind"], counted(batch.get("questions", 0), "{n} question", "{n} questions")
        entries = patch.get(kind, ())  # none of the kind `all`
        what = t(
            "{kind}: {n} proposed, {changed} would change",
            kind=t(KIND_WORDS[kind]),
            n=f"{batch['entries']:,}",
            changed=changed,
        )
        named = [_entry_words(kind, entry) for entry in entries]
        yield _measured(kind, what, batch, " · ".join(_effects(batch)), samples=named[:SAMPLES])
        for entry, words in zip(entries, named, strict=True) if whole else ():
            moved = _moved_words(entry) if _moved_ids(entry) else ""
            ids = tuple(dict.fromkeys((*_moved_ids(entry), *entry.get("questions", ()))))
            yield Row(kind, f"– {words}", moved, "", "; ".join(entry.get("evidence", ())), ids)


def _effects(batch: Json) -> Iterator[str]:
    """How many questions a batch moves up and down, and where its kinds don't add up."""
    if batch.get("won") or batch.get("lost"):
        yield t("{won} better, {lost} worse", won=batch.get("won", 0), lost=batch.get("lost", 0))
    if batch.get("parts") is not None and abs(batch["parts"] - batch["gain"]) >= UNEVEN:
        yield t("the kinds don't add up: their gains sum to {gain}", gain=signed(batch["parts"]))


def _entry_words(kind: str, entry: Json) -> str:
    """One proposal in a few words."""
    if kind == "merges":
        names = entry.get("names") or (entry["keep_id"], *entry["drop_ids"])
        return " = ".join(names)
    return f"{entry['alias']} → {entry.get('name') or entry['entity_id']}"


def _moved_ids(entry: Json) -> list[str]:
    """Of the questions that an entry moves, those that get better first."""
    return [*entry.get("won", ()), *entry.get("lost", ())]


def _moved_words(entry: Json) -> str:
    won, lost = len(entry.get("won", ())), len(entry.get("lost", ()))
    return t("{won} better, {lost} worse", won=won, lost=lost)


def _asked(patch: Json) -> Iterator[Row]:
    for entry in patch.get("ask", ()):
        lifts = entry.get("lifts", 0)
        note = counted(lifts, "an answer may improve {n} question", "an answer may improve {n} questions")
        yield Row("ask", entry["question"], note=note if lifts else "", ids=tuple(entry.get("questions", ())))


def _not_kept(patch: Json) -> Iterator[Row]:
    for entry in patch.get("not_kept", ()):
        kind, in_sample = t(KIND_WORDS.get(entry["kind"], entry["kind"])), entry.get("in_sample")
        chosen = "" if in_sample is None else t("{gain} where it was chosen", gain=signed(in_sample))
        note = "; ".join(part for part in (entry["why"], chosen) if part)
        yield _measured(entry["kind"], f"{kind}: {entry['what']}", entry, note)
