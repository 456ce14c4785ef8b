"""Several files that change together: all are written aside, then take their places in one go.

A full disk or a kill before that moment leaves the old files; one after it leaves a folder ``.wordforest-ready``, and
whoever opens the folder next finishes the moves.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wordforest.errors import InputError
from wordforest.store.files import read_json, sync_folder, told_as, write_json
from wordforest.store.layout import RESULTS
from wordforest.store.lock import locked, workplace

READY = ".wordforest-ready"
_PLAN = "plan.json"


@contextmanager
def replaced(folder: Path, known: Sequence[str], last: str) -> Iterator[Path]:
    """Yield an empty folder to write to; all in it takes the place of the ``known`` names if the block succeeds.

    ``last`` is the file that makes a folder complete: it goes first and comes last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _finish(folder)
    with workplace(folder) as staging, told_as(folder, staging):
        yield staging
        names = sorted((path.name for path in staging.iterdir()), key=lambda name: (name == last, name))
        for name in names:
            if (folder / name).is_dir() and not _is_ours(folder / name):
                raise InputError(f"{folder / name}: a file or folder of results belongs here. Rename this folder.")
        write_json(staging / _PLAN, {"remove": [name for name in known if name not in names], "move": names})
        staging.rename(folder / READY)
    sync_folder(folder)
    _finish(folder)


def settle(folder: Path) -> None:
    """Finish what a process that was killed had begun to put in place, unless one is at work there now."""
    if (folder / READY).is_dir():
        with suppress(InputError, OSError), locked(folder, patience=0.0):
            _finish(folder)


def _finish(folder: Path) -> None:
    """Make the moves that are left; may be broken off anywhere and begun again."""
    ready = folder / READY
    if not (ready / _PLAN).is_file():
        shutil.rmtree(ready, ignore_errors=True)
        return
    plan = read_json(ready / _PLAN)
    last = plan["move"][-1]
    if (ready / last).exists():
        for name in [last, *plan["remove"]]:
            _remove(folder / name)
        for name in plan["move"]:
            if (ready / name).exists():
                if (folder / name).is_dir():
                    _remove(folder / name)
                os.replace(ready / name, folder / name)  # noqa: PTH105 of a folder, too
        sync_folder(folder)
    (ready / _PLAN).unlink()
    shutil.rmtree(ready)


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    elif _is_ours(path):
        shutil.rmtree(path)


def _is_ours(folder: Path) -> bool:
    """Return whether a folder inside results is one of theirs: counts, or what a broken removal left of them."""
    return not folder.is_symlink() and {path.name for path in folder.iterdir()} <= {*RESULTS}
