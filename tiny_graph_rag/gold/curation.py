"""Judging a draft: every decision is an event in a journal, and what has been decided is what they add up to.

The journal (`NAME.journal.jsonl` next to the draft) is only ever appended to, and a decision is on disk
before anybody gets that it was taken. So a killed server loses nothing, two windows can't overwrite each
other, and what was decided, by whom and when, can be looked up for ever. An event:

    {"n": 17, "at": "2026-11-21T10:00:00Z", "by": "anna", "question": "q1", "what": "judge",
     "entity": "e7", "grade": 2, "key": "…"}

what: judge (grade 0, 1, 2, or null for none), query, tags, note (the question's, the last one counts), done
(that the annotator has finished; `no_answer` where the graph holds none), undo (`of`: the event's number),
export (`sha256` of the gold set that was written; no window sends it).
key: of the window's making, so that a decision that is sent twice counts once.
asked: of the question's words when it was decided, so that no decision ever counts for another question.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeGuard

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.files import lines_of, read_bytes
from tiny_graph_rag.gold.agreement import GRADES, AnnotatorAgreement, agreement
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.journals import JournalFile

EXPORTER = "curate"  # under whose name exports stand in the journal
AGREED = "agreed"  # the annotator whose word settles what others see differently
ENDING = ".journal.jsonl"
LONGEST_TEXT = 10_000  # characters of a question, note or tag list
LONGEST_NAME = 100  # characters of an annotator's name or a key
SHARED = ("query", "tags", "note")

Event = dict[str, Any]


class Refused(Exception):  # noqa: N818 - an answer to a window, not a failure
    """An event that can't be taken. changed: somebody else changed the same meanwhile."""

    def __init__(self, message: str, *, changed: bool = False) -> None:
        super().__init__(message)
        self.changed = changed


class DraftJournal:
    """The file, open for appending by this process alone. Raises as `JournalFile`, and DatasetError for a
    line that is no event."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JournalFile(path, "another `curate` has this journal; use its address, or stop it first")
        try:
            self.events = read_journal(path)
            self._torn = not self._file.ends_whole
        except BaseException:
            self._file.close()
            raise

    def append(self, event: Event) -> Event:
        """Number the event and put it on disk. Raises OSError where that fails: it then was not taken, and is
        taken out of the file, where its line would be counted before the next one."""
        numbered = {"n": len(self.events) + 1, **event}
        line = (json.dumps(numbered, ensure_ascii=False) + "\n").encode()
        before, size = b"\n" if self._torn else b"", self._file.size  # what a crash left stays a line
        try:
            self._file.append(before + line)
            self._file.sync()
        except OSError:
            self._file.cut(size)
            raise
        self._torn = False
        self.events.append(numbered)
        return numbered

    def close(self) -> None:
        self._file.close()


def read_journal(path: Path) -> list[Event]:
    """All events. A line that a crash cut off was never acknowledged and is passed over.

    Raises DatasetError for any other line that is no event.
    """
    if not path.exists():
        return []
    lines = lines_of(read_bytes(path).decode("utf-8", "replace"))  # a cut may go through a character
    events: list[Event] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = parse_json(line, twice=[])
        except NotJsonError:
            if _is_half(line):
                continue
            event = None
        try:
            known = checked(event)
        except Refused as error:
            raise DatasetError(
                "{path}:{number}: not a valid line of a journal ({error}); repair or remove this line",
                path=path,
                number=number,
                error=error,
            ) from error
        events.append({"n": len(events) + 1, "at": event.get("at", ""), **known})
    return events


def checked(event: Any) -> Event:
    """The event's known fields, each of its kind. What a window sends is taken by it and a line of the
    journal is read by it, so that nothing is acknowledged that can't be read again.

    Raises Refused with what was wanted. Whether question, entity and undone event exist is not asked here.
    """
    if not isinstance(event, dict):
        raise Refused("wanted an event")
    what, question, by = event.get("what"), event.get("question"), event.get("by")
    if not _is_text(by) or not by.strip() or len(by) > LONGEST_NAME:
        raise Refused("wanted the annotator's name under 'by'")
    if not _is_text(question):
        raise Refused(f"no question {question!r}")
    known: Event = {"by": by.strip(), "question": question, "what": what}
    if event.get("key") is not None:
        if not _is_text(event["key"]):
            raise Refused("'key' must be a text")
        known["key"] = event["key"][:LONGEST_NAME]
    if _is_text(event.get("asked")):
        known["asked"] = event["asked"][:LONGEST_NAME]
    match what:
        case "judge":
            grade, entity = event.get("grade", ""), event.get("entity")
            if grade is not None and (type(grade) is not int or grade not in GRADES):
                raise Refused(f"a grade is 0, 1, 2 or null, got {grade!r}")
            if not _is_text(entity):
                raise Refused(f"the graph has no entity {entity!r}")
            known |= {"entity": entity, "grade": grade}
        case "query" | "note":
            text = event.get(what)
            if not _is_text(text) or len(text) > LONGEST_TEXT or (what == "query" and not text.strip()):
                raise Refused(f"the {what} must be a text, and a question not an empty one")
            known[what] = text.strip()
        case "tags":
            tags = event.get("tags")
            if not isinstance(tags, list) or not all(_is_text(tag) and tag.strip() for tag in tags):
                raise Refused("tags must be a list of words")
            known["tags"] = list(dict.fromkeys(tag.strip()[:200].rstrip() for tag in tags))[:100]
        case "done":
            done, no_answer = event.get("done"), event.get("no_answer")
            if type(done) is not bool or type(no_answer) is not bool:
                raise Refused("'done' and 'no_answer' must be true or false")
            known |= {"done": done, "no_answer": no_answer}
        case "undo":
            if type(event.get("of")) is not int:
                raise Refused("only a decision of one's own that stands can be undone")
            known["of"] = event["of"]
        case "export":
            if not _is_text(event.get("sha256")):
                raise Refused("'sha256' must be a text")
            known["sha256"] = event["sha256"]
        case _:
            raise Refused(f"no such event: {what!r}")
    return known


def _is_text(value: object) -> TypeGuard[str]:
    """Whether it is a text that a file can hold: one without halves of characters."""
    return isinstance(value, str) and (value.isascii() or value.encode("utf-8", "replace").decode() == value)


def _is_half(line: str) -> bool:
    """What a cut-off write leaves, before the next one began on a line of its own."""
    return line[:6] == '{"n": '[: len(line)] and not line.endswith("}")


@dataclass(eq=False)
class Curation:
    """examples: the draft's questions. name_of: entity id → name, None where the graph has none such.
    exported: SHA-256 of gold sets written from here. reworded: ids under which the journal judges other words
    than the draft now has; those decisions don't count."""

    examples: dict[str, Example]
    journal: DraftJournal
    name_of: Callable[[str], str | None]
    _by_question: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    _keys: dict[str, Event] = field(default_factory=dict)
    _undone: set[int] = field(default_factory=set)
    exported: set[str] = field(default_factory=set)
    reworded: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for event in self.journal.events:
            self._take(event)

    def note_export(self, sha256: str) -> None:
        """Remember a gold set as written from here: it may be replaced by the next. Raises OSError."""
        if sha256 not in self.exported:
            event = {"at": _now(), "by": EXPORTER, "question": "", "what": "export", "sha256": sha256}
            self._take(self.journal.append(event))

    def _take(self, event: Event) -> None:
        if event["what"] == "export":
            self.exported.add(event["sha256"])
            return
        example = self.examples.get(event["question"])
        if example is not None and event.get("asked", "") not in ("", digest(example.query)):
            self.reworded[event["question"]] = None
            return
        self._by_question[event["question"]].append(event)
        if event.get("key"):
            self._keys[event["key"]] = event
        if event["what"] == "undo":
            self._undone.add(event["of"])

    @property
    def lost(self) -> list[str]:
        """Questions that the journal speaks of and the draft no longer has; their decisions stay there."""
        return [id for id in self._by_question if id not in self.examples]

    def decide(self, event: Event, seen: int) -> Event:
        """Take an event of a window that knows the journal up to event `seen`. Raises Refused."""
        sound = self._sound(event)
        known = self._keys.get(sound.get("key", ""))
        if known is not None:
            return known
        if sound["what"] in SHARED:
            later = [decision for decision in self._live(sound["question"]) if decision["n"] > seen]
            if any(
                decision["what"] == sound["what"] and decision[sound["what"]] != sound[sound["what"]]
                for decision in later
            ):
                raise Refused(f"somebody else has changed the {sound['what']}", changed=True)
        taken = self.journal.append(sound)
        self._take(taken)
        return taken

    def _sound(self, event: Event) -> Event:
        """The event, checked against this draft and graph, with its time. Raises Refused."""
        usual = {"done": True, "no_answer": False} if event.get("what") == "done" else {}
        known = checked(usual | event)
        question = known["question"]
        if known["what"] == "export":
            raise Refused("no such event: 'export'")
        if question not in self.examples:
            raise Refused(f"no question {question!r}")
        if known["what"] == "judge" and self.name_of(known["entity"]) is None:
            raise Refused(f"the graph has no entity {known['entity']!r}")
        if known["what"] == "undo" and known.get("key") not in self._keys:
            mine = [one["n"] for one in self._live(question) if one["by"] == known["by"]]
            if known["of"] not in mine:
                raise Refused("only a decision of one's own that stands can be undone")
        return {"at": _now(), **known, "asked": digest(self.examples[question].query)}

    def _live(self, question: str) -> list[Event]:
        return [
            decision
            for decision in self._by_question.get(question, ())
            if decision["n"] not in self._undone and decision["what"] != "undo"
        ]

    def view(self, question: str) -> dict[str, Any]:
        """What has been decided of a question: query, tags, note, grades by annotator, who is done."""
        example = self.examples[question]
        grades: dict[str, dict[str, int]] = {}
        found: dict[str, Any] = {
            "query": example.query,
            "tags": list(example.tags),
            "note": str(example.unknown.get("note") or ""),
        }
        done: dict[str, bool] = {}
        last = 0
        for event in self._live(question):
            last = event["n"]
            if event["what"] == "judge":
                row = grades.setdefault(event["by"], {})
                row.pop(event["entity"], None)
                if event["grade"] is not None:
                    row[event["entity"]] = event["grade"]
            elif event["what"] == "done":
                done.pop(event["by"], None)
                if event["done"]:
                    done[event["by"]] = event["no_answer"]
            else:
                found[event["what"]] = event[event["what"]]
        return {**found, "grades": {by: row for by, row in grades.items() if row}, "done": done, "last": last}

    def last_of(self, question: str, by: str) -> int | None:
        """The number of the annotator's last decision on the question that stands."""
        return max((decision["n"] for decision in self._live(question) if decision["by"] == by), default=None)

    @property
    def annotators(self) -> list[str]:
        names = dict.fromkeys(event["by"] for event in self.journal.events if event["what"] != "export")
        return [name for name in names if name != AGREED]

    def settled(self, question: str) -> tuple[dict[str, int], list[str]]:
        """Entity id → grade, and the entities on which annotators differ and nobody settled it: these have
        the lowest of their grades."""
        grades = self.view(question)["grades"]
        agreed = grades.pop(AGREED, {})
        entities = dict.fromkeys(entity for row in grades.values() for entity in row)
        found, open_ = {}, []
        for entity in [*entities, *(entity for entity in agreed if entity not in entities)]:
            given = [row[entity] for row in grades.values() if entity in row]
            if entity in agreed:
                found[entity] = agreed[entity]
                continue
            found[entity] = min(given)
            if len(set(given)) > 1:
                open_.append(entity)
        return found, open_

    def gold(self) -> tuple[list[Example], int, int]:
        """The gold set so far, how many questions are still open, and how many judgments nobody settled.

        A question is in it once an annotator is done with it, or where it came with judgments.
        """
        made, left, differing = [], 0, 0
        for id, example in self.examples.items():
            view = self.view(id)
            given = example.reference_entities or example.highly_relevant_entities
            if not view["done"] and not given:
                left += 1
                continue
            grades, open_ = self.settled(id)
            differing += len(open_)
            made.append(self._judged(example, view, grades))
        return made, left, differing

    def _judged(self, example: Example, view: dict[str, Any], grades: dict[str, int]) -> Example:
        """The question with its judgments; what it came with stays where nobody judged it again."""
        of_name = example.grades
        for entity, grade in grades.items():
            of_name[self.name_of(entity) or entity] = grade
        own = {name: value for name, value in example.unknown.items() if name != "note"}
        annotated = {
            by: {self.name_of(entity) or entity: grade for entity, grade in row.items()}
            for by, row in view["grades"].items()
        }
        if annotated:
            own["annotations"] = annotated
        if view["note"]:
            own["note"] = view["note"]
        no_answer = not any(grade > 0 for grade in of_name.values())
        tags = [tag for tag in view["tags"] if tag != "no-answer"] + ["no-answer"] * no_answer
        judged = example.with_grades(of_name)
        return replace(judged, query=view["query"], tags=tuple(tags), unknown=own)

    def agreements(self) -> tuple[dict[str, AnnotatorAgreement], list[dict[str, Any]]]:
        """Of the two annotators that judged most in common: agreement by tag ("all" first), and every entity
        on which any two differ."""
        views = {id: self.view(id) for id in self.examples}
        pair = self._pair(views.values())
        by_tag: dict[str, tuple[list[int], list[int]]] = {"all": ([], [])}
        differing = []
        for id, view in views.items():
            rows = {by: row for by, row in view["grades"].items() if by != AGREED}
            mine, yours = (rows.get(by, {}) for by in pair or ("", ""))
            both = [entity for entity in mine if entity in yours]
            for tag in dict.fromkeys(["all", *view["tags"]]):
                ones, others = by_tag.setdefault(tag, ([], []))
                ones += [mine[entity] for entity in both]
                others += [yours[entity] for entity in both]
            for entity in dict.fromkeys(entity for row in rows.values() for entity in row):
                given = {by: row[entity] for by, row in rows.items() if entity in row}
                if len(set(given.values())) > 1:
                    agreed = view["grades"].get(AGREED, {}).get(entity)
                    differing.append(
                        {
                            "question": id,
                            "query": view["query"],
                            "entity": entity,
                            "name": self.name_of(entity) or entity,
                            "grades": given,
                            "agreed": agreed,
                        }
                    )
        found = {tag: agreement(*columns) for tag, columns in by_tag.items()}
        return {tag: part for tag, part in found.items() if part.judged}, differing

    def _pair(self, views: Iterable[dict[str, Any]]) -> tuple[str, str] | None:
        common: dict[tuple[str, str], int] = defaultdict(int)
        for view in views:
            rows = {by: row for by, row in view["grades"].items() if by != AGREED}
            for one, other in combinations(sorted(rows), 2):
                common[one, other] += len(rows[one].keys() & rows[other].keys())
        return max(common, key=lambda pair: (common[pair], pair), default=None)


def judged_otherwise(journal: Path, now: Mapping[str, str]) -> list[str]:
    """Ids that a journal judges and that stand for other words now. now: id → the draft's question.

    Raises DatasetError as `read_journal`.
    """
    asked = {id: ("", digest(query)) for id, query in now.items()}
    decided = [event for event in read_journal(journal) if event["question"] in asked]
    moved = [event["question"] for event in decided if event.get("asked", "") not in asked[event["question"]]]
    return list(dict.fromkeys(moved))


def digest(query: str) -> str:
    """What a decision remembers of a question's words."""
    return hashlib.sha256(query.encode("utf-8", "replace")).hexdigest()[:16]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def journal_path(draft: Path) -> Path:
    name = draft.name.removesuffix(".gz")
    return draft.with_name(name.rsplit(".", 1)[0] + ENDING)
