"""What `generate` made, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import counted, listed, shown, t
from tiny_graph_rag.report.terminal import Shown

if TYPE_CHECKING:
    from tiny_graph_rag.gold.generate import Generated

SHOWN = 12  # relation types named
EXAMPLES = 5  # questions shown


def generated_lines(found: Generated, wanted: int, graph: str) -> Iterator[Shown]:
    made, whole = f"{len(found.questions):,}", f"{wanted:,}"
    title = counted(
        len(found.questions),
        "{made} question of {whole} requested",
        "{made} questions of {whole} requested",
        made=made,
        whole=whole,
    )
    yield title
    for question in found.questions[:EXAMPLES]:
        yield f"  {question.query} → {listed(question.reference_entities, 3) or '-'}"
    lacking = {shape: asked - found.found.get(shape, 0) for shape, asked in found.asked.items()}
    if any(missing > 0 for missing in lacking.values()):
        shapes = ", ".join(f"{shape} ({missing:,})" for shape, missing in lacking.items() if missing > 0)
        yield t("the graph has no more questions of: {shapes}", shapes=shapes)
    if found.unsaid:
        yield counted(
            len(found.unsaid),
            "{n} relation type is left out because there are no words for it: {types}. Add words in "
            "{vocabulary}",
            "{n} relation types are left out because there are no words for them: {types}. Add words "
            "in {vocabulary}",
            types=listed(found.unsaid, SHOWN),
            vocabulary=f"{graph}-vocabulary.yaml",
        )
    if found.relations:
        name, most = next(iter(found.relations.items()))
        yield t(
            "relations asked about: {n}; most often {name}, in {questions} ({times} times its fair share)",
            n=f"{len(found.relations):,}",
            name=name,
            questions=shown(amount(most, "question")),
            times=f"{found.most_over_fair:.2f}",
        )
