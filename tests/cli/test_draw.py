"""wordforest draw: words, pixels, titles, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from typer.testing import CliRunner

import wordforest.cli.draw
from tests.figures.drawn import (
    planted,
)
from wordforest import store
from wordforest.cli.command import app
from wordforest.coder.forest import Forest
from wordforest.vectors import Vectors


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A file of vectors a0 .. a4, b0 .. b4 and some words of the built-in lists."""
    vectors = planted(5)
    extra = ["good", "bad", "horse", "wolf"]
    matrix = np.concatenate([vectors.dense, vectors.dense[[0, 5, 0, 1]] + 0.01])
    store.write_vectors(tmp_path / "model.npz", Vectors([*vectors.words, *extra], matrix))
    return str(tmp_path / "model.npz")


def run(*arguments: str) -> Any:
    """Run the command in this process."""
    assert wordforest.cli.draw.draw_app is not None  # its commands have joined the app
    return CliRunner().invoke(app, ["draw", *arguments])


def test_heatmap_of_a_list_names_missing_words_and_skips_them(saved: str, tmp_path: Path) -> None:
    result = run("heatmap", saved, "--words", "a0,unicorn,b1", "--out", str(tmp_path / "h.svg"))
    assert result.exit_code == 0
    assert "has no vector for 'unicorn'; left out" in result.stderr
    text = (tmp_path / "h.svg").read_text()
    assert ">b1<" in text
    assert "unicorn" not in text


def test_a_built_in_list_and_a_file_are_blocks(saved: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("\ufeffa0\n\n a1 \n", encoding="utf-8")
    words = ["--words", "animals", "--words", str(tmp_path / "mine.txt")]
    result = run("heatmap", saved, *words, "--out", str(tmp_path / "h.svg"), "--colors", "colorblind")
    assert result.exit_code == 0
    drawn = re.findall(r">([^<>]+)</text>", (tmp_path / "h.svg").read_text())
    assert {"animals", "horse", "wolf", "mine", "a0", "a1"} <= set(drawn)


def test_all_words_missing_is_an_error_that_says_what_to_do(saved: str, tmp_path: Path) -> None:
    result = run("heatmap", saved, "--words", "unicorn", "--out", str(tmp_path / "h.png"))
    assert result.exit_code == 2
    assert "no vector for 'unicorn'" in result.stderr
    assert "Choose words of the vocabulary" in result.stderr
    assert not (tmp_path / "h.png").exists()


def test_an_absent_file_is_an_error(saved: str, tmp_path: Path) -> None:
    result = run("heatmap", saved, "--words", "absent.txt", "--out", str(tmp_path / "h.png"))
    assert result.exit_code == 2
    assert "no such file" in result.stderr


def test_a_figure_is_not_replaced_without_force(saved: str, tmp_path: Path) -> None:
    (tmp_path / "h.png").write_text("mine")
    arguments = ("heatmap", saved, "--words", "a0", "--out", str(tmp_path / "h.png"))
    assert run(*arguments).exit_code == 2
    assert (tmp_path / "h.png").read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0


def test_dpi_gives_the_pixels(saved: str, tmp_path: Path) -> None:
    out = tmp_path / "h.png"
    result = run("heatmap", saved, "--words", "a0", "--out", str(out), "--dpi", "100")
    inches = [float(side) for side in re.findall(r"[\d.]+", result.stderr.rpartition(":")[2])]
    header = out.read_bytes()[16:24]
    assert [int.from_bytes(header[:4]), int.from_bytes(header[4:])] == [round(100 * side) for side in inches]


def test_a_bad_tree_is_told(saved: str, tmp_path: Path) -> None:
    result = run("tree", saved, "--words", "a0", "--out", str(tmp_path / "t.png"), "--tree", "x")
    assert result.exit_code == 2
    assert "--tree x" in result.stderr


def test_an_unknown_suffix_is_told_before_any_work(tmp_path: Path) -> None:
    result = run("heatmap", "absent", "--words", "a0", "--out", str(tmp_path / "h.gif"))
    assert result.exit_code == 2
    assert ".png, .svg, .pdf" in result.stderr


@pytest.fixture
def readable(tmp_path: Path) -> str:
    """A run of three trees of two nodes without negative values, whose last tree is that of queen."""
    words = ["king", "crown", "queen", "court"]
    rows = [[3, 2, 0, 0, 0, 0], [4, 4, 0, 0, 0, 0], [1, 0, 0, 0, 5, 4], [9, 1, 0, 0, 9, 1]]
    store.write_vectors(tmp_path / "run", Vectors(words, rows, forest=Forest.complete(3, (1,))))
    return str(tmp_path / "run")


def drawn(path: Path) -> list[str]:
    return re.findall(r">([^<>]+)</text>", path.read_text(encoding="utf-8"))


def test_tree_draws_the_strongest_tree_of_a_word_with_labels(readable: str, tmp_path: Path) -> None:
    out, stop = tmp_path / "t.svg", tmp_path / "stop.txt"
    arguments = ("tree", readable, "--words", "queen", "--out", str(out))
    assert run(*arguments).exit_code == 0
    assert {"queen, tree 2", "court, queen"} <= set(drawn(out))
    stop.write_text("court\n")
    assert run(*arguments, "--force", "--stop-words", str(stop)).exit_code == 0
    assert "queen" in drawn(out)
    assert run(*arguments, "--force", "--tree", "all", "--labels", "0").exit_code == 0
    assert {"queen", "tree 0", "tree 1", "tree 2"} <= set(drawn(out))


def test_heatmap_names_the_columns_that_are_used(readable: str, tmp_path: Path) -> None:
    out = tmp_path / "h.svg"
    assert run("heatmap", readable, "--words", "king,crown", "--out", str(out)).exit_code == 0
    assert [text for text in drawn(out) if text[0] in "012345" and " " in text] == ["1 court", "0 crown king"]
    assert "dimension (4 not used), from lowest to highest mean" in drawn(out)


def test_stop_words_that_cannot_be_read_are_told(readable: str, tmp_path: Path) -> None:
    result = run("tree", readable, "--words", "king", "--out", str(tmp_path / "t.png"), "--stop-words", "absent.txt")
    assert result.exit_code == 2
    assert "absent.txt: cannot be read" in result.stderr


def test_map_of_the_default_groups(saved: str, tmp_path: Path) -> None:
    result = run("map", saved, "--out", str(tmp_path / "m.svg"), "--runs", "1", "--title", "mine", "--json")
    assert result.exit_code == 0
    told = [json.loads(line) for line in result.stderr.splitlines()]
    assert "map" in {line.get("stage") for line in told}
    assert told[-1]["wrote"] == str(tmp_path / "m.svg")
    assert {">good<", ">bad<", ">mine<"} <= set(re.findall(r">[^<>]+<", (tmp_path / "m.svg").read_text()))


@pytest.fixture
def documents(tmp_path: Path) -> str:
    """A folder of documents on two trees of two nodes, in two groups and three years, the middle one empty."""
    share = [0.7, 0.3, 0.3, 0.1]
    nodes = {"node": [0, 1, 2, 3], "parent": [-1, 0, -1, 2], "depth": [0, 1, 0, 1], "share": share}
    nodes |= {"label": ["church faith", "bible", "windows", "drivers"], "stability": [None] * 4, "typical": [[]] * 4}
    every = {"node": [i for i in range(4) for _ in range(3)], "time": [1990, 1991, 1992] * 4}
    values = [v for s in share for v in (s, float("nan"), s / 2)]
    times = every | {"share": values, "low": [0.9 * v for v in values], "high": [1.1 * v for v in values]}
    groups = {"node": [0, 0, 1, 1, 2, 2, 3, 3], "group": ["x", "y"] * 4}
    groups |= {"difference": [0.2, -0.2] * 4, "q": [0.01, 0.01, 0.5, 0.5] * 2}
    paths = {"document": ["a", "b"], "depth0": [0, 2], "share0": [1.0, 1.0]}
    tables = {"documents": paths, "nodes": nodes, "over_time": times, "by_group": groups}
    shares = csr_matrix(np.ones((2, 4), dtype=np.float32))
    store.save_documents(tmp_path / "folder", ids=["a", "b"], shares=shares, config={}, **tables)
    return str(tmp_path / "folder")


@pytest.mark.parametrize(
    ("arguments", "there", "absent"),
    [
        (("treemap",), {"church faith", "bible", "windows", "drivers"}, set()),
        (("sunburst", "--depth", "0"), {"church faith", "windows"}, {"bible"}),
        (("time",), {"church faith", "windows"}, {"bible"}),
        (("time", "--nodes", "3,1"), {"drivers", "bible"}, {"windows"}),
        (("groups", "--depth", "1"), {"drivers", "bible", "x", "y"}, {"windows"}),
    ],
)
def test_documents_are_drawn(
    documents: str, tmp_path: Path, arguments: tuple[str, ...], there: set[str], absent: set[str]
) -> None:
    out = tmp_path / "d.svg"
    result = run(arguments[0], documents, *arguments[1:], "--out", str(out))
    assert result.exit_code == 0, result.stderr
    texts = set(drawn(out))
    assert there <= texts
    assert not absent & texts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("time", "--nodes", "9"), "numbers from 0 to 3"), (("groups", "--depth", "5"), "the deepest nodes are at 1")],
)
def test_nodes_that_are_not_there_are_told(
    documents: str, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    result = run(arguments[0], documents, *arguments[1:], "--out", str(tmp_path / "d.svg"))
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("content", ["", "node,time,share\n0,1990,0.5\n"])
def test_a_folder_without_times_says_how_to_get_them(tmp_path: Path, documents: str, content: str) -> None:
    path = Path(documents) / "over_time.csv"
    path.unlink()
    if content:
        path.write_text(content)
    result = run("time", documents, "--out", str(tmp_path / "t.svg"))
    assert result.exit_code == 2
    assert "--time COLUMN" in result.stderr
