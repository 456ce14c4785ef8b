"""Files that are written whole or not at all, and read with errors that name the place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from wordforest.errors import InputError
from wordforest.store.lock import workplace


class Savable(Protocol):
    """A figure of matplotlib, as far as writing it is concerned."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure."""


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
        _sync(temporary, os.O_RDWR)
        temporary.replace(path)
    sync_folder(path.parent)


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


def sync_folder(folder: Path) -> None:
    """Have changes of names on the disk."""
    if os.name == "posix":
        _sync(folder, os.O_RDONLY)


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


def write_figure(path: Path, figure: Savable, dpi: int = 200) -> None:
    """Write a figure in the format that the suffix names: png, svg or pdf."""
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


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
