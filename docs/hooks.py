"""What MkDocs does beside its own for the site (mkdocs.yml): pages made from the code, and pages of the repository.

Markdown in the root of the repository (CHANGELOG.md) is a page under its name in lower case, the reference is made of
the public names and of the commands, docs/reports gets a list. Links keep the form that works in the repository; here
they are turned to where their target stands on the site, and the comments that tie figures to their files are taken
out. Pages of the gallery (make gallery) are taken along where they are there; `build/gallery/NAME.html` in a text, with
or without an address behind it, is a link then.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

HOME = Path(__file__).resolve().parents[1]
DOCS = HOME / "docs"
GALLERY = HOME / "build" / "gallery"
ROOMS = ("coder", "evaluation", "figures", "interop", "reading", "text")
MODULES = ("wordforest", *(f"wordforest.{room}" for room in ROOMS))
log = logging.getLogger("mkdocs.hooks")  # a warning of this name fails a strict build
_SOURCE = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc\s*=\s*["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|alternate|next|prev)\b)[^>]*?\bhref\s*=\s*["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""",
    re.IGNORECASE,
)
_SHORT = re.compile(r"<code>(?=[^<]{1,32}</code>)")
_FENCE = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_COMMENT_LINE = re.compile(r"^<!--(?:(?!-->).)*-->\n", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PAGE = re.compile(r"`build/gallery/(([\w-]+\.html)(?:#[^`\s]*)?)`")
_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def root_pages() -> dict[Path, str]:
    """Return the pages of the repository's root, and where they stand on the site.

    Home is docs/index.md; the README is for those who come to the repository, and links to it lead Home.
    """
    pages = {path: path.name.lower() for path in sorted(HOME.glob("*.md"))}
    return pages | {HOME / "README.md": "index.md"}


def source_url() -> str | None:
    """Return where the source can be read, as pyproject.toml has it."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    url = project.get("urls", {}).get("Repository")
    return f"{url}/blob/main" if url else None


def commands_page() -> str:
    """Return all commands with all of their options, as Typer describes them."""
    import typer.main
    from typer.cli import get_docs_for_click

    import wordforest.cli  # noqa: F401 adds the commands
    from wordforest.cli.command import app

    group: Any = typer.main.get_command(app)
    for one in group.commands.values():
        one.short_help = one.help.partition("\n")[0]  # not cut
        for option in one.params:
            option.hidden = False  # the short help leaves some out
    text = get_docs_for_click(obj=group, ctx=typer.Context(group), name="wordforest", title="Commands")
    return _angles(text)


def _angles(text: str) -> str:
    """Keep <path> from being read as HTML, outside of code."""
    parts = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if n % 2 else part.replace("<", "&lt;") for n, part in enumerate(parts))


def names_of(module: str) -> list[str]:
    """Return the public names of a module that are no modules."""
    home = import_module(module)
    return [name for name in sorted(home.__all__) if name not in {*ROOMS, "documents"}]


def own_names(module: str) -> list[str]:
    """Return the names that the page of a module shows: those that ``wordforest`` has are shown there."""
    taken = set() if module == "wordforest" else set(names_of("wordforest"))
    return [name for name in names_of(module) if name not in taken]


def path_of(module: str, name: str) -> str:
    """Return where a public name is found; that of a function whose file is called as it is goes through the file."""
    return f"{module}.{name}.{name}" if find_spec(f"{module}.{name}") else f"{module}.{name}"


def module_page(module: str) -> str:
    """Return the page of a module: its docstring, then each name; those of ``wordforest`` itself stand there alone."""
    shown = own_names(module)
    also = [f"[`{name}`][wordforest.{name}]" for name in names_of(module) if name not in shown]
    return "\n\n".join(
        [
            f"# {module}",
            str(import_module(module).__doc__),
            *([f"Also here: {', '.join(also)}."] if also else []),
            *(f"::: {path_of(module, name)}" for name in shown),
        ]
    )


def reference_index() -> str:
    """Return the front page of the reference: every public name with a link."""
    lines = [
        "# Reference",
        "Made from the code: [commands](commands.md) with all options, and every public name.",
        "Letters: V words, or rows of any matrix; C contexts, or columns; M nodes of the forest; n documents. "
        "X is (V, C), the dictionary D (C, M), the codes A (V, M). Examples stand alone; those of a method go on "
        "from that of its class.",
    ]
    for module in MODULES:
        names = ", ".join(f"[`{name}`][{path_of(module, name)}]" for name in own_names(module))
        lines.append(f"**[{module}]({module.rpartition('.')[2]}.md)**: {names}")
    return "\n\n".join(lines) + "\n"


def title_of(page: Path) -> str:
    """Return the first heading of a page."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def reports_index() -> str:
    """Return the list of results files by their titles."""
    rows = [f"- [{title_of(path)}]({path.name})" for path in sorted((DOCS / "reports").glob("*.md"))]
    return "\n".join(
        ["# Reports", "", "Every measured figure of these pages is tied to one of these files.", "", *rows]
    )


def made_pages() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the pages that are made, each with its maker."""
    for path, name in root_pages().items():
        if name != "index.md":
            yield name, partial(path.read_text, encoding="utf-8")
    yield "reports/index.md", reports_index
    yield "reference/index.md", reference_index
    yield "reference/commands.md", commands_page
    for module in MODULES:
        yield f"reference/{module.rpartition('.')[2]}.md", partial(module_page, module)


def unnamed(nav: str) -> list[str]:
    """Return the pages of the root that a navigation does not name."""
    return [name for name in root_pages().values() if name not in nav]


def on_config(config: MkDocsConfig) -> None:
    """Put pages of the root that mkdocs.yml does not name under Contributing."""
    part = next(part["Contributing"] for part in config.nav or [] if "Contributing" in part)
    part.extend(unnamed(str(config.nav)))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and those of the gallery."""
    from mkdocs.structure.files import File

    for name, make in made_pages():
        files.append(File.generated(config, name, content=make()))
    for path in sorted(GALLERY.glob("*.html")):
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Take the ties of figures out, turn links to where their targets stand, and tell readers what snippets need."""
    parts = _FENCE.split(markdown)
    return "".join(_told(part) if n % 2 else _turned(part, page.file.src_uri) for n, part in enumerate(parts))


def _told(snippet: str) -> str:
    """Leave of "# not run: needs a cluster", which the tests look for, what readers want to know."""
    return snippet.replace("\n# not run: ", "\n# ", 1)


def on_page_content(html: str, **_: Any) -> str:
    """Mark code that is short, which a line is not to be broken in."""
    return _SHORT.sub('<code class="short">', html)


def on_post_build(config: MkDocsConfig) -> None:
    """Warn of pages and style sheets that would fetch something from elsewhere, so that a strict build fails."""
    for path in sorted(p for p in Path(config.site_dir).rglob("*") if p.suffix in {".html", ".css"}):
        for address in fetched(path.read_text(encoding="utf-8")):
            log.warning("%s fetches %s: keep what pages need in docs/assets", path.name, address)


def fetched(html: str) -> list[str]:
    """Return the addresses that a browser fetches by itself for a page or a style sheet, so not those of links."""
    return ["".join(found) for found in _SOURCE.findall(html)]


def _turned(text: str, uri: str) -> str:
    text = _COMMENT.sub("", _COMMENT_LINE.sub("", text))
    text = _LINK.sub(lambda match: site_link(*match.groups(default=""), uri=uri), text)
    return _PAGE.sub(gallery_link, text)


def gallery_link(named: re.Match[str], gallery: Path = GALLERY) -> str:
    """Return a link to a page of the gallery; where it was not made, its name as it stands."""
    address, name = named.groups()
    return f"[{address}](gallery/{address})" if (gallery / name).is_file() else named[0]


def site_link(text: str, link: str, anchor: str, *, uri: str) -> str:
    """Return a link of a page as the site has it; a file's name gives way to the title of its page."""
    homes = {name: path.parent for path, name in root_pages().items() if name != "index.md"}
    target = Path(os.path.normpath(homes.get(uri, (DOCS / uri).parent) / link))
    at = place(target)
    if at is None:
        return f"[{text}]({source_url()}/{target.relative_to(HOME)})" if source_url() else text
    if text.endswith(".md") and target.is_file():
        text = title_of(target)
    return f"[{text}]({os.path.relpath(at, Path(uri).parent)}{anchor})"


def place(target: Path) -> str | None:
    """Return where a file or folder of the repository stands on the site, if it does."""
    if target in root_pages():
        return root_pages()[target]
    if target.suffix == ".ipynb" or not target.is_relative_to(DOCS):
        return None
    return str(target.relative_to(DOCS)) + ("/index.md" if target.is_dir() else "")
