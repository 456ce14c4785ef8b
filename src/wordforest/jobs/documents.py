"""From documents to a forest of topics, and from documents to their shares on any additive forest."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from wordforest import store
from wordforest.coder.clusters import key_of
from wordforest.documents import groups, tables
from wordforest.documents.bags import learn_words
from wordforest.documents.shares import DocumentCoder, DocumentShares, Shares, edited
from wordforest.documents.space import Space, space_of_codes
from wordforest.documents.times import binned
from wordforest.documents.topics import (
    LABEL_WORDS,
    TopicForest,
    Topics,
    TopicSettings,
    join_shares,
    learn_topics,
    named,
)
from wordforest.errors import InputError
from wordforest.jobs.count import notice_of, tell_phrases
from wordforest.jobs.job import Job, versions
from wordforest.jobs.train import learn_in_job
from wordforest.reading import Labels, label_nodes
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import check_device
from wordforest.runtime.progress import Event, Reporter
from wordforest.store import DocumentsFolder, Run
from wordforest.store.documents import as_line
from wordforest.store.tensors import checked_csr, csr_tensors, read_metadata, read_tensors, write_tensors
from wordforest.text import TextRules, Vocabulary, WordRules
from wordforest.text.documents import Columns, Document, read_documents, read_files
from wordforest.text.reader import Corpus
from wordforest.text.tables import is_missing
from wordforest.vectors import Vectors
from wordforest.vectors.edits import Edit

_WORDS = ("tokenizer", "lowercase", "numbers", "phrases")
_CHUNK = 1 << 12  # documents of a task, and of a step that is not done twice
_DOCUMENT_BYTES = 500  # of what is kept beside its text


@dataclass(frozen=True)
class DocumentColumns:
    """Columns of a table of documents: text, id, time and group."""

    text: str | None = None
    id: str | None = None
    time: str | None = None
    group: str | None = None

    @property
    def columns(self) -> Columns:
        """What to read of a table."""
        return Columns(self.text, self.id, tuple(dict.fromkeys(filter(None, (self.time, self.group)))))


def learn_topics_of(
    documents: Any,
    *,
    out: str | Path | None = None,
    columns: DocumentColumns | None = None,
    rules: TextRules | None = None,
    phrases: bool = False,
    settings: TopicSettings | None = None,
    embeddings: Any = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | str | None = None,
    report: Reporter | bool | None = None,
) -> Run:
    """Learn a forest of topics from documents and return it as a run; ``out`` also writes it.

    ``documents`` are a path or several, or objects of Python as ``TopicForest.fit`` takes them. Where their texts would
    take more than a sixth of ``memory``, the forest is learned from those that fit, drawn by their ids.
    """
    settings, rules, columns = settings or TopicSettings(), rules or TextRules(), columns or DocumentColumns()
    if out is not None:
        _refuse(Path(out), store.is_documents_folder, "documents")
    with Job(out, force=force, resume=resume, workers=workers, memory=memory, report=report) as job:
        own = {**asdict(settings), **asdict(rules), **asdict(columns), "documents": _named(documents)}
        own |= {"embeddings": _digest(embeddings), "phrases": phrases}
        if job.folder and job.is_complete(own, (None, "auto")):  # lam is found
            return store.load_run(job.folder)
        job.begin(own)
        texts = _read(documents, columns.columns, rules, job)
        first = [*islice(texts, 1)]
        check_device(settings.device)  # after what may be wrong with the input: importing PyTorch takes seconds
        fitting, rows_of, n = _fitting(_progressing(chain(first, texts), job), job)
        embeddings = _of_documents(embeddings, rows_of, n)
        job.report.say("counting words")
        vocabulary, bags = learn_words(
            fitting,
            rules,
            WordRules(1, settings.max_vocab, phrases=phrases),
            min_df=settings.min_df,
            max_df=settings.max_df,
            executor=job.threads,
            notice=notice_of(job),
        )
        rules = replace(rules, known_phrases=vocabulary.phrases)
        if phrases:
            tell_phrases(job, vocabulary)
        history: list[dict[str, Any]] = []

        def learn(rows: Any, plan: Any) -> Any:
            text = blake2b(bags.counts.indices.tobytes() + bags.counts.data.tobytes(), digest_size=16).hexdigest()
            fitted, steps = learn_in_job(job, rows, plan, text, unit="documents")
            history.extend(steps)
            return fitted

        topics = learn_topics(
            vocabulary,
            bags,
            rules,
            settings,
            embeddings=embeddings,
            executor=job.threads,
            learn=learn,
            say=job.report.say,
        )
        for note in topics.notes:
            job.report.say(note)
        run = as_run(topics, {**own, "known_phrases": rules.known_phrases, "n_counted": len(bags.ids)}, history)
        by_depth = ", ".join(map(str, np.bincount(run.forest.depth)))
        job.report.say(f"{by_depth} nodes by depth, from {len(bags.ids)} documents")
        job.save_run(run)
    return run


def place_documents(
    run: str | Path | Run,
    documents: Any,
    *,
    out: str | Path,
    columns: DocumentColumns | None = None,
    embeddings: Any = None,
    bins: int | str | None = None,
    form: Literal["csv", "parquet"] = "csv",
    texts: bool = True,
    edits: Sequence[Edit] = (),
    stop_words: Sequence[str] = (),
    errors: str | None = None,
    tokenizer: Any = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | bool | None = None,
) -> DocumentsFolder:
    """Write the shares of documents on the forest of a run, and tables of them, to a documents folder; return it.

    ``tokenizer`` is the function that the run was made with, where it was one of Python: folders keep its name alone.
    """
    columns = columns or DocumentColumns()
    if bins is not None and columns.time is None:
        raise InputError(f"bins = {bins} are of times, but no column of times was named. Name one: --time COLUMN.")
    loaded = run if isinstance(run, Run) else store.load_run(run)
    topics = topics_of(loaded)
    if tokenizer is not None:
        topics = replace(topics, rules=replace(topics.rules, tokenizer=tokenizer))
    rules = topics.rules if errors is None else TextRules.of({**asdict(topics.rules), "errors": errors})
    _refuse(Path(out), store.is_run_folder, "a run")
    if isinstance(embeddings, Vectors):
        raise InputError("vectors of words belong to: wordforest topics. Give embeddings of these documents, or none.")
    labels = label_nodes(loaded.learned, LABEL_WORDS, stop_words=stop_words or loaded.config.get("stop_words", ()))
    _placed(loaded, labels, edits)  # what is wrong with edits is told before the work is done
    given: Any = {"force": force, "resume": resume, "workers": workers, "cluster": cluster}
    with Job(out, **given, report=report, is_result=store.is_documents_folder) as job:
        own = {"run": str(run) if isinstance(run, str | Path) else "", "bins": bins, "format": form, **asdict(columns)}
        made = [*loaded.config.get("edits", ()), *edits]
        own |= {"edits": [[kind, list(nodes)] for kind, nodes in made], "documents": _named(documents)}
        own |= {"texts": texts, "stop_words": [*stop_words], "errors": rules.errors}
        own["embeddings"] = _digest(embeddings)
        if job.is_complete(own):
            return store.load_documents(out)
        job.begin(own)
        chunks = _Chunks(Path(out), texts)
        read = _progressing(_read(documents, columns.columns, rules, job), job)
        ids, fields, shares = chunks.coded(_dated(read, columns, bins), topics, embeddings, job)
        placed = _placed(loaded, labels, edits, ids, fields, shares)
        _tell(placed, job)
        job.report.say("writing tables")
        store.save_documents(
            Path(out),
            ids=ids,
            shares=placed.shares,
            documents=tables.document_info(placed),
            nodes=tables.topic_info(placed),
            config={**own, "forest": placed.forest.parent.tolist(), "versions": versions()},
            by_group=_by_group(placed, columns.group, job),
            over_time=_over_time(placed, columns.time, bins, job),
            texts=chunks.texts() if texts else None,
            form=form,
        )
        job.end(documents=len(ids), nodes=len(placed.forest))
    return store.load_documents(out)


def _refuse(folder: Path, is_other: Callable[[Path], bool], what: str) -> None:
    """Refuse to write where something of another kind is, which would be lost."""
    if is_other(folder):
        raise InputError(f"{folder} holds {what}, which would be lost. Choose another --out.")


def _placed(
    run: Run,
    labels: Labels,
    edits: Sequence[Edit],
    ids: Sequence[str] = (),
    fields: Mapping[str, Sequence[Any]] | None = None,
    shares: Shares | None = None,
) -> DocumentShares:
    """Return documents on the forest of a run, with the edits and names that it was saved with, and more edits."""
    config, shares = run.config, shares or join_shares([], len(run.forest))
    names = [" ".join(label) for label in labels]
    stability = run.nodes.get("stability")
    placed = DocumentShares(ids, shares.matrix, run.forest, names, stability, fields or {}, shares.typicality)
    given = {int(node): name for node, name in config.get("names", {}).items()}
    return edited(named(edited(placed, config.get("edits", ())), given), edits)


def _dated(documents: Iterator[Document], columns: DocumentColumns, bins: int | str | None) -> Iterator[Document]:
    """Yield documents; what is wrong with the times of the first is told before the work is done."""
    first = [*islice(documents, _CHUNK)]
    times = [one.fields.get(columns.time) for one in first] if columns.time else []
    if not all(map(is_missing, times)):
        binned(times, bins)
    yield from chain(first, documents)


def _of_documents(embeddings: Any, rows: list[int], n: int) -> Any:
    """Return embeddings of words as they are, and of n documents those of the rows."""
    if not isinstance(embeddings, np.ndarray):
        return embeddings
    if len(embeddings) != n:
        raise InputError(f"{len(embeddings)} embeddings came for {n} documents. Give a row for each, in their order.")
    return embeddings if len(rows) == n else embeddings[rows]


def _digest(embeddings: Any) -> str:
    """Return what tells embeddings of documents or words from others; nothing of none."""
    if embeddings is None:
        return ""
    values = embeddings.matrix if isinstance(embeddings, Vectors) else np.asarray(embeddings)
    stored: Any = np.ascontiguousarray(values.data)  # of a sparse matrix what is not zero
    return blake2b(stored, digest_size=16).hexdigest()


def _named(documents: Any) -> list[str]:
    """Return the names of sources, for the record; objects of Python have none."""
    if isinstance(documents, Corpus):
        return [*documents]
    return [str(documents)] if isinstance(documents, str | Path) else []


class _Chunks:
    """Documents some thousand at a time, in the checkpoint of a folder: what is done there is not done again."""

    def __init__(self, folder: Path, keep_texts: bool) -> None:
        self._folder, self._keep_texts = store.checkpoint_folder(folder), keep_texts
        self._n = 0

    def coded(
        self, documents: Iterator[Document], topics: Topics, embeddings: Any, job: Job
    ) -> tuple[list[str], dict[str, list[Any]], Shares]:
        """Return ids, fields and shares of all documents."""
        ids: list[str] = []
        fields: dict[str, list[Any]] = {}
        forest = np.ascontiguousarray(topics.coder.atoms).tobytes()

        def pending() -> Iterator[_Task]:
            for number, chunk in enumerate(chunks(documents)):
                own = None if embeddings is None else np.asarray(embeddings[len(ids) : len(ids) + len(chunk)])
                for name in dict.fromkeys(name for one in chunk for name in one.fields):
                    column = fields.setdefault(name, [None] * len(ids))
                    column += [None] * (len(ids) - len(column)) + [one.fields.get(name) for one in chunk]
                ids.extend(one.id for one in chunk)
                lines = [as_line({"id": one.id, "text": one.joined, **one.fields}) for one in chunk]
                if self._keep_texts:
                    self._file(number, "jsonl").write_bytes(b"".join(lines))
                given = b"" if own is None else np.ascontiguousarray(own).tobytes()
                mark = blake2b(b"".join([forest, given, *lines]), digest_size=16).hexdigest()
                self._n, file = number + 1, self._file(number)
                is_done = file.is_file() and read_metadata(file).get("mark") == mark
                yield _Task([] if is_done else chunk, own, file, mark)

        parts = [task.kept(part) for part, task in job.executor.map(_coded_chunk, pending(), topics)]
        if not parts:
            raise InputError("there are no documents. Give at least one.")
        if embeddings is not None and len(embeddings) != len(ids):
            raise InputError(f"{len(embeddings)} embeddings came for {len(ids)} documents. Give a row for each.")
        columns = {name: column + [None] * (len(ids) - len(column)) for name, column in fields.items()}
        return ids, columns, join_shares(parts, len(topics.coder.forest))

    def texts(self) -> Iterator[bytes]:
        """Yield all documents as lines of JSON: id, text and fields."""
        for number in range(self._n):
            with self._file(number, "jsonl").open("rb") as lines:
                yield from lines

    def _file(self, number: int, suffix: str = "safetensors") -> Path:
        return self._folder / f"documents-{number:06d}.{suffix}"


class _Task(NamedTuple):
    """Documents to code, none if they are in the file already; ``mark`` is of all that their shares come from."""

    documents: list[Document]
    embeddings: Any
    file: Path
    mark: str

    def kept(self, part: Shares | None) -> Shares:
        """Return shares after writing them, or from the file if they are there."""
        if part is None:
            arrays = read_tensors(self.file)
            return Shares(checked_csr(self.file, arrays, ("float32",)), arrays["typicality"])
        arrays = {"typicality": part.typicality, **csr_tensors(part.matrix)}
        write_tensors(self.file, arrays, {"mark": self.mark})
        return part


def _coded_chunk(topics: Topics, task: _Task) -> tuple[Shares | None, _Task]:
    """Return the shares of some documents; nothing where they are in the file already."""
    if not task.documents:
        return None, task
    return topics.shares(task.documents, task.embeddings), task._replace(documents=[], embeddings=None)


def chunks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield documents some thousand at a time."""
    while chunk := [*islice(documents, _CHUNK)]:
        yield chunk


def _read(documents: Any, columns: Columns, rules: TextRules, job: Job) -> Iterator[Document]:
    """Return documents from paths, or from objects of Python."""
    store.refuse_results(_named(documents))
    if isinstance(documents, Corpus):
        return read_files(documents, columns, rules.errors, job.report.say)
    return read_documents(
        documents, text=columns.text, id=columns.id, keep=columns.keep, errors=rules.errors, notice=job.report.say
    )


def _progressing(documents: Iterable[Document], job: Job) -> Iterator[Document]:
    job.report(Event("documents", n := 0, None, "documents"))
    for n, document in enumerate(documents, 1):
        if n % _CHUNK == 0:
            job.report(Event("documents", n, None, "documents"))
        yield document
    job.report(Event("documents", n, n, "documents"))


def _fitting(documents: Iterator[Document], job: Job) -> tuple[Iterator[Document], list[int], int]:
    """Return documents that can be learned from within the memory, their rows, and how many there are in all.

    Counting and comparing words takes five times what texts do. If not all fit, those of the smallest keys do.
    """
    most, size = job.memory // 6, 0
    kept: list[tuple[int, int, Document]] = []  # a heap by key, the largest first
    n = 0
    for n, document in enumerate(documents, 1):
        heapq.heappush(kept, (-key_of(document.id), -n, document))
        size += _size(document)
        while size > most and len(kept) > 1:
            size -= _size(heapq.heappop(kept)[2])
    if len(kept) < n:
        job.report.say(f"topics are learned from {len(kept)} of {n} documents, drawn by their ids: more need --memory")
    kept.sort(key=itemgetter(1))  # the last first, and each let go when it was taken
    return (kept.pop()[2] for _ in range(len(kept))), [-row - 1 for _, row, _ in reversed(kept)], n


def _size(document: Document) -> int:
    """Return about how many bytes a document takes."""
    return sys.getsizeof(document.joined) + _DOCUMENT_BYTES


def _tell(placed: DocumentShares, job: Job) -> None:
    empty = int(np.count_nonzero(np.diff(placed.shares.indptr) == 0))
    if empty:
        job.report.say(
            f"{empty} of {len(placed.ids)} documents have no word that the forest knows, and so no shares: they are "
            "empty, or in another language"
        )


def _by_group(placed: DocumentShares, column: str | None, job: Job) -> Any:
    if column is None:
        return None
    found = groups.by_group(placed.shares, placed.fields[column])
    _tell_left_out(found.left_out, column, job)
    return tables.topics_per_class(found, placed.labels)


def _over_time(placed: DocumentShares, column: str | None, bins: int | str | None, job: Job) -> Any:
    if column is None:
        return None
    found = groups.over_time(placed.shares, placed.fields[column], bins=bins)
    _tell_left_out(found.left_out, column, job)
    return tables.topics_over_time(found, placed.labels)


def _tell_left_out(n: int, column: str, job: Job) -> None:
    if n:
        job.report.say(f"{n} documents have no {column}: they are left out of its table")


def as_run(topics: Topics, config: Mapping[str, Any], history: Sequence[Mapping[str, Any]] = ()) -> Run:
    """Return topics as a run: words with codes, atoms as its dictionary, and the space beside them."""
    space, coder = topics.coder.space, topics.coder
    embedded = {"n_embedded": space.n_embedded, "words_embedded": space.words_embedded}
    config = {**config, **embedded, "additive": True, "lam": coder.lam, "versions": versions()}
    return Run(
        topics.vocabulary.words,
        topics.vocabulary.counts,
        topics.codes,
        coder.atoms,
        coder.forest,
        config,
        [dict(step) for step in history],
        nodes=topics.nodes,
        space={"words": space.words, "weights": space.weights, "mean": space.mean},
    )


def topics_of(run: Run) -> Topics:
    """Return what codes documents on the forest of a run: one learned from documents, or an additive one of words."""
    if not run.config.get("additive") or run.dictionary is None:
        raise InputError(
            "documents are placed on an additive forest with its dictionary, and this run has none. Make one with: "
            "wordforest topics DOCS --out RUN, or wordforest train CORPUS --preset readable --out RUN"
        )
    if run.space:
        words, weights, mean = (run.space[name] for name in ("words", "weights", "mean"))
        space = Space(words, weights, mean, int(run.config["n_embedded"]), bool(run.config["words_embedded"]))
        atoms = run.dictionary
    else:
        space, atoms = space_of_codes(run.codes, run.dictionary, run.counts)
    coder = DocumentCoder(space, atoms, run.forest, float(run.config["lam"]))
    return Topics(Vocabulary(run.words, run.counts), TextRules.of(run.config), coder, run.codes, run.nodes)


def save_topics(folder: str | Path, forest: TopicForest) -> None:
    """Write a fitted TopicForest to a folder, as a run, in place of the run that a folder holds; documents stay out.

    Examples:
        >>> import wordforest as wf
        >>> texts = ["he rides a bike", "my bike has a chain", "bake a cake", "cake with eggs"] * 10
        >>> wf.save_topics("topics", wf.TopicForest(levels=(2,), min_df=2).fit(texts))
        >>> wf.load_run("topics").forest
        Forest(2 nodes, 2 trees, depth 1)
    """
    config = {**asdict(forest.topics_.rules), **asdict(forest.settings_), **forest.edits_, "phrases": forest.phrases}
    store.save_run(folder, as_run(forest.topics_, config))


def load_topics(folder: str | Path, *, tokenizer: Any = None) -> TopicForest:
    """Return the TopicForest of a folder, ready to transform documents.

    ``tokenizer`` is the function that it was learned with, where it was one of Python: folders keep its name alone.

    Examples:
        >>> import wordforest as wf
        >>> texts = ["he rides a bike", "my bike has a chain", "bake a cake", "cake with eggs"] * 10
        >>> wf.save_topics("topics", wf.TopicForest(levels=(2,), min_df=2).fit(texts))
        >>> wf.load_topics("topics").transform(["my bike"]).shape
        (1, 2)
    """
    run = store.load_run(folder)
    if tokenizer is not None:
        run.config["tokenizer"] = tokenizer
    config = run.config
    names = (*("levels", "min_df", "max_df", "max_vocab", "density", "stop_words"), *_WORDS)
    forest = TopicForest(**{name: config[name] for name in names if name in config})
    return forest.restored(topics_of(run), config)
