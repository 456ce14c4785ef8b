"""The web server: one process, a thread for every request, on this machine alone unless asked otherwise."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

from flask import Flask
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from wordforest.errors import InputError


class _Handler(WSGIRequestHandler):
    """Answers without a word on the terminal, and without naming the software."""

    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 the name is werkzeug's
        if type == "error":
            super().log(type, message, *args)

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
