"""The IR executed with NumPy, one instruction at a time: the bit-for-bit oracle of both printers.

NumPy has no fma, and Python has one only from 3.13, so float64 fma is emulated: two-product and
two-sum give the exact value as three terms, and rounding the tail to odd before the last addition
makes the double rounding harmless (Boldo & Melquiond, "Emulation of FMA and correctly rounded
sums: proved algorithms using rounding to odd", 2008). Valid where nothing under- or overflows on
the way; elements outside `2**-450 .. 2**450` are done with exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..late import fractions
from .ir import PICKED, Body, Instr

Array = NDArray[Any]


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    p = a * b
    split = np.float64(134217729.0)  # 2**27 + 1, Dekker
    ah = split * a - (split * a - a)
    bh = split * b - (split * b - b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _fma64(a: Array, b: Array, c: Array) -> Array:
    if not (np.ndim(a) or np.ndim(b) or np.ndim(c)):  # one number: Python's integers are quicker
        x, y, z = float(a), float(b), float(c)
        if math.isfinite(x) and math.isfinite(y) and math.isfinite(z):
            return np.asarray(_fma_exact(x, y, z))
    with np.errstate(all="ignore"):
        p, e = _two_product(a, b)
        s, t = _two_sum(p, c)
        v, w = _two_sum(t, e)
        bits = np.asarray(v, np.float64).view(np.int64).copy()
        inexact = (w != 0) & ((bits & 1) == 0)
        towards = np.where((w > 0) == (np.asarray(v) > 0), 1, -1)  # one place towards w
        odd = np.where(inexact, bits + towards, bits).view(np.float64)
        result = np.where(t == 0, s + e, s + odd)
        sizes = [np.abs(x) for x in (a, b, c, p)]
        fine = np.logical_and.reduce([(x == 0) | ((x > 2.0**-450) & (x < 2.0**450)) for x in sizes])
        # Infinities and NaNs: a product that only overflowed is finite, and c decides.
        special = np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, p + c)
        result = np.where(fine & (result != 0), result, np.where(fine, p + c, special))
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    for k in zip(*np.nonzero(np.atleast_1d(~fine & finite)), strict=True):
        np.atleast_1d(result)[k] = _fma_exact(*(float(np.atleast_1d(x)[k]) for x in (a, b, c)))
    return np.asarray(result)


def _fma_exact(a: float, b: float, c: float) -> float:
    value = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    if value == 0:
        return a * b + c  # the sign of zero
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _fma(a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.dtype == np.float64:
        return _fma64(a, b, c)
    # float32: the product is exact in float64; the sum is rounded to odd, then to float32.
    with np.errstate(all="ignore"):
        p = a.astype(np.float64) * b.astype(np.float64)
        s, t = _two_sum(p, c.astype(np.float64))
        bits = s.view(np.int64)
        step = np.where((t > 0) == (s > 0), 1, -1)
        odd = np.where((t != 0) & ((bits & 1) == 0) & np.isfinite(s), bits + step, bits)
        return np.asarray(odd.view(np.float64).astype(np.float32))


def _cast(instr: Instr, a: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(instr.type)


def _mul32(a: Array, b: Array) -> Array:
    low = np.uint64(0xFFFFFFFF)
    return np.asarray((a & low) * (b & low))


def _truncated_div(a: Array, b: Array) -> Array:
    q = np.floor_divide(a, b)
    return np.asarray(q + ((q * b != a) & ((a < 0) != (b < 0))).astype(q.dtype))


_SIMPLE: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "idiv": _truncated_div,
    "irem": np.fmod,
    "sqrt": np.sqrt,
    "nsqrt": np.sqrt,
    "neg": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shlv": np.left_shift,
    "shrv": np.right_shift,
    "mul32": _mul32,
    "fma": _fma,
    "select": np.where,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _step(instr: Instr, args: list[Array], inputs: Mapping[str, Array], params: Array) -> Array:
    if instr.op == "input":
        return np.asarray(inputs[instr.imm])
    if instr.op == "const":
        return np.asarray(instr.imm, instr.type)
    if instr.op == "param":
        return read_parameter(params, instr.imm, instr.type)
    if instr.op == "cast":
        return _cast(instr, args[0])
    if instr.op == "bitcast":
        return np.ascontiguousarray(args[0]).view(instr.type).reshape(args[0].shape)
    if instr.op in ("shl", "shr"):
        shift = np.left_shift if instr.op == "shl" else np.right_shift
        return np.asarray(shift(args[0], np.asarray(instr.imm, instr.type)))
    if instr.op == "table":
        return np.array(instr.imm, instr.type)[args[0]]
    if instr.op == "gather":
        return np.asarray(np.asarray(inputs[f"memory{instr.imm}"])[args[0]])
    if instr.op == "pick":
        return np.asarray(np.array(instr.imm, instr.type)[args[0] & np.uint32(PICKED - 1)])
    if instr.op == "rare":
        return _rare(instr, args)
    if instr.op == "loop":
        return _loop(instr, args, inputs)
    with np.errstate(all="ignore"):
        return np.asarray(_SIMPLE[instr.op](*args))


def _rare(instr: Instr, args: list[Array]) -> Array:
    """Only the elements that need it go through the body."""
    condition, otherwise, *operands = np.broadcast_arrays(*args)
    result = otherwise.copy()
    if condition.any():
        names = [name for name, _ in instr.imm.inputs]
        chosen = dict(zip(names, (g[condition] for g in operands), strict=True))
        result[condition] = evaluate(instr.imm, chosen)["x"]
    return result


def _loop(instr: Instr, args: list[Array], outside: Mapping[str, Array]) -> Array:
    """Only the elements that go on; memory is read where it is ``outside``."""
    condition, x, *operands = (a.ravel() for a in np.broadcast_arrays(*args))
    names, result, going = [n for n, _ in instr.imm.inputs], x.copy(), np.nonzero(condition)[0]
    while len(going):
        inputs = (result[going], *(g[going] for g in operands))
        outputs = evaluate(instr.imm, {**outside, **dict(zip(names, inputs, strict=True))})
        result[going] = outputs["x"]
        going = going[outputs["more"]]
    return result.reshape(np.broadcast_shapes(*(a.shape for a in args)))


def read_parameter(params: Array, number: int, dtype: str) -> Array:
    """Parameter ``number`` of the uint64 array ``params``, read as ``dtype`` from its low bytes."""
    size = np.dtype(dtype).itemsize
    return np.frombuffer(params[number : number + 1].tobytes()[:size], dtype)[0:1].reshape(())


_ULP: Final = 2.0**-52


def is_faithful() -> bool:
    """Whether this thread rounds to nearest and keeps subnormals: any library may change that.

    Kernels set the processor's mode themselves; NumPy does not.
    """
    up, down = np.add(1.0, 0.75 * _ULP), np.add(1.0, 0.25 * _ULP)
    least = np.multiply(5e-324, 1.0)
    return bool(up == 1.0 + _ULP and down == 1.0 and least != 0.0 and np.add(-1.0, -_ULP / 4) == -1)


def evaluate(
    body: Body, inputs: Mapping[str, Array], params: Array | None = None
) -> dict[str, Array]:
    """The outputs of ``body`` for arrays of inputs (one shape) and parameters."""
    words = np.zeros(0, np.uint64) if params is None else params
    values: list[Array] = []
    for instr in body.instrs:
        values.append(_step(instr, [values[a] for a in instr.args], inputs, words))
    return {name: values[v] for name, v in body.outputs}
