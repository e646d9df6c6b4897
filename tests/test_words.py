"""The product speaks plain modern English: the words below stand in no text that anybody reads.

Texts are the documents, what the program prints, the pages, and the comments and docstrings of the package.
Names in code are not texts. Data and other people's words (sample stories, gold sets) are left alone.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

# What not to write → what to write.
PLAIN = {
    r"bears?": "has the name",
    r"bearers?": "matching entity",
    r"borne": "has the name; ambiguous name",
    r"surely": "significantly",
    r"rightly": "correctly",
    r"told": "reported, or say what is shown",
    r"can't be told apart|cannot be told apart|tells? .{0,20}apart": "do not differ significantly",
    r"not to be relied on": "unreliable",
    r"on disk before the next": "saved immediately",
    r"dear|dearer|dearest": "expensive, costs more",
    r"such as are": "that are",
    r"that is none|that are none|is none of": "which is not a …",
    r"is said|are said": "is reported",
    r"beside": "next to, separately, with",
    r"alike": "the same, in the same way",
    r"several entities bear|by several": "ambiguous name",
    r"--stamp|no stamp|stamped for": "pin, graph fingerprint",
    r"foreign(?! keys?\b)": "external",
    r"tariffs?": "price list",
    r"energy|energies": "cost",
    r"walkers?": "PageRank",
    r"order of equals|house order|order among equals": "tie-break",
    r"rightly left empty": "correctly returned nothing",
    r"anew": "again",
    r"whence|thence|thereof|therein|wherein|hither|whither": "plain words",
    r"naught|aught|lest|ere|albeit": "plain words",
    r"wanted nothing more": "unexpected argument",
    r"no virtue|looks? like virtue": "a failure must not raise a score",
    r"goes? without saying": "plain words",
    r"can't be relied on|cannot be relied on": "unreliable",
    r"that is no matter|it is no matter": "say what counts as equal",
    r"stands? twice": "is given twice",
    r"as it lies|as they lie": "as it was written",
    r"what comes of|came of it": "result",
    r"house tests?": "tests/test_house.py",
}
WORDS = {re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.I): plain for pattern, plain in PLAIN.items()}
ANY = re.compile("|".join(word.pattern for word in WORDS), re.I)

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "README.ko.md", "CONTRIBUTING.md")),
    *(path for path in (ROOT / "docs").rglob("*.md") if path.name != "benchmarks.md"),  # measured by others
    *(ROOT / "examples").rglob("*.md"),
    ROOT / "data" / "README.md",
    ROOT / "config.yaml",
    ROOT / "mkdocs.yml",
    ROOT / "tiny_graph_rag" / "messages" / "ko.toml",
    *(ROOT / "tiny_graph_rag" / "report").rglob("*.html"),
]
SCRIPTS = sorted((ROOT / "tiny_graph_rag" / "report").rglob("*.js"))
MODULES = [
    ROOT / "main.py",
    *sorted((ROOT / "tiny_graph_rag").rglob("*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "docs").rglob("*.py")),
]
TEXTS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
# Lists of English words that the program recognises in questions, and former names of options.
DATA = {"behind beside inside", "taken told sold", '"--stamp"'}


def python_texts(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every string and comment of a module."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        is_prose = token.type == tokenize.COMMENT or " " in token.string.strip("\"'frbu ")
        if token.type in TEXTS and is_prose:  # one word is a key or a name
            for number, line in enumerate(token.string.splitlines()):
                yield token.start[0] + number, line


def script_texts(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment and string of a script of the page."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        for text in re.findall(r"//.*|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|^\s*\*.*|/\*.*", line):
            yield number, text


def texts(path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix == ".py":
        return python_texts(path)
    if path.suffix == ".js":
        return script_texts(path)
    return iter(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))


def hits(path: Path, folder: Path = ROOT) -> list[str]:
    return [
        f"{path.relative_to(folder)}:{number}: {word[0]!r} (write: {plain}): {text.strip()[:120]}"
        for number, text in texts(path)
        if ANY.search(text) and not any(words in text for words in DATA)
        for pattern, plain in WORDS.items()
        for word in pattern.finditer(re.sub(r"\{[^{}]*\}|`[^`]*`|\]\([^)]*\)", "", text))
    ]


@pytest.mark.parametrize(
    "path", [*DOCUMENTS, *SCRIPTS, *MODULES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_text_is_written_in_plain_words(path: Path) -> None:
    assert hits(path) == []


def test_the_search_sees_strings_comments_and_documents(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'borne = 1  # it is surely so\nprint(f"a name {borne} is borne", "borne")\n', encoding="utf-8"
    )
    page = tmp_path / "page.md"
    page.write_text("`borne` is code, [dear](borne.md) is not\n", encoding="utf-8")
    found = [hit.split("'")[1] for path in (module, page) for hit in hits(path, tmp_path)]
    assert found == ["surely", "borne", "dear"]
