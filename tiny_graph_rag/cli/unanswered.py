"""How a run ends in which questions got no answer, or with `--linker llm` no link."""

from __future__ import annotations

from tiny_graph_rag.cli.answering import Answering
from tiny_graph_rag.cli.linking import failed_links
from tiny_graph_rag.errors import FoundProblems, ServiceError, TinyGraphRagError
from tiny_graph_rag.evaluation.runner import Evaluation
from tiny_graph_rag.llm.chat import NOT_ASKED

SHOWN_FAILURES = 5


def problems(answering: Answering, evaluation: Evaluation) -> list[TinyGraphRagError]:
    """Once results are written: list the questions that failed, and give what the command must end with.

    That is FoundProblems (exit code 1) where the cap stopped the run, ServiceError (3) where too much
    failed. Listed before anything ends, so that a gate that fails as well hides none of them.
    """
    session, questions = answering.session, len(evaluation.examples)
    wanted = "answer" if answering.generates else "link"
    failed = _failed(evaluation)
    reasons = [f"{id}: {error}" for id, error in failed if error != NOT_ASKED]
    for line in reasons[:SHOWN_FAILURES]:
        session.warn(f"no {wanted} to {line}")
    if len(reasons) > SHOWN_FAILURES:
        session.warn(f"… and {len(reasons) - SHOWN_FAILURES:,} more, all in the results")
    if _was_stopped(answering, evaluation):
        verdicts = ", verdicts are missing" if answering.judges else ""
        return [
            FoundProblems(
                f"the run stopped before --max-cost {answering.chat.cap_usd:g}: {len(failed):,} of "
                f"{questions:,} questions have no {wanted} and score 0{verdicts}. "
                "--resume with a higher cap goes on"
            )
        ]
    if not failed:
        return []
    if len(failed) / questions >= session.config.generation.fail_on_error:
        return [
            ServiceError(
                f"{len(failed):,} of {questions:,} questions have no {wanted}, first {reasons[0]}. "
                "--retry-failed asks them again; --fail-on-error sets the share that is too much"
            )
        ]
    session.say(f"{len(failed):,} questions have no {wanted} and score 0; --retry-failed asks them again")
    return []


def _failed(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Id and reason of each question without what was wanted."""
    ids = [each.id for each in evaluation.examples]
    if evaluation.answered is None:
        return failed_links(ids, evaluation.linked)
    answers = evaluation.answered.answers.rows
    return [(id, each.error) for id, each in zip(ids, answers, strict=True) if each.error is not None]


def _was_stopped(answering: Answering, evaluation: Evaluation) -> bool:
    if evaluation.answered is not None:
        return not evaluation.answered.answers.complete
    return answering.chat.ledger.stopped is not None
