"""Random expressions of arrays ``x`` and ``y``, as text, and numbers that are hard to compute with.

What a text gives need not be NumPy's, nor need NumPy take it: it is compared with itself, computed
on other ways (`routes`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

UNARY: Final = """negative abs sqrt exp log sin cos tanh floor ceil trunc rint sign square isnan
isfinite signbit log1p expm1 cbrt arctan reciprocal conj real imag angle spacing invert logical_not
nan_to_num sinc"""
BINARY: Final = """add subtract multiply divide maximum minimum fmax fmin power hypot arctan2
floor_divide remainder fmod copysign nextafter heaviside logaddexp less greater_equal equal
bitwise_and bitwise_xor left_shift right_shift gcd lcm logical_or float_power ldexp"""
REDUCTIONS: Final = """sum mean std var max min prod argmax argmin any all nansum nanmean nanmax
nanstd ptp median count_nonzero nanargmin linalg.norm"""
KEEPING: Final = "sum mean std var max min prod argmax argmin any all nansum"  # take keepdims
ALONG: Final = "cumsum cumprod sort argsort flip diff nancumsum unwrap gradient"
FINITE: Final = "0 1 2 -1 0.5 -0.0 3"
NUMBERS: Final = "0 1 2 -1 0.5 -0.0 3 7 np.inf np.nan 1e300 2.5"
LEAVES: Final = """x y x y x[::-1] y*2 x.astype('float32') x.astype('float64') (x+y)"""
GROUPED: Final = "sum mean var max min prod count first last argmax any nansum nanmean nanmax std"
SLICES: Final = "::2 1: ::-1 :-1 ::-3 1::2"
MODES: Final = "edge constant reflect wrap symmetric"
DTYPES: Final = """float64 float64 float64 float32 float32 float16 int64 int32 int8 uint8 uint64
bool complex128 complex64 int16 uint16 uint32"""


class Texts:
    """Draws texts of arrays of ``axes`` axes."""

    def __init__(self, rng: random.Random, axes: int) -> None:
        self.rng, self.axes = rng, axes

    def one(self, words: str) -> str:
        return self.rng.choice(words.split())

    def axis(self) -> int:
        return self.rng.choice([0, self.axes - 1, self.rng.randrange(self.axes)])

    def inner(self, depth: int) -> str:
        """An array of as many axes as ``x``."""
        if not depth:
            return self.one(LEAVES)
        kinds: dict[Callable[[int], str], int] = {
            self._unary: 26, self._binary: 24, self._where: 8, self._along: 8,
            self._centred: 8, self._moved: 21,
        }  # fmt: skip
        return self.rng.choices(list(kinds), list(kinds.values()))[0](depth - 1)

    def _unary(self, depth: int) -> str:
        return f"np.{self.one(UNARY)}({self.inner(depth)})"

    def _binary(self, depth: int) -> str:
        of = [self.inner(depth), self.one(NUMBERS)]
        if self.rng.random() < 0.6:
            of[1] = self.inner(self.rng.randint(0, depth))
        if self.rng.random() < 0.25:
            of.reverse()
        return f"np.{self.one(BINARY)}({of[0]}, {of[1]})"

    def _where(self, depth: int) -> str:
        number = self.one(NUMBERS)
        return f"np.where({self.inner(depth)} > {number}, {self.inner(depth)}, {self.inner(0)})"

    def _along(self, depth: int) -> str:
        return f"np.{self.one(ALONG)}({self.inner(depth)}, axis={self.axis()})"

    def _centred(self, depth: int) -> str:
        of, name = self.inner(depth), self.one(KEEPING)
        return f"({of} - np.{name}({of}, axis={self.axis()}, keepdims=True))"

    def _moved(self, depth: int) -> str:
        of, axis, rng = self.inner(depth), self.axis(), self.rng
        return rng.choice(
            [
                f"np.roll({of}, {rng.randint(-5, 9)}, axis={axis})",
                f"np.concatenate([{of}, {self.inner(0)}], axis={axis})",
                f"np.clip({of}, {self.one(FINITE)}, {self.one(NUMBERS)})",
                f"({of})[{', '.join([':'] * axis + [self.one(SLICES)])}]",
                f"np.pad({of}, 1, mode={self.one(MODES)!r})",
                f"np.repeat({of}, 2, axis={axis})",
                f"np.swapaxes({of}, 0, {self.axes - 1})",
            ]
        )

    def text(self) -> str:
        """A whole one: mostly a reduction."""
        rng, of = self.rng, self.inner(self.rng.choice([1, 1, 2, 2, 3]))
        if rng.random() < 0.5:
            axis = rng.choice([None, self.axis()])
            return f"np.{self.one(REDUCTIONS)}({of}, axis={axis})"
        fold = self.one(GROUPED)
        given, line = f"(g := {of})", f"(g := np.ravel({of}))"
        return rng.choice(
            [
                of,
                f"({of})[({self.inner(1)}) > 0]",
                f"np.sum(({of})[({of}) > 0])",
                f"np.histogram({of}, 7, (-3, 3))[0]",
                f"np.histogram({given}, 5, (-2, 2), weights=g)[0]",
                f"np.percentile({of}, [3, 50, 90.5], axis={rng.choice([None, 0])})",
                f"np.average({of}, axis=0)",
                f"np.vdot({of}, {of})",
                f"np.einsum('...i,...i->...', {of}, {of})",
                f"np.unique({of})",
                f"np.groupby_reduce({given}, np.arange(g.shape[-1]) % 5, func={fold!r})[0]",
                f"np.bincount(np.arange({line}.size) % 7, g)",
                f"np.searchsorted(np.sort({line}), g[::2])",
                f"np.digitize({of}, [-1.0, 0.0, 0.5, 2.0])",
                f"np.take_along_axis({given}, np.argsort(g, axis=-1), axis=-1)",
                f"np.partition({of}, 0, axis=-1)[..., :1]",
                f"np.topk({of}, 2, axis=0)",
                f"np.segment_sum({given}, np.arange(g.shape[0]) % 3, 3)",
                f"np.convolve({line}, np.array([1.0, -2.0, 0.5]))",
                f"np.interp({line}, np.array([-1.0, 0.0, 2.0]), np.array([3.0, 1.0, 7.0]))",
                f"np.cov({given}.reshape(g.shape[0], -1)[:20])",
                f"({given})[np.arange(g.shape[0])[::-1] // 2]",
                f"({given})[..., np.arange(g.shape[-1]) % 2 == 0]",
                f"np.count_nonzero({of} == {self.inner(0)})",
                f"np.packbits({of} > 0)",
            ]
        )


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Elements that are ordinary, of many sizes, equal, subnormal, or none at all."""
    if dtype.startswith("complex"):
        part = "float32" if dtype == "complex64" else "float64"
        made = np.empty(shape, dtype)
        made.real, made.imag = numbers(rng, shape, part), numbers(rng, shape, part)
        return made
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    kind = int(rng.integers(6))
    return _floats(rng, shape, dtype, kind) if dtype[0] == "f" else _wholes(rng, shape, dtype, kind)


def _wholes(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: int) -> Array:
    info = np.iinfo(dtype)
    if kind < 2:
        return rng.integers(max(int(info.min), -9), 9, shape).astype(dtype)
    made = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    made.reshape(-1)[:: made.size // 7 + 1] = info.max
    return made


def _floats(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: int) -> Array:
    made = rng.normal(size=shape)
    if kind == 1:
        made = np.exp(made * 30) * np.sign(rng.normal(size=shape))
    elif kind == 2:
        made = np.round(made * 3)
    elif kind == 3:
        made *= 1e-310 if dtype == "float64" else 1e-40
    with np.errstate(all="ignore"):
        made = made.astype(dtype)
    if kind < 3 or not made.size:
        return made
    info = np.finfo(dtype)
    ends = [info.max, info.tiny, info.smallest_subnormal]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1, *ends], dtype)
    places = rng.integers(0, made.size, made.size // 9 + 1)
    made.reshape(-1)[places] = rng.choice(special, len(places))
    return np.where(np.isfinite(made), made, made.dtype.type(2)) if kind == 5 else made
