"""The annotation page of `curate`: a small server on loopback and the plain files that it serves.

Nothing is served without the token of the address but the page's own script and style; a request from
another origin, or by another host name, is refused; what the page shows is text, never markup.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import socket
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.formats.gold.drafts import Draft
from tiny_graph_rag.formats.writing import line_of
from tiny_graph_rag.gold.curation import Curation, Refused
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.search import EntitySearch
from tiny_graph_rag.messages import catalogue, spoken
from tiny_graph_rag.outputs import write_atomically
from tiny_graph_rag.results import as_read, encoded

HOST = "127.0.0.1"
PORTS = range(8700, 8900)  # one of these by the draft's name, so that a window finds its server again
MOST_FOUND = 20
# Of an entity, those of the rarest type first: a hub's hundreds of equal ones would hide the rest.
MOST_RELATIONS = 60
LARGEST_BODY = 1 << 16
END_SECONDS = 1  # that requests under way have to end in once the server is stopped
LONGEST_TEXT = 400  # characters of a description in the list
LONGEST_SOURCE, MOST_SOURCES = 2000, 12  # characters of a piece of evidence, and pieces, that are shown
_FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_OPEN = ("/page.css", "/page.js")  # without the token
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(eq=False)
class CurationServer:
    """gold_path: where the gold set is written. gold_named: whether the user gave that name, so that whatever
    has it may be replaced. rows: of the graph, by id of the entity."""

    graph: KnowledgeGraph
    drafts: dict[str, Draft]
    curation: Curation
    draft_path: Path
    gold_path: Path
    rows: dict[str, int]
    annotator: str = ""
    gold_named: bool = False
    language: str = field(default_factory=spoken)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def search(self) -> EntitySearch:
        return EntitySearch.of(self.graph)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def app(self) -> Starlette:
        getting: dict[str, Handler] = {
            **dict.fromkeys(_FILES, self._file),
            "/api/questions": self._questions,
            "/api/question": self._question,
            "/api/search": self._search,
            "/api/relations": self._relations,
            "/api/changes": self._changes,
            "/api/agreement": self._agreement,
        }
        posting: dict[str, Handler] = {"/api/event": self._event, "/api/export": self._export}
        routes = [Route(path, self._guarded(handler)) for path, handler in getting.items()]
        routes += [Route(path, self._guarded(handler), methods=["POST"]) for path, handler in posting.items()]
        return Starlette(routes=routes)

    def _guarded(self, handler: Handler) -> Handler:
        """The handler, asked only by who may; what it fails in by a mistake of ours is reported in the
        window."""

        async def answer(request: Request) -> Response:
            response = self._refusal(request)
            if response is None:
                try:
                    response = await handler(request)
                except Exception as error:
                    response = _error(f"internal error: {type(error).__name__}: {error}", 500)
            response.headers.update(_HEADERS)
            return response

        return answer

    def _refusal(self, request: Request) -> Response | None:
        """Of a request from another origin, by another name of this host, or without the token."""
        own = {f"{host}:{self.port}" for host in (HOST, "localhost")}
        origin = request.headers.get("origin")
        if request.headers.get("host") not in own:
            return _error("this server answers to its own address only", 421)
        if origin is not None and origin.removeprefix("http://") not in own:
            return _error("requests from another origin are refused", 403)
        if request.method == "POST" and origin is None:
            return _error("a change must come from the page", 403)
        if request.url.path not in _OPEN and not self._knows(request):
            return _error("open the address that `curate` printed: it holds the token", 403)
        return None

    def _knows(self, request: Request) -> bool:
        given = request.headers.get("x-token") or request.query_params.get("token") or ""
        return secrets.compare_digest(given.encode(), self.token.encode())

    async def _file(self, request: Request) -> Response:
        name, kind = _FILES[request.url.path]
        content = resources.files(__package__).joinpath(name).read_bytes()
        return Response(content, media_type=f"{kind}; charset=utf-8")

    async def _questions(self, request: Request) -> Response:
        curation = self.curation
        rows = []
        for id, draft in self.drafts.items():
            view = curation.view(id)
            rows.append(
                {
                    "id": id,
                    "query": view["query"],
                    "tags": view["tags"],
                    "done": view["done"],
                    "judged": {by: len(row) for by, row in view["grades"].items()},
                    "differs": bool(curation.settled(id)[1]),
                    "first": draft.judge_first,
                    "like": list(draft.like),
                    "seedless": draft.no_seed,
                }
            )
        return _json(
            {
                "graph": self.graph.name,
                "entities": len(self.graph),
                "draft": self.draft_path.name,
                "gold": self.gold_path.name,
                "annotator": self.annotator,
                "language": self.language,
                "words": dict(catalogue(self.language)),
                "annotators": curation.annotators,
                "lost": curation.lost,
                "last": len(curation.journal.events),
                "questions": rows,
            }
        )

    async def _question(self, request: Request) -> Response:
        id = request.query_params.get("id", "")
        draft = self.drafts.get(id)
        if draft is None:
            return _error(f"no question {id!r}", 404)
        view = self.curation.view(id)
        shown = {candidate.id: as_read(candidate) for candidate in draft.candidates}
        given = {
            **dict.fromkeys(draft.example.irrelevant_entities, 0),
            **dict.fromkeys(draft.example.reference_entities, 1),
            **dict.fromkeys(draft.example.highly_relevant_entities, 2),
        }
        for row in view["grades"].values():
            for entity in row:
                shown.setdefault(entity, self._entity(entity))
        return _json(
            {
                **view,
                "id": id,
                "context": list(draft.example.context),
                "seeds": list(draft.example.seed_entities or ()),
                "answers": list(draft.example.ground_truth),
                "evidence": [text[:LONGEST_SOURCE] for text in draft.example.reference_texts[:MOST_SOURCES]],
                "given": given,
                "candidates": list(shown.values()),
                "like": list(draft.like),
                "seedless": draft.no_seed,
                "first": draft.judge_first,
                "at": len(self.curation.journal.events),
            }
        )

    def _entity(self, id: str) -> dict[str, Any]:
        row = self.rows.get(id)
        if row is None:
            return {"id": id, "name": id, "type": "", "description": "not in the graph any more"}
        entities = self.graph.entities
        text = str(entities.descriptions[row])
        return {
            "id": id,
            "name": str(entities.names[row]),
            "type": str(entities.types[row]),
            "description": text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…",
            "aliases": list(entities.aliases[row])[:8],
        }

    async def _search(self, request: Request) -> Response:
        typed = request.query_params.get("q", "")[:200]
        found = await run_in_threadpool(self._found, typed)
        ids = self.graph.entities.ids
        return _json({"q": typed, "found": [self._entity(str(ids[row])) for row in found]})

    def _found(self, typed: str) -> list[int]:
        with self._lock:
            search = self.search
        return search.find(typed, MOST_FOUND)

    async def _relations(self, request: Request) -> Response:
        row = self.rows.get(request.query_params.get("id", ""))
        if row is None:
            return _error("not in the graph any more", 404)
        return _json(await run_in_threadpool(self._relations_of, row))

    def _relations_of(self, row: int) -> dict[str, Any]:
        """What the graph says of an entity: for checking a candidate that no walk led to."""
        relations, names = self.graph.relations, self.graph.entities.names
        places = np.flatnonzero((relations.sources == row) | (relations.targets == row)).tolist()
        kinds = Counter(str(relations.types[place]) for place in places)
        places.sort(key=lambda place: kinds[str(relations.types[place])])  # a stable sort: else in file order
        shown = [
            {
                "from": str(names[int(relations.sources[place])]),
                "relation": str(relations.types[place]),
                "to": str(names[int(relations.targets[place])]),
                "forward": True,
                "description": str(relations.descriptions[place])[:LONGEST_TEXT],
            }
            for place in places[:MOST_RELATIONS]
        ]
        return {"relations": shown, "left": len(places) - len(shown)}

    async def _changes(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        known = self.curation.journal.events
        events = known[int(since) if since.isdecimal() and len(since) < 16 else 0 :]
        fields = ("n", "by", "question", "what")
        shown = [{name: event[name] for name in fields} for event in events]
        return _json({"last": len(known), "events": shown})

    async def _event(self, request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return _error("too long", 413, close=True)
        try:
            event = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return _error(f"not JSON: {error}", 400)
        if not isinstance(event, dict) or type(event.get("seen", 0)) is not int:
            return _error("wanted an event", 400)
        try:
            if event.get("what") == "undo" and event.get("of") is None:
                event["of"] = self.curation.last_of(str(event.get("question")), str(event.get("by")).strip())
            taken = self.curation.decide(event, event.get("seen", 0))
        except Refused as error:
            return _error(str(error), 409 if error.changed else 400)
        except OSError as error:
            return _error(f"not saved: {error.strerror}", 507)
        return _json({"taken": taken, "view": self.curation.view(taken["question"])})

    async def _agreement(self, request: Request) -> Response:
        by_tag, differing = self.curation.agreements()
        return _json(
            {
                "by_tag": [{"tag": tag, **as_read(slice_)} for tag, slice_ in by_tag.items()],
                "differing": differing,
            }
        )

    async def _export(self, request: Request) -> Response:
        try:
            return _json(self.export())
        except OSError as error:
            return _error(f"not written: {error.strerror}", 507)

    def export(self) -> dict[str, Any]:
        """Write the gold set as it stands. Raises OSError, also for a file of that name that is not to be
        replaced."""
        examples, left, unsettled = self.curation.gold()
        if examples:
            if not self.may_replace():
                raise OSError(
                    errno.EEXIST, "it was not written from this draft, or changed since", str(self.gold_path)
                )
            content = b"".join(map(line_of, examples))
            self.curation.note_export(hashlib.sha256(content).hexdigest())
            write_atomically(self.gold_path, [content])
        return {
            "path": str(self.gold_path) if examples else "",
            "questions": len(examples),
            "left": left,
            "unsettled": unsettled,
            "empty": [
                example.id
                for example in examples
                if not (example.reference_entities or example.highly_relevant_entities)
            ],
        }

    def may_replace(self) -> bool:
        """Whether there is no gold set yet, or one that was written from this journal and not changed since,
        or one whose name the user gave."""
        path = self.gold_path
        return self.gold_named or not path.is_file() or sha256_of(path) in self.curation.exported

    def listen(self, port: int | None) -> socket.socket:
        """The socket, of this port or of one that follows from the draft's name: a window that kept decisions
        while no server ran finds it again. Raises UsageError."""
        usual = PORTS[sum(os.fsencode(self.draft_path.name)) % len(PORTS)]
        for name in [usual, 0] if port is None else [port]:
            with suppress(OSError):
                listening = socket.create_server((HOST, name))
                self.port = listening.getsockname()[1]
                return listening
        raise UsageError("--port {port} is taken; leave it out, or name another", port=port)

    def serve(self, listening: socket.socket) -> None:
        """Until SIGINT or SIGTERM, which is raised again then; requests under way are answered first."""
        import uvicorn

        threading.Thread(target=self._found, args=("a",), daemon=True).start()  # builds the search meanwhile
        config = uvicorn.Config(
            self.app(),
            log_level="critical",  # it would tell of the requests that END_SECONDS cut off
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=END_SECONDS,
        )
        uvicorn.Server(config).run(sockets=[listening])


async def _body(request: Request) -> bytes | None:
    """What was posted; None where it is too long, which is noticed while it comes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            return None
    return bytes(body)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(value), status, headers, "application/json")


def _error(message: str, status: int, *, close: bool = False) -> Response:
    """close: with the connection, whose request has not ended."""
    return _json({"error": message}, status, {"Connection": "close"} if close else None)
