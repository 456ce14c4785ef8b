"""Numbers of 16 bits: bfloat16, the upper half of a float32, with its range and eight bits of its precision.

A row of a factor is then half as long to read, and reading is what products over stored pairs wait for. Sums stay
float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

_BITS = 16


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the nearest numbers that fit into 16 bits, as float32."""
    bits = values.view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(_BITS)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.asarray(nearest).view(np.float32)


def packed(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the upper halves of float32 numbers."""
    return np.asarray(values.view(np.uint32) >> np.uint32(_BITS)).astype(np.uint16)


@intrinsic  # type: ignore[untyped-decorator]
def widened(_: Any, number: Any) -> Any:
    """Inside a kernel: a number of 16 bits as float32; a float as it is."""
    if number != types.uint16:
        return number(number), lambda _context, _builder, _signature, arguments: arguments[0]

    def shift(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = builder.zext(arguments[0], ir.IntType(2 * _BITS))
        return builder.bitcast(builder.shl(word, ir.Constant(ir.IntType(2 * _BITS), _BITS)), ir.FloatType())

    return types.float32(types.uint16), shift
