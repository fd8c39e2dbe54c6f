"""A few operations that numba has no name for, as LLVM code for any processor: comparing many voxels at once, and bits.

numba's disk cache looks at the file of a compiled function only: after a change here, save ``kernels.py`` and
``boundaries.py`` again or delete their caches.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

LANES = 64
"""Voxels compared by one call of :func:`changes`."""


def _changes(typing_context: Any, block: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(context.get_data_type(signature.args[0].dtype), LANES).as_pointer()
        # align=1: voxels are not aligned as vectors are, and may not even be aligned as numbers are.
        here, before = (
            builder.load(builder.bitcast(builder.gep(array.data, [index]), vector), align=1)
            for index in (arguments[1], builder.sub(arguments[1], arguments[1].type(1)))
        )
        return builder.bitcast(builder.icmp_unsigned("!=", here, before), ir.IntType(LANES))

    return types.uint64(block, types.intp), code


changes: Any = intrinsic(_changes)
"""Bit ``k`` of the returned uint64: whether ``block[at + k]`` differs from ``block[at + k - 1]``, k = 0 .. 63.

``block`` is a contiguous 1-D array of unsigned integers that holds ``at - 1 .. at + 63``; nothing checks that.
"""


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.intp(types.uint64), code


lowest_bit: Any = intrinsic(_lowest_bit)
"""Position (intp) of the lowest set bit of a uint64 that is not zero."""


def _bit_count(typing_context: Any, word: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.intp(types.uint64), code


bit_count: Any = intrinsic(_bit_count)
"""Number of set bits (intp) of a uint64."""
