"""Covariances and correlations of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, ParameterTypeError, ShapeError
from ...expr.nodes import Leaf, Map, Stored
from ...expr.routines.covariances import COVARIANCES
from ...expr.routines.row import called
from ...expr.routines.table import ROUTINES
from ..array import Array, array_of, elementwise
from ..complexes.of_parts import complex_of
from ..dot import inner_products
from ..joining import concatenate
from .floats import floats

_FEW: Final = 256  # variables that a routine takes at once,
_SHORT: Final = 1 << 20  # and numbers,
_PRODUCTS: Final = 1 << 25  # of which so many products take a millisecond


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """The covariances of variables: exact sums of the rounded products of deviations from means.

    Parameters
    ----------
    m : array_like
        Observations of one variable, or variables times observations.
    y : array_like, optional
        More variables.
    rowvar : bool
        Whether a row is a variable; else a column.
    bias : bool
        Whether the divisor is the count, else one less.
    ddof : int, optional
        What is taken off the count, instead of `bias`.
    fweights, aweights : array_like, optional
        How often an observation counts, and its weight.
    dtype : dtype, optional
        Of the result.

    Returns
    -------
    Array
        A matrix; a number for one variable.

    Raises
    ------
    ParameterError
        Where an argument has more axes than it may, or a weight does not fit.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    rows = _variables("cov", m, y, rowvar, dtype)
    taken = (0 if bias else 1) if ddof is None else ddof
    if not isinstance(taken, (int, float, np.number)) or not np.rint(taken) == taken:
        raise ParameterTypeError(f"cov: ddof must be an integer, not {ddof!r}")
    weight = _observed(rows[0].shape[1], fweights, aweights)
    if weight is None and _are_few(rows):
        return _made_at_once(rows, taken, False)
    x = concatenate(rows) if len(rows) > 1 else rows[0]
    means, divisor = _centre(x, weight, aweights, taken)
    apart = x - means
    weighted = apart if weight is None else apart * weight
    products = elementwise("multiply", apart[:, None], weighted.conj()[None, :]).sum(-1)
    held = elementwise("maximum", divisor.astype(products.real.dtype), 0.0)
    result = elementwise("divide", products, held)
    return result.reshape(()) if result.size == 1 else result


def _centre(x: Array, weight: Array | None, aweights: Any, taken: float) -> tuple[Array, Array]:
    """The means of variables, and what the sums of products are divided by."""
    if weight is None:
        return x.mean(1, keepdims=True), array_of(float(x.shape[1] - taken))
    total = weight.sum()
    means = elementwise("divide", inner_products(x, weight), total)[:, None]
    if aweights is None or not taken:
        return means, total - taken
    return means, total - taken * (weight * floats(aweights)).sum() / total


def _are_few(rows: Sequence[Array]) -> bool:
    """Whether a routine makes all results at once: of few numbers that lie in memory."""
    observations = rows[0].shape[1]
    variables = sum(len(one) for one in rows)
    return (
        0 < variables <= _FEW
        and 0 < observations <= min(_SHORT // variables, _PRODUCTS // variables**2)
        and all(one.shape[1] == observations and _is_at_hand(one) for one in rows)
    )


def _is_at_hand(one: Array) -> bool:
    expr = one._expr
    if expr.dtype != "float64" or one._gpu:
        return False
    inner = expr.args[0] if type(expr) is Map and expr.op == "cast" else expr
    stored = inner.source if type(inner) is Leaf else None
    return type(stored) is Stored and type(stored.buffer) is np.ndarray


def _made_at_once(rows: Sequence[Array], taken: float, correlations: bool) -> Array:
    """The covariances of ``rows`` by a routine, or the correlations."""
    count = sum(len(one) for one in rows)
    shape = (count, count) if count > 1 else ()
    given = (max(float(rows[0].shape[1] - taken), 0.0), correlations)
    exprs = [one._expr for one in rows]
    (made,) = called(ROUTINES[COVARIANCES], exprs, [shape], "float64", given)
    return Array(made)


def _variables(name: str, m: Any, y: Any, rowvar: bool, dtype: Any) -> list[Array]:
    """Variables times observations, as floats or complex numbers."""
    given = [array_of(m), *(() if y is None else (array_of(y),))]
    if any(one.ndim > 2 for one in given):
        raise ParameterError(f"{name} takes arrays of at most two axes")
    common = dtypes.promote("float64", *(one._expr.dtype for one in given))
    name_of = common if dtype is None else dtypes.check(dtype)
    if not dtypes.is_inexact(name_of):
        raise DTypeError(f"{name} cannot have dtype {name_of}: covariances are fractions")
    rows = []
    for k, one in enumerate(given):
        turned = one.T if one.ndim == 2 and not rowvar and (k or one.shape[0] != 1) else one
        rows.append((turned if turned.ndim == 2 else turned.reshape(1, -1)).astype(name_of))
    return rows


def _observed(count: int, fweights: Any, aweights: Any) -> Array | None:
    """What each observation counts; None where that is 1."""
    weight: Array | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        one = array_of(given)
        if one.ndim > 1 or one.size != count:
            kind = ParameterError if one.ndim > 1 else ShapeError
            raise kind(f"cov: {name} has shape {one.shape}, and there are {count} observations")
        known = np.empty(0) if isinstance(given, Array) else np.asarray(given)
        if name == "fweights" and (known != np.rint(known)).any():
            raise DTypeError("cov: fweights must be integers: how often each observation counts")
        if (known < 0).any():
            raise ParameterError(f"cov: {name} must not be negative")
        weight = floats(one) if weight is None else weight * floats(one)
    return weight


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """The correlations of variables: `cov` over the roots of its diagonal, held in -1 .. 1.

    Parameters
    ----------
    x : array_like
        Observations of one variable, or variables times observations.
    y : array_like, optional
        More variables.
    rowvar : bool
        Whether a row is a variable; else a column.
    dtype : dtype, optional
        Of the result.

    Returns
    -------
    Array
        A matrix; a number for one variable.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.corrcoef([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]).compute()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    rows = _variables("corrcoef", x, y, rowvar, dtype)
    if _are_few(rows):
        return _made_at_once(rows, 1, True)
    matrix = cov(x, y, rowvar, dtype=dtype)
    if not matrix.ndim:
        return elementwise("divide", matrix, matrix)
    count = len(matrix)
    spread = elementwise("sqrt", matrix.reshape(-1)[:: count + 1].real)
    scaled = elementwise("divide", elementwise("divide", matrix, spread[:, None]), spread[None])
    if scaled.dtype.kind == "c":
        return complex_of(*(part.clip(-1, 1) for part in (scaled.real, scaled.imag)))
    return scaled.clip(-1, 1)
