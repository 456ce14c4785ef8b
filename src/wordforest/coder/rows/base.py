"""What any home of X offers, and nothing more.

A home is a class: ``HostRows`` (a CSR or dense matrix in memory), ``DeviceRows`` and ``StreamedRows`` (on a GPU, or
sent there in blocks), ``ClusterRows`` (on the workers of a Dask cluster).

A sum of floats depends on its order, and a block of words is solved with its neighbours. So both are fixed here, by the
data and the number of dimensions alone: blocks lie inside a shard and are added up one after the other, then the sums
of the shards. Whoever computes a shard, thread or machine, the bits are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import kernels
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor, Threads

if TYPE_CHECKING:
    from wordforest.coder.rows.weighted import Side
Array = Any  # a NumPy array or a PyTorch tensor
Words = dict[str, Array]  # what is known of every word, by name, a row for each: codes (V, M), losses (V,), ...
B = TypeVar("B")
R = TypeVar("R")
BLOCK_VALUES = 1 << 17  # numbers in a block of codes, which stays in a core's cache: half a megabyte in float32
DEVICE_VALUES = 1 << 27  # on a GPU, so that it has enough to do: half a gigabyte in float32
HELD = "held by the rows"  # in place of weights, where the home of X has them


@dataclass(frozen=True, eq=False)
class Loss:
    """A squared loss that counts some pairs more than others.

        sum over stored (v, c) of w_vc (x_vc - d_c . a_v)^2
            +  W sum over unstored (v, c) of (d_c . a_v)^2

    ``weights`` (nnz,) is w in the order of ``X.data``, 1 if left out, HELD if X has them itself; ``zeros`` is W.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> wf.coder.Loss().is_plain
        True
        >>> wf.coder.Loss(np.array([0.5, 2.0]), zeros=0.1).heaviest
        2.0
    """

    weights: Any = None
    zeros: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.zeros) and self.zeros >= 0):
            raise InputError(f"zeros = {self.zeros}, but the weight of pairs not stored must be a finite number >= 0.")
        if isinstance(self.weights, list):
            object.__setattr__(self, "weights", np.asarray(self.weights))

    @property
    def is_plain(self) -> bool:
        """Whether all pairs count alike, so that XD and DD tell all."""
        return self.weights is None and self.zeros == 1

    @property
    def heaviest(self) -> float:
        """The largest weight, where it is known, at least 1."""
        known = self.weights is not None and self.weights is not HELD
        return max(1.0, float(self.weights.max())) if known and len(self.weights) else 1.0

    def check(self, n_pairs: int) -> None:
        """Refuse weights that do not fit so many stored pairs, or that are negative, infinite or NaN."""
        if self.weights is None or self.weights is HELD:
            return
        weights = self.weights
        if tuple(weights.shape) != (n_pairs,):
            raise InputError(
                f"weights have shape {tuple(weights.shape)}, but X stores {n_pairs} pairs. Give one weight for each."
            )
        low, high = (float(weights.min()), float(weights.max())) if n_pairs else (0.0, 0.0)
        if not (low >= 0 and np.isfinite(high)):
            raise InputError("a weight is negative, infinite or NaN. Weights of pairs must be finite numbers >= 0.")


class Rows(ABC):
    """X (V, C), somewhere. ``like`` is an empty array of the library, device and type that learning computes with."""

    shape: tuple[int, int]
    like: Array
    executor: Executor = Threads(1)  # computes with arrays beside X, such as the dictionary
    known_squares: Array | None = None
    _weighed: tuple[Loss, int, tuple[Side, Side]] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(str(self.like.dtype).removeprefix("torch."))

    @abstractmethod
    def times(self, rows: Array, D: Array) -> Array:
        """Return ``X[rows] @ D``, shape (b, M)."""

    @abstractmethod
    def add_transposed(self, rows: Array, A: Array, out: Array) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M)."""

    def all_times(self, D: Array) -> Array:
        """Return ``X @ D``, shape (V, M), block by block."""
        out = kernels.zeros((self.shape[0], D.shape[1]), D)
        blocks = self.all_blocks(D.shape[1])
        for block, product in zip(blocks, self.map(lambda block: self.times(block, D), blocks), strict=True):
            out[block] = product
        return out

    def squares(self) -> Array:
        """Return ``|x_v|^2`` of every row, shape (V,), float64."""
        if self.known_squares is None:
            self.known_squares = self._squares()
        return self.known_squares

    def lengths(self) -> NDArray[Any]:
        """Return ``|x_v|`` of every row, 1 where it is zero, shape (V,), float64, on the host."""
        lengths = np.sqrt(kernels.on_host(self.squares()))
        return np.where(lengths > 0, lengths, 1.0)

    @abstractmethod
    def _squares(self) -> Array:
        """Compute them."""

    @abstractmethod
    def row(self, word: int) -> Array:
        """Return a row as a dense vector, shape (C,)."""

    @abstractmethod
    def take(self, rows: Array) -> Rows:
        """Return some rows, given by NumPy, as Rows of their own: a sample."""

    def sample(self, rows: Array, loss: Loss) -> tuple[Rows, Loss]:
        """Return some rows as Rows of their own, and the loss over their pairs."""
        if loss.is_plain:
            return self.take(rows), loss
        raise InputError(f"{type(self).__name__} cannot take the weights of pairs along. Give lam as a number.")

    @property
    def words_here(self) -> int:
        """Words whose codes take memory of this process."""
        return self.shape[0]

    def shards(self, n_components: int) -> list[Range]:  # noqa: ARG002 of the host and of a cluster
        """Return ranges of rows whose sums are made apart. They depend on the data and on M, never on the workers."""
        return [(0, self.shape[0])]

    def blocks(self, rows: Array, n_components: int) -> list[Array]:
        """Deal rows out to blocks that are coded together."""
        return split_blocks(rows, n_components, DEVICE_VALUES)

    def map(self, function: Callable[[B], R], blocks: Iterable[B]) -> Iterator[R]:
        """Yield ``function(block)`` for every block, in order."""
        return map(function, blocks)

    def all_blocks(self, n_components: int) -> list[Array]:
        """Return all rows in blocks, shard by shard."""
        rows = self.numbers(self.shape[0])
        shards = self.shards(n_components)
        return [block for shard in shards for block in self.blocks(rows[slice(*shard)], n_components)]

    def run(self, task: Callable[..., R], words: Words, batch: Array, shared: Any) -> list[R]:
        """Run ``task(rows, words, batch, shared)`` where the rows of a batch are, and return what it returns.

        A task may change what ``words`` hold of the batch. On a cluster it runs once for each part of X.
        """
        return [task(self, words, batch, shared)]

    def run_and_add(
        self, task: Callable[..., tuple[Array, R]], words: Words, batch: Array, shared: Any, out: Array
    ) -> list[R]:
        """As ``run``, for a task that also returns a change of codes; add ``X[batch].T @ change`` to ``out``."""
        change, result = task(self, words, batch, shared)
        self.add_transposed(batch, change, out)
        return [result]

    def weighted(self, loss: Loss, n_components: int) -> tuple[Side, Side]:
        """Return the words' and the contexts' side of a weighted loss over the stored pairs; kept for the next time."""
        if self._weighed is None or self._weighed[:2] != (loss, n_components):
            self._weighed = (loss, n_components, self._sides(loss, n_components))
        return self._weighed[2]

    def _sides(self, loss: Loss, n_components: int) -> tuple[Side, Side]:  # noqa: ARG002 those that can say how
        """Make them."""
        raise InputError(
            f"{type(self).__name__} has no pairs to weigh: X is a tensor, or too large for the memory of the GPU. Use "
            "the device cpu, or a sparse matrix."
        )

    def pairs(self) -> Any:
        """Return the stored pairs as a SciPy CSR matrix in this machine's memory, for the learner that visits them."""
        raise InputError(
            f"the learner entries visits pairs in this machine's memory, but X is {type(self).__name__}. "
            "Give a SciPy sparse matrix and the device cpu, or use the learner online."
        )

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return room for something with a row for every word, filled with zeros; in a file where it may be large."""
        return kernels.zeros(shape, self.like)

    def own(self, values: Array) -> Array:
        """Return a copy of values, of the type of X and where learning computes."""
        return kernels.copied(values, self.like)

    def numbers(self, n: int) -> Array:
        """Return 0 .. n - 1, where learning computes."""
        return kernels.placed(np.arange(n), self.like)

    def finite_squares(self) -> Array:
        """Return ``|x_v|^2`` of every row after checking that all can be computed with."""
        squares = self.squares()
        bad = np.flatnonzero(~np.isfinite(kernels.on_host(squares)))
        if len(bad):
            raise InputError(
                f"row {bad[0]} of X holds NaN, infinity or values too large to square. Mend or scale the data."
            )
        return squares


def split_blocks(rows: Array, n_components: int, values: int = BLOCK_VALUES) -> list[Array]:
    """Deal rows out to blocks of so many values of codes. Never by the workers: bits would depend on them.

    Dealt like playing cards, since rows in order of frequency have ever fewer entries.
    """
    n_blocks = -(-len(rows) * n_components // values)
    return [rows[i::n_blocks] for i in range(n_blocks)]


Range = tuple[int, int]
_CONTEXT_RANGES = 16
SAMPLE = 61  # every so many entries tell how full the contexts are
_SHARD_COST = 1 << 22  # entries; a shard is a second of work in a pass at most, and some milliseconds of a step
_MOST_SHARDS = 128  # the sums of shards, (M, M) each, meet in one place
_ROW_COST = 10  # coding a row takes as long as this many entries for every dimension


def shard_rows(sizes: NDArray[np.integer[Any]], n_components: int) -> list[Range]:
    """Cut rows with so many entries, (V,), into ranges that take about equally long to code.

    >>> shard_rows(np.full(2048, 5000), 13)
    [(0, 683), (683, 1366), (1366, 2048)]
    """
    cost = row_costs(sizes, n_components)
    return equal_ranges(cost, min(-(-int(cost.sum()) // _SHARD_COST), _MOST_SHARDS))


def row_costs(sizes: NDArray[np.integer[Any]], n_components: int) -> NDArray[np.int64]:
    """Return how long rows with so many entries take to code, (V,), in entries."""
    return sizes.astype(np.int64) + _ROW_COST * n_components


def equal_ranges(cost: NDArray[np.int64], n: int) -> list[Range]:
    """Cut (V,) costs into n ranges with about equal sums, or fewer where there is too little."""
    if not len(cost):
        return []
    ends = np.cumsum(cost)
    inner = np.searchsorted(ends, np.arange(1, n) * (int(ends[-1]) / n)) + 1
    return list(pairwise(np.unique([0, *inner[inner < len(cost)], len(cost)]).tolist()))


def row_sizes(X: Any) -> NDArray[np.integer[Any]]:
    """Return the number of entries of every row of X (V, C), CSR or dense, shape (V,)."""
    return np.full(X.shape[0], X.shape[1]) if isinstance(X, np.ndarray) else np.diff(X.indptr)


def split_rows(rows: Array, ranges: list[Range]) -> list[slice]:
    """Return where the rows of each range stand among sorted rows."""
    if len(ranges) < 2:
        return [slice(0, len(rows)) for _ in ranges]
    borders = np.searchsorted(rows, [first for first, _ in ranges] + [ranges[-1][1]]).tolist()
    return [slice(a, b) for a, b in pairwise(borders)]


def context_ranges(X: Any) -> list[Range]:
    """Cut the contexts into ranges with about equally many entries, so that workers share no row of XA."""
    C = X.shape[1]
    used = np.ones(C) if isinstance(X, np.ndarray) else np.bincount(X.indices[::SAMPLE], minlength=C)
    shares = np.linspace(0, used.sum(), _CONTEXT_RANGES + 1)[1:-1]
    borders = np.unique([0, *np.searchsorted(np.cumsum(used), shares), C]).tolist()
    return list(pairwise(borders))
