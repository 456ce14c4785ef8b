"""From counts to Rows, and from codes to CSR: in memory, on a GPU, or by the workers of a cluster and through files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.losses import Weighing, discount, weighing
from wordforest.coder.rows import Rows, place_rows
from wordforest.coder.rows.base import HELD, Loss, equal_ranges
from wordforest.coder.rows.cluster import ClusterRows, Part
from wordforest.counts import harmonic_weights
from wordforest.counts.association import ONE_THREAD, Allocate, Place, counts_at, log_margins, margins, parts, pmi_rows
from wordforest.counts.spelling import beside, by_rows, spell
from wordforest.counts.windows import narrow
from wordforest.errors import InputError
from wordforest.jobs.count import Counted, associate
from wordforest.jobs.job import Job
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.disk import arrays_in
from wordforest.runtime.machine import Executor
from wordforest.runtime.progress import Event
from wordforest.settings import AssociationSettings
from wordforest.store.tensors import map_csr, write_csr_parts

Discounts = tuple[NDArray[np.float32], NDArray[np.float32]]  # factors of the counts of rows and of columns
_VALUES = 1 << 17  # codes that are turned into sparse ones at a time


def at_once() -> None:
    """Wait for nothing."""


@dataclass(frozen=True)
class Matrix:
    """What X is to be: association, type of numbers, and where.

    ``weights`` says how much stored pairs count, ``zeros`` how much the others do. Counts times ``moves`` have their
    columns where those of other counts are. ``spelling`` (V, G) has columns to stand beside those of the counts.
    ``awake`` waits until the device can be used.
    """

    association: AssociationSettings
    n_components: int
    weights: str = "none"
    zeros: float = 1.0
    dtype: str = "float32"
    device: str = "cpu"
    moves: sparse.csr_array | None = None
    spelling: sparse.csr_array | None = None
    allocate: Allocate = np.empty
    awake: Callable[[], None] = at_once

    @property
    def least(self) -> float | None:
        """What is not above it is not stored."""
        return None if self.association.measure == "pmi" else self.association.shift

    def n_columns(self, counts: sparse.csr_array) -> int:
        """Return C, for counts whose columns were moved."""
        return int(counts.shape[1]) + (0 if self.spelling is None else self.spelling.shape[1])


def rows_of_counts(job: Job, counted: Counted, matrix: Matrix) -> tuple[Rows, Loss]:
    """Return X (V, C) where the job computes, and the loss over its pairs."""
    unit = _unit(counted.config)
    if isinstance(job.executor, Cluster):
        return _on_cluster(job, job.executor, counted, matrix, unit)
    counts = replace(counted.counts, matrix=_moved(counted.counts.matrix, matrix.moves))
    matrix.awake()
    if matrix.device != "cpu":
        from wordforest.jobs.device_rows import device_rows, fits

        if fits(counts.matrix, matrix):
            return device_rows(counts.matrix, matrix, unit)
    X = associate(counts, matrix.association, allocate=matrix.allocate, executor=job.executor)
    X, weights = weighed(X, counts.matrix, matrix.weights, unit, job.executor)
    weights = spelled_weights(X, weights, matrix)
    X = with_spelling(X, matrix)
    X.data = X.data.astype(matrix.dtype, copy=False)
    rows = place_rows(X, matrix.device, matrix.n_components, job.executor)
    return rows, Loss(weights, matrix.zeros)


def spelled(words: Sequence[str], settings: AssociationSettings) -> tuple[sparse.csr_array | None, dict[str, int]]:
    """Return the columns of spelling that the settings ask for, and the n-grams with their numbers of words."""
    return spell(words, settings.spelling) if settings.spelling else (None, {})


def with_spelling(X: sparse.csr_array, matrix: Matrix) -> sparse.csr_array:
    """Return X with the columns of spelling, where there are any; X itself may lose its values."""
    return X if matrix.spelling is None else beside(X, matrix.spelling, matrix.allocate)


def spelled_weights(X: sparse.csr_array, weights: NDArray[Any] | None, matrix: Matrix) -> NDArray[Any] | None:
    """Return the weights of the pairs of ``with_spelling``, given those of X: n-grams were not counted, so 1 is theirs.

    Only the weights |x| look at values alone, and at those of n-grams, too.
    """
    if weights is None or (S := matrix.spelling) is None:
        return weights
    return by_rows(X, S, weights, np.ones_like(S.data) if weighing(matrix.weights).of_counts else abs(S.data))


def weighed(
    X: sparse.csr_array, counts: sparse.csr_array, kind: str, unit: int, executor: Executor = ONE_THREAD
) -> tuple[sparse.csr_array, NDArray[Any] | None]:
    """Return X and the weights (nnz,) of its stored pairs for ``--weights KIND``; None stands for 1.

    Where the weights leave out pairs that were hardly seen, X has fewer. ``unit`` is what a pair at distance one is
    counted as. The bits are the same for any ``executor``.
    """
    if kind == "none":
        return X, None
    own = weighing(kind)
    if not own.of_counts:
        return X, own(X.data, X.data)
    factors = _discounts(own, *margins(counts, executor)) if own.threshold else None
    X, seen, total = _seen_enough(X, counts, own, unit, factors, executor)

    def weigh(place: Place) -> None:
        seen[place[1]] = own(X.data[place[1]], seen[place[1]], total / max(1, X.nnz))

    list(executor.map(weigh, parts(X)))
    return X, seen


def _seen_enough(
    X: sparse.csr_array,
    counts: sparse.csr_array,
    own: Weighing,
    unit: int,
    factors: Discounts | None,
    executor: Executor = ONE_THREAD,
) -> tuple[sparse.csr_array, NDArray[Any], float]:
    """Return the pairs of X that were seen often enough to be stored, how often, and the sum of that."""
    seen, total = _seen(X, counts, unit, factors, executor)
    if own.least is None:
        return X, seen, total
    least, places = X.dtype.type(own.least), list(parts(X))

    def sizes(place: Place) -> NDArray[Any]:
        rows, pairs = place
        before = np.concatenate(([0], np.cumsum(seen[pairs] >= least)))
        return np.diff(before[X.indptr[rows.start : rows.stop + 1] - pairs.start])

    starts = np.concatenate(([0], np.cumsum(np.concatenate(list(executor.map(sizes, places))))))
    out: Any = sparse.csr_array(X.shape, dtype=X.dtype)
    out.data, out.indices, often = (np.empty(starts[-1], kind) for kind in (X.dtype, X.indices.dtype, seen.dtype))
    out.indptr, out.has_canonical_format = starts.astype(X.indptr.dtype), True

    def move(place: Place) -> float:
        rows, pairs = place
        kept, to = seen[pairs] >= least, slice(starts[rows.start], starts[rows.stop])
        out.data[to], out.indices[to], often[to] = X.data[pairs][kept], X.indices[pairs][kept], seen[pairs][kept]
        return float(often[to].sum(dtype=np.float64))

    return out, often, sum(executor.map(move, places))


def _discounts(own: Weighing, n_v: NDArray[Any], n_c: NDArray[Any]) -> Discounts | None:
    """Return what counts are multiplied by for their row and for their column, where weights ask for it."""
    return None if own.threshold is None else (discount(n_v, own.threshold), discount(n_c, own.threshold))


def _seen(
    X: sparse.csr_array, counts: sparse.csr_array, unit: int, factors: Discounts | None, executor: Executor = ONE_THREAD
) -> tuple[NDArray[Any], float]:
    """Return how often the stored pairs of X were seen, (nnz,), less what is discounted, and the sum of it."""
    n = counts_at(X, counts)

    def divide(place: Place) -> float:
        rows, pairs = place
        n[pairs] /= n.dtype.type(unit)
        if factors is not None:
            n[pairs] *= np.repeat(factors[0][rows], np.diff(X.indptr[rows.start : rows.stop + 1]))
            n[pairs] *= factors[1][X.indices[pairs]]
        return float(n[pairs].sum(dtype=np.float64))

    return n, sum(executor.map(divide, parts(X)))


def _unit(config: Mapping[str, Any]) -> int:
    """Return what a pair of neighbours is counted as: with a dynamic window, a multiple of all distances."""
    return int(harmonic_weights(int(config["window"]))[0]) if config.get("dynamic_window") else 1


def _on_cluster(job: Job, cluster: Cluster, counted: Counted, matrix: Matrix, unit: int) -> tuple[ClusterRows, Loss]:
    assert counted.folder  # noqa: S101 counts for a cluster are in a folder
    if matrix.device != "cpu":
        raise InputError(f"device = {matrix.device}, but a cluster computes on processors. Leave out --device.")
    source = CountedRows.of(counted.folder, matrix, unit, cluster)
    rows, coded = ClusterRows(source, cluster), 0

    def on_words(n: int) -> None:
        nonlocal coded
        coded += n
        job.report(Event("code", coded, None, "words"))

    rows.on_words = on_words
    if job.folder is not None:
        rows.allocate = arrays_in(job.folder)
    return rows, Loss(None if matrix.weights == "none" else HELD, matrix.zeros)


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The association of words and contexts, made by the workers from counts in a folder that they all see."""

    path: Path  # of the window counts
    matrix: Matrix
    unit: int
    n_columns: int
    log_v: NDArray[np.float32]
    log_c: NDArray[np.float32]
    first: int = 0  # row that log_v begins with
    factors: Discounts | None = None  # of counts, for weights; the rows from the first on
    mean: float | None = None  # of the counts of stored pairs, discounted

    @classmethod
    def of(cls, folder: Path, matrix: Matrix, unit: int, cluster: Cluster) -> CountedRows:
        """Return the rows for the counts of a folder; workers add up the margins."""
        path, moves = (folder / "counts.safetensors").resolve(), matrix.moves
        counts = map_csr(path)
        ranges = equal_ranges(np.diff(counts.indptr).astype(np.int64) + 1, cluster.n_parts)
        by_row, by_column = zip(*cluster.map(partial(_margins_of, path, moves), ranges), strict=True)
        n_v, n_c = np.concatenate(by_row), np.sum(by_column, axis=0)
        logs, own = log_margins(n_v, n_c, matrix.association.smoothing), weighing(matrix.weights)
        n_columns = (counts if moves is None else moves).shape[1]
        found = cls(path, matrix, unit, n_columns, *logs, factors=_discounts(own, n_v, n_c))
        if own.kind != "count":
            return found
        sums, sizes = zip(*cluster.map(_sum_of_counts, [found.part(*rows) for rows in ranges]), strict=True)
        return replace(found, mean=sum(sums) / max(1, sum(sizes)))

    @property
    def shape(self) -> tuple[int, int]:
        """V and C."""
        return len(self.log_v), self.n_columns + (0 if self.matrix.spelling is None else self.matrix.spelling.shape[1])

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return np.dtype(self.matrix.dtype)

    @property
    def exact(self) -> bool:
        """Whether all counted pairs are stored."""
        return self.matrix.least is None and self.matrix.moves is None and weighing(self.matrix.weights).least is None

    def most_entries(self) -> NDArray[Any]:
        """Return the counted pairs of every row, (V,); some may meet, or go, when columns are moved."""
        counted = np.diff(map_csr(self.path).indptr)
        return counted if self.matrix.spelling is None else counted + np.diff(self.matrix.spelling.indptr)

    def load(self, first: int, last: int) -> partial[Part]:
        """Return what makes a range of rows, and the weights of their pairs."""
        return partial(_load, self.part(first, last))

    def part(self, first: int, last: int) -> CountedRows:
        """Return a range of the rows: what a worker needs to make them."""
        factors = self.factors and (self.factors[0][first:last], self.factors[1])
        spelling = None if self.matrix.spelling is None else self.matrix.spelling[first:last]
        matrix = replace(self.matrix, spelling=spelling)
        return replace(self, matrix=matrix, log_v=self.log_v[first:last], first=first, factors=factors)

    def associate(self) -> tuple[sparse.csr_array, NDArray[Any], float]:
        """Return X, float32, and how often its pairs were seen, where weights look at that, with the sum."""
        counts = _moved(_counts_rows(self.path, (self.first, self.first + len(self.log_v))), self.matrix.moves)
        X = pmi_rows(counts, self.log_v, self.log_c, self.matrix.least)
        own = weighing(self.matrix.weights)
        if not (X.nnz and own.of_counts):
            return X, np.empty(0, X.dtype), 0.0
        return _seen_enough(X, counts, own, self.unit, self.factors)


def _load(rows: CountedRows) -> Part:
    X, seen, _ = rows.associate()
    weights = spelled_weights(X, weighing(rows.matrix.weights)(X.data, seen, rows.mean), rows.matrix)
    X = with_spelling(X, rows.matrix)
    X.data = X.data.astype(rows.dtype, copy=False)
    return Part(X, weights)


def _sum_of_counts(rows: CountedRows) -> tuple[float, int]:
    """Return how often the stored pairs of some rows were seen, and their number."""
    _, seen, total = rows.associate()
    return total, len(seen)


def _margins_of(path: Path, moves: sparse.csr_array | None, rows: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any]]:
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
    return margins(_moved(counts, moves))


def _moved(counts: sparse.csr_array, moves: sparse.csr_array | None) -> sparse.csr_array:
    if moves is None:
        return counts
    moved = sparse.csr_array(counts @ moves)
    moved.sort_indices()
    moved.data = narrow(moved.data)
    return moved


def _counts_rows(path: Path, rows: tuple[int, int]) -> sparse.csr_array:
    """Return a range of rows of counts, read from their file."""
    if not path.is_file():
        raise InputError(
            f"{path}: a worker of the cluster does not see this file. Put counts and --out on storage that all workers "
            "share, under the same path."
        )
    whole = map_csr(path)
    indptr = np.asarray(whole.indptr[rows[0] : rows[1] + 1])
    part = slice(int(indptr[0]), int(indptr[-1]))
    counts: Any = sparse.csr_array((rows[1] - rows[0], whole.shape[1]), dtype=whole.dtype)
    counts.data, counts.indices = np.array(whole.data[part]), np.array(whole.indices[part])
    counts.indptr = (indptr - indptr[0]).astype(np.int32 if part.stop - part.start < 2**31 else np.int64)
    counts.has_canonical_format = True
    return counts  # type: ignore[no-any-return]


def as_codes(
    A: NDArray[Any], *, unit: bool = False, file: Path | None = None, executor: Executor = ONE_THREAD
) -> sparse.csr_array:
    """Return codes (V, M) as CSR, some rows at a time: SciPy's own way needs four times the memory of A.

    With ``unit`` every row is divided by its length; with ``file`` they are written there, and left there.
    """
    n = max(1, _VALUES // A.shape[1])
    blocks = [slice(start, start + n) for start in range(0, len(A), n)]

    def taken(block: slice) -> NDArray[np.float32]:
        rows = A[block].astype(np.float32, copy=False)
        return unit_rows(rows) if unit else rows

    sizes = executor.map(lambda block: np.count_nonzero(taken(block), axis=1), blocks)
    indptr = np.concatenate(([0], np.cumsum(np.concatenate(list(sizes)))))

    def filled(block: slice) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        rows = taken(block)
        _, columns = np.nonzero(rows)
        return columns.astype(np.int32), rows[rows != 0]

    if file is not None:
        write_csr_parts(file, (len(A), A.shape[1]), indptr, np.dtype(np.float32), executor.map(filled, blocks))
        return map_csr(file)
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)

    def put(block: slice) -> None:
        place = slice(indptr[block.start], indptr[min(block.stop, len(A))])
        indices[place], values[place] = filled(block)

    list(executor.map(put, blocks))
    return sparse.csr_array((values, indices, indptr), shape=A.shape)


def unit_rows(A: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return every row divided by its length; rows of zeros stay."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.asarray(np.divide(A, length, out=np.zeros_like(A), where=length > 0))
