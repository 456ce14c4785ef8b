"""A report as blocks, written as Markdown for a repository and as one HTML file for a browser."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_CODE = re.compile(r"`([^`]+)`")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin-top: 2em; } h1 { margin-top: 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin-top: 1.5rem; } .note { color: #555; }
caption { caption-side: bottom; text-align: left; color: #555; padding-top: .4em; }
th, td { padding: .25em .6em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #888; }
pre { background: #f5f5f5; padding: .8em; overflow-x: auto; font-size: 13px; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #1b1b1b; }
"""


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 3."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text; ``**bold**`` and `code` in backticks."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of points."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table; the first column is text, the others are numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to type."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Pictures:
    """SVG drawings side by side, shown in HTML alone; Markdown has the same numbers in a table."""

    svgs: tuple[str, ...]
    caption: str = ""


Block = Heading | Paragraph | Items | Table | Code | Pictures


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return the blocks as Markdown."""
    return "\n\n".join(text for block in blocks if (text := _markdown(block))) + "\n"


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """Return the blocks as one HTML page that needs nothing else; all text is escaped."""
    body = "\n".join(map(_html, blocks))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return "#" * block.level + " " + block.text
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Items):
        return "\n".join(f"- {text}" for text in block.texts)
    if isinstance(block, Code):
        return "\n".join(["```text", *block.lines, "```"])
    if isinstance(block, Table):
        cells = [[cell.replace("|", "\\|") for cell in row] for row in (block.header, *block.rows)]
        rule = ["---", *["---:"] * (len(block.header) - 1)]
        lines = ["| " + " | ".join(row) + " |" for row in (cells[0], rule, *cells[1:])]
        return "\n".join([*lines, *(["", block.caption] if block.caption else [])])
    return ""


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{_inline(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Items):
        return "<ul>" + "".join(f"<li>{_inline(text)}</li>" for text in block.texts) + "</ul>"
    if isinstance(block, Code):
        return "<pre>" + html.escape("\n".join(block.lines)) + "</pre>"
    if isinstance(block, Table):
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.header)
        rows = "".join("<tr>" + "".join(f"<td>{_inline(c)}</td>" for c in row) + "</tr>" for row in block.rows)
        caption = f"<caption>{_inline(block.caption)}</caption>" if block.caption else ""
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div class="wide">{table}</div>'
    return f'<div class="pictures">{"".join(block.svgs)}</div><p class="note">{_inline(block.caption)}</p>'


def _inline(text: str) -> str:
    escaped = _BOLD.sub(r"<b>\1</b>", html.escape(text))
    return _CODE.sub(r"<code>\1</code>", escaped)
