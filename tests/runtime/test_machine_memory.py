from __future__ import annotations

from pathlib import Path

import pytest

from wordforest.errors import InputError
from wordforest.runtime import machine as memory
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.machine import available_memory, check_room, three_quarters


@pytest.fixture
def limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CGROUP", path)
    return path


def test_the_limit_of_a_container_counts_for_all_that_ask(limit: Path) -> None:
    limit.write_text("4000000\n")
    assert available_memory() == 4_000_000
    assert three_quarters() == ScratchFiles().memory == 3_000_000


def test_no_limit_is_the_memory_of_the_machine(limit: Path) -> None:
    machine = available_memory()
    limit.write_text("max\n")
    assert available_memory() == machine > 4_000_000


def test_what_does_not_fit_is_refused(limit: Path) -> None:
    limit.write_text("4000000000\n")
    check_room("a matrix", 3.9e9)
    with pytest.raises(InputError, match=r"a matrix needs at least 4.1 GB of memory, but this machine has 4.0"):
        check_room("a matrix", 4.1e9)
