"""Runs, counts and data that the tests of commands share."""

from __future__ import annotations

import gzip
import shutil
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


@pytest.fixture(scope="session")
def desk(run, counts, corpus, tmp_path_factory) -> Path:
    """A folder with everything that a command might wrongly be given."""
    desk = tmp_path_factory.mktemp("desk")
    shutil.copytree(run, desk / "run")
    shutil.copytree(counts, desk / "counts")
    shutil.copy(corpus, desk / "corpus.txt")
    wf.write_vectors(desk / "vectors.bin", wf.read_vectors(run))
    (desk / "empty.txt").write_text("")
    (desk / "binary.dat").write_bytes(b"one line\nPNG\0\0")
    (desk / "latin1.txt").write_bytes(b"good line\nna\xefve line\n")
    (desk / "cut.txt.gz").write_bytes(gzip.compress(b"some words here\n" * 99)[:40])
    (desk / "pairs.txt").write_text("cat 1 2\ndog 1 x\n")
    (desk / "folder").mkdir()
    shutil.copytree(run, desk / "cut")
    (desk / "cut" / "codes.safetensors").write_bytes((run / "codes.safetensors").read_bytes()[:100])
    shutil.copytree(run, desk / "edited")
    (desk / "edited" / "vocab.tsv").write_text("the\t5\ncat\tfive\n")
    shutil.copytree(run, desk / "mixed")
    (desk / "mixed" / "forest.json").write_text('{"parent": [-1, 0]}')
    return desk
