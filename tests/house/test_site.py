"""The site has every page, once, and its links lead there; `make docs` builds it and checks anchors, too."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
HOOKS = runpy.run_path(str(HOME / "docs" / "hooks.py"))
WRITTEN = {str(path.relative_to(HOME / "docs")) for path in HOME.glob("docs/**/*.md")}
REPORTS = {page for page in WRITTEN if page.startswith("reports/")}
MADE = {name for name, _ in HOOKS["made_pages"]()}


def test_the_navigation_names_every_page_once():
    nav = (HOME / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = [*re.findall(r"\S+\.md", nav), *HOOKS["unnamed"](nav)]  # the latter stand under Contributing
    assert Counter(named) == Counter((WRITTEN - REPORTS) | MADE)


def test_every_public_name_and_command_has_its_place_in_the_reference():
    import wordforest as wf
    from wordforest.cli.command import COMMANDS

    pages = dict(HOOKS["made_pages"]())
    names = pages["reference/wordforest.md"]()
    rooms = {*HOOKS["ROOMS"], "documents"}
    assert [name for name in wf.__all__ if f"::: wordforest.{name}\n" not in f"{names}\n" and name not in rooms] == []
    commands = pages["reference/commands.md"]()
    assert [name for name in COMMANDS if f"\n## `wordforest {name}`\n" not in commands] == []
    assert "--spelling" in commands, "options that the short help leaves out"


def test_a_function_is_not_taken_for_the_file_of_its_name():
    assert HOOKS["path_of"]("wordforest.reading", "outline") == "wordforest.reading.outline.outline"
    assert HOOKS["path_of"]("wordforest.reading", "as_text") == "wordforest.reading.as_text"


def test_the_reference_shows_the_values_of_defaults():
    griffe = pytest.importorskip("griffe", reason="the packages of the site are not installed")
    home = str(HOME / "src")
    extensions = griffe.load_extensions(str(HOME / "docs" / "defaults.py"))
    package = griffe.load("wordforest", search_paths=[home], extensions=extensions, resolve_aliases=False)
    shown = {one.name: str(one.default) for one in package["coder.estimator.ForestCoder.__init__"].parameters}
    assert (shown["trees"], shown["branching"], shown["epochs"]) == ("4", "(3, 3)", "None")
    encode = {one.name: str(one.default) for one in package["coder.coding.encode"].parameters}
    assert encode["max_iter"] == "1000"


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("forest.md", "[explorer.md](explorer.md)", "[Figures, and a page to walk through the forest](explorer.md)"),
        ("promises.md", "[a](../README.md)", "[a](index.md)"),
        ("reports/best.md", "[a](../coder.md#b)", "[a](../coder.md#b)"),
        ("changelog.md", "[a](docs/forest.md)", "[a](forest.md)"),
        ("results.md", "[reports](reports)", "[reports](reports/index.md)"),
        ("forest.md", "[a](https://b.org/c.md)", "[a](https://b.org/c.md)"),
    ],
)
def test_a_link_of_the_repository_leads_to_a_page_of_the_site(page: str, link: str, there: str):
    assert HOOKS["_turned"](link, page) == there


def test_ties_of_figures_are_not_on_the_site():
    text = "<!--best:M = 52-->\n| a<!--b | c--> |\n|---|\n| 14.5 s<!--best:x--> |\n"
    assert HOOKS["_turned"](text, "forest.md") == "| a |\n|---|\n| 14.5 s |\n"


def test_a_snippet_tells_readers_what_it_needs_and_nothing_of_the_tests():
    assert HOOKS["_told"]("```shell\n# not run: opens a page\nwordforest explore run\n```") == (
        "```shell\n# opens a page\nwordforest explore run\n```"
    )


DRAWINGS = runpy.run_path(str(HOME / "benchmarks" / "drawings.py"))["PICTURES"]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_of_the_method_is_the_one_its_script_draws(name: str):
    assert (HOME / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == DRAWINGS[name]()


def test_short_code_is_not_broken_but_long_code_and_listings_are():
    mark = HOOKS["on_page_content"]
    assert mark("<p><code>--min-count</code></p>") == '<p><code class="short">--min-count</code></p>'
    listing = f"<pre><code>x <span>=</span> 1</code></pre> <code>{'a' * 40}</code>"
    assert mark(listing) == listing


@pytest.mark.parametrize(
    ("html", "addresses"),
    [
        ('<script defer src="https://a.org/b.js"></script>', ["https://a.org/b.js"]),
        ("<img alt='x' src='//a.org/b.png'>", ["//a.org/b.png"]),
        ('<link rel="stylesheet" href="https://a.org/b.css">', ["https://a.org/b.css"]),
        (
            '@import "https://a.org/b.css"; a { background: url(http://a.org/c.png) }',
            ["https://a.org/b.css", "http://a.org/c.png"],
        ),
        ('<link rel="canonical" href="https://a.org/"> <link href="a.css" rel="stylesheet">', []),
        ('<a href="https://a.org">a</a> <img src="../pictures/b.svg"> <script src="assets/c.js"></script>', []),
    ],
)
def test_what_a_page_would_fetch_from_elsewhere_is_found(html: str, addresses: list[str]):
    assert HOOKS["fetched"](html) == addresses


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path: Path):
    pytest.importorskip("mkdocs", reason="the extra docs, which make docs installs")
    pytest.importorskip("mkdocstrings", reason="the extra docs, which make docs installs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(
        command, cwd=HOME, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert (built.returncode, [line for line in built.stderr.splitlines() if not line.startswith("INFO")]) == (0, [])
    assert len([*(tmp_path / "site").rglob("*.html")]) > len(WRITTEN)
