"""A forest of the rows of any matrix, however many: learned block by block, coded block by block, kept in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.coder.estimator import ForestCoder
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.jobs.job import Job, plain, versions
from wordforest.runtime.progress import Event, Reporter
from wordforest.store.matrices import ROWS, can_begin_again, row_blocks
from wordforest.store.tensors import read_tensors, write_tensors

__all__ = ["code_rows", "fit_rows", "load_coder", "row_blocks"]
_FILE = "coder.safetensors"


def fit_rows(
    coder: ForestCoder,
    source: Any,
    *,
    passes: int = 1,
    rows: int = ROWS,
    column: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    report: Reporter | bool | None = None,
) -> ForestCoder:
    """Learn a forest from rows that need not fit into memory, and return the coder.

    Blocks of ``rows`` rows go through ``coder.partial_fit``; the first of them decides where the dictionary starts, so
    let it be large. ``transform`` and ``code_rows`` then code any rows to the end.

    Args:
        coder: What to learn, not fitted yet.
        source: Arrays, files, folders, functions or generators: see ``row_blocks``. A generator has one pass.
        passes: How often to go through all rows.
        rows: Rows of a block. The result depends on it, and on nothing else of how rows are stored.
        column: The tensor or column that holds the rows, where files have several.
        out: A folder for the coder, from which ``load_coder`` reads it; while learning it keeps a checkpoint.
        force: Overwrite the coder that ``out`` holds.
        resume: Continue after the last block that the checkpoint in ``out`` knows, to the same bits.
        report: Hears how far it is; False is silent.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.random.default_rng(0).standard_normal((1000, 8))
        >>> coder = wf.ForestCoder(trees=2, branching=(2,), active=3, center=True, init="nested", random_state=0)
        >>> blocks = lambda: (X[i : i + 100] for i in range(0, 1000, 100))
        >>> wf.interop.fit_rows(coder, blocks, rows=250).components_.shape
        (6, 8)
    """
    if passes > 1 and not can_begin_again(source):
        raise InputError("a generator has one pass. Give a function that returns one, or passes = 1.")
    if passes < 1:
        raise InputError(f"passes = {passes}, but rows are gone through at least once.")
    settings = {"coder": _params(coder), "passes": passes, "rows": rows}
    with Job(out, force=force, resume=resume, report=report) as job:
        job.begin(settings)
        done, n_seen = 0, 0
        if (found := job.checkpoint.load()) is not None:
            done, n_seen = int(found[0]["n_blocks"][0]), int(found[0].pop("n_seen")[0])
            _restore(coder, found[0])
            job.report.say(f"resuming after {done} blocks")
        number = 0
        for _ in range(passes):
            for block in row_blocks(source, rows, column=column):
                number += 1
                if number <= done:
                    continue
                coder.partial_fit(block)
                n_seen += len(block)
                job.report(Event("learn", n_seen, None, "rows"))
                job.checkpoint.save({**_state(coder), "n_seen": np.array([n_seen])}, [])
        if not number:
            raise InputError("there are no rows to learn from. Give a source that has some.")
        job.report(Event("learn", n_seen, n_seen, "rows"))
        if job.folder:
            _save(job.folder, coder, settings)
            job.end(rows=n_seen, nodes=len(coder.forest_))
    return coder


def code_rows(
    coder: ForestCoder, source: Any, *, rows: int = ROWS, column: str | None = None
) -> Iterator[sparse.csr_array]:
    """Yield the codes of rows, a sparse block (rows, M) at a time, each row coded to the end.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.random.default_rng(0).standard_normal((1000, 8))
        >>> coder = wf.ForestCoder(trees=2, branching=(2,), active=3, random_state=0).fit(X)
        >>> [codes.shape for codes in wf.interop.code_rows(coder, X, rows=600)]
        [(600, 6), (400, 6)]
    """
    for block in row_blocks(source, rows, column=column):
        yield sparse.csr_array(coder.transform(block))


def load_coder(folder: str | Path) -> ForestCoder:
    """Return the coder that ``fit_rows`` has written to a folder; it can go on learning.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.random.default_rng(0).standard_normal((100, 8))
        >>> coder = wf.ForestCoder(trees=2, random_state=0)
        >>> _ = wf.interop.fit_rows(coder, X, out="forest", force=True, report=False)
        >>> np.array_equal(wf.interop.load_coder("forest").transform(X), coder.transform(X))
        True
    """
    folder = Path(folder)
    config = store.read_json(folder / "config.json")
    if "coder" not in config:
        raise InputError(f"{folder}: no coder of fit_rows. Give a folder that fit_rows has written.")
    params = dict(config["coder"])
    if params["forest"] is not None:
        params["forest"] = Forest(params["forest"])
    coder = ForestCoder(**params)
    _restore(coder, read_tensors(folder / _FILE))
    return coder


def _save(folder: Path, coder: ForestCoder, settings: dict[str, Any]) -> None:
    write_tensors(folder / _FILE, _state(coder))
    store.write_json(folder / "config.json", {**settings, "versions": versions()})


def _state(coder: ForestCoder) -> dict[str, Any]:
    """Return all that was learned, by name."""
    beside = {"row_mean": coder.mean_} if coder.center else {}
    return {**coder.learnt_.arrays(), **beside}


def _restore(coder: ForestCoder, state: dict[str, Any]) -> None:
    if coder.center:
        coder.mean_ = state["row_mean"]
    coder.restore(state)


def _params(coder: ForestCoder) -> dict[str, Any]:
    """Return the settings of a coder as JSON has them."""
    params = coder.get_params()
    if params["forest"] is not None:
        params["forest"] = [int(parent) for parent in getattr(params["forest"], "parent", params["forest"])]
    try:
        return plain(params)
    except TypeError as error:
        raise InputError(
            "fit_rows takes coders whose settings are numbers and words: name the start, give random_state as a "
            "number, and no weights."
        ) from error
