"""Dtypes and constants by their names, and what the Array API asks of a namespace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import ParameterError, UnsupportedError
from ..devices import available, checked_device
from ..methods.standard import VERSIONS

# NumPy's classes, so that ``sc.float32(1.5)`` and ``x.dtype == sc.float32`` are what they are.
bool_ = np.bool
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
half, single, double = np.half, np.single, np.double
complex64, complex128, csingle, cdouble = np.complex64, np.complex128, np.csingle, np.cdouble
int_, uint, intp, uintp = np.int_, np.uint, np.intp, np.uintp
byte, ubyte, short, ushort, intc, uintc = (
    *(np.byte, np.ubyte, np.short, np.ushort, np.intc, np.uintc),
)
number, generic, integer, inexact, floating, complexfloating = (
    *(np.number, np.generic, np.integer, np.inexact, np.floating, np.complexfloating),
)
signedinteger, unsignedinteger, dtype = np.signedinteger, np.unsignedinteger, np.dtype
issubdtype, isscalar, promote_types = np.issubdtype, np.isscalar, np.promote_types
index_exp, ndindex, s_, geterr = np.index_exp, np.ndindex, np.s_, np.geterr

e, pi, inf, nan, newaxis = np.e, np.pi, np.inf, np.nan, np.newaxis
euler_gamma: Final = np.euler_gamma

__array_api_version__: Final = VERSIONS[-1]

_KINDS: Final = {
    "bool": ("bool",),
    "signed integer": dtypes.SIGNED,
    "unsigned integer": dtypes.UNSIGNED,
    "integral": dtypes.INTEGERS,
    "real floating": dtypes.FLOATS[1:],
    "complex floating": tuple(dtypes.PARTS),
    "numeric": (*dtypes.INTEGERS, *dtypes.FLOATS[1:], *dtypes.PARTS),
}


def errstate(
    *,
    call: Any = None,
    all: Any = None,
    divide: Any = None,
    over: Any = None,
    under: Any = None,
    invalid: Any = None,
) -> Any:
    """Make a block in which NumPy is quiet of what it warns of; kernels are quiet always.

    Parameters
    ----------
    call : optional
        NumPy's; kernels call nothing.
    all, divide, over, under, invalid : str, optional
        "ignore", "warn" or "print".

    Returns
    -------
    context manager
        NumPy's.

    Raises
    ------
    TypeError
        For "raise", "call" and "log": kernels tell of nothing.

    Examples
    --------
    >>> with sc.errstate(divide="ignore"):
    ...     (1 / sc.asarray([0.0, 2.0])).compute()
    array([inf, 0.5])
    """
    given = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    _only_quiet(given)
    return np.errstate(**given)


def seterr(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> Any:
    """Say what NumPy warns of from now on; kernels are quiet always.

    Parameters
    ----------
    all, divide, over, under, invalid : str, optional
        "ignore", "warn" or "print".

    Returns
    -------
    dict
        What it was before.

    Raises
    ------
    TypeError
        For "raise", "call" and "log": kernels tell of nothing.

    Examples
    --------
    >>> before = sc.seterr(over="ignore")
    >>> sc.seterr(**before)["over"]
    'ignore'
    """
    _only_quiet({"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid})
    return np.seterr(all=all, divide=divide, over=over, under=under, invalid=invalid)


def _only_quiet(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value in ("raise", "call", "log"):
            raise UnsupportedError(
                f"{name}={value!r}: kernels tell of no floating-point errors; see isnan and "
                "isfinite, or compute with NumPy"
            )


class NamespaceInfo:
    """What this namespace can do: the answers that the Array API asks for."""

    __module__ = "speedcube"

    def capabilities(self) -> dict[str, Any]:
        """Whether there are shapes that depend on data, and how many axes arrays can have."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where arrays lie unless told otherwise."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """The devices of this machine."""
        return available()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of Python's numbers, and of indices."""
        checked_device("default_dtypes", device)
        names = {
            "real floating": "float64",
            "complex floating": "complex128",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the Array API that there are, of one kind or several."""
        checked_device("dtypes", device)
        kind = ("bool", "numeric") if kind is None else kind
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in _KINDS:
                raise ParameterError(
                    f"{one!r} is not a kind of dtypes; those are {', '.join(_KINDS)}"
                )
        return {name: np.dtype(name) for one in kinds for name in _KINDS[one]}


def __array_namespace_info__() -> NamespaceInfo:
    """Return what this namespace can do.

    Returns
    -------
    NamespaceInfo
        The answers that the Array API asks for.

    Examples
    --------
    >>> sc.__array_namespace_info__().default_device()
    'cpu'
    """
    return NamespaceInfo()
