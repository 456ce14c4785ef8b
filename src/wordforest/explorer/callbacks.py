"""What the browser may ask: the data of a page, words that begin like what was typed, and the map's numbers."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Input, Output
from flask import Flask, Response, jsonify

from wordforest.errors import InputError
from wordforest.explorer.maps import MapMaker
from wordforest.explorer.model import Model, complete
from wordforest.explorer.routes import page_view, parse_route
from wordforest.explorer.views import node_values

_PAUSE = 1.0  # seconds that a browser has to draw its first page
_BINARY = "application/octet-stream"


def add_callbacks(app: Any, models: list[Model], makers: list[MapMaker]) -> None:
    """Connect addresses with pages and questions with answers; the assets draw both."""

    def view(address: object) -> dict[str, Any]:
        for maker in makers:
            maker.start(after=_PAUSE)  # the first page is on its way: time for the map
        return answer_page(models, address)

    def words(question: object) -> dict[str, Any]:
        return answer_question(models, question)

    app.callback(Output("view", "data"), Input("route", "data"), prevent_initial_call=True)(view)
    app.callback(Output("answer", "data"), Input("question", "data"), prevent_initial_call=True)(words)
    for source, target in (("models", "shown"), ("view", "shown"), ("answer", "offered")):
        app.clientside_callback(
            ClientsideFunction("wordforest", source),
            Output(target, "data", allow_duplicate=source == "view"),
            Input(source, "data"),
            prevent_initial_call=source != "models",
        )


def answer_page(models: list[Model], address: object) -> dict[str, Any]:
    """Return the data of the page at an address; what has no page gets one that says why."""
    text = address if isinstance(address, str) else ""
    try:
        return page_view(models, parse_route(text, len(models))) | {"address": address}
    except InputError as error:
        return {"kind": "missing", "message": str(error), "address": address}


def answer_question(models: list[Model], question: object) -> dict[str, Any]:
    """Return the words of all models that begin with what was typed, with the question's number."""
    asked = question if isinstance(question, dict) else {}
    prefix, number = asked.get("prefix"), asked.get("number")
    found = [complete(model, prefix[:200]) for model in models] if isinstance(prefix, str) else []
    return {"number": number, "words": list(dict.fromkeys(word for words in found for word in words))[:10]}


def add_data(server: Flask, models: list[Model], makers: list[MapMaker]) -> None:
    """Serve what is too large for callbacks: places of words, the words, a node's coefficients; numbers as bytes."""

    def places(model: int) -> Response:
        if model >= len(models):
            return _nothing("model")
        found, final = makers[model].current()
        if found is None:
            return Response("", 202)
        return Response(found.astype("<f4").tobytes(), mimetype=_BINARY, headers={"X-Final": str(int(final))})

    def words(model: int) -> Response:
        return jsonify(models[model].words) if model < len(models) else _nothing("model")

    def node(model: int, node: int) -> Response:
        if model >= len(models) or node >= len(models[model].forest):
            return _nothing("node")
        values, limit = node_values(models[model], node)
        return Response(values.tobytes(), mimetype=_BINARY, headers={"X-Limit": repr(limit)})

    server.add_url_rule("/data/<int:model>/places", "data-places", places)
    server.add_url_rule("/data/<int:model>/words", "data-words", words)
    server.add_url_rule("/data/<int:model>/node/<int:node>", "data-node", node)


def _nothing(what: str) -> Response:
    return Response(f"There is no such {what}.\n", 404, mimetype="text/plain")
