"""Small things that all reports share: text made safe for places that read more than letters into it, figures
rounded, and what is worth showing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.messages import counted, t
from tiny_graph_rag.messages import three as three

if TYPE_CHECKING:
    from tiny_graph_rag.measures.base import Measure

Json = Mapping[str, Any]

LONGEST = 900  # characters of a paragraph or cell

# Joiners hold emoji and some scripts together; every other invisible sign can hide or turn text around.
_KEPT_INVISIBLE = "\u200c\u200d"
# Steps that only a retriever which walks has.
OF_HOPS = ("within --hops of a named entity", "returned")
# What became of a reference, as every report says it.
VERDICT_WORDS = {
    "not_in_graph": "not in the graph",
    "no_seed": "the question's entity was not recognised",
    "unreachable": "no path from the named entities",
    "filtered": "removed by a filter option",
    "beyond_hops": "farther than --hops",
    "below_min_score": "score below retrieval.min_score",
    "below_depth": "below retrieval.depth",
    "not_in_run": "not returned by the retriever",
    "ranked_below_k": "ranked below k",
    "missed": "missed",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def without_controls(text: str) -> str:
    """`text` less what a terminal would obey or hide: control signs (but line ends and tabs), C1, bidi marks.

    Names from graphs and answers pass through here on their way to any terminal, pipe or log.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        sign
        for sign in text
        if sign in "\n\t" or sign in _KEPT_INVISIBLE or unicodedata.category(sign) not in ("Cc", "Cf", "Cs")
    )


def one_line(text: str, most: int = 200) -> str:
    """`text` in one line without control signs, terminal commands or marks that turn its direction.

    most: characters; what is longer ends in an ellipsis.
    """
    shown = without_controls("".join(" " if sign.isspace() else sign for sign in text[: most * 2]))
    return f"{shown[: most - 1]}…" if len(shown) > most or len(text) > most * 2 else shown


def cut(text: str, width: int) -> str:
    """`text` in `width` columns of a terminal at most; what is longer ends in an ellipsis, never inside a
    number."""
    if cell_width(text) <= width:
        return text
    kept, used = [], 1
    for sign in text:
        used += cell_width(sign)
        if used > width:
            break
        kept.append(sign)
    if text[len(kept)].isdigit():
        while kept and (kept[-1].isdigit() or kept[-1] in ".,−"):
            kept.pop()
    return "".join(kept).rstrip() + "…"


def cell_width(text: str) -> int:
    """How many columns of a terminal a line takes: two for a wide sign (Hangul, Han), none for a mark."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )


def wrapped(text: str, width: int, indent: str = "", most: int | None = None) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces; a longer word stays whole. indent: before
    every line after the first. most: lines; of more the last ends in an ellipsis."""
    lines = [""]
    for word in re.findall(r"\s*\S+", text):
        if lines[-1].strip() and cell_width(lines[-1] + word) > width:
            lines.append(indent + word.lstrip())
        else:
            lines[-1] += word
    if most and len(lines) > most:
        lines[most - 1 :] = [cut(f"{lines[most - 1]} {lines[most].lstrip()}", width)]
    return lines


def markdown_text(text: str, most: int = 200) -> str:
    """`text` as plain words of a Markdown line or table cell."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, most))


def points_lost(loss: float) -> str:
    """Recall of a step, in points of a hundred; one that loses nothing is a plain 0."""
    return f"−{100 * loss:.1f}" if loss > 0 else "0"


def cost_figure(cost: float) -> str:
    """A cost or a part of one, with all of its digits: so printed parts add up to the printed total."""
    return f"{cost:.6f}".rstrip("0").rstrip(".")


def walked(summary: Json) -> bool:
    """Whether what was measured walks, so that its hops are worth a word: a retriever that doesn't loses
    nothing to hops, and its waterfall has no such step."""
    steps = summary.get("waterfall") or ()
    return not steps or any(step["step"] in OF_HOPS for step in steps)


def step_words(step: str, cutoff: object) -> str:
    """A step of the waterfall with the k of its run."""
    return f"recall@{cutoff}" if step == "recall@k" else t(step)


def worst_by(measures: Sequence[str], cutoff: int | None = None) -> str:
    """The measure that says which questions went worst, as spelled, of entities where one is; empty where
    there is none. cutoff: as `telling` has it."""
    from tiny_graph_rag.measures.base import telling

    known = {name: measure for name in measures if (measure := _known(name)) is not None}
    of_entities = [measure for measure in known.values() if not measure.of]
    chosen = telling(of_entities or list(known.values()), cutoff)
    return next((key for key, measure in known.items() if measure == chosen), "")


def tags_of(summary: Json) -> list[tuple[str, Any]]:
    """(tag, what is known of its questions), most questions first."""
    return sorted(summary.get("by_tag", {}).items(), key=lambda pair: (-pair[1]["questions"], pair[0]))


def swept_measures(content: Json) -> list[str]:
    """Every measure of a sweep: those without a cutoff stand in all of its settings, others in some."""
    return list(dict.fromkeys(measure for setting in content["settings"] for measure in setting["measures"]))


def rises(measure: str) -> bool:
    """Whether more of it is better; so it is taken to be of one that nobody knows here."""
    known = _known(measure)
    return known is None or known.kind.higher_is_better


def _known(measure: str) -> Measure | None:
    """None for one of a package that isn't installed, or a score of answers."""
    from tiny_graph_rag.measures.base import KINDS, Measure

    name = re.split("[@(]", measure.rpartition(":")[2])[0]
    return Measure.parse(measure) if name in KINDS else None


def verdict_words(verdict: str, cutoff: object = "k", hops: int | None = None) -> str:
    """A verdict of a results file as people read it, with the k and the hops of its run where given."""
    if verdict == "hit":
        return t("in the first {k}", k=cutoff)
    if verdict == "ranked_below_k":
        return t("ranked below {k}", k=cutoff)
    if verdict == "beyond_hops" and hops is not None:
        return counted(
            hops,
            "farther than {n} hop from the named entities",
            "farther than {n} hops from the named entities",
        )
    return t(VERDICT_WORDS.get(verdict, verdict.replace("_", " ")))


def without_gold(part: Json) -> str:
    """How many questions have no reference, and what became of them; "" where all have one.

    part: a slice of a summary. Measures of refusals score these questions too, all others leave them out.
    """
    if not part["without_gold"]:
        return ""
    has_passages = any(measure.startswith("passages:") for measure in part["measures"])
    if has_passages and part["without_gold"] == part["questions"]:
        scored = max(mean["n"] for mean in part["measures"].values())
        n = counted(scored, "{n} question", "{n} questions")
        return t("no question has reference entities; the passages of {n} count", n=n)
    empty, failed = part.get("rightly_empty", 0), part.get("failed_without_gold", 0)
    sentence = counted(
        part["without_gold"],
        "{n} no-answer question: {empty} correctly returned nothing, {wrong} returned entities",
        "{n} no-answer questions: {empty} correctly returned nothing, {wrong} returned entities",
        empty=f"{empty:,}",
        wrong=f"{part['without_gold'] - empty - failed:,}",
    )
    return sentence + (t(", {n} failed or not in the run", n=f"{failed:,}") if failed else "")


def failed_words(failed: int) -> str:
    return counted(
        failed,
        "{n} question failed or is not in the run: it gets the worst value of every measure",
        "{n} questions failed or are not in the run: they get the worst value of every measure",
    )
