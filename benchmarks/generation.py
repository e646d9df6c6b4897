"""Our answering beside a bare loop over the client library, against one server, in one run.

    uv run python -m benchmarks.generation                       # 500 questions, 32 at once, 200 ms latency

Both send the same prompts. Ours makes them from the graph, keeps a journal and a cache on disk, holds a cap,
counts tokens and scores the answers; the bare loop keeps the answers' text. Imports are outside the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from tiny_graph_rag.answers.answering import AnsweringTask, answer_all, answer_template
from tiny_graph_rag.answers.context import ContextMaker
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.llm.base import Message
from tiny_graph_rag.llm.chat import Tariff, open_chat
from tiny_graph_rag.study.evaluate import evaluate

ROOT = Path(__file__).resolve().parent.parent
PRICES = {"test-model": {"input": 1.0, "output": 10.0}}


def story(folder: Path, questions: int) -> AnsweringTask:
    """A ring of people, each question about one of them, retrieved two hops around."""
    names = [f"Person {n}" for n in range(questions)]
    entities = {
        name: {"name": name, "description": f"{name} lives in house {n}."} for n, name in enumerate(names)
    }
    relations = [
        {
            "source_entity_id": name,
            "target_entity_id": names[(n + step) % questions],
            "relationship_type": "KNOWS",
        }
        for n, name in enumerate(names)
        for step in (1, 2, 5)
    ]
    graph, gold = folder / "ring-KG.json", folder / "ring-eval.jsonl"
    graph.write_text(json.dumps({"entities": entities, "relationships": relations}))
    rows = (
        {"query": f"Whom does {name} know?", "reference_entities": [name], "ground_truth": name}
        for name in names
    )
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = Config().override(latency_sample=0, model="test-model", prices=PRICES, graph_cache=False)
    evaluation = evaluate(read_graph(graph), read_eval_set(gold), config, ())
    contexts = ContextMaker(evaluation.graph, Tariff(config).counter("test-model"), 2000)
    return AnsweringTask(
        evaluation.examples,
        evaluation.linked,
        evaluation.run,
        contexts,
        answer_template(""),
        config,
        evaluation.judgments.references,
    )


def as_message(message: Message) -> ChatCompletionMessageParam:
    if message.role == "system":
        return {"role": "system", "content": message.content}
    return {"role": "user", "content": message.content}


async def bare(address: str, asked: AnsweringTask, concurrency: int) -> list[str]:
    """What a user would write in ten lines."""
    room = asyncio.Semaphore(concurrency)
    prompts = [[as_message(message) for message in call.messages] for call in asked.calls()]
    async with AsyncOpenAI(api_key="none", base_url=address, max_retries=0) as client:

        async def one(messages: list[ChatCompletionMessageParam]) -> str:
            async with room:
                answer = await client.chat.completions.create(
                    model="test-model", messages=messages, max_tokens=512, temperature=0
                )
                return answer.choices[0].message.content or ""

        return await asyncio.gather(*(one(messages) for messages in prompts))


def ours(address: str, asked: AnsweringTask, concurrency: int, folder: Path) -> list[str]:
    config = asked.config.override(base_url=address, concurrency=concurrency)
    chat = open_chat(config, Tariff(config), folder / "run.journal.jsonl", cap_usd=1000.0)
    chat.cache = None if chat.cache is None else type(chat.cache)(folder / "answers")
    try:
        return [row.text for row in answer_all(asked, chat).rows]
    finally:
        assert chat.journal is not None
        chat.journal.close()


def timed(work: Callable[[], list[str]]) -> float:
    started = time.perf_counter()
    answers = work()
    seconds = time.perf_counter() - started
    assert all(answers)
    return seconds


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--questions", type=int, default=500)
    options.add_argument("--concurrency", type=int, default=32)
    options.add_argument("--latency", type=float, default=0.2, help="seconds")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    command = [sys.executable, "-m", "tests.tools.chat_server", "--latency", str(given.latency)]
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            asked = story(Path(name), given.questions)
            asyncio.run(bare(address, asked, given.concurrency))  # warm: imports inside the client library
            seconds: dict[str, list[float]] = {"bare": [], "ours": []}
            peaks = []
            for number in range(given.rounds):
                folder = Path(name) / str(number)
                folder.mkdir()
                seconds["bare"].append(timed(lambda: asyncio.run(bare(address, asked, given.concurrency))))
                seconds["ours"].append(timed(partial(ours, address, asked, given.concurrency, folder)))
                peaks.append(peak_mib())
        finally:
            server.kill()
    print(
        f"{given.questions:,} questions, {given.concurrency} at once, {given.latency:g} s latency; "
        "seconds a round:"
    )
    for who, part in seconds.items():
        print(f"  {who}  {'  '.join(f'{value:.2f}' for value in part)}  median {median(part):.2f}")
    print(f"  ratio of medians {median(seconds['ours']) / median(seconds['bare']):.3f} (at most 1.15)")
    print(f"  peak memory after each round, MiB: {', '.join(f'{value:.0f}' for value in peaks)}")


if __name__ == "__main__":
    main()
