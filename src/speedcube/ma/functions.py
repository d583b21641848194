"""The functions of `dask.array.ma`, which numpy.ma has too: what makes masked arrays, and tells."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..api.array import Array, array_of, elementwise
from ..api.creation import full
from ..api.functions.comparing import isclose
from ..api.indexing.searching import nonzero as places
from ..errors import ParameterError, ParameterTypeError, ShapeError
from .arrays import MaskedArray, masked_of, pair_of
from .pairs import cast, either, isnt_finite


def masked_array(
    data: Any, mask: Any = np.ma.nomask, fill_value: Any = None, *, dtype: Any = None
) -> MaskedArray:
    """``data`` with the elements masked where ``mask`` holds; what is masked of it stays so."""
    if np.shape(fill_value):
        raise ParameterError("masked_array takes one number as fill_value, not an array")
    array = masked_of(data)
    values = array._data if dtype is None else array._data.astype(dtype)
    fill = array._fill if fill_value is None else MaskedArray(values, None, fill_value).fill_value
    if mask is np.ma.nomask:
        return MaskedArray(values, array._mask, fill)
    own: Any = array_of(mask).astype("bool").copy()
    if own.shape != values.shape:
        if own.size != 1:
            raise np.ma.MaskError(
                f"Mask and data not compatible: data shape is {values.shape}, and mask shape is "
                f"{own.shape}."
            )
        own = np.broadcast_to(own.reshape(()), values.shape)
    return MaskedArray(values, either(array._mask, own), fill)


def masked_where(condition: Any, a: Any, copy: Any = True) -> MaskedArray:
    """``a``, masked where ``condition`` holds."""
    array, (values, mask) = masked_of(a), pair_of(condition)
    wanted = array_of(values).astype("bool").copy()
    if mask is not None:  # what nobody knows counts as true
        wanted = elementwise("logical_or", wanted, mask)
    if wanted.shape and wanted.shape != array.shape:
        raise _Inconsistent(
            f"Inconsistent shape between the condition and the input (got {wanted.shape} and "
            f"{array.shape})"
        )
    return MaskedArray(array._data, either(array._mask, wanted), array._fill)


class _Inconsistent(ShapeError, IndexError):
    """Shapes that do not fit, which numpy.ma calls an IndexError."""


def _compared(op: str, x: Any, value: Any) -> MaskedArray:
    return masked_where(getattr(np, op)(masked_of(x), value), x)


def masked_equal(x: Any, value: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it equals ``value``, which becomes the fill value."""
    if np.shape(value):
        raise ParameterError("masked_equal takes one number as value, not an array")
    result = _compared("equal", x, value)
    result.fill_value = value
    return result


def masked_not_equal(x: Any, value: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it does not equal ``value``."""
    return _compared("not_equal", x, value)


def masked_greater(x: Any, value: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it is above ``value``."""
    return _compared("greater", x, value)


def masked_greater_equal(x: Any, value: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it is ``value`` or above."""
    return _compared("greater_equal", x, value)


def masked_less(x: Any, value: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it is below ``value``."""
    return _compared("less", x, value)


def masked_less_equal(x: Any, value: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it is ``value`` or below."""
    return _compared("less_equal", x, value)


def masked_inside(x: Any, v1: Any, v2: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it lies between two values, themselves included."""
    least, most = (v2, v1) if v2 < v1 else (v1, v2)
    known = filled(x)
    return masked_where(
        elementwise("logical_and", np.greater_equal(known, least), np.less_equal(known, most)), x
    )


def masked_outside(x: Any, v1: Any, v2: Any, copy: Any = True) -> MaskedArray:
    """``x``, masked where it does not lie between two values, which stay."""
    least, most = (v2, v1) if v2 < v1 else (v1, v2)
    known = filled(x)
    return masked_where(
        elementwise("logical_or", np.less(known, least), np.greater(known, most)), x
    )


def masked_invalid(a: Any, copy: Any = True) -> MaskedArray:
    """``a``, masked where it is NaN or infinite."""
    array = masked_of(a)
    return MaskedArray(array._data, either(array._mask, isnt_finite(array._data)), array._fill)


def masked_values(
    x: Any, value: Any, rtol: float = 1e-05, atol: float = 1e-08, shrink: bool = True
) -> MaskedArray:
    """``x``, masked where it is nearly ``value``, which becomes the fill value."""
    if np.shape(value):
        raise ParameterError("masked_values takes one number as value, not an array")
    known = filled(x, value)
    if dtypes.is_float(known.dtype.name):
        return masked_array(known, isclose(known, value, rtol=rtol, atol=atol), value)
    return masked_array(known, np.equal(known, value), value)


def fix_invalid(a: Any, fill_value: Any = None) -> MaskedArray:
    """``a``, masked where it is NaN or infinite, with ``fill_value`` for the values there."""
    array = masked_of(a)
    beyond = isnt_finite(array._data)
    if beyond is None:
        return array
    value = array.fill_value if fill_value is None else fill_value
    data = elementwise("where", beyond, cast(np.asarray(value), array.dtype), array._data)
    return MaskedArray(data, either(array._mask, beyond), array._fill)


def filled(a: Any, fill_value: Any = None) -> Array:
    """``a`` with ``fill_value``, else its own, for masked elements."""
    return masked_of(a).filled(fill_value)


def getdata(a: Any) -> Array:
    """The values of ``a``, also those that are masked."""
    return masked_of(a).data


def getmaskarray(a: Any) -> Array:
    """Whether elements of ``a`` are masked: an array of bool."""
    return masked_of(a).mask


def set_fill_value(a: Any, fill_value: Any) -> None:
    """Change the fill value of ``a``; arrays without a mask have none."""
    if np.shape(fill_value):
        raise ParameterError("set_fill_value takes one number, not an array")
    if isinstance(a, MaskedArray):
        a.fill_value = fill_value


def count(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """How many elements are not masked."""
    return masked_of(a).count(axis=axis, keepdims=keepdims)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The weighted mean of what is not masked; with ``returned`` the sum of the weights, too."""
    array: Any = masked_of(a)
    if weights is None:
        mean = array.mean(axis, keepdims=keepdims)
        whole = MaskedArray(array.count(axis, keepdims).astype(mean.dtype), None)
    else:
        whole, mean = _weighted(array, weights, axis, keepdims)
    return (mean, whole) if returned else mean


def _weighted(array: Any, weights: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    weight: Any = masked_of(weights)
    wide = ["f8"] if array.dtype.kind in "biu" else []
    kind = np.result_type(array.dtype, weight.dtype, *wide)
    if weight.shape != array.shape:
        weight = _along(array, weight, axis)
    weight = MaskedArray(weight._data, either(weight._mask, array._mask))
    total = weight.sum(axis, dtype=kind, keepdims=keepdims)
    product = array.astype(kind) * weight.astype(kind)
    return total, product.sum(axis, keepdims=keepdims) / total


def _along(array: Any, weight: Any, axis: Any) -> Any:
    if axis is None:
        raise ParameterTypeError("Axis must be specified when shapes of a and weights differ.")
    axes = np.lib.array_utils.normalize_axis_tuple(axis, array.ndim)
    if weight.shape != tuple(array.shape[k] for k in axes):
        raise ShapeError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    turned = weight.transpose(np.argsort(axes).tolist())
    placed = turned.reshape([n if k in axes else 1 for k, n in enumerate(array.shape)])
    return placed._both(lambda one: np.broadcast_to(one, array.shape))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where ``condition``, else ``y``; masked where the chosen one or the condition is."""
    if (x is None) != (y is None):
        raise ParameterError("where takes both x and y, or neither")
    if x is None:
        return nonzero(condition)
    wanted, first, other = masked_of(condition), pair_of(x), pair_of(y)
    holds = elementwise("not_equal", wanted.filled(False), False)
    if x is np.ma.masked or y is np.ma.masked:  # which has the dtype of the other
        kind = array_of((other if x is np.ma.masked else first)[0]).dtype
        first, other = ((array_of(v).astype(kind), m) for v, m in (first, other))
    values: Any = np.where(holds, array_of(first[0]), array_of(other[0]))
    masks = [False if one is None else one for one in (first[1], other[1])]
    mask = elementwise("where", holds, *masks)
    return MaskedArray(values, either(wanted._mask, mask))


def nonzero(a: Any) -> Any:
    """Where elements are neither 0 nor masked; computed at once."""
    return places(filled(a, 0))


def ones_like(a: Any, dtype: Any = None) -> MaskedArray:
    """Ones, masked where ``a`` is."""
    return _alike(a, 1, dtype)


def zeros_like(a: Any, dtype: Any = None) -> MaskedArray:
    """Zeros, masked where ``a`` is."""
    return _alike(a, 0, dtype)


def empty_like(a: Any, dtype: Any = None) -> MaskedArray:
    """Zeros, masked where ``a`` is."""
    return _alike(a, 0, dtype)


def _alike(a: Any, value: int, dtype: Any) -> MaskedArray:
    array = masked_of(a)
    kind = array.dtype if dtype is None else np.dtype(dtype)
    return MaskedArray(full(array.shape, value, dtype=kind), array._mask, array._fill)
