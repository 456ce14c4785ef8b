"""Asking the processor for what a compiled loop will need soon: a hint, which changes no result."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


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
