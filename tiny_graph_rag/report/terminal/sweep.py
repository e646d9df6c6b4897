"""A sweep in the terminal: a row a setting, then each tag's curve with what is recommended for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tiny_graph_rag.messages import shown, t, three
from tiny_graph_rag.report import tables
from tiny_graph_rag.report.json.studies import setting_json
from tiny_graph_rag.report.tables import Cell, View
from tiny_graph_rag.report.terminal import Shown, escape, markup
from tiny_graph_rag.study.choosing import rule

if TYPE_CHECKING:
    from tiny_graph_rag.study.sweep import SeedShare, Sweep, SweptSetting

COLUMNS = (
    "reachable within h hops: mean share of a question's references that any ranking within the hops could "
    "return (oracle recall); all reachable: share of questions whose references all are; reached, p95: "
    "entities within the hops per question, mean and 95th percentile; seconds: of retrieval for all questions"
)
NO_SEEDS = (
    "{system}: no question has a seed, so --hops changes nothing. `eval` shows which names were not "
    "recognised."
)
ONLY_SEEDS = (
    "{system}: --hops can't reach more references here: {seeds} of {references} references are already "
    "seeds ({by_text} of them by text), and no path within {most} hops reaches another one."
)
FLAT = (
    "{system}: {measure} is the same for every number of hops: {seeds} of {references} references are "
    "already seeds ({by_text} of them by text), and the {farther} farther ones don't change their rank."
)
MOSTLY_SEEDS = (
    "{system}: {seeds} of {references} references are already seeds ({by_text} of them by text); --hops "
    "affects only the {farther} farther ones."
)
CURVES = 3  # systems whose curves stand side by side
BAR = 10  # characters of a full bar
BAR_SPARE = 100  # the bar says what the figure next to it says
_EIGHTHS = "▁▂▃▄▅▆▇█"


def sweep_lines(found: Sweep) -> Iterator[Shown]:
    shown_at = _deciding_cutoff(found)
    rows = [setting for setting in found.settings if setting.top_k == shown_at]
    yield _settings(found, rows)
    for row in rows:
        if row.walks_cut:
            yield t(
                "{setting}: a limit (running.max_steps, running.max_states) stopped the search early "
                "in {n} questions",
                setting=escape(_named(found, row)),
                n=f"{row.walks_cut:,}",
            )
    if len(found.plan.cutoffs) > 1:
        others = ", ".join(str(cutoff) for cutoff in found.plan.cutoffs if cutoff != shown_at)
        yield t("the file also has the measures at {cutoffs}", cutoffs=others)
    yield t(COLUMNS)
    for system, share in found.seeds.items():
        said = seed_words(share)
        if said:
            values = {"system": system, "measure": str(found.plan.decide_by), "most": max(found.plan.hops)}
            for name in ("seeds", "references", "by_text", "farther"):
                values[name] = f"{getattr(share, name):,}"
            yield escape(t(said, **values))
    if len(found.recommended) > 1:
        yield _tags(found, rows)
    whole = found.recommended[""]
    yield escape(
        t(
            "recommended: {setting} – {reason}",
            setting=_said(found, ""),
            reason=shown(whole.reason),
        )
    )
    if whole.setting is not None:
        yield t(
            "its {measure} on held-out questions: {mean}",
            measure=found.plan.decide_by,
            mean=markup(whole.held_out),
        )
    elif whole.best is not None:
        best = found.settings[whole.best]
        mean = best.overall.measures[found.plan.decide_by]
        yield t(
            "best mean: {setting} with {measure} {mean} over {n} questions",
            setting=escape(_named(found, best)),
            measure=found.plan.decide_by,
            mean=three(mean.mean),
            n=f"{mean.n:,}",
        )
    how = shown(rule(str(found.plan.decide_by), found.plan.tolerance))
    yield t("rule: {rule}", rule=how)
    drawn = _drawn(found, rows)
    for flip in (flip for flip in found.flips if flip.system in drawn):
        yield escape(
            t(
                "{system} {before} → {after} hops: {won} won{won_ids}, {lost} lost{lost_ids}",
                system=flip.system,
                before=flip.before,
                after=flip.after,
                won=len(flip.won),
                won_ids=_some(flip.won),
                lost=len(flip.lost),
                lost_ids=_some(flip.lost),
            )
        )


def seed_words(share: SeedShare) -> str:
    """What to say of how much the seeds decide; "" where the hops decide most."""
    if share.without_seed == share.questions:
        return NO_SEEDS
    if not share.farther:
        return ONLY_SEEDS
    if share.flat:
        return FLAT
    return MOSTLY_SEEDS if share.seeds > share.farther else ""


def _drawn(found: Sweep, rows: Sequence[SweptSetting]) -> list[str]:
    """The systems whose curves are shown by tag: all where they are few, else the one with the best mean."""
    names = list(dict.fromkeys(row.system for row in rows))
    best = found.recommended[""].best
    return names if len(names) <= CURVES or best is None else [found.settings[best].system]


def _deciding_cutoff(found: Sweep) -> int:
    """The cutoff of the deciding measure where it is swept, else the largest."""
    cutoff = found.plan.decide_by.cutoff
    return cutoff if cutoff in found.plan.cutoffs else max(found.plan.cutoffs)


def _settings(found: Sweep, rows: Sequence[SweptSetting]) -> View:
    """The table of reports, the deciding measure first with a bar behind it, and what each setting took."""
    deciding = str(found.plan.decide_by)
    measures = dict.fromkeys([deciding, *map(str, rows[0].overall.measures)])
    view = tables.sweep([setting_json(row) for row in rows], list(measures))
    chosen = found.recommended[""].setting
    picked = found.settings[chosen] if chosen is not None else None
    one = len(found.plan.variants) == 1  # it needs no name
    lines: list[tuple[Cell, ...]] = []
    styles: dict[int, str] = {}
    for place, (row, (system, hops, _, mean, *more)) in enumerate(zip(rows, view.rows, strict=True)):
        is_picked = picked is not None and (row.system, row.hops) == (picked.system, picked.hops)
        if is_picked:
            styles[place] = "bold"
        arrow = "" if row.hops is None else " ◀" if is_picked else "  "
        decides = row.overall.measures[found.plan.decide_by]
        bar = "" if math.isnan(decides.mean) else "█" * round(BAR * decides.mean)
        line = (system, f"{hops}{arrow}", mean, bar, *more, f"{decides.n:,}", f"{row.seconds:.2f}")
        lines.append(line[one:])
    system_head, hops_head, _, _, *more_heads = view.head
    heads = (system_head, hops_head, deciding, "", *more_heads, "n", t("seconds"))[one:]
    bar_at, reach = 3 - one, 3 - one + len(measures)
    spare = {bar_at: BAR_SPARE, **{place: place for place in range(bar_at + 1, reach)}}
    spare |= {reach + 1: reach + 2, reach + 2: reach, reach + 3: reach + 3, len(heads) - 1: reach + 4}
    words = (bar_at,) if one else (0, bar_at)
    return View(heads, tuple(lines), words, spare=spare, whole=tuple(range(bar_at + 1)), styles=styles)


def _tags(found: Sweep, rows: Sequence[SweptSetting]) -> View:
    names, lines = _drawn(found, rows), []
    tags = [tag for tag in found.recommended if tag]
    for tag in sorted(tags, key=lambda pair: (-rows[0].by_tag[pair].questions, pair)):
        curves = []
        for name in names:
            mine = [row.by_tag[tag].measures[found.plan.decide_by].mean for row in rows if row.system == name]
            curves.append(f"{sparkline(mine)} {three(mine[0])} … {three(mine[-1])}")
        reach = [row.by_tag[tag].reach.oracle_recall for row in rows if row.system == names[0]]
        n = rows[0].by_tag[tag].measures[found.plan.decide_by].n
        few = found.recommended[tag].setting is None
        reason = shown(found.recommended[tag].reason)
        leading = found.recommended[tag].best
        if few and leading is not None and n:
            best = _named(found, found.settings[leading])
            reason = t("too few questions; best mean: {setting}", setting=best)
        elif few:
            reason = t("too few questions")
        lines.append((tag, f"{n:,}", *curves, sparkline(reach), _said(found, tag), reason))
    heads = (t("tag"), "n", *names, t("reachable within h hops"), t("recommended"), t("why"))
    return View(heads, tuple(lines), tuple(column for column in range(len(heads)) if column != 1))


def _said(found: Sweep, tag: str) -> str:
    setting = found.recommended[tag].setting
    if setting is None:
        return t("none")
    return _named(found, found.settings[setting])


def _named(found: Sweep, chosen: SweptSetting) -> str:
    """As flags: `--hops 3`, with what else the sweep varies before it."""
    hops = "" if chosen.hops is None else f"--hops {chosen.hops}"
    return f"{chosen.system} {hops}".strip() if len(found.plan.variants) > 1 else hops or chosen.system


def sparkline(values: Sequence[float]) -> str:
    """One character a value in [0, 1]; · where undefined."""
    return "".join("·" if math.isnan(value) else _EIGHTHS[min(7, int(8 * max(value, 0)))] for value in values)


def _some(ids: Sequence[str]) -> str:
    return f" ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''})" if ids else ""
