"""A retriever behind HTTP, judged: any service that takes a question and returns names.

    RAG_URL=http://localhost:8000/retrieve tiny-graph-rag eval --dataset my-questions.jsonl -g my-KG.json \\
        --retriever http_service.py:retrieve --set openai.concurrency=16 --set openai.timeout=20
"""

import json
import os
import urllib.error
import urllib.request
from typing import Any

URL = os.environ.get("RAG_URL", "http://localhost:8000/retrieve")


def retrieve(question: str) -> dict[str, Any]:
    """Change these lines to your service's request and reply."""
    body = json.dumps({"question": question}).encode()
    request = urllib.request.Request(URL, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            found: dict[str, Any] = json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            raise RuntimeError(f"HTTP {error.code}: {error.reason}") from None
    return {"entities": found["entities"], "answer": found.get("answer"), "usage": found.get("usage", {})}
