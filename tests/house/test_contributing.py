"""The worked examples of CONTRIBUTING.md, put into a copy of the source as the page says, work there."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
TEXT = (HOME / "CONTRIBUTING.md").read_text(encoding="utf-8")
GROUPS = b"east northeast west\nwest east northeast\n"
IN_THE_COPY = """
from pathlib import Path

import numpy as np

import wordforest as wf

vectors = wf.Vectors(["east", "northeast", "west"], np.array([[1, 0], [1, 1], [-1, 0]], dtype=np.float32))
vectors.save("v.jsonl.gz")
assert np.array_equal(wf.read_vectors("v.jsonl.gz").dense, vectors.dense)
assert [(score.value, score.n_scored) for score in wf.evaluate(vectors, "data", tasks=["odd"])] == [(50.0, 2)]
assert wf.coder.GroupL2(1.0, 2).prox(np.array([[3.0, 4.0]]), 5.0).tolist() == [[0.0, 0.0]]
"""


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def changed(text: str, hunk: str) -> str:
    """Return a text with the lines of a hunk in place of those that it begins from, which must stand there once."""
    lines = hunk.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] in marks) for marks in (" -", " +"))
    assert text.count(old) == 1, f"stands {text.count(old)} times in the file:\n{old}"
    return text.replace(old, new)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source with all that the page adds."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(HOME / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
    for snippet in fenced("(?:python|toml)"):
        if place := re.match(r"# (into )?(src/\S+?),?(?: .*)?\n", snippet):
            at = folder / place[2]
            before = at.read_text(encoding="utf-8") + "\n\n" if place[1] else ""
            at.write_text(before + snippet.replace("SHA256", hashlib.sha256(GROUPS).hexdigest()), encoding="utf-8")
    for diff in fenced("diff"):
        file, _, hunks = diff.removeprefix("--- ").partition("\n")
        text = (folder / file).read_text(encoding="utf-8")
        for hunk in hunks.split("@@\n"):
            text = changed(text, hunk)
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def test_examples_work_in_the_house(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "odd").mkdir(parents=True)
    (tmp_path / "data" / "odd" / "groups.txt").write_bytes(GROUPS)
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_COPY], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_examples_are_formatted_as_the_house_is(copy: Path) -> None:
    for command in ("check", "format --check"):
        files = [copy / "src/wordforest" / name for name in ("evaluation/odd.py", "store/formats/json_lines.py")]
        ruff = [sys.executable, "-m", "ruff", *command.split(), "--config", HOME / "pyproject.toml", *files]
        done = subprocess.run(ruff, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_change_that_no_longer_fits_is_found() -> None:
    assert changed("a\nb\nc\n", " a\n-b\n+d\n") == "a\nd\nc\n"
    with pytest.raises(AssertionError, match="stands 0 times"):
        changed("a\nc\n", " a\n-b\n+d\n")
