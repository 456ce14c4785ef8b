"""spaCy: a pipeline with word vectors, and back; a component that gives tokens and documents their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from wordforest import store
from wordforest.errors import InputError, MissingExtraError
from wordforest.interop.scikit_learn import WordForestVectorizer
from wordforest.interop.source import Model, as_run, open_source, placed_words
from wordforest.store.files import write_json
from wordforest.vectors import Vectors

try:
    import spacy
    from spacy.language import Language
    from spacy.tokens import Doc, Token
    from spacy.vectors import Vectors as SpacyVectors
except ImportError as error:
    raise MissingExtraError("spaCy", "spacy") from error


def to_spacy(model: Model, *, language: str = "en") -> Any:
    """Return an empty pipeline with the vectors of all words, as ``spacy init vectors`` makes it.

    Words of a model in lower case are found in any case.

    Examples:
        >>> import wordforest as wf  # needs: spacy
        >>> nlp = wf.interop.to_spacy(wf.Vectors(["hot", "cold"], [[1, 2], [2, 1]]))
        >>> nlp("Hot soup")[0].vector.tolist()
        [1.0, 2.0]
    """
    vectors, _, _ = source = open_source(model)
    nlp = spacy.blank(language)
    attribute = "LOWER" if source.rules.lowercase else "ORTH"
    name, data = f"{language}_wordforest.vectors", np.array(vectors.comparable.dense)
    nlp.vocab.vectors = SpacyVectors(
        strings=nlp.vocab.strings, data=data, keys=[*vectors.words], name=name, attr=attribute
    )
    for word in vectors.words:
        _ = nlp.vocab[word]  # a lexeme, so that the vocabulary can be iterated over
    nlp.meta["vectors"]["name"] = name
    return nlp


def write_spacy(model: Model, folder: str | Path, *, language: str = "en") -> None:
    """Write a folder with the vectors of all words that ``spacy.load`` reads.

    Examples:
        >>> import wordforest as wf  # needs: spacy
        >>> wf.interop.write_spacy(wf.Vectors(["hot", "cold"], [[1, 2], [2, 1]]), "pipeline")
        >>> wf.interop.from_spacy("pipeline")["hot"].tolist()
        [1.0, 2.0]
    """
    nlp = to_spacy(model, language=language)
    nlp.to_disk(folder)
    # spaCy reads by which attribute words are found, but writes it for floret alone
    write_json(Path(folder) / "vocab" / "vectors.cfg", {"mode": "default", "attr": nlp.vocab.vectors.attr})


def from_spacy(pipeline: Any) -> Vectors:
    """Return the word vectors (V, M) of a pipeline of spaCy, or of the name or folder of one.

    Examples:
        >>> import wordforest as wf  # needs: spacy
        >>> nlp = wf.interop.to_spacy(wf.Vectors(["hot", "cold"], [[1, 2], [2, 1]]))
        >>> wf.interop.from_spacy(nlp)
        Vectors(2 words, 2 dimensions, forest=None)
    """
    nlp = spacy.load(pipeline) if isinstance(pipeline, str | Path) else pipeline
    table = nlp.vocab.vectors
    if not table.key2row:
        raise InputError(
            "expected a pipeline with a vector for each word, but this one has none. Use one in _md or _lg."
        )
    rows = sorted(table.key2row.items(), key=lambda pair: pair[1])
    return Vectors([nlp.vocab.strings[key] for key, _ in rows], np.asarray(table.data)[[row for _, row in rows]])


class ForestComponent:
    """Sets the nodes of tokens and documents.

    ``token._.nodes`` is the main path of the word, root first, and ``token._.labels`` what its nodes are called;
    ``doc._.nodes`` has the share of every node that is not zero, as ``WordForestVectorizer`` has it of the text.
    """

    def __init__(self, model: Model | None) -> None:
        self.model = model
        for owner, name, value in ((Token, "nodes", ()), (Token, "labels", ()), (Doc, "nodes", {})):
            if not owner.has_extension(name):
                owner.set_extension(name, default=value)

    def __call__(self, doc: Any) -> Any:
        """Set the nodes of one document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Any], batch_size: int = 1000) -> Iterator[Any]:
        """Set the nodes of documents, some at a time."""
        docs = iter(stream)
        while batch := [*islice(docs, batch_size)]:
            shares = self._vectorizer.transform([doc.text for doc in batch])
            for doc, first, last in zip(batch, shares.indptr, shares.indptr[1:], strict=False):
                nodes = zip(shares.indices[first:last].tolist(), shares.data[first:last].tolist(), strict=True)
                doc._.nodes = dict(nodes)
                self._mark(doc)
                yield doc

    def _mark(self, doc: Any) -> None:
        paths, labels = self._paths
        for token in doc:
            row = self._vectorizer.vectors_.lookup.find(token.text)
            if row is not None:
                token._.nodes, token._.labels = paths[row], tuple(labels[node] for node in paths[row])

    @cached_property
    def _vectorizer(self) -> WordForestVectorizer:
        return WordForestVectorizer(self.model).fit()

    @cached_property
    def _paths(self) -> tuple[list[tuple[int, ...]], list[str]]:
        """The main path of every word, by its row, and the label of every node."""
        placed = placed_words(self._vectorizer.vectors_)
        paths = placed.main_path().tolist()
        return [tuple(node for node in nodes if node >= 0) for nodes in paths], [*placed.labels]

    def to_disk(self, path: str | Path, *, exclude: Any = ()) -> None:  # noqa: ARG002 spaCy's
        """Write the model as a run folder."""
        if self.model is not None:
            store.save_run(path, as_run(self.model))

    def from_disk(self, path: str | Path, *, exclude: Any = ()) -> ForestComponent:  # noqa: ARG002 spaCy's
        """Take the model of a run folder."""
        self.model = store.load_run(Path(path))
        for made in ("_vectorizer", "_paths"):  # of another model
            self.__dict__.pop(made, None)
        return self


@Language.factory(
    "wordforest", default_config={"run": None}, assigns=["token._.nodes", "token._.labels", "doc._.nodes"]
)  # type: ignore[untyped-decorator]
def make_component(nlp: Language, name: str, run: str | None) -> ForestComponent:  # noqa: ARG001 spaCy's
    """Return the component; ``run`` is the path of a run folder or of a file of vectors, read when it is needed."""
    return ForestComponent(run)
