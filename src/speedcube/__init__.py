"""speedcube: arrays written once, the same bits on one core, all cores, GPUs and clusters."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _CHECKED
from typing import Any as _Any

from . import early as _early  # noqa: F401  (first: the rest takes a second)
from . import errors, random
from .__about__ import __version__ as __version__
from .api import indexed as _indexed  # noqa: F401  (x[mask], x[key] = value)
from .api import numpy_functions as _twins  # noqa: F401  (NumPy's functions take our arrays from here on)
from .api.array import Array
from .api.creation import empty, full, ones, zeros
from .api.dot import dot, matmul, vdot, vecdot
from .api.elementwise import (
    abs,
    absolute,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_or,
    bitwise_xor,
    cbrt,
    ceil,
    clip,
    cos,
    cosh,
    divide,
    equal,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    gammaln,
    greater,
    greater_equal,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    positive,
    pow,
    power,
    remainder,
    right_shift,
    rint,
    round,
    sigmoid,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from .api.indexing.choosing import choose, select, where
from .api.indexing.putting import copyto, fill_diagonal, place, put, put_along_axis, putmask
from .api.indexing.searching import argwhere, compress, extract, flatnonzero, nonzero
from .api.joining import append, column_stack, concat, concatenate, dstack, hstack, stack, vstack
from .api.missing.messages import missing_name as _missing_name
from .api.namespace import *  # noqa: F403  (its own list of names)
from .api.namespace import __all__ as _names
from .api.namespace.names import __array_api_version__ as __array_api_version__
from .api.namespace.names import __array_namespace_info__ as __array_namespace_info__
from .api.reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .api.shapes import broadcast_to, expand_dims, flip, ravel, reshape, squeeze
from .api.sources import array, asarray, from_dask_array, from_dlpack, from_npy
from .api.take import take, take_along_axis
from .api.together import cache, compute, persist
from .interop.plain_dask import on

__all__ = [
    "Array",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "append",
    "argmax",
    "argmin",
    "argwhere",
    "array",
    "asarray",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "cache",
    "cbrt",
    "ceil",
    "choose",
    "clip",
    "column_stack",
    "compress",
    "compute",
    "concat",
    "concatenate",
    "copyto",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "divide",
    "dot",
    "dstack",
    "empty",
    "equal",
    "erf",
    "erfc",
    "errors",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "fill_diagonal",
    "flatnonzero",
    "flip",
    "floor",
    "floor_divide",
    "from_dask_array",
    "from_dlpack",
    "from_npy",
    "full",
    "gammaln",
    "greater",
    "greater_equal",
    "hstack",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "ladder",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "nonzero",
    "not_equal",
    "on",
    "ones",
    "persist",
    "place",
    "positive",
    "pow",
    "power",
    "prod",
    "put",
    "put_along_axis",
    "putmask",
    "random",
    "ravel",
    "remainder",
    "reshape",
    "right_shift",
    "rint",
    "round",
    "select",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "trunc",
    "var",
    "vdot",
    "vecdot",
    "vstack",
    "where",
    "zeros",
]
__all__ += _names
__all__.sort()


if _CHECKED:
    from .commands.ladder.climb import ladder

# What few programs use, and a module that it is a function of: loaded when it is asked for.
_LATE = {"ladder": "speedcube.commands.ladder.climb"}


def __getattr__(name: str) -> _Any:
    if name not in _LATE:
        raise _missing_name(name)
    globals()[name] = value = getattr(_import_module(_LATE[name]), name)
    return value


def __dir__() -> list[str]:
    """Public names, and those that the Array API and Python give a module."""
    special = (one for one in globals() if one.startswith("__"))
    return [*__all__, *special]
