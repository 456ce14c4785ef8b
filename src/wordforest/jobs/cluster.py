"""Jobs on a cluster: counts in a folder that all workers see become X in their memory, codes go to files there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.coder.encode import Codes
from wordforest.coder.penalties import Penalty
from wordforest.coder.sharded import ClusterRows, how_to_code
from wordforest.coder.shards import equal_ranges
from wordforest.counts.association import log_margins, margins, pmi_rows
from wordforest.counts.joining import move_columns
from wordforest.errors import InputError
from wordforest.jobs.job import unit_rows
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.progress import Event, Reporter
from wordforest.runtime.scratch import arrays_in
from wordforest.settings import AssociationSettings, TrainSettings
from wordforest.store.tensors import map_csr, write_csr_parts

_CODES = "codes.bin"  # in a checkpoint: the last codes, (V, M), as workers write them
_VALUES = 1 << 17  # codes that are turned into sparse ones at a time


def refuse_on_cluster(settings: TrainSettings) -> None:
    """Refuse what one machine alone can do."""
    if settings.learner != "online" or settings.device != "cpu":
        raise InputError(
            f"learner = {settings.learner} and device = {settings.device}, but a cluster learns online, on processors. "
            "Leave out --learner and --device, or --cluster."
        )
    if settings.is_weighted:
        raise InputError(
            f"weights = {settings.weights} and zeros = {settings.zeros:g}, but on a cluster all pairs count alike. "
            "Leave out --weights, --zeros and --preset best, or --cluster."
        )


@dataclass(frozen=True, eq=False)
class Moves:
    """Where the columns of counts go: column c to ``columns[c]`` of ``n_columns``, nowhere if that is negative."""

    columns: NDArray[np.int64]
    n_columns: int


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The association of words and contexts, made by the workers from counts in a folder that they all see."""

    path: Path  # of the window counts
    shape: tuple[int, int]
    indptr: NDArray[Any]
    log_v: NDArray[np.float32]
    log_c: NDArray[np.float32]
    least: float | None  # what is not above it is not stored
    dtype: Any
    moves: Moves | None

    @classmethod
    def of(
        cls, folder: Path, settings: TrainSettings | AssociationSettings, cluster: Cluster, moves: Moves | None = None
    ) -> CountedRows:
        """Return the rows for the counts of a folder; workers add up the margins."""
        path = (folder / "counts.safetensors").resolve()
        matrix = map_csr(path)
        shape = (matrix.shape[0], matrix.shape[1] if moves is None else moves.n_columns)
        ranges = equal_ranges(np.diff(matrix.indptr).astype(np.int64) + 1, cluster.n_parts)
        parts = cluster.map(partial(_margins_of, path, shape, moves), ranges)
        by_row, by_column = zip(*parts, strict=True)
        log_v, log_c = log_margins(np.concatenate(by_row), np.sum(by_column, axis=0), settings.smoothing)
        least = None if settings.measure == "pmi" else settings.shift
        dtype = np.dtype(getattr(settings, "dtype", "float32"))
        return cls(path, shape, np.array(matrix.indptr), log_v, log_c, least, dtype, moves)

    def most_entries(self) -> NDArray[Any]:
        """Return the counted pairs of every row, (V,); some may meet, or go, when columns are moved."""
        return np.diff(self.indptr)

    @property
    def exact(self) -> bool:
        """Whether all counted pairs are stored."""
        return self.least is None and self.moves is None

    def rows(self, first: int, last: int) -> partial[sparse.csr_array]:
        """Return what makes a range of rows."""
        logs = (self.log_v[first:last], self.log_c)
        return partial(_load_rows, self.path, (first, last), logs, self.least, self.dtype, self.moves)


@dataclass(frozen=True)
class CodesFile:
    """Codes (V, M) as plain numbers in a file that all workers see, row after row."""

    path: Path

    def create(self, shape: tuple[int, int], dtype: Any) -> None:
        """Make the file, with room for all codes."""
        with self.path.open("wb") as file:
            file.truncate(shape[0] * shape[1] * np.dtype(dtype).itemsize)
        store.write_json(self.path.with_suffix(".json"), {"shape": shape, "dtype": np.dtype(dtype).name})

    def write(self, first: int, A: NDArray[Any]) -> None:
        """Write the codes of the rows from ``first`` on; a second time changes nothing."""
        _check_seen(self.path)
        with self.path.open("r+b") as file:
            file.seek(first * A.shape[1] * A.itemsize)
            file.write(np.ascontiguousarray(A).data)

    def read(self) -> NDArray[Any]:
        """Return all codes, left in the file."""
        facts = store.read_json(self.path.with_suffix(".json"))
        return np.asarray(np.memmap(self.path, facts["dtype"], "r", shape=tuple(facts["shape"])))


def rows_on_cluster(
    folder: Path, settings: TrainSettings, cluster: Cluster, out: Path | None, report: Reporter
) -> ClusterRows:
    """Return X on a cluster, for the counts of a folder; codes lie in files of ``out``, if there is one."""
    X = ClusterRows(CountedRows.of(folder, settings, cluster), cluster, len(settings.forest))
    coded = 0

    def on_words(n: int) -> None:
        nonlocal coded
        coded += n
        report(Event("code", coded, None, "words"))

    X.on_words = on_words
    if out is not None:
        X.allocate = arrays_in(out)
        X.storage = CodesFile(store.checkpoint_folder(out.resolve()) / _CODES)
    return X


def encode_counts(
    folder: Path, D: NDArray[Any], penalty: Penalty, settings: AssociationSettings, cluster: Cluster, out: Path,
    *, moves: Moves | None = None, unit: bool = False, on_words: Callable[[int], None] = lambda _: None,
) -> tuple[Codes, Path]:  # fmt: skip
    """Code all words of a counts folder with a dictionary D (C, M); workers write the codes into the folder ``out``.

    Returns what ``encode`` would say of the codes, and the file that holds them as a sparse matrix. ``moves`` makes the
    columns of the counts those of D.
    """
    rows = ClusterRows(CountedRows.of(folder, settings, cluster, moves), cluster, D.shape[1])
    rows.on_words = on_words
    file = CodesFile(out.resolve() / _CODES)
    file.create((rows.shape[0], D.shape[1]), D.dtype)
    codes = rows.encode(how_to_code(D, penalty, cluster), file.write, lambda *_: None)
    codes_in_file(out / "codes.safetensors", file.read(), unit=unit)
    return codes, out / "codes.safetensors"


def codes_in_file(path: Path, A: NDArray[Any], *, unit: bool = False) -> sparse.csr_array:
    """Write codes (V, M) as sparse ones into a file, some rows at a time, and return them left there.

    With ``unit`` every row is divided by its length.
    """
    n = max(1, _VALUES // A.shape[1])
    starts = range(0, len(A), n)

    def taken(start: int) -> NDArray[np.float32]:
        rows = A[start : start + n].astype(np.float32, copy=False)
        return unit_rows(rows) if unit else rows

    sizes = np.concatenate([np.count_nonzero(taken(start), axis=1) for start in starts])
    indptr = np.concatenate(([0], np.cumsum(sizes)))

    def parts() -> Iterator[tuple[NDArray[np.int32], NDArray[Any]]]:
        for start in starts:
            rows = taken(start)
            _, columns = np.nonzero(rows)
            yield columns.astype(np.int32), rows[rows != 0]

    write_csr_parts(path, (len(A), A.shape[1]), indptr, np.dtype(np.float32), parts())
    return map_csr(path)


def _margins_of(
    path: Path, shape: tuple[int, int], moves: Moves | None, rows: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sums of some rows and of the columns over them."""
    counts = _counts_rows(path, rows)
    try:
        counts.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"{path}: not usable window counts ({error}). Count again.") from error
    if counts.nnz and counts.data.min() < 1:
        raise InputError(
            f"{path}: a stored count is {counts.data.min()}, but on a cluster they start at 1. Count again."
        )
    counts = _moved(counts, moves)
    by_row, by_column = margins(counts) if counts.shape[0] else (np.zeros(0), np.zeros(shape[1]))
    return by_row, by_column


def _load_rows(
    path: Path, rows: tuple[int, int], logs: tuple[NDArray[np.float32], NDArray[np.float32]], least: float | None,
    dtype: Any, moves: Moves | None,
) -> sparse.csr_array:  # fmt: skip
    X = pmi_rows(_moved(_counts_rows(path, rows), moves), *logs, least)
    X.data = X.data.astype(dtype, copy=False)
    return X


def _moved(counts: sparse.csr_array, moves: Moves | None) -> sparse.csr_array:
    return counts if moves is None else move_columns(counts, moves.columns, moves.n_columns)


def _counts_rows(path: Path, rows: tuple[int, int]) -> sparse.csr_array:
    """Return a range of rows of counts, read from their file."""
    _check_seen(path)
    whole = map_csr(path)
    indptr = np.asarray(whole.indptr[rows[0] : rows[1] + 1])
    part = slice(int(indptr[0]), int(indptr[-1]))
    counts: Any = sparse.csr_array((rows[1] - rows[0], whole.shape[1]), dtype=whole.dtype)
    counts.data, counts.indices = np.array(whole.data[part]), np.array(whole.indices[part])
    counts.indptr = (indptr - indptr[0]).astype(np.int32 if part.stop - part.start < 2**31 else np.int64)
    counts.has_canonical_format = True
    return counts  # type: ignore[no-any-return]


def _check_seen(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"{path}: a worker of the cluster does not see this file. Put counts and --out on storage that all workers "
            "share, under the same path."
        )
