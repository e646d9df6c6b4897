"""What `validate`, `stats` and `generate` print: whether a gold set fits its graph, what a graph looks like,
what was made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tiny_graph_rag.messages import counted, listed, shown, t, three
from tiny_graph_rag.report.plain import cut, wrapped
from tiny_graph_rag.report.tables import View
from tiny_graph_rag.report.terminal import SCREEN_WIDTH, Shown, StrongLine

if TYPE_CHECKING:
    from tiny_graph_rag.gold.generate import Generated
    from tiny_graph_rag.gold.pin import Drift
    from tiny_graph_rag.gold.validate import Finding, Validation
    from tiny_graph_rag.graph.statistics import GraphStatistics
    from tiny_graph_rag.graph.tables import Origin
    from tiny_graph_rag.study.verdicts import HopTag

FINDINGS_SHOWN = 6
TAGS_SHOWN = 2  # whose hops don't match the graph
LISTED = 8  # types, hubs, components or names a line
EXAMPLES = 5  # questions of a generated set
NAMESAKES = 5  # entities that look like a form of another one's name
VALUE_WIDTH = 55  # columns of a figure's words on a screen


def validation_lines(
    found: Validation,
    broken: Sequence[str],
    hop_tags: dict[str, HopTag],
    drift: Drift | None,
    *,
    pins: bool = False,
    details: bool = False,
) -> Iterator[Shown]:
    """broken: schema errors, lines that were left out. details: every finding, and every count.
    pins: it is pinned next, so that nothing asks for it."""
    yield from findings_lines(found.findings, broken, details=details)
    different = t("{n} different names", n=f"{len(found.missing_names):,}")
    counts = (
        (t("questions"), found.questions, t("{n} without references", n=f"{found.without_gold:,}")),
        (t("lines that can't be read"), len(broken), t("not counted below")),
        (t("references"), found.references, ""),
        (t("not in the graph"), found.missing, different if found.missing_names else ""),
        (t("by an alias only"), found.by_alias, ""),
        (t("by another form of the name"), found.by_form, ""),
        (t("ambiguous names"), found.ambiguous, ""),
        (t("same entity twice"), found.shared, t("two names of one entity count once")),
        (t("name all references"), found.names_all, t("these questions test linking, not retrieval")),
    )
    rows = [(name, f"{number:,}", note) for name, number, note in counts if number or details]
    ceiling = (t("recall ceiling"), three(found.ceiling), t("the highest recall possible on this graph"))
    yield View(("", "", ""), (*rows, ceiling), (0, 2))
    odd = {tag: slice_ for tag, slice_ in hop_tags.items() if slice_.differ or slice_.unmeasured}
    for tag, slice_ in hop_tags.items() if details else list(odd.items())[:TAGS_SHOWN]:
        line = t(
            "tag {tag}: {agree} of {n} questions need that many hops, {differ} don't, {unmeasured} can't be "
            "measured",
            tag=tag,
            n=f"{slice_.questions:,}",
            agree=f"{slice_.agree:,}",
            differ=f"{slice_.differ:,}",
            unmeasured=f"{slice_.unmeasured:,}",
        )
        yield line if details else cut(line, SCREEN_WIDTH)
    for line in _drift_lines(drift, pins=pins):
        yield line if details else cut(line, SCREEN_WIDTH)


def findings_lines(
    findings: Sequence[Finding], broken: Sequence[str], *, details: bool = False
) -> Iterator[Shown]:
    """Errors first; one finding of each kind before a second of any."""
    lines = [f"{t('error')} schema: {shown(line)}" for line in broken]
    nth: Counter[str] = Counter()
    turns = []
    for finding in findings:
        nth[finding.kind] += 1
        turns.append((finding.severity != "error", 0 if details else nth[finding.kind], finding))
    turns.sort(key=lambda turn: turn[:2])
    lines += [f"{t(finding.severity)} {shown(finding.message)}" for *_, finding in turns]
    if details:
        yield from lines
        return
    yield from (part for line in lines[:FINDINGS_SHOWN] for part in wrapped(line, SCREEN_WIDTH, "  ", 2))
    if len(lines) > FINDINGS_SHOWN:
        yield t("… and {n} more: --details", n=f"{len(lines) - FINDINGS_SHOWN:,}")


def _drift_lines(drift: Drift | None, *, pins: bool) -> Iterator[str]:
    if drift is None:
        if not pins:
            yield t("not pinned to a graph version; run `validate --pin` to detect later changes")
        return
    if not drift.graph_changed:
        yield t("pinned to this version of the graph ({graph})", graph=drift.pinned_to)
    else:
        yield t("the graph has changed since the gold set was pinned to {graph}", graph=drift.pinned_to)
        for names, text in (
            (drift.lost, "references that no longer match an entity ({n}): {names}"),
            (drift.moved, "references that now match another entity ({n}): {names}"),
        ):
            if names:
                yield "  " + t(text, n=f"{len(names):,}", names=listed(names, LISTED))
    if drift.gold_changed and not pins:
        yield t("the gold set has changed since it was pinned; run `validate --pin` again")


def statistics_lines(name: str, found: GraphStatistics, *, details: bool = False) -> Iterator[Shown]:
    """details: whole lists, and what became of every column of the file."""
    most = 1000 if details else LISTED

    def several(items: Iterable[str]) -> str:
        names = list(items)
        more = t("… and {n} more", n=f"{len(names) - most:,}") if len(names) > most else ""
        text = " ".join(part for part in (", ".join(names[:most]), more) if part)
        return text if details else cut(text, VALUE_WIDTH)

    def counts(by_name: dict[str, int]) -> str:
        return several(f"{key} {count:,}" for key, count in by_name.items())

    quantiles = {0.0: t("min"), 0.5: t("median"), 0.95: t("95th percentile"), 1.0: t("max")}
    degrees = ", ".join(f"{label} {found.degrees[part]:g}" for part, label in quantiles.items())
    sizes = several(f"{size:,}" for size in found.components)
    rows = [
        (t("written by"), found.origin.writer or t("this program")),
        (t("entities"), f"{found.entities:,}"),
        (f"  {t('types')}", counts(found.entity_types)),
        (t("relations"), f"{found.relations:,}"),
        (f"  {t('types')}", counts(found.relation_types)),
        (t("relations per entity"), f"{t('mean')} {found.mean_degree:.2f}, {degrees}"),
        (f"  {t('hubs')}", several(f"{hub} {degree:,}" for hub, degree in found.hubs)),
        (t("components"), f"{len(found.components):,} ({t('sizes')} {sizes})"),
        (t("aliases"), counted(found.aliases, "{n} name", "{n} names")),
        (t("ambiguous names"), several(f"{key} ×{count}" for key, count in found.shared_names)),
    ]
    if found.namesakes:
        form = counted(
            len(found.namesakes),
            "{n} entity looks like another one's long or short form",
            "{n} entities look like another one's long or short form",
        )
        rows.append((t("forms of a name"), form))
        rows += [
            ("", f"{name} = {other}") for name, other in found.namesakes[: most if details else NAMESAKES]
        ]
    problems = {
        t("duplicate relations"): found.duplicate_relations,
        t("dangling relations"): found.dangling_relations,
        t("self-loops"): found.self_loops,
    }
    rows += [(problem, f"{number:,}") for problem, number in problems.items() if number or details]
    yield StrongLine(name)
    yield View(("", ""), tuple(row for row in rows if row[1]), (0, 1))
    if found.origin.columns and details:
        yield _origin_table(found.origin)


def _origin_table(origin: Origin) -> View:
    """What became of every column of the file, and of what is no entity and no relation."""
    rows = [(f"{t(part)}: {column}", t(became)) for part, column, became in origin.columns]
    rows += [
        (t(drop.what), t("dropped: {n}, such as {example}", n=f"{drop.count:,}", example=drop.examples[0]))
        for drop in origin.dropped
    ]
    title = t("columns of the file ({writer})", writer=origin.writer)
    return View((t("in the file"), t("read as")), tuple(rows), (0, 1), title)


def generated_lines(found: Generated, wanted: int, graph: str) -> Iterator[Shown]:
    made, whole = f"{len(found.questions):,}", f"{wanted:,}"
    title = counted(
        len(found.questions),
        "{made} question of {whole} requested",
        "{made} questions of {whole} requested",
        made=made,
        whole=whole,
    )
    yield title
    for question in found.questions[:EXAMPLES]:
        yield f"  {question.query} → {listed(question.reference_entities, 3) or t('nothing')}"
    lacking = {shape: asked - found.found.get(shape, 0) for shape, asked in found.asked.items()}
    if any(missing > 0 for missing in lacking.values()):
        shapes = ", ".join(f"{shape} ({missing:,})" for shape, missing in lacking.items() if missing > 0)
        yield t("the graph has no more questions of: {shapes}", shapes=shapes)
    if found.unsaid:
        yield counted(
            len(found.unsaid),
            "{n} relation type is left out because there are no words for it: {types}. Add words in "
            "{vocabulary}",
            "{n} relation types are left out because there are no words for them: {types}. Add words "
            "in {vocabulary}",
            types=listed(found.unsaid, LISTED),
            vocabulary=f"{graph}-vocabulary.yaml",
        )
