"""Stream v1: the random distributions as IR, a pure function of (key, position).

One Philox block makes ``per_block`` values; `positions.py` says at which positions they lie. The
Philox counter is (block low, block high, attempt, draw), all 32-bit; attempt and draw are 0 here.
docs/stream-v1.md is the normative page.

A stream is a short pipeline of bodies: the CPU runs each over a stretch of blocks in L1 so that
their long dependence chains overlap, the GPU runs them back to back in registers.

Normals are Box & Muller (1958) with the angle centred on an eighth turn: for t in [-1/2, 1/2) and
c, s = cos, sin of t quarter turns, cos and sin of that angle plus an eighth turn are
(c - s) / sqrt 2 and (c + s) / sqrt 2; the root of two goes into the radius, sqrt(-ln u), and two
free bits choose the quadrant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from ...errors import KernelError
from ...philox import MULTIPLIERS, ROUNDS
from ..ir import Body, Builder, Rounds, Value
from . import stream_coefficients as K
from .positions import block_of, blocks_of_segment, value_at

MANTISSA: Final = 0x000F_FFFF_FFFF_FFFF
EXPONENT: Final = 0xFFF0_0000_0000_0000
SIGN: Final = 0x8000_0000_0000_0000
ONE: Final = 0x3FF0_0000_0000_0000
ROOT_HALF: Final = 0x3FE6_A09E_0000_0000  # 0.70710..., low word zero: cheap to subtract
INTEGER: Final = 0x4330_0000_0000_0000  # 2**52: an integer OR-ed into its low bits is added
ROOT_HALF32: Final = 0x3F35_04F3

KEY_SLOTS: Final = 2 * ROUNDS
Words: TypeAlias = tuple[Value, Value]
Stage: TypeAlias = Body | Rounds


def horner(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """The polynomial with ``coefficients`` (lowest degree first) at ``x``."""
    value = b.const(coefficients[-1], x.type)
    for c in coefficients[-2::-1]:
        value = b.fma(value, x, b.const(c, x.type))
    return value


@lru_cache(maxsize=64)
def _philox(words: bool, slot: int) -> Rounds:
    """Block -> A, B (64 bits each), or -> w0 ... w3 (32 bits each)."""
    return Rounds(_philox_first(), _philox_round(slot), _philox_last(words), ROUNDS, 2)


def _philox_first() -> Body:
    b = Builder()
    block = b.input("block", "uint64")
    zero = b.const(0, "uint64")
    for k, word in enumerate((block, block >> 32, zero, zero)):
        b.output(f"c{k}", word)
    return b.body()


def philox_round(b: Builder, c: Sequence[Value], k0: Value, k1: Value) -> tuple[Value, ...]:
    """One round of Philox4x32 on the counter words ``c``.

    Only low words are read: the high halves carry rubbish that mul32 ignores.
    """
    p0, p1 = (
        b.emit("mul32", "uint64", word, b.const(multiplier, "uint64"))
        for word, multiplier in zip(c[::2], MULTIPLIERS, strict=True)
    )
    return (p1 >> 32) ^ c[1] ^ k0, p1, (p0 >> 32) ^ c[3] ^ k1, p0


def _philox_round(slot: int) -> Body:
    b = Builder()
    c = [b.input(f"c{k}", "uint64") for k in range(4)]
    k0, k1 = b.param(slot, "uint64"), b.param(slot + 1, "uint64")
    for k, word in enumerate(philox_round(b, c, k0, k1)):
        b.output(f"c{k}", word)
    return b.body()


def _philox_last(words: bool) -> Body:
    b = Builder()
    c = [b.input(f"c{k}", "uint64") for k in range(4)]
    if words:
        for k, word in enumerate(c):
            b.output(f"w{k}", word.cast("uint32"))
    else:
        for name, word in zip("AB", joined(b, c), strict=True):
            b.output(name, word)
    return b.body()


def joined(b: Builder, c: Sequence[Value]) -> Words:
    """A and B of the words that Philox gives."""
    low = b.const(0xFFFF_FFFF, "uint64")
    return (c[1] << 32) | (c[0] & low), (c[3] << 32) | (c[2] & low)


def unit(b: Builder, word: Value) -> Value:
    """52 low bits of ``word`` pasted under the exponent of 1: uniform in [1, 2)."""
    bits = (word & b.const(MANTISSA, "uint64")) | b.const(ONE, "uint64")
    return bits.bitcast("float64")


def minus_log(b: Builder, u: Value) -> Value:
    """-ln u for a normal u > 0: u = 2**e * f with f in [0.707, 1.414), -e ln 2 - ln f."""
    f, e = _split(b, u)
    return _log_polynomial(b, f - b.const(1.0, "float64"), e, K.NEG_LOG64, K.NEG_LN2_64)


def minus_log1p(b: Builder, x: Value) -> Value:
    """-ln(1 + x) for x > -1: near 0 the polynomial is taken at x itself."""
    one = b.const(1.0, "float64")
    f, e = _split(b, x + one)
    g = b.select(e.compare("eq", b.const(0.0, "float64")), x, f - one)
    return _log_polynomial(b, g, e, K.NEG_LOG64, K.NEG_LN2_64)


def _split(b: Builder, u: Value) -> tuple[Value, Value]:
    """F and e with u = 2**e f, f in [0.707, 1.414)."""
    bits = u.bitcast("uint64")
    above = bits - b.const(ROOT_HALF, "uint64")
    f = (bits - (above & b.const(EXPONENT, "uint64"))).bitcast("float64")
    shifted = above + b.const(1024 << 52, "uint64")  # e + 1024 in the top bits, positive
    e = ((shifted >> 52) | b.const(INTEGER, "uint64")).bitcast("float64")
    return f, e - b.const(2.0**52 + 1024, "float64")


def _log_polynomial(
    b: Builder, g: Value, e: Value, table: tuple[float, ...], neg_ln2: float
) -> Value:
    """-ln(1 + g) - e ln 2."""
    g2 = g * g
    even, odd = horner(b, g2, table[0::2]), horner(b, g2, table[1::2])
    return b.fma(g, b.fma(g, odd, even), e * b.const(neg_ln2, g.type))


def open_unit(b: Builder, word: Value) -> Value:
    """Uniform in (0, 1): the odd multiples of 2**-53."""
    return unit(b, word) - b.const(1.0 - 2.0**-53, "float64")


def sign(b: Builder, word: Value) -> Value:
    """The sign bit of ``word``."""
    return word & b.const(SIGN, "uint64")


def _scaled(b: Builder, value: Value, slot: int, plain: bool) -> Value:
    """A + b * value, or value itself for a = 0, b = 1."""
    if plain:
        return value
    return b.fma(value, b.param(slot + 1, value.type), b.param(slot, value.type))


def normal_radius(b: Builder, word: Value) -> Value:
    """The distance from the origin over the root of two, with the sign bit of ``word``."""
    root = b.unary("nsqrt", minus_log(b, open_unit(b, word)))
    return (root.bitcast("uint64") | sign(b, word)).bitcast("float64")


def sine_cosine(b: Builder, word: Value) -> tuple[Value, Value]:
    """Sine and cosine of the angle that ``word`` gives, up to an eighth turn."""
    t = unit(b, word) - b.const(1.5, "float64")
    t2 = t * t
    return t * horner(b, t2, K.SIN64), horner(b, t2, K.COS64)


def _normal64(slot: int, plain: bool) -> tuple[Stage, ...]:
    b = Builder()
    b.output("R", normal_radius(b, b.input("A", "uint64")))
    radius = b.body()

    b = Builder()
    r, word = b.input("R", "float64"), b.input("B", "uint64")
    s, c = sine_cosine(b, word)
    z0 = r * (c - s)
    z1 = ((r * (c + s)).bitcast("uint64") ^ sign(b, word)).bitcast("float64")
    for k, z in enumerate((z0, z1)):
        b.output(f"v{k}", _scaled(b, z, slot + KEY_SLOTS, plain))
    return _philox(False, slot), radius, b.body()


def _minus_log32(b: Builder, word: Value) -> Value:
    """-ln u for u = (w + 1/2) / 2**32, w the top 31 bits doubled, in (0, 1]."""
    k = (word >> 1).bitcast("int32").cast("float32")
    u = b.fma(k, b.const(2.0**-31, "float32"), b.const(2.0**-32, "float32"))
    bits = u.bitcast("int32")
    above = bits - b.const(ROOT_HALF32, "int32")
    exponent = above & b.const(-(1 << 23), "int32")
    f = (bits - exponent).bitcast("float32")
    e = (exponent >> 23).cast("float32")
    return _log_polynomial(b, f - b.const(1.0, "float32"), e, K.NEG_LOG32, K.NEG_LN2_32)


def _normal32(slot: int, plain: bool) -> tuple[Stage, ...]:
    b = Builder()
    for k in (0, 1):
        word = b.input(f"w{2 * k}", "uint32")
        root = b.unary("sqrt", _minus_log32(b, word)).bitcast("uint32")
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
            b.output(f"v{2 * k + half}", _scaled(b, z, slot + KEY_SLOTS, plain))
    return _philox(True, slot), radius, b.body()


def _each64(slot: int, variate: Callable[[Builder, Value], Value]) -> tuple[Stage, ...]:
    b = Builder()
    for k, name in enumerate("AB"):
        b.output(f"v{k}", variate(b, b.input(name, "uint64")))
    return _philox(False, slot), b.body()


def _each32(slot: int, variate: Callable[[Builder, Value], Value]) -> tuple[Stage, ...]:
    b = Builder()
    for k in range(4):
        b.output(f"v{k}", variate(b, b.input(f"w{k}", "uint32")))
    return _philox(True, slot), b.body()


def _uniform64(slot: int, plain: bool) -> tuple[Stage, ...]:
    def variate(b: Builder, word: Value) -> Value:
        u = unit(b, word) - b.const(1.0, "float64")
        return _scaled(b, u, slot + KEY_SLOTS, plain)

    return _each64(slot, variate)


def _uniform32(slot: int, plain: bool) -> tuple[Stage, ...]:
    def variate(b: Builder, word: Value) -> Value:
        k = (word >> 8).bitcast("int32").cast("float32")
        return _scaled(b, k * b.const(2.0**-24, "float32"), slot + KEY_SLOTS, plain)

    return _each32(slot, variate)


def _exponential64(slot: int, plain: bool) -> tuple[Stage, ...]:
    def variate(b: Builder, word: Value) -> Value:
        return _scaled(b, minus_log(b, open_unit(b, word)), slot + KEY_SLOTS, plain)

    return _each64(slot, variate)


def _exponential32(slot: int, plain: bool) -> tuple[Stage, ...]:
    def variate(b: Builder, word: Value) -> Value:
        # |-ln 1| is -0 in this arithmetic: clear the sign.
        bits = _minus_log32(b, word).bitcast("uint32") & b.const(0x7FFF_FFFF, "uint32")
        return _scaled(b, bits.bitcast("float32"), slot + KEY_SLOTS, plain)

    return _each32(slot, variate)


def _high_product(b: Builder, x: Value, n: Value) -> Words:
    """(high, low) 64 bits of the 128-bit product of ``x`` and ``n``."""

    def mul(p: Value, q: Value) -> Value:
        return b.emit("mul32", "uint64", p, q)

    low = b.const(0xFFFF_FFFF, "uint64")
    ll, lh, hl, hh = mul(x, n), mul(x, n >> 32), mul(x >> 32, n), mul(x >> 32, n >> 32)
    middle = (ll >> 32) + (lh & low) + hl
    return hh + (lh >> 32) + (middle >> 32), (middle << 32) | (ll & low)


def _integers(slot: int, dtype: str) -> tuple[Stage, ...]:
    """A + floor(A n / 2**64) for n < 2**32: the bias is below 2**-32."""

    def variate(b: Builder, word: Value) -> Value:
        n = b.param(slot + KEY_SLOTS + 1, "uint64")
        low_part = b.emit("mul32", "uint64", word, n) >> 32
        scaled = (b.emit("mul32", "uint64", word >> 32, n) + low_part) >> 32
        return (scaled + b.param(slot + KEY_SLOTS, "uint64")).cast(dtype)

    return _each64(slot, variate)


def _integers_wide(slot: int, dtype: str) -> tuple[Stage, ...]:
    """A + floor(B:A n / 2**128) for any n up to 2**64 - 1: the bias is below 2**-64."""
    b = Builder()
    low, high = b.input("A", "uint64"), b.input("B", "uint64")
    n = b.param(slot + KEY_SLOTS + 1, "uint64")
    top, middle = _high_product(b, high, n)
    total = middle + _high_product(b, low, n)[0]
    carry = b.select(total.compare("lt", middle), b.const(1, "uint64"), b.const(0, "uint64"))
    b.output("v0", (top + carry + b.param(slot + KEY_SLOTS, "uint64")).cast(dtype))
    return _philox(False, slot), b.body()


def _bits64(slot: int, dtype: str) -> tuple[Stage, ...]:
    return _each64(slot, lambda b, word: (word + b.param(slot + KEY_SLOTS, "uint64")).cast(dtype))


_FLOAT: Final[dict[tuple[str, str], Callable[[int, bool], tuple[Stage, ...]]]] = {
    ("normal", "float64"): _normal64,
    ("normal", "float32"): _normal32,
    ("uniform", "float64"): _uniform64,
    ("uniform", "float32"): _uniform32,
    ("exponential", "float64"): _exponential64,
    ("exponential", "float32"): _exponential32,
}
_INTEGER: Final[dict[str, tuple[Callable[[int, str], tuple[Stage, ...]], int]]] = {
    "integers": (_integers, 2),
    "integers_wide": (_integers_wide, 1),
    "bits64": (_bits64, 2),
}


@dataclass(frozen=True)
class Stream:
    """A distribution of stream v1; its parameters start at ``slot``; plain: a = 0, b = 1.

    ``slots`` parameters: the round keys, then two parameters of the distribution.
    """

    distribution: str
    dtype: str
    slot: int
    plain: bool

    @property
    def per_block(self) -> int:
        """Values that one Philox block gives."""
        if self.distribution in _INTEGER:
            return _INTEGER[self.distribution][1]
        return 2 if self.dtype == "float64" else 4

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Run in order: the first takes ``block``, the last gives ``v0`` ... ``v{n-1}``."""
        if (self.distribution, self.dtype) in _FLOAT:
            return _FLOAT[self.distribution, self.dtype](self.slot, self.plain)
        if self.distribution in _INTEGER:
            return _INTEGER[self.distribution][0](self.slot, self.dtype)
        raise KernelError(
            f"stream v1 has no distribution {self.distribution!r} of dtype {self.dtype}"
        )

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """The stages without loops."""
        return tuple(s.unrolled() if isinstance(s, Rounds) else s for s in self.stages)

    @property
    def segment_blocks(self) -> int:
        """Blocks of a segment."""
        return blocks_of_segment(self.per_block)

    @property
    def block_of(self) -> Body:
        """Position -> block."""
        return block_of(self.per_block)

    @property
    def value_at(self) -> Body:
        """position, v0, v1 ... -> x."""
        return value_at(self.per_block, self.bodies[-1].output_type("v0"))

    @property
    def from_position(self) -> tuple[Body, ...]:
        """Position -> x: one value after the other, a block for each."""
        return self.block_of, *self.bodies, self.value_at


@lru_cache(maxsize=256)
def stream(distribution: str, dtype: str, slot: int, plain: bool) -> Stream:
    """The one `Stream` of these fields, so that its bodies are made once."""
    return Stream(distribution, dtype, slot, plain)
