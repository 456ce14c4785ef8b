"""The site has every page, once, and its links lead there; `make docs` builds it and checks anchors, too."""

from __future__ import annotations

import re
import runpy
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


def test_pages_ask_nothing_of_other_hosts():
    settings = (HOME / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "http" not in settings
