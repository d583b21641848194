"""Stream v1: the random distributions as IR, a pure function of (key, position).

One Philox block makes ``per_block`` values; `positions.py` says at which positions they lie. The
Philox counter is (block low, block high, attempt, draw), all 32-bit; attempt and draw are 0 here.
docs/stream-v1.md is the normative page.

A stream is a short pipeline of bodies: the CPU runs each over a stretch of blocks in L1 so that
their long dependence chains overlap, the GPU runs them back to back in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from ...dataclass import dataclass
from ...errors import KernelError
from ..builder import Builder, Rounds, Value
from ..ir import Body
from . import stream_coefficients as K
from .arithmetic import high_product, horner
from .philox import KEY_WORDS, philox
from .positions import block_of, blocks_of_segment, value_at
from .variates import minus_log, minus_log32, normal_radius, open_unit, sign, sine_cosine, unit

Phase: TypeAlias = Body | Rounds


def _scaled(b: Builder, value: Value, first: int, plain: bool) -> Value:
    """`a + b * value`, or the value itself where `a = 0` and `b = 1`."""
    if plain:
        return value
    return b.fma(value, b.param(first + 1, value.type), b.param(first, value.type))


def _normal64(first: int, plain: bool) -> tuple[Phase, ...]:
    b = Builder()
    b.output("R", normal_radius(b, b.input("A", "uint64")))
    radius = b.body()

    b = Builder()
    r, word = b.input("R", "float64"), b.input("B", "uint64")
    s, c = sine_cosine(b, word)
    z0 = r * (c - s)
    z1 = ((r * (c + s)).bitcast("uint64") ^ sign(b, word)).bitcast("float64")
    for k, z in enumerate((z0, z1)):
        b.output(f"v{k}", _scaled(b, z, first + KEY_WORDS, plain))
    return philox(False, first), radius, b.body()


def _normal32(first: int, plain: bool) -> tuple[Phase, ...]:
    b = Builder()
    for k in (0, 1):
        word = b.input(f"w{2 * k}", "uint32")
        root = b.unary("sqrt", minus_log32(b, word)).bitcast("uint32")
        b.output(f"R{k}", (root | (word << 31)).bitcast("float32"))
    radius = b.body()

    b = Builder()
    for k in (0, 1):
        r, word = b.input(f"R{k}", "float32"), b.input(f"w{2 * k + 1}", "uint32")
        t = (word.bitcast("int32") >> 1).cast("float32") * b.const(2.0**-31, "float32")
        t2 = t * t
        s, c = t * horner(b, t2, K.SIN32), horner(b, t2, K.COS32)
        z1 = ((r * (c + s)).bitcast("uint32") ^ (word << 31)).bitcast("float32")
        for half, z in enumerate((r * (c - s), z1)):
            b.output(f"v{2 * k + half}", _scaled(b, z, first + KEY_WORDS, plain))
    return philox(True, first), radius, b.body()


def _each64(first: int, variate: Callable[[Builder, Value], Value]) -> tuple[Phase, ...]:
    b = Builder()
    for k, name in enumerate("AB"):
        b.output(f"v{k}", variate(b, b.input(name, "uint64")))
    return philox(False, first), b.body()


def _each32(first: int, variate: Callable[[Builder, Value], Value]) -> tuple[Phase, ...]:
    b = Builder()
    for k in range(4):
        b.output(f"v{k}", variate(b, b.input(f"w{k}", "uint32")))
    return philox(True, first), b.body()


def _uniform64(first: int, plain: bool) -> tuple[Phase, ...]:
    def variate(b: Builder, word: Value) -> Value:
        u = unit(b, word) - b.const(1.0, "float64")
        return _scaled(b, u, first + KEY_WORDS, plain)

    return _each64(first, variate)


def _uniform32(first: int, plain: bool) -> tuple[Phase, ...]:
    def variate(b: Builder, word: Value) -> Value:
        k = (word >> 8).bitcast("int32").cast("float32")
        return _scaled(b, k * b.const(2.0**-24, "float32"), first + KEY_WORDS, plain)

    return _each32(first, variate)


def _exponential64(first: int, plain: bool) -> tuple[Phase, ...]:
    def variate(b: Builder, word: Value) -> Value:
        return _scaled(b, minus_log(b, open_unit(b, word)), first + KEY_WORDS, plain)

    return _each64(first, variate)


def _exponential32(first: int, plain: bool) -> tuple[Phase, ...]:
    def variate(b: Builder, word: Value) -> Value:
        # |-ln 1| is -0 in this arithmetic: clear the sign.
        bits = minus_log32(b, word).bitcast("uint32") & b.const(0x7FFF_FFFF, "uint32")
        return _scaled(b, bits.bitcast("float32"), first + KEY_WORDS, plain)

    return _each32(first, variate)


def _integers(first: int, dtype: str) -> tuple[Phase, ...]:
    """`low + floor(A * n / 2**64)` for `n < 2**32`: the bias is below `2**-32`."""

    def variate(b: Builder, word: Value) -> Value:
        n = b.param(first + KEY_WORDS + 1, "uint64")
        low_part = b.emit("mul32", "uint64", word, n) >> 32
        scaled = (b.emit("mul32", "uint64", word >> 32, n) + low_part) >> 32
        return (scaled + b.param(first + KEY_WORDS, "uint64")).cast(dtype)

    return _each64(first, variate)


def _integers_wide(first: int, dtype: str) -> tuple[Phase, ...]:
    """`low + floor(B:A * n / 2**128)` for `n` up to `2**64 - 1`: the bias is below `2**-64`."""
    b = Builder()
    low, high = b.input("A", "uint64"), b.input("B", "uint64")
    n = b.param(first + KEY_WORDS + 1, "uint64")
    top, middle = high_product(b, high, n)
    total = middle + high_product(b, low, n)[0]
    carry = b.select(total.compare("lt", middle), b.const(1, "uint64"), b.const(0, "uint64"))
    b.output("v0", (top + carry + b.param(first + KEY_WORDS, "uint64")).cast(dtype))
    return philox(False, first), b.body()


def _bits64(first: int, dtype: str) -> tuple[Phase, ...]:
    return _each64(first, lambda b, word: (word + b.param(first + KEY_WORDS, "uint64")).cast(dtype))


_FLOAT: Final[dict[tuple[str, str], Callable[[int, bool], tuple[Phase, ...]]]] = {
    ("normal", "float64"): _normal64,
    ("normal", "float32"): _normal32,
    ("uniform", "float64"): _uniform64,
    ("uniform", "float32"): _uniform32,
    ("exponential", "float64"): _exponential64,
    ("exponential", "float32"): _exponential32,
}
_INTEGER: Final[dict[str, tuple[Callable[[int, str], tuple[Phase, ...]], int]]] = {
    "integers": (_integers, 2),
    "integers_wide": (_integers_wide, 1),
    "bits64": (_bits64, 2),
}


@dataclass(frozen=True)
class Stream:
    """A distribution of stream v1; its parameters from number ``first`` on: keys, `a`, `b`.

    ``plain``: `a = 0` and `b = 1`.
    """

    distribution: str
    dtype: str
    first: int
    plain: bool

    @property
    def per_block(self) -> int:
        """Values that one Philox block gives."""
        if self.distribution in _INTEGER:
            return _INTEGER[self.distribution][1]
        return 2 if self.dtype == "float64" else 4

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """In order: the first takes ``block``, the last gives ``v0`` ... ``v{n-1}``."""
        if (self.distribution, self.dtype) in _FLOAT:
            return _FLOAT[self.distribution, self.dtype](self.first, self.plain)
        if self.distribution in _INTEGER:
            return _INTEGER[self.distribution][0](self.first, self.dtype)
        raise KernelError(
            f"stream v1 has no distribution {self.distribution!r} of dtype {self.dtype}"
        )

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """The phases without loops."""
        return tuple(s.unrolled() if isinstance(s, Rounds) else s for s in self.phases)

    @property
    def segment_blocks(self) -> int:
        """Blocks of a segment."""
        return blocks_of_segment(self.per_block)

    @property
    def block_of(self) -> Body:
        """`position -> block`."""
        return block_of(self.per_block)

    @property
    def value_at(self) -> Body:
        """`position, v0, v1 ... -> x`."""
        return value_at(self.per_block, self.bodies[-1].output_type("v0"))

    @property
    def from_position(self) -> tuple[Body, ...]:
        """`position -> x`: one value after the other, a block for each."""
        return self.block_of, *self.bodies, self.value_at


@lru_cache(maxsize=256)
def stream(distribution: str, dtype: str, first: int, plain: bool) -> Stream:
    """The one `Stream` of these fields, so that its bodies are made once."""
    return Stream(distribution, dtype, first, plain)
