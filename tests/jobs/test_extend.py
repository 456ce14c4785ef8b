"""Text added to counts gives the bits of counting all of it at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordforest as wf
from tests.commands import run_command
from tests.jobs.killed import kill, killed
from wordforest.counts import tally, windows
from wordforest.errors import InputError
from wordforest.jobs import count
from wordforest.runtime.disk import ScratchFiles

FILES = ("vocab.tsv", "counts.safetensors")
texts = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=8), min_size=1, max_size=6)


def write(path: Path, sentences: list[list[str]]) -> Path:
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
    return path


def same(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in FILES)


@given(
    texts,
    texts,
    texts,
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 4),
    st.sampled_from([1, 1 << 30]),
    st.integers(1, 3),
)
@settings(deadline=None, max_examples=20)
def test_adding_twice_equals_counting_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[list[str]],
    second: list[list[str]],
    third: list[list[str]],
    min_count: int,
    sides: bool,
    dynamic: bool,
    max_vocab: int | None,
    max_contexts: int | None,
    memory: int,
    workers: int,
) -> None:
    folder = tmp_path_factory.mktemp("add")
    always = [["always"]] * 3  # some word is kept in any case
    paths = [write(folder / f"{i}.txt", part + always) for i, part in enumerate((first, second, third))]
    options: dict[str, Any] = {
        "min_count": min_count,
        "window": 2,
        "mark_sides": sides,
        "dynamic_window": dynamic,
        "max_vocab": max_vocab,
        "max_contexts": max_contexts,
    }
    within: dict[str, Any] = {**options, "memory": memory, "workers": workers}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "BLOCK_PAIRS", 4)
        wf.count_corpus(paths[0], folder / "1", **within, extendable=True)
        wf.count_corpus(paths[1], folder / "2", add=folder / "1", **within)
        wf.count_corpus(paths[2], folder / "3", add=folder / "2", **within)
    wf.count_corpus(paths, folder / "whole", **options)
    assert same(folder / "3", folder / "whole")


def test_a_word_that_is_rare_at_first_has_all_its_pairs(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", [["x", "y"], ["y", "y"]]), write(tmp_path / "2", [["x", "z"], ["z"]])
    before = wf.count_corpus(first, tmp_path / "a", min_count=2, extendable=True)
    assert "x" not in before.vocabulary
    after = wf.count_corpus(second, tmp_path / "b", add=tmp_path / "a", min_count=2)
    rows = after.vocabulary.index
    assert after.matrix[rows["x"], rows["y"]] == 1


def test_the_command_adds_and_train_takes_the_folder(corpus: Path, tmp_path: Path) -> None:
    lines = corpus.read_text().splitlines(keepends=True)
    (tmp_path / "1.txt").write_text("".join(lines[:1000]))
    (tmp_path / "2.txt").write_text("".join(lines[1000:]))
    first = run_command("count", tmp_path / "1.txt", "--extendable", "--out", tmp_path / "a")
    then = run_command("count", tmp_path / "2.txt", "--add", tmp_path / "a", "--out", tmp_path / "b")
    assert (first.returncode, then.returncode) == (0, 0)
    wf.count_corpus(corpus, tmp_path / "whole")
    assert same(tmp_path / "b", tmp_path / "whole")
    assert wf.train(tmp_path / "b", trees=1, epochs=1).config["corpus"] == [str(tmp_path / f"{i}.txt") for i in (1, 2)]


def test_killed_while_adding_it_resumes_to_the_same_bits(
    large_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = large_corpus.read_text().splitlines(keepends=True)
    (tmp_path / "1.txt").write_text("".join(lines[:5000]))
    (tmp_path / "2.txt").write_text("".join(lines[5000:]))
    wf.count_corpus(tmp_path / "1.txt", tmp_path / "a", extendable=True)
    adding: dict[str, Any] = {"out": tmp_path / "b", "add": tmp_path / "a", "resume": True}

    def add_and_die(notes: int) -> None:
        note, left = ScratchFiles.note, [notes]

        def counted(self: ScratchFiles, what: dict[str, Any]) -> None:
            note(self, what)
            left[0] -= 1
            if left[0] == 0:
                kill()

        tally._LEAST_SHARD = 1 << 13
        ScratchFiles.note = counted  # type: ignore[method-assign]
        count.pooled = lambda *_: kill()
        wf.count_corpus(tmp_path / "2.txt", memory=1 << 20, **adding)

    for notes in (5, 0):  # while counting shards, and after all of them
        killed(partial(add_and_die, notes))
    with monkeypatch.context() as patch:
        patch.setattr(count, "count_into", None)  # would fail if it counted again
        wf.count_corpus(tmp_path / "2.txt", **adding)
    wf.count_corpus(large_corpus, tmp_path / "whole")
    assert same(tmp_path / "b", tmp_path / "whole")
    assert {path.name for path in (tmp_path / "b").iterdir()} == {"all", "config.json", *FILES}


def test_what_cannot_be_exact_is_refused(corpus: Path, tmp_path: Path) -> None:
    wf.count_corpus(corpus, tmp_path / "plain")
    with pytest.raises(InputError, match="only to counts made with --extendable"):
        wf.count_corpus(corpus, tmp_path / "out", add=tmp_path / "plain")
    with pytest.raises(InputError, match="subsample depends on all the text"):
        wf.count_corpus(corpus, tmp_path / "out", subsample=1e-3, extendable=True)
    wf.count_corpus(corpus, tmp_path / "a", window=3, extendable=True)
    with pytest.raises(InputError, match=r"window = 5, but .* was counted with window = 3"):
        wf.count_corpus(corpus, tmp_path / "out", add=tmp_path / "a")
    with pytest.raises(InputError, match="the counts to add to would be replaced"):
        wf.count_corpus(corpus, tmp_path / "a", add=tmp_path / "a", window=3, force=True)


def test_counts_that_replace_extendable_ones_leave_nothing_of_them(corpus: Path, tmp_path: Path) -> None:
    wf.count_corpus(corpus, tmp_path / "a", extendable=True)
    assert (tmp_path / "a" / "all").is_dir()
    wf.count_corpus(corpus, tmp_path / "a", force=True)
    assert not (tmp_path / "a" / "all").exists()
