"""Data about the words of the corpus, and the small experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reproduce.small import SMALL


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs and questions about the words of the made-up corpus."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "wordsim").mkdir()
    (folder / "analogy").mkdir()
    animals, cities = ("cat", "dog", "horse", "cow"), ("paris", "london", "berlin", "madrid", "rome")
    inside = [(a, b, 8 + len(a) % 3) for group in (animals, cities) for a in group for b in group if a < b]
    across = [(a, b, 1 + len(b) % 3) for a in animals for b in cities]
    lines = [f"{a}\t{b}\t{score}\n" for a, b, score in inside + across]
    (folder / "wordsim" / "EN-MC-30.txt").write_text("".join(lines))
    questions = ": family\nman king woman queen\nking man queen woman\n: gram1-x\nhis he her she\nhe his she her\n"
    (folder / "analogy" / "questions-words.txt").write_text(questions)
    return folder


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
