"""Folders of results: RUN, COUNTS, and the checkpoint inside either.

RUN has all that training leaves behind, COUNTS a vocabulary and its window counts, made once and used by many runs, and
``checkpoint/`` what ``--resume`` needs. Each file is whole or absent.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.runtime.disk import check_disk
from wordforest.store.files import (
    ALL_WORDS,
    CHECKPOINT,
    CODES,
    COUNTS,
    NGRAMS,
    RESULTS,
    SPACE,
    WINDOW_COUNTS,
    parse_object,
    read_json,
    read_text,
    replaced,
    settle,
    to_json,
    write_json,
    write_text,
)
from wordforest.store.tensors import (
    AnyCSR,
    read_csr,
    read_tensors,
    slices,
    write_csr,
    write_csr_parts,
    write_tensors,
)
from wordforest.vectors import CSR, NodeNote, Vectors, as_notes, first_non_finite_row
from wordforest.vectors.edits import as_edited

LABELS = "labels.tsv"  # what somebody noted of nodes
_FINISH = "Finish it first: the command that began it, with --resume."
_OF_NODES = ("use", "stability")  # what forest.json may say of every node, beside its parent


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Words with their counts (V,), codes A (V, M), dictionary D (C, M) if any, forest, config, history.

    ``labels`` are names that somebody gave to nodes, by their numbers, or all that was noted of them; ``nodes`` has
    what is known of every node, (M,) each: ``use``, the share of words, and ``stability``. ``space`` are the arrays of
    ``documents/space.py`` where the forest was learned from documents; its C contexts are then the coordinates of that
    space. ``ngrams`` are those that the last rows of D stand for, with the number of words that have each.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> from scipy.sparse import csr_array
        >>> codes = csr_array(np.array([[2, 1], [1, 0]], np.float32))
        >>> run = wf.Run(("ship", "sea"), np.array([5, 3]), codes, None, wf.Forest([-1, 0]))
        >>> run.vectors.most_similar("ship", topn=1)[0][0]
        'sea'
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]
    codes: CSR
    dictionary: NDArray[np.float32] | None
    forest: Forest
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    labels: Mapping[int, str | NodeNote] = field(default_factory=dict)
    nodes: dict[str, NDArray[Any]] = field(default_factory=dict)
    space: dict[str, NDArray[Any]] = field(default_factory=dict)
    ngrams: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (rows, columns), D, problem = self.codes.shape, self.dictionary, None
        if not len(self.words) == len(self.counts) == rows:
            problem = f"{len(self.words)} words, {len(self.counts)} counts and {rows} rows of codes do not agree"
        elif len(self.forest) != columns:
            problem = f"the forest has {len(self.forest)} nodes, but the codes have {columns} columns"
        elif D is not None and (D.ndim != 2 or D.shape[1] != columns):
            problem = f"the dictionary has shape {D.shape}, but (contexts, {columns}) is needed"
        elif D is not None and self.config.get("spelling") and len(D) != self._n_counted + len(self.ngrams):
            given = f"{self._n_counted} contexts and {len(self.ngrams)} n-grams"
            problem = f"the dictionary has {len(D)} rows, but there are {given}"
        if problem is not None:
            raise InputError(f"{problem}. Use the parts of one run.")
        for name, values in self.nodes.items():
            if values.shape != (columns,) or not np.isfinite(values).all():
                raise InputError(f"{name} must be {columns} finite numbers, one for each node. Train again.")
        if not np.isfinite(self.codes.data).all():
            row = first_non_finite_row(self.codes) or 0
            raise InputError(f"the code of {self.words[row]!r} holds NaN or infinity. Train again.")
        if D is not None and not np.isfinite(D).all():
            raise InputError("the dictionary holds NaN or infinity. Train again.")

    def __repr__(self) -> str:
        return f"Run({len(self.words)} words, {self.forest!r})"

    def _repr_html_(self) -> str:
        return self.vectors.to_html("Run")

    @property
    def _n_counted(self) -> int:
        """How many contexts were counted."""
        n_contexts = min(self.config.get("max_contexts") or len(self.words), len(self.words))
        return 2 * n_contexts if self.config.get("mark_sides") else n_contexts

    @cached_property
    def vectors(self) -> Vectors:
        """The codes as word vectors; of topics with nodes as they were merged, hidden and named.

        Examples:
            >>> run.vectors
            Vectors(2 words, 2 dimensions, forest=Forest(2 nodes, 1 trees, depth 2))
        """
        return as_edited(self.learned, self.config)

    @cached_property
    def learned(self) -> Vectors:
        """The codes as they were learned, on the forest of the run, as documents and new words are coded.

        Examples:
            >>> run.learned is run.vectors
            True
        """
        return Vectors(self.words, self.codes, forest=self.forest, labels=self.labels, nodes=self.nodes)


def is_run_folder(path: Path) -> bool:
    """Return whether a folder holds codes."""
    settle(path)
    return (path / CODES).is_file()


def save_run(folder: str | Path, run: Run, codes: str | Path | None = None) -> None:
    """Write a run in place of the results that a folder holds; codes come last: a folder that has them is complete.

    ``codes`` is a file that holds the codes already, on the same disk; it takes its place.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> from scipy.sparse import csr_array
        >>> codes = csr_array(np.array([[2, 1], [1, 0]], np.float32))
        >>> run = wf.Run(("ship", "sea"), np.array([5, 3]), codes, None, wf.Forest([-1, 0]))
        >>> wf.save_run("run", run)
        >>> wf.load_run("run").words
        ('ship', 'sea')
    """
    with replaced(Path(folder), RESULTS, CODES) as staging:
        _write_config(staging, run.config)
        write_vocab(staging / "vocab.tsv", run.words, run.counts)
        write_json(staging / "forest.json", {"parent": run.forest.parent.tolist(), **_plain(run.nodes)})
        write_history(staging / "history.jsonl", run.history)
        if run.labels:
            write_text(staging / LABELS, labels_as_text(run.labels))
        if run.dictionary is not None:
            write_tensors(staging / "dictionary.safetensors", {"D": run.dictionary.astype(np.float32, copy=False)})
        if run.space:
            write_tensors(staging / SPACE, run.space)
        if run.ngrams:
            write_vocab(staging / NGRAMS, [*run.ngrams], np.array([*run.ngrams.values()]))
        if codes is None:
            write_csr(staging / CODES, run.codes.astype(np.float32, copy=False))
        else:
            Path(codes).rename(staging / CODES)


def _plain(nodes: dict[str, NDArray[Any]]) -> dict[str, list[float]]:
    return {name: np.asarray(values, dtype=np.float64).tolist() for name, values in nodes.items()}


def load_run(folder: str | Path) -> Run:
    """Return the run that a folder holds, after checking that its files agree.

    Examples:
        >>> import wordforest as wf
        >>> text = ["the cat eats fish", "the dog eats meat"]
        >>> _ = wf.train(text, trees=2, min_count=1, out="run", report=False)
        >>> wf.load_run("run").codes.shape
        (6, 26)
    """
    folder = Path(folder)
    if not is_run_folder(folder):
        if was_begun(folder):
            raise InputError(f"{folder}: expected a run, but this one was broken off. {_FINISH}")
        kind, source = ("a counts folder", shlex.quote(str(folder))) if is_counts_folder(folder) else ("none", "CORPUS")
        raise InputError(
            f"{folder}: expected a run folder with codes.safetensors, but this is {kind}. "
            f"Make one with: wordforest train {source} --out RUN"
        )
    words, counts = read_vocab(folder / "vocab.tsv")
    of_nodes = read_json(folder / "forest.json")
    forest = parse_forest(folder / "forest.json", of_nodes.get("parent"))
    labels = folder / LABELS
    parts: dict[str, Any] = {
        "codes": read_csr(folder / CODES, ("float32",)),
        "dictionary": _read_dictionary(folder / "dictionary.safetensors"),
        "forest": forest,
        "config": read_config(folder),
        "history": read_history(folder / "history.jsonl"),
        "labels": parse_labels(labels, read_text(labels), len(forest)) if labels.exists() else {},
        "nodes": {name: np.asarray(of_nodes[name], dtype=np.float64) for name in _OF_NODES if name in of_nodes},
        "space": read_tensors(folder / SPACE) if (folder / SPACE).exists() else {},
        "ngrams": _read_ngrams(folder / NGRAMS),
    }
    try:
        return Run(words, counts, **parts)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from error


_PHRASES = "known_phrases"  # in a config; on the disk they have a file of their own
_COLUMNS = ("level", "first", "second", "count", "npmi")


def _write_config(folder: Path, config: dict[str, Any]) -> None:
    write_json(folder / "config.json", {name: value for name, value in config.items() if name != _PHRASES})
    if phrases := config.get(_PHRASES):
        write_text(folder / "phrases.tsv", "".join("\t".join(map(str, row)) + "\n" for row in (_COLUMNS, *phrases)))


def read_config(folder: Path) -> dict[str, Any]:
    """Return the settings of a run or counts, with the phrases that were found."""
    config, path = read_json(folder / "config.json"), folder / "phrases.tsv"
    config.pop(_PHRASES, None)  # not checked there
    return {**config, _PHRASES: _parse_phrases(path, read_text(path))} if path.exists() else config


def _parse_phrases(path: Path, text: str) -> list[tuple[int, str, str, int, float]]:
    """Return rows of phrases: level, first and second word, count, NPMI."""
    phrases = []
    for line, row in enumerate(text.removesuffix("\n").split("\n")[1:], start=2):
        try:
            level, first, second, count, npmi = row.split("\t")
            phrases.append((int(level), first, second, int(count), float(npmi)))
        except ValueError as error:
            raise InputError(
                f"{path}, line {line}: expected level, first and second word, count and NPMI with tabs between, but "
                f"{row[:80]!r} came. Mend or remove the line."
            ) from error
    return phrases


def refuse_results(names: Iterable[str]) -> None:
    """Refuse what is given as text but is a folder that we have written, or a file of it."""
    for path in map(Path, names):
        if path.is_dir() or path.name in RESULTS:
            _refuse_folder(path, path if path.is_dir() else path.parent)


def _refuse_folder(path: Path, folder: Path) -> None:
    shown, part = shlex.quote(str(folder)), "" if path == folder else "part of "
    if is_run_folder(folder):
        counts = f"; train takes its counts, {folder / COUNTS}, too" if is_counts_folder(folder / COUNTS) else ""
        look = f"Look into it with: wordforest inspect {shown}. To learn again, name the text itself{counts}."
        raise InputError(f"{path}: this is {part}a run, not text. {look}")
    if is_counts_folder(folder):
        learn = f"Learn from it alone with: wordforest train {shown} --out RUN"
        raise InputError(f"{path}: this is {part}a counts folder, not text. {learn}")
    if has_checkpoint(folder):
        raise InputError(f"{path}: this is {part}a folder whose command was broken off, not text. {_FINISH}")


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder for results that holds anything, unless ``force``."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, but this is a file. Choose another --out.")
    if not force and folder.exists() and any(folder.iterdir()):
        hint = "add --resume to resume it, " if was_begun(folder) else ""
        raise InputError(f"{folder} already exists; {hint}add --force to replace it or choose another --out.")


def was_begun(folder: Path) -> bool:
    """Return whether there is something in a folder that a job can resume from: its checkpoint, or counts alone."""
    counts = folder / COUNTS
    has_counts = has_checkpoint(counts) or is_counts_folder(counts)
    return has_checkpoint(folder) or (has_counts and not is_run_folder(folder))


def write_history(path: Path, history: list[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    write_text(path, "".join(to_json(step, path) + "\n" for step in history))


def read_history(path: Path) -> list[dict[str, Any]]:
    """Return the steps of a history, one JSON object a line."""
    lines = read_text(path).removesuffix("\n").split("\n")
    return [parse_object(text, path, line) for line, text in enumerate(lines, start=1) if text or len(lines) > 1]


def labels_as_text(labels: Mapping[int, str | NodeNote]) -> str:
    """Return what was noted of nodes as lines: number, name, ``hidden`` or nothing, remark, with tabs between."""
    lines = []
    for node, (name, hidden, remark) in sorted(as_notes(labels).items()):
        cells = (str(node), name, "hidden" * hidden, remark)
        lines.append("\t".join(" ".join(cell.split()) for cell in cells).rstrip("\t"))
    return "".join(f"{line}\n" for line in lines if "\t" in line)


def parse_labels(where: Path | str, text: str, n_nodes: int) -> dict[int, NodeNote]:
    """Return the notes in such lines, the last columns of which may be missing; errors say ``where`` they come from."""
    notes: dict[int, NodeNote] = {}
    for line, row in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        number, name, mark, remark = (cell.strip() for cell in (row.split("\t", 3) + [""] * 3)[:4])
        if not row.strip() or (line == 1 and number == "node"):  # a header, as tables have it
            continue
        if not (number.isascii() and number.isdigit() and int(number) < n_nodes and (name or mark or remark)):
            raise InputError(
                f"{where}, line {line}: expected the number of a node from 0 to {n_nodes - 1}, a tab and a label, but "
                f"{row[:80]!r} came. Mend or remove the line."
            )
        if mark not in ("", "hidden"):
            raise InputError(
                f"{where}, line {line}: expected hidden or nothing in the third column, but {mark[:80]!r} came. "
                "Mend the line."
            )
        if int(number) in notes:
            raise InputError(f"{where}, line {line}: node {int(number)} has a label already. Keep one of them.")
        notes[int(number)] = NodeNote(name, bool(mark), remark)
    return notes


def save_note(folder: str | Path, node: int, note: NodeNote) -> dict[int, NodeNote]:
    """Write what was noted of a node into a run folder, an empty note to take it away; return all notes there."""
    folder = Path(folder)
    if not is_run_folder(folder):
        raise InputError(f"{folder}: this is no run folder any more, so nothing was written.")
    path, n_nodes = folder / LABELS, len(read_json(folder / "forest.json")["parent"])
    notes = parse_labels(path, read_text(path), n_nodes) if path.exists() else {}
    text = labels_as_text({**notes, node: note})
    notes = parse_labels(path, text, n_nodes)
    try:
        write_text(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}). Check the rights of the folder.") from error
    return notes


def _read_dictionary(path: Path) -> NDArray[np.float32] | None:
    if not path.exists():
        return None
    D = read_tensors(path, ["D"])["D"]
    if D.dtype != np.float32 or D.ndim != 2:
        raise InputError(
            f"{path}: D must be a float32 matrix, but {D.dtype} of shape {D.shape} came. Make the folder again."
        )
    return D


def _read_ngrams(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    ngrams, counts = read_vocab(path)
    if not counts.all():
        raise InputError(f"{path}: no word has {ngrams[int(np.argmin(counts))]!r}. Train again.")
    return dict(zip(ngrams, counts.tolist(), strict=True))


def parse_forest(where: Path | str, parent: object) -> Forest:
    """Return the forest of a list of parents; an error says ``where`` it comes from."""
    if not isinstance(parent, list) or any(type(p) is not int for p in parent):
        raise InputError(f"{where}: expected parents [-1, 0, ...], one whole number a node. Make it again.")
    try:
        return Forest(parent)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


_LARGEST = np.iinfo(np.int64).max


def write_vocab(path: Path, words: Sequence[str], counts: NDArray[np.int64]) -> None:
    """Write the words and their counts (V,)."""
    if len(set(words)) != len(words):
        raise InputError(f"{path}: {len(words) - len(set(words))} words are repeated. Keep one row of each.")
    for row, word in enumerate(words):
        if "\t" in word or "\n" in word:
            raise InputError(f"{path}: word {row}, {word!r}, holds a tab or a line break. Rename the word.")
    write_text(path, "".join(f"{word}\t{count}\n" for word, count in zip(words, counts.tolist(), strict=True)))


def read_vocab(path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the words and their counts (V,)."""
    lines = read_text(path).split("\n")
    if lines[-1]:
        raise InputError(f"{path}, line {len(lines)}: the line end is missing, so the file is cut. Make it again.")
    first_line: dict[str, int] = {}
    counts = np.zeros(len(lines) - 1, dtype=np.int64)
    for i, line in enumerate(lines[:-1]):
        word, tab, count = line.partition("\t")
        digits = count.removesuffix("\r")
        if not (tab and digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= _LARGEST):
            raise InputError(
                f"{path}, line {i + 1}: expected a word, a tab and a count, but {line[:80]!r} came. "
                "Repair the line, or make the file again."
            )
        if (first := first_line.setdefault(word, i + 1)) != i + 1:
            raise InputError(f"{path}, line {i + 1}: {word!r} stands on line {first} already. Keep one of them.")
        counts[i] = int(digits)
    return tuple(first_line), counts


def is_counts_folder(path: Path) -> bool:
    """Return whether a folder holds window counts."""
    settle(path)
    return (path / WINDOW_COUNTS).is_file()


def save_counts(
    folder: Path,
    words: Sequence[str],
    counts: NDArray[np.int64],
    matrix: Any,
    config: dict[str, Any],
    *,
    all_words: Path | None = None,
) -> None:
    """Write words, their counts (V,), integer window counts (V, C) and settings in place of what a folder holds.

    ``matrix`` is CSR, or a tally: ``shape``, ``indptr``, ``dtype``, and ``parts()``, which yields columns and counts.
    ``all_words`` is a folder of counts without a least count, on the same disk, which moves inside.
    """
    is_tally = hasattr(matrix, "parts")
    if not is_tally:
        _check_counts(folder, words, counts, matrix)
    with replaced(folder, RESULTS, WINDOW_COUNTS) as staging:
        _write_config(staging, config)
        write_vocab(staging / "vocab.tsv", words, counts)
        path, dtype = staging / WINDOW_COUNTS, np.dtype(matrix.dtype)
        if is_tally:
            check_disk(folder, int(matrix.indptr[-1]) * (4 + dtype.itemsize), "writing the counts")
            write_csr_parts(path, matrix.shape, matrix.indptr, dtype, matrix.parts())
        else:
            write_csr(path, matrix if dtype.itemsize >= 4 else matrix.astype(np.int64))
        if all_words is not None:
            all_words.rename(staging / ALL_WORDS)


def read_counts(
    folder: Path, *, mapped: bool = False, checked: bool = True
) -> tuple[tuple[str, ...], NDArray[np.int64], AnyCSR, dict[str, Any]]:
    """Return words, their counts (V,), window counts (V, C) and settings.

    ``mapped`` leaves the window counts in their file: for counts larger than memory. Counts that were just written, or
    that others look at, need not be ``checked`` pair by pair.
    """
    if not is_counts_folder(folder):
        inside = f"Those of this run are in {folder / COUNTS}, or make" if is_counts_folder(folder / COUNTS) else "Make"
        source = shlex.quote(str(folder)) if folder.is_file() else "CORPUS"
        raise InputError(
            f"{folder}: expected a counts folder with {WINDOW_COUNTS}. {inside} one with: "
            f"wordforest count {source} --out COUNTS"
        )
    config = read_config(folder)
    words, counts = read_vocab(folder / "vocab.tsv")
    matrix = read_csr(folder / WINDOW_COUNTS, ("int32", "int64"), mapped=mapped, checked=checked)
    _check_counts(folder, words, counts, matrix, pairs=checked)
    return words, counts, matrix, config


def _check_counts(
    folder: Path, words: Sequence[str], counts: NDArray[np.int64], matrix: AnyCSR, *, pairs: bool = True
) -> None:
    if not len(words) == len(counts) == matrix.shape[0]:
        raise InputError(
            f"{folder}: {len(words)} words, {len(counts)} counts and {matrix.shape[0]} rows of window counts "
            "do not agree. Use files of one run of wordforest count."
        )
    if not np.issubdtype(matrix.dtype, np.integer):
        raise InputError(f"{folder}: window counts must be integers, but {matrix.dtype} came. Count again.")
    least = min((int(part.min()) for part in slices(matrix.data)), default=0) if pairs else 0
    if least < 0:
        raise InputError(f"{folder}: a window count is {least}, but counts start at 0. Count again.")


def has_checkpoint(folder: Path) -> bool:
    """Return whether a run was begun in a folder and not finished."""
    return (folder / CHECKPOINT / "settings.json").is_file()


def checkpoint_folder(folder: Path) -> Path:
    """Return where the files of a checkpoint lie."""
    return folder / CHECKPOINT


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, if there is one; first what makes it one."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_symlink() or checkpoint.is_file():
        checkpoint.unlink()
    elif checkpoint.is_dir():
        (checkpoint / "settings.json").unlink(missing_ok=True)
        shutil.rmtree(checkpoint)
