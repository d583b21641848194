"""Fourier transforms along one axis."""

from __future__ import annotations

from typing import Any

from ..api.array import Array, array_of
from .calls import checked_axis, checked_norm, checked_points, of_nothing, transformed
from .documents import document


def _called(name: str, a: Any, n: Any, axis: Any, norm: Any, out: Any, ends: Any) -> Array:
    """Transform ``name``; ``ends`` gives the points it takes, and those of its result."""
    x = array_of(a)
    k = checked_axis(name, x.ndim, axis)
    points = checked_points(name, ends(x.shape[k]) if n is None else n)
    length = points // 2 + 1 if name in ("rfft", "ihfft") else points
    shape = (*x.shape[:k], length, *x.shape[k + 1 :])
    norm = checked_norm(name, norm)
    if not x.shape[k]:  # zeros are added, which the library does not for irfft
        return of_nothing(name, x, shape, out, 1)
    return transformed(name, x, shape, out, points, k, norm)


def _same(length: int) -> int:
    return length


def _whole(length: int) -> int:
    """The points of which the first half and one more are given."""
    return 2 * (length - 1)


@document(
    "The discrete Fourier transform along an axis.",
    "Real or complex numbers.",
    "Complex numbers.",
    ">>> sc.fft.fft(sc.asarray([1.0, 0.0, 0.0, 0.0])).real.compute()\n    array([1., 1., 1., 1.])",
)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Array:
    return _called("fft", a, n, axis, norm, out, _same)


@document(
    "The inverse discrete Fourier transform along an axis.",
    "Real or complex numbers.",
    "Complex numbers.",
    ">>> sc.fft.ifft(sc.asarray([4.0, 0.0, 0.0, 0.0])).real.compute()\n    array([1., 1., 1., 1.])",
)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Array:
    return _called("ifft", a, n, axis, norm, out, _same)


@document(
    "The first half of the Fourier transform of real numbers, which the other half mirrors.",
    "Real numbers.",
    "Complex numbers; along the axis ``n // 2 + 1`` of them.",
    ">>> sc.fft.rfft(sc.asarray([1.0, 0.0, 0.0, 0.0])).real.compute()\n    array([1., 1., 1.])",
)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Array:
    return _called("rfft", a, n, axis, norm, out, _same)


@document(
    "The inverse of `rfft`.",
    "The first half of a transform, and one more.",
    "Real numbers; along the axis ``n``, or twice as many as there are, less two.",
    ">>> sc.fft.irfft(sc.asarray([1.0, 1.0, 1.0])).compute()\n    array([1., 0., 0., 0.])",
)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Array:
    return _called("irfft", a, n, axis, norm, out, _whole)


@document(
    "The transform, which is real, of numbers whose other half mirrors the first.",
    "The first half, and one more.",
    "Real numbers; along the axis ``n``, or twice as many as there are, less two.",
    ">>> sc.fft.hfft(sc.asarray([1.0, 1.0, 1.0])).compute()\n    array([4., 0., 0., 0.])",
)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Array:
    return _called("hfft", a, n, axis, norm, out, _whole)


@document(
    "The inverse of `hfft`.",
    "Real numbers.",
    "Complex numbers; along the axis ``n // 2 + 1`` of them.",
    ">>> sc.fft.ihfft(sc.asarray([4.0, 0.0, 0.0, 0.0])).real.compute()\n    array([1., 1., 1.])",
)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Array:
    return _called("ihfft", a, n, axis, norm, out, _same)
