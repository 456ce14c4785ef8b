"""What the server lets in and sends along: allowed hosts and paths, and headers that keep a page to itself."""

from __future__ import annotations

import ipaddress
import re
import secrets
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from wordforest.explorer.model import Model
from wordforest.explorer.routes import UnknownPageError, exists, parse_route

_OWN_PATHS = ("/assets/", "/data/", "/_dash-component-suites/")
_DASH_PATHS = ("/_dash-layout", "/_dash-dependencies", "/_dash-update-component")
_ANY_PAGE = "/<path:path>"
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+))(?::[0-9]{1,5})?")  # [::1]:80, name:80
_LARGEST_QUESTION = 64 * 1024  # bytes of a request
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def protect(server: Flask, models: list[Model], host: str, script_hashes: list[str]) -> None:
    """Add the checks and headers to a Flask server that was told to listen at ``host``."""
    server.config["MAX_CONTENT_LENGTH"] = _LARGEST_QUESTION

    def check() -> Response | None:
        if not is_allowed_host(request.headers.get("Host", ""), host):
            return _refusal("This page answers to its own address only.", 403)
        origin = request.headers.get("Origin")
        if origin and origin not in (f"http://{request.host}", f"https://{request.host}"):
            return _refusal("This page answers to itself only.", 403)
        g.status = page_status(models, raw_address(request.environ))
        if request.path.startswith(_OWN_PATHS) and (not request.url_rule or request.url_rule.rule == _ANY_PAGE):
            g.status = None  # Dash would answer any path with the page
        return _refusal("There is no such page. Start at /", 404) if g.status is None else None

    def finish(response: Response) -> Response:
        response.headers.update(_HEADERS)
        response.headers["Content-Security-Policy"] = policy(script_hashes, style_nonce())
        if getattr(g, "status", 200) == 404 and response.status_code == 200:
            response.status_code = 404  # the page comes all the same, and says what is missing
        if "Cache-Control" not in response.headers or request.path.startswith("/data/"):
            response.headers["Cache-Control"] = "no-store"
        return response

    def fail(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            return error
        return _refusal("This question cannot be answered.", 400)

    server.register_error_handler(Exception, fail)
    server.before_request(check)
    server.after_request(finish)


def policy(script_hashes: list[str], nonce: str) -> str:
    """Return the content security policy: nothing but this server, no eval, inline code by hash or nonce alone."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", *script_hashes]),
        "style-src": f"'self' 'nonce-{nonce}'",
        "img-src": "'self' data: blob:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def style_nonce() -> str:
    """Return the nonce of this answer, under which Dash's own style elements may stand."""
    if not hasattr(g, "nonce"):
        g.nonce = secrets.token_urlsafe(16)
    return str(g.nonce)


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


def page_status(models: list[Model], address: str) -> int | None:
    """Return 200, 404 for a page about something that no model has, or None for what is no page at all."""
    path = address.partition("?")[0]
    if path in _DASH_PATHS or (path.startswith(_OWN_PATHS) and ".." not in path):
        return 200
    try:
        return 200 if exists(models, parse_route(address, len(models))) else 404
    except UnknownPageError:
        return None


def raw_address(environ: dict[str, Any]) -> str:
    """Return the path and query of a request as they came, still escaped."""
    raw = str(environ.get("RAW_URI") or environ.get("REQUEST_URI") or environ.get("PATH_INFO", "/"))
    parts = urlsplit(raw) if "://" in raw.partition("?")[0] else None
    return f"{parts.path}?{parts.query}" if parts else raw


def _refusal(message: str, status: int) -> Response:
    return Response(message + "\n", status, mimetype="text/plain")


def is_local(host: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
