"""From records to the numbers a user sees: merge partial records, round once, shape the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..expr.nodes import Reduced
from ..kernel.exact.digits import many
from ..kernel.exact.integers import FINISH, carry
from ..kernel.lower.rules import key_values
from ..kernel.program import LIMBS

Array: TypeAlias = NDArray[Any]


def merge(op: str, is_float: bool, records: Sequence[Array]) -> Array:
    """One set of records from several over the same kept positions."""
    if len(records) == 1:
        return records[0]
    stack = np.stack(list(records))
    if op in ("min", "max"):
        return np.asarray(stack.min(axis=0))
    if op.startswith("arg"):
        order = np.lexsort((stack[:, :, 1], stack[:, :, 0]), axis=0)[0]
        return np.asarray(stack[order, np.arange(stack.shape[1])])
    if is_float:
        carry(stack.reshape(*stack.shape[:2], -1, LIMBS))
    return np.asarray(stack.sum(axis=0, dtype=np.int64))


def is_exact_sum(source: Reduced) -> bool:
    """Whether the records of ``source`` are limbs."""
    return source.op in ("mean", "var", "std") or dtypes.is_float(source.arg.dtype)


_WORDS: Final = {name: f"uint{8 * dtypes.itemsize(name)}" for name in dtypes.FLOATS}


def values(source: Reduced, records: Array) -> Array:
    """The results of ``source`` for each record, flat."""
    arg = source.arg.dtype
    if source.op in ("min", "max"):
        keys = np.ascontiguousarray(records[:, 0])
        return key_values(keys, arg, source.op == "max").astype(source.dtype, copy=False)
    if source.op.startswith("arg"):
        return records[:, 1].astype(source.dtype)
    if records.shape[1] == 1:  # a wrapping integer sum
        return records[:, 0].astype(source.dtype)
    rounded = source.dtype if dtypes.is_float(source.dtype) else "float64"
    word = _WORDS[rounded]
    bits = _bits(source, records.reshape(len(records), -1, LIMBS), rounded)
    return bits.astype(word, copy=False).view(rounded).astype(source.dtype, copy=False)


_FEW: Final = 8  # records up to which one at a time is quicker than NumPy's calls


def _bits(source: Reduced, groups: Array, dtype: str) -> Array:
    """The exact results of ``groups`` (records, groups, limbs), rounded once, as bits."""
    if len(groups) > _FEW:
        bits = many(source.op, groups, dtype, source.count, source.ddof)
        if bits is not None:
            return bits
    finish = FINISH[source.op]
    one_by_one = [finish(record, dtype, source.count, source.ddof) for record in groups]
    return np.array(one_by_one, np.uint64)
