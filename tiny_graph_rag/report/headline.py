"""What a reader should know first: for how many questions the answer came back, where it is weakest, and what
changed since an earlier run.
"""

from __future__ import annotations

from typing import Any

from tiny_graph_rag.errors import UsageError, amount
from tiny_graph_rag.messages import Said, p_value, said, three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.history import earlier_results, past_of
from tiny_graph_rag.report.plain import rises, worst_by
from tiny_graph_rag.study.compare import compare, incomparable
from tiny_graph_rag.study.results_file import read_system, system_of

Json = dict[str, Any]

LEAST_OF_A_TAG = 5  # questions: a tag with fewer is no place to look first


def headline(content: Json) -> list[Said]:
    """Sentences on one result, the most telling first; none where nothing was scored."""
    lines = [line for line in (_answered(content),) if line is not None]
    weakest = _weakest(content["summary"])
    return [*lines, weakest] if weakest is not None else lines


def _answered(content: Json) -> Said | None:
    """How many questions have their references among the first k.

    None where entities were not judged: a run of passages or relations only.
    """
    summary = content["summary"]
    judged = [
        measure
        for measure, mean in summary["measures"].items()
        if ":" not in measure and mean["mean"] is not None
    ]
    questions = [row for row in content["results"] if row["references"] and "tp" in row and "fn" in row]
    if not judged or not questions:
        return None
    whole = sum(not row["fn"] for row in questions)
    part = sum(bool(row["fn"]) and bool(row["tp"]) for row in questions)
    values = {"whole": f"{whole:,}", "questions": amount(len(questions), "question"), "k": summary["k"]}
    if all(len(row["references"]) == 1 for row in questions):
        return said("For {whole} of {questions} the answer is among the first {k}.", **values)
    if not part:
        return said("For {whole} of {questions} the whole answer is among the first {k}.", **values)
    return said(
        "For {whole} of {questions} the whole answer is among the first {k}, for {part} more a part of it.",
        **values,
        part=f"{part:,}",
    )


def _weakest(summary: Json) -> Said | None:
    """The tag with the worst mean; None where no tag is worse than all questions together."""
    measure = worst_by(list(summary["measures"]))
    overall = summary["measures"].get(measure)
    if overall is None or overall["mean"] is None:
        return None
    means = {tag: part["measures"].get(measure) for tag, part in summary.get("by_tag", {}).items()}
    known = {
        tag: mean
        for tag, mean in means.items()
        if mean and mean["mean"] is not None and LEAST_OF_A_TAG <= mean["n"] < overall["n"]
    }
    if not known:
        return None
    sign = 1 if rises(measure) else -1
    tag = min(known, key=lambda tag: sign * known[tag]["mean"])
    if sign * known[tag]["mean"] >= sign * overall["mean"]:
        return None
    return said(
        "Weakest: {tag} ({measure} {mean} over {questions}; {overall} over all).",
        tag=tag,
        measure=measure,
        mean=three(known[tag]["mean"]),
        questions=amount(known[tag]["n"], "question"),
        overall=three(overall["mean"]),
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
    elif row.is_sure:
        lines = [
            said(
                "Since {run}: {measure} {before} → {now}, a significant change (p {p}); {better} better, "
                "{worse} worse.",
                **values,
            )
        ]
    else:
        lines = [
            said(
                "Since {run}: {measure} {before} → {now}, which may be chance (p {p}); {better} better, "
                "{worse} worse.",
                **values,
            )
        ]
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
