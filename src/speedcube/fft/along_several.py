"""Fourier transforms along two axes or more."""

from __future__ import annotations

from typing import Any

from ..api.array import Array, array_of
from ..api.methods.keywords import put
from ..errors import AxisError
from .calls import check_input, checked_norm, checked_sizes, of_nothing, transformed
from .documents import document

_ONES = "sc.ones((2, 2))"


def _called(name: str, a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Array:
    """Transform ``name`` of several axes, one after the other."""
    x = array_of(a)
    check_input(name, x)
    sizes, chosen = checked_sizes(name, x.shape, s, axes, name == "irfftn")
    shape = list(x.shape)
    made = [*zip(chosen, sizes, strict=True)]
    if name in ("rfftn", "irfftn"):
        if not chosen:
            raise AxisError(f"{name} needs an axis: axes is empty")
        if name == "rfftn":
            made[-1] = chosen[-1], sizes[-1] // 2 + 1
    # An axis that is named twice has the points of the transform that comes last: of these the
    # last axis comes first, but for irfftn.
    for k, n in made if name == "irfftn" else made[::-1]:
        shape[k] = n
    if not chosen:
        return x if out is None else put(out, x, name)
    norm = checked_norm(name, norm)
    if any(not x.shape[k] for k in chosen):
        return of_nothing(name, x, tuple(shape), out, len(chosen))
    return transformed(name, x, tuple(shape), out, sizes, chosen, norm)


@document(
    "The discrete Fourier transform along several axes.",
    "Real or complex numbers.",
    "Complex numbers.",
    f">>> sc.fft.fftn({_ONES}).real.compute()\n    array([[4., 0.],\n           [0., 0.]])",
    "s",
)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Array:
    return _called("fftn", a, s, axes, norm, out)


@document(
    "The inverse discrete Fourier transform along several axes.",
    "Real or complex numbers.",
    "Complex numbers.",
    f">>> sc.fft.ifftn({_ONES}).real.compute()\n    array([[1., 0.],\n           [0., 0.]])",
    "s",
)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Array:
    return _called("ifftn", a, s, axes, norm, out)


@document(
    "The Fourier transform of real numbers along several axes, half of it along the last.",
    "Real numbers.",
    "Complex numbers; along the last of the axes half of them, and one more.",
    f">>> sc.fft.rfftn({_ONES}).real.compute()\n    array([[4., 0.],\n           [0., 0.]])",
    "s",
)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Array:
    return _called("rfftn", a, s, axes, norm, out)


@document(
    "The inverse of `rfftn`.",
    "A transform of which half is given along the last of the axes.",
    "Real numbers.",
    f">>> sc.fft.irfftn({_ONES}).compute()\n    array([[1., 0.],\n           [0., 0.]])",
    "s",
)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Array:
    return _called("irfftn", a, s, axes, norm, out)


@document(
    "The discrete Fourier transform along two axes.",
    "Real or complex numbers.",
    "Complex numbers.",
    f">>> sc.fft.fft2({_ONES}).real.compute()\n    array([[4., 0.],\n           [0., 0.]])",
    "s",
)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    return _called("fftn", a, s, axes, norm, out)


@document(
    "The inverse discrete Fourier transform along two axes.",
    "Real or complex numbers.",
    "Complex numbers.",
    f">>> sc.fft.ifft2({_ONES}).real.compute()\n    array([[1., 0.],\n           [0., 0.]])",
    "s",
)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    return _called("ifftn", a, s, axes, norm, out)


@document(
    "The Fourier transform of real numbers along two axes, half of it along the last.",
    "Real numbers.",
    "Complex numbers; along the last of the axes half of them, and one more.",
    f">>> sc.fft.rfft2({_ONES}).real.compute()\n    array([[4., 0.],\n           [0., 0.]])",
    "s",
)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    return _called("rfftn", a, s, axes, norm, out)


@document(
    "The inverse of `rfft2`.",
    "A transform of which half is given along the last of the axes.",
    "Real numbers.",
    f">>> sc.fft.irfft2({_ONES}).compute()\n    array([[1., 0.],\n           [0., 0.]])",
    "s",
)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Array:
    return _called("irfftn", a, s, axes, norm, out)
