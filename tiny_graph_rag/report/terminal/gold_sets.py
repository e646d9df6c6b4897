"""What was made, merged, parted and counted of gold sets, in the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import counted, listed, shown, t
from tiny_graph_rag.report.tables import View
from tiny_graph_rag.report.terminal import Shown, escape

if TYPE_CHECKING:
    from tiny_graph_rag.gold.generate import Generated
    from tiny_graph_rag.gold.keep import Contents, Diff

SHOWN = 12  # ids or changes of a kind; --all shows every one
LONGEST_VALUE = 60


def generated_lines(found: Generated, wanted: int, graph: str) -> Iterator[Shown]:
    made, whole = f"{len(found.questions):,}", f"{wanted:,}"
    title = counted(
        len(found.questions),
        "{made} question of {whole} requested",
        "{made} questions of {whole} requested",
        made=made,
        whole=whole,
    )
    there = {shape: found.found.get(shape, 0) for shape in found.asked}
    rows = tuple((shape, f"{asked:,}", f"{there[shape]:,}") for shape, asked in found.asked.items())
    lacks = {
        place: "yellow" for place, (shape, asked) in enumerate(found.asked.items()) if there[shape] < asked
    }
    yield View((t("shape"), t("requested"), t("found")), rows, title=title, styles=lacks)
    lacking = [shape for shape, asked in found.asked.items() if there[shape] < asked]
    if lacking:
        yield t("the graph has no more questions of: {shapes}", shapes=", ".join(lacking))
    if found.unsaid:
        yield counted(
            len(found.unsaid),
            "{n} relation type is left out because there are no words for it: {types}. Add words in "
            "{vocabulary}",
            "{n} relation types are left out because there are no words for them: {types}. Add words "
            "in {vocabulary}",
            types=escape(listed(found.unsaid, SHOWN)),
            vocabulary=f"{graph}-vocabulary.yaml",
        )
    if found.relations:
        name, most = next(iter(found.relations.items()))
        yield t(
            "relations asked about: {n}; most often {name}, in {questions} ({times} times its fair share)",
            n=f"{len(found.relations):,}",
            name=escape(name),
            questions=shown(amount(most, "question")),
            times=f"{found.most_over_fair:.2f}",
        )


def diff_lines(found: Diff, one: str, other: str, *, every: bool) -> Iterator[Shown]:
    yield t(
        "{one} → {other}: {same} the same, {added} added, {removed} removed, {renamed} renamed, "
        "{changed} changed",
        one=escape(one),
        other=escape(other),
        same=f"{found.same:,}",
        added=f"{len(found.added):,}",
        removed=f"{len(found.removed):,}",
        renamed=f"{len(found.renamed):,}",
        changed=f"{len({question.id for question in found.changed}):,}",
    )
    most = None if every else SHOWN
    for what, ids in ((t("added"), found.added), (t("removed"), found.removed)):
        for id_ in ids[:most]:
            yield f"  {what} {escape(id_)}"
        yield from _more(len(ids), most)
    for before, after in found.renamed[:most]:
        yield f"  {t('renamed')} {escape(before)} → {escape(after)}"
    yield from _more(len(found.renamed), most)
    for change in found.changed[:most]:
        yield f"  {escape(change.id)}: {change.field}: {_said(change.before, change.after)}"
    yield from _more(len(found.changed), most)


def _more(count: int, most: int | None) -> Iterator[Shown]:
    if most is not None and count > most:
        yield t("  … and {n} more (--all)", n=f"{count - most:,}")


def _said(before: Any, after: Any) -> str:
    """Of lists what came and went, of other values both."""
    if isinstance(before or [], list) and isinstance(after or [], list):
        gone = [item for item in before or [] if item not in (after or [])]
        come = [item for item in after or [] if item not in (before or [])]
        return escape(
            " ".join([*(f"-{_short(entity)}" for entity in gone), *(f"+{_short(entity)}" for entity in come)])
        )
    return escape(f"{_short(before)} → {_short(after)}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


def contents_lines(name: str, found: Contents, effect: float) -> Iterator[Shown]:
    references = found.references
    without = sum(count == 0 for count in references)
    held = [count for count in references if count]
    listed = t("none")
    if held:
        listed = t("median {n}, max {most}", n=f"{held[len(held) // 2]:,}", most=f"{held[-1]:,}")
    yield t(
        "{name}: {questions} in {groups}, {without} without a reference; references per question: "
        "{references}",
        name=escape(name),
        questions=shown(amount(found.whole.questions, "question")),
        groups=shown(amount(found.whole.groups, "group")),
        without=f"{without:,}",
        references=listed,
    )
    for what, counts in found.counts.items():
        yield f"{t(what)}: " + ", ".join(f"{escape(key)} {count:,}" for key, count in counts.items())
    quotas = any(slice_.quota is not None for slice_ in found.slices)
    rows: list[tuple[str, ...]] = []
    for tag_share in (found.whole, *found.slices):
        quota = [] if not quotas else ["" if tag_share.quota is None else f"{tag_share.quota:.0%}"]
        seen = (
            "—"
            if not tag_share.groups
            else f".{round(tag_share.seen * 100):02d}"
            if tag_share.seen < 0.995
            else t("never")
        )
        sizes = (f"{tag_share.questions:,}", f"{tag_share.groups:,}", f"{tag_share.share:.0%}")
        rows.append((tag_share.name, *sizes, *quota, seen))
    heads = (t("tag"), t("questions"), t("groups"), t("share"), *([t("quota")] if quotas else []))
    yield View((*heads, t("smallest difference shown")), tuple(rows))
    for slice_ in found.slices:
        if slice_.off_quota:
            told = t(
                "{tag}: {share} of the questions, quota {quota}",
                tag=slice_.name,
                share=f"{slice_.share:.0%}",
                quota=f"{slice_.quota:.0%}",
            )
            yield escape(f"{t('warning')}: {told}")
    small = [item.name for item in (found.whole, *found.slices) if item.groups < found.needed]
    if small:
        told = t(
            "too small to show a difference of {effect} with 80 % power, for which {groups} are needed: "
            "{tags}",
            effect=f"{effect:g}",
            groups=shown(amount(found.needed, "group")),
            tags=", ".join(small),
        )
        yield escape(f"{t('warning')}: {told}")
