"""float16 in kernels: its bits are loaded and stored, its values are computed with in float32.

A float16 is a sign, 5 bits of exponent (bias 15) and 10 of fraction (IEEE 754, binary16). Every
value of it is a float32, so the IR has no type for it; what it needs is here, in operations that
every processor has.
"""

from __future__ import annotations

from typing import Final

from ..builder import Builder, Value
from .bits import WORD, magnitude, sign_of

_FRACTION: Final = {"float32": 23, "float64": 52}
_BIAS: Final = {"float32": 127, "float64": 1023}
_LEAST: Final = -14  # exponent of the least normal float16; subnormals have its last place
_REBIASED: Final = (127 - 15) << 23  # from the exponent of a float16, in place, to a float32's
_INFINITY: Final = 0xFF << 23
_HALFWAY: Final = 65520.0  # between the largest float16 and the number that would follow it


def rounded(b: Builder, x: Value) -> Value:
    """A float32 or float64 rounded once to the nearest float16, ties to even, as a float32.

    1.5 * 2**k with the last place that the result will have, added and subtracted, rounds there.
    """
    fraction, bias = _FRACTION[x.type], _BIAS[x.type]
    word = WORD[x.type].removeprefix("u")  # signed words: AVX2 compares no others
    infinity = b.const(((1 << (8 if word == "int32" else 11)) - 1) << fraction, word)
    least = b.const((bias + _LEAST) << fraction, word)
    exponent = x.bitcast(word) & infinity
    exponent = b.select(exponent.compare("lt", least), least, exponent)
    lift = b.const(((fraction - 10) << fraction) | (1 << (fraction - 1)), word)
    unit = (exponent + lift).bitcast(x.type)
    near = (x + unit) - unit
    above = magnitude(b, x).compare("ge", b.const(_HALFWAY, x.type))
    near = b.select(above, b.const(float("inf"), x.type), near)
    signed = near.bitcast(WORD[x.type]) | sign_of(b, x)  # x - x is +0
    return signed.bitcast(x.type).cast("float32")


def widened(b: Builder, bits: Value) -> Value:
    """The float32 of the value that the uint16 ``bits`` are; a NaN keeps its bits."""
    wide = bits.cast("int32")
    size = (wide & b.const(0x7FFF, "int32")) << 13
    least, special = b.const(1 << 23, "int32"), b.const(31 << 23, "int32")
    rebias = b.const(_REBIASED, "int32")
    normal = size + rebias
    normal = b.select(size.compare("ge", special), normal + rebias, normal)
    # A subnormal takes the exponent of the least normal number, which is then taken off.
    small = (normal + least).bitcast("float32") - b.const(2.0**_LEAST, "float32")
    word = b.select(size.compare("lt", least), small.bitcast("int32"), normal)
    return (word | ((wide & b.const(0x8000, "int32")) << 16)).bitcast("float32")


def narrowed(b: Builder, x: Value) -> Value:
    """The 16 bits of a float32 that is a float16's value (`rounded`), as uint16."""
    bits, infinity = x.bitcast("int32"), b.const(_INFINITY, "int32")
    size = bits & b.const(0x7FFF_FFFF, "int32")
    rebias = b.const(_REBIASED, "int32")
    normal = size - rebias
    normal = b.select(size.compare("ge", infinity), normal - rebias, normal) >> 13
    # Beside 1/2 a float32 has the last place of a subnormal float16: 2**-24.
    half = b.const(0.5, "float32")
    small = (magnitude(b, x) + half).bitcast("int32") - half.bitcast("int32")
    least = b.const((127 + _LEAST) << 23, "int32")
    word = b.select(size.compare("lt", least), small, normal)
    sign = (bits >> 16) & b.const(0x8000, "int32")
    return (word | sign).cast("uint16")
