"""`--dry-run`: what a run would call and cost, without calling anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiny_graph_rag.llm.base import Call, Tokens
from tiny_graph_rag.llm.cost import Price, TokenCounter


@dataclass(frozen=True, slots=True)
class Forecast:
    """calls: to be made. known: of those asked for, already answered in journal or cache. prompt_tokens: at
    least, likely and at most. most_answer_tokens: if each answer is as long as it may be. exact: a tokenizer
    counted."""

    calls: int
    known: int
    prompt_tokens: tuple[int, int, int]
    most_answer_tokens: int
    exact: bool

    def cost_usd(self, price: Price | None) -> tuple[float, float] | None:
        """From answers of no length to answers of the greatest; None where the price is unknown."""
        if price is None:
            return None
        least, _, most = self.prompt_tokens
        return price.cost(Tokens(least)), price.cost(Tokens(most, self.most_answer_tokens))


def forecast(
    calls: Iterable[Call],
    counter: TokenCounter,
    is_known: Callable[[Call], bool] = lambda call: False,
    *,
    more_prompt: int = 0,
) -> Forecast:
    """is_known: whether a call is already answered and would not be made. more_prompt: tokens that each
    prompt may have more than now (a judge's, of an answer that is not written yet)."""
    made = known = least = likely = most = answers = 0
    for call in calls:
        if is_known(call):
            known += 1
            continue
        made += 1
        of_prompt = counter.prompt(call)
        least, likely = least + of_prompt[0], likely + of_prompt[1]
        most += of_prompt[2] + more_prompt
        answers += call.max_tokens
    return Forecast(made, known, (least, likely, most), answers, counter.exact)
