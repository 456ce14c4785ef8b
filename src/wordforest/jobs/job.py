"""What jobs have in common: a folder to write to, left as it was if nothing comes of the job, codes, progress."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.coder.online import Step
from wordforest.errors import InputError
from wordforest.runtime.progress import Event, Reporter


@contextmanager
def output(out: str | Path | None, force: bool, *, fresh: bool = False) -> Iterator[Path | None]:
    """Yield a folder that may be written to. What it holds stays until there is something to replace it.

    Folders made here go away again if nothing comes of them. A checkpoint that is ``fresh``, begun by this job, goes
    with bad input, which no second try would make good.
    """
    if out is None:
        yield None
        return
    folder = Path(out)
    store.check_free(folder, force=True)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with store.locked(folder):
        store.check_free(folder, force=force)
        try:
            tempfile.TemporaryFile(dir=folder).close()  # a folder without rights fails now, not after hours
            yield folder
        except BaseException as error:
            if fresh and isinstance(error, InputError):
                store.remove_checkpoint(folder)
            _leave(folder, made, error)
            raise


def _leave(folder: Path, made: list[Path], error: BaseException) -> None:
    """Leave a folder as it was, but for what a next try can go on with, which is told."""
    store.drop_empty_checkpoint(folder)
    if store.has_checkpoint(folder):
        if not isinstance(error, InputError):
            note = f"Go on where it stopped with the same command and --resume: {folder} keeps what was done."
            error.__notes__ = [note]  # of the outermost folder, where one job works inside another
        return
    with suppress(OSError):  # not empty
        for path in made:
            path.rmdir()


def replace(folder: Path, force: bool) -> None:
    """Make room for new results, which take the place of old ones in one go: what was left half made goes away."""
    if force:
        store.remove_leftovers(folder)


def as_codes(A: NDArray[Any], *, unit: bool = False) -> sparse.csr_array:
    """Return codes as CSR, divided by their lengths if asked; SciPy's own way needs four times the memory of A."""
    A = A.astype(np.float32, copy=False)
    A = unit_rows(A) if unit else A
    used = A != 0
    indptr = np.concatenate(([0], np.cumsum(np.count_nonzero(used, axis=1))))
    indices = np.broadcast_to(np.arange(A.shape[1], dtype=np.int32), A.shape)[used]
    return sparse.csr_array((A[used], indices, indptr), shape=A.shape)


def unit_rows(A: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return every row divided by its length; rows of zeros stay."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.asarray(np.divide(A, length, out=np.zeros_like(A), where=length > 0))


def starting(report: Reporter, n_words: int) -> Callable[[Step], None]:
    """Report that a start has begun, and return what reports its steps; how many it takes is not known before."""
    report(Event("start", 0, None, "words"))
    return lambda step: report(
        Event("start", step.words_seen % n_words or n_words, None, "words", {"objective": step.objective})
    )


def learning(step: Step, n_words: int) -> Event:
    """Return a step of the learner as progress."""
    total = -(-step.words_seen // n_words) * n_words + n_words  # this pass and the last, exact one
    total = step.words_seen if step.last else total
    return Event("learn", step.words_seen, total, "words", {"objective": step.objective, "density": step.nonzeros})
