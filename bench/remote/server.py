"""A web server on the loopback whose line is as fast and as far away as one says.

All connections share one rate; each answer begins after a delay. It speaks ranges, tags, and as much
of the Hub's protocol as looking at a repository takes: a listing, and files that lie elsewhere.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "c" * 40
CHUNK = 256 << 10


class Line:
    """What all connections share."""

    def __init__(self, bytes_per_second: float | None, delay: float) -> None:
        self.rate = bytes_per_second
        self.delay = delay
        self.lock = threading.Lock()
        self.free_at = 0.0
        self.requests = 0
        self.bytes = 0

    def begin(self) -> None:
        with self.lock:
            self.requests += 1
        time.sleep(self.delay)

    def wait_for(self, count: int) -> None:
        """Waits until so many bytes may go out."""
        with self.lock:
            self.bytes += count
            if self.rate is None:
                return
            now = time.perf_counter()
            self.free_at = max(now, self.free_at) + count / self.rate
            pause = self.free_at - now
        # Short waits add up in `free_at`, and are slept in one piece.
        if pause > 0.002:
            time.sleep(pause)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    line: Line
    #: What lies at a path.
    files: dict[str, bytes | memoryview]
    #: Repositories: names of files and where they lie.
    repositories: dict[str, dict[str, str]]

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:  # noqa: N802
        self.line.begin()
        path = self.path.split("?")[0]
        if path.startswith("/api/models/"):
            return self.listing(path)
        if "/resolve/" in path:
            return self.resolve(path)
        found = self.files.get(path)
        if found is None:
            return self.answer(404, b"")
        self.part(found)

    def listing(self, path: str) -> None:
        """Which commit a revision is, or the files of one."""
        name = "/".join(path.split("/")[3:5])
        if "/revision/" in path:
            return self.answer(200, json.dumps({"sha": COMMIT}).encode())
        files = self.repositories.get(name, {})
        tree = [
            {"type": "file", "path": file, "size": len(self.files[place]), "oid": "0" * 40}
            for file, place in files.items()
        ]
        self.answer(200, json.dumps(tree).encode(), {"X-Repo-Commit": COMMIT})

    def resolve(self, path: str) -> None:
        name, _, rest = path[1:].partition("/resolve/")
        place = self.repositories.get(name, {}).get(rest.partition("/")[2])
        if place is None:
            return self.answer(404, b"")
        size = len(self.files[place])
        headers = {
            "Location": place,
            "X-Repo-Commit": COMMIT,
            "X-Linked-Size": str(size),
            "X-Linked-Etag": f'"{hash(place) & 0xFFFFFFFF:064x}"',
        }
        self.answer(302, b"", headers)

    def part(self, found: bytes | memoryview) -> None:
        size, asked = len(found), self.headers.get("Range")
        start, end = 0, size
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last) + 1 if last else size, size)
        self.send_response(206 if asked else 200)
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(end - start))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.end_headers()
        view = memoryview(found)
        for at in range(start, end, CHUNK):
            piece = view[at : min(at + CHUNK, end)]
            self.line.wait_for(len(piece))
            try:
                self.wfile.write(piece)
            except OSError:
                self.close_connection = True
                return

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def start(
    files: dict[str, Any],
    repositories: dict[str, dict[str, str]] | None = None,
    rate: float | None = None,
    delay: float = 0.0,
) -> tuple[str, Line]:
    """Starts a server; its address, and what goes through its line."""
    line = Line(rate, delay)
    kind = type("Bound", (Handler,), {
        "line": line, "files": files, "repositories": repositories or {}
    })
    server = Server(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}", line
