"""Files that are written whole or not at all, and read with errors that name the place.

One process at a time writes to a folder, by a lock that goes away with it, however that ends. Several files that change
together are written aside, then take their places in one go: a full disk or a kill before that moment leaves the old
files; one after it leaves a folder ``.wordforest-ready``, and whoever opens the folder next finishes the moves.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from wordforest.errors import InputError


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a path in a folder of its own beside ``path``; it takes the place of ``path`` if the block succeeds.

    The content is on the disk before the name changes. A block that raises leaves ``path`` as it was.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist. Create it or write elsewhere.")
    if path.is_dir():
        raise InputError(f"{path}: expected a file to write, but this is a folder. Choose another name.")
    with workplace(path.parent) as place, told_as(path, place):
        temporary = place / "new"
        temporary.touch(exist_ok=False)
        mode = temporary.stat().st_mode & 0o777  # what the umask grants; safetensors would leave 0600
        yield temporary
        temporary.chmod(mode)
        _sync(temporary)
        temporary.replace(path)
    _sync(path.parent)


@contextmanager
def told_as(path: Path, place: Path) -> Iterator[None]:
    """Let errors within the block name what is to be written, not the place where that is done meanwhile."""
    try:
        yield
    except InputError as error:
        if str(place) not in str(error):
            raise
        raise InputError(str(error).replace(str(place), str(path))) from error
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(place)):
            error.filename = str(path)
        raise


@contextmanager
def replace_pair(first: Path, second: Path) -> Iterator[tuple[Path, Path]]:
    """Yield temporary paths of two files that belong together; a kill between the two leaves no ``second``."""
    with replace_file(second) as b, replace_file(first) as a:
        yield a, b
        second.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, line ends as they are."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{path}: {error.object[error.start : error.end]!r} is half of a surrogate pair "
            "and has no UTF-8 form. Remove it from the text."
        ) from error
    with replace_file(path) as temporary:
        temporary.write_bytes(content)


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 file, line ends as they are."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check the name and its rights.") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8. Write the file again, or convert its encoding.") from error


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object, two spaces a level; NumPy scalars and arrays, paths and tuples are allowed."""
    write_text(path, to_json(value, path, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds."""
    return parse_object(read_text(path), path, line=1)


def write_figure(path: Path, figure: Any, dpi: int = 200) -> None:
    """Write a figure of matplotlib in the format that the suffix names: png, svg or pdf."""
    kind = path.suffix.removeprefix(".")
    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"{path}: expected a name in .png, .svg or .pdf. Choose one of them.")
    with replace_file(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=dpi)


def to_json(value: dict[str, Any], path: Path, indent: int | None = None) -> str:
    """Return ``value`` as JSON; ``path`` is named where it holds what JSON cannot."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: a value cannot be written as JSON ({error}). Use plain finite values.") from error


def parse_object(text: str, path: Path, line: int) -> dict[str, Any]:
    """Return the JSON object in ``text``, which starts at ``line`` of ``path``."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {line + error.lineno - 1}, column {error.colno}"
        raise InputError(f"{where}: not JSON ({error.msg}). Write the file again.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {line}: not usable JSON ({error}). Write the file again.") from error
    if not isinstance(value, dict):
        raise InputError(
            f"{path}, line {line}: expected a JSON object, but a {type(value).__name__} came. Write the file again."
        )
    return value


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} {value!r}")


def _sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, on the disk."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


ALL_WORDS = "all"  # inside COUNTS: counts of all words, so that text can be added
COUNTS = "counts"  # inside RUN: the counts it was made of, where it counted text itself; a new run leaves them
CHECKPOINT = "checkpoint"  # inside both, while they are made
CODES, WINDOW_COUNTS = "codes.safetensors", "counts.safetensors"  # which make a RUN, or COUNTS, complete
SPACE = "space.safetensors"  # inside RUN, where it was learned from documents: rows of words, for documents to come
NGRAMS = "ngrams.tsv"  # inside RUN, where words are spelled: the contexts after those that were counted
SLICES = "slices.safetensors"  # inside RUN or COUNTS, where texts came in slices: their words, for compare
_SMALL = ("config.json", "vocab.tsv", "dictionary.safetensors", "forest.json", "labels.tsv", "history.jsonl")
RESULTS = (CODES, WINDOW_COUNTS, SPACE, *_SMALL, NGRAMS, "phrases.tsv", SLICES, ALL_WORDS)  # that new ones replace
TEMPORARY = ".wordforest-*.tmp"
_TAKEN = (errno.EACCES, errno.EAGAIN)
_PAUSE = 0.05  # seconds between two tries


@contextmanager
def locked(folder: Path, patience: float = 1.0) -> Iterator[None]:
    """Keep other writers out of a folder that exists; one that is still inside after ``patience`` seconds is an error.

    The lock is on the folder itself, so it leaves no file and cannot outlive a process that was killed, but for the
    moment in which a child it was just starting has not begun. File systems that know no such locks go without.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + patience
        while not _take(handle):
            if time.monotonic() >= until:
                raise InputError(
                    f"{folder}: another process is writing there. Wait until it has ended, or choose another place."
                )
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Yield a new folder inside ``folder`` for what is not finished yet; it goes away at the end.

    It is locked, so that whoever comes later can tell the workplace of a process that was killed, and remove it.
    """
    if not fnmatch(folder.name, TEMPORARY):
        remove_leftovers(folder)
    while True:
        place = folder / TEMPORARY.replace("*", secrets.token_hex(8))
        place.mkdir()
        handle = os.open(place, os.O_RDONLY)
        if _take(handle) and place.is_dir():
            break
        os.close(handle)  # somebody took it for a leftover before it was locked
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove the workplaces of processes that were killed."""
    for place in folder.glob(TEMPORARY):
        with suppress(OSError):  # somebody else was quicker
            handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            if _take(handle, without=False):
                shutil.rmtree(place)
            os.close(handle)


def _take(handle: int, *, without: bool = True) -> bool:
    """Lock what a handle stands for; where there are no locks, return ``without``."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return without
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return without and error.errno not in _TAKEN
    return True


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
    _sync(folder)
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
        _sync(folder)
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
