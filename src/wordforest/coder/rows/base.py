"""What any home of X offers, and nothing more.

A home is a class: ``HostRows`` (a CSR or dense matrix in memory), ``DeviceRows`` and ``StreamedRows`` (on a GPU, or
sent there in blocks), ``ClusterRows`` (on the workers of a Dask cluster).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.rows.shards import Range
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor, Threads

if TYPE_CHECKING:
    from wordforest.coder.losses import Loss
    from wordforest.coder.rows.weighted import Side

Array = Any  # a NumPy array or a PyTorch tensor
Words = dict[str, Array]  # what is known of every word, by name, a row for each: codes (V, M), losses (V,), ...
B = TypeVar("B")
R = TypeVar("R")

BLOCK_VALUES = 1 << 17  # numbers in a block of codes, which stays in a core's cache: half a megabyte in float32
DEVICE_VALUES = 1 << 27  # on a GPU, so that it has enough to do: half a gigabyte in float32


class Rows(ABC):
    """X (V, C), somewhere. ``like`` is an empty array of the library, device and type that learning computes with."""

    shape: tuple[int, int]
    like: Array
    executor: Executor = Threads(1)  # computes with arrays beside X, such as the dictionary
    known_squares: Array | None = None

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

    def squares(self) -> Array:
        """Return ``|x_v|^2`` of every row, shape (V,), float64."""
        if self.known_squares is None:
            self.known_squares = self._squares()
        return self.known_squares

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

    def weighted(self, loss: Loss, n_components: int) -> tuple[Side, Side]:  # noqa: ARG002 those that can say how
        """Return the words' and the contexts' side of a weighted loss over the stored pairs."""
        raise InputError(
            f"{type(self).__name__} has no pairs to weigh: X is a tensor, or too large for the memory of the GPU. Use "
            "the device cpu, or a sparse matrix."
        )

    def pairs(self) -> Any:
        """Return the stored pairs as a SciPy CSR matrix in this machine's memory, for the learner that visits them."""
        raise InputError(
            f"{type(self).__name__} does not keep stored pairs on this machine. Give a SciPy sparse matrix, or use the "
            "learner online."
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
