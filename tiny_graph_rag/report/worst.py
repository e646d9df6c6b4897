"""Which questions went worst, one of each kind of loss before a second of any, and what became of their
references: what the terminal, Markdown and LaTeX say of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from tiny_graph_rag.gold.nearest import joined_names
from tiny_graph_rag.messages import t
from tiny_graph_rag.report.plain import one_line, worst_by
from tiny_graph_rag.shown import listed
from tiny_graph_rag.study.waterfall import Verdict

Json = dict[str, Any]

BEST = 1.0
REFERENCES_SHOWN = 3  # missed ones of a question
TRIED_SHOWN = 5  # words that were looked for; the results file has them all
VERDICTS = {verdict.name.lower(): verdict for verdict in Verdict}


def worst_rows(
    values: Sequence[float | None], losses: Sequence[Hashable], nothing_lost: Hashable
) -> list[int]:
    """Rows of the questions below 1, worst first, but one of each kind of loss before a second of any.

    Of equal values the earlier one. The kind that costs most questions comes first; questions that lost
    nothing (their references are only ranked late) come after all others.

    values: of the measure that tells it, None or NaN where undefined. losses: the kind of loss of each.
    """
    known = [(value, row) for row, value in enumerate(values) if value is not None and value < BEST]
    kinds: dict[Hashable, list[int]] = {}
    for _, row in sorted(known):
        kinds.setdefault(losses[row], []).append(row)
    late = kinds.pop(nothing_lost, [])
    order = sorted(kinds.values(), key=lambda rows: (-len(rows), rows[0]))
    turns = range(max(map(len, order), default=0))
    return [*(rows[turn] for turn in turns for rows in order if turn < len(rows)), *late]


def worst_questions(content: Json) -> tuple[str, list[int]]:
    """(the measure that tells it, rows of `results`) of a results document; ("", []) where none tells it."""
    measure = worst_by(list(content["summary"]["measures"]))
    losses = [_loss(row) for row in content["results"]]
    return measure, worst_rows(
        [row["metrics"].get(measure) for row in content["results"]], losses, Verdict.HIT
    )


def _loss(question: Json) -> Verdict:
    """The first place where one of its references was lost; where nobody diagnosed it, whether one was."""
    if any("verdict" not in reference for reference in question["references"]):
        return Verdict.RANKED_BELOW_K if question.get("fn") else Verdict.HIT
    ends = [VERDICTS.get(reference["verdict"], Verdict.HIT) for reference in question["references"]]
    return min(ends, default=Verdict.HIT)


def reference_lines(question: Json, hops: int | None = None) -> Iterator[str]:
    """A line a reference that was missed: what stood in its way, with its figure; where none was, what else.

    question: as results files have it. hops: that were walked.
    """
    missed_names = set(question.get("fn") or ())  # all that is known where nobody diagnosed the references
    references = question["references"]
    missed = [
        reference
        for reference in references
        if reference.get("verdict", "hit" if reference["name"] not in missed_names else "missed") != "hit"
    ]
    for reference in missed[:REFERENCES_SHOWN]:
        yield f"{one_line(reference['name'], 40)}: {end_words(reference, hops)}"
    if len(missed) > REFERENCES_SHOWN:
        yield t("… and {n} more", n=len(missed) - REFERENCES_SHOWN)
    if not references:
        yield t("should return nothing, but returned entities")
    elif not missed:
        ranks = sorted(reference["rank"] for reference in references if reference.get("rank"))
        yield t("every reference was found: rank {ranks}", ranks=", ".join(map(str, ranks)))


def end_words(reference: Json, hops: int | None = None) -> str:
    """What became of a missed reference, with the figure that tells how far off it is."""
    verdict, rank, hop = reference.get("verdict", "missed"), reference.get("rank"), reference.get("hop")
    if verdict == "beyond_hops" and hop:
        return t("needs {n} hops", n=hop)
    if verdict == "ranked_below_k" and rank and hop and hops is not None and hop > hops:
        return t("at rank {n}, found without a path; needs {hops} hops", n=rank, hops=hop)
    if verdict == "ranked_below_k" and rank:
        return t("at rank {n}", n=rank)
    if verdict == "no_seed":
        tried = reference.get("tried") or ()
        if tried:
            words = listed(tried, TRIED_SHOWN)
            return t("no entity of the question was recognised; looked for: {words}", words=words)
        return t("no entity of the question was recognised")
    if verdict == "not_in_graph":
        near = reference.get("nearest") or ()
        if joined := joined_names(reference["name"], near):
            return t("several names in one; put ';' between them: {names}", names="; ".join(joined))
        if near:
            return t("not in the graph; nearest names: {names}", names=", ".join(near[:3]))
    return t(END_WORDS.get(verdict, verdict.replace("_", " ")))


END_WORDS = {
    "missed": "missed",
    "below_depth": "reached, but not among the --depth entities returned",
    "not_in_run": "not returned by the retriever",
    "filtered": "removed by a filter option",
    "unreachable": "no path from any seed",
    "below_min_score": "reached, but its score is below --min-score",
    "beyond_hops": "farther than --hops",
    "ranked_below_k": "ranked below k",
    "not_in_graph": "not in the graph",
}
