"""What gold sets call their fields, and what a field's value may be.

One vocabulary for all makers: `ours` turns any record into one with our own field names; what has
no field of ours keeps its key. How records lie in a file: formats/records.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from tiny_graph_rag.formats.records import (
    folded,
    ids_of_cell,
    is_id,
    is_texts,
    list_in,
    parts_of_cell,
    thing_meant,
)
from tiny_graph_rag.formats.words import (
    CONTAINING,
    FIELDS,
    GRADE_NAMES,
    LANGUAGES,
    NAMES_OR_ANSWER,
    ORIGIN_KEYS,
    QUALIFIERS,
    QUERY_KEYS,
    RESPONSE_KEYS,
    TEXT_KEYS,
    TYPE_KEYS,
    WHOLES,
)
from tiny_graph_rag.run import Relation

LISTED = {*NAMES_OR_ANSWER}.union(*FIELDS.values())
TEXTS_JUDGED = ("reference_entities", "reference_texts")
MEANT = {  # what a key speaks of → the field that it gives
    **{"entities": "reference_entities", "relations": "reference_relations", "answer": "ground_truth"},
    **dict.fromkeys(("chunks", "texts", "ids"), "reference_chunks"),
}
OLD_NAMES = {"reference_relations": "reference_relationships"}  # of our own format
_DOCUMENT = re.compile(r"\.[a-zA-Z]{2,5}(?:[#:?].*)?$|^[a-z]+://|/")
_SEVERAL = re.compile(rf"{_DOCUMENT.pattern}|^\w+(?:[-_]\w+)+$")  # one `source` of that form is who made it
LONGEST_TYPE = 60  # characters; what is longer is no category
_SENTENCE = re.compile(r"[.!?。…]['\"”’)]*$|(?:다|요|음|함)$")
_FILE_PATH = re.compile(r"^[^<>\[\]()]*(?:/[^<>\[\]()]*|\.\w{2,5})$")
_FILE = re.compile(r"^\S+(?:\.[a-zA-Z]{2,5}|/\S+)$|^[A-Z]+\d[\d.]*$")  # or a code, T1003.001
_ID = re.compile(r"\S")
QUERY_TEXTS = ("string", *LANGUAGES)
RAGAS = {"user_input", "reference_contexts", "retrieved_contexts", "response"}  # its answer is `reference`
LONGEST_NAME = 60  # characters of one name, where a column holds names or answers


def holds_names(values: Iterable[Any]) -> bool:
    """Whether the values of an ambiguous field are names of entities rather than answers in sentences: lists,
    or texts of which fewer than a third are long, numbers, or end as sentences do."""
    told = [value for value in values if value not in (None, "", [])]
    sentences = 0
    for value in told:
        parts = re.split(r"[;|\n]", value) if isinstance(value, str) else value
        sentences += not is_texts(parts) or any(
            len(text) > LONGEST_NAME or text.isdigit() or (" " in text and _SENTENCE.search(text))
            for text in map(str.strip, parts)
        )
    return 3 * sentences < max(len(told), 1)


def is_ours(row: Mapping[str, Any]) -> bool:
    return "reference_entities" in row or row.get("draft") is True


def is_question(row: Mapping[str, Any]) -> bool:
    """Whether an object asks something, or names one by id with what is relevant to it."""
    plain = {
        folded(name)
        for name, value in row.items()
        if name != "prompts" and not (value and is_texts(value))  # a list of questions is a column of them
    }
    asked = plain & {*QUERY_KEYS}
    is_turn = asked <= {"text"} and bool(plain & {"speaker", "role"})  # of a conversation
    return (bool(asked) and not is_turn) or "reference_entities" in row


def ours(
    row: dict[str, Any], meant: Mapping[str, str], *, table: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """The record under our own names, and keys that no list has → the field that they were taken for.

    meant: as `fields_meant` has it.

    A field that stands under our own name in a record of ours is left as it is, right or wrong: what is wrong
    with it is reported later. table: cells are text, with several values between `;`, `|` or line breaks.
    """
    texts = row.get("ground_truth")
    if not table and "evidence" in row and isinstance(texts, list) and isinstance(row.get("question"), str):
        # fast-graphrag's benchmark, whose `evidence` is what was retrieved
        row = {"id": row["question"], "question": row["question"]} | dict.fromkeys(TEXTS_JUDGED, texts)
    own = is_ours(row) and not table
    keys = {folded(name): name for name in reversed(row)}
    meant = {key: field for key, field in meant.items() if key in keys and not is_ours(row)}
    found: dict[str, Any] = {}
    taken: dict[str, str] = {}
    for field, wanted in _spellings(frozenset(keys), tuple(meant.items()), own=own).items():
        for name in (keys[key] for key in wanted if key in keys and keys[key] not in taken):
            as_it_is = own and folded(name) in (field, OLD_NAMES.get(field))
            value = row[name] if as_it_is else _converted(field, row[name], row, table=table)
            if as_it_is or value is not None:
                found[field], taken[name] = value, field
                break
    turns = found.get("query")
    if isinstance(turns, list) and turns:
        found |= {"query": turns[-1], "context": turns[:-1]}
    guessed = {name: field for name, field in taken.items() if folded(name) in {*meant} - {*NAMES_OR_ANSWER}}
    if table or not is_ours(row):
        metadata = row.get("metadata")
        types = _types({**row, **(metadata if isinstance(metadata, dict) else {}), **row}, taken)
        tags = list(dict.fromkeys([*types, *(found.get("tags") or ())]))
        taken |= {name: "tags" for name in row if f"{folded(name)}:{row[name]}" in types}
        found |= {"tags": tags} if tags else {}
    rest = {name: value for name, value in row.items() if name not in taken and name not in found}
    if "context" in rest and not own:  # theirs is no conversation
        rest["own_context"] = rest.pop("context")
    return {**found, **rest}, guessed


def fields_meant(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Folded key → field, of the keys that no list has: those that speak of a field
    (`expected_source_file`), the document that a question comes from, and keys that hold either names or
    answers, where they hold names. All values of a key decide: passages are texts where some read so, else
    ids."""
    values: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            if value and not isinstance(value, float | bool):
                values.setdefault(folded(key), []).append(value)
    found: dict[str, str] = {}
    for key, told in values.items():
        thing = thing_meant(key, QUALIFIERS)
        if key in (*FIELDS["reference_texts"], "expected", "expect") and _are(_FILE, told):
            found[key] = "reference_chunks"  # names of files, not texts
        if key in NAMES_OR_ANSWER and not RAGAS & values.keys() and holds_names(told):
            found[key] = "reference_entities"
        if thing is None or key in LISTED:
            continue
        field, words = MEANT[thing], {*key.split("_")}
        if {"path", "paths"} & words and not _are(_FILE_PATH, told):
            field = "reference_relations"  # a path through a graph
        is_part = CONTAINING & words and {"chunk", "chunks"} & words  # `expected_chunk_contains`
        may_be_texts = field == "reference_chunks" and not {"title", "titles"} & words
        is_prose = is_part or (may_be_texts and any(map(_is_prose, told)))
        found[key] = "reference_texts" if is_prose else field
    if not {*QUERY_KEYS} & values.keys():
        found |= dict.fromkeys([key for key in values if key.endswith("_question")][:1], "query")
    is_run = {*RESPONSE_KEYS, "contexts"} & values.keys() or {"answer", "sources"} <= values.keys()
    if not is_run:  # whose documents were retrieved
        origins = [key for name in ORIGIN_KEYS for key in (name, f"{name}s") if key in values]
        shown = {key: _SEVERAL if key.endswith("s") else _DOCUMENT for key in origins}
        origins = [key for key in origins if _are(_ID if "_id" in key else shown[key], values[key])]
        found |= dict.fromkeys(origins, "reference_chunks")
    if not {*values} & {*FIELDS["ground_truth"], *ORIGIN_KEYS} and MEANT["entities"] not in found.values():
        found["relevant_chunk_ids"] = "reference_entities"  # of a contest, of whatever was judged
    order = sorted(found, key=lambda key: (_size(key), -len(values.get(key, ()))))
    return {key: found[key] for key in order}


def _are(pattern: re.Pattern[str], values: Iterable[Any]) -> bool:
    """Whether values hold names, and most of them show the pattern."""
    names = [_converted("reference_entities", value, {}, table=False) for value in values]
    shown = [bool(several) and all(map(pattern.search, several)) for several in names]
    return 2 * sum(shown) > len(shown)


def _is_prose(value: Any) -> bool:
    """Whether passages are given by their texts rather than by ids or names of files."""
    listed = ids_of_cell(value) if isinstance(value, str) else value if isinstance(value, list) else [value]
    texts = [_text(one) if isinstance(one, dict) and not _id_in(one) else one for one in listed]
    return any(
        isinstance(text, str) and (text.count(" ") > 8 or len(text) > LONGEST_NAME * 3)
        for text in texts
        if not _DOCUMENT.search(str(text)[-6:])  # the name of a file may have many words
    )


@lru_cache
def _spellings(keys: frozenset[str], pairs: tuple[Any, ...], *, own: bool) -> dict[str, tuple[str, ...]]:
    """Field → the keys under which it may stand in a record, by what else the record holds. pairs: as
    `fields_meant` has them."""
    meant = dict(pairs)
    files = {key for key, field in meant.items() if field == "reference_chunks"}
    spelled = {field: tuple(key for key in wanted if key not in files) for field, wanted in FIELDS.items()}
    if not own:
        spelled["query"] = ("question", *QUERY_KEYS)  # next to one, `query` is in SPARQL or SQL
    for key in (key for key in meant if key not in NAMES_OR_ANSWER):
        spelled[meant[key]] += (key,)
    is_named = any(key in keys for key in spelled["reference_entities"])
    as_names = () if is_named else tuple(key for key in NAMES_OR_ANSWER if key in meant)
    spelled["reference_entities"] += as_names
    answers = (*spelled["ground_truth"], *(key for key in NAMES_OR_ANSWER if key not in as_names))
    spelled["ground_truth"] = tuple(sorted(answers, key=("expected", "target").__contains__))
    answered = any(key in keys for key in (*spelled["ground_truth"], "reference_contexts", "evidence"))
    if not own and not is_named and not as_names and (answered or "query" not in keys):
        spelled["context"] = ("앞_대화",)  # next to an answer, `context` is what it stands in
    if any(key in keys for key in RESPONSE_KEYS) or (
        "answer" in keys and any(key in keys for key in ("ground_truth", "ground_truths", "reference"))
    ):  # a run's own answers and what it retrieved are in the gold file
        retrieved = ("contexts", "context", "citations")
        spelled["reference_texts"] = tuple(k for k in spelled["reference_texts"] if k not in retrieved)
    return spelled


def _types(row: Mapping[str, Any], taken: Collection[str]) -> list[str]:
    """`category: x` → the tag `category:x`."""
    return [
        f"{folded(name)}:{value}"
        for name, value in row.items()
        if name not in taken and folded(name) in TYPE_KEYS
        if isinstance(value, str | int) and not isinstance(value, bool)
        if 0 < len(str(value).strip()) <= LONGEST_TYPE
    ]


# --- values: what a field of ours takes of a value of any shape, None where it can take nothing


def _converted(field: str, value: Any, row: Mapping[str, Any], *, table: bool) -> Any:
    """row: the record that holds it. table: as `ours` has it."""
    if field in SIGNS:
        signs = SIGNS[field]
        return parts_of_cell(value.strip(), signs) if isinstance(value, str) else _several(value)
    if field == "ground_truth":
        if isinstance(value, list) and value and all(isinstance(one, int) for one in value):
            return None  # places in a context, such as its lines
        if isinstance(value, list):  # of which some are groups of one answer's words
            value = [part for one in value for part in (one if is_texts(one) else [one])]
        return _several(value, bars=table)
    if field == "reference_texts":
        return _texts(value, row)
    return _CONVERTED[field](value)


def _query(value: Any) -> Any:
    """A question, or the turns of a conversation, of which the last asks; an object has it as `string` or by
    language, in the language that comes first in LANGUAGES."""
    if isinstance(value, list) and all(isinstance(one, dict) and "language" in one for one in value):
        value = {one["language"]: one.get("string") for one in value}  # QALD
    if isinstance(value, dict):
        return next((text for key in QUERY_TEXTS if isinstance(text := value.get(key), str) and text), None)
    if isinstance(value, list) and value:
        turns = [turn.get("content") if isinstance(turn, dict) else turn for turn in value]
        return turns if all(isinstance(turn, str) for turn in turns) else None
    return value if isinstance(value, str) else None


def _several(value: Any, *, bars: bool = False) -> list[str] | None:
    """Names or texts of any shape: one, a list, objects with a name, or {id: name}. bars: whether `|` parts
    those of one text; a text of several lines stays one."""
    if isinstance(value, str):
        text = value.strip()
        if bars and "|" in text and not {"\n", "["} & {*text}:
            return parts_of_cell(text, "|")
        value = list_in(text) or ([text] if text and list_in(text) is None else [])
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return [str(value)]
    listed = [one for one in value.values() if one is not None] if isinstance(value, dict) else value
    made = [_text(part) for one in listed for part in _solutions(one)]
    return None if None in made else [text for text in made if text]


def _solutions(value: Any) -> list[Any]:
    """The values that an answer in SPARQL's JSON binds; any other value alone."""
    results = value.get("results") if isinstance(value, dict) else None
    bindings = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(bindings, list):
        return [value]
    return [cell.get("value") for row in bindings for cell in row.values()]


def _text(value: Any) -> str | None:
    if isinstance(value, dict):
        value = next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else None


def _texts(value: Any, row: Mapping[str, Any]) -> list[str] | None:
    """Passages; of many with marks those marked as supporting (HotpotQA, MuSiQue, HippoRAG)."""
    value = _as_rows(value)
    if isinstance(value, dict):
        value = value.get("contexts")  # PubMedQA
    if not isinstance(value, list) or not value or isinstance(value[0], str):
        return _several(value)
    facts = _as_rows(row.get("supporting_facts"))
    if all(isinstance(one, list) and len(one) == 2 and isinstance(one[1], list) for one in value):
        titles = (
            [one[0] for one in facts if isinstance(one, list) and one] if isinstance(facts, list) else None
        )
        passages = [sentences for title, sentences in value if titles is None or title in titles]
        return [" ".join(map(str, sentences)).strip() for sentences in passages]
    if not all(isinstance(one, dict) for one in value):
        return None
    marked = [one for one in value if one.get("is_supporting") is True]
    return _several(marked or value)


def _as_rows(value: Any) -> Any:
    """Lists of equal length in an object, such as Parquet's {"title", "sentences"}, as a list of rows."""
    columns = list(value.values()) if isinstance(value, dict) else []
    is_columns = all(isinstance(column, list) for column in columns)
    if is_columns and len({len(column) for column in columns}) == 1:
        return [list(row) for row in zip(*columns, strict=True)]
    return value


def _chunks(value: Any) -> list[str] | None:
    """Ids of passages: one, several, in groups, {id: grade}, or [title, sentence] pairs."""
    value = _as_rows(value)
    if isinstance(value, list) and value and all(one and is_texts(one) for one in value):
        value = [id for group in value for id in group]  # AutoRAG
    if isinstance(value, dict):
        return [str(id) for id, grade in value.items() if grade != 0]
    if isinstance(value, list):
        kept = [one for one in value if not isinstance(one, dict) or 0 not in map(one.get, GRADE_NAMES)]
        ids = [_id_in(one) if isinstance(one, dict) else one for one in kept]
        firsts = [one[0] if isinstance(one, list) and one else one for one in ids]
        if any(one is None or isinstance(one, dict | list) for one in firsts):
            return None
        return list(dict.fromkeys(map(str, firsts))) or None
    return ids_of_cell(value) if isinstance(value, str) else _several(value) or None


def _id_in(item: Mapping[str, Any]) -> Any:
    """The id that a passage or a judgment names, else the names of its parts (law and article) together; None
    where it names none."""
    ids = {folded(key): id for key, id in item.items() if f"_{folded(key)}".endswith("_id") and is_id(id)}
    parts = [str(part).strip() for part in item.values() if is_id(part)]
    is_named = all(len(part) <= LONGEST_NAME or _FILE.match(part) for part in parts)
    says_more = any(key in (*TEXT_KEYS, *GRADE_NAMES) or key.endswith("_text") for key in map(folded, item))
    has_parts = len(parts) == len(item) > 0 and is_named and not says_more
    return next((ids[key] for key in sorted(ids, key=_size)), " ".join(parts) if has_parts else None)


def _size(key: str) -> int:
    """Of what an id is: an id of a whole document counts after one of its part, one of a chunk before all."""
    words = {*key.split("_")}
    return 0 if {"chunk", "chunks"} & words else 1 + bool(WHOLES & words)


def relation(item: Any) -> Relation | None:
    """Of [source, type, target], an object with two ends, or an id; None for anything else."""
    from tiny_graph_rag.formats.runs.items import relation_of  # most gold sets have none

    try:
        return relation_of(item)
    except ValueError:
        return Relation("", "", "", item) if isinstance(item, str) and item else None


def _relations(value: Any) -> list[Any] | None:
    """Triples as they are: [source, type, target], an object, or an id."""
    is_sound = isinstance(value, list) and bool(value) and not is_texts(value) and all(map(relation, value))
    return value if is_sound else None


# Fields of several names → the signs between them in one cell.
SIGNS = {
    **dict.fromkeys(("reference_entities", "highly_relevant_entities", "irrelevant_entities"), ";|\n"),
    **{"seed_entities": ";|\n", "expected_types": ";|\n", "tags": ",;|\n", "context": "\n"},
}
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "group"), lambda value: value if is_id(value) else None),
    "query": _query,
    "reference_chunks": _chunks,
    "reference_relations": _relations,
}
