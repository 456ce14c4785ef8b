"""A text is counted once for all runs beside each other, and counts of another text or setting are never taken."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

import wordforest as wf
from tests.commands import run_command
from tests.jobs.killed import kill, killed
from wordforest.counts import tally
from wordforest.errors import InputError
from wordforest.jobs import count as reuse
from wordforest.text.reader import content_hash

FAST: dict[str, Any] = {"epochs": 1, "trees": 1, "min_count": 2}
RESULTS = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv")


@pytest.fixture
def text(corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(corpus.read_bytes())
    return path


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that text is counted into from here on."""
    into: list[Path] = []
    original = reuse.count_into
    monkeypatch.setattr(reuse, "count_into", lambda job, *a: into.append(job.folder) or original(job, *a))
    return into


def same(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in RESULTS)


def test_runs_of_any_size_and_baselines_share_one_count(text: Path, tmp_path: Path, counted: list[Path]) -> None:
    for trees in (1, 2):
        wf.train(text, out=tmp_path / f"run{trees}", **{**FAST, "trees": trees})
    for name in ("pca", "hpca", "nnse"):
        wf.baseline(name, text, out=tmp_path / name, dimensions=3, min_count=2)
    assert counted == [tmp_path / "run1" / "counts"]
    alone = wf.train(text, **{**FAST, "trees": 2})
    assert (alone.codes != wf.load_run(tmp_path / "run2").codes).nnz == 0
    assert wf.load_run(tmp_path / "run2").config["corpus"] == [str(text)]


def test_force_and_a_folder_inside_take_the_counts_that_are_there(
    text: Path, tmp_path: Path, counted: list[Path]
) -> None:
    first = wf.train(text, out=tmp_path / "run", **FAST)
    again = wf.train(text, out=tmp_path / "run", force=True, **FAST)
    inside = wf.train(text, out=tmp_path / "run" / "readable", **FAST)
    assert counted == [tmp_path / "run" / "counts"]
    assert (first.codes != again.codes).nnz == (first.codes != inside.codes).nnz == 0


@pytest.mark.parametrize(
    "other",
    [
        {"window": 3},
        {"min_count": 3},
        {"lowercase": False},
        {"mark_sides": True},
        {"keep_words": ("a",)},
        {"max_contexts": 9},
        {"subsample": 1e-3},
        {"subsample_seed": 1},
        {"tokenizer": "whitespace"},
    ],
    ids=str,
)
def test_other_settings_are_counted_anew(text: Path, tmp_path: Path, counted: list[Path], other: Any) -> None:
    wf.train(text, out=tmp_path / "a", **FAST)
    wf.train(text, out=tmp_path / "b", **{**FAST, **other})
    assert counted == [tmp_path / "a" / "counts", tmp_path / "b" / "counts"]


def test_text_that_changed_is_counted_anew_even_with_the_same_size_and_time(
    text: Path, tmp_path: Path, counted: list[Path]
) -> None:
    wf.train(text, out=tmp_path / "run", **FAST)
    stat = text.stat()
    text.write_bytes(text.read_bytes().replace(b"horse", b"zebra"))
    os.utime(text, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    run = wf.train(text, out=tmp_path / "run", force=True, **FAST)
    assert len(counted) == 2
    assert "zebra" in run.words
    assert wf.load_run(tmp_path / "run").words == run.words


def test_text_that_changes_meanwhile_is_not_found_again(
    text: Path, tmp_path: Path, counted: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = reuse.content_hash

    def hashed_too_early(sources: list[str]) -> str | None:
        found = original(sources)
        text.write_bytes(text.read_bytes() + b"A late line.\n")
        return found

    monkeypatch.setattr(reuse, "content_hash", hashed_too_early)
    wf.train(text, out=tmp_path / "a", **FAST)
    config = json.loads((tmp_path / "a" / "counts" / "config.json").read_text())
    assert config["content"] is None


@pytest.mark.parametrize("changed", [False, True])
def test_killed_before_counts_are_added_up_it_resumes_with_the_same_text_alone(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: bool
) -> None:
    run = tmp_path / "run"

    def train() -> None:
        tally.Tally.merge = lambda *_: kill()  # type: ignore[method-assign]
        wf.train(text, out=run, **FAST)

    killed(train)
    monkeypatch.setattr("wordforest.text.tokens.split_forms", None)  # would fail if it read again
    if changed:
        text.write_bytes(text.read_bytes().replace(b"horse", b"zebra"))
        with pytest.raises(InputError, match=r"begun with content = .*--force"):
            wf.train(text, out=run, resume=True, **FAST)
        return
    wf.train(text, out=run, resume=True, **FAST)
    monkeypatch.undo()
    wf.train(text, out=tmp_path / "other" / "run", **FAST)
    assert same(run, tmp_path / "other" / "run")


def test_where_a_file_ends_matters_and_its_name_does_not(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("a b")
    (tmp_path / "2.txt").write_text("c d")
    (tmp_path / "3.txt").write_text("a bc d")
    (tmp_path / "4.txt").write_text("a b")
    hashed = [content_hash([str(tmp_path / f"{i}.txt") for i in names]) for names in ((1, 2), (2, 1), (3,), (4, 2))]
    assert len(set(hashed)) == 3
    assert hashed[0] == hashed[3]
    assert content_hash(["-"]) is content_hash(["https://example.org/a.txt"]) is None


def test_standard_input_is_never_taken_for_seen(
    text: Path, tmp_path: Path, counted: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
        wf.train("-", out=tmp_path / name, **FAST)
    assert len(counted) == 2
    assert same(tmp_path / "a", tmp_path / "b")


def test_counts_that_a_user_made_are_not_replaced(text: Path, tmp_path: Path) -> None:
    wf.count_corpus(text, tmp_path / "exp" / "counts")
    with pytest.raises(InputError, match=r"these counts, which no run has made, would be replaced"):
        wf.train(text, out=tmp_path / "exp", force=True, **FAST)
    assert (tmp_path / "exp" / "counts" / "counts.safetensors").is_file()


def test_damaged_counts_beside_are_passed_over(text: Path, tmp_path: Path, counted: list[Path]) -> None:
    wf.train(text, out=tmp_path / "a", **FAST)
    (tmp_path / "a" / "counts" / "config.json").write_text("{")
    wf.train(text, out=tmp_path / "b", **FAST)
    assert len(counted) == 2


def test_the_command_stays_within_memory_and_says_what_it_takes(large_corpus: Path, tmp_path: Path) -> None:
    command = ["train", large_corpus, "--epochs", "1", "--trees", "1"]
    for name, options in (("a", ["--memory", "1M"]), ("b", ["--trees", "2"]), ("c/d", [])):
        result = run_command(*command, *options, "--out", tmp_path / name)
        assert result.returncode == 0
        taken = f"{tmp_path / 'a' / 'counts'}: counts of this text and these settings, so it is not counted again"
        assert (taken in result.stderr) == (name == "b")
    assert same(tmp_path / "a", tmp_path / "c" / "d")  # the same bits for any memory
    wf.count_corpus(large_corpus, tmp_path / "counts")
    for name in ("counts.safetensors", "vocab.tsv"):
        assert (tmp_path / "counts" / name).read_bytes() == (tmp_path / "a" / "counts" / name).read_bytes()


def test_a_baseline_takes_the_options_of_counting_that_apply(text: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("garden\n")
    more = ["--keep-words", tmp_path / "words.txt", "--min-count", "500", "--dimensions", "2", "--quiet"]
    pairs = ["--max-contexts", "5", "--mark-sides", "--memory", "1M"]
    assert run_command("baseline", "pca", text, "--out", tmp_path / "pca", *more, *pairs).returncode == 0
    assert "garden" in wf.load_run(tmp_path / "pca").words
    dictionary = wf.load_run(tmp_path / "pca").dictionary
    assert dictionary is not None
    assert dictionary.shape == (10, 2)
    assert run_command("baseline", "nce", text, "--out", tmp_path / "nce", *more, "--epochs", "1").returncode == 0
    assert wf.load_run(tmp_path / "nce").words == wf.load_run(tmp_path / "pca").words
    for option, said in ((["--mark-sides"], "unknown setting mark_sides"), (["--memory", "1M"], "counts no pairs")):
        refused = run_command("baseline", "nce", text, "--out", tmp_path / "x", *option)
        assert refused.returncode == 2
        assert said in refused.stderr
