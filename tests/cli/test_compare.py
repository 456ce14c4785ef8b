"""compare as a command: slices by name or column, what it prints and writes, and what it says to a mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import done, refused
from tests.slices.made import MOVES, documents

SMALL = ("--trees", "1", "--branching", "2", "--min-count", "3", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with texts old and new, a table of them, and a run trained with these slices."""
    folder = tmp_path_factory.mktemp("compare")
    parts = dict(zip(("1990", "2004"), documents(40), strict=True))
    for name, texts in parts.items():
        (folder / f"{name}.txt").write_text("\n".join(texts))
    rows = [{"year": name, "text": text} for name, texts in parts.items() for text in texts]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    slices = [f"--slice={name}={folder / name}.txt" for name in parts]
    done("train", *slices, *SMALL, "--out", folder / "run")
    return folder


def test_it_prints_what_changed(folder: Path) -> None:
    said = done("compare", folder / "run", "--quiet").stdout
    assert "1990: 60 documents" in said
    assert f"  {MOVES}  effect" in said
    assert "words that came" in said


def test_json_has_all_tables(folder: Path) -> None:
    found = json.loads(done("compare", folder / "run", "--by", "slice", "--format", "json", "--quiet").stdout)
    assert found["words"]["word"][0] == MOVES
    assert {"nodes", "words", "vocabulary", "changes", "slices", "is_time"} <= {*found}


def test_documents_of_a_table_are_compared_on_any_run(folder: Path) -> None:
    own = done("compare", folder / "run", "--format", "json", "--quiet").stdout
    other = done("compare", folder / "run", folder / "texts.jsonl", "--slices", "year", "--format", "json", "--quiet")
    one, two = json.loads(own), json.loads(other.stdout)
    assert one["nodes"]["share"] == two["nodes"]["share"]


def test_a_folder_gets_tables_and_a_figure(folder: Path, tmp_path: Path) -> None:
    done("compare", folder / "run", "--out", tmp_path / "out", "--quiet")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"nodes.csv", "words.csv", "vocabulary.csv", "changes.csv", "compare.json", "compare.png"}


def test_count_keeps_slices_for_train(folder: Path, tmp_path: Path) -> None:
    done(
        "count", folder / "texts.jsonl", "--slices", "year", "--min-count", "3", "--out", tmp_path / "counts", "--quiet"
    )
    done("train", tmp_path / "counts", "--trees", "1", "--out", tmp_path / "run", "--quiet")
    assert "2004: 60 documents" in done("compare", tmp_path / "run", "--quiet").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--between", "1990,1991"), "there is no slice '1991'. There are: 1990, 2004"),
        (("--slice", "old"), "it must be names and paths, as in"),
        (("--slice", "a=b.txt", "--slices", "year"), "Leave one of the two out"),
    ],
)
def test_a_mistake_is_told(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("compare", folder / "run", *arguments)


def test_a_run_without_slices_says_how_to_get_them(folder: Path, tmp_path: Path) -> None:
    done("train", folder / "1990.txt", *SMALL, "--out", tmp_path / "run")
    assert "Train with --slices COLUMN or --slice NAME=PATH" in refused("compare", tmp_path / "run")


def test_train_without_text_or_slices_says_what_to_give(tmp_path: Path) -> None:
    assert "Give a corpus, or slices" in refused("train", "--out", tmp_path / "run")
