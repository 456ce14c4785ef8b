"""The frame of the page: header, search, stage, and the stores through which browser and server talk."""

from __future__ import annotations

from typing import Any

import dash

from wordforest.explorer.model import Model, summary

_dash: Any = dash  # its hints do not know aria- and data- properties
html, dcc = _dash.html, _dash.dcc
PAGES = (("/", "Forest"), ("/compare", "Compare"), ("/analogy", "Analogy"), ("/map", "Map"))
# {%…%} are Dash's, %nonce% is ours. The favicon is our own file, so Dash's is not asked for.
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="style-nonce" content="%nonce%">
<title>{%title%}</title>
<link rel="icon" href="/assets/icon.svg">
{%css%}
</head>
<body>
<a class="skip" href="#stage">Skip to the page</a>
{%app_entry%}
<noscript>This page needs JavaScript. It loads nothing from elsewhere.</noscript>
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""


def page_layout(models: list[Model]) -> Any:
    """Return the layout: what stands still is built here, what changes is drawn into ``stage`` by the assets."""
    return html.Div(
        [
            html.Header(
                [
                    html.A(
                        [html.Span(className="mark", **{"aria-hidden": "true"}), "wordforest"],
                        href="/",
                        className="brand",
                        **{"aria-label": "wordforest: start"},
                    ),
                    html.Nav([html.A(name, href=href) for href, name in PAGES], **{"aria-label": "Pages"}),
                    html.Div(id="search", className="search", role="search"),
                ],
                className="top",
            ),
            html.Main(id="stage", tabIndex="-1"),
            html.Div(id="status", className="status", role="status", **{"aria-live": "polite"}),
            dcc.Store(id="models", data=[summary(model) for model in models]),
            *(dcc.Store(id=name) for name in ("route", "view", "question", "answer", "shown", "offered")),
        ],
        className="page",
    )
