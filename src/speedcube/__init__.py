"""speedcube: arrays written once, the same bits on one core, all cores, GPUs and clusters."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _CHECKED
from typing import Any as _Any

import numpy as _numpy

from . import early as _early
from . import errors, fft, linalg, stats
from .__about__ import __version__ as __version__
from .api import for_einops as _einops  # noqa: F401  (its backends, where it is imported)
from .api import indexed as _indexed  # noqa: F401  (x[mask], x[key] = value)
from .api import numpy_functions as _twins  # noqa: F401  (NumPy's functions take our arrays from here on)
from .api.array import Array
from .api.blocks import *  # noqa: F403  (its own list of names)
from .api.blocks import __all__ as _blocks
from .api.blocks import lib as lib
from .api.complexes.of_parts import angle, conj, conjugate, imag, real
from .api.creation import empty, full, ones, zeros
from .api.dot import vdot, vecdot
from .api.elementwise import (
    abs,
    absolute,
    acos,
    acosh,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    around,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
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
    mod,
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
    true_divide,
    trunc,
)
from .api.files.loops import checkpointed
from .api.files.opening import from_zarr, open
from .api.files.parquet import from_parquet
from .api.files.saving import save, to_zarr
from .api.files.storing import store
from .api.folding import give_methods as _give_methods
from .api.functions.bits import bitwise_count, packbits, unpackbits
from .api.functions.comparing import (
    allclose,
    array_equal,
    array_equiv,
    asarray_chkfinite,
    isclose,
    iscomplex,
    isreal,
    nan_to_num,
    real_if_close,
)
from .api.functions.covariances import corrcoef, cov
from .api.functions.differences import diff, ediff1d, gradient, trapezoid
from .api.functions.extremes import nanargmax, nanargmin, nanmax, nanmin
from .api.functions.fitting import poly, polydiv, polyfit, roots, trim_zeros
from .api.functions.floats import (
    copysign,
    deg2rad,
    degrees,
    fabs,
    fix,
    float_power,
    fmax,
    fmin,
    fmod,
    heaviside,
    isneginf,
    isnull,
    isposinf,
    logaddexp,
    logaddexp2,
    notnull,
    rad2deg,
    radians,
    reciprocal,
    sinc,
)
from .api.functions.nans import nanmean, nanprod, nanstd, nansum, nanvar
from .api.functions.polynomials import polyadd, polyder, polyint, polymul, polysub, polyval, vander
from .api.functions.signals.convolving import convolve, correlate
from .api.functions.signals.lines import interp, unwrap
from .api.functions.statistics import average, moment, nancumprod, nancumsum, ptp
from .api.functions.walks import (
    apply_over_axes,
    fromiter,
    iterable,
    piecewise,
)
from .api.functions.windows import bartlett, blackman, hamming, hanning, i0, kaiser
from .api.functions.words import cross, divmod, frexp, gcd, lcm, ldexp, modf, nextafter, spacing
from .api.grouping import *  # noqa: F403  (its own list of names)
from .api.grouping import __all__ as _grouping
from .api.indexing.assigning.own_memory import may_share_memory, shares_memory
from .api.indexing.choosing import choose, select, where
from .api.indexing.flat import mask_indices, ravel_multi_index, unravel_index
from .api.indexing.joined import c_, r_
from .api.indexing.putting import copyto, fill_diagonal, place, put, put_along_axis, putmask
from .api.indexing.searching import argwhere, compress, extract, flatnonzero, nonzero
from .api.indexing.walked import ndenumerate
from .api.joining import (
    append,
    column_stack,
    concat,
    concatenate,
    dstack,
    hstack,
    row_stack,
    stack,
    vstack,
)
from .api.missing.messages import missing_name as _missing_name
from .api.namespace import *  # noqa: F403  (its own list of names)
from .api.namespace import __all__ as _names
from .api.namespace.names import __array_api_version__ as __array_api_version__
from .api.namespace.names import __array_namespace_info__ as __array_namespace_info__
from .api.of_numpy import *  # noqa: F403  (its own list of names)
from .api.of_numpy import __all__ as _of_numpy
from .api.order import *  # noqa: F403  (its own list of names)
from .api.order import __all__ as _ordering
from .api.reductions import (
    all,
    amax,
    amin,
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
from .api.scatter import *  # noqa: F403  (its own list of names)
from .api.scatter import __all__ as _scattering
from .api.shapes import broadcast_to, expand_dims, flip, ravel, reshape, squeeze
from .api.sources import array, asarray, from_dask_array, from_dlpack, from_npy
from .api.take import take, take_along_axis
from .api.together import cache, compute, persist
from .api.tracing import *  # noqa: F403  (its own list of names)
from .api.tracing import __all__ as _traced
from .fft import twins as _spectrum_twins  # noqa: F401
from .interop.plain_dask import on
from .interop.words import with_dasks_names as _with_dasks_names
from .linalg import twins as _matrix_twins  # noqa: F401
from .linalg.contraction import tensordot
from .linalg.einsum import einsum, einsum_path
from .linalg.products import dot, inner, matmul, matvec, vecmat

__all__ = [
    "Array",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "apply_over_axes",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argwhere",
    "around",
    "array",
    "array_equal",
    "array_equiv",
    "asarray",
    "asarray_chkfinite",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "average",
    "bartlett",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "broadcast_to",
    "c_",
    "cache",
    "cbrt",
    "ceil",
    "checkpointed",
    "choose",
    "clip",
    "column_stack",
    "compress",
    "compute",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convolve",
    "copysign",
    "copyto",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "degrees",
    "diff",
    "divide",
    "divmod",
    "dot",
    "dstack",
    "ediff1d",
    "einsum",
    "einsum_path",
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
    "fabs",
    "fft",
    "fill_diagonal",
    "fix",
    "flatnonzero",
    "flip",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "from_dask_array",
    "from_dlpack",
    "from_npy",
    "from_parquet",
    "from_zarr",
    "fromiter",
    "full",
    "gammaln",
    "gcd",
    "gradient",
    "greater",
    "greater_equal",
    "hamming",
    "hanning",
    "heaviside",
    "hstack",
    "hypot",
    "i0",
    "imag",
    "inner",
    "interp",
    "invert",
    "isclose",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isnull",
    "isposinf",
    "isreal",
    "iterable",
    "kaiser",
    "ladder",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "linalg",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "ma",
    "mask_indices",
    "matmul",
    "matvec",
    "max",
    "maximum",
    "may_share_memory",
    "mean",
    "min",
    "minimum",
    "mod",
    "modf",
    "moment",
    "multiply",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "ndenumerate",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "notnull",
    "on",
    "ones",
    "open",
    "packbits",
    "persist",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "prod",
    "ptp",
    "put",
    "put_along_axis",
    "putmask",
    "r_",
    "rad2deg",
    "radians",
    "random",
    "ravel",
    "ravel_multi_index",
    "real",
    "real_if_close",
    "reciprocal",
    "remainder",
    "reshape",
    "right_shift",
    "rint",
    "roots",
    "round",
    "row_stack",
    "save",
    "select",
    "shares_memory",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stats",
    "std",
    "store",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "to_zarr",
    "trapezoid",
    "trim_zeros",
    "true_divide",
    "trunc",
    "unpackbits",
    "unravel_index",
    "unwrap",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vstack",
    "where",
    "zeros",
]
# NumPy's own, imported when they are asked for.
_NUMPYS_MODULES = ["exceptions", "polynomial", "testing", "typing"]
__all__ += _blocks
__all__ += _names
__all__ += _of_numpy
__all__ += _NUMPYS_MODULES
__all__ += _ordering
__all__ += _grouping
__all__ += _scattering
__all__ += _traced
__all__.sort()


if _CHECKED:
    from . import ma, random
    from .commands.ladder.climb import ladder

# What not every program uses, loaded when it is asked for: a function by its module, and a module.
_LATE = {"ladder": "speedcube.commands.ladder.climb", "ma": "", "random": ""}


def __getattr__(name: str) -> _Any:
    if name in _NUMPYS_MODULES:
        return getattr(_numpy, name)
    if name not in _LATE:
        raise _missing_name(name)
    home = _LATE[name]
    value = getattr(_import_module(home), name) if home else _import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, and those that the Array API and Python give a module."""
    special = (one for one in globals() if one.startswith("__"))
    return [*__all__, *special]


globals().update(_with_dasks_names(globals()))
_give_methods(value for value in tuple(globals().values()) if callable(value))
_early.loaded()
