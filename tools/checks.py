"""What a line of the checklist is made of: checks of the repository, each of which returns what is missing.

An item is a line of a list and its check. Nothing missing is a yes; an Answer is taken as it stands.
"""

from __future__ import annotations

import inspect
import re
import runpy
import tomllib
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

HOME = Path(__file__).resolve().parents[1]
OSI = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "GPL-3.0-or-later", "LGPL-3.0-or-later", "MIT", "MPL-2.0"}
END_OF_LIFE = {10: date(2026, 10, 31), 11: date(2027, 10, 31), 12: date(2028, 10, 31), 13: date(2029, 10, 31)}  # 3.x
DEVELOPERS = {"docs", "release", "test", "torture"}  # extras that only make asks for
WORDS = (750, 1750)  # of a paper
LEAST_WORDS = 50  # of one of its sections
RECORDS = {"docs/decisions.md", "docs/paper.md"}  # history, and the values of the paper that is implemented
_NOT_YET = re.compile(r"to\s+be\s+(filled\s+in|written)\s+by\s+the\s+authors", re.I)

Verdict = Literal["yes", "no", "needs a person"]


class Answer(NamedTuple):
    """What a line comes to, and why: what is missing, or what a person has to do."""

    verdict: Verdict
    why: str = ""


class Repository(NamedTuple):
    """The files that are looked at; what is absent is empty."""

    home: Path = HOME

    def text(self, name: str) -> str:
        """Return a file."""
        path = self.home / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    @property
    def project(self) -> dict[str, Any]:
        """The table ``project`` of pyproject.toml."""
        return dict(tomllib.loads(self.text("pyproject.toml")).get("project", {}))

    @property
    def commands(self) -> set[str]:
        """What ``make`` makes."""
        return set(re.findall(r"^([\w-]+):", self.text("Makefile"), re.M))


Check = Callable[[Repository], Iterable[str] | Answer]


class Item(NamedTuple):
    """A line of a list: the list and its part, what is asked, and how it is answered."""

    asked_by: str
    part: str
    what: str
    check: Check

    def answer(self, repository: Repository) -> Answer:
        """Return what the repository has to say to it."""
        return _answer(self.check, repository)


@cache  # some lines stand in both lists
def _answer(check: Check, repository: Repository) -> Answer:
    found = check(repository)
    if isinstance(found, Answer):
        return found
    missing = list(found)
    return Answer("no", "; ".join(missing)) if missing else Answer("yes")


# what lines are made of


def person(todo: str) -> Check:
    """Ask a person."""
    return lambda _: Answer("needs a person", todo)


def until(done: Callable[[Repository], bool], todo: str) -> Check:
    """Ask a person until something is there."""
    return lambda repository: Answer("yes") if done(repository) else Answer("needs a person", todo)


def together(*checks: Check) -> Check:
    """Ask for several things; none of them for a person."""
    return lambda repository: [missing for check in checks for missing in check(repository)]


def files(*names: str) -> Check:
    """Ask for files, or patterns that some file has."""
    return lambda repository: [f"no {name}" for name in names if not any(repository.home.glob(name))]


def says(name: str, *patterns: str) -> Check:
    """Ask that a file has something for every pattern, case aside."""
    return lambda repository: [
        f"{name} has nothing like {pattern!r}"
        for pattern in patterns
        if not re.search(pattern, repository.text(name), re.I | re.M)
    ]


def headed(name: str, *headings: str) -> Check:
    """Ask that a file has headings."""
    return says(name, *(rf"^#+ {heading}" for heading in headings))


def makes(*names: str) -> Check:
    """Ask for commands of the Makefile."""
    return lambda repository: [f"no make {name}" for name in names if name not in repository.commands]


# lines that need a function


def licence(repository: Repository) -> list[str]:
    """Look at the licence: one of OSI's, its whole text, the same in all places."""
    name = str(repository.project.get("license", ""))
    wrong = [] if name in OSI else [f"licence {name!r} of pyproject.toml is none that OSI approved"]
    if "Redistribution and use in source and binary forms" not in repository.text("LICENSE"):
        wrong.append("LICENSE has not the text of a BSD licence")
    cited = re.search(r"^license: (.*)$", repository.text("CITATION.cff"), re.M)
    return wrong if cited and cited[1] == name else [*wrong, "CITATION.cff has another licence, or none"]


def metadata(repository: Repository) -> list[str]:
    """Look at pyproject.toml."""
    keys = ["name", "version", "description", "readme", "license", "requires-python"]
    keys += ["authors", "keywords", "classifiers", "urls"]
    have = {*repository.project, *repository.project.get("dynamic", [])}
    return [f"pyproject.toml has no {key}" for key in keys if key not in have]


def pythons(repository: Repository, today: date) -> list[str]:
    """Look at the versions of Python: the lowest still gets fixes, all are declared."""
    lowest = re.search(r">=\s*3\.(\d+)", str(repository.project.get("requires-python", "")))
    if not lowest:
        return ["pyproject.toml has no lowest version of Python"]
    ended = END_OF_LIFE.get(int(lowest[1]), date.min if int(lowest[1]) < min(END_OF_LIFE) else date.max) < today
    return [f"Python 3.{lowest[1]} gets no fixes any more"] if ended else []


def extras(repository: Repository) -> list[str]:
    """Look for all extras on the pages that tell how to install."""
    pages = repository.text("README.md") + repository.text("docs/start.md")
    names = repository.project.get("optional-dependencies", {}).keys() - DEVELOPERS
    missing = [name for name in sorted(names) if not re.search(rf"\b{name}\b", pages)]
    return [f"neither README nor docs/start.md names the extra {name}" for name in missing] or (
        [] if names else ["there are no extras"]
    )


def tests_of_rooms(repository: Repository) -> list[str]:
    """Look for tests of every room of the source."""
    rooms = [path.parent.name for path in (repository.home / "src" / "wordforest").glob("*/__init__.py")]
    without = [room for room in rooms if not any((repository.home / "tests" / room).glob("**/test_*.py"))]
    return [f"no tests of {room}" for room in without] if rooms else ["there is no source"]


def tutorials(repository: Repository) -> list[str]:
    """Look at the tutorials: some are there, and each has something that a test runs."""
    pages = {path.name: path.read_text(encoding="utf-8") for path in repository.home.glob("docs/tutorials/*.md")}
    if len(pages) < 3:
        return [f"{len(pages)} tutorials"]
    return [f"{page}: nothing that runs" for page, text in pages.items() if not _runs(text)]


def _runs(text: str) -> bool:
    snippets = re.findall(r"^```(?:python|shell)\n(.*?)^```", text, re.M | re.S)
    return any(not snippet.startswith("# not run:") for snippet in snippets)


@cache
def public(repository: Repository) -> dict[str, Any]:
    """Return the functions and classes that the reference shows, by name."""
    hooks = repository.home / "docs" / "hooks.py"
    tools = runpy.run_path(str(hooks)) if hooks.is_file() else {"MODULES": ()}
    names = [(home, name) for home in tools["MODULES"] for name in tools["own_names"](home)]
    named = {f"{home}.{name}": getattr(import_module(home), name) for home, name in names}
    return {name: found for name, found in named.items() if inspect.isfunction(found) or inspect.isclass(found)}


def documented(repository: Repository) -> list[str]:
    """Look at the docstrings of all that is public, methods included."""
    parts = dict(public(repository))
    for name, owner in public(repository).items():
        own = vars(owner).items() if inspect.isclass(owner) else ()
        parts |= {f"{name}.{key}": part for key, part in own if not key.startswith("_") and inspect.isfunction(part)}
    without = [f"{name} has no docstring" for name, part in parts.items() if not inspect.getdoc(part)]
    return without if parts else ["nothing is public"]


def with_examples(repository: Repository) -> list[str]:
    """Look for examples in the docstrings of all that is public."""
    parts = public(repository)
    without = [name for name, part in parts.items() if ">>>" not in (inspect.getdoc(part) or "")]
    if not parts:
        return ["nothing is public"]
    return [f"{len(without)} of {len(parts)} public names have none, such as {without[0]}"] if without else []


def figures(*pages: str) -> Check:
    """Ask that the measured figures of pages are those of their results files."""

    def wrong(repository: Repository) -> list[str]:
        tool = repository.home / "benchmarks" / "figures.py"
        found = [path for page in pages for path in sorted(repository.home.glob(page))]
        if not tool.is_file() or not found:
            return ["no benchmarks/figures.py, or no page"]
        look_at = runpy.run_path(str(tool))["look_at"]
        texts = {str(path.relative_to(repository.home)): path.read_text(encoding="utf-8") for path in found}
        problems = {name: look_at(text).problems for name, text in texts.items() if name not in RECORDS}
        return [f"{name}, {told[0]}" for name, told in problems.items() if told]

    return wrong


def reports(repository: Repository) -> list[str]:
    """Look at the results files: each names the command and the commit that made it."""
    made = sorted(repository.home.glob("docs/reports/*.md"))
    stamps = ("- command: ", "- commit: ", "- machine: ")
    without = [path.name for path in made if not all(stamp in path.read_text(encoding="utf-8") for stamp in stamps)]
    return [f"docs/reports/{name} is not stamped" for name in without] if made else ["no docs/reports"]


def data_sets(repository: Repository) -> list[str]:
    """Look at the data that are judged with: each has its source, its terms and a hash of every file."""
    sets = tomllib.loads(repository.text("src/wordforest/evaluation/datasets.toml"))
    keys = ("source", "terms", "sha256")
    return [f"{name} has no {key}" for name, one in sets.items() for key in keys if key not in one] or (
        [] if sets else ["no datasets.toml"]
    )


def promises(repository: Repository) -> list[str]:
    """Look for the tests that docs/promises.md names."""
    named = sorted(set(re.findall(r"tests/[\w/]+\.py", repository.text("docs/promises.md"))))
    missing = [f"no {name}" for name in named if not (repository.home / name).is_file()]
    return missing if named else ["docs/promises.md names no tests"]


def workflows(repository: Repository) -> list[str]:
    """Look for tests on every push and pull request."""
    texts = [path.read_text(encoding="utf-8") for path in repository.home.glob(".github/workflows/*.y*ml")]
    tested = [text for text in texts if "pull_request" in text and re.search(r"make test|pytest|\.ci/run", text)]
    return [] if tested else ["no workflow in .github/workflows that tests pull requests"]


# the paper


def paper_body(repository: Repository) -> str:
    """Return what is read of the paper, without comments."""
    return re.sub(r"<!--.*?-->", "", repository.text("paper/paper.md").partition("\n---\n")[2])


def paper_section(heading: str) -> Check:
    """Ask for a section of the paper that says something."""

    def missing(repository: Repository) -> list[str]:
        part = re.search(rf"^# {heading}\n(.*?)(?=^# |\Z)", paper_body(repository), re.M | re.S)
        return (
            []
            if part and len(part[1].split()) >= LEAST_WORDS
            else [f"no section {heading!r}, or next to nothing in it"]
        )

    return missing


def paper_head(repository: Repository) -> list[str]:
    """Look at what stands above the paper."""
    head = repository.text("paper/paper.md").partition("\n---\n")[0]
    keys = ("title", "tags", "authors", "affiliations", "date", "bibliography")
    return [f"paper.md has no {key}" for key in keys if not re.search(rf"^{key}:", head, re.M)]


def paper_words(repository: Repository) -> list[str]:
    """Count the words of the paper."""
    count = len(paper_body(repository).split())
    return [] if WORDS[0] <= count <= WORDS[1] else [f"{count} words, not {WORDS[0]} to {WORDS[1]}"]


def paper_references(repository: Repository) -> list[str]:
    """Compare what is cited with what is listed; each has an address."""
    bib = repository.text("paper/paper.bib")
    entries = dict(re.findall(r"^@\w+\{(\S+?),\n(.*?)^\}", bib, re.M | re.S))
    cited = set(re.findall(r"(?<!\w)@([a-z]\w+)", paper_body(repository)))
    unknown = [f"{key} is cited and not listed" for key in sorted(cited - entries.keys())]
    unread = [f"{key} is listed and not cited" for key in sorted(entries.keys() - cited)]
    bare = [
        f"{key} has neither doi nor url" for key, entry in entries.items() if not re.search(r"\b(doi|url) =", entry)
    ]
    return unknown + unread + bare if entries else ["no paper/paper.bib"]


def paper_pictures(repository: Repository) -> list[str]:
    """Look for the pictures of the paper."""
    names = re.findall(r"!\[.*?\]\((\S+?)\)", paper_body(repository), re.S)
    missing = [name for name in names if not (repository.home / "paper" / name).is_file()]
    return [f"no {name}" for name in missing] if names else ["the paper has no picture"]


def written(heading: str) -> Callable[[Repository], bool]:
    """Say whether people wrote what they were asked for below a heading of the paper, or above all (no heading)."""

    def done(repository: Repository) -> bool:
        text = repository.text("paper/paper.md")
        pattern = rf"^# {heading}\n.*?(?=^# |\Z)" if heading else r"\A---.*?^---\n"
        part = re.search(pattern, text, re.M | re.S)
        return bool(part) and not _NOT_YET.search(part[0])

    return done


def has_mail(repository: Repository) -> bool:
    """Say whether somebody can be written to."""
    people = [*repository.project.get("authors", []), *repository.project.get("maintainers", [])]
    return any("email" in one for one in people)


def has_own_addresses(repository: Repository) -> bool:
    """Say whether the forms for issues lead to this repository."""
    url = repository.project.get("urls", {}).get("Repository", "?")
    links = re.findall(r"url: (\S+)", repository.text(".github/ISSUE_TEMPLATE/config.yml"))
    return bool(links) and all(link.startswith(url) for link in links)


def has_badges(repository: Repository) -> bool:
    """Say whether the README shows tests, docs, versions of Python and the release at a glance."""
    top = "\n".join(repository.text("README.md").splitlines()[:12]).lower()
    return all(re.search(rf"\[!\[[^\]]*{name}", top) for name in ("test", "doc", "python", "version|release|pypi"))
