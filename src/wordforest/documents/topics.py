"""Topics at every depth: a forest learned from documents, and the scikit-learn face of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from wordforest.coder.clusters import keys_of
from wordforest.coder.fit import Fitted, Plan, fit
from wordforest.coder.forest import Forest
from wordforest.coder.learn import progress_of
from wordforest.coder.penalties import NonNegativeL1
from wordforest.coder.rows import place_rows
from wordforest.coder.stability import node_stability
from wordforest.coder.starts import NestedStart
from wordforest.documents import groups, tables
from wordforest.documents.bags import Bags, count_words, join_bags, learn_words
from wordforest.documents.shares import DocumentCoder, DocumentShares, Shares, edited
from wordforest.documents.space import WordEmbeddings, space_of_documents
from wordforest.errors import InputError
from wordforest.options import OPTIONS, usual_density
from wordforest.reading import label_nodes
from wordforest.reading.html import forest_as_html
from wordforest.runtime.machine import Executor, Threads, available_cores, check_device
from wordforest.runtime.progress import Reporter, as_reporter
from wordforest.text import RARE, TextRules, Vocabulary, WordRules
from wordforest.text.documents import Document, read_documents
from wordforest.vectors import Vectors
from wordforest.vectors.edits import Edit, after, edited_vectors

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Learn: TypeAlias = Callable[[Any, Plan], Fitted]

LEVELS = (20, 60, 180)  # as far as the documents reach
_PATHS = 1.2  # that a document has in a small forest: with more, trees that are opposites are on together
_CLUSTERED = 12_000  # documents at most; more take longer and change little
_DOCUMENTS_A_NODE = 100  # on average: of levels with fewer, half of the documents shows other nodes
MAX_VOCAB = 30_000
LABEL_WORDS = 4  # of a node's name
_BLOCK = 1 << 13  # documents that are placed at a time
_FEWEST = 10  # documents with known words that topics can be learned from


@dataclass(frozen=True)
class TopicSettings:
    """How topics are learned: the number of nodes at each depth, which words count, and what shares are like.

    Without ``levels`` there are 20, 60 and 180 nodes, as far as a node has 100 documents on average.
    """

    levels: tuple[int, ...] | None = None
    min_df: float = 5
    max_df: float = 1.0
    max_vocab: int | None = MAX_VOCAB
    n_contexts: int = 2500  # words that words are told apart by
    n_documents: int = 20_000  # that are learned from at most
    least_documents: int = 5  # a cluster that becomes a node has as many
    lam: float | str = "auto"  # as the density needs
    density: float | None = None
    stability: bool = False
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        levels = (1,) if self.levels is None else self.levels
        if not levels or not all(isinstance(n, int) and a < n for a, n in pairwise((0, *levels))):
            raise InputError(f"levels = {levels}, but they must be numbers of nodes that grow with depth, as 6,20,60.")
        OPTIONS["lam"].check(self.lam)
        OPTIONS["density"].check(self.density)
        OPTIONS["seed"].check(self.seed)
        OPTIONS["device"].check(self.device)


@dataclass(frozen=True, eq=False)
class Topics:
    """A forest on which documents can be placed: its words, how text becomes words, and what codes a document."""

    vocabulary: Vocabulary
    rules: TextRules
    coder: DocumentCoder
    codes: CSR  # of words, (V, M)
    nodes: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a person should know

    @property
    def vectors(self) -> Vectors:
        """The words of the vocabulary, with codes and labels."""
        return Vectors(self.vocabulary.words, self.codes, forest=self.coder.forest, nodes=self.nodes)

    def shares(self, documents: Sequence[Document], embeddings: Any = None) -> Shares:
        """Return the shares of some documents, in this thread alone."""
        one = Threads(1)
        counts = join_bags([*count_words(documents, self.vocabulary, self.rules, executor=one)]).counts
        return self.coder.shares(counts, embeddings, one)


def learn_topics(
    vocabulary: Vocabulary,
    bags: Bags,
    rules: TextRules,
    settings: TopicSettings,
    *,
    embeddings: Any = None,
    executor: Executor | None = None,
    learn: Learn = fit,
    say: Callable[[str], None] = lambda _: None,
) -> Topics:
    """Learn a forest from documents: a space, rows of documents, nested clusters of them, additive codes."""
    check_device(settings.device)
    executor, counts = executor or Threads(), bags.counts
    if isinstance(embeddings, Vectors):
        embeddings = word_embeddings(vocabulary, embeddings)
    unknown = vocabulary.index.get(RARE, -1)
    say("finding which words share documents")
    space = space_of_documents(
        counts,
        unknown=unknown,
        n_contexts=settings.n_contexts,
        embeddings=embeddings,
        seed=settings.seed,
        executor=executor,
    )
    keys = keys_of(bags.ids)
    given = None if space.words_embedded or embeddings is None else np.asarray(embeddings)
    known = np.flatnonzero((counts @ (space.weights > 0) > 0) | (given is not None))
    learned = np.sort(known[np.argsort(keys[known], kind="stable")[: settings.n_documents]])
    Y = space.rows(counts[learned], None if given is None else given[learned], executor)
    told = Y.any(axis=1)
    learned, Y = learned[told], Y[told]
    if len(learned) < _FEWEST:
        raise InputError(
            f"{len(learned)} documents have known words, but topics need {_FEWEST} or more. Give more documents, or "
            "lower min_df. To place a few on a forest learned elsewhere: wordforest documents RUN DOCS --out FOLDER"
        )
    levels = settings.levels or usual_levels(len(learned))
    plan = _plan(settings, levels, keys[learned])
    rows = place_rows(Y, settings.device, len(plan.forest), executor)
    fitted = learn(rows, plan)
    coder = DocumentCoder(space, fitted.D.astype(np.float32), fitted.forest, float(fitted.penalty.lam))
    say("coding words")
    codes = coder.word_codes(executor)
    nodes: dict[str, NDArray[Any]] = {
        "use": np.round(np.bincount(codes.indices, minlength=len(coder.forest)) / codes.shape[0], 6)
    }
    if settings.stability:
        say("learning again from either half of the documents, to see how stable every node is")
        nodes["stability"] = np.round(node_stability(rows, plan, fitted), 4)
    return Topics(vocabulary, rules, coder, codes, nodes, _notes(settings, levels, coder.forest))


def usual_levels(n_documents: int) -> tuple[int, ...]:
    """Return the numbers of nodes at each depth for so many documents."""
    first, *others = LEVELS
    return (min(first, max(2, n_documents // 10)), *(n for n in others if n * _DOCUMENTS_A_NODE <= n_documents))


def _plan(settings: TopicSettings, levels: tuple[int, ...], keys: NDArray[np.uint64]) -> Plan:
    most = Forest.flat(min(sum(levels), len(keys)))  # the start finds the shape
    density = settings.density or usual_density(True, sum(levels), len(levels), _PATHS)
    return Plan(
        most,
        lambda _: NonNegativeL1(1.0 if settings.lam == "auto" else float(settings.lam)),
        auto_lam=settings.lam == "auto",
        density=density,
        start=NestedStart(_CLUSTERED, drawn=True, levels=levels, least_rows=settings.least_documents),
        seed=settings.seed,
        additive=True,
        centred=True,
        keys=keys,
    )


def _notes(settings: TopicSettings, levels: tuple[int, ...], forest: Forest) -> tuple[str, ...]:
    found = np.bincount(forest.depth).tolist()
    if found == list(levels):
        return ()
    return (
        f"the forest has {', '.join(map(str, found))} nodes by depth, not {', '.join(map(str, levels))}: "
        f"a node needs {settings.least_documents} documents of its own",
    )


def word_embeddings(vocabulary: Vocabulary, vectors: Vectors) -> WordEmbeddings:
    """Return what vectors have for the words of a vocabulary."""
    matrix = np.zeros((len(vocabulary), vectors.n_dimensions), dtype=np.float32)
    known = [row for row, word in enumerate(vocabulary.words) if word in vectors]
    if not known:
        raise InputError("none of the words of the documents has an embedding. Give vectors of their language.")
    for row in known:
        matrix[row] = vectors[vocabulary.words[row]]
    return WordEmbeddings(matrix)


def _fit_aloud(report: Reporter, rows: Any, plan: Plan) -> Fitted:
    """Learn, show how far it is, and warn of what a person should know."""
    n = rows.shape[0]
    fitted = fit(rows, plan, on_step=lambda step, _: report(progress_of(step, n, "documents")))
    for notice in (*fitted.learned.notices, *fitted.notes):
        if not notice.startswith("note:"):
            warnings.warn(notice, ConvergenceWarning, stacklevel=2)
    return fitted


class TopicForest(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Finds topics with levels in documents: trees whose nodes each have a share of every document.

    Documents are strings, lists of tokens, a column of a data frame, a generator, or a path to a table, a folder or a
    file. The same documents give the same bits, with any ``n_jobs``.

    After ``fit``: ``forest_``; ``components_`` (M, K), atoms in the space of ``topics_.coder.space``; ``vectors_``, the
    words on the same forest; ``documents_``, a DocumentShares with the shares (n, M); ``lam_``. The examples of the
    methods go on from the one below.

    Args:
        levels: Numbers of nodes at each depth; None chooses 20, 60 and 180, as far as a node has 100 documents on
            average.
        min_df: Words in fewer documents are left out: a whole number, or a share of all.
        max_df: Words in more documents are left out, likewise.
        max_vocab: Words that are kept at most.
        tokenizer: What a word is: ``"words"``, the name of another tokeniser, or a function.
        lowercase: Read all in lower case.
        numbers: Numbers become ``#number#``.
        phrases: Find phrases first, and join them.
        stop_words: Words that are counted as all others, but name no node.
        embeddings: Rows (n, E) of the documents to fit, from any model, become part of theirs; ``transform`` then needs
            those of the new documents. ``Vectors`` of words do, too, and then nothing more is needed.
        lam: Weight of the penalty; ``"auto"`` finds one for which a document has about ``density`` of all nodes.
        density: See ``lam``; chosen by the forest if None.
        stability: Also say how stable every node is, for twice the time.
        device: ``"cuda"`` computes on a GPU.
        n_jobs: Threads; None and -1 mean all cores.
        random_state: Seed.

    Examples:
        >>> import wordforest as wf
        >>> bikes = [
        ...     "the bike has a new chain and two wheels",
        ...     "he rides the bike to work",
        ...     "a chain for my bike",
        ... ]
        >>> cakes = [
        ...     "bake the cake with sugar and eggs",
        ...     "she likes cake with sugar",
        ...     "eggs and sugar for a cake",
        ... ]
        >>> texts = bikes * 12 + cakes * 8
        >>> topics = wf.TopicForest(levels=(2,), min_df=2).fit(texts)
        >>> topics.documents_.shares.shape
        (60, 2)
    """

    def __init__(
        self,
        levels: Sequence[int] | None = None,
        *,
        min_df: float = 5,
        max_df: float = 1.0,
        max_vocab: int | None = MAX_VOCAB,
        tokenizer: Any = "words",
        lowercase: bool = True,
        numbers: bool = True,
        phrases: bool = False,
        stop_words: Sequence[str] = (),
        embeddings: Any = None,
        lam: float | str = "auto",
        density: float | None = None,
        stability: bool = False,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.levels = levels
        self.min_df = min_df
        self.max_df = max_df
        self.max_vocab = max_vocab
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.numbers = numbers
        self.phrases = phrases
        self.stop_words = stop_words
        self.embeddings = embeddings
        self.lam = lam
        self.density = density
        self.stability = stability
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, documents: Any, y: Any = None) -> TopicForest:  # noqa: ARG002 scikit-learn's signature
        """Learn a forest from n documents; ``documents_`` then has their shares, (n, M).

        Examples:
            >>> topics.fit(texts).forest_
            Forest(2 nodes, 2 trees, depth 1)
        """
        rules, executor, settings = self._rules(), self._executor(), self._settings()
        vocabulary, bags = learn_words(
            read_documents(documents),
            rules,
            WordRules(1, self.max_vocab, phrases=self.phrases),
            min_df=self.min_df,
            max_df=self.max_df,
            executor=executor,
        )
        rules = replace(rules, known_phrases=vocabulary.phrases)
        report = as_reporter(None)  # bars in a notebook
        topics = learn_topics(
            vocabulary,
            bags,
            rules,
            settings,
            embeddings=self.embeddings,
            executor=executor,
            learn=partial(_fit_aloud, report),
            say=report.say,
        )
        for note in topics.notes:
            warnings.warn(note, ConvergenceWarning, stacklevel=2)
        self.restored(topics)
        self.settings_ = settings
        embeddings = None if topics.coder.space.words_embedded else self.embeddings
        blocks = (bags.counts[first : first + _BLOCK] for first in range(0, len(bags.ids), _BLOCK))
        self.documents_ = self._placed(bags.ids, bags.fields, self._shares(blocks, embeddings, executor))
        return self

    def restored(self, topics: Topics, config: Mapping[str, Any] | None = None) -> TopicForest:
        """Take topics learned before, with their edits and names; there are no documents of ``fit`` then.

        Examples:
            >>> again = wf.TopicForest().restored(topics.topics_, topics.edits_)
            >>> again.transform(["sugar and eggs"]).shape
            (1, 2)
        """
        config = config or {}
        self.topics_, self.settings_ = topics, self._settings()
        self._edits: list[Edit] = [(kind, tuple(nodes)) for kind, nodes in config.get("edits", [])]
        self._names = {int(node): name for node, name in config.get("names", {}).items()}
        words = label_nodes(topics.vectors, LABEL_WORDS, stop_words=self.stop_words)
        self._labels = [" ".join(label) for label in words]
        empty = join_shares([], len(topics.coder.forest))
        self.documents_ = self._placed([], {}, empty)
        return self

    @property
    def edits_(self) -> dict[str, Any]:
        """What was merged, hidden and named, and words that should name no node.

        Examples:
            >>> topics.set_topic_labels({0: "bicycles"}).edits_["names"]
            {'0': 'bicycles'}
        """
        edits = [[kind, list(nodes)] for kind, nodes in self._edits]
        names = {str(node): name for node, name in self._names.items()}
        return {"edits": edits, "names": names, "stop_words": list(self.stop_words)}

    def fit_transform(self, documents: Any, y: Any = None) -> CSR:  # noqa: ARG002 scikit-learn's
        """Learn a forest from documents and return their shares, (n, M).

        Examples:
            >>> topics.fit_transform(texts).shape
            (60, 2)
        """
        return self.fit(documents).documents_.shares

    def transform(self, documents: Any, embeddings: Any = None) -> CSR:
        """Return the shares of n documents, CSR (n, M), without learning from them.

        ``embeddings`` (n, E) are those of the documents, where ``fit`` had some. A share is between 0 and 1; a document
        without a known word has none.

        Examples:
            >>> topics.transform(["sugar and eggs", "two wheels"]).toarray().round(2)
            array([[0., 1.],
                   [1., 0.]], dtype=float32)
        """
        return self.place(documents, embeddings).shares

    def place(self, documents: Any, embeddings: Any = None, *, id: str | None = None) -> DocumentShares:  # noqa: A002
        """Return documents on the forest: shares, main paths, typical documents. ``id`` names a column of a table.

        Examples:
            >>> placed = topics.place(["sugar and eggs", "two wheels"])
            >>> placed
            DocumentShares(2 documents, Forest(2 nodes, 2 trees, depth 1))
            >>> placed.main_path().shape
            (2, 1)
        """
        check_is_fitted(self, "topics_")
        topics, executor = self.topics_, self._executor()
        ids: list[str] = []

        def blocks() -> Iterator[CSR]:
            read = read_documents(documents, id=id)
            for bags in count_words(read, topics.vocabulary, topics.rules, executor=executor):
                ids.extend(bags.ids)
                yield bags.counts

        shares = self._shares(blocks(), embeddings, executor)
        return self._placed(ids, {}, shares)

    def get_topic_info(self) -> Any:
        """Return a data frame with a row for every node: parent, depth, label, share, typical documents.

        Examples:
            >>> topics.get_topic_info()[["parent", "depth", "share"]].round(2)  # needs: pandas
               parent  depth  share
            0      -1      0   0.62
            1      -1      0   0.38
        """
        return tables.as_frame(tables.topic_info(self._fitted()))

    def get_document_info(self, documents: Any = None) -> Any:
        """Return a data frame with the main path of every document; of those of ``fit`` if none are given.

        Examples:
            >>> topics.get_document_info(["sugar and eggs"]).columns.tolist()  # needs: pandas
            ['document', 'depth0', 'share0']
        """
        placed = self._fitted() if documents is None else self.place(documents)
        return tables.as_frame(tables.document_info(placed))

    def get_topic(self, node: int, k: int = 10) -> list[tuple[str, float]]:
        """Return the k words that say most of a node, with their scores.

        Examples:
            >>> sorted(word for word, score in topics.get_topic(1, k=2))
            ['cake', 'sugar']
        """
        from wordforest.reading import node_words

        check_is_fitted(self, "topics_")
        return node_words(self.vectors_, node, k)

    def topics_over_time(self, times: Sequence[Any], bins: int | str | None = None) -> Any:
        """Return a data frame with the mean share of every node in every bin of time, with intervals.

        Examples:
            >>> years = [2001, 2002, 2003] * 20
            >>> topics.topics_over_time(years).columns.tolist()  # needs: pandas
            ['node', 'label', 'time', 'share', 'low', 'high', 'documents']
        """
        placed = self._fitted()
        return tables.as_frame(
            tables.topics_over_time(groups.over_time(placed.shares, times, bins=bins), placed.labels)
        )

    def topics_per_class(self, classes: Sequence[Any]) -> Any:
        """Return a data frame with the mean share of every node in every class, with intervals and a test.

        Examples:
            >>> classes = ["bikes"] * 36 + ["cakes"] * 24
            >>> topics.topics_per_class(classes).columns.tolist()  # needs: pandas
            ['node', 'label', 'group', 'share', 'low', 'high', 'difference', 'p', 'q', 'documents']
        """
        placed = self._fitted()
        return tables.as_frame(tables.topics_per_class(groups.by_group(placed.shares, classes), placed.labels))

    def set_topic_labels(self, names: Mapping[int, str]) -> TopicForest:
        """Name nodes; all others keep the words they are named by.

        Examples:
            >>> topics.set_topic_labels({0: "bicycles"}).documents_.labels[0]
            'bicycles'
        """
        for node in names:
            self._fitted().typical(node, 0)  # that there is one
        self.documents_ = named(self._fitted(), names)
        self._names = {**self._names, **names}
        return self

    def merge_topics(self, nodes: Sequence[int]) -> TopicForest:
        """Make nodes of one parent one, here and in all documents to come; nodes get new numbers.

        Examples:
            >>> topics.merge_topics([0, 1]).forest_
            Forest(1 nodes, 1 trees, depth 1)
        """
        return self._edit(("merge", tuple(map(int, nodes))))

    def hide_topics(self, nodes: Sequence[int]) -> TopicForest:
        """Leave out nodes and all below them, here and in all documents to come; nodes get new numbers.

        Examples:
            >>> topics.hide_topics([1]).transform(["sugar and eggs"]).shape
            (1, 1)
        """
        return self._edit(("hide", tuple(map(int, nodes))))

    @property
    def forest_(self) -> Forest:
        """The forest, as merged and hidden.

        Examples:
            >>> topics.forest_
            Forest(2 nodes, 2 trees, depth 1)
        """
        return self._fitted().forest

    @property
    def vectors_(self) -> Vectors:
        """The words on the forest, as merged, hidden and named.

        Examples:
            >>> topics.vectors_.n_dimensions
            2
        """
        check_is_fitted(self, "topics_")
        return edited_vectors(self.topics_.vectors, self._edits, self._names)

    @property
    def components_(self) -> NDArray[np.float32]:
        """Atoms of the forest as it was learned, (M, K).

        Examples:
            >>> topics.components_.shape[0]
            2
        """
        check_is_fitted(self, "topics_")
        return np.ascontiguousarray(self.topics_.coder.atoms.T)

    @property
    def lam_(self) -> float:
        """The weight of the penalty, as it was given or found.

        Examples:
            >>> topics.lam_ > 0
            True
        """
        check_is_fitted(self, "topics_")
        return self.topics_.coder.lam

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002 scikit-learn's
        """Return a name for every column of shares, (M,): its node and two words, such as ``13.bike.ride``.

        Examples:
            >>> topics.set_topic_labels({0: "bicycles", 1: "baking"}).get_feature_names_out()
            array(['0.bicycles', '1.baking'], dtype=object)
        """
        labels = self._fitted().labels
        return np.array([".".join([str(i), *label.split()[:2]]) for i, label in enumerate(labels)], dtype=object)

    def _html_repr(self) -> str:
        """Return the forest as notebooks show it, scikit-learn's diagram before ``fit``."""
        if not hasattr(self, "topics_"):
            return str(super()._html_repr())
        placed = self.documents_
        M, n = len(placed.forest), len(placed.ids)
        share = np.bincount(placed.shares.indices, placed.shares.data, minlength=M) / max(1, n)
        notes = [f"{one:.1%}" for one in share] if n else []  # none where topics were loaded
        return forest_as_html("TopicForest", f"{M} nodes, {n:,} documents", placed.forest, placed.labels, notes)

    def _fitted(self) -> DocumentShares:
        check_is_fitted(self, "topics_")
        return self.documents_

    def _shares(self, blocks: Iterable[CSR], embeddings: Any, executor: Executor) -> Shares:
        """Return the shares of documents that come some at a time: codes are dense for a while."""
        given, n, parts = None if embeddings is None else np.asarray(embeddings), 0, []
        for counts in blocks:
            own = None if given is None else given[n : n + counts.shape[0]]
            parts.append(self.topics_.coder.shares(counts, own, executor))
            n += counts.shape[0]
        if given is not None and len(given) > n:
            raise InputError(f"{len(given)} embeddings came for {n} documents. Give a row for each.")
        return join_shares(parts, len(self.topics_.coder.forest))

    def _placed(self, ids: Sequence[str], fields: Mapping[str, Sequence[Any]], shares: Shares) -> DocumentShares:
        topics = self.topics_
        placed = DocumentShares(
            ids,
            shares.matrix,
            topics.coder.forest,
            self._labels,
            topics.nodes.get("stability"),
            fields,
            shares.typicality,
        )
        return named(edited(placed, self._edits), self._names)

    def _edit(self, edit: Edit) -> TopicForest:
        placed = self._fitted()
        places = after(placed.forest, [edit]).places
        self.documents_ = edited(placed, [edit])
        self._edits.append(edit)
        self._names = {int(places[node]): name for node, name in self._names.items() if places[node] >= 0}
        return self

    def _settings(self) -> TopicSettings:
        return TopicSettings(
            None if self.levels is None else tuple(np.atleast_1d(self.levels).tolist()),
            self.min_df,
            self.max_df,
            self.max_vocab,
            lam=self.lam,
            density=self.density,
            stability=self.stability,
            seed=self._seed(),
            device=self.device,
        )

    def _seed(self) -> int:
        given = self.random_state
        return int(given if isinstance(given, Integral) else check_random_state(given).randint(np.iinfo(np.int32).max))

    def _rules(self) -> TextRules:
        return TextRules(self.tokenizer, self.lowercase, self.numbers)

    def _executor(self) -> Threads:
        n = self.n_jobs
        return Threads(max(1, available_cores() + 1 + n) if n is not None and n < 0 else n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def join_shares(parts: Sequence[Shares], n_nodes: int) -> Shares:
    """Put the shares of blocks of documents one below the other."""
    if not parts:
        none: Any = sparse.csr_array((0, n_nodes), dtype=np.float32)
        return Shares(none, np.zeros(0, np.float32))
    matrix: Any = sparse.csr_array(sparse.vstack([part.matrix for part in parts], format="csr"))
    return Shares(matrix, np.concatenate([part.typicality for part in parts]))


def named(placed: DocumentShares, names: Mapping[int, str]) -> DocumentShares:
    """Return documents on a forest of which some nodes have names of their own."""
    labels = [names.get(node, label) for node, label in enumerate(placed.labels)]
    return replace(placed, labels=labels) if names else placed
