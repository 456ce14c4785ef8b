"""One GPU beside the processor: what to do and to say where it is missing, or its memory is too small."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from wordforest.errors import InputError, MissingExtraError

F = TypeVar("F", bound=Callable[..., Any])


def check_device(device: str, what: str = "the device cuda", extra: str = "gpu") -> None:
    """Refuse a device that is not there; ``what`` needs it, and ``extra`` brings PyTorch."""
    if device not in ("cpu", "cuda"):
        raise InputError(f"device = {device!r}, but it must be cpu or cuda.")
    if device == "cpu":
        return
    try:
        import torch
    except ImportError:
        raise MissingExtraError(what, extra) from None
    if not torch.cuda.is_available():
        raise InputError("device = 'cuda', but PyTorch sees no CUDA GPU. Use the device cpu.")


@lru_cache(maxsize=1)
def has_triton() -> bool:
    """Say whether kernels of our own can be compiled for a GPU; without, PyTorch's operations take their place."""
    return find_spec("triton") is not None


def out_of_memory(error: BaseException) -> bool:
    """Say whether a GPU ran out of memory, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)


def free_unused() -> None:
    """Give memory that PyTorch keeps for later back to the GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def by_halves(join: Callable[[Any, Any], Any]) -> Callable[[F], F]:
    """Let a function of rows, its last argument, take every second row and then the others if the memory is too small.

    ``join`` puts the two results together. What the function changes, it must change when all else is done.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def run(*args: Any) -> Any:
            try:
                return function(*args)
            except RuntimeError as error:
                if not out_of_memory(error) or len(args[-1]) < 2:
                    raise
            free_unused()
            *others, rows = args
            return join(run(*others, rows[::2]), run(*others, rows[1::2]))

        return cast(F, run)

    return decorate


@contextmanager
def memory_told(what: str, advice: str) -> Iterator[None]:
    """Turn a GPU's lack of memory, where nothing smaller helped, into a sentence for a person."""
    try:
        yield
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        raise InputError(f"the GPU has too little memory for {what}, even in small blocks. {advice}") from error
