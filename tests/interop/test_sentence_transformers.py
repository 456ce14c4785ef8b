"""sentence-transformers: its own classes load our folders, without a network, and give our cosines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.documents.bags import count_words
from wordforest.interop import read_sentence_transformers, write_sentence_transformers
from wordforest.text import TextRules, Vocabulary, read_documents

pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def folder(readable: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("st") / "model"
    write_sentence_transformers(readable, made)
    return made


def test_there_and_back_cosines_are_the_same(readable: Path, folder: Path):
    vectors, back = wf.read_vectors(readable), read_sentence_transformers(folder)
    assert back.words == vectors.words
    np.testing.assert_allclose(back.unit @ back.unit.T, vectors.unit @ vectors.unit.T, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of PyTorch and transformers, on their way in
def test_it_loads_them_and_takes_the_mean_of_words(readable: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    library = pytest.importorskip("sentence_transformers")
    vectors = wf.read_vectors(readable)
    model = library.SentenceTransformer(str(folder), device="cpu")
    king, queen, both = model.encode(["King", "queen!", "The king, unheardof: a QUEEN"])
    assert float(model.similarity(king, queen)) == pytest.approx(vectors.similarity("king", "queen"), abs=1e-6)
    words = ["the", "king", "a", "queen"]
    mean = np.sum([vectors.comparable[word] for word in words], axis=0) / 5  # an unknown word is a row of zeros
    np.testing.assert_allclose(both, mean, atol=1e-6)

    write_sentence_transformers(readable, folder.parent / "sparse", sparse=True)
    rows = library.SparseEncoder(str(folder.parent / "sparse"), device="cpu").encode(["King", "the king, a queen"])
    assert rows.is_sparse
    assert rows.shape == (2, vectors.n_dimensions)
    np.testing.assert_allclose(rows[0].to_dense().numpy(), vectors.comparable["king"], atol=1e-6)
    assert rows[0].coalesce().values().numel() == np.count_nonzero(vectors["king"])


TEXTS = (
    "The ship’s 12,000.5 tons, or 3.5kg: don't-stop e.g. U.S.A.",
    "naïve cafe\u0301 co\u00adoperate ２０ x_y 20th -3 +4 a'b' 'quoted' 1,2,3. ½ km²",
    "Привет, мир! 東京 はい。 हिन्दी भाषा العربية ١٢٣",
    "tab\tline\nend,comma;semi 'tis rock 'n' roll's",
)


@pytest.mark.parametrize("rules", [TextRules(), TextRules(numbers=False, lowercase=False), TextRules("whitespace")])
def test_texts_are_split_as_we_do(rules: TextRules, tmp_path: Path):
    from tokenizers import Tokenizer

    split = [text.replace("\n", " ") for text in TEXTS]
    words = _words_of(split, rules)
    run = wf.Run(
        tuple(words), np.ones(len(words), np.int64), _ones(len(words)), None, wf.Forest([-1]), _config_of(rules)
    )
    write_sentence_transformers(run, tmp_path / "model")
    tokenizer = Tokenizer.from_file(str(tmp_path / "model" / "tokenizer.json"))
    theirs = np.zeros((len(split), len(words)))
    for row, text in enumerate(split):
        np.add.at(theirs[row], [i for i in tokenizer.encode(text).ids if i < len(words)], 1)
    ours = next(count_words(read_documents(split), Vocabulary(words, np.ones(len(words))), rules)).counts.toarray()
    assert [*zip(*np.nonzero(theirs != ours), strict=True)] == []
    assert {tokenizer.id_to_token(i) for text in split for i in tokenizer.encode(text).ids} <= {*words}


def _words_of(texts: list[str], rules: TextRules) -> list[str]:
    from wordforest.documents.bags import learn_words
    from wordforest.text import WordRules

    return [*learn_words(read_documents(texts), rules, WordRules(1))[0].words]


def _ones(n: int):
    from scipy import sparse

    return sparse.csr_array(np.ones((n, 1), np.float32))


def _config_of(rules: TextRules) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(rules)


def test_a_folder_of_another_model_is_refused(folder: Path, tmp_path: Path):
    from wordforest.store.tensors import write_tensors

    write_tensors(tmp_path / "model.safetensors", {"linear.weight": np.ones((2, 2), np.float32)})
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {}}))
    with pytest.raises(wf.InputError, match="folder of a StaticEmbedding"):
        read_sentence_transformers(tmp_path)


def test_the_word_for_unknown_words_is_refused(tmp_path: Path):
    with pytest.raises(wf.InputError, match=r"\[UNK\] stands for unknown words"):
        write_sentence_transformers(wf.Vectors(["a", "[UNK]"], [[1.0], [2.0]]), tmp_path / "model")
