"""The judges of benchmarks/language_models.py on cases worked by hand, and H-SAE against its equations."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

FOLDER = Path(__file__).parents[2] / "benchmarks"
# entity above animal and tool; animal above bird and fish, tool above saw
INDEX = """  1 licence
bird n 1 1 @ 1 1 4
carp n 1 1 @ 1 1 5
cat n 1 1 @ 1 1 2
hammer n 1 1 @ 1 0 3
owl n 2 2 @ ~ 2 1 4 3
saw n 1 1 @ 1 1 6
"""
DATA = """  1 licence
1 03 n 01 entity 0 002 ~ 2 n 0000 ~ 3 n 0000 | all
2 03 n 02 animal 0 beast 0 001 @ 1 n 0000 | it moves
3 03 n 01 tool 0 001 @ 1 n 0000 | it helps
4 03 n 01 bird 0 001 @ 2 n 0000 | it flies
5 03 n 01 fish 0 002 + 9 v 0101 @ 2 n 0000 | it swims
6 03 n 01 saw 0 001 @i 3 n 0000 | it cuts
"""


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "language_models.py"))


@pytest.fixture
def wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    (tmp_path / "index.noun").write_text(INDEX, encoding="utf-8")
    (tmp_path / "data.noun").write_text(DATA, encoding="utf-8")
    module = runpy.run_path(str(FOLDER / "wordnet.py"))
    module["Judge"].synset.__globals__["LEAST"] = 1
    return {**module, "nouns": module["read_nouns"](tmp_path)}


def test_the_parent_by_use_is_the_rarest_that_covers_nine_tenths(benchmark: dict[str, Any]) -> None:
    A = np.zeros((40, 5))
    A[:40, 0] = 1  # on everywhere
    A[:20, 1] = 1
    A[:10, 2] = 1
    A[9:19, 3] = 1  # its ten rows lie in those of 1; one is shared with 2
    A[15:25, 4] = 1  # half of them lie in those of 1
    assert benchmark["edges_by_use"](sp.csr_matrix(A)).tolist() == [-1, 0, 1, 1, 0]


def test_edges_of_dead_latents_do_not_count(benchmark: dict[str, Any]) -> None:
    dead = np.array([False, True, False, False])
    assert benchmark["living"](np.array([-1, 0, 1, 0]), dead).tolist() == [-1, -1, -1, 0]


def test_edges_between_matched_atoms_are_compared_with_the_true_ones(benchmark: dict[str, Any]) -> None:
    truth = benchmark["Truth"](np.eye(5), np.array([-1, 0, 0, 2, -1]))
    atoms = np.eye(5)[[3, 2, 0, 4]] * 7  # in another order, and feature 1 is missing
    scores = benchmark["planted_scores"](atoms, np.array([1, 2, -1, 2]), truth)  # 2 -> 3, 0 -> 2 and a wrong 0 -> 4
    assert scores == pytest.approx({"cosine": 1, "found": 0.8, "precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3})


def test_atoms_that_resemble_no_feature_have_no_edges(benchmark: dict[str, Any]) -> None:
    truth = benchmark["Truth"](np.eye(3), np.array([-1, 0, 0]))
    assert benchmark["planted_scores"](-np.eye(3), np.array([-1, 0, 0]), truth)["f1"] == 0


def test_rows_are_dealt_once_and_for_all(benchmark: dict[str, Any]) -> None:
    train, held = benchmark["dealt"](49152)
    order = np.random.default_rng(0).permutation(49152)
    assert np.array_equal(np.concatenate([train, held]), order)
    assert len(held) == 4915


def test_words_are_tokens_of_three_lower_case_letters_behind_a_space(benchmark: dict[str, Any]) -> None:
    tokens = ["Ġbird", "bird", "ĠBird", "Ġof", "Ġa1bc"]
    assert benchmark["whole_words"](tokens, "Ġ") == ["bird", None, None, None, None]


def test_what_the_mean_row_explains_is_no_variance(benchmark: dict[str, Any]) -> None:
    X = np.array([[1.0, 0], [3, 0]])
    mean = X.mean(0)
    assert benchmark["unexplained"](X, np.tile(mean, (2, 1)), mean) == 1
    assert benchmark["unexplained"](X, X, mean) == 0


def test_a_probe_finds_the_latent_that_tells_a_class(benchmark: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    A = np.hstack([rng.random((300, 20)), np.eye(3)[labels]]).astype(np.float32)
    data = benchmark["Data"]("made up", A, labels=labels)
    assert benchmark["probe_scores"](sp.csr_matrix(A), data)[1] == 1.0


def test_nouns_have_their_first_sense_and_what_is_above(wordnet: dict[str, Any]) -> None:
    nouns = wordnet["nouns"]
    assert nouns.senses == {"bird": 4, "carp": 5, "cat": 2, "hammer": 3, "owl": 4, "saw": 6}
    assert nouns.hypernyms[5] == (2,)  # the verb it derives from is not above it
    assert wordnet["closure"](6, nouns.hypernyms) == {6, 3, 1}


def test_bits_are_those_of_the_synset_that_covers_half(wordnet: dict[str, Any]) -> None:
    judge = wordnet["Judge"](wordnet["nouns"], ["bird", None, "carp", "hammer", "saw"])
    assert judge.rows.tolist() == [0, 2, 3, 4]
    assert {s: judge.bits[s] for s in (1, 2, 5)} == {1: 0.0, 2: 1.0, 5: 2.0}
    assert judge.synset([0, 1, 2]) == 2  # animal covers two of three, bird and fish one each


def test_a_child_is_nested_under_its_parent_alone(wordnet: dict[str, Any]) -> None:
    judge = wordnet["Judge"](wordnet["nouns"], ["bird", "owl", "carp", "cat", "hammer", "saw", "saw"])
    A = np.zeros((7, 4))
    A[:4, 0] = 2, 2, 1, 1  # animals
    A[:2, 1] = 3, 2  # birds
    A[4:, 2] = 1, 2, 3  # tools
    A[5:, 3] = 2, 3  # saws
    assert judge.edge(A, 0, 1) == 0.0  # without birds, carp and cat are left: a fish is half of them, and no bird
    A[0, 1] = 0
    assert judge.edge(A, 0, 1) == pytest.approx(np.log2(7 / 4))  # bird, carp, cat: animal, four of seven nouns
    assert judge.edge(A, 2, 1) == 0.0  # an owl is no saw
    nested = judge.judged(A, np.array([-1, 0, -1, 2]))
    assert nested.bits == pytest.approx((np.log2(7 / 4) + np.log2(7 / 3)) / 2)
    assert (nested.n_edges, nested.dealt, nested.share) == (2, 0.0, 1.0)


def test_depths_do_not_need_an_order(wordnet: dict[str, Any]) -> None:
    assert wordnet["depths"](np.array([2, 0, -1, 1])).tolist() == [1, 2, 0, 3]


def test_latents_of_h_sae_are_on_under_their_parents_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(FOLDER))
    module = runpy.run_path(str(FOLDER / "autoencoders.py"))
    torch.manual_seed(0)
    model = module["HSAE"](12, 6, 2, torch.zeros(12))
    x = torch.randn(50, 12)
    s, t, _ = model.codes(x)
    assert ((s > 0).sum(1) <= 2).all()
    assert ((t > 0).sum(2) <= (s > 0)).all()
    assert (t > 0).any()
    atoms = torch.nn.functional.normalize(model.D, dim=1), model.atoms_below().flatten(0, 1)
    by_hand = model.b + s @ atoms[0] + t.flatten(1) @ atoms[1]
    torch.testing.assert_close(model.decoded(s, t), by_hand, rtol=0, atol=1e-5)


@pytest.fixture
def probing(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "probing.py"))


def test_rows_of_texts_are_those_of_their_last_tokens_alone(probing: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    from tests.examples.test_smollm2 import small

    model, texts = small(), ["abc", "d", "efghijk", "ab" * 60]
    rows = probing["last_rows"](model, texts, layer=2)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_allclose(probing["last_rows"](model, [text], layer=2)[0], row, rtol=1e-5)  # float32
    cut = probing["last_rows"](model, [texts[3][-probing["LENGTH"] :]], layer=2)
    np.testing.assert_allclose(cut[0], rows[3], rtol=1e-5)
    assert abs(rows[0] - rows[1]).max() > 0.1


def test_areas_are_compared_set_by_set(probing: dict[str, Any]) -> None:
    first, other = {"1": [0.5, 0.9, 0.7]}, {"1": [0.6, 1.0, 0.8]}
    assert list(probing["cells"](first, first)) == ["probe of 1"]
    cells = probing["cells"](other, first)
    assert cells["1, less the first"] == "+0.100 [+0.100, +0.100]"
    assert cells["probe of 1"] == "0.800 [0.600, 1.000]"


def test_a_class_is_told_by_the_latent_that_knows_it(probing: dict[str, Any]) -> None:
    pytest.importorskip("sae_probes")
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], 200))
    X = rng.random((400, 30)).astype(np.float32)
    X[:, 7] += 2 * y
    found = probing["scores"](lambda rows: rows, [probing["Texts"]("made up", X, y)])
    assert found["1"] == [1.0]
    assert set(found) == {"1", "16", "all"}
