"""Addresses of pages: /word/king, /node/12, /compare/a,b, /analogy/a,b,c, /map?node=3. Every word has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from wordforest.errors import InputError
from wordforest.explorer.model import Model
from wordforest.explorer.views import MAX_COMPARED, analogy, comparison, node_card, word_view

KINDS = ("", "word", "node", "compare", "analogy", "map")
_LONGEST = 8000  # characters of an address
_BY_QUERY = (".", "..")  # browsers take these for folders, even when they are escaped


class UnknownPageError(InputError):
    """An address that is no page."""


@dataclass(frozen=True)
class Route:
    """A page: its kind (one of KINDS), words, node and model."""

    kind: str
    words: tuple[str, ...] = ()
    node: int | None = None
    model: int = 0


def parse_route(address: str, n_models: int = 1) -> Route:
    """Return the page that an address (path and query, still escaped) means; UnknownPageError where there is none."""
    if len(address) > _LONGEST:
        raise UnknownPageError(f"the address has {len(address)} characters, but {_LONGEST} is the limit.")
    path, _, query = address.partition("?")
    kind, _, rest = path.removeprefix("/").partition("/")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if kind not in KINDS or (rest and kind in ("", "map")):
        raise UnknownPageError(f"there is no page {unquote(path)!r}. Start at /.")
    model = _whole(options.get("model", "0"), "model")
    if model >= n_models:
        raise UnknownPageError(f"there is no model {model}: the last one is {n_models - 1}.")
    if kind == "node":
        return Route(kind, node=_whole(rest, "node"), model=model)
    node = _whole(options["node"], "node") if kind == "map" and options.get("node") else None
    return Route(kind, _words(kind, rest, options), node, model)


def address_of(route: Route) -> str:
    """Return the address of a page, the inverse of parse_route."""
    options = [f"model={route.model}"] if route.model else []
    if route.kind == "map" and route.node is not None:
        options.insert(0, f"node={route.node}")
    path = f"/{route.kind}"
    if route.kind == "node":
        path += f"/{route.node}"
    elif route.kind == "word" and route.words and route.words[0] in _BY_QUERY:
        options.insert(0, f"w={route.words[0]}")
    elif route.words:
        path += "/" + ",".join(quote(word, safe="") for word in route.words)
    return path + ("?" + "&".join(options) if options else "")


def page_view(models: list[Model], route: Route) -> dict[str, Any]:
    """Return the data of a page: its kind and words, and a panel for every model that it shows."""
    view: dict[str, Any] = {"kind": route.kind or "forest", "words": list(route.words), "panels": []}
    if route.kind == "node":
        view |= {"model": route.model, "panels": [node_card(models[route.model], route.node or 0)]}
    elif route.kind == "word" and route.words:
        view["panels"] = [word_view(model, route.words[0]) for model in models]
    elif route.kind == "compare":
        view["panels"] = [comparison(model, route.words) for model in models]
    elif route.kind == "analogy" and len(route.words) == 3:
        view["panels"] = [analogy(model, *route.words) for model in models]
    elif route.kind == "map":
        view |= {"node": route.node, "model": route.model}
        if route.node is not None:
            models[route.model].check_node(route.node)
    return view


def exists(models: list[Model], route: Route) -> bool:
    """Return whether a page has something to show: a node of its model, words that some model knows."""
    if route.node is not None and route.node >= len(models[route.model].forest):
        return False
    return all(any(word in model.vectors for model in models) for word in route.words)


def _words(kind: str, rest: str, options: dict[str, str]) -> tuple[str, ...]:
    if kind == "word":
        return (unquote(rest),) if rest else tuple(filter(None, [options.get("w", "")]))
    words = tuple(dict.fromkeys(unquote(part) for part in rest.split(",") if part))
    if kind == "analogy":
        words = tuple(unquote(part) for part in rest.split(",") if part)
    limit = {"compare": MAX_COMPARED, "analogy": 3}.get(kind, 0)
    if len(words) > limit:
        raise UnknownPageError(f"{len(words)} words came, but /{kind}/ takes at most {limit}. Leave some out.")
    return words


def _whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UnknownPageError(f"{what} = {text!r}, but a whole number from 0 is needed.")
    return int(text)
