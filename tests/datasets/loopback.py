"""An HTTP server on 127.0.0.1 whose paths misbehave on demand, and registries that point to it."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import re
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Looks the behaviour of a path up in the server and notes every request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.close_connection = True
        self.server.seen.append((self.path, self.headers.get("Range")))
        self.server.headers = dict(self.headers)
        behaviour = self.server.behaviours.get(self.path, status(404))
        # the client gives up in the middle in several tests
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            behaviour(self)

    def start(self, code: int, length: int | None, **headers: str) -> None:
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *args):
        pass


class Loopback:
    """The server; ``seen`` lists (path, Range header) of every request."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.behaviours = {}
        self._server.seen = []
        self._server.released = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def seen(self) -> list[tuple[str, str | None]]:
        return self._server.seen

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the last request."""
        return self._server.headers

    def ranges(self, path: str) -> list[str | None]:
        return [given for at, given in self.seen if at == path]

    def add(self, path: str, *behaviours: Behaviour) -> str:
        """Serve ``path``, one behaviour a request (the last one for all that follow)."""
        queue = list(behaviours)

        def next_one(handler: Handler) -> None:
            (queue.pop(0) if len(queue) > 1 else queue[0])(handler)

        self._server.behaviours[path] = next_one
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def close(self) -> None:
        self._server.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def serve(body: bytes, *, ranges: bool = True, **headers: str) -> Behaviour:
    """The body, or the part of it that a Range header asks for."""

    def behave(handler: Handler) -> None:
        match = re.match(r"bytes=(\d+)-$", handler.headers.get("Range", "")) if ranges else None
        start = int(match[1]) if match else 0
        if match and start >= len(body):
            handler.start(416, 0, Content_Range=f"bytes */{len(body)}")
            return
        if match:
            headers["Content_Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        handler.start(206 if match else 200, len(body) - start, **headers)
        handler.wfile.write(body[start:])

    return behave


def chunked(body: bytes, size: int = 1000, *, end: bool = True) -> Behaviour:
    """The body in chunked transfer encoding: no length is announced."""

    def behave(handler: Handler) -> None:
        handler.start(200, None, Transfer_Encoding="chunked")
        for at in range(0, len(body), size):
            block = body[at : at + size]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
        if end:
            handler.wfile.write(b"0\r\n\r\n")

    return behave


def truncated(body: bytes, sent: int) -> Behaviour:
    """Announce the whole body (or the rest from a Range) and send ``sent`` bytes of it."""

    def behave(handler: Handler) -> None:
        match = re.match(r"bytes=(\d+)-$", handler.headers.get("Range", ""))
        start = int(match[1]) if match else 0
        extra = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if match else {}
        handler.start(206 if match else 200, len(body) - start, **extra)
        handler.wfile.write(body[start : start + sent])

    return behave


def status(code: int) -> Behaviour:
    """An empty answer with a status."""
    return lambda handler: handler.start(code, 0)


def redirect(url: str) -> Behaviour:
    """A redirect."""
    return lambda handler: handler.start(302, 0, Location=url)


def silent(handler: Handler) -> None:
    """Accept and never answer (until the server is closed)."""
    handler.server.released.wait(30)


def drip(body: bytes, *, first: int = 0, pause: float = 0.05) -> Behaviour:
    """``first`` bytes at once, then one byte at a time."""

    def behave(handler: Handler) -> None:
        handler.start(200, len(body))
        handler.wfile.write(body[:first])
        for at in range(first, len(body)):
            handler.wfile.flush()
            if handler.server.released.wait(pause):
                return
            handler.wfile.write(body[at : at + 1])

    return behave


def paced(body: bytes, *, seconds: float, steps: int = 20) -> Behaviour:
    """The body in equal steps spread over ``seconds``; honours Range."""

    def behave(handler: Handler) -> None:
        match = re.match(r"bytes=(\d+)-$", handler.headers.get("Range", ""))
        start = int(match[1]) if match else 0
        extra = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if match else {}
        handler.start(206 if match else 200, len(body) - start, **extra)
        size = len(body) // steps + 1
        for at in range(start, len(body), size):
            handler.wfile.write(body[at : at + size])
            handler.wfile.flush()
            time.sleep(seconds / steps)

    return behave


def closed_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def gz(content: bytes) -> bytes:
    """Gzip with a header that depends on nothing."""
    return gzip.compress(content, mtime=0)


def entry(content: bytes, *sources, **changes) -> dict:
    """One file of a registry."""
    return {
        "names": ["toy/table.txt"],
        "checksums": [sha256(content)],
        "bytes": len(content),
        "sources": list(sources),
        **changes,
    }


def write_registry(path: Path, *variants: dict | list, name: str = "toy") -> Path:
    """A registry of one set; a variant is a mapping of files, or [label, files]."""
    listed = []
    for number, variant in enumerate(variants):
        label, files = variant if isinstance(variant, list) else ("real", variant)
        listed.append({"name": f"v{number}", "label": label, "rows": {"all": 3}, "files": files})
    value = {
        name: {
            "title": "Toy table",
            "licence": "CC0",
            "redistribution": True,
            "reader": "toy",
            "standin": "toy_generator",
            "split": "none",
            "instructions": "Ask the author for table.txt.",
            "variants": listed,
        }
    }
    path.write_text(yaml.safe_dump(value))
    return path
