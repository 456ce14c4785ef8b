"""From documents to a forest of topics, and from documents to their shares on any additive forest."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wordforest import store
from wordforest.documents import groups, tables
from wordforest.documents.bags import count_words, join_bags, learn_words
from wordforest.documents.shares import DocumentCoder, DocumentShares, Edit, Shares, edited
from wordforest.documents.space import Space, space_of_codes
from wordforest.documents.topics import (
    LABEL_WORDS,
    TopicForest,
    Topics,
    TopicSettings,
    document_keys,
    join_shares,
    learn_topics,
)
from wordforest.errors import InputError
from wordforest.jobs.job import Job, versions
from wordforest.jobs.train import learn_in_job
from wordforest.reading import label_nodes
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import Threads
from wordforest.runtime.progress import Event, Reporter
from wordforest.store import DocumentsFolder, Run
from wordforest.store.tensors import checked_csr, csr_tensors, read_tensors, write_tensors
from wordforest.text import TextRules, Vocabulary, WordRules
from wordforest.text.documents import Columns, Document, read_documents, read_files

_CHUNK = 1 << 12  # documents of a task, and of a step that is not done twice


@dataclass(frozen=True)
class Sources:
    """Names of files, folders, globs and URLs that hold documents."""

    names: list[str]


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
    settings: TopicSettings | None = None,
    embeddings: Any = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | None = None,
    report: Reporter | None = None,
) -> Run:
    """Learn a forest of topics from documents and return it as a run; ``out`` also writes it.

    ``documents`` are a path or several, or objects of Python as ``TopicForest.fit`` takes them. Where their texts would
    take more than a quarter of ``memory``, the forest is learned from those that fit, drawn by their ids.
    """
    settings, rules, columns = settings or TopicSettings(), rules or TextRules(), columns or DocumentColumns()
    with Job(out, force=force, resume=resume, workers=workers, memory=memory, report=report) as job:
        own = {**asdict(settings), **asdict(rules), **asdict(columns), "documents": _named(documents)}
        if job.folder and job.is_complete(store.is_run_folder, own, (None,)):  # lam is found
            return store.load_run(job.folder)
        job.begin(own)
        read = _progressing(_read(documents, columns.columns, rules, job), job)
        vocabulary, bags = learn_words(
            read if isinstance(embeddings, np.ndarray) else _fitting(read, job),
            rules,
            WordRules(1, settings.max_vocab),
            min_df=settings.min_df,
            max_df=settings.max_df,
            executor=job.threads,
        )
        history: list[dict[str, Any]] = []

        def learn(rows: Any, plan: Any) -> Any:
            fitted, steps = learn_in_job(job, rows, plan, unit="documents")
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
        run = as_run(topics, {**own, "n_counted": len(bags.ids)}, history)
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
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | None = None,
) -> DocumentsFolder:
    """Write the shares of documents on the forest of a run, and tables of them, to a documents folder; return it."""
    loaded = run if isinstance(run, Run) else store.load_run(run)
    topics, columns = topics_of(loaded), columns or DocumentColumns()
    rules = topics.rules if errors is None else TextRules.of({**loaded.config, "errors": errors})
    with Job(out, force=force, resume=resume, workers=workers, cluster=cluster, report=report) as job:
        own = {"run": str(run) if isinstance(run, str | Path) else "", "bins": bins, "format": form, **asdict(columns)}
        own |= {"edits": [[kind, list(nodes)] for kind, nodes in edits], "documents": _named(documents)}
        if job.is_complete(store.is_documents_folder, own):
            return store.load_documents(out)
        job.begin(own)
        chunks = _Chunks(Path(out), texts)
        read = _progressing(_read(documents, columns.columns, rules, job), job)
        ids, fields, shares = chunks.coded(read, topics, embeddings, job)
        names = label_nodes(loaded.vectors, LABEL_WORDS, stop_words=stop_words or loaded.config.get("stop_words", ()))
        placed = edited(
            DocumentShares(
                ids,
                shares.matrix,
                topics.coder.forest,
                [" ".join(label) for label in names],
                loaded.nodes.get("stability"),
                fields,
                shares.typicality,
            ),
            edits,
        )
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
        job.end(f"{len(ids)} documents on {len(placed.forest)} nodes")
    return store.load_documents(out)


def _named(documents: Any) -> list[str]:
    """Return the names of sources, for the record; objects of Python have none."""
    if isinstance(documents, Sources):
        return documents.names
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
        chunks = ((number, chunk, self._file(number)) for number, chunk in enumerate(_chunks(documents)))
        known: list[tuple[list[str], dict[str, list[Any]]]] = []

        def pending() -> Iterator[tuple[list[Document], Any, Path | None]]:
            row = 0
            for number, chunk, file in chunks:
                own = None if embeddings is None else np.asarray(embeddings[row : row + len(chunk)])
                row += len(chunk)
                self._n = number + 1
                names = dict.fromkeys(name for one in chunk for name in one.fields)
                fields = {name: [one.fields.get(name) for one in chunk] for name in names}
                known.append(([one.id for one in chunk], fields))
                if self._keep_texts:
                    self._write_texts(number, chunk)
                is_done = file.is_file() and read_tensors(file, ["n"])["n"][0] == len(chunk)
                yield ([] if is_done else chunk), own, file

        parts = []
        for part, file in job.executor.map(_coded_chunk, pending(), topics):
            if part is None:
                part = _read_chunk(file)
            else:
                _write_chunk(file, part)
            parts.append(part)
        if not parts:
            raise InputError("there are no documents. Give at least one.")
        if embeddings is not None and len(embeddings) != sum(len(ids) for ids, _ in known):
            raise InputError(f"{len(embeddings)} embeddings came for {sum(len(i) for i, _ in known)} documents.")
        names = dict.fromkeys(name for _, fields in known for name in fields)
        fields = {name: [v for ids, own in known for v in own.get(name, [None] * len(ids))] for name in names}
        return [one for ids, _ in known for one in ids], fields, join_shares(parts, len(topics.coder.forest))

    def texts(self) -> Iterator[Mapping[str, Any]]:
        """Yield id, text and fields of all documents."""
        for number in range(self._n):
            with self._file(number, "jsonl").open(encoding="utf-8", errors="surrogatepass") as lines:
                yield from map(json.loads, lines)

    def _write_texts(self, number: int, chunk: list[Document]) -> None:
        with self._file(number, "jsonl").open("w", encoding="utf-8", errors="surrogatepass") as file:
            for one in chunk:
                record = {"id": one.id, "text": one.joined, **one.fields}
                file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")

    def _file(self, number: int, suffix: str = "safetensors") -> Path:
        return self._folder / f"documents-{number:06d}.{suffix}"


def _coded_chunk(topics: Topics, chunk: tuple[list[Document], Any, Path]) -> tuple[Shares | None, Path]:
    """Return the shares of some documents; nothing where they are in the file already."""
    documents, embeddings, file = chunk
    if not documents:
        return None, file
    one = Threads(1)
    parts = count_words(documents, topics.vocabulary, topics.rules, executor=one)
    counts = join_bags([*parts]).counts
    return topics.coder.shares(counts, embeddings, one), file


def _write_chunk(file: Path, part: Shares) -> None:
    arrays = {"n": np.array([part.matrix.shape[0]]), "typicality": part.typicality, **csr_tensors(part.matrix)}
    write_tensors(file, arrays)


def _read_chunk(file: Path) -> Shares:
    arrays = read_tensors(file)
    return Shares(checked_csr(file, arrays, ("float32",)), arrays["typicality"])


def _chunks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    while chunk := [*islice(documents, _CHUNK)]:
        yield chunk


def _read(documents: Any, columns: Columns, rules: TextRules, job: Job) -> Iterator[Document]:
    """Return documents from paths, or from objects of Python."""
    if isinstance(documents, Sources):
        return read_files(documents.names, columns, rules.errors, job.report.say)
    return read_documents(
        documents, text=columns.text, id=columns.id, keep=columns.keep, errors=rules.errors, notice=job.report.say
    )


def _progressing(documents: Iterable[Document], job: Job) -> Iterator[Document]:
    n = 0
    for n, document in enumerate(documents, 1):
        if n % _CHUNK == 0:
            job.report(Event("documents", n, None, "documents"))
        yield document
    job.report(Event("documents", n, n, "documents"))


def _fitting(documents: Iterator[Document], job: Job) -> Iterator[Document]:
    """Yield documents whose texts fit a quarter of the memory: if not all do, those of the smallest keys."""
    most, size, least = job.memory // 4, 0, 0
    kept: list[tuple[int, int, Document]] = []  # a heap by key, the largest first
    n = 0
    for n, document in enumerate(documents, 1):
        heapq.heappush(kept, (-int(document_keys([document.id])[0]), n, document))
        size += len(document.joined)
        while size > most and len(kept) > 1:
            size -= len(heapq.heappop(kept)[2].joined)
            least += 1
    if least:
        job.report.say(f"topics are learned from {len(kept)} of {n} documents, drawn by their ids: more need --memory")
    yield from (document for *_, document in sorted(kept, key=lambda item: item[1]))


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
    """Write a fitted TopicForest to a folder, as a run; documents stay out of it."""
    config = {**asdict(forest.topics_.rules), **asdict(forest.settings_), **forest.edits_}
    store.save_run(folder, as_run(forest.topics_, config))


def load_topics(folder: str | Path) -> TopicForest:
    """Return the TopicForest of a folder, ready to transform documents."""
    run = store.load_run(folder)
    config = run.config
    names = ("levels", "min_df", "max_df", "max_vocab", "tokenizer", "lowercase", "numbers", "density", "stop_words")
    forest = TopicForest(**{name: config[name] for name in names if name in config})
    return forest.restored(topics_of(run), config)
