"""Counts the entities and relations of graph files on its own, and holds the readers to them.

    uv run python tests/tools/recount_graphs.py FOLDER …

Of every file below the folders that looks like a graph it prints a row: file, what read it, entities and
relations by the reader and by the recount, right or not. The recount knows nothing of the package: it uses
the
standard library (and networkx for GraphML and GEXF), and a short list of the spellings that files have.
It ends with 1 where a file is read otherwise than it is counted.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ENDS = [
    ("subject", "object"), ("head", "tail"), ("source", "target"), ("from", "to"), ("src", "dst"),
    ("start", "end"),
    ("source_id", "target_id"), ("sourceid", "targetid"), ("src_id", "tgt_id"), ("start_id", "end_id"),
    ("source_node_id", "target_node_id"), ("node1", "node2"), ("a", "b"), ("subject", "object_property"),
    ("src:start_id", "dst:end_id"), (":start_id", ":end_id"), ("compounda", "compoundb"), ("h", "t"),
    ("s", "o"),
    ("subject_id", "object_id"), ("source_entity", "target_entity"), ("head_entity", "tail_entity"),
    ("x", "y"),
    ("entity1", "entity2"), ("source_name", "target_name"), ("from_node", "to_node"), ("主语", "宾语"),
]  # fmt: skip
IDS = (
    "id",
    "node_id",
    "entity_id",
    "id:id",
    ":id",
    "name",
    "names",
    "label",
    "key",
    "title",
    "node",
    "entity",
)
RELATIONS = (
    "relation",
    "predicate",
    "relationship",
    "type",
    "label",
    "relation_type",
    "relationship_type",
    "verb",
)
NODE_LISTS = ("nodes", "entities", "vertices")
EDGE_LISTS = ("links", "edges", "relationships", "relations", "triples", "triplets")

Count = tuple[int, int]  # entities and relations


def content(path: Path) -> str:
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return raw.decode("utf-8-sig", "replace")


def low(record: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in record.items() if not isinstance(value, dict)}
    for name in ("data", "properties", "attributes"):
        if isinstance(record.get(name), dict):
            flat = {**record[name], **flat}
    ends = {
        key: record[key] for key in ("source", "target", "from", "to") if isinstance(record.get(key), dict)
    }
    return {str(key).strip().casefold(): value for key, value in {**flat, **ends}.items()}


def said(value: Any) -> str:
    if isinstance(value, dict):
        value = next((value[key] for key in ("id", "name") if key in value), "")
    return str(value).strip() if value is not None else ""


def ends_of(records: list[dict[str, Any]]) -> tuple[str, str] | None:
    keys = Counter(key for record in records[:200] for key in record)
    return next((pair for pair in ENDS if pair[0] in keys and pair[1] in keys), None)


def counted(nodes: list[Any] | None, edges: list[Any]) -> Count | None:
    """None where this program does not understand the records."""
    records = [low(record) for record in edges if isinstance(record, dict)]
    pairs = [(said(edge[0]), said(edge[2])) for edge in edges if isinstance(edge, list) and len(edge) == 3]
    found = ends_of(records)
    if records and found is None:
        return None
    pairs += [(said(record.get(found[0])), said(record.get(found[1]))) for record in records if found]
    if not nodes:
        ends = {end for pair in pairs for end in pair if end}
        return len(ends), sum(bool(first and second) for first, second in pairs)
    plain = [low(node) if isinstance(node, dict) else {"id": node} for node in nodes]
    keys = [key for key in IDS if any(node.get(key) not in (None, "") for node in plain)]
    if not keys:
        return None
    ids = [next((said(node[key]) for key in keys if node.get(key) not in (None, "")), "") for node in plain]
    known = dict.fromkeys(id for id in ids if id)
    names = {
        said(node[key]).casefold() for node in plain for key in ("name", "label", "title") if key in node
    }
    written = [end for pair in pairs for end in pair]
    numbers = all(end.isdecimal() for end in written) and not all(end in known for end in written)
    if numbers and written and max(map(int, written)) - (min(map(int, written)) > 0) < len(known):
        return len(known), len(pairs)
    held = sum(all(end in known or end.casefold() in names for end in pair) and all(pair) for pair in pairs)
    return len(known), held


def of_json(document: Any) -> Count | None:
    if isinstance(document, dict):
        by_key = {key.casefold(): value for key, value in document.items()}
        edges = next((by_key[key] for key in EDGE_LISTS if isinstance(by_key.get(key), list)), None)
        nodes = next((by_key[key] for key in NODE_LISTS if isinstance(by_key.get(key), list | dict)), None)
        if edges is not None:
            if isinstance(nodes, dict):
                nodes = [
                    {**(value if isinstance(value, dict) else {}), "id": key} for key, value in nodes.items()
                ]
            return counted(nodes, edges)
        inner = [of_json(value) for value in document.values() if isinstance(value, dict)]
        return next((count for count in inner if count), None)
    if isinstance(document, list):
        several = [
            value
            for value in document
            if isinstance(value, dict) and {*NODE_LISTS} & {*value} and {*EDGE_LISTS} & {*value}
        ]
        if several and len(several) == len(document):
            nodes = [node for value in several for key in NODE_LISTS if key in value for node in value[key]]
            return counted(
                nodes,
                [edge for value in several for key in EDGE_LISTS if key in value for edge in value[key]],
            )
        return counted(None, document)
    return None


def rows_of(path: Path) -> list[dict[str, Any]]:
    text = content(path)
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return [low(json.loads(line)) for line in text.splitlines() if line.strip()]
    line = text.lstrip().splitlines()[0] if text.strip() else ""
    delimiter = next((sign for sign in "\t,;|" if sign in line), ",")
    csv.field_size_limit(1 << 24)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [
        low({key: value for key, value in row.items() if key is not None})
        for row in rows
        if any(row.values())
    ]


def partner(path: Path) -> tuple[Path, Path] | None:
    """Tables of entities and of relations that belong together by their names."""
    words = {"nodes": "edges", "entities": "relationships", "vertices": "links"}
    for node in (*words, "node"):
        for edge in ("edges", "links", "relationships", "relations", "edge"):
            for mine, other in ((node, edge), (edge, node)):
                name = re.sub(rf"(?<![a-z]){mine}(?![a-z])", other, path.name, count=1, flags=re.I)
                if name != path.name and path.with_name(name).is_file():
                    both = (path, path.with_name(name))
                    return both if mine == node else (both[1], both[0])
    return None


def recounted(path: Path) -> Count | None:
    """None where this program does not know the file's form."""
    name = path.name.removesuffix(".gz").casefold()
    if name.endswith((".csv", ".tsv", ".jsonl")):
        both = partner(path)
        if both is not None:
            return counted(rows_of(both[0]), rows_of(both[1]))
        return counted(None, rows_of(path)) if ends_of(rows_of(path)) else None
    if name.endswith(".json"):
        try:
            return of_json(json.loads(content(path)))
        except ValueError:
            lines = [low(json.loads(line)) for line in content(path).splitlines() if line.strip()]
            return counted(None, lines)
    if name.endswith((".graphml", ".gexf")):
        import networkx

        graph = (networkx.read_graphml if name.endswith("graphml") else networkx.read_gexf)(path)
        return graph.number_of_nodes(), graph.number_of_edges()
    if name.endswith((".ttl", ".nt", ".owl", ".rdf")):
        return None
    return None


def looked_at(folders: list[Path]) -> Iterator[Path]:
    wanted = re.compile(
        r"node|edge|relation|entit|tripl|graph|kg|link|network|knowledge|\.(graphml|gexf)", re.I
    )
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if (
                path.is_file()
                and wanted.search(path.name)
                and not re.search(r"kv_store|vdb_|schema|config", path.name)
            ):
                yield path


def main(folders: list[Path]) -> int:
    from tiny_graph_rag.errors import TinyGraphRagError
    from tiny_graph_rag.formats.graphs import read_graph

    totals: Counter[tuple[str, str]] = Counter()
    print("| file | read as | entities | relations | recount | |\n|---|---|---:|---:|---|---|")
    for path in looked_at(folders):
        try:
            count = recounted(path)
        except Exception:
            count = None
        try:
            graph = read_graph(path)
            got: Count | None = (len(graph), len(graph.relations))
            writer = graph.origin.writer
        except TinyGraphRagError as error:
            got, writer = None, f"refused: {str(error).split(': ', 1)[-1][:70]}"
        if count is None:
            verdict = "not recounted"
        else:
            verdict = "right" if got == count else "refused" if got is None else "differs"
        totals[writer if got else "refused", verdict] += 1
        name = "/".join(path.parts[-2:])
        entities, relations = got or ("", "")
        print(f"| {name} | {writer} | {entities} | {relations} | {count or ''} | {verdict} |")
    print()
    for (writer, verdict), number in sorted(totals.items()):
        print(f"{writer}: {verdict} {number}")
    return int(any(verdict == "differs" for _, verdict in totals))


if __name__ == "__main__":
    raise SystemExit(main([Path(argument) for argument in sys.argv[1:]]))
