"""Messages that say how to install what is absent, and how options are called in Python."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import wordforest as wf
from wordforest.errors import MissingExtraError, install_command

SOURCE = Path(wf.__file__).parent
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# In src: those that a message asks for.
ASKED = sorted(
    {name for path in SOURCE.rglob("*.py") for name in re.findall(r'Error\("[^"]+", "(\w+)"\)', path.read_text())}
)


def asked_for(command: str) -> list[Requirement]:
    words = shlex.split(command)
    assert words[:2] in (["pip", "install"], [])
    return [*map(Requirement, words[2:])]


def test_messages_ask_for_several_extras():
    assert {"parquet", "figures", "baselines", "cluster", "explore", "demo", "rdf", "frames"} <= {*ASKED}


@pytest.mark.parametrize("extra", ASKED)
def test_what_is_proposed_is_what_the_project_requires(extra):
    here = [one for one in map(Requirement, EXTRAS[extra]) if not one.marker or one.marker.evaluate()]
    required = {one.name.lower(): one.specifier for one in here}
    proposed = {one.name.lower(): one.specifier for one in asked_for(install_command(extra))}
    assert bool(proposed) == bool(required)
    assert proposed.items() <= required.items()


def test_only_what_is_absent_is_proposed(monkeypatch):
    import importlib.metadata

    here = [one for one in importlib.metadata.distributions() if one.name != "torch"]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: here)
    assert [one.name for one in asked_for(install_command("baselines"))] == ["torch"]


def test_a_package_that_this_python_cannot_have_is_not_proposed(monkeypatch):
    import importlib.metadata

    lines = ["old>=4; (python_version < '3') and extra == 'both'", "new>=1; extra == 'both'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: lines)
    assert install_command("both") == "pip install 'new>=1'"
    lines[1:] = []
    told = "word2vec needs old, which has no release for this Python. Use an older Python."
    assert str(MissingExtraError("word2vec", "both")) == told


def test_what_is_proposed_works_for_one_who_installed_from_a_clone():
    command = str(MissingExtraError("Parquet", "parquet")).partition("Run: ")[2]
    pytest.importorskip("pyarrow")
    pip = [sys.executable, "-m", *shlex.split(command), "--dry-run", "--no-index", "--no-input", "-q"]
    assert subprocess.run(pip, check=False, capture_output=True).returncode == 0


def test_python_is_told_how_options_are_called_there(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    with pytest.raises(wf.InputError, match="--force") as caught:
        wf.train([["a", "b"]], out=tmp_path / "run")
    assert caught.value.__notes__ == [
        "In Python an option such as --min-count 5 is min_count=5, and a flag --force is force=True."
    ]
    assert not hasattr(wf.InputError("expected a word. Give one."), "__notes__")
