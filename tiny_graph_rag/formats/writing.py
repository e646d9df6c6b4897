"""Writing graphs, gold sets and runs for other programs: by name, else by the file's suffix.

What a form of graphs holds is read back by the readers: names, types, descriptions, aliases, source chunks,
weights and details survive in all but triples, which hold names, types, descriptions and weights. Of gold
sets `jsonl`, `json` and `sheet` hold everything, `trec` judgments alone. What a form can't hold is reported,
so that nobody loses a tag unheard. Every other program ranks a run as we do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape  # that of xml.sax brings along all that opens URLs
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError, unknown
from tiny_graph_rag.files import BYTE_ORDER_MARK
from tiny_graph_rag.formats.gold import detected
from tiny_graph_rag.formats.gold.records import SIGNS
from tiny_graph_rag.formats.graphs.table import SEPARATOR
from tiny_graph_rag.formats.tables import encoded, guarded, table_text
from tiny_graph_rag.formats.words import FIELDS
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said, t
from tiny_graph_rag.run import Passage, Relation, Run


class Form(Struct, frozen=True):
    """write: gives the file's content in pieces. suffixes: that choose the form; the first is that of a
    derived name. losses: what a graph has that the form can't hold, in words."""

    write: Callable[..., Iterable[Any]]
    suffixes: tuple[str, ...] = ()
    losses: Callable[[Any], list[str]] = lambda graph: []


def form_of(forms: Mapping[str, Form], path: Path, given: str | None = None) -> str:
    """The name of the form to write: `given` by --format, else by the end of the file's name.

    Raises UsageError.
    """
    if given is not None and given not in forms:
        raise unknown(said("form of {option}", option="--format"), given, list(forms))
    ending = path.suffix.lower()
    chosen = given or next((name for name, form in forms.items() if ending in form.suffixes), None)
    if chosen is None:
        raise UsageError(
            "{path}: the file's name doesn't say the format; end it in one of: {suffixes}",
            path=path,
            suffixes=", ".join(dict.fromkeys(suffix for form in forms.values() for suffix in form.suffixes)),
        )
    return chosen


# --- graphs

ROWS_AT_ONCE = 1 << 14
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Fields = dict[str, Any]


def graph_parts(graph: KnowledgeGraph, target: Path, form: str) -> Iterator[bytes]:
    """The graph in a form of GRAPH_FORMS, whose `losses` say what the form can't hold."""
    return in_pieces(GRAPH_FORMS[form].write(graph, target))


def in_pieces(texts: Iterable[str | bytes]) -> Iterator[bytes]:
    """Bytes in larger pieces of many short texts; bytes as they are."""
    texts = iter(texts)
    while several := list(islice(texts, ROWS_AT_ONCE)):
        yield b"".join(
            text if isinstance(text, bytes) else text.encode("utf-8", "replace") for text in several
        )


def entities(graph: KnowledgeGraph) -> Iterator[tuple[str, Fields]]:
    """Ids and records with the fields of KG JSON, empty ones left out."""
    columns = graph.entities
    for row, (id, name, type, description, details) in enumerate(
        zip(columns.ids, columns.names, columns.types, columns.descriptions, columns.details, strict=True)
    ):
        lists = {"aliases": columns.aliases[row], "source_chunks": columns.source_chunks[row]}
        yield id, _whole({"name": name, "entity_type": type}, {"description": description, **lists}, details)


def relations(graph: KnowledgeGraph) -> Iterator[Fields]:
    columns, ids = graph.relations, list(graph.entities.ids)
    sources, targets = columns.sources.tolist(), columns.targets.tolist()
    weights = columns.weights.tolist()
    for row, (id, type, description, details) in enumerate(
        zip(columns.ids, columns.types, columns.descriptions, columns.details, strict=True)
    ):
        record = {
            "relationship_id": id,
            "source_entity_id": ids[sources[row]],
            "target_entity_id": ids[targets[row]],
            "relationship_type": type,
        }
        more = {"weight": weights[row], "source_chunks": columns.source_chunks[row]}
        yield _whole(record, {"description": description, **more}, details)


def _whole(record: Fields, more: Fields, details: str) -> Fields:
    """With what says something; a detail called like a field of ours gets a `_`, or it would replace it."""
    record |= {key: value for key, value in more.items() if value not in ("", [], 1.0)}
    return record | {key + "_" * (key in record): value for key, value in json.loads(details or "{}").items()}


def kg_json(graph: KnowledgeGraph, path: Path) -> Iterator[str]:
    yield '{"entities": {\n'
    yield from _joined(f"{_json(id)}: {_json(record)}" for id, record in entities(graph))
    yield '\n}, "relationships": [\n'
    yield from _joined(map(_json, relations(graph)))
    yield "\n]}\n"


def graphml(graph: KnowledgeGraph, path: Path) -> Iterator[str]:
    columns = ("name", "entity_type", "description", "aliases", "source_chunks", "details")
    edge_columns = ("relationship_type", "description", "weight", "source_chunks", "details")
    yield '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for about, names in (("node", columns), ("edge", edge_columns)):
        for name in names:
            kind = "double" if name == "weight" else "string"
            yield f'  <key id="{about}-{name}" for="{about}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '  <graph edgedefault="directed">\n'
    for id, record in entities(graph):
        yield f"    <node id={_attribute(id)}>{_data('node', record, columns)}</node>\n"
    for record in relations(graph):
        id, source, target = map(record.pop, ("relationship_id", "source_entity_id", "target_entity_id"))
        head = f"id={_attribute(id)} source={_attribute(source)} target={_attribute(target)}"
        yield f"    <edge {head}>{_data('edge', record, edge_columns)}</edge>\n"
    yield "  </graph>\n</graphml>\n"


def _data(about: str, record: Fields, columns: tuple[str, ...]) -> str:
    rest = {key: value for key, value in record.items() if key not in columns}
    values = {key: record[key] for key in columns if key in record} | ({"details": rest} if rest else {})
    return "".join(f'<data key="{about}-{key}">{_text(value)}</data>' for key, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = SEPARATOR.join(value)
    elif not isinstance(value, str):
        value = _json(value)
    return escape(NO_XML.sub("\ufffd", value), quote=False)


def _attribute(text: str) -> str:
    quoted = escape(NO_XML.sub("\ufffd", text)).translate({9: "&#9;", 10: "&#10;", 13: "&#13;"})
    return f'"{quoted}"'


def _lost_in_triples(graph: KnowledgeGraph) -> list[str]:
    lone = int((np.diff(graph.adjacency.indptr) == 0).sum())
    shared = len(graph) - len(set(graph.entities.names))
    held = {
        "descriptions of entities": sum(map(bool, graph.entities.descriptions)),
        "aliases": len(graph.entities.aliases.items),
        "source chunks": len(graph.entities.source_chunks.items) + len(graph.relations.source_chunks.items),
        "details": sum(map(bool, graph.entities.details)) + sum(map(bool, graph.relations.details)),
        "entities without a relation": lone,
        "entities that share a name with another (they become one)": shared,
    }
    lost = [f"{count:,} {what}" for what, count in held.items() if count]
    return [f"triples can't hold: {', '.join(lost)}"] if lost else []


def triples(graph: KnowledgeGraph, path: Path) -> Iterator[str]:
    names, types = list(graph.entities.names), list(graph.entities.types)
    header = ("source", "relation", "target", "description", "weight", "source_type", "target_type")
    columns = graph.relations
    facts = zip(
        columns.sources.tolist(),
        columns.types,
        columns.targets.tolist(),
        columns.descriptions,
        columns.weights.tolist(),
        strict=True,
    )
    rows = (
        (
            *map(guarded, (names[source], type, names[end], description)),
            weight,
            *map(guarded, (types[source], types[end])),
        )
        for source, type, end, description, weight in facts
    )
    return table_text(chain([header], rows), "," if path.suffix.lower() == ".csv" else "\t")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(items: Iterable[str]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield f",\n{item}" if number else item


GRAPH_FORMS = {
    "kg-json": Form(kg_json, (".json",)),
    "graphml": Form(graphml, (".graphml",)),
    "triples": Form(triples, (".tsv", ".csv"), losses=_lost_in_triples),
}


# --- gold sets. Of a sheet: one value a cell, columns that are always there, and what stands between several
_REQUIRED = ("query", "reference_entities")
_SIGNS = {
    **SIGNS,
    **{"id": "", "query": "", "group": "", "ground_truth": "|\n", "reference_texts": "\n"},
}
_JUDGED = {"id", "reference_entities", "highly_relevant_entities", "irrelevant_entities", "grades"}


def row_of(example: Example) -> dict[str, Any]:
    """The question as an object of our own format; fields that hold nothing are left out."""
    row: dict[str, Any] = {name: getattr(example, name) for name in FIELDS}
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}
    row["id"] = example.written_id
    relations = [one._asdict().items() for one in example.reference_relations]
    row["reference_relations"] = [{key: value for key, value in one if value} for one in relations]
    if len(example.ground_truth) == 1:
        row["ground_truth"] = example.ground_truth[0]
    # An empty list says something here: nothing should be retrieved, nothing should be linked.
    meant = {"reference_entities": example.judged, "seed_entities": example.seed_entities is not None}
    full = {name: value for name, value in row.items() if value or meant.get(name)}
    return full | {name: value for name, value in example.unknown.items() if value is not None}


def line_of(example: Example) -> bytes:
    return (json.dumps(row_of(example), ensure_ascii=False) + "\n").encode("utf-8", "replace")


def format_of(path: Path | None) -> str:
    """Of a gold set that is there: its format, where sets can be written in it, else jsonl."""
    found = "jsonl" if path is None else detected(path)
    return found if found in GOLD_FORMS else "jsonl"


def ending_for(format: str, like: Path | None) -> str:
    """The suffix of a file in that format: that of `like`, where it is one. Raises UsageError."""
    suffixes = GOLD_FORMS[format].suffixes
    suffix = "" if like is None else Path(like.name.removesuffix(".gz")).suffix.lower()
    return suffix if suffix in suffixes else suffixes[0]


def written(examples: Sequence[Example], path: Path, format: str | None = None) -> Iterable[bytes]:
    """The file's content, in one normal form. path: for its suffix alone (csv, tsv)."""
    return GOLD_FORMS[form_of(GOLD_FORMS, path, format)].write(examples, path)


def lost(examples: Sequence[Example], path: Path, format: str | None = None) -> dict[str, int]:
    """Field → questions whose value the format can't hold."""
    if form_of(GOLD_FORMS, path, format) != "trec":
        return {}
    found: Counter[str] = Counter()
    for example in examples:
        found.update(field for field in row_of(example) if field not in _JUDGED)
        if not example.grades:
            found[t("questions without references")] += 1
    return dict(found)


def gold_jsonl(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    return map(line_of, examples)


def gold_json(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    lines = [json.dumps(row_of(example), ensure_ascii=False) for example in examples]
    return [b"[\n", ",\n".join(lines).encode("utf-8", "replace"), b"\n]\n"]


def gold_sheet(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    """With a mark, so that spreadsheets show Hangul. What has no field of ours gets a column of its own,
    values that are no text as JSON."""
    rows = list(map(row_of, examples))
    known = [name for name in FIELDS if name in _REQUIRED or any(row.get(name) for row in rows)]
    own = dict.fromkeys(name for row in rows for name in row if name not in FIELDS)
    cells = [
        [
            *(guarded(_cell(row.get(name), _SIGNS.get(name, ";|\n"))) for name in known),
            *(guarded(_own_cell(row.get(name))) for name in own),
        ]
        for row in rows
    ]
    texts = table_text([[*known, *own], *cells], "\t" if path.suffix.lower() == ".tsv" else ",")
    return [BYTE_ORDER_MARK, *(text.encode() for text in texts)]


def _own_cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cell(value: Any, signs: str) -> str:
    """What `parts_of_cell` reads back. signs: that part several values, "" where there is one."""
    if not signs:
        return str(value or "")
    listed = [value] if isinstance(value, str) else list(value or ())
    plain = all(isinstance(part, str) and not any(sign in part for sign in signs) for part in listed)
    if not plain or (listed and listed[0][:1] == "["):
        return json.dumps(listed, ensure_ascii=False)
    return "; ".join(listed) if ";" in signs else signs[0].join(listed)


def gold_trec(examples: Sequence[Example], path: Path) -> Iterable[bytes]:
    return (
        f"{encoded(example.id)} 0 {encoded(name)} {grade}\n".encode("utf-8", "replace")
        for example in examples
        for name, grade in example.grades.items()
    )


GOLD_FORMS = {
    "jsonl": Form(gold_jsonl, (".jsonl",)),
    "json": Form(gold_json, (".json",)),
    "sheet": Form(gold_sheet, (".csv", ".tsv")),
    "trec": Form(gold_trec, (".qrels", ".trec", ".txt")),
}


# --- runs

TREC_TAG = "tiny-graph-rag"
COLUMNS = ("query_id", "doc_id", "rank", "score", "name")
LISTS_EMPTY = ("jsonl", "contest")  # the forms in which a question that retrieved nothing has a line


class RankedQuestion(NamedTuple):
    """One question of a run. question: its id, with the type that it has in its file. ids, names, scores: of
    its entities, best first; scores fall strictly. relations, passages: None where the run has none."""

    question: str | int
    ids: Sequence[str]
    names: Sequence[str]
    scores: Sequence[float]
    relations: Sequence[Relation] | None
    passages: Sequence[Passage] | None
    returns_entities: bool


def ordered_scores(run: Run) -> NDArray[np.float64]:
    """Scores that put the entities of each question into the run's order everywhere.

    Other tools break ties by document id, and some compare in float32. A question whose scores fall strictly
    in float32 keeps them; another one gets how many entities follow, plus one.
    """
    lengths = np.diff(run.offsets)
    question = run.questions
    single = run.scores.astype(np.float32)
    level = (single[1:] >= single[:-1]) & (question[1:] == question[:-1])
    tied = np.zeros(len(run), dtype=bool)
    tied[question[1:][level]] = True
    tied[question[~np.isfinite(single)]] = True
    return np.where(
        tied[question], np.repeat(run.offsets[1:], lengths) - np.arange(len(question)), run.scores
    )


def run_parts(
    run: Run, questions: Sequence[str | int], ids: Sequence[str], names: Sequence[str], form: str
) -> Iterable[bytes]:
    """The file, piece by piece. questions: their ids, which JSON holds with the type that they have. ids,
    names: of entities, by row. What is listed twice stays: the contest's rule counts each."""
    return RUN_FORMS[form].write(_ranked(run, questions, ids, names))


def _ranked(
    run: Run, questions: Sequence[str | int], ids: Sequence[str], names: Sequence[str]
) -> Iterator[RankedQuestion]:
    scores = ordered_scores(run)
    for row, question in enumerate(questions):
        part = slice(int(run.offsets[row]), int(run.offsets[row + 1]))
        entities = run.entities[part].tolist()
        yield RankedQuestion(
            question,
            [ids[entity] for entity in entities],
            [names[entity] for entity in entities],
            scores[part].tolist(),
            None if run.relations is None else run.relations[row],
            None if run.passages is None else run.passages[row],
            run.returns_entities,
        )


def run_trec(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    """TREC: question, Q0, document, rank, score, tag."""
    for one in ranked:
        lines = (
            f"{encoded(str(one.question))} Q0 {encoded(id)} {rank} {score!r} {TREC_TAG}\n"
            for rank, (id, score) in enumerate(zip(one.ids, one.scores, strict=True), start=1)
        )
        yield "".join(lines).encode()


def run_jsonl(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    """An object a question, with relations and passages."""
    for one in ranked:
        line: dict[str, Any] = {"id": one.question}
        if one.returns_entities:
            line["entities"] = [
                {"id": id, "name": name, "score": score}
                for id, name, score in zip(one.ids, one.names, one.scores, strict=True)
            ]
        for kind, items in (("relations", one.relations), ("passages", one.passages)):
            if items is not None:
                line[kind] = [item._asdict() for item in items]
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def run_csv(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    rows = (
        [guarded(str(one.question)), guarded(id), rank, repr(score), guarded(name)]
        for one in ranked
        for rank, (id, score, name) in enumerate(zip(one.ids, one.scores, one.names, strict=True), 1)
    )
    return (text.encode() for text in table_text(chain([COLUMNS], rows)))


def run_contest(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    """An object per line with `eval_id` and `topk`."""
    for one in ranked:
        line = {"eval_id": one.question, "topk": one.ids}
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


RUN_FORMS = {
    "trec": Form(run_trec, (".trec",)),
    "jsonl": Form(run_jsonl, (".jsonl",)),
    "csv": Form(run_csv, (".csv",)),
    "contest": Form(run_contest, (".contest",)),
}
