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
from ..errors import DTypeError, ParameterError
from ..expr import build, views
from ..expr.nodes import Expr, Shape
from ..interop import chunks as grids
from ..interop.dask_array import to_dask_array
from ..plan.plan import Plan
from .methods import numpy_protocol, reductions, shapes
from .methods.conversions import Values
from .methods.dask_collection import Collection
from .methods.numpy_protocol import check_keywords
from .methods.operators import Operators, is_operand
from .methods.repr import html, summary
from .stored import leaf_of


class Array(Operators, Values, Collection):
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
        leaf, gpu = leaf_of(values)
        return Array(leaf, gpu=gpu, hint=self._grid)

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

    def _view(self, expr: Expr, grid: grids.Grid | None) -> Array:
        return Array(expr, gpu=self._gpu, hint=grid)

    def __getitem__(self, item: Any) -> Array:
        expr = views.index(self._expr, item)
        return self._view(expr, grids.sliced(self._grid, item, expr.shape))

    @property
    def T(self) -> Array:
        """The transpose."""
        return self.transpose()

    transpose = shapes.transpose
    reshape = shapes.reshape
    ravel = flatten = shapes.ravel
    squeeze = shapes.squeeze
    swapaxes = shapes.swapaxes

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        """Elements converted to ``dtype``."""
        return self._view(build.cast(self._expr, dtypes.check(dtype)), self._grid)

    def round(self, decimals: int = 0) -> Array:
        """To the nearest whole number, ties to even (``decimals`` must be 0); integers stay."""
        if decimals:
            raise ParameterError(f"round takes decimals=0 only, not {decimals}")
        if not dtypes.is_float(self._expr.dtype):
            return self
        return elementwise("rint", self)

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Elements held between ``min`` and ``max``."""
        raised = self if min is None else elementwise("maximum", self, min)
        return raised if max is None else elementwise("minimum", raised, max)

    # Reductions ----------------------------------------------------------------------------

    sum = reductions.sum
    prod = reductions.prod
    cumsum = reductions.cumsum
    cumprod = reductions.cumprod
    mean = reductions.mean
    var = reductions.var
    std = reductions.std
    min = reductions.min
    max = reductions.max
    any = reductions.any
    all = reductions.all
    argmin = reductions.argmin
    argmax = reductions.argmax

    def dot(self, other: Any) -> Array:
        """The `speedcube.dot` of this vector and ``other``."""
        product: Array = np.dot(self, other)
        return product

    # Dask -----------------------------------------------------------------------------------

    def to_dask_array(self) -> Any:
        """A Dask array on the grid `chunks`: one task a chunk, each computed by our kernels."""
        return to_dask_array(self, self.chunks)

    def _rebuilt(self, expr: Expr) -> Array:
        return Array(expr, hint=self._grid)

    # NumPy's protocols ---------------------------------------------------------------------

    def _elementwise(self, op: str, *args: Any) -> Array:
        return elementwise(op, *args)

    __array_ufunc__ = numpy_protocol.array_ufunc
    __array_function__ = numpy_protocol.array_function

    def __pow__(self, exponent: Any) -> Array:
        """Whole powers from -64 to 64, and 0.5, by multiplication and square root.

        Others, and arrays of exponents, are `power`.
        """
        if isinstance(exponent, (bool, int, float, np.generic)):
            return self._view(build.power(self._expr, exponent), self._grid)
        return elementwise("power", self, exponent) if is_operand(exponent) else NotImplemented


def operand(value: Any) -> Array | bool | int | float:
    """``value`` as an element-wise operation takes it: an `Array` or a Python scalar."""
    if isinstance(value, (Array, bool, int, float)):
        return value
    if value is None or isinstance(value, (str, bytes)):
        raise DTypeError(f"{value!r} is no number and no array of numbers")
    leaf, gpu = leaf_of(value)
    return Array(leaf, gpu=gpu, hint=-1)


def array_of(value: Any) -> Array:
    """``value``, an array or what is like one, as an `Array`."""
    checked = operand(value)
    if isinstance(checked, Array):
        return checked
    leaf, gpu = leaf_of(checked)
    return Array(leaf, gpu=gpu)


def elementwise(op: str, *args: Any) -> Array:
    """``op`` (a name of `ops.OPS`) of arrays, array-likes and Python scalars."""
    operands = [operand(a) for a in args]
    arrays = [a for a in operands if isinstance(a, Array)]
    expr = build.elementwise(op, [a._expr if isinstance(a, Array) else a for a in operands])
    grid = grids.joined([a._grid for a in arrays]) if arrays else None
    return Array(expr, gpu=any(a._gpu for a in arrays), hint=grid)
