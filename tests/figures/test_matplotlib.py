"""Files of figures: the same bytes every time, any word, nothing of the user's settings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from tests.figures.drawn import groups_of, planted
from tests.figures.test_slices import CHANGES, SHARES, YEARS, made
from wordforest import store
from wordforest.coder.forest import Forest
from wordforest.errors import MissingExtraError
from wordforest.figures import compared, differences, heatmap, over_time, sunburst, treemap, trees, word_map
from wordforest.vectors import Vectors

ODD = ("$x$", "$", "<b>&amp;</b>", "a\\b_{c}", "語", "\N{WOLF FACE}", "مرحبا", "x" * 200)


def draw_all() -> dict[str, Any]:
    vectors = planted(3)
    with_forest = Vectors(vectors.words, vectors.dense, forest=Forest.flat(10))
    return {
        "heatmap": heatmap(vectors, vectors.words),
        "trees": trees(with_forest, ["a0"], tree="all"),
        "map": word_map({"model": vectors}, groups_of(vectors), runs=1),
        "treemap": treemap(Forest([-1, 0]), [1, 0.5], ["a", "b"]),
        "sunburst": sunburst(Forest([-1, 0]), [1, 0.5], ["a", "b"]),
        "time": over_time(["1990-01-01", "1991-01-01"], [[0.1], [0.2]], [[0.0], [0.1]], [[0.2], [0.3]], ["a"]),
        "groups": differences(["x", "y"], ["a"], [[0.1], [-0.1]], [[0.0], [0.0]]),
        "times compared": compared(made(YEARS, SHARES, is_time=True, changes=CHANGES)),
        "slices compared": compared(made(["x", "y"], [[0.1, 0.2], [0.2, 0.1]], is_time=False)),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """Every figure as SVG and one in every form, drawn twice."""
    found: list[dict[str, bytes]] = []
    for _ in range(2):
        folder = tmp_path_factory.mktemp("figures")
        for name, figure in draw_all().items():
            for form in ("png", "svg", "pdf") if name == "heatmap" else ("svg",):
                store.write_figure(folder / f"{name}.{form}", figure, dpi=60)
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    return found


def test_the_same_figure_gives_the_same_bytes(files: list[dict[str, bytes]]) -> None:
    first, second = files
    assert len(first) == 11
    assert [name for name in first if first[name] != second[name]] == []


def test_no_file_holds_a_date(files: list[dict[str, bytes]]) -> None:
    for content in files[0].values():
        assert not re.search(rb"<dc:date>|/CreationDate|tIME|Software", content)


def test_text_in_svg_is_text(files: list[dict[str, bytes]]) -> None:
    words = re.findall(r"<text[^>]*>([^<]*)</text>", files[0]["heatmap.svg"].decode())
    assert {"a0", "b1"} <= set(words)


def test_settings_of_the_user_change_nothing_and_stay(files: list[dict[str, bytes]], tmp_path: Path) -> None:
    with matplotlib.rc_context({"font.size": 31, "axes.grid": True, "svg.fonttype": "path"}):
        store.write_figure(tmp_path / "own.svg", draw_all()["map"])
        assert matplotlib.rcParams["font.size"] == 31
    assert (tmp_path / "own.svg").read_bytes() == files[0]["map.svg"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda vectors: heatmap(vectors, ODD),
        lambda vectors: trees(vectors, ODD, tree="all", labels=[ODD, ()]),
        lambda vectors: word_map(dict.fromkeys(ODD[:2], vectors), {ODD[2]: ODD, "b": ["other"]}, runs=1),
        lambda vectors: treemap(Forest.flat(8), [1] * 8, ODD),
        lambda vectors: sunburst(Forest.flat(8), [1] * 8, ODD),
        lambda vectors: over_time([1], *[[[0.1] * 8]] * 3, ODD),
        lambda vectors: differences(ODD, ["x"], [[1]] * 8, [[0]] * 8),
    ],
    ids=["heatmap", "trees", "map", "treemap", "sunburst", "time", "groups"],
)
def test_any_word_can_be_drawn(tmp_path: Path, draw: Callable[[Vectors], Any]) -> None:
    codes = [[1.0 + i, -1.0] for i in range(len(ODD))]
    store.write_figure(tmp_path / "odd.svg", draw(Vectors([*ODD, "other"], [*codes, [0, 2]], forest=Forest.flat(2))))
    text = (tmp_path / "odd.svg").read_text(encoding="utf-8")
    assert ">$x$<" in text
    assert "語" in text


def test_absent_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"drawing needs .*pip install 'matplotlib>="):
        heatmap(planted(1), ["a0"])


def test_matplotlib_is_loaded_to_draw_and_pyplot_never() -> None:
    code = """
import sys
import wordforest.figures, wordforest.vectors
assert "matplotlib" not in sys.modules
wordforest.figures.heatmap(wordforest.vectors.Vectors(["word"], [[1.0, 2.0]]), ["word"])
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
