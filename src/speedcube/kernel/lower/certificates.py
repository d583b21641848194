"""Which sums a kernel can finish itself, since it can say how far off they are."""

from __future__ import annotations

from typing import Final

from ... import dtypes
from ...expr.analysis import analyse
from ...expr.nodes import Expr, Map, Reduced

OPS: Final = ("sum", "mean", "var", "std")
SPREADS: Final = ("var", "std")
# Integers whose squares are integers of 64 bits.
COUNTED: Final = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
MOST_TERMS: Final = 1 << 24  # of a result: the error of a rest grows with their square


def has_certificate(source: Reduced) -> bool:
    """Whether there is a certificate for the results of ``source``."""
    n = source.count
    if source.op not in OPS or not 0 < n <= MOST_TERMS or source.arg.dtype == "bool":
        return False
    if source.op in ("var", "std"):
        freedom = n - source.ddof
        if not float(source.ddof).is_integer() or freedom <= 0:
            return False
    if dtypes.is_float(source.arg.dtype):
        return True
    return source.op in ("var", "std") or (source.op == "mean" and is_exact(source.arg))


def is_exact(root: Expr) -> bool:
    """Whether all that ``root`` may be are doubles."""
    known = analyse(root)
    return dtypes.is_float(root.dtype) or max(abs(known.low), abs(known.high)) <= 2.0**53


def plain_sums(root: Expr, count: int) -> str:
    """Where a double is the sum of ``count`` elements (`kernel.many.Many.plain`)."""
    known, more = analyse(root), (count - 1).bit_length()
    if known.known and known.exponent + more - known.grain <= 53:
        return "always"
    return "near" if root.dtype in ("float16", "float32") else ""


def is_square(root: Expr) -> bool:
    """Whether numbers lie too far apart for sums of a tile without an error, as squares do."""
    return isinstance(root, Map) and root.op == "multiply" and root.args[0] is root.args[1]
