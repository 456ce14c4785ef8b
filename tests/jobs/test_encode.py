"""New words get the codes that the run would have given them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import wordforest as wf
from tests.commands import run_command
from wordforest.coder.coding import word_objectives
from wordforest.errors import InputError
from wordforest.jobs.count import associate
from wordforest.jobs.encode import _moves
from wordforest.settings import AssociationSettings
from wordforest.text import RARE

FAST: dict[str, Any] = {"trees": 2, "epochs": 3}


def objectives(counts: wf.Counts, run: wf.Run, codes: Any) -> Any:
    """``|x - D a|^2 - |x|^2 + lam Omega(a)`` of every word, and ``|x|^2``."""
    X = associate(counts, AssociationSettings(run.config["measure"]))
    D = run.dictionary.astype(np.float64)
    penalty = wf.coder.ForestL2(run.forest, run.config["lam"], nonnegative=run.config["nonnegative"])
    squares = np.asarray(X.multiply(X).sum(axis=1))
    return word_objectives(codes.toarray(), X @ D, wf.coder.Gram(D.T @ D), penalty), squares


@pytest.mark.parametrize("options", [{}, {"mark_sides": True}, {"max_contexts": 20}, {"measure": "ppmi"}], ids=str)
def test_the_counts_of_a_run_get_its_codes(corpus: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    run = wf.train(corpus, out=tmp_path / "run", **FAST, **options)
    again = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts", tmp_path / "again")
    assert again.words == run.words
    counts = wf.count(corpus, **{name: options[name] for name in ("mark_sides", "max_contexts") if name in options})
    (first, squares), (second, _) = objectives(counts, run, run.codes), objectives(counts, run, again.codes)
    # both are within 1e-6 |x|^2 of the best; codes are rounded to float32
    assert np.all(np.abs(first - second) <= 3e-6 * squares + 1e-6)
    assert np.allclose(run.codes.toarray(), again.codes.toarray(), atol=0.02 * np.abs(run.codes.data).max())


def test_a_readable_forest_codes_its_own_counts(corpus: Path, tmp_path: Path) -> None:
    run = wf.train(corpus, out=tmp_path / "run", preset="readable", trees=2, grow=True)
    again = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts")
    assert np.allclose(run.codes.toarray(), again.codes.toarray(), atol=0.02 * np.abs(run.codes.data).max())


@pytest.mark.parametrize("name", ["sc", "nnse"])
def test_sparse_coding_without_a_forest_codes_its_own_counts(corpus: Path, tmp_path: Path, name: str) -> None:
    run = wf.baseline(name, corpus, out=tmp_path / "run", dimensions=8)
    again = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts")
    assert np.allclose(run.codes.toarray(), again.codes.toarray(), atol=0.02 * np.abs(run.codes.data).max())


def test_a_new_word_lies_beside_the_word_it_stands_for(corpus: Path, tmp_path: Path) -> None:
    """Text in which every other cat is called a lynx: its code is near the cat's."""
    wf.train(corpus, out=tmp_path / "run", **FAST)
    (tmp_path / "new.txt").write_text(
        "".join(
            line.replace("cat", "lynx") if i % 2 else line
            for i, line in enumerate(corpus.read_text().splitlines(keepends=True))
        )
    )
    wf.count_corpus(tmp_path / "new.txt", tmp_path / "new")
    encoded = wf.encode_counts(tmp_path / "run", tmp_path / "new", tmp_path / "out")
    assert "lynx" not in wf.load_run(tmp_path / "run").words
    nearest = {word for word, _ in encoded.vectors.most_similar("lynx", topn=4)}
    assert nearest == {"cat", "dog", "horse", "cow"}
    assert wf.load_run(tmp_path / "out").vectors.similarity("lynx", "cat") > 0.95


@given(
    st.lists(st.sampled_from([*"abcdef", RARE]), unique=True, min_size=1),
    st.lists(st.sampled_from([*"abcdefgh", RARE]), unique=True, min_size=1),
    st.booleans(),
    st.integers(0, 9),
)
def test_contexts_meet_by_name_and_unknown_ones_are_rare(
    old: list[str], new: list[str], sides: bool, seed: int
) -> None:
    n = 2 if sides else 1
    dense = np.random.default_rng(seed).integers(0, 3, size=(len(new), n * len(new)))
    vocabulary = wf.Vocabulary(new, [1] * len(new))
    D = np.zeros((n * len(old), 1), np.float32)
    codes = sparse.csr_array((len(old), 1), dtype=np.float32)
    run = wf.Run(tuple(old), np.ones(len(old), np.int64), codes, D, wf.Forest.flat(1), {"mark_sides": sides})
    if not set(old) & set(new):
        with pytest.raises(InputError, match="no context of the counts is known"):
            _moves(vocabulary, run, n * len(new))
        return
    expected = np.zeros((len(new), n * len(old)), dtype=np.int64)
    for side in range(n):
        for c, word in enumerate(new):
            known = word if word in old else RARE
            if known in old:
                expected[:, side * len(old) + old.index(known)] += dense[:, side * len(new) + c]
    moves, lost = _moves(vocabulary, run, n * len(new))
    assert np.array_equal(dense if moves is None else dense @ moves.toarray(), expected)
    assert lost == len(set(new) - set(old))


def test_the_command_writes_a_run_that_others_read(corpus: Path, tmp_path: Path) -> None:
    wf.train(corpus, out=tmp_path / "run", **FAST)
    (tmp_path / "new.txt").write_text(corpus.read_text() + "A lynx eats a lynx.\n")
    wf.count_corpus(tmp_path / "new.txt", tmp_path / "counts", min_count=2)
    (tmp_path / "run" / "labels.tsv").write_text("3\tpets\n")
    encode = ["encode", tmp_path / "run", tmp_path / "counts", "--out", tmp_path / "out"]
    first = run_command(*encode).stderr.splitlines()
    assert [line.split(":")[0] for line in first] == ["note", "encode", f"wrote {tmp_path / 'out'}", "next"]
    assert run_command(*encode).returncode == 2
    bits = (tmp_path / "out" / "codes.safetensors").read_bytes()
    assert run_command(*encode, "--force", "--workers", "1", "--quiet").returncode == 0
    assert (tmp_path / "out" / "codes.safetensors").read_bytes() == bits
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "codes.safetensors",
        "config.json",
        "forest.json",
        "history.jsonl",
        "labels.tsv",
        "vocab.tsv",
    ]
    for look in (["neighbors", "cat"], ["inspect"], ["evaluate"], ["path", "cat"]):
        assert run_command(look[0], tmp_path / "out", *look[1:]).returncode == 0
    assert wf.load_run(tmp_path / "out").labels[3].name == "pets"
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["min_count"], config["trees"], config["dictionary_of"]) == (2, 2, str(tmp_path / "run"))
    assert config["gap"] <= 1e-6


def test_what_cannot_be_coded_is_refused(corpus: Path, tmp_path: Path) -> None:
    run, counts = tmp_path / "run", tmp_path / "run" / "counts"
    wf.train(corpus, out=run, **FAST)
    wf.encode_counts(run, counts, tmp_path / "out")
    with pytest.raises(InputError, match="has no dictionary"):
        wf.encode_counts(tmp_path / "out", counts)
    wf.baseline("pca", corpus, out=tmp_path / "pca", dimensions=3)
    with pytest.raises(InputError, match="has a dictionary of pca"):
        wf.encode_counts(tmp_path / "pca", counts)
    wf.count_corpus(corpus, tmp_path / "narrow", window=2)
    with pytest.raises(InputError, match=r"window = 2 in .*, but the run was made with window = 5"):
        wf.encode_counts(run, tmp_path / "narrow")
    for taken in (run, counts):
        with pytest.raises(InputError, match="what is read would be replaced"):
            wf.encode_counts(run, counts, taken, force=True)
    with pytest.raises(InputError, match="expected a counts folder"):
        wf.encode_counts(run, tmp_path / "nowhere")
