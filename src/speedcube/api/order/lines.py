"""The lines of an array, sorted, and the places of its elements in them."""

from __future__ import annotations

from typing import Any, Final

from ...errors import AxisError, ParameterError
from ...expr import build, gather
from ...expr.through import ordering
from ..array import Array, array_of, elementwise
from ..functions.floats import is_of_floats

_KINDS: Final = (None, "quicksort", "mergesort", "heapsort", "stable")


def line_of(name: str, a: Any, axis: int | None) -> tuple[Array, int]:
    """``a`` and its axis along which lines lie; None: all elements are one line."""
    array = array_of(a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    if not array.ndim:
        raise AxisError(f"{name} of a 0-d array: it has no axis {axis}; axis=None takes any shape")
    return array, build.check_axis(axis, array.ndim)


def check_kind(
    name: str, kind: Any, order: Any, kinds: tuple[Any, ...] = _KINDS, stable: Any = None
) -> None:
    """Refuse what NumPy refuses; which way a sort goes decides nothing here."""
    if kind not in kinds:
        raise ParameterError(f"{name} has the kinds {kinds[1:]}, not {kind!r}: all are stable here")
    if kind is not None and stable is not None:
        raise ParameterError(f"{name}: kind= and stable= say the same; give one of them")
    if order is not None:
        raise ParameterError(f"{name}: order= names fields, and arrays here have none")


def sorted_lines(array: Array, axis: int) -> Array:
    """The lines of ``array`` along ``axis`` in order."""
    if array.dtype.kind == "c":
        return along(array, places_of(array, axis), axis)
    return Array(ordering.of_lines("sort", array._expr, axis), gpu=array._gpu)


def places_of(array: Array, axis: int) -> Array:
    """Which element of its line comes first, second ..."""
    if array.dtype.kind == "c":
        return _places_of_pairs(array, axis)
    return Array(ordering.of_lines("argsort", array._expr, axis), gpu=array._gpu)


def _places_of_pairs(array: Array, axis: int) -> Array:
    """The order of complex numbers: by the real part, then by the imaginary one.

    Behind all come those with NaN in the imaginary part, the real one, and both, as in NumPy. Each
    sort keeps the order of those before it where its own key is equal.
    """
    nan_re, nan_im = (elementwise("isnan", part) for part in (array.real, array.imag))
    kind = nan_re.astype("int8") * 2 + nan_im.astype("int8")
    order = places_of(array.imag, axis)
    for key in (array.real, kind):
        order = along(order, places_of(along(key, order, axis), axis), axis)
    return order


def parted_lines(array: Array, axis: int, places: tuple[int, ...]) -> Array:
    """The lines of ``array`` with what is before, at and behind ``places`` in its part."""
    if array.dtype.kind == "c":
        return sorted_lines(array, axis)
    return Array(ordering.of_lines("partition", array._expr, axis, places), gpu=array._gpu)


MOST_PLACES: Final = 64  # more are read from the sorted line


def order_statistics(array: Array, places: tuple[int, ...]) -> Array:
    """The elements of the lines along the last axis that have these ``places`` when sorted."""
    last = array.ndim - 1
    if len(places) > MOST_PLACES or array.dtype.kind == "c":
        return taken(sorted_lines(array, last), array_of(list(places)), last)
    if not places:
        return array[..., :0]
    return Array(ordering.of_lines("order_statistics", array._expr, last, places), gpu=array._gpu)


def taken(array: Array, places: Array, axis: int) -> Array:
    """``array`` at ``places`` along ``axis``, which are known to lie in it."""
    return Array(gather.take(array._expr, places._expr, axis), gpu=array._gpu)


def along(array: Array, places: Array, axis: int) -> Array:
    """The lines of ``array`` each at its own ``places``, which are known to lie in it."""
    return Array(gather.take_along(array._expr, places._expr, axis), gpu=array._gpu)


def before(x: Any, y: Any) -> Array:
    """Whether ``x`` is before ``y`` in the order: below it, or a number and it NaN."""
    if array_of(y).dtype.kind == "c":
        return _pair_before(array_of(x), array_of(y))
    less = elementwise("less", x, y)
    if not is_of_floats(array_of(y)):
        return less
    number = elementwise("equal", x, x)
    return elementwise("logical_or", less, elementwise("logical_and", number, y != y))


def _pair_before(x: Array, y: Array) -> Array:
    """The same of complex numbers: NumPy's order, in which a part that is NaN comes last."""
    known = [[part == part for part in (one.real, one.imag)] for one in (x, y)]
    (x_real, x_imag), (y_real, y_imag) = known
    not_after = x_imag | ~y_imag  # nor is a NaN of the one before a number of the other
    below = (x.real < y.real) & not_after
    above = (x.real > y.real) & x_imag & ~y_imag
    alike = (x.real == y.real) | ~(x_real | y_real)
    by_imag = (x.imag < y.imag) | (x_imag & ~y_imag)
    found: Array = below | above | (alike & by_imag) | (x_real & ~y_real)
    return found


def counts_of(index: Array, length: int) -> Array:
    """How often each number below ``length`` is in ``index``, which has 0 to ``length``, int64."""
    return Array(ordering.counts("count", [index._expr], length, "int64"), gpu=index._gpu)


def sums_of(index: Array, weights: Array, length: int) -> Array:
    """The exact sum of the ``weights``, float64, of each number below ``length`` in ``index``."""
    args = [index._expr, weights._expr]
    return Array(ordering.counts("weigh", args, length, "float64"), gpu=index._gpu)
