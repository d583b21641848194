"""Arrays some of whose elements count for nothing: `MaskedArray`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ..api.array import Array, array_of
from ..api.creation import full
from ..api.methods.operators import Knowing
from ..api.sources import asarray
from ..api.stored import is_dask_array
from ..api.together import compute, persist
from ..errors import DTypeError, ParameterTypeError
from . import pairs, reducing
from .collected import Collected
from .pairs import Pair

# What gives the same of the values and of the mask.
MOVED: Final = """
    reshape ravel flatten transpose swapaxes squeeze repeat take rechunk diagonal
"""
REDUCTIONS: Final = "all any argmax argmin cumprod cumsum max mean min prod ptp std sum var"


class MaskedArray(Knowing, Collected):
    """An array with a mask: lazy, as `speedcube.Array` is, and computed to a numpy.ma.MaskedArray.

    Made by `masked_array`, `masked_where` and the others, never directly. Values and results, and
    what is masked of them, are numpy.ma's.
    """

    __slots__ = ("__weakref__", "_data", "_fill", "_mask")
    __array_priority__ = 30.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Array, mask: Array | None, fill: Any = None) -> None:
        spread = pairs.spread((data, mask))
        self._data: Array = spread[0]
        self._mask: Any = spread[1]
        self._fill = fill
        self._collection: Any = None  # the same as an array of Dask's, once Dask asks

    # What it is

    @property
    def data(self) -> Array:
        """The values, also those under the mask."""
        return self._data

    @property
    def mask(self) -> Array:
        """Whether elements are masked: an array of bool."""
        return full(self.shape, False) if self._mask is None else self._mask

    @property
    def fill_value(self) -> Any:
        """What `filled` has for masked elements."""
        return np.ma.MaskedArray(np.zeros(0, self.dtype), fill_value=self._fill).fill_value

    @fill_value.setter
    def fill_value(self, value: Any) -> None:
        self._fill = np.ma.MaskedArray(np.zeros(0, self.dtype), fill_value=value).fill_value
        self._collection = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self._data.dtype

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are, masked ones among them."""
        return math.prod(self.shape)

    @property
    def T(self) -> MaskedArray:
        """The axes in reversed order."""
        return self._both(lambda one: one.T)

    @property
    def real(self) -> MaskedArray:
        """The real parts."""
        return MaskedArray(self._data.real, self._mask)

    @property
    def imag(self) -> MaskedArray:
        """The imaginary parts."""
        return MaskedArray(self._data.imag, self._mask)

    def __str__(self) -> str:
        return str(self.compute())

    def __format__(self, spec: str) -> str:
        return str(self) if self.shape and not spec else format(self.compute(), spec)

    def __repr__(self) -> str:
        return f"<speedcube.ma.MaskedArray {self.shape} {self.dtype}>"

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[MaskedArray]:
        return (self[k] for k in range(len(self)))

    # Its values

    def compute(self, **keywords: Any) -> Any:
        """The values, as a numpy.ma.MaskedArray; of no axes a number, or numpy.ma.masked."""
        data, mask = compute(self._data, self.mask, **keywords)
        if not self.shape:
            return np.ma.masked if mask else data
        return np.ma.MaskedArray(data, mask, fill_value=self._fill)

    def persist(self, **keywords: Any) -> MaskedArray:
        """The same with values that lie in memory."""
        data, mask = persist(self._data, self._mask, **keywords)
        return MaskedArray(data, mask, self._fill)

    def to_dask_array(self) -> Any:
        """The same as an array of Dask's, with blocks that are masked arrays."""
        from dask.array import ma  # which takes a third of a second to load

        data = self._data.to_dask_array()
        mask = self.mask.to_dask_array().rechunk(data.chunks)
        return ma.masked_array(data, mask, fill_value=self._fill)

    def filled(self, fill_value: Any = None) -> Array:
        """The values, with ``fill_value`` for those that are masked."""
        value = self.fill_value if fill_value is None else fill_value
        if fill_value is not None and not isinstance(value, Array):
            value = MaskedArray(self._data, None, value).fill_value
        return reducing.filled(self._data, self._mask, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise DTypeError(
            "a speedcube.ma.MaskedArray is no plain array: fill the gaps first, x.filled(...), "
            "or take x.compute()"
        )

    def __bool__(self) -> bool:
        return bool(self.compute())

    def __int__(self) -> int:
        return int(self.compute())

    def __float__(self) -> float:
        return float(self.compute())

    # Its parts

    def __getitem__(self, key: Any) -> MaskedArray:
        places = _plain(key)
        return self._both(lambda one: one[places])

    def __setitem__(self, key: Any, value: Any) -> None:
        places, self._collection = _plain(key), None
        data, mask = pair_of(value)
        hidden = True if value is np.ma.masked else mask
        # As in numpy.ma a key with a mask leaves what is masked, unless the value has a mask, too.
        stays = _has_mask(key) and not _has_mask(value)
        if not stays and (self._mask is not None or hidden is not None):
            masks = self.mask.copy()
            masks[places] = False if hidden is None else hidden
            self._mask = masks
        if value is not np.ma.masked:
            values = self._data.copy()
            values[places] = data
            self._data = values

    def _both(self, change: Callable[[Any], Array]) -> MaskedArray:
        """``change`` of the values and of the mask."""
        mask = None if self._mask is None else change(self._mask)
        return MaskedArray(change(self._data), mask, self._fill)

    def astype(self, dtype: Any, **keywords: Any) -> MaskedArray:
        """The values in another dtype."""
        return MaskedArray(self._data.astype(dtype, **keywords), self._mask, self._fill)

    def copy(self) -> MaskedArray:
        """An array of its own with the same values."""
        return self._both(lambda one: one.copy())

    def round(self, decimals: int = 0) -> MaskedArray:
        """The values, rounded."""
        return MaskedArray(self._data.round(decimals), self._mask, self._fill)

    def clip(self, min: Any = None, max: Any = None) -> MaskedArray:
        """The values, held between two limits."""
        return MaskedArray(self._data.clip(min, max), self._mask, self._fill)

    def conj(self) -> MaskedArray:
        """The conjugates."""
        return MaskedArray(self._data.conj(), self._mask, self._fill)

    def compressed(self) -> Array:
        """The values that are not masked, in one line."""
        line: Array = self._data.ravel() if self._mask is None else self._data[~self._mask]
        return line

    def count(self, axis: Any = None, keepdims: bool = False) -> Array:
        """How many elements are not masked."""
        return reducing.count(self.mask, axis, keepdims)

    # What NumPy asks of it

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__" or keywords or ufunc.nout != 1:
            raise ParameterTypeError(
                f"numpy.{ufunc.__name__} of a speedcube.ma.MaskedArray takes arrays alone; "
                "for more take x.compute()"
            )
        return result_of(
            inputs, pairs.of_ufunc(ufunc.__name__, ufunc, [pair_of(x) for x in inputs])
        )

    def __array_function__(self, func: Any, types: Any, args: Any, keywords: Any) -> Any:
        name = {"amax": "max", "amin": "min"}.get(func.__name__, func.__name__)
        known = name in f"{MOVED} {REDUCTIONS} round clip copy".split()
        if not known or not args or args[0] is not self or not hasattr(np, func.__name__):
            raise ParameterTypeError(
                f"{func.__module__}.{func.__name__} of a speedcube.ma.MaskedArray is not there: "
                "take x.filled(...), or x.compute()"
            )
        return getattr(self, name)(*args[1:], **keywords)


def pair_of(value: Any) -> Pair:
    """``value``, an array or a number of whatever kind, as values and mask."""
    if isinstance(value, MaskedArray):
        return value._data, value._mask
    if isinstance(value, (Array, bool, int, float, complex)):
        return value, None
    if value is np.ma.masked:
        return array_of(np.zeros(())), array_of(np.ones((), bool))
    if isinstance(value, np.ma.MaskedArray):
        mask = None if value.mask is np.ma.nomask else array_of(np.asarray(value.mask))
        return array_of(value.data), mask
    if is_dask_array(value) and isinstance(value._meta, np.ma.MaskedArray):
        from dask.array import ma

        return asarray(ma.getdata(value)), asarray(ma.getmaskarray(value))
    return array_of(value), None


def masked_of(value: Any) -> MaskedArray:
    """``value``, whatever it is, as a masked array."""
    if isinstance(value, MaskedArray):
        return value
    if isinstance(value, Array):  # which others may write to
        return MaskedArray(value.copy(), None)
    data, mask = pair_of(value)
    fill = getattr(value, "fill_value", None)
    if not isinstance(value, np.ma.MaskedArray) or fill == np.ma.default_fill_value(value):
        fill = None
    return MaskedArray(array_of(data), mask, fill)


def result_of(operands: tuple[Any, ...], pair: Pair) -> MaskedArray:
    """The result of ``operands``, with the fill value of the first that has one."""
    fills = [one._fill for one in operands if isinstance(one, MaskedArray)]
    fill = next((one for one in fills if one is not None), None)
    kept = fill is not None and np.can_cast(np.asarray(fill).dtype, pair[0].dtype, "same_kind")
    return MaskedArray(*pair, fill if kept else None)


def _has_mask(one: Any) -> bool:
    return isinstance(one, (MaskedArray, np.ma.MaskedArray))


def _plain(key: Any) -> Any:
    """An index without masks, which numpy.ma does not heed in one."""
    if isinstance(key, tuple):
        return tuple(map(_plain, key))
    return key._data if isinstance(key, MaskedArray) else key
