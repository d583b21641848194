"""`Array`: a lazy NumPy-style array. Nothing is evaluated unless asked.

Evaluation happens in ``compute``, ``persist``, ``float()`` and friends, and ``np.asarray``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import dtypes
from ..engine.compute import Plans, ResultMemory, compute, plan_for, source_of
from ..engine.explain import Explanation, explain
from ..engine.rungs import with_threads
from ..errors import AxisError, DTypeError, ParameterError, ShapeError
from ..expr import build, reductions, views
from ..expr.nodes import Expr, Leaf, Shape, Stored
from ..interop import chunks as grids
from ..interop.buffers import readable
from ..interop.dask_array import to_dask_array
from ..ops import ALIASES, OPS
from ..plan.plan import Plan
from .numpy_protocol import REDUCTIONS, SCANS, check_keywords, other_ufunc
from .numpy_protocol import function as numpy_function
from .operators import Operators
from .repr import html, summary


class Array(Operators):
    """An array of ``shape`` and ``dtype`` that is computed when it is asked for.

    Made by `speedcube.random`, `arange`, `asarray` and others, never directly. It behaves like a
    NumPy array; every operation gives another lazy array at once.
    """

    __slots__ = ("_gpu", "_grid", "_plans")
    __array_priority__ = 20.0

    def __init__(self, expr: Expr, *, gpu: bool = False, hint: Any = None) -> None:
        super().__init__(expr)
        self._gpu = gpu  # made with a CuPy RandomState: prefers a GPU
        self._plans: Plans = {}
        self._grid = grids.grid_of(hint, expr.shape, expr.dtype)  # never used by the engine

    # What it is ----------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        return self._expr.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._expr.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes the array would take in memory."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The grid the same program would have in Dask; no value depends on it.

        It follows from ``chunks=``, else from Dask's ``auto``, and is `to_dask_array`'s.
        """
        return self._grid.chunks

    @property
    def numblocks(self) -> tuple[int, ...]:
        return tuple(map(len, self.chunks))

    def __repr__(self) -> str:
        return summary(self._expr)

    def _repr_html_(self) -> str:
        return html(self._expr, self.nbytes)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    # Evaluation ----------------------------------------------------------------------------

    def compute(
        self,
        on: Any = None,
        *,
        scheduler: Any = None,
        to: str = "numpy",
        num_workers: int | None = None,
        optimize_graph: bool = True,
        **unknown: Any,
    ) -> Any:
        """The values: a NumPy array, a NumPy scalar for 0-d; ``to="cupy"`` leaves them on the GPU.

        ``on`` names the rung (``"core"``, ``"cores:2"``, ``"gpus"``, a Dask Client ...);
        ``scheduler`` is Dask's word for it. Without either: the innermost `speedcube.on`, an
        active Client, Dask's configured scheduler, or the rung predicted to be fastest.

        ``num_workers`` is Dask's word for the threads of the rung ``cores``; other rungs go
        without. ``optimize_graph`` is taken because Dask's collections take it, and changes
        nothing: the graph is made as it should be. `UnsupportedError` for any other keyword.
        """
        check_keywords("compute", unknown, "on, scheduler, to, num_workers, optimize_graph")
        where = self._where(on, scheduler, num_workers)
        return compute(self._expr, *where, self._gpu, to, self._plans)

    def persist(
        self,
        on: Any = None,
        *,
        scheduler: Any = None,
        num_workers: int | None = None,
        optimize_graph: bool = True,
        **unknown: Any,
    ) -> Array:
        """The same array with its values in memory (on the GPU, on a GPU rung).

        Where, and what the keywords mean: as in `compute`.
        """
        check_keywords("persist", unknown, "on, scheduler, num_workers, optimize_graph")
        where = self._where(on, scheduler, num_workers)
        values = compute(self._expr, *where, self._gpu, ResultMemory.OF_RUNG, self._plans)
        return asarray(values, chunks=self._grid)

    def plan(
        self, on: Any = None, *, scheduler: Any = None, num_workers: int | None = None
    ) -> Plan:
        """What `compute` would do, before it does anything: rung, tasks, tiles, bytes."""
        where = self._where(on, scheduler, num_workers)
        return plan_for(self._expr, *where, self._gpu, self._plans)[0]

    def explain(self) -> Explanation:
        """Which law covers each step of the computation, and how; nothing is computed.

        ``.covered`` says whether every step has the same bits on every rung; ``.steps`` are the
        rows that ``repr`` shows. What is not covered: a Dask array, which Dask computes.
        """
        return explain(self._expr)

    def _where(self, on: Any, scheduler: Any, num_workers: Any) -> tuple[Any, Any]:
        if num_workers is None:
            return on, scheduler
        rung = plan_for(self._expr, on, scheduler, self._gpu, self._plans)[1]
        return with_threads(rung, num_workers), None

    def source(self, target: str = "cpu") -> str:
        """The generated kernel: LLVM IR (``"cpu"``), CUDA C (``"cuda"``) or the IR (``"ir"``)."""
        return source_of(self._expr, target)

    # Views ---------------------------------------------------------------------------------

    def _rebind(self, other: Array) -> None:
        """Be ``other`` from now on; expressions made of this array keep what they had."""
        self._expr, self._gpu, self._grid = other._expr, other._gpu, other._grid
        self._plans = {}

    def _view(self, expr: Expr, grid: grids.Grid) -> Array:
        return Array(expr, gpu=self._gpu, hint=grid)

    def __getitem__(self, item: Any) -> Array:
        expr = views.index(self._expr, item)
        return self._view(expr, grids.sliced(self._grid, item, expr.shape))

    @property
    def T(self) -> Array:
        """The transpose."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Array:
        """Axes in another order (default: reversed)."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if not order or order[0] is None:
            order = tuple(range(self.ndim))[::-1]
        order = tuple(build.check_axis(a, self.ndim) for a in order)
        if sorted(order) != list(range(self.ndim)):
            raise AxisError(f"axes {order} are not a permutation of {self.ndim} axes")
        return self._view(views.transpose(self._expr, order), grids.transposed(self._grid, order))

    def reshape(self, *shape: Any) -> Array:
        """The same elements in another shape; `ShapeError` where that would need a copy."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        expr = views.reshape(self._expr, build.infer_shape(tuple(wanted), self.size))
        return self._view(expr, grids.reshaped(self._grid, expr.shape, expr.dtype))

    def ravel(self) -> Array:
        """One axis."""
        return self.reshape(-1)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Array:
        """Without axes of size one."""
        drop = build.normalise_axes(axis, self.ndim) if axis is not None else None
        for k in drop or ():
            if self.shape[k] != 1:
                raise ShapeError(f"cannot squeeze axis {k} of size {self.shape[k]}")
        item = tuple(
            0 if n == 1 and (drop is None or k in drop) else slice(None)
            for k, n in enumerate(self.shape)
        )
        return self[item]

    def swapaxes(self, a: int, b: int) -> Array:
        """Axes ``a`` and ``b`` exchanged."""
        first, second = (build.check_axis(k, self.ndim) for k in (a, b))
        order = list(range(self.ndim))
        order[first], order[second] = second, first
        return self.transpose(order)

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        """Elements converted to ``dtype``."""
        return self._view(build.cast(self._expr, dtypes.check(dtype)), self._grid)

    def round(self, decimals: int = 0) -> Array:
        """To the nearest whole number, ties to even (``decimals`` must be 0); integers stay."""
        if decimals:
            raise ParameterError(f"round takes decimals=0 only, not {decimals}")
        if not dtypes.is_float(self._expr.dtype):
            return self
        return elementwise("rint", self)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Elements held between ``min`` and ``max``."""
        found = self if min is None else elementwise("maximum", self, min)
        return found if max is None else elementwise("minimum", found, max)

    # Reductions ----------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        """The exact sum, rounded once to the result's dtype; integers and bool wrap in 64 bits.

        An exact zero is +0.0, that of negative zeros too, as from `math.fsum`. With an integer
        ``dtype`` floats are truncated to it before they are summed.
        """
        return _reduce(self, "sum", axis, keepdims, _total_dtype(self, dtype))

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        """The product, by a balanced tree: neighbours 2k and 2k + 1, then their products, ...

        Places count in C order over the axes. Floats are multiplied in float64 and rounded once to
        the result's dtype; integers and bool wrap in 64 bits. Integers are first cast to ``dtype``.
        """
        expr = reductions.product(self._expr, axis, keepdims, _total_dtype(self, dtype))
        axes = build.normalise_axes(axis, self.ndim)
        return self._view(expr, grids.reduced(self._grid, axes, keepdims))

    def cumsum(self, axis: Any = None, dtype: Any = None) -> Array:
        """Running sums along ``axis`` (None: of all elements in C order).

        Each is the exact sum of the elements so far, rounded once to the result's dtype, as `sum`
        is; integers and bool wrap in 64 bits.
        """
        return running(self, "cumsum", axis, dtype)

    def cumprod(self, axis: Any = None, dtype: Any = None) -> Array:
        """Running products along ``axis`` (None: of all elements in C order).

        With t the greatest multiple of 1024 that is not above i, element i is ``x[:t].prod()``
        times ``x[t] * x[t + 1] * ... * x[i]`` multiplied from the left: in float64, rounded once
        to the result's dtype. Integers and bool wrap in 64 bits.
        """
        return running(self, "cumprod", axis, dtype)

    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        """The exact sum over the count, rounded once; float64 of integers."""
        return _reduce(self, "mean", axis, keepdims, _float_result(self, "mean", dtype))

    def var(
        self, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Array:
        """The variance from the exact sums of x and x*x, rounded once."""
        return _reduce(self, "var", axis, keepdims, _float_result(self, "var", dtype), ddof)

    def std(
        self, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Array:
        """The square root of `var`."""
        return _reduce(self, "std", axis, keepdims, _float_result(self, "std", dtype), ddof)

    def min(self, axis: Any = None, keepdims: bool = False) -> Array:
        """The least element; NaN if there is one; -0.0 is below 0.0."""
        return _reduce(self, "min", axis, keepdims, self._expr.dtype)

    def max(self, axis: Any = None, keepdims: bool = False) -> Array:
        """The greatest element; NaN if there is one."""
        return _reduce(self, "max", axis, keepdims, self._expr.dtype)

    def any(self, axis: Any = None, keepdims: bool = False) -> Array:
        """Whether any element is true; of nothing, False."""
        return _reduce(self.astype(bool), "any", axis, keepdims, "bool")

    def all(self, axis: Any = None, keepdims: bool = False) -> Array:
        """Whether every element is true; of nothing, True."""
        return _reduce(self.astype(bool), "all", axis, keepdims, "bool")

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Array:
        """The place of the first least element (of the first NaN, if there is one)."""
        return _reduce(self, "argmin", axis, keepdims, "int64")

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Array:
        """The place of the first greatest element (of the first NaN, if there is one)."""
        return _reduce(self, "argmax", axis, keepdims, "int64")

    def dot(self, other: Any) -> Array:
        """The `speedcube.dot` of this vector and ``other``."""
        return np.dot(self, other)  # type: ignore[no-any-return]

    # Dask -----------------------------------------------------------------------------------

    def to_dask_array(self) -> Any:
        """A Dask array on the grid `chunks`: one task a chunk, each computed by our kernels."""
        return to_dask_array(self, self.chunks)

    def _rebuilt(self, expr: Expr) -> Array:
        return Array(expr, hint=self._grid)

    # NumPy's protocols ---------------------------------------------------------------------

    def _elementwise(self, op: str, *args: Any) -> Any:
        return elementwise(op, *args)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ALIASES.get(ufunc.__name__, ufunc.__name__)
        if method == "__call__" and name in OPS and not kwargs:
            found = elementwise(name, *inputs)
            if ufunc is np.fabs and not dtypes.is_float(found._expr.dtype):
                return found.astype("float64")
            return found
        if method == "reduce" and name in REDUCTIONS and kwargs.keys() <= {"axis", "keepdims"}:
            return getattr(inputs[0], REDUCTIONS[name])(**{"axis": 0, **kwargs})
        if method == "accumulate" and name in SCANS and kwargs.keys() <= {"axis", "dtype"}:
            return getattr(inputs[0], SCANS[name])(**{"axis": 0, **kwargs})
        return other_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return numpy_function(func, types, args, kwargs)

    def __pow__(self, exponent: Any) -> Array:
        """Whole powers from -64 to 64, and 0.5, by multiplication and square root.

        Others, and arrays of exponents, are `power`.
        """
        if isinstance(exponent, (bool, int, float, np.generic)):
            return self._view(build.power(self._expr, exponent), self._grid)
        return super().__pow__(exponent)  # type: ignore[no-any-return]


def _total_dtype(array: Array, dtype: Any) -> str:
    """The dtype of sums and products: integers become int64 or uint64."""
    default = {"b": "int64", "i": "int64", "u": "uint64"}.get(array.dtype.kind, array._expr.dtype)
    return dtypes.check(dtype or default)


def _float_result(array: Array, op: str, dtype: Any) -> str:
    """The dtype of a mean or a spread, which is one of floats."""
    if dtype is None:
        return array._expr.dtype if dtypes.is_float(array._expr.dtype) else "float64"
    name = dtypes.check(dtype)
    if not dtypes.is_float(name):
        raise DTypeError(
            f"{op} has no dtype {name}: its result is a fraction; it can be "
            f"{', '.join(dtypes.FLOATS)}; convert that, "
            f"for example speedcube.rint(x.{op}()).astype('{name}')"
        )
    return name


def _reduce(
    array: Array, op: str, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0
) -> Array:
    expr = reductions.reduction(op, array._expr, axis, keepdims, dtype, ddof)
    axes = build.normalise_axes(axis, array.ndim)
    return Array(expr, gpu=array._gpu, hint=grids.reduced(array._grid, axes, keepdims))


def running(array: Array, op: str, axis: Any, dtype: Any, initial: bool = False) -> Array:
    """Running sums or products of ``array``: `Array.cumsum` and `Array.cumprod`.

    With ``initial`` each line begins with the value of nothing.
    """
    expr = reductions.running(op, array._expr, axis, _total_dtype(array, dtype), initial)
    grid = array._grid if expr.shape == array.shape else None
    return Array(expr, gpu=array._gpu, hint=grid)


def operand(value: Any) -> Any:
    """``value`` as an element-wise operation takes it: an `Array` or a Python scalar."""
    if isinstance(value, (Array, bool, int, float)):
        return value
    if value is None or isinstance(value, (str, bytes)):
        raise DTypeError(f"{value!r} is no number and no array of numbers")
    return asarray(value, chunks=-1)


def elementwise(op: str, *args: Any) -> Any:
    """``op`` (a name of `ops.OPS`) of arrays, array-likes and Python scalars."""
    found = [operand(a) for a in args]
    arrays = [a for a in found if isinstance(a, Array)]
    expr = build.elementwise(op, [a._expr if isinstance(a, Array) else a for a in found])
    grid = grids.joined([a._grid for a in arrays]) if arrays else None
    return Array(expr, gpu=any(a._gpu for a in arrays), hint=grid)


def asarray(value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """An array that reads ``value`` when it is computed: NumPy, CuPy, DLPack, lists, scalars.

    NumPy and CuPy arrays are not copied: what they hold when `Array.compute` runs is what counts.
    Raises `DTypeError` for object, string, complex and other dtypes speedcube has no kernels for.
    """
    if isinstance(value, Array):
        return value if dtype is None else value.astype(dtype)
    if hasattr(value, "__dask_graph__"):
        raise DTypeError("this is a Dask collection; use speedcube.from_dask_array")
    buffer = readable(value)
    name = dtypes.check(buffer.dtype)
    strides = tuple(s // buffer.itemsize for s in buffer.strides)
    leaf = Leaf(Stored(buffer, name), tuple(buffer.shape), 0, strides)
    made = Array(leaf, gpu=hasattr(buffer, "__cuda_array_interface__"), hint=chunks)
    return made if dtype is None else made.astype(dtype)
