"""The one way Numba is used here: compiled once and cached, without the GIL, with NaN and infinity kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

F = TypeVar("F", bound=Callable[..., object])

# No nnan and ninf: the guards against non-finite values must stay true.
_FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}


def kernel(function: F) -> F:
    """Compile a function over contiguous arrays; threads run it in parallel."""
    compiled: F = numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")(function)
    return compiled


def part_of_kernel(function: F) -> F:
    """Compile a function that kernels call in their innermost loops: it is put in place of every call.

    A call that stays a call hands over seven numbers for every array, which takes longer than small loops do.
    """
    compiled: F = numba.njit(nogil=True, fastmath=_FAST, error_model="numpy", inline="always")(function)
    return compiled


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def prefetch(_context: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 Numba counts the arguments
    """Fetch ``array[index]`` of a contiguous array into the cache; the index must be inside the array.

    A load would do, but it holds up all that stands behind it until it is done.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(hint, [place, number(0), number(3), number(1)])  # to read, keep it close, data
        return context.get_dummy_value()

    return types.void(array, types.int64), emit
