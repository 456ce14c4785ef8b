"""What jobs have in common: a folder to write to, left as it was if nothing comes of the job, codes, progress."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.coder.online import Step
from wordforest.progress import Event


@contextmanager
def output(out: str | Path | None, force: bool) -> Iterator[Path | None]:
    """Yield a folder that may be written to. What it holds stays until there is something to replace it.

    Folders made here go away again if nothing comes of them.
    """
    if out is None:
        yield None
        return
    folder = Path(out)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    if not (force and folder.is_dir()):
        store.prepare_folder(folder, force=force)
    try:
        tempfile.TemporaryFile(dir=folder).close()  # a folder without rights fails now, not after hours
        yield folder
    except BaseException:
        store.drop_empty_checkpoint(folder)
        with suppress(OSError):  # not empty
            for path in made:
                path.rmdir()
        raise


def replace(folder: Path, force: bool) -> None:
    """Make room for new results: with ``force``, ours that are there go away."""
    if force:
        store.remove_results(folder)


def as_codes(A: NDArray[np.float32]) -> sparse.csr_array:
    """Return codes as CSR; SciPy's own way needs four times the memory of A in between."""
    used = A != 0
    indptr = np.concatenate(([0], np.cumsum(np.count_nonzero(used, axis=1))))
    indices = np.broadcast_to(np.arange(A.shape[1], dtype=np.int32), A.shape)[used]
    return sparse.csr_array((A[used], indices, indptr), shape=A.shape)


def unit_rows(A: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return every row divided by its length; rows of zeros stay."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.asarray(np.divide(A, length, out=np.zeros_like(A), where=length > 0))


def starting(step: Step, n_words: int) -> Event:
    """Return a step of a start as progress; how many it takes is not known before."""
    return Event("start", step.words_seen % n_words or n_words, None, "words", {"objective": step.objective})


def learning(step: Step, n_words: int) -> Event:
    """Return a step of the learner as progress."""
    total = -(-step.words_seen // n_words) * n_words + n_words  # this pass and the last, exact one
    total = step.words_seen if step.last else total
    return Event("learn", step.words_seen, total, "words", {"objective": step.objective, "density": step.nonzeros})
