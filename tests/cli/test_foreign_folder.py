"""A folder from somebody else: no command there runs its code or takes the key elsewhere until it is trusted.

Commands run as processes of their own with a tripwire: `sitecustomize` on their path logs every address that
they, or processes that they start, look up or connect to. Modules of the folder write a file when they run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HANGS, ROOT, write_gold, write_kg
from tests.tools.chat_server import ChatServer, answer

KEY = "sk-of-the-environment-0001"
ELSEWHERE = "https://elsewhere.invalid/v1"
TRIPWIRE = """
import os, sys
def _hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        address = arguments[0] if event == "socket.getaddrinfo" else arguments[-1]
        with open(os.environ["TRIPWIRE"], "a") as log:
            log.write(f"{address}\\n")
sys.addaudithook(_hook)
"""
RUNS = "import pathlib, sys\npathlib.Path({mark!r}).open('a').write(__name__ + '\\n')\n"
# Names that the program or its libraries import while a command runs.
SHADOWS = [
    "yaml",
    "numpy",
    "msgspec",
    "rich",
    "typer",
    "html",
    "csv",
    "openai",
    "tiktoken",
    "genai_prices",
    "mcp",
]
EVAL = ("eval", "--dataset", "tale-eval.jsonl")
RETRIEVAL = (*EVAL, "--skip-generation")


@pytest.fixture
def folder(own_folder: Path) -> Path:
    foreign = own_folder / "foreign"
    write_kg(foreign / "data/kg/tale-KG.json", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")])
    write_gold(
        foreign / "data/eval/tale-eval.jsonl",
        {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"]},
    )
    for name in SHADOWS:
        (foreign / f"{name}.py").write_text(RUNS.format(mark=str(own_folder / "ran")))
    code = RUNS.format(mark=str(own_folder / "ran")) + "def ask(question):\n    return ['Bert']\n"
    (foreign / "theirs.py").write_text(code)
    (foreign / "code").mkdir()
    (foreign / "code/theirs.py").write_text(code)
    (own_folder / "wire").mkdir()
    (own_folder / "wire/sitecustomize.py").write_text(TRIPWIRE)
    return foreign


def settings(folder: Path, text: str) -> None:
    (folder / "config.yaml").write_text(text)


def tripwire(home: Path) -> dict[str, str]:
    """The environment in which every address is logged."""
    path = os.pathsep.join([str(home / "wire"), str(ROOT)])
    return {"PYTHONPATH": path, "TRIPWIRE": str(home / "connected")}


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    home = folder.parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.run(
        [sys.executable, "-m", "tiny_graph_rag", *arguments],
        cwd=folder,
        env={
            **kept,
            **tripwire(home),
            "OPENAI_API_KEY": KEY,
            "XDG_DATA_HOME": str(home / "data-home"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )


def logged(folder: Path, name: str) -> list[str]:
    log = folder.parent / name
    return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(lambda request: answer("Bert [1].", request)) as started:
        yield started


def keys_seen(server: ChatServer) -> list[str]:
    return [value for request in server.requests for value in request.headers.values() if KEY in value]


ADDRESS = f"openai: {{base_url: '{ELSEWHERE}'}}"
CODE = "retrieval: {retriever: 'theirs.py:ask'}"
SWEEP = ("sweep", "--dataset", "tale-eval.jsonl", "--hops", "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "command", "says"),
    [
        (ADDRESS, EVAL, "openai.base_url is https://elsewhere.invalid/v1"),
        (ADDRESS, (*RETRIEVAL, "--linker", "llm"), "isn't trusted"),
        (ADDRESS, (*RETRIEVAL, "--retriever", "dense"), "isn't trusted"),
        (ADDRESS, ("query", "Who is Anna?"), "isn't trusted"),
        (ADDRESS, ("generate", "--rewrite", "-g", "tale-KG.json"), "isn't trusted"),
        (CODE, RETRIEVAL, "names code (theirs.py:ask)"),
        ("retrieval: {retriever: 'code.theirs:ask'}", RETRIEVAL, "names code"),
        (CODE, SWEEP, "names code"),
    ],
)
def test_neither_key_nor_code_by_a_folders_settings(
    folder: Path, text: str, command: tuple[str, ...], says: str
) -> None:
    settings(folder, text)
    done = run(folder, *command)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert "--trust-config" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr
    assert logged(folder, "connected") == []
    assert logged(folder, "ran") == []


@pytest.mark.slow
def test_what_no_file_but_the_user_says_needs_no_trust(folder: Path, server: ChatServer) -> None:
    settings(folder, f"openai: {{base_url: '{ELSEWHERE}'}}\nretrieval: {{retriever: 'theirs.py:ask'}}")
    done = run(folder, *EVAL, "--retriever", "bfs", OPENAI_BASE_URL=server.url)
    assert done.returncode == 0, done.stderr
    assert keys_seen(server)
    assert logged(folder, "ran") == []
    assert {address.split(",")[0] for address in logged(folder, "connected")} <= {"('127.0.0.1'", "127.0.0.1"}
    assert run(folder, *RETRIEVAL, "--retriever", "theirs.py:ask").returncode == 0
    assert logged(folder, "ran") == ["retriever_theirs"]


@pytest.mark.slow
def test_on_this_machine_the_folders_server_is_asked_without_the_key(
    folder: Path, server: ChatServer
) -> None:
    settings(folder, f"openai: {{base_url: '{server.url}'}}")
    done = run(folder, *EVAL)
    assert done.returncode == 0, done.stderr
    assert "OPENAI_API_KEY isn't sent to" in done.stderr
    assert server.requests
    assert keys_seen(server) == []


@pytest.mark.slow
def test_trust_is_of_one_file_with_one_content(folder: Path, server: ChatServer) -> None:
    text = f"openai: {{base_url: '{server.url}'}}\nretrieval: {{retriever: 'theirs.py:ask'}}\n"
    settings(folder, text)
    assert run(folder, *EVAL, "--trust-config").returncode == 0
    assert keys_seen(server)
    assert logged(folder, "ran") == ["retriever_theirs"]
    assert run(folder, *RETRIEVAL).returncode == 0, "it is remembered"
    settings(folder, text + "# another\n")
    assert run(folder, *RETRIEVAL).returncode == 2, "another content"
    settings(folder, text)
    assert run(folder, *RETRIEVAL).returncode == 0
    folder.rename(folder.with_name("moved"))
    assert run(folder.with_name("moved"), *RETRIEVAL).returncode == 2, "another folder"


@pytest.mark.slow
def test_a_trusted_address_gets_no_key_over_plain_http(folder: Path) -> None:
    settings(folder, "openai: {base_url: 'http://192.0.2.7/v1'}")
    done = run(folder, *EVAL, "--trust-config")
    assert done.returncode == 2
    assert "over plain http" in done.stderr
    done = run(folder, *EVAL, OPENAI_BASE_URL="http://192.0.2.7/v1")
    assert done.returncode == 2
    assert "over plain http" in done.stderr
    assert logged(folder, "connected") == []


@pytest.mark.slow
def test_modules_of_the_folder_are_not_imported(folder: Path) -> None:
    for command in (RETRIEVAL, ("stats",), ("measures",), ("validate", "--dataset", "tale-eval.jsonl")):
        done = run(folder, *command)
        assert done.returncode == 0, done.stderr
    assert logged(folder, "ran") == []
    assert logged(folder, "connected") == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_no_tool_of_the_mcp_server_connects_runs_code_or_reads_outside(folder: Path) -> None:
    pytest.importorskip("mcp")
    from tests.cli.test_mcp import with_client

    home = folder.parent
    (home / "outside").mkdir()
    (home / "outside/secret-eval.jsonl").write_text("a secret line\n")
    words = home / "outside/words.yaml"
    words.write_text("KNOWS: [a secret: word]\n")
    settings(
        folder,
        f"openai: {{base_url: '{ELSEWHERE}'}}\n"
        f"retrieval: {{retriever: 'theirs.py:ask', linker: llm, "
        f"vocabulary: {words}}}\n"
        f"generation: {{prompt: {words}}}\n",
    )
    both = {"graph": "tale-KG.json", "dataset": "tale-eval.jsonl"}
    calls = {
        "files": {}, "stats": {"graph": "tale-KG.json"}, "eval": both, "sweep": both, "validate": both,
        "query": {**both, "id": "q1"},
        "generate": {"graph": "tale-KG.json", "name": "new", "n": 1, "shapes": "single", "hops": "1"},
    }  # fmt: skip

    async def work(client: Any) -> None:
        for tool, arguments in calls.items():
            reply = await client.call_tool(tool, arguments)
            assert "secret" not in json.dumps(reply.structured_content), tool
            assert tool == "generate" or not reply.is_error, (tool, reply.content)
        for retriever in ("theirs.py:ask", "code.theirs:ask", "run:outside", "bfs,theirs.py:ask"):
            reply = await client.call_tool("eval", {**both, "retriever": retriever})
            assert "the tools run no file" in reply.content[0].text

    with_client(folder, work, OPENAI_API_KEY=KEY, **tripwire(home))
    assert logged(folder, "connected") == []
    assert logged(folder, "ran") == []
    settings(folder, f"storage: {{dataset_dir: '{home / 'outside'}'}}\n")
    done = run(folder, "mcp")
    assert done.returncode == 2
    assert "--dataset-dir" in done.stderr
