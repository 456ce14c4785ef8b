"""Rows of a matrix in blocks, from wherever they are: arrays, files, folders of them, functions, generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError

Block = NDArray[Any]
ROWS = 1 << 16
_PIECE = 1 << 14  # rows of a file that are read at a time


def row_blocks(source: Any, rows: int = ROWS, *, column: str | None = None) -> Iterator[Block]:
    """Yield the rows of a matrix (V, C) in dense blocks (rows, C), float32 or float64; the last may be smaller.

    Blocks do not depend on how rows are spread over files, and no more than two blocks are in memory.

    Args:
        source: An array or memory map; the path of a file (``.npy``, ``.safetensors``, ``.parquet``), of a folder of
            such files or a pattern like ``part-*.npy``, in the order of their names; a list of paths; an iterable of
            arrays (n, C), or a function that returns one.
        rows: How many rows a block has.
        column: The tensor of ``.safetensors`` files, or the column of lists in ``.parquet`` files; if left out, the
            only one with two dimensions, or all columns of numbers.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> parts = (np.ones((n, 4)) for n in (3, 5, 2))
        >>> [block.shape for block in wf.interop.row_blocks(parts, rows=4)]
        [(4, 4), (4, 4), (2, 4)]
    """
    if rows < 1:
        raise InputError(f"rows = {rows}, but a block needs at least one row.")
    held: list[Block] = []
    n = 0
    for piece in _pieces(source, column):
        piece = _checked(piece, held)
        while n + len(piece) >= rows:
            cut = rows - n
            yield np.concatenate((*held, piece[:cut])) if held else np.array(piece[:cut])
            piece, held, n = piece[cut:], [], 0
        if len(piece):
            held.append(np.array(piece))
            n += len(piece)
    if held:
        yield np.concatenate(held)


def can_begin_again(source: Any) -> bool:
    """Say whether rows can be read a second time: not those of a generator."""
    return not isinstance(source, Iterator)


def _pieces(source: Any, column: str | None) -> Iterator[Any]:
    if callable(source):
        yield from source()
    elif isinstance(source, str | Path):
        for path in _files(source):
            yield from _READERS[path.suffix](path, column)
    elif hasattr(source, "shape"):
        for first in range(0, source.shape[0], _PIECE):
            piece = source[first : first + _PIECE]
            yield piece.toarray() if hasattr(piece, "toarray") else piece
    elif isinstance(source, Iterable):
        for one in source:
            yield from _pieces(one, column) if isinstance(one, str | Path) else (one,)
    else:
        raise InputError(
            f"rows come from an array, a path, arrays or a function that returns arrays, not {type(source).__name__}."
        )


def _files(source: str | Path) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.suffix in _READERS)
    else:
        found = [path] if path.is_file() else sorted(path.parent.glob(path.name))
    if not found:
        raise InputError(f"{source}: no file of rows there. Give {', '.join(_READERS)}, or a folder of such files.")
    for one in found:
        if one.suffix not in _READERS:
            raise InputError(f"{one}: rows are read from {', '.join(_READERS)}. Convert the file.")
    return found


def _checked(given: Any, held: list[Block]) -> Block:
    piece: Block = np.asarray(given)
    if piece.ndim != 2 or piece.dtype.kind not in "biuf":
        raise InputError(
            f"a block is {piece.dtype} of shape {piece.shape}, but rows of numbers, (n, C), are needed. Convert it."
        )
    if held and piece.shape[1] != held[0].shape[1]:
        raise InputError(f"rows of {held[0].shape[1]} and of {piece.shape[1]} numbers follow each other. Split them.")
    return piece if piece.dtype in (np.float32, np.float64) else piece.astype(np.float32)


def _read_npy(path: Path, _: str | None) -> Iterator[Block]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: not a usable .npy file ({error}). Make it again.") from error
    for first in range(0, len(array) if array.ndim else 0, _PIECE):
        yield array[first : first + _PIECE]


def _read_safetensors(path: Path, column: str | None) -> Iterator[Block]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy", backend="pread") as file:
            shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 not a dict
            tensor = file.get_slice(_chosen(path, [name for name, shape in shapes.items() if len(shape) == 2], column))
            n_rows = tensor.get_shape()[0]
            for first in range(0, n_rows, _PIECE):
                yield tensor[first : min(first + _PIECE, n_rows)]
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a safetensors file of float16, float32 or float64 ({error}).") from error


def _read_parquet(path: Path, column: str | None) -> Iterator[Block]:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingExtraError("Parquet files", "parquet") from error
    try:
        file = ParquetFile(path)
        lists = [field.name for field in file.schema_arrow if pa.types.is_nested(field.type)]
        numbers = [field.name for field in file.schema_arrow if pa.types.is_floating(field.type)]
        names = [_chosen(path, lists, column)] if column or not numbers else numbers
        for batch in file.iter_batches(_PIECE, columns=names):
            if column or not numbers:
                values = batch.column(0)
                yield values.flatten().to_numpy(zero_copy_only=False).reshape(len(values), -1)
            else:
                yield np.stack([one.to_numpy(zero_copy_only=False) for one in batch.columns], axis=1)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a usable Parquet file of rows ({error}). Make it again.") from error


def _chosen(path: Path, names: list[str], wanted: str | None) -> str:
    if wanted is not None and wanted not in names:
        raise InputError(f"{path}: no matrix {wanted!r}, but {', '.join(sorted(names)) or 'none at all'}.")
    if wanted is None and len(names) != 1:
        raise InputError(f"{path}: {len(names)} matrices ({', '.join(sorted(names))}). Say which one by column=.")
    return wanted or names[0]


_READERS: dict[str, Callable[[Path, str | None], Iterator[Block]]] = {
    ".npy": _read_npy,
    ".safetensors": _read_safetensors,
    ".parquet": _read_parquet,
}
