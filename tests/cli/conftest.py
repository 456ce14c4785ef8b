"""Runs, counts and data that the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

import wordforest as wf
from tests.cli.shell import done, trained


@pytest.fixture(scope="session")
def run(corpus, tmp_path_factory) -> Path:
    return trained(corpus, tmp_path_factory.mktemp("trained") / "run", "--workers", 1)


@pytest.fixture(scope="session")
def counts(corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("counted") / "counts"
    done("count", corpus, "--out", folder, "--quiet")
    return folder


@pytest.fixture(scope="session")
def large_counts(large_corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("counted-large") / "counts"
    done("count", large_corpus, "--out", folder, "--quiet", "--workers", 2)
    return folder


@pytest.fixture(scope="session")
def readable(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readable") / "run"
    wf.train(corpus, preset="readable", trees=2, min_count=2, out=folder)
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "wordsim").mkdir()
    (folder / "analogy").mkdir()
    (folder / "wordsim" / "EN-MC-30.txt").write_text("cat\tdog\t9\ncat\tparis\t1\nking\tqueen\t8\ncat\tzebra\t7\n")
    (folder / "wordsim" / "EN-RG-65.txt").write_text("zebra\tgnu\t9\n")
    (folder / "analogy" / "questions-words.txt").write_text(": family\nman king woman queen\nman king woman zebra\n")
    return folder
