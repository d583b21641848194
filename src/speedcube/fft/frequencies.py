"""The frequencies of transforms, and their zero moved to the middle: fused, with the law."""

from __future__ import annotations

import operator
from typing import Any

from ..api.array import Array, array_of
from ..api.devices import checked_device
from ..api.elementwise import where
from ..api.methods.keywords import as_axes
from ..api.namespace.ranges import arange
from ..api.namespace.repeats import roll
from ..errors import ParameterError, ParameterZeroError, ShapeTypeError
from .calls import checked_axis


def fftfreq(n: int, d: Any = 1.0, device: Any = None, chunks: Any = None) -> Array:
    """Return the frequencies of `fft`'s results, the negative ones last.

    Parameters
    ----------
    n : int
        The number of points.
    d : float
        The distance between two points.
    device : str, optional
        Where the array is to lie: ``"cpu"``, ``"cuda:0"`` ...
    chunks : optional
        Dask's; they are ``.chunks`` of the result.

    Returns
    -------
    Array
        Of float64 and shape (n,), in cycles for each unit of ``d``.

    Raises
    ------
    ValueError
        If ``n`` is no integer, or negative.
    ZeroDivisionError
        If ``n`` or ``d`` is 0.

    Examples
    --------
    >>> sc.fft.fftfreq(4).compute()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    count = _count("fftfreq", n, device)
    step = _step("fftfreq", count, d)
    places = arange(count, chunks=chunks)
    found: Array = where(places < (count - 1) // 2 + 1, places, places - count) * step
    return found


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, chunks: Any = None) -> Array:
    """Return the frequencies of `rfft`'s results.

    Parameters
    ----------
    n : int
        The number of points.
    d : float
        The distance between two points.
    device : str, optional
        Where the array is to lie: ``"cpu"``, ``"cuda:0"`` ...
    chunks : optional
        Dask's; they are ``.chunks`` of the result.

    Returns
    -------
    Array
        Of float64 and shape (n // 2 + 1,), in cycles for each unit of ``d``.

    Raises
    ------
    ValueError
        If ``n`` is no integer.
    ZeroDivisionError
        If ``n`` or ``d`` is 0.

    Examples
    --------
    >>> sc.fft.rfftfreq(4).compute()
    array([0.  , 0.25, 0.5 ])
    """
    count = _count("rfftfreq", n, device)
    found: Array = arange(count // 2 + 1, chunks=chunks) * _step("rfftfreq", count, d)
    return found


def _step(name: str, count: int, d: Any) -> Any:
    try:
        return 1.0 / (count * d)
    except ZeroDivisionError:
        said = f"{name}: {count} points, {d!r} apart, have a period of zero"
        raise ParameterZeroError(said) from None


def _count(name: str, n: Any, device: Any) -> int:
    checked_device(name, device)
    try:
        count = operator.index(n)
    except TypeError as err:
        raise ShapeTypeError(f"{name}: n must be an integer, not {n!r}") from err
    if count < 0 and name == "fftfreq":
        raise ParameterError(f"fftfreq: n must not be negative, and is {count}")
    return count


def fftshift(x: Any, axes: Any = None) -> Array:
    """Return ``x`` with the zero frequency in the middle.

    Parameters
    ----------
    x : array
        What a transform gave, or frequencies.
    axes : int or sequence of int, optional
        The axes; all.

    Returns
    -------
    Array
        The same elements, half of each axis further on.

    Raises
    ------
    IndexError
        For an axis that there is not.

    Examples
    --------
    >>> sc.fft.fftshift(sc.fft.fftfreq(4)).compute()
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Array:
    """Return what `fftshift` was given.

    Parameters
    ----------
    x : array
        What `fftshift` gave.
    axes : int or sequence of int, optional
        The axes; all.

    Returns
    -------
    Array
        The same elements, with the zero frequency first.

    Raises
    ------
    IndexError
        For an axis that there is not.

    Examples
    --------
    >>> sc.fft.ifftshift([-0.5, -0.25, 0.0, 0.25]).compute()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, way: int) -> Array:
    array = array_of(x)
    axes = tuple(range(array.ndim)) if axes is None else as_axes(axes)
    axes = axes if isinstance(axes, tuple) else (axes,)
    axes = [checked_axis("fftshift" if way > 0 else "ifftshift", array.ndim, k) for k in axes]
    return roll(array, [way * (array.shape[k] // 2) for k in axes], axis=tuple(axes))
