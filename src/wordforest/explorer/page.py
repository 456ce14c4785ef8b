"""The frame of the page, the same for the server and for the file to send, and the code and style in it."""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
OFFLINE = Path(__file__).parent / "offline"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>wordforest</title>
{head}
</head>
<body>
<a class="skip" href="#stage">Skip to the page</a>
<div class="page">
<header class="top">
<a class="brand" href="{to}/" aria-label="wordforest: start"><span class="mark" aria-hidden="true"></span>wordforest</a>
<nav aria-label="Pages">
<a href="{to}/">Forest</a><a href="{to}/compare">Compare</a><a href="{to}/analogy">Analogy</a><a href="{to}/map">Map</a>
</nav>
<div id="search" class="search" role="search"></div>
</header>
<main id="stage" tabindex="-1"><noscript>This page needs JavaScript. It loads nothing from elsewhere.</noscript></main>
<div id="status" class="status" role="status" aria-live="polite"></div>
{foot}
</div>
{scripts}
</body>
</html>
"""


def page_html(*, head: str, scripts: str, foot: str = "", to: str = "") -> str:
    """Return the page; ``to`` is what stands before an address: nothing on a server, # in a file."""
    return _PAGE.format(head=head, scripts=scripts, foot=foot, to=to)


def asset_paths(suffix: str) -> list[Path]:
    """Return the assets in the order in which they are loaded."""
    return sorted(path for path in ASSETS.iterdir() if path.suffix == suffix)
