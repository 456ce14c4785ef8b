"""The page as a Flask app: one frame for every address, the data that it asks for, what keeps it to itself, a server.

The server is one process with a thread for every request, on this machine alone unless asked otherwise.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from wordforest.errors import InputError
from wordforest.explorer.model import Model, complete, summary, write_note
from wordforest.explorer.page import ASSETS, asset_paths, page_html
from wordforest.explorer.views import UnknownPageError, exists, node_values, page_view, parse_route, strong_nodes
from wordforest.vectors import NodeNote

_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+))(?::[0-9]{1,5})?")  # [::1]:80, name:80
_BINARY = "application/octet-stream"
_LARGEST = 64 << 10  # bytes of a request
_LONGEST = {"name": 200, "remark": 2000}  # characters
_HEADERS = {
    # nothing but this server, no eval, no inline code
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def make_app(models: Sequence[Model], *, host: str = "127.0.0.1") -> Flask:
    """Return the app of a page that shows the models and answers to ``host``; every asset is a file of this package.

    On this machine alone, what a person writes about nodes is kept in the run folder.
    """
    app = Flask("wordforest.explorer", static_folder=str(ASSETS), static_url_path="/assets")
    app.config["MAX_CONTENT_LENGTH"] = _LARGEST
    token = secrets.token_urlsafe() if is_local(host) else ""
    _add_data(app, list(models))
    _add_pages(app, list(models), token)
    if token:
        _add_notes(app, list(models), token)
    _protect(app, host)
    return app


def _add_data(app: Flask, models: list[Model]) -> None:
    """Serve what the page asks for: JSON, and long rows of numbers as bytes."""

    @app.get("/data/models")
    def summaries() -> Response:
        return jsonify([summary(model) for model in models])

    @app.get("/data/view")
    def view() -> Response:
        address = request.args.get("address", "")
        try:
            found = page_view(models, parse_route(address, len(models)))
        except InputError as error:
            found = {"kind": "missing", "message": str(error)}
        return jsonify(found | {"address": address})

    @app.get("/data/complete")
    def completions() -> Response:
        prefix = request.args.get("prefix", "")[:200]
        return jsonify(list(dict.fromkeys(word for model in models for word in complete(model, prefix)))[:10])

    @app.get("/data/nodes")
    def nodes() -> Response:
        word = request.args.get("word", "")[:200]
        return jsonify([strong_nodes(model, word) for model in models])

    @app.get("/data/documents")
    def documents() -> Response:
        found = models[0].documents
        return jsonify([] if found is None else found.offers(request.args.get("text", "")[:200]))

    @app.get("/data/<int:model>/words")
    def words(model: int) -> Response:
        return jsonify(models[model].words)

    @app.get("/data/<int:model>/points")
    def points(model: int) -> Response:
        return Response(models[model].points.astype("<f4").tobytes(), mimetype=_BINARY)

    @app.get("/data/<int:model>/node/<int:node>")
    def values(model: int, node: int) -> Response:
        found, limit = node_values(models[model], node)
        return Response(found.tobytes(), mimetype=_BINARY, headers={"X-Limit": repr(limit)})


def _add_notes(app: Flask, models: list[Model], token: str) -> None:
    """Take names and remarks of nodes, from a page that has the token alone: pages of others cannot read it."""
    lock = threading.Lock()

    @app.post("/data/<int:model>/node/<int:node>")
    def write(model: int, node: int) -> Response:
        if not secrets.compare_digest(request.headers.get("X-Token", "").encode(), token.encode()):
            return _refusal("This page takes notes from itself only. Load it again.", 403)
        try:
            with lock:
                write_note(models[model], node, read_note(request.get_json()))
        except InputError as error:
            return _refusal(str(error), 409)
        return jsonify(summary(models[model]))


def read_note(sent: object) -> NodeNote:
    """Return the note that a page sent; InputError where it is none."""
    note = NodeNote(**sent) if isinstance(sent, dict) and set(sent) == set(NodeNote._fields) else None
    if note is None or [type(part) for part in note] != [str, bool, str]:
        raise InputError("expected a name, a remark, and whether the node is hidden.")
    for part, most in _LONGEST.items():
        if len(getattr(note, part)) > most:
            raise InputError(f"the {part} has {len(getattr(note, part))} characters, but {most} is the limit.")
    return note


def _add_pages(app: Flask, models: list[Model], token: str) -> None:
    """Serve the frame at every address that is a page, with 404 where no model has what it is about."""
    styles = [f'<link rel="stylesheet" href="/assets/{path.name}">' for path in asset_paths(".css")]
    scripts = [f'<script src="/assets/{path.name}"></script>' for path in asset_paths(".js")]
    key = [f'<meta name="token" content="{token}">'] if token else []
    head = "\n".join(['<link rel="icon" href="/assets/icon.svg">', *key, *styles])
    frame = page_html(head=head, scripts="\n".join(scripts))

    @app.get("/", defaults={"path": ""})
    @app.get("/<path:path>")
    def page(path: str) -> Response:  # noqa: ARG001 the address is read as it came, still escaped
        try:
            found = exists(models, parse_route(raw_address(request.environ), len(models)))
        except UnknownPageError:
            return _refusal("There is no such page. Start at /", 404)
        return Response(frame, 200 if found else 404)


def _protect(app: Flask, host: str) -> None:
    def check() -> Response | None:
        if not is_allowed_host(request.headers.get("Host", ""), host):
            return _refusal("This page answers to its own address only.", 403)
        origin = request.headers.get("Origin")
        if origin and origin not in (f"http://{request.host}", f"https://{request.host}"):
            return _refusal("This page answers to itself only.", 403)
        return None

    def finish(response: Response) -> Response:
        response.headers.update(_HEADERS)
        if not request.path.startswith("/assets/"):
            response.headers["Cache-Control"] = "no-store"
        return response

    def fail(error: Exception) -> Any:
        if isinstance(error, IndexError | InputError):
            return _refusal("There is no such model, or it has no such node.", 404)
        return error if isinstance(error, HTTPException) else _refusal("This question cannot be answered.", 400)

    app.before_request(check)
    app.after_request(finish)
    app.register_error_handler(Exception, fail)


def is_allowed_host(header: str, bound: str) -> bool:
    """Return whether a Host header names this server: a foreign name that was made to point here does not.

    A server on loopback answers to loopback names; one on another address also to any number and to ``bound`` itself.
    """
    found = _HOST.fullmatch(header)
    name = (found[1] or found[2]).lower() if found else ""
    if found and name in ("localhost", bound.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or not is_local(bound)


def is_local(host: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def raw_address(environ: dict[str, Any]) -> str:
    """Return the path and query of a request as they came, still escaped."""
    raw = str(environ.get("RAW_URI") or environ.get("REQUEST_URI") or environ.get("PATH_INFO", "/"))
    parts = urlsplit(raw) if "://" in raw.partition("?")[0] else None
    return f"{parts.path}?{parts.query}" if parts else raw


def _refusal(message: str, status: int) -> Response:
    return Response(message + "\n", status, mimetype="text/plain")


class _Handler(WSGIRequestHandler):
    """Answers without naming the software."""

    protocol_version = "HTTP/1.1"

    def version_string(self) -> str:
        return "wordforest"


def listen(host: str = "127.0.0.1", port: int = 8050) -> socket.socket:
    """Return a socket that listens at a host and port, 0 for any free one: taken before anything long is begun."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{host}, port {port}: cannot listen there ({reason}). "
            "Choose another one with --port, or any free one with --port 0."
        ) from error
    return listener


def open_server(app: Flask, listener: socket.socket) -> BaseWSGIServer:
    """Return a server for an app on a listening socket, which it takes over; ``port`` is where it is."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    host, port = listener.getsockname()[:2]
    with listener:  # the server listens on a copy
        return make_server(host, port, app, threaded=True, request_handler=_Handler, fd=listener.fileno())


def serve(server: BaseWSGIServer, on_ready: Callable[[str], None]) -> None:
    """Answer until interrupted; ``on_ready`` gets the address of the page."""
    name = f"[{server.host}]" if ":" in str(server.host) else server.host
    on_ready(f"http://{name}:{server.port}/")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
