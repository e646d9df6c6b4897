"""What libraries say of a broken file, in Korean: the sentences are those that the libraries really say."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from xml.parsers import expat

import msgspec
import pytest
import yaml

from tiny_graph_rag.messages import catalogue
from tiny_graph_rag.messages.libraries import translated


class Record(msgspec.Struct):
    name: str
    size: int = 0


def _xml(text: str) -> str:
    parser = expat.ParserCreate(namespace_separator=" ")
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        return expat.ErrorString(error.code)
    raise AssertionError(text)


def _yaml(text: str) -> str:
    try:
        yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        return str(error.problem)
    raise AssertionError(text)


def _said(work: Callable[[], object]) -> str:
    try:
        work()
    except (msgspec.MsgspecError, zipfile.BadZipFile) as error:
        return str(error)
    raise AssertionError(work)


SAID = [
    *map(_xml, ["", "<a", "<a><b></a>", "<a x='1' x='2'/>", "<a/><b/>", "<a>&x;</a>"]),
    *map(_xml, ["<a><![CDATA[", "<p:a/>", "<>"]),
    *map(_yaml, ["{a: 1", "a:\n\tb: 1", "a: b: c", '"\\z"', "*a"]),
    _said(lambda: msgspec.json.decode(b'{"name": }')),
    _said(lambda: msgspec.json.decode(b'{"name": "a"')),
    _said(lambda: msgspec.json.decode(b"{} {}")),
    _said(lambda: msgspec.json.decode(b"{}", type=Record)),
    _said(lambda: msgspec.json.decode(b"[{}]", type=list[Record])),
    _said(lambda: msgspec.json.decode(b"7", type=Record)),
    _said(lambda: msgspec.json.decode(b'{"name": 7}', type=Record)),
    _said(lambda: zipfile.ZipFile(io.BytesIO(b"PK"))),
]  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_what_libraries_say_is_known_in_korean(text: str) -> None:
    korean = translated(text, catalogue("ko"))
    names = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|CDATA|JSON|ZIP|\bor\b", "", korean)
    assert not re.search(r"[A-Za-z]{2,}", names), f"{text!r} → {korean!r}"


def test_an_unknown_sentence_stays_as_it_came() -> None:
    assert translated("the moon is made of cheese", catalogue("ko")) == "the moon is made of cheese"
