"""Texts that come in slices: read beside counting or training, kept in the folder, compared on the forest of a run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from wordforest import store
from wordforest.coder.rows import place_rows
from wordforest.coder.rows.base import Loss
from wordforest.counts import WindowRules
from wordforest.errors import InputError
from wordforest.jobs.encode import codes_of, penalty_of
from wordforest.jobs.job import Job, versions
from wordforest.runtime.machine import Threads
from wordforest.runtime.progress import Reporter
from wordforest.slices import Comparison, Slices, compare_slices, read_slices
from wordforest.slices.company import PERMUTATIONS
from wordforest.slices.comparison import LEVEL, MOST, Code
from wordforest.slices.words import Contrast, rows
from wordforest.store import Run
from wordforest.store.files import SLICES
from wordforest.text import TextRules, Vocabulary
from wordforest.text.documents import Columns, Document, is_frame, read_documents, read_files
from wordforest.text.reader import Corpus

By: TypeAlias = "str | Mapping[Any, Any] | Sequence[Any]"
FOLDER = "folder"
TABLES = ("nodes", "words", "vocabulary", "changes")


@dataclass(frozen=True)
class Sliced:
    """Documents, and what says which slice each belongs to.

    A column of a table; ``folder``, the folder that a file lies in; documents by the name of their slice; or a name for
    each document, in their order. ``bins`` puts names that are times into bins, as ``decade``.
    """

    documents: Any
    by: By
    bins: int | str | None = None

    def __post_init__(self) -> None:
        own = {name: _again(part) for name, part in self.by.items()} if isinstance(self.by, Mapping) else self.by
        bins = int(self.bins) if isinstance(self.bins, str) and self.bins.isdigit() else self.bins
        for name, value in (("by", own), ("bins", bins), ("documents", _again(self.documents))):
            object.__setattr__(self, name, value)
        if isinstance(own, Mapping) and self.documents is not None:
            raise InputError("slices by name bring their own documents. Leave the others out.")

    @property
    def corpus(self) -> Any:
        """All documents as a corpus."""
        if not isinstance(self.by, Mapping):
            return self.documents
        parts = [*self.by.values()]
        if all(isinstance(part, str | Path | Corpus) for part in parts):
            names = [[str(part)] if isinstance(part, str | Path) else [*part] for part in parts]
            return Corpus(name for some in names for name in some)
        return [document for part in parts for document in read_documents(part)]

    def read(self, rules: TextRules, notice: Any = lambda _: None) -> Iterator[tuple[Any, Document]]:
        """Yield documents with the names of their slices."""
        if isinstance(self.by, Mapping):
            for name, part in self.by.items():
                for document in _read(part, rules, (), notice):
                    yield name, replace(document, id=f"{name}:{document.id}")
        elif isinstance(self.by, str) and self.by == FOLDER:
            yield from self._by_folder(rules, notice)
        elif isinstance(self.by, str):
            for document in _read(self.documents, rules, (self.by,), notice):
                yield document.fields.get(self.by), document
        else:
            yield from self._listed(rules, notice)

    def _by_folder(self, rules: TextRules, notice: Any) -> Iterator[tuple[Any, Document]]:
        """Yield documents with the folder that they lie in: one inside of a folder that was named, or that itself."""
        names = self.documents if isinstance(self.documents, list | tuple) else [self.documents]
        for name in names:
            if not isinstance(name, str | Path) or not Path(name).is_dir():
                raise InputError(f"--slices folder: {name!s:.80} is no folder. Name a folder with one for each slice.")
            for document in _read(Corpus([str(name)]), rules, (), notice):
                within = Path(document.id).parts
                yield within[0] if len(within) > 1 else Path(name).resolve().name, document

    def _listed(self, rules: TextRules, notice: Any) -> Iterator[tuple[Any, Document]]:
        names, n = [*self.by], 0
        for document in _read(self.documents, rules, (), notice):
            if n < len(names):
                yield names[n], document
            n += 1
        if n != len(names):
            raise InputError(f"{len(names)} names of slices came for {n} documents. Give one for each, in their order.")


def _again(source: Any) -> Any:
    """Return documents that can be read twice, once to count them: what comes one by one is kept."""
    if isinstance(source, Iterator):
        source = [*source]
    names = [source] if isinstance(source, str) else source if isinstance(source, Corpus) else []
    if "-" in names:
        raise InputError("standard input cannot be read twice, and slices are read after counting. Give a file.")
    return source


def _read(source: Any, rules: TextRules, keep: Iterable[str], notice: Any) -> Iterator[Document]:
    if isinstance(source, Corpus):
        return read_files([*source], Columns(rules.text, None, tuple(keep)), rules.errors, notice)
    text = rules.text if isinstance(source, str | Path) or is_frame(source) or tuple(keep) else None
    return read_documents(source, text=text, keep=tuple(keep), errors=rules.errors, notice=notice)


def slices_of(sliced: Sliced, vocabulary: Vocabulary, rules: TextRules, job: Job) -> Slices:
    """Read documents in slices into the words of a vocabulary."""
    job.report.say("reading the words of every slice")
    read = sliced.read(rules, job.report.say)
    order = [*sliced.by] if isinstance(sliced.by, Mapping) else None
    found = read_slices(read, vocabulary, rules, bins=sliced.bins, order=order, executor=job.threads)
    sizes = np.bincount(found.code, minlength=len(found.names))
    some = [f"{name} ({n} documents)" for name, n in zip(found.names, sizes, strict=True)]
    job.report.say(f"{len(some)} slices: {', '.join(some[:6])}{', ...' if len(some) > 6 else ''}")
    return found


def keep_slices(folder: Path, slices: Slices) -> None:
    """Write slices into the folder of a run or of counts."""
    arrays = {name: getattr(slices, name) for name in ("ids", "borders", "code")}
    lists = {"names": slices.names, "documents": slices.documents, "is_time": slices.is_time}
    store.save_slices(folder, arrays, lists)


def read_beside(job: Job, sliced: Sliced, vocabulary: Vocabulary, rules: TextRules) -> Slices:
    """Return the slices that a job reads beside its counts, before it learns."""
    return slices_of(sliced, vocabulary, replace(rules, known_phrases=vocabulary.phrases), job)


def take_slices(counts: Path, folder: Path) -> None:
    """Copy the slices of counts, if they have any, into the folder of a run."""
    if store.has_slices(counts):
        shutil.copyfile(counts / SLICES, folder / SLICES)


def load_slices(folder: Path, words: tuple[str, ...]) -> Slices:
    """Return the slices of a run, whose words are rows of its vocabulary."""
    slices = Slices(words, **store.load_slices(folder))
    if len(slices.ids) and int(slices.ids.max()) >= len(words):
        raise InputError(f"{folder / SLICES}: it has words beyond the vocabulary of the run. Train again.")
    return slices


def compare(
    run: str | Path | Run,
    documents: Any = None,
    *,
    slices: By | None = None,
    text: str | None = None,
    bins: int | str | None = None,
    tokenizer: Any = None,
    between: Sequence[Any] | None = None,
    level: float = LEVEL,
    most: int = MOST,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    report: Reporter | bool | None = None,
) -> Comparison:
    """Compare slices of text on the forest of a run: nodes, words that moved, words that came and went, changes.

    The slices are those that the run was trained with, or ``documents`` with ``slices``: the column of a table,
    ``"folder"``, a mapping of names to documents, or a name for each document; ``text`` is the column of the texts,
    and ``tokenizer`` the function that the run was made with, if it was one. ``between`` names those to compare, each
    against the others; all if left out. ``level`` is the share of false discoveries to live with. ``out`` also writes
    tables and ``compare.json`` to a folder.

    Examples:
        >>> import wordforest as wf
        >>> old = ["the ship sails the sea with its sailors", "sailors load the ship in the harbour"] * 20
        >>> new = ["the ship flies to the moon with rockets", "rockets lift the ship into the sky"] * 20
        >>> run = wf.train([*old, *new], trees=1, branching=(2,), min_count=5)
        >>> wf.compare(run, slices={"old": old, "new": new})
        Comparison(2 slices: 2 of 3 words changed their company, 2 nodes differ)
    """
    loaded = run if isinstance(run, Run) else store.load_run(run)
    rules = TextRules.of(loaded.config)
    rules = replace(rules, text=text or rules.text, tokenizer=tokenizer or rules.tokenizer)
    if slices is None and (bins is not None or text is not None):
        raise InputError("bins and text are of documents. Name them, and their slices.")
    if slices is not None and documents is None and not isinstance(slices, Mapping):
        raise InputError("name the documents, too: wordforest compare RUN DOCS --slices COLUMN --out FOLDER")
    vocabulary = Vocabulary(loaded.words, loaded.counts, rules.known_phrases)
    with Job(out, force=force, workers=workers, report=report) as job:
        if slices is not None:
            own = slices_of(Sliced(documents, slices, bins), vocabulary, rules, job)
        elif documents is not None:
            raise InputError(
                "documents need slices: --slices COLUMN, --slices folder, or, in place of documents, --slice NAME=PATH "
                "for each; in Python slices= may also be a list with a name for each document."
            )
        elif isinstance(run, Run):
            raise InputError("a run in memory keeps no texts. Give documents= and slices=, or the folder of the run.")
        else:
            own = load_slices(Path(run), loaded.words)
        own = own if between is None else own.only(between)
        windows = _windows(loaded)
        found = compare_slices(
            own,
            loaded.learned,
            windows,
            code=_coder(loaded, own, windows, job),
            level=level,
            most=most,
            permutations=permutations,
            seed=seed,
            executor=job.threads,
            say=job.report.say,
        )
        if job.folder:
            save_comparison(job.folder, found, {"run": str(run), "level": level, "seed": seed})
            job.end(words=len(found.tables["words"]["word"]), slices=len(found.slices))
    return found


def save_comparison(folder: Path, found: Comparison, config: dict[str, Any]) -> None:
    """Write tables as CSV, and all of it as ``compare.json``."""
    for name in TABLES:
        store.write_table(folder / f"{name}.csv", found.tables[name])
    store.write_json(folder / "compare.json", {**found.as_object(), **config, "versions": versions()})


def _windows(run: Run) -> WindowRules:
    """Return what a pair was for a run; one learned from documents has the paper's windows."""
    known = {one.name: run.config[one.name] for one in fields(WindowRules) if one.name in run.config}
    return WindowRules(**{**known, "subsample": 0.0})


def _coder(run: Run, slices: Slices, windows: WindowRules, job: Job) -> Code | None:
    """Return what codes words before and after with the dictionary of a run; None where slices have no such codes."""
    config = run.config
    plain = config.get("weights", "none") == "none" and float(config.get("zeros", 1.0)) == 1.0
    if run.dictionary is None or run.space or run.ngrams or config.get("learner") == "entries" or not plain:
        job.report.say("words have no paths by slice: the run was not learned from counts of words without weights")
        return None
    measure = config.get("measure", "pmi")
    least = None if measure == "pmi" else float(config.get("shift", 0.0))
    penalty = penalty_of(Path(), run)

    def code(contrasts: Sequence[Contrast]) -> Any:
        X = rows(slices, contrasts, windows, smoothing=float(config.get("smoothing", 1.0)), least=least)
        placed = place_rows(X.astype(np.float32), "cpu", len(run.forest), Threads(job.threads.n_workers))
        return codes_of(placed, Loss(None, 1.0), run, penalty)[0]

    return code
