"""Readers on damaged files: a result, or an InputError that names the file. ``make torture`` tries a million."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torture.fuzz import LONGEST, READERS, mutated, reader, seeds_of
from wordforest.errors import InputError

lines = st.lists(
    st.lists(st.one_of(st.text(max_size=5), st.floats().map(repr), st.integers().map(str)), max_size=4).map(" ".join),
    max_size=6,
)


@dataclass(frozen=True)
class Target:
    """What reads files of one format, and where they lie."""

    name: str
    read: Callable[[Path], object]
    path: Path
    seeds: list[bytes]

    def refusal(self, data: bytes) -> str | None:
        """Return why a file is refused, or None where it is read; any other error is the test's."""
        self.path.write_bytes(data)
        try:
            self.read(self.path)
        except InputError as error:
            return str(error)
        return None

    def check(self, data: bytes) -> bool:
        """Return whether a file is read; one that is refused is named (an address of the page is no file)."""
        message = self.refusal(data)
        assert message is None or self.path.name in message or self.path.name == "address"
        return message is None


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module", params=READERS)
def target(request: pytest.FixtureRequest, desk: Path) -> Target:
    file, kind = READERS[request.param]
    return Target(request.param, reader(kind), desk / file, seeds_of(request.param, desk))


def test_mutations_of_good_and_bad_files(target: Target) -> None:
    rng = random.Random(f"0 {target.name}")
    read = [target.check(mutated(target.seeds, rng)) for _ in range(150)]
    assert not all(read)


@settings(max_examples=40)
@given(data=st.binary(max_size=LONGEST))
def test_any_bytes(target: Target, data: bytes) -> None:
    target.check(data)


@settings(max_examples=60)
@given(text=lines, end=st.sampled_from(["\n", "\r\n", "\r", "\x85", ""]))
def test_lines_of_words_and_numbers_with_any_line_end(target: Target, text: list[str], end: str) -> None:
    target.check(end.join(text).encode("utf-8", "surrogatepass"))
