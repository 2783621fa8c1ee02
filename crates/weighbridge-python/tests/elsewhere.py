"""Servers of files on this machine: a web server, the Hub with those who store its files, and a
bucket. They count what they are asked for and what they send."""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

TOKEN = "hf_very_secret"
SIGNATURE = "X-Signature=very-secret-too"


class Server(ThreadingHTTPServer):
    """Files by their paths. Each has a tag that follows from its bytes."""

    daemon_threads = True

    def __init__(self, certificates: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if certificates is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"
        self.files: dict[str, bytes] = {}
        #: Answers with this status instead, by path; a status above 499 once only.
        self.refusals: dict[str, int] = {}
        self.asked: list[str] = []
        self.sent = 0
        #: From now on bodies stop in their middle: `holding` says that one does, `go_on` lets them go.
        self.holds = False
        self.holding, self.go_on = threading.Event(), threading.Event()
        self.leaked: list[str] = []

    def url(self, path: str = "") -> str:
        return f"{self.scheme}://localhost:{self.server_address[1]}/{path}".removesuffix("/")

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may leave when they like."""

    def respond(self, handler: Handler) -> None:
        name = unquote(urlsplit(handler.path).path).removeprefix("/")
        handler.send_file(self.files.get(name), name)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        name = unquote(urlsplit(self.path).path).removeprefix("/")
        refusal = self.server.refusals.get(name)
        if refusal is not None:
            if refusal > 499:
                del self.server.refusals[name]
            return self.answer(refusal, b"")
        self.server.respond(self)

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.server.sent += len(body)
        if self.server.holds and len(body) > 1:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.server.holding.set()
            self.server.go_on.wait(60)
            body = body[len(body) // 2 :]
        self.wfile.write(body)

    def send_file(self, data: bytes | None, name: str) -> None:
        if data is None:
            return self.answer(404, b"", X_Error_Code="EntryNotFound")
        tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        about = {"ETag": tag, "Last_Modified": formatdate(0, usegmt=True), "Accept_Ranges": "bytes"}
        if self.headers.get("If-Match", tag) != tag:
            return self.answer(412, b"", **about)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None:
            return self.answer(200, data, **about)
        start, end = int(asked[1]), min(int(asked[2]) + 1, len(data))
        if start >= end:
            return self.answer(416, b"", Content_Range=f"bytes */{len(data)}", **about)
        about["Content_Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        self.answer(206, data[start:end], **about)


class Storage(Server):
    """Those who store the Hub's files: they must not see its token."""

    def respond(self, handler: Handler) -> None:
        if "Authorization" in handler.headers:
            self.leaked.append(handler.path)
        if urlsplit(handler.path).query != SIGNATURE:
            return handler.answer(403, b"")
        super().respond(handler)


class Hub(Server):
    """Repositories of the Hub: `owner/name/path` is a file."""

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self.storage = storage
        self.commit = "0123456789abcdef0123456789abcdef01234567"
        self.private: set[str] = set()
        self.gated: set[str] = set()

    def add(self, repository: str, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.files[f"{repository}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
        self.storage.files |= self.files

    def respond(self, handler: Handler) -> None:
        path = unquote(urlsplit(handler.path).path).removeprefix("/")
        repository = "/".join(path.removeprefix("api/models/").split("/")[:2])
        inside = {n.removeprefix(f"{repository}/"): d for n, d in self.files.items()
                  if n.startswith(f"{repository}/")}
        is_known = handler.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not inside or (repository in self.private and not is_known):
            return handler.answer(404 if is_known else 401, b"", X_Error_Code="RepoNotFound")
        if path.startswith(f"api/models/{repository}/revision/"):
            return handler.answer(200, json.dumps({"sha": self.commit}).encode())
        if path == f"api/models/{repository}/tree/{self.commit}":
            return handler.answer(200, json.dumps([_entry(*item) for item in inside.items()]).encode())
        name = path.removeprefix(f"{repository}/resolve/{self.commit}/")
        if repository in self.gated:
            return handler.answer(403, b"", X_Error_Code="GatedRepo")
        data = inside.get(name)
        if data is None or name.endswith(".json"):
            return handler.send_file(data, name)
        handler.answer(
            302,
            b"Found",
            Location=f"{self.storage.url(quote(f'{repository}/{name}'))}?{SIGNATURE}",
            X_Repo_Commit=self.commit,
            X_Linked_Etag=f'"{hashlib.sha256(data).hexdigest()}"',
            X_Linked_Size=str(len(data)),
        )


def _entry(path: str, data: bytes) -> dict[str, object]:
    entry: dict[str, object] = {"type": "file", "oid": "00", "size": len(data), "path": path}
    if not path.endswith(".json"):
        sum_of = hashlib.sha256(data).hexdigest()
        entry["lfs"] = {"oid": sum_of, "size": len(data), "pointerSize": 135}
    return entry


class Bucket(Server):
    """A bucket of S3, open to everybody: objects by `bucket/key`."""

    def respond(self, handler: Handler) -> None:
        parts = urlsplit(handler.path)
        name = unquote(parts.path).strip("/")
        if "list-type=2" not in parts.query:
            if name not in self.files:
                return handler.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return handler.send_file(self.files[name], name)
        found = re.search(r"(?:^|&)prefix=([^&]*)", parts.query)
        prefix = unquote(found[1]) if found else ""
        entries = "".join(
            f"<Contents><Key>{key}</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;0&quot;</ETag><Size>{len(data)}</Size></Contents>"
            for full, data in self.files.items()
            if (key := full.removeprefix(f"{name}/")).startswith(prefix)
        )
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        handler.answer(200, body.encode(), Content_Type="application/xml")


@contextmanager
def running(*servers: Server) -> Iterator[None]:
    """Servers that answer until the end; the token must have stayed where it belongs."""
    threads = [threading.Thread(target=server.serve_forever, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for server in servers:
            server.go_on.set()
            server.shutdown()
            server.server_close()
    assert [leak for server in servers for leak in server.leaked] == []
