"""Answers in the terminal: scores and what they cost, overall and by tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiny_graph_rag.answers.records import LEAST_KAPPA, Answers
from tiny_graph_rag.llm.cost import Forecast, total
from tiny_graph_rag.messages import t, three
from tiny_graph_rag.report.json.answers import answer_slice
from tiny_graph_rag.report.tables import View, answer_scores
from tiny_graph_rag.report.terminal import Shown, StrongLine
from tiny_graph_rag.study.answer_scores import Answered, AnswerSlice


def money(usd: float | None, *, estimated: bool = False) -> str:
    """Unknown is reported, never 0; an estimate carries its sign."""
    return t("unknown") if usd is None else f"{'≈ ' if estimated else ''}${usd:.4f}"


def answers_lines(answered: Answered) -> Iterator[Shown]:
    """One row for all and one a tag: scores, answers, tokens, cost."""
    by_tag = sorted(answered.by_tag.items(), key=lambda item: (-len(item[1].rows), item[0]))
    rows = [
        (label, *(three(mean.mean) for mean in part.scores.values()), *_spent(answered.answers, part))
        for label, part in ((t("all"), answered.overall), *((f"  {tag}", part) for tag, part in by_tag))
    ]
    names = (name.replace("_", " ") for name in answered.overall.scores)
    head = (t("answers"), *names, t("failed"), t("abstained"), t("tokens"), t("cost"))
    yield View(head, tuple(rows))
    yield answer_scores(answer_slice(answered.answers, answered.overall)["scores"])
    if not answered.overall.scores["exact_match"].n:
        yield t("no question has a ground_truth: scores that compare answers with it are undefined (–)")
    unjudged = answered.overall.unjudged
    if unjudged:
        worst = ", ".join(f"{name} {count:,}" for name, count in unjudged.items())
        yield StrongLine(
            t("failed verdicts count as the worst value: {worst}; --resume asks again", worst=worst)
        )
    found = answered.answers.agreement
    if found is not None:
        yield t(
            "judge and gold set on {n} retrieved entities: Cohen's κ {kappa}",
            n=f"{found.n:,}",
            kappa=three(found.kappa),
        )
        if found.is_weak:
            weak = t(
                "the judge hardly agrees with the gold set (κ below {least}): its means are unreliable and "
                "marked with ?",
                least=f"{LEAST_KAPPA:g}",
            )
            yield StrongLine(weak)
    flips = answered.answers.flips
    if flips is not None:
        yield t(
            "preference: {flipped} of {n} verdicts changed with the order of the two answers",
            flipped=f"{flips.flipped:,}",
            n=f"{flips.n:,}",
        )


def _spent(answers: Answers, part: AnswerSlice) -> tuple[str, ...]:
    whole = total(answers.spent(part.rows).values())
    sign = "≈ " if whole.estimated else ""
    return (
        f"{part.failed:,}",
        f"{part.abstained:,}",
        f"{sign}{whole.tokens.total:,}",
        money(whole.cost_usd, estimated=whole.estimated),
    )


def forecast_lines(rows: Sequence[tuple[str, Forecast, tuple[float, float] | None]]) -> Iterator[Shown]:
    """What a run would call: by purpose, prompts counted, answers and so the cost from least to most."""
    for what, found, cost in rows:
        sign = "" if found.exact else "≈ "
        calls = t(
            "calls to send: {n}, answered already: {known}", n=f"{found.calls:,}", known=f"{found.known:,}"
        )
        yield f"{t(what)}: {calls}"
        least, likely, most = found.prompt_tokens
        yield f"  {t('prompt tokens')}: {sign}{likely:,} ({least:,}–{most:,})"
        yield f"  {t('answer tokens')}: {t('at most {n}', n=f'{found.most_answer_tokens:,}')}"
        shown = t("unknown") if cost is None else f"{sign}${cost[0]:.4f} – {sign}${cost[1]:.4f}"
        yield f"  {t('cost')}: {shown}"
    yield t("nothing was called and nothing written")
