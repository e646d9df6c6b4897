"""What `validate` found, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import listed, t, three
from tiny_graph_rag.messages import shown as in_words
from tiny_graph_rag.report.tables import View
from tiny_graph_rag.report.terminal import Shown, escape

if TYPE_CHECKING:
    from tiny_graph_rag.gold.checks import Finding
    from tiny_graph_rag.gold.pin import Drift
    from tiny_graph_rag.gold.validate import Validation
    from tiny_graph_rag.study.verdicts import HopTag

SHOWN = 10  # findings of a kind; --all shows every one
NAMES_SHOWN = 8


def validation_lines(
    found: Validation,
    broken: Sequence[str],
    hop_tags: dict[str, HopTag],
    drift: Drift | None,
) -> Iterator[Shown]:
    """broken: schema errors, lines that were left out."""
    counts = (
        (
            t("questions"),
            f"{found.questions:,}",
            t("{n} without a reference", n=f"{found.without_gold:,}"),
        ),
        (t("lines that can't be read"), f"{len(broken):,}", t("not counted below")),
        (t("references"), f"{found.references:,}", ""),
        (
            f"  {t('not in the graph')}",
            f"{found.missing:,}",
            t("{n} different names", n=f"{len(found.missing_names):,}"),
        ),
        (f"  {t('by an alias only')}", f"{found.by_alias:,}", ""),
        (f"  {t('ambiguous names')}", f"{found.ambiguous:,}", ""),
        (f"  {t('same entity twice')}", f"{found.shared:,}", t("two names of one entity count once")),
        (t("recall ceiling"), three(found.ceiling), t("the highest recall that is possible on this graph")),
        (t("name all references"), f"{found.names_all:,}", _share(found.names_all, found.questions)),
    )
    yield View(("", "", ""), counts, (0, 2))
    unmeasured = 0
    for tag, slice_ in hop_tags.items():
        spread = ", ".join(f"{hops}: {count:,}" for hops, count in slice_.measured.items()) or t("none")
        unmeasured += slice_.unmeasured
        yield escape(
            t(
                "tag {tag}: {n}: {agree} match the graph, {differ} don't, {unmeasured} can't be "
                "measured (measured hops → questions: {spread})",
                tag=tag,
                n=amount(slice_.questions, "question"),
                agree=f"{slice_.agree:,}",
                differ=f"{slice_.differ:,}",
                unmeasured=f"{slice_.unmeasured:,}",
                spread=spread,
            )
        )
    if unmeasured:
        yield t(
            "can't be measured: no entity of the question was recognised and it has no "
            "seed_entities, or no path leads to a reference"
        )
    yield from _drift_lines(drift)


def findings_lines(findings: Sequence[Finding], broken: Sequence[str], every: bool) -> Iterator[Shown]:
    for line in broken:
        yield f"[red]{t('error')}[/red] schema: {escape(in_words(line))}"
    by_kind: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_kind.setdefault((finding.severity, finding.kind), []).append(finding)
    for (severity, kind), group in by_kind.items():
        style = "red" if severity == "error" else "yellow"
        for finding in group if every else group[:SHOWN]:
            yield f"[{style}]{t(severity)}[/{style}] {escape(finding.shown)}"
        if not every and len(group) > SHOWN:
            more = f"{len(group) - SHOWN:,}"
            yield t("  … and {n} more of this kind ({kind}); --all shows them", n=more, kind=kind)


def _drift_lines(drift: Drift | None) -> Iterator[Shown]:
    if drift is None:
        yield t("not pinned to a graph version; run `validate --pin` to detect later changes")
        return
    if not drift.graph_changed:
        yield escape(t("pinned to this version of the graph ({graph})", graph=drift.pinned_to))
    else:
        changed = t("the graph has changed since the gold set was pinned to {graph}", graph=drift.pinned_to)
        yield f"[red]{escape(changed)}[/red]"
        for names, said in (
            (drift.lost, "references that no longer match an entity ({n}): {names}"),
            (drift.moved, "references that now match another entity ({n}): {names}"),
        ):
            if names:
                yield escape("  " + t(said, n=f"{len(names):,}", names=listed(names, NAMES_SHOWN)))
    if drift.gold_changed:
        yield t("the gold set has changed since it was pinned; run `validate --pin` again")


def _share(part: int, whole: int) -> str:
    if not whole:
        return ""
    return t("{share} of the questions test linking, not retrieval", share=f"{part / whole:.1%}")
