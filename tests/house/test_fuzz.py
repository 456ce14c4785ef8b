"""Readers on damaged files: a result or an InputError, nothing else. ``make torture`` does this a million times."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torture.fuzz import LONGEST, READERS, mutated, reader, seeds_of
from wordforest.errors import InputError

PLACES = {name: file for name, (file, _) in READERS.items()}
lines = st.lists(
    st.lists(st.one_of(st.text(max_size=5), st.floats().map(repr), st.integers().map(str)), max_size=4).map(" ".join),
    max_size=6,
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module", params=READERS)
def target(request: pytest.FixtureRequest, desk: Path) -> Callable[[bytes], str]:
    """What reads bytes in one format and says what came of it."""
    file, kind = READERS[request.param]
    read, path = reader(kind), desk / file

    def taken(data: bytes) -> str:
        path.write_bytes(data)
        try:
            read(path)
        except InputError as error:
            return str(error)
        return "read"

    taken.seeds = seeds_of(request.param, desk)  # type: ignore[attr-defined]
    taken.name = request.param  # type: ignore[attr-defined]
    return taken


def test_mutations_of_good_and_bad_files(target) -> None:
    rng = random.Random(f"0 {target.name}")
    answers = [target(mutated(target.seeds, rng)) for _ in range(150)]
    assert all(answer == "read" or len(answer) > 20 for answer in answers)
    assert any(answer != "read" for answer in answers)


@settings(max_examples=40)
@given(data=st.binary(max_size=LONGEST))
def test_any_bytes(target, data: bytes) -> None:
    assert target(data)


@settings(max_examples=60)
@given(text=lines, end=st.sampled_from(["\n", "\r\n", "\r", "\x85", ""]))
def test_lines_of_words_and_numbers_with_any_line_end(target, text: list[str], end: str) -> None:
    assert target(end.join(text).encode("utf-8", "surrogatepass"))
