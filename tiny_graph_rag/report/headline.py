"""What a reader should know first: for how many questions the answer came back, and where it is weakest."""

from __future__ import annotations

from typing import Any

from tiny_graph_rag.config import changed_settings, spelled_setting
from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import Said, counted, said, three
from tiny_graph_rag.report.plain import one_line, rises, walked, worst_by

Json = dict[str, Any]

LEAST_OF_A_TAG = 5  # questions: a tag with fewer is no place to look first
LONGEST_SUBJECT = 120  # characters of who retrieved
NOT_NAMED = ("retriever", "hops", "latency_sample", "openai.base_url")  # named apart, or changing no figure


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
        return "; ".join(dict.fromkeys(str(setting["system"]) for setting in content["settings"]))
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
