"""What a reader should know first: for how many questions the answer came back, where it is weakest, and what
changed since an earlier run.
"""

from __future__ import annotations

from typing import Any

from tiny_graph_rag.config.settings import changed_settings, spelled_setting
from tiny_graph_rag.errors import UsageError, amount
from tiny_graph_rag.messages import Said, counted, p_value, said, three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.history import earlier_results, past_of
from tiny_graph_rag.report.plain import one_line, rises, walked, worst_by
from tiny_graph_rag.study.compare import compare, incomparable
from tiny_graph_rag.study.results_file import read_system, system_of

Json = dict[str, Any]

SURE_CHANGE = (
    "Since {run}: {measure} {before} → {now}, a significant change (p {p}); {better} better, {worse} worse."
)
UNSURE_CHANGE = (
    "Since {run}: {measure} {before} → {now}, which may be chance (p {p}); {better} better, {worse} worse."
)
LEAST_OF_A_TAG = 5  # questions: a tag with fewer is no place to look first
LONGEST_SUBJECT = 120  # characters of who retrieved
NOT_NAMED = ("retriever", "hops", "latency_sample")  # named apart, or changing no figure


def subject(content: Json) -> str:
    """What a document is about, in one line: `set · 57 questions · bfs, 2 hops`, and each setting that is not
    the default."""
    summary = content.get("summary") or {}
    questions = summary.get("questions", content.get("questions") if content["kind"] == "sweep" else None)
    parts = [
        one_line((content.get("dataset") or {}).get("name") or "", 60),
        counted(questions, "{n} question", "{n} questions") if questions is not None else "",
        system_words(content),
    ]
    return " · ".join(part for part in parts if part)


def system_words(content: Json) -> str:
    """Who retrieved: `bfs, 2 hops` and the settings that are not the default, or the name of the run."""
    if content["kind"] == "score":
        return one_line((content.get("run") or {}).get("name") or "", 40)
    retrieval = (content.get("config") or {}).get("retrieval") or {}
    if content["kind"] == "sweep":
        return ", ".join(dict.fromkeys(str(setting["system"]) for setting in content["settings"]))
    if "retriever" not in retrieval:
        return ""
    parts = [str(retrieval["retriever"])]
    if "hops" in retrieval and walked(content.get("summary") or {}):
        parts.append(counted(retrieval["hops"], "{n} hop", "{n} hops"))
    changed = changed_settings(content["config"])
    parts += [spelled_setting(name, changed[name]) for name in changed if name not in NOT_NAMED]
    return one_line(", ".join(parts), LONGEST_SUBJECT)


def headline(content: Json) -> list[Said]:
    """Sentences on one result, the most telling first; none where nothing was scored."""
    summary = content["summary"]
    judged = any(":" not in name and mean["mean"] is not None for name, mean in summary["measures"].items())
    rows = [row for row in content["results"] if row["references"] and "tp" in row and "fn" in row]
    whole, part = sum(not row["fn"] for row in rows), sum(bool(row["fn"] and row["tp"]) for row in rows)
    lines = [answered(whole, part, len(rows), summary["k"])] if judged and rows else []
    weakest = weakest_tags(summary)
    return [*lines, _weakest(summary, weakest[0])] if weakest else lines


def answered(whole: int, part: int, questions: int, cutoff: int) -> Said:
    """How many questions have all of their references among the first k, and how many some of them."""
    values = {"whole": f"{whole:,}", "questions": amount(questions, "question"), "k": cutoff}
    if not part:
        return said("{whole} of {questions}: the answer is among the first {k}.", **values)
    return said(
        "{whole} of {questions}: the whole answer is among the first {k}; {part} more in part.",
        **values,
        part=f"{part:,}",
    )


def weakest_tags(summary: Json) -> list[str]:
    """Tags whose mean is worse than that of all questions by the measure that tells most, worst first."""
    measure = worst_by(list(summary["measures"]))
    overall = summary["measures"].get(measure)
    if overall is None or overall["mean"] is None:
        return []
    means = {tag: part["measures"].get(measure) for tag, part in summary.get("by_tag", {}).items()}
    sign = 1 if rises(measure) else -1
    known = {
        tag: sign * mean["mean"]
        for tag, mean in means.items()
        if mean and mean["mean"] is not None and LEAST_OF_A_TAG <= mean["n"] < overall["n"]
    }
    return sorted((tag for tag in known if known[tag] < sign * overall["mean"]), key=known.__getitem__)


def _weakest(summary: Json, tag: str) -> Said:
    measure = worst_by(list(summary["measures"]))
    mean = summary["by_tag"][tag]["measures"][measure]
    return said(
        "Weakest: {tag} ({measure} {mean} over {questions}; {overall} over all).",
        tag=tag,
        measure=measure,
        mean=three(mean["mean"]),
        questions=amount(mean["n"], "question"),
        overall=three(summary["measures"][measure]["mean"]),
    )


def changes_since(document: Document) -> list[Said]:
    """What changed since an earlier run: the measure that tells most, questions, settings.

    The earlier run is `document.since`, else the latest under `history/` next to the file that is of the same
    questions; no sentence where there is none. Raises UsageError where `since` holds other questions.
    """
    if not document.has_questions:
        return []
    earlier = document.since or earlier_results(document.path)
    if earlier is None:
        return []
    systems = [read_system(earlier), system_of(document.content, document.path)]
    reasons = incomparable(systems)
    if reasons:
        if document.since is not None:
            raise UsageError("--since: {reasons}", reasons="; ".join(reasons))
        return []
    (before, now), past = systems, past_of(earlier)
    measure = worst_by([measure for measure in now.columns if measure in before.columns])
    if not measure:
        return []
    found = compare(systems, measures=[measure], by_tag=False)
    was, row = found.overall[measure]
    values = {
        "run": before.name if past is None else f"{before.name} ({past.at:%Y-%m-%d %H:%M} UTC)",
        "measure": measure,
        "before": three(was.mean),
        "now": three(row.mean),
        "better": amount(row.wins or 0, "question"),
        "worse": row.losses or 0,
        "p": p_value(row.p_holm),
    }
    if not row.wins and not row.losses:
        lines = [said("No question changed since {run} ({measure} {now}).", **values)]
    else:
        lines = [said(SURE_CHANGE if row.is_sure else UNSURE_CHANGE, **values)]
    changed = ["graph"] if before.graph_sha256 != now.graph_sha256 else []
    changed += [
        f"{name.rpartition('.')[2]} {_value(old)} → {_value(new)}"
        for name, (old, new) in found.differs.items()
    ]
    if changed:
        lines.append(said("Changed: {what}.", what="; ".join(changed)))
    return lines


def _value(setting: object) -> str:
    return "–" if setting is None else str(setting)
