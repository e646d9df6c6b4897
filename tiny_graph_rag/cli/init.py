"""`init`: a settings file and a gold-set template to start from."""

from __future__ import annotations

import json
from pathlib import Path

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import BEGIN
from tiny_graph_rag.cli.options import Common, Folders
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.config import CONFIG_FILE
from tiny_graph_rag.config.file import config_yaml
from tiny_graph_rag.files import write_atomically

TEMPLATE_NAME = "my-graph-eval.jsonl"
TEMPLATE = (
    {
        "id": "q1",
        "query": "Who wrote the letter that Anna found?",
        "reference_entities": ["Name of an entity in your graph"],
        "tags": ["single-hop"],
    },
    {
        "id": "q2",
        "query": "Where does the brother of the letter's author live?",
        "reference_entities": ["Another entity", "A second one that is also right"],
        "seed_entities": ["The entity that the question names"],
        "ground_truth": "The answer in a sentence.",
        "tags": ["multi-hop", "2-hop"],
    },
    {
        "id": "q3",
        "query": "And where was she born?",
        "context": ["Who is Anna?"],
        "reference_entities": ["Her birthplace"],
        "tags": ["coreference"],
    },
    {
        "id": "q4",
        "query": "What did the gardener dream of?",
        "reference_entities": [],
        "tags": ["no-answer"],
    },
)


@command(app, "init", BEGIN)
def init(folders: Folders, common: Common) -> None:
    """Write a commented config.yaml and a small gold-set template; never over an existing file."""
    session = Session.open(common, folders)
    template = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in TEMPLATE)
    dataset = Path(session.config.storage.dataset_dir) / TEMPLATE_NAME
    for path, text in ((Path(CONFIG_FILE), config_yaml()), (dataset, template)):
        if path.exists():
            session.say(f"{path}: is there already, left as it is")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, [text.encode()])
        session.say(f"{path}: written")
