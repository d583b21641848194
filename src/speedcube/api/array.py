"""`Array`: a lazy NumPy-style array. Nothing is evaluated unless asked.

Evaluation happens in ``compute``, ``persist``, ``float()``, ``np.asarray``, and loops over it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine.compute import Plans
from ..errors import DTypeError
from ..expr import build
from ..expr.nodes import Expr, Shape
from ..expr.pairs import apply as _rules  # noqa: F401  (what operations make of complex numbers)
from ..expr.pairs import extremes as _extremes  # noqa: F401  (and what reductions do)
from ..expr.pairs import products as _products  # noqa: F401
from ..expr.pairs import reductions as _sums  # noqa: F401
from ..interop import chunks as grids
from ..interop.dask_array import to_dask_array
from .chunked import Chunked
from .indexing import items, parts, walked
from .methods import (
    evaluation,
    moments,
    numpy_protocol,
    reductions,
    rounding,
    shapes,
    standard,
)
from .methods.conversions import Values
from .methods.dask_collection import Collection
from .methods.operators import NUMBERS, Operators
from .methods.places import Places
from .methods.powers import check_powers, is_square, power
from .methods.repr import shown
from .missing.messages import missing_method
from .namesakes import Namesakes
from .pictures.page import html
from .stored import leaf_of


class Array(Operators, Values, Places, Namesakes, Chunked, Collection):
    """An array of ``shape`` and ``dtype`` that is computed when it is asked for.

    Made by `speedcube.random`, `arange`, `asarray` and others, never directly. It behaves like a
    NumPy array; every operation gives another lazy array at once.
    """

    __slots__ = ("_copied", "_gpu", "_grid", "_plans", "_shown", "_walk", "_writes")
    __array_priority__ = 20.0

    def __init__(self, expr: Expr, *, gpu: bool = False, hint: Any = None) -> None:
        self._expr, self._name = expr, None  # as Collection has it
        self._gpu = gpu  # made with a CuPy RandomState: prefers a GPU
        self._plans: Plans = {}
        self._writes = self._copied = 0  # assignments since in memory; bytes copied since one
        self._walk: tuple[Any, bool] | None = None  # where a loop wrote, and if elsewhere each time
        own = type(hint) is grids.Grid
        self._grid = hint if own else grids.grid_of(hint, expr.shape, expr.dtype)

    def __getattr__(self, name: str) -> Any:
        raise missing_method(name)  # its text is made when it is shown

    # What it is ----------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self._expr.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._rebind(shapes.reshape(self, shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """What its elements are: NumPy's dtype."""
        return np.dtype(self._expr.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
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
        """How many chunks `chunks` has along each axis."""
        return tuple(map(len, self.chunks))

    def __repr__(self) -> str:
        return shown(self)

    def _repr_html_(self) -> str:
        return html(self._expr, self._grid)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return walked.rows(self)

    # Evaluation ----------------------------------------------------------------------------

    compute = evaluation.compute
    persist = evaluation.persist
    plan = evaluation.plan
    explain = evaluation.explain
    source = evaluation.source

    # Views ---------------------------------------------------------------------------------

    def _rebind(self, other: Array) -> None:
        """Be ``other`` from now on; expressions made of this array keep what they had."""
        self._expr, self._gpu, self._grid = other._expr, other._gpu, other._grid
        self._plans, self._writes, self._name = {}, other._writes, None

    def _applied(self, op: str, args: tuple[Any, ...]) -> Array | None:
        """``op`` of ``args``, among them this array, where its kind knows better; else None."""
        return None

    def _view(self, expr: Expr, grid: grids.Grid | None) -> Array:
        return Array(expr, gpu=self._gpu, hint=grid)

    __getitem__ = items.getitem
    __setitem__, __delitem__ = items.setitem, parts.refuse_to_delete
    at, flat = property(items.at), property(walked.flat, walked.set_flat)

    @property
    def T(self) -> Array:
        """The transpose."""
        return self.transpose()

    transpose = shapes.transpose
    reshape = shapes.reshape
    ravel = flatten = shapes.ravel
    squeeze = shapes.squeeze
    resize = parts.resize
    rechunk = shapes.rechunk
    swapaxes = shapes.swapaxes
    diagonal = shapes.diagonal
    mT = property(standard.matrix_transpose)
    real = property(standard.real, parts.set_real)
    imag = property(standard.imag, parts.set_imag)
    conj = conjugate = standard.conjugate
    copy = standard.copy
    device, to_device = property(standard.device), standard.to_device
    __array_namespace__ = standard.namespace
    __dlpack__, __dlpack_device__ = standard.dlpack, standard.dlpack_device

    astype = rounding.astype
    round = rounding.round
    clip = rounding.clip

    # Reductions ----------------------------------------------------------------------------

    sum, prod = reductions.sum, reductions.prod
    cumsum, cumprod = reductions.cumsum, reductions.cumprod
    mean, var, std = moments.mean, moments.var, moments.std
    min, max = reductions.min, reductions.max
    any, all = reductions.any, reductions.all
    argmin, argmax = reductions.argmin, reductions.argmax

    # Dask -----------------------------------------------------------------------------------

    def to_dask_array(self) -> Any:
        """A Dask array on the grid `chunks`: one task a chunk, each computed by our kernels.

        Returns
        -------
        dask.array.Array
            Of the same shape and dtype.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.ones((4, 6), chunks=(2, 3)).to_dask_array().chunks
        ((2, 2), (3, 3))
        """
        return to_dask_array(self, self.chunks)

    def _rebuilt(self, expr: Expr, gpu: bool = False) -> Array:
        return Array(expr, gpu=gpu, hint=self._grid)

    # In place ------------------------------------------------------------------------------

    __iadd__ = items.in_place("add")
    __isub__ = items.in_place("subtract")
    __imul__ = items.in_place("multiply")
    __imatmul__ = items.in_place("matmul")
    __itruediv__ = items.in_place("divide")
    __ifloordiv__ = items.in_place("floor_divide")
    __imod__ = items.in_place("remainder")
    __ipow__ = items.in_place("power")
    __iand__ = items.in_place("bitwise_and")
    __ior__ = items.in_place("bitwise_or")
    __ixor__ = items.in_place("bitwise_xor")
    __ilshift__ = items.in_place("left_shift")
    __irshift__ = items.in_place("right_shift")

    # NumPy's protocols ---------------------------------------------------------------------

    def _elementwise(self, op: str, *args: Any) -> Array:
        return elementwise(op, *args)

    __array_ufunc__ = numpy_protocol.array_ufunc
    __array_function__ = numpy_protocol.array_function

    def __pow__(self, exponent: Any) -> Array:
        """Whole powers from -64 to 64, and 0.5, by multiplication and square root.

        Others, and arrays of exponents, are `power`.
        """
        real = isinstance(exponent, (bool, int, float, np.generic))
        if real and self.dtype.kind != "c" and not isinstance(exponent, np.complexfloating):
            return self._view(power(self._expr, exponent), self._grid)
        powers: Array = super().__pow__(exponent)
        return powers


def operand(value: Any) -> Array | bool | int | float | complex:
    """``value`` as an element-wise operation takes it: an `Array` or a Python scalar."""
    if isinstance(value, (Array, bool, int, float, complex)):
        return value
    if value is None or isinstance(value, (str, bytes)):
        raise DTypeError(f"{value!r} is neither a number nor an array of numbers")
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
    if op == "power":
        check_powers(*args)
        op, args = ("square", args[:1]) if is_square(*args) else (op, args)
    first, other = args[0], args[-1]
    if len(args) == 2 and type(first) is type(other) is Array:  # as nearly always
        expr, grid = build.elementwise(op, (first._expr, other._expr)), first._grid
        grid = grid if other._grid is grid else grids.joined((grid, other._grid))
        return Array(expr, gpu=first._gpu or other._gpu, hint=grid)
    if len(args) == 2 and type(first) is Array and type(other) in NUMBERS:
        return first._view(build.elementwise(op, (first._expr, other)), first._grid)
    if len(args) == 2 and type(other) is Array and type(first) in NUMBERS:
        return other._view(build.elementwise(op, (first, other._expr)), other._grid)
    if type(first) is Array and len(args) == 1:
        return Array(build.elementwise(op, (first._expr,)), gpu=first._gpu, hint=first._grid)
    operands: list[Expr | bool | int | float | complex] = []
    known: list[grids.Grid] = []
    gpu = False
    for arg in args:
        one = arg if type(arg) is Array else operand(arg)
        if isinstance(one, Array):
            special = None if type(one) is Array else one._applied(op, args)
            if special is not None:
                return special
            operands.append(one._expr)
            known.append(one._grid)
            gpu = gpu or one._gpu
        else:
            operands.append(one)
    expr = build.elementwise(op, operands)
    return Array(expr, gpu=gpu, hint=grids.joined(known) if known else None)
