"""Inner products of vectors: the exact sum of the exact products, rounded once.

And NumPy's keywords of products: which axes they take, in what they are computed, `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import dtypes
from ..errors import DTypeError, ParameterError, ParameterTypeError, ShapeError
from ..expr import build, reductions, views
from ..expr.pairs.dots import dot as dot_of_pairs
from ..interop.chunks import reduced
from .array import Array, array_of, elementwise
from .devices import checked_order
from .functions.ufuncs import cast_operands, check_casting, dtypes_said
from .methods.keywords import put


def vecdot(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    axis: int = -1,
    keepdims: bool = False,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Multiply vectors: the dot products along an axis.

    Of floats each is the exact sum of the exact products, rounded once to their common dtype: no
    product overflows or vanishes on the way, and no order, split or device can change a bit.
    Integers wrap in their common dtype; of bool it is whether any pair is true. Of complex numbers
    the conjugate of `x1` is taken, and each part of the sum is exact, rounded once.

    Parameters
    ----------
    x1, x2 : array
        The vectors. The other axes broadcast.
    out : Array, optional
        Takes the result.
    axes : list of tuple, optional
        The axis of each operand, one by one; and of the result, where `keepdims` holds.
    axis : int, optional
        Along which axis both lie.
    keepdims : bool
        Whether that axis stays, with one element.
    casting, order, dtype, subok, signature : optional
        As in `add`.

    Returns
    -------
    Array
        The products, without the axis.

    Raises
    ------
    ValueError
        If the vectors differ in length, or one of the arrays has no such axis.

    Examples
    --------
    >>> sc.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).compute()
    array([3., 7.])
    """
    if axes is None and axis != -1:
        axes = [(axis,), (axis,), (axis,) if keepdims else ()]
    elif axes is not None:
        if axis != -1:
            raise ParameterTypeError("vecdot: axis= and axes= say the same; leave one out")
        axes = [*axes, axes[0]] if keepdims and len(axes) == 2 else axes
    rule = _kept_vecdot if keepdims else _vecdot
    cores, keywords = (1, 1, int(bool(keepdims))), (casting, order, dtype, signature)
    return product_with("vecdot", rule, (x1, x2), cores, out, (axes, None, False), keywords)


def _vecdot(x: Array, y: Array) -> Array:
    for one in (x, y):
        build.check_axis(-1, one.ndim)
    return inner_products(x.conj() if x.dtype.kind == "c" else x, y)


def _kept_vecdot(x: Array, y: Array) -> Array:
    return _vecdot(x, y)[..., None]


_EVERY_PLACE: Final = (None, None, False)
_PLAINLY: Final = ("same_kind", "K", None, None)


def product_with(
    name: str,
    rule: Callable[[Array, Array], Array],
    operands: tuple[Any, Any],
    cores: tuple[int, int, int],
    out: Any,
    places: tuple[Any, Any, Any],
    keywords: tuple[Any, Any, Any, Any],
) -> Array:
    """``rule`` of ``operands`` with NumPy's ``axes axis keepdims`` and ``casting .. signature``.

    ``cores``: how many axes, the last of each operand and of the result, it is about.
    """
    plainly = out is None and places[0] is None and places == _EVERY_PLACE
    if plainly and keywords == _PLAINLY:  # as nearly always
        return rule(*map(array_of, operands))
    (axes, axis, keepdims), (casting, order, dtype, signature) = places, keywords
    checked_order(name, order)
    check_casting(name, casting)
    if axis is not None or keepdims:
        raise ParameterTypeError(
            f"{name} takes neither axis= nor keepdims=: each operand has more than one "
            "core axis; give axes="
        )
    kinds: tuple[Any, ...] = (None, None, dtype)
    if signature is not None:
        kinds = dtypes_said(name, signature, dtype, 2, 1)
    x, y = map(array_of, cast_operands(name, operands, kinds[:2], kinds[2], casting))
    at = None if axes is None else _places(name, axes, cores)
    if at is not None:
        x, y = _ordered(x, at[0]), _ordered(y, at[1])
    made = rule(x, y)
    if kinds[2] is not None and made.dtype != dtypes.check(kinds[2]):
        raise DTypeError(
            f"{name} of {x.dtype} and {y.dtype} gives {made.dtype}, not "
            f"{dtypes.check(kinds[2])}: convert it with .astype()"
        )
    if at is not None:
        made = _ordered(made, at[2], back=True)
    return made if out is None else put(out, made, name, casting=casting)


def _places(name: str, axes: Any, cores: tuple[int, int, int]) -> list[tuple[Any, ...]]:
    """The axes of each operand and of the result that ``axes=`` names."""
    if not isinstance(axes, list):
        raise ParameterTypeError(f"{name}: axes= takes a list of tuples, not {axes!r}")
    given = [*axes, ()] if len(axes) == 2 and not cores[2] else axes
    found = [one if isinstance(one, tuple) else (one,) for one in given]
    if [len(one) for one in found] != list(cores):
        raise ParameterError(
            f"{name}: axes= must name {cores[0]} and {cores[1]} axes of the operands "
            f"and {cores[2]} of the result, not {axes!r}"
        )
    return found


def _ordered(x: Array, axes: tuple[Any, ...], back: bool = False) -> Array:
    """``x`` with ``axes`` last; or, ``back``, with its last ones at ``axes``."""
    named = [build.check_axis(axis, x.ndim) for axis in axes]
    if len(set(named)) < len(named):
        raise ParameterError(f"axes {axes} name an axis twice")
    order = [*(k for k in range(x.ndim) if k not in named), *named]
    if order == list(range(x.ndim)):
        return x
    return x.transpose([order.index(k) for k in range(x.ndim)] if back else order)


def inner_products(x: Array, y: Array) -> Array:
    """The sums along the last axis of the products."""
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"vectors of {x.shape[-1]} and {y.shape[-1]} elements have no dot product: give both "
            "the same length, by slicing or broadcast_to"
        )
    product = elementwise("multiply", x, y)
    grid = reduced(product._grid, (product.ndim - 1,), False)
    if product.dtype.kind == "c":
        name, shape = str(product.dtype), product.shape
        a, b = (views.broadcast_to(one.astype(name)._expr, shape) for one in (x, y))
        return Array(dot_of_pairs(a, b, product.ndim - 1), gpu=product._gpu, hint=grid)
    return Array(reductions.dot(product._expr, -1), gpu=product._gpu, hint=grid)


def vdot(a: Any, b: Any, /) -> Array:
    """Multiply all elements of two arrays, in C order, and sum: an exact sum, rounded once.

    Of complex numbers the conjugate of `a` is taken.

    Parameters
    ----------
    a, b : array
        Arrays of as many elements.

    Returns
    -------
    Array
        The product.

    Raises
    ------
    ValueError
        If one has more elements than the other.

    Examples
    --------
    >>> sc.vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]]).compute()
    np.int64(10)
    """
    x, y = (v if v.ndim == 1 else v.ravel() for v in map(array_of, (a, b)))
    return vecdot(x, y)
