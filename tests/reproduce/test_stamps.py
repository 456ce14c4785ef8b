"""The stamp of a figure names a commit that others have, and the machine."""

from __future__ import annotations

import re
import subprocess

from wordforest.reproduce import stamps


def test_the_commit_is_that_of_the_clone(monkeypatch, tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tmp_path / "stamps.py").write_text("")
    for command in (["init", "-q"], ["add", "stamps.py"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(stamps, "_HERE", tmp_path)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert head.startswith(stamps.commit())
    assert len(stamps.commit()) == 7
    (tmp_path / "stamps.py").write_text("changed")
    assert stamps.commit().endswith("-dirty")


def test_an_installed_package_has_none_though_it_lies_in_some_clone(monkeypatch, tmp_path):
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    (tmp_path / "stamps.py").write_text("")  # there, but not in the repository
    monkeypatch.setattr(stamps, "_HERE", tmp_path)
    assert stamps.commit() == ""


def test_the_machine_is_told_without_its_name():
    told = stamps.machine()
    assert re.match(r"\d+ cores, .*\d+ GiB, .*Python 3", told)
    assert stamps.stamp().keys() == {"commit", "version", "date", "machine"}
