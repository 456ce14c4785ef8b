"""X beyond the memory of a device: its rows stay with the processor, and blocks of them travel while others are used.

While the device multiplies with a block, threads gather the next one into pinned memory and a stream of its own copies
it. Rows are cut for ``X[rows] @ D``, contexts for ``X[rows].T @ A``,
so that no sum is ever cut: the bits are those of X on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.rows.base import DEVICE_VALUES, Rows
from wordforest.coder.rows.device import DeviceCSR, DeviceRows, add_product, numbers, rows_times
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads, free_unused, out_of_memory

Tensor = Any
Index = NDArray[np.int64]

_SMALLEST = 1 << 16  # bytes of room below which blocks do not shrink
_BLOCKS = 3  # on the device at a time: in use, sent ahead, and not yet free again
_SORTING = 40  # bytes an entry that turning a block into columns takes beside it
_BLOCK_BYTES = 96  # for a number of a block of codes: a dozen arrays of them, some in float64


def resident_or_streamed(X: Any, device: str, n_components: int, *, room: int | None = None) -> Rows:
    """Return a SciPy CSR matrix X (V, C) for learning on a device: there if it fits, else streamed.

    ``room`` is what X may take there, in bytes; if left out, what is free beside the rest of learning.
    """
    room = room_on(device, X.shape, int(X.dtype.itemsize), n_components) if room is None else room
    if X.nnz * _resident_bytes(X) <= room:
        try:
            return DeviceRows.put(X, device)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
        free_unused()
    return StreamedRows(X, device, room)


def _resident_bytes(X: Any) -> int:
    """Return what an entry takes on the device: by rows, by columns, and beside them to choose among columns."""
    return 2 * (4 + int(X.dtype.itemsize)) + 16


def room_on(device: str, shape: tuple[int, int], itemsize: int, M: int) -> int:
    """Return the bytes that are free for X beside D, XA, A and blocks of codes; at least a quarter of all that is."""
    import torch

    if device == "cpu":
        return int(np.iinfo(np.int64).max)
    V, C = shape
    free = int(torch.cuda.mem_get_info()[0])
    taken = itemsize * (6 * C + 2 * V) * M + _BLOCK_BYTES * min(V * M, DEVICE_VALUES)
    return max(free - int(taken), free // 4)


class _Piece(NamedTuple):
    """Entries of some rows: from which place of each to which, and where they go in a buffer (b + 1,)."""

    begins: Index
    ends: Index
    starts: Index
    span: tuple[int, int]  # the rows chosen, or the contexts, that these entries are all of


class StreamedRows(Rows):
    """X (V, C) in the processor's memory by rows alone; at most ``room`` bytes of the device hold blocks of it."""

    def __init__(self, X: Any, device: str, room: int) -> None:
        import torch

        self.X, self.device = X, torch.device(device)
        self.shape = int(X.shape[0]), int(X.shape[1])
        self.like = torch.as_tensor(X.data[:0]).to(self.device)
        self.room = max(int(room), _SMALLEST)
        self._indptr = X.indptr.astype(np.int64, copy=False)
        self._threads = Threads()
        self._stream: Any = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None

    @property
    def capacity(self) -> int:
        """Entries of a block."""
        item = int(self.X.dtype.itemsize)
        return max(1, self.room // (_BLOCKS * (4 + item) + _SORTING + 2 * item))

    def times(self, rows: Tensor, D: Tensor) -> Tensor:
        """Return ``X[rows] @ D``, shape (b, M)."""
        out = D.new_empty((len(rows), D.shape[1]))
        chosen = rows.cpu().numpy()

        def use(block: DeviceCSR, span: tuple[int, int]) -> None:
            out[span[0] : span[1]] = rows_times(block, numbers(span[1] - span[0], rows), D)

        self._go(lambda first: self._by_rows(chosen, first), use, len(chosen))
        return out

    def add_transposed(self, rows: Tensor, A: Tensor, out: Tensor) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M)."""
        chosen = rows.cpu().numpy()

        def use(block: DeviceCSR, span: tuple[int, int]) -> None:
            first, last = span
            indices = block.indices - first
            block = DeviceCSR(block.starts, indices, block.values).transposed(last - first)
            add_product(block, A, out[first:last])

        self._go(lambda first: self._by_contexts(chosen, first, self.shape[1]), use, self.shape[1])

    def _squares(self) -> Tensor:
        import torch

        from wordforest.coder.kernels import row_squares

        return torch.as_tensor(row_squares(self.X)).to(self.device)

    def row(self, word: int) -> Tensor:
        """Return a row as a dense vector, shape (C,)."""
        import torch

        return torch.as_tensor(self.X[[word]].toarray()[0]).to(self.device)

    def take(self, rows: Any) -> Rows:
        """Return some rows as Rows of their own, on the device if they fit."""
        return resident_or_streamed(self.X[rows], self.device.type, 1)

    def _go(
        self, pieces: Callable[[int], Iterator[_Piece]], use: Callable[[DeviceCSR, tuple[int, int]], None], n: int
    ) -> None:
        """Use all pieces in turn; where the device's memory is short, go on from there with smaller ones."""
        done = 0
        while done < n:
            try:
                with closing(self._sent(pieces(done))) as sent:
                    for block, span in sent:
                        use(block, span)
                        done = span[1]
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                self._shrink(error)

    def _shrink(self, error: RuntimeError) -> None:
        """Halve the room, or give up."""
        if self.room <= _SMALLEST:
            raise InputError(
                f"the GPU has too little memory for blocks of X of {self.room} bytes beside the dictionary and the "
                "codes. Use fewer components, or the device cpu."
            ) from error
        self.room //= 2
        free_unused()

    def _by_rows(self, rows: Index, first: int) -> Iterator[_Piece]:
        """Cut rows, from the first on, into pieces of at most the capacity, but of one row at least."""
        begins, ends = self._indptr[rows], self._indptr[rows + 1]
        total = np.concatenate(([0], np.cumsum(ends - begins)))
        while first < len(rows):
            last = int(np.searchsorted(total, total[first] + self.capacity, "right")) - 1
            last = max(last, first + 1)
            part = slice(first, last)
            starts = total[first : last + 1] - total[first]
            yield _Piece(begins[part], ends[part], starts, (first, last))
            first = last

    def _by_contexts(self, rows: Index, first: int, end: int) -> Iterator[_Piece]:
        """Cut contexts from first to end into ranges whose entries in these rows are at most the capacity."""
        from wordforest.coder.kernels import compiled

        last = end
        while first < end:
            begins, ends = compiled.entries_between(self.X.indices, self._indptr, rows, first, last)
            starts = np.concatenate(([0], np.cumsum(ends - begins)))
            if starts[-1] > self.capacity and last - first > 1:
                last = (first + last) // 2
                continue
            yield _Piece(begins, ends, starts, (first, last))
            first, last = last, min(end, last + 2 * (last - first))

    def _sent(self, pieces: Iterator[_Piece]) -> Generator[tuple[DeviceCSR, tuple[int, int]], None, None]:
        """Yield pieces on the device; the next one is gathered and sent while one is in use."""
        with ThreadPoolExecutor(1) as ahead:
            waiting = ahead.submit(self._send, next(pieces, None))
            while (sent := waiting.result()) is not None:
                waiting = ahead.submit(self._send, next(pieces, None))
                yield sent

    def _send(self, piece: _Piece | None) -> tuple[DeviceCSR, tuple[int, int]] | None:
        """Gather a piece, and return it when it has arrived on the device."""
        import torch

        if piece is None:
            return None
        n, on_gpu = int(piece.starts[-1]), self._stream is not None
        kinds = torch.int32, self.like.dtype
        indices, values = (torch.empty(n, dtype=kind, pin_memory=on_gpu) for kind in kinds)  # pinned memory is kept
        self._gather(piece, indices.numpy(), values.numpy())
        here = torch.as_tensor(piece.starts), indices, values
        if not on_gpu:
            return DeviceCSR(*here), piece.span
        with torch.cuda.stream(self._stream):
            there = [part.to(self.device, non_blocking=True) for part in here]
        self._stream.synchronize()
        for part in there:
            part.record_stream(torch.cuda.default_stream(self.device))
        return DeviceCSR(*there), piece.span

    def _gather(self, piece: _Piece, indices: NDArray[Any], values: NDArray[Any]) -> None:
        """Copy the entries of a piece side by side, by all threads."""
        from wordforest.coder.kernels import compiled

        cuts = np.searchsorted(piece.starts, np.linspace(0, piece.starts[-1], 4 * self._threads.n_workers + 1))
        cuts[0], cuts[-1] = 0, len(piece.begins)

        def copy(k: int) -> None:
            part = slice(cuts[k], cuts[k + 1])
            compiled.copy_entries(
                self.X.data, self.X.indices, piece.begins[part], piece.ends[part], piece.starts[part], values, indices
            )

        list(self._threads.map(copy, range(len(cuts) - 1)))
