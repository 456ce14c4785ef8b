"""What the documents show works: Python snippets run, commands run or at least parse, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.commands import run_command
from wordforest.cli.command import app

HOME = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*HOME.glob("*.md"), *HOME.glob("docs/**/*.md")])
NOT_RUN = "# not run:"
NEEDS = "# needs:"  # packages without which a snippet is not run
SHELLS = {"shell", "console", "sh", "bash"}
SLOW = {"demo", "explore", "reproduce", "data"}  # parsed only

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"(tests/[\w/]+\.py)((?:::\w+)*)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def snippets(text: str) -> list[tuple[int, str, str]]:
    """Return the line, the language and the content of every fenced snippet."""
    return [(text.count("\n", 0, match.start()) + 2, match[1], match[2]) for match in _FENCE.finditer(text)]


def commands(snippet: str) -> list[list[str]]:
    """Return the arguments of every ``wordforest`` line: prompts, comments, pipes and line joints taken away."""
    lines = (line.strip().removeprefix("$ ") for line in snippet.replace("\\\n", " ").splitlines())
    split = (shlex.split(re.split(r" [|>] ", line)[0], comments=True) for line in lines)
    return [words[1:] for words in split if words and words[0] == "wordforest"]


def is_not_run(snippet: str) -> bool:
    first = snippet.lstrip().partition("\n")[0]
    needed = first.removeprefix(NEEDS).split() if first.startswith(NEEDS) else []
    return first.startswith(NOT_RUN) or any(find_spec(package) is None for package in needed)


def relative_links(text: str) -> list[str]:
    targets = _LINK.findall(_FENCE.sub("", text))
    return [t.split("#")[0] for t in targets if not re.match(r"\w+:", t) and not t.startswith("#")]


@pytest.fixture
def desk(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own that holds corpus.txt."""
    shutil.copy(corpus, tmp_path / "corpus.txt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORDFOREST_DATA", raising=False)
    return tmp_path


def parse(args: list[str]) -> None:
    """Check a command without running it: an unknown option raises."""
    group: Any = typer.main.get_command(app)
    if args and not args[0].startswith("-"):
        group.commands[args[0]].make_context(args[0], args[1:])


def run_shell(snippet: str, line: int) -> None:
    for args in commands(snippet):
        parse(args)
        if is_not_run(snippet) or not args or args[0] in SLOW:
            continue
        result = run_command(*args)
        assert result.returncode == 0, f"line {line}: wordforest {shlex.join(args)}\n{result.stderr}"


def run_page(page: Path | str, text: str) -> None:
    """Run all snippets of a page, in their order, in the folder at hand and with the names of one program."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line, language, snippet in snippets(text):
        if language == "python" and not is_not_run(snippet):
            exec(compile("\n" * (line - 1) + snippet, page, "exec"), namespace)
        if language in SHELLS:
            run_shell(snippet, line)


PAGES = {str(path.relative_to(HOME)): path.read_text(encoding="utf-8") for path in DOCUMENTS}


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if "```" in text])
def test_snippets_run_in_their_order(page, desk):
    run_page(page, PAGES[page])


def test_links_lead_to_files():
    dead = {
        page: [link for link in relative_links(text) if not (HOME / page).parent.joinpath(link).exists()]
        for page, text in PAGES.items()
    }
    assert {page: links for page, links in dead.items() if links} == {}


def missing_tests(text: str) -> list[str]:
    """Return the tests that a text names, and that are not there."""
    named = ((HOME / file, rest.rpartition("::")[2]) for file, rest in _TEST.findall(text))
    return [
        f"{path.name}::{name}"
        for path, name in named
        if not path.is_file() or not re.search(rf"\b(def|class) {name}\b" if name else "", path.read_text("utf-8"))
    ]


def test_tests_that_are_named_exist():
    assert {page: missing for page, text in PAGES.items() if (missing := missing_tests(text))} == {}


class TestTheTestsThemselves:
    """A document that is wrong is found."""

    def test_a_failing_snippet_names_its_line(self, desk):
        text = "# Title\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n"
        with pytest.raises(AssertionError) as caught:
            run_page("doc.md", text)
        assert caught.traceback[-1].lineno == 8 - 1  # counted from 0

    def test_a_snippet_marked_so_is_skipped(self, desk):
        run_page("doc.md", "```python\n# not run: needs a cluster\n1 / 0\n```\n")

    def test_a_snippet_that_needs_what_is_absent_is_skipped(self, desk):
        run_page("doc.md", "```python\n# needs: json no_such_package\n1 / 0\n```\n")
        with pytest.raises(ZeroDivisionError):
            run_page("doc.md", "```python\n# needs: json\n1 / 0\n```\n")

    def test_a_failing_command_is_reported(self, desk):
        with pytest.raises(AssertionError, match="line 2: wordforest inspect missing"):
            run_page("doc.md", "```shell\n$ wordforest inspect missing | head -1  # nothing there\n```\n")

    def test_an_unknown_option_is_seen_even_where_a_command_is_not_run(self, desk):
        with pytest.raises(Exception, match="--colour"):
            run_page(
                "doc.md",
                "```console\n# not run: slow\n$ wordforest train big.txt --out run \\\n    --colour red\n```\n",
            )

    def test_a_command_that_does_not_exist_is_seen(self, desk):
        with pytest.raises(KeyError, match="trian"):
            run_page("doc.md", "```shell\nwordforest trian corpus.txt\n```\n")

    def test_a_test_that_does_not_exist_is_seen(self):
        text = (
            "`tests/house/test_docs.py::test_tests_that_are_named_exist` tests/no.py tests/house/test_docs.py::test_no"
        )
        assert missing_tests(text) == ["no.py::", "test_docs.py::test_no"]

    def test_links_are_found_outside_of_snippets(self):
        text = "[a](b.md#part) ![p](c.png) [w](https://x.org) [s](#here)\n```python\nd = e[f](g)\n```\n"
        assert relative_links(text) == ["b.md", "c.png"]


def test_every_file_that_the_page_of_the_paper_names_is_there():
    named = set(re.findall(r"`([\w/]+\.py)`", (HOME / "docs" / "paper.md").read_text(encoding="utf-8")))
    assert len(named) > 40
    assert (
        sorted(name for name in named if not any((HOME / at / name).is_file() for at in ("src/wordforest", "tests")))
        == []
    )
