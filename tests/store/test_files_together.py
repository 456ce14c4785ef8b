"""Several files that change together, one writer at a time, and what a kill in between leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wordforest.errors import InputError
from wordforest.store.files import (
    READY,
    locked,
    remove_leftovers,
    replace_file,
    replace_pair,
    replaced,
    settle,
    workplace,
    write_text,
)
from wordforest.store.folders import write_vocab

KNOWN = ("a", "b", "c", "last")
KILLED = """
import os, signal, sys
from pathlib import Path
from wordforest.store import files as transaction
moves, real = 0, os.replace
def counted(*args):
    global moves
    moves += 1
    if moves == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args)
with transaction.replaced(Path(sys.argv[1]), ("a", "b", "c", "last"), "last") as staging:
    for name in ("a", "b", "last"):
        (staging / name).write_text("new")
    os.replace = transaction.os.replace = counted
"""


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


def old(folder: Path) -> Path:
    for name in ("a", "c", "last"):
        (folder / name).write_text("old")
    return folder


def test_all_files_change_or_none(tmp_path: Path) -> None:
    old(tmp_path)
    with pytest.raises(FileNotFoundError), replaced(tmp_path, KNOWN, "last") as staging:
        (staging / "missing" / "a").write_text("new")
    assert content(tmp_path) == {"a": "old", "c": "old", "last": "old"}
    with replaced(tmp_path, KNOWN, "last") as staging:
        for name in ("a", "b", "last"):
            (staging / name).write_text("new")
        assert content(tmp_path) == {"a": "old", "c": "old", "last": "old"}
    assert content(tmp_path) == {"a": "new", "b": "new", "last": "new"}
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("moves", [2, 3, 4])  # the first replaces the plan; then a, b and last move
def test_a_killed_change_is_finished_by_whoever_looks_next(tmp_path: Path, moves: int) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(old(tmp_path)), str(moves)], timeout=60)
    assert killed.returncode == -9
    assert (tmp_path / READY).is_dir()
    assert not (tmp_path / "last").exists()  # so nobody takes it for complete
    settle(tmp_path)
    assert content(tmp_path) == {"a": "new", "b": "new", "last": "new"}
    assert not (tmp_path / READY).exists()


def test_nobody_meddles_while_a_writer_is_at_work(tmp_path: Path) -> None:
    (tmp_path / READY).mkdir()
    with locked(tmp_path):
        settle(tmp_path)
        assert (tmp_path / READY).is_dir()
    settle(tmp_path)
    assert not (tmp_path / READY).exists()


def test_a_folder_of_someone_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "precious").write_text("x")
    with pytest.raises(InputError, match="Rename this folder"), replaced(tmp_path, KNOWN, "last") as staging:
        (staging / "a").write_text("new")
    assert (tmp_path / "a" / "precious").read_text() == "x"


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(InputError, match=r"another process is writing there. Wait"):
        locked(tmp_path, patience=0.1).__enter__()
    with locked(tmp_path):
        pass


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    program = (
        "import os, sys, signal; from pathlib import Path; from wordforest.store.files import locked\n"
        "with locked(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60).returncode == -9
    with locked(tmp_path, patience=0.0):
        pass


def test_workplaces_in_use_stay_and_others_go(tmp_path: Path) -> None:
    (tmp_path / ".wordforest-dead.tmp").mkdir()
    (tmp_path / ".wordforest-dead.tmp" / "half").write_text("x")
    with workplace(tmp_path) as place:
        remove_leftovers(tmp_path)
        assert list(tmp_path.iterdir()) == [place]
    assert list(tmp_path.iterdir()) == []


def test_of_a_pair_the_second_is_gone_before_the_first_changes(tmp_path: Path) -> None:
    first, second = tmp_path / "words", tmp_path / "numbers"
    write_text(first, "old")
    write_text(second, "old")
    with pytest.raises(FileNotFoundError), replace_pair(first, second) as (a, b):
        (tmp_path / "missing").read_text()
    assert (first.read_text(), second.read_text()) == ("old", "old")
    with replace_pair(first, second) as (a, b):
        a.write_text("new")
        b.write_text("new")
    assert (first.read_text(), second.read_text()) == ("new", "new")


def test_errors_name_the_place_where_a_file_was_to_be(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"vocab.tsv'$"), replace_file(tmp_path / "vocab.tsv") as new:
        (new.parent / "missing").read_text()
    with (
        pytest.raises(InputError, match=f"^{tmp_path}/vocab.tsv: word 0"),
        replaced(tmp_path, KNOWN, "last") as staging,
    ):
        write_vocab(staging / "vocab.tsv", ["a\tb"], np.array([1]))
