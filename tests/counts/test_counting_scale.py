"""Counting beyond memory: any ceiling, chunks, workers and files give the same bits, and kill -9 loses little."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wordforest as wf
from tests.commands import run_command
from wordforest.counts import count, windows
from wordforest.counts import tally as counts_module
from wordforest.errors import InputError
from wordforest.runtime import disk as place
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.machine import Threads
from wordforest.settings import CountSettings
from wordforest.text import RARE, TextRules, tokens

FILES = ("vocab.tsv", "counts.safetensors")
sentences_of_words = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "considerable", "considerably"]), min_size=1, max_size=8),
    min_size=1,
    max_size=8,
)


def reference(sentences: list[list[str]], kept: set[str], window: int) -> dict[tuple[str, str], int]:
    """Pairs of a word and its side and neighbour, straight from the definition; ``+`` stands before right ones."""
    pairs: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        known = [word if word in kept else RARE for word in sentence]
        for i, word in enumerate(known):
            for j in range(max(0, i - window), min(len(known), i + window + 1)):
                if j != i:
                    pairs[word, "-+"[j > i] + known[j]] += 1
    return dict(pairs)


def as_dict(counts: wf.Counts, sides: bool) -> dict[tuple[str, str], int]:
    words, matrix = counts.vocabulary.words, counts.matrix.tocoo()
    n = matrix.shape[1] // 2 if sides else matrix.shape[1]
    names = [f"{side}{word}" for side in ("-+" if sides else "*") for word in words[:n]]
    pairs = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    return {(words[v], names[c]): x for v, c, x in pairs}


def same(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in FILES)


@given(
    sentences_of_words,
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
    st.none() | st.integers(1, 4),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(1, 2000),
    st.integers(1, 3),
    st.integers(0, 8),
)
@example([["a"], ["b"]], 1, 1, True, None, 1, 1, 1, 2, 1)
@settings(deadline=None, max_examples=80)
def test_any_ceiling_chunks_blocks_workers_and_files_give_the_reference(
    tmp_path_factory: pytest.TempPathFactory,
    sentences: list[list[str]],
    window: int,
    min_count: int,
    sides: bool,
    max_contexts: int | None,
    chunk: int,
    block: int,
    memory: int,
    n_workers: int,
    cut: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    lines = [" ".join(sentence) + "\n" for sentence in sentences]
    for name, part in (("1.txt", lines[:cut]), ("2.txt", lines[cut:])):
        (folder / name).write_text("".join(part))
    totals = Counter(word for sentence in sentences for word in sentence)
    kept = {word for word, n in totals.items() if n >= min_count}
    if not kept:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "CHUNK_BYTES", chunk)
        patch.setattr(windows, "BLOCK_PAIRS", block)
        patch.setattr(counts_module, "_MERGED_PAIRS", block)
        patch.setattr(counts_module, "_LEAST_SHARD", 1 + memory // 100)
        found = count(
            folder,
            window=window,
            min_count=min_count,
            mark_sides=sides,
            max_contexts=max_contexts,
            memory=memory,
            rules=TextRules("whitespace"),
            executor=Threads(n_workers),
        )
    contexts = set(found.vocabulary.words[:max_contexts])
    expected: Counter[tuple[str, str]] = Counter()
    for (word, neighbour), n in reference(sentences, kept, window).items():
        if neighbour[1:] in contexts:
            expected[word, neighbour if sides else "*" + neighbour[1:]] += n
    assert as_dict(found, sides) == expected
    assert found.matrix.shape[1] == len(contexts) * (2 if sides else 1)
    fresh = type(found.matrix)((found.matrix.data, found.matrix.indices, found.matrix.indptr), found.matrix.shape)
    assert fresh.has_canonical_format


@given(sentences_of_words, st.integers(0, 8), st.sampled_from([0.3, 0.05]))
@settings(deadline=None, max_examples=40)
def test_a_corpus_cut_into_files_is_thinned_alike(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]], cut: int, t: float
) -> None:
    folder = tmp_path_factory.mktemp("files")
    lines = [" ".join(sentence) + "\n" for sentence in sentences]
    (folder / "whole").write_text("".join(lines))
    (folder / "1").write_text("".join(lines[:cut]))
    (folder / "2").write_text("\n" + "".join(lines[cut:]).rstrip("\n"))
    whole = count(folder / "whole", min_count=1, subsample=t)
    parts = count([folder / "1", folder / "2"], min_count=1, subsample=t)
    assert (whole.matrix != parts.matrix).nnz == 0


def test_folders_are_the_same_for_any_memory_and_workers(large_corpus: Path, tmp_path: Path) -> None:
    whole = wf.count_corpus(large_corpus, tmp_path / "whole", workers=1)
    for memory, workers in ((1, 2), (1 << 20, 1), (8 << 20, 3)):
        found = wf.count_corpus(large_corpus, tmp_path / f"{memory}", memory=memory, workers=workers)
        assert same(tmp_path / "whole", tmp_path / f"{memory}")
        assert sorted(path.name for path in (tmp_path / f"{memory}").iterdir()) == sorted((*FILES, "config.json"))
        assert (found.matrix != whole.matrix).nnz == 0


def test_counts_past_32_bits_are_written_in_64(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a " * 5000 + "\nb c\n")
    settings_ = {"window": 16, "min_count": 1, "dynamic_window": True}
    whole = count(tmp_path / "a.txt", **settings_)
    found = wf.count_corpus(tmp_path / "a.txt", tmp_path / "out", memory=1000, **settings_)
    assert whole.matrix.dtype == found.matrix.dtype == np.int64
    assert (whole.matrix != found.matrix).nnz == 0


def test_four_files_hold_what_memory_does_not(large_corpus: Path, tmp_path: Path) -> None:
    where = ScratchFiles(tmp_path, memory=1, named=True)
    windows_, words = counts_module.WindowRules(), counts_module.WordRules()
    counts_module.tally_corpus(large_corpus, windows_, words, None, where)
    assert {path.name for path in tmp_path.iterdir()} == {"ids.bin", "parts.bin", "notes.jsonl", "words.txt"}
    assert len(where._files) == 4
    where.close()


def test_a_full_disk_is_told_before_it_is_full(
    large_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(place.shutil, "disk_usage", lambda _: usage._replace(free=10 << 20))
    with pytest.raises(InputError, match=r"counting needs \d+ MB on this disk, but 10 MB are free"):
        wf.count_corpus(large_corpus, tmp_path / "out", memory=1)
    monkeypatch.undo()
    wf.count_corpus(large_corpus, tmp_path / "out", memory=1, resume=True)
    wf.count_corpus(large_corpus, tmp_path / "whole")
    assert same(tmp_path / "out", tmp_path / "whole")


def test_more_words_than_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_LEAST_MEMORY", 0)
    (tmp_path / "a.txt").write_text(" ".join(f"w{chr(97 + i % 26)}{i}x" for i in range(50_000)))
    with pytest.raises(InputError, match=r"\d+ different words alone take more than the memory of 4 MiB"):
        wf.count_corpus(tmp_path / "a.txt", tmp_path / "out", memory=4 << 20, min_count=1)
    assert not (tmp_path / "out").exists()


# ---- going on after kill -9

KILLED = """
import os, signal, sys
import wordforest as wf
from wordforest.counts import tally as counts
from wordforest.text import tokens
from wordforest.runtime.disk import ScratchFiles
counts._LEAST_SHARD = 1 << 13
tokens.CHUNK_BYTES = 1 << 14
note, left = ScratchFiles.note, [int(sys.argv[3])]
def counted(self, what):
    note(self, what)
    left[0] -= 1
    if left[0] == 0:
        self.file("notes.jsonl").write(b'{"half a li')
        self.file("ids.bin").seek(0, os.SEEK_END)
        self.file("ids.bin").write(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
ScratchFiles.note = counted
wf.count_corpus(sys.argv[1], sys.argv[2], memory=1 << 20, workers=2, resume=True, min_count=3, subsample=1e-3)
"""


def killed(corpus: Path, out: Path, notes: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(corpus), str(out), str(notes)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_killed_at_any_note_it_goes_on_to_the_same_bits(
    large_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"min_count": 3, "subsample": 1e-3}
    wf.count_corpus(large_corpus, tmp_path / "whole", **options)
    out = tmp_path / "out"
    for notes in (1, 8):  # when all is read, while counting shards
        killed(large_corpus, out, notes)
    read, counted = [], []
    split, shard = tokens.split_forms, counts_module._count_shard
    monkeypatch.setattr(tokens, "split_forms", lambda *a: read.append(1) or split(*a))
    monkeypatch.setattr(counts_module, "_count_shard", lambda *a: counted.append(a[0]) or shard(*a))
    notes = [json.loads(line) for line in (out / "checkpoint" / "notes.jsonl").read_bytes().splitlines()[:-1]]
    finished = {note["shard"] for note in notes if "shard" in note}
    wf.count_corpus(large_corpus, out, memory=1 << 20, workers=1, resume=True, **options)
    assert same(tmp_path / "whole", out)
    assert read == []  # all had been read
    assert finished
    assert not finished & set(counted)
    assert not (out / "checkpoint").exists()


def test_a_command_that_is_killed_goes_on(large_corpus: Path, tmp_path: Path) -> None:
    command = ["count", str(large_corpus), "--quiet", "--memory", "1M", "--out"]
    process = subprocess.Popen([sys.executable, "-m", "wordforest", *command, str(tmp_path / "out")])
    notes = tmp_path / "out" / "checkpoint" / "notes.jsonl"
    while process.poll() is None and not notes.exists():
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert run_command(*command, tmp_path / "out", "--resume").returncode == 0
    assert run_command(*command, tmp_path / "whole").returncode == 0
    assert same(tmp_path / "whole", tmp_path / "out")


@pytest.fixture(scope="module")
def broken_off(large_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, and counts of it that were killed when it was read."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "a.txt").write_bytes(large_corpus.read_bytes())
    killed(folder / "a.txt", folder / "out", 2)
    return folder


@pytest.mark.parametrize(
    ("changed", "min_count", "message"),
    [
        (lambda text: text, 4, "was begun with min_count = 3, but now it is 4"),
        (lambda text: b"x" + text[1:], 3, "the text has changed since counting began"),
        (lambda text: text[:20_000], 3, "the text has changed since counting began"),
    ],
    ids=["settings", "text", "shorter text"],
)
def test_it_does_not_resume_with_other_text_or_settings(
    broken_off: Path,
    large_corpus: Path,
    tmp_path: Path,
    changed: Callable[[bytes], bytes],
    min_count: int,
    message: str,
) -> None:
    (broken_off / "a.txt").write_bytes(changed(large_corpus.read_bytes()))
    shutil.copytree(broken_off / "out", tmp_path / "out")
    options: dict[str, Any] = {"subsample": 1e-3, "resume": True, "memory": 1 << 20, "min_count": min_count}
    with pytest.raises(InputError, match=message):
        wf.count_corpus(broken_off / "a.txt", tmp_path / "out", **options)


def test_notes_from_before_the_machine_started_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_boot", lambda: "yesterday")
    ScratchFiles(tmp_path, named=True).note({"shards": 5})
    assert ScratchFiles(tmp_path, named=True).notes() == [{"shards": 5}]
    monkeypatch.setattr(place, "_boot", lambda: "today")
    assert ScratchFiles(tmp_path, named=True).notes() == []


def test_what_is_complete_is_not_counted_again(corpus: Path, tmp_path: Path) -> None:
    first = wf.count_corpus(corpus, tmp_path / "out")
    stamp = (tmp_path / "out" / "counts.safetensors").stat().st_mtime_ns
    again = wf.count_corpus(corpus, tmp_path / "out", resume=True)
    assert (tmp_path / "out" / "counts.safetensors").stat().st_mtime_ns == stamp
    assert (first.matrix != again.matrix).nnz == 0


def test_standard_input_cannot_be_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="standard input cannot be read again"):
        wf.count_corpus("-", tmp_path / "out", resume=True)


# ---- which words and contexts


def vocabulary_of(text: str, folder: Path, **options: Any) -> dict[str, int]:
    (folder / "a.txt").write_text(text)
    found = count(folder / "a.txt", **options).vocabulary
    return dict(zip(found.words, found.counts.tolist(), strict=True))


def test_a_listed_word_stays_although_it_is_rare(tmp_path: Path) -> None:
    text = "a a a b b c d"
    assert vocabulary_of(text, tmp_path, min_count=2, keep_words=["c", "never"]) == {"a": 3, "b": 2, "c": 1, RARE: 1}


def test_listed_words_come_before_more_frequent_ones(tmp_path: Path) -> None:
    text = "a a a b b c d"
    assert vocabulary_of(text, tmp_path, min_count=1, max_vocab=2, keep_words=["c"]) == {"a": 3, "c": 1, RARE: 3}
    assert vocabulary_of(text, tmp_path, min_count=1, max_vocab=1, keep_words=["c", "d"]) == {RARE: 5, "c": 1, "d": 1}


def test_a_list_of_words_that_never_occur_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word occurs 5 times"):
        vocabulary_of("a b", tmp_path, min_count=5, keep_words=["x"])


@pytest.mark.parametrize("n", [0, -3])
def test_at_least_one_context(tmp_path: Path, n: int) -> None:
    with pytest.raises(InputError, match=f"max_contexts = {n}"):
        CountSettings(max_contexts=n)
    with pytest.raises(InputError, match=f"max_contexts = {n}, but it must be a whole number, at least 1"):
        count(tmp_path, max_contexts=n)


def test_words_that_are_no_contexts_still_take_their_place_in_a_window(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a x a\na a\n")
    found = count(tmp_path / "a.txt", window=1, min_count=1, max_contexts=1)
    assert found.matrix.toarray().tolist() == [[2], [2]]


def test_marked_sides_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b b\n")
    found = count(tmp_path / "a.txt", window=1, min_count=1, mark_sides=True)
    assert found.vocabulary.words == ("b", "a")
    assert found.matrix.toarray().tolist() == [[1, 1, 1, 0], [0, 0, 1, 0]]  # left b, left a, right b, right a


@pytest.mark.parametrize("options", [("--mark-sides",), ("--max-contexts", "20")])
def test_train_and_baseline_take_counts_that_are_not_square(corpus: Path, tmp_path: Path, options: Any) -> None:
    listed = tmp_path / "words.txt"
    listed.write_text("palace\n\nthrone\n")
    more = [*options, "--keep-words", listed, "--quiet"]
    assert run_command("count", corpus, "--out", tmp_path / "c", *more).returncode == 0
    config = json.loads((tmp_path / "c" / "config.json").read_text())
    assert config["keep_words"] == ["palace", "throne"]
    assert (config["mark_sides"], config["max_contexts"]) == ((True, None) if len(options) == 1 else (False, 20))
    learn = ["--epochs", "2", "--trees", "1", "--quiet"]
    assert run_command("train", tmp_path / "c", "--out", tmp_path / "r", *learn).returncode == 0
    assert run_command("train", corpus, "--out", tmp_path / "t", *learn, *more).returncode == 0
    for name in ("codes.safetensors", "dictionary.safetensors", "vocab.tsv"):
        assert (tmp_path / "r" / name).read_bytes() == (tmp_path / "t" / name).read_bytes()
    pca = ["baseline", "pca", tmp_path / "c", "--out", tmp_path / "p", "--dimensions", "5", "--quiet"]
    assert run_command(*pca).returncode == 0
    assert wf.load_run(tmp_path / "p").codes.shape == (len(wf.load_run(tmp_path / "r").words), 5)
