"""sentence-transformers: a folder whose StaticEmbedding is the mean of word vectors, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from wordforest.errors import InputError, MissingExtraError
from wordforest.interop.source import Model, open_source
from wordforest.store.files import read_json, replaced, write_json, write_text
from wordforest.store.tensors import read_tensors, write_tensors
from wordforest.text import NUMBER, TextRules
from wordforest.vectors import Vectors

_UNKNOWN = "[UNK]"  # its row is zero: words without a vector shorten the mean, and leave its direction alone
_WEIGHTS, _TOKENIZER, _MODULES = "model.safetensors", "tokenizer.json", "modules.json"
_CONFIG = "config_sentence_transformers.json"
_MODULE = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
# Letters, marks and digits; an apostrophe between letters or digits stays inside, as does what joins digits.
_REST = r"[\p{L}\p{M}\p{N}\u200c\u200d]*"
_WORD = rf"(?:\p{{N}}+(?:[.,]\p{{N}}+)+|[\p{{L}}\p{{N}}]){_REST}(?:'[\p{{L}}\p{{N}}]{_REST})*"
_NUMBER = r"(?<![\p{L}\p{M}\p{N}'])\p{N}+(?:[.,]\p{N}+)*(?![\p{L}\p{M}\p{N}]|'[\p{L}\p{N}]|[.,]\p{N})"
_APART = r"(?<!\S)[-+\u2212]?\p{N}+(?:[.,]\p{N}+)*(?!\S)"


def write_sentence_transformers(model: Model, folder: str | Path, *, sparse: bool = False) -> None:
    """Write a folder for ``SentenceTransformer(folder)``, or with ``sparse`` for ``SparseEncoder(folder)``.

    A text becomes the mean of its words' vectors. In a SparseEncoder the row has few nodes that are not zero.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["hot", "cold"], [[1, 2], [2, 1]])
        >>> wf.interop.write_sentence_transformers(vectors, "model")  # needs: tokenizers
    """
    vectors, _, _ = source = open_source(model)
    if _UNKNOWN in vectors.key_to_index:
        raise InputError(f"the word {_UNKNOWN} stands for unknown words there. Leave it out of the vectors.")
    tokenizer = _tokenizer(vectors.words, source.rules)
    weights = np.vstack((vectors.comparable.dense, np.zeros((1, vectors.n_dimensions), np.float32)))
    kind = "SparseEncoder" if sparse else "SentenceTransformer"
    with replaced(Path(folder), (_WEIGHTS, _TOKENIZER, _MODULES, _CONFIG), _MODULES) as staging:
        write_tensors(staging / _WEIGHTS, {"embedding.weight": weights}, {"format": "pt"})
        write_text(staging / _TOKENIZER, tokenizer.to_str())
        write_json(staging / _CONFIG, {"model_type": kind, "similarity_fn_name": "cosine"})
        write_text(staging / _MODULES, json.dumps([_MODULE], indent=2))


def read_sentence_transformers(folder: str | Path) -> Vectors:
    """Return the vectors (V, M) of a folder with a StaticEmbedding, one for each entry of its vocabulary.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["hot", "cold"], [[1, 2], [2, 1]])
        >>> wf.interop.write_sentence_transformers(vectors, "model")  # needs: tokenizers
        >>> wf.interop.read_sentence_transformers("model")["hot"].tolist()
        [1.0, 2.0]
    """
    arrays = read_tensors(Path(folder) / _WEIGHTS)
    model = read_json(Path(folder) / _TOKENIZER).get("model", {})
    entries, weights = model.get("vocab"), arrays.get("embedding.weight")
    if weights is None or not isinstance(entries, dict):
        raise InputError(f"{folder}: expected the folder of a StaticEmbedding with words, but this is another model.")
    words = [word for word in entries if word != model.get("unk_token")]
    return Vectors(words, weights[[entries[word] for word in words]])


def _tokenizer(words: tuple[str, ...], rules: TextRules) -> Any:
    """Return a tokenizer of Hugging Face that splits text nearly as these rules do."""
    try:
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    except ImportError as error:
        raise MissingExtraError("a folder for sentence-transformers", "sentence-transformers") from error
    split: Any
    rows = {word: row for row, word in enumerate((*words, _UNKNOWN))}
    made = Tokenizer(models.WordLevel(rows, unk_token=_UNKNOWN))
    steps: list[Any] = [normalizers.Replace("\u2019", "'"), normalizers.Replace("\u00ad", "")]
    steps += [normalizers.Lowercase()] if rules.lowercase else []
    steps.append(normalizers.NFC())
    if rules.tokenizer == "words":
        number, split = _NUMBER, pre_tokenizers.Split(Regex(rf"{NUMBER}|{_WORD}"), "removed", invert=True)
    else:  # text that was split before
        number, split = _APART, pre_tokenizers.WhitespaceSplit()
    steps += [normalizers.Replace(Regex(number), NUMBER)] if rules.numbers else []
    made.normalizer, made.pre_tokenizer = normalizers.Sequence(steps), split
    return made
