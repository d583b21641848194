"""Distributions of vectors: the last axis of a result is one draw.

Counts that must add up are drawn one category after the other, each from what the ones before have
left; every category is a stage of its own, computed once, in memory.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..api import elementwise as sc
from ..api.array import Array
from ..api.creation import full, zeros
from ..api.namespace.ranges import arange
from ..api.shapes import broadcast_to
from ..api.sources import asarray
from ..errors import ParameterError, ParameterTypeError, ShapeError
from ..expr.nodes import Shape
from .discrete import binomials, hypergeometrics
from .draws import Draws, shown, sources
from .gammas import log_gammas
from .parameters import COUNT, NOT_NEGATIVE, counts, drawn_shape, numbers, parameter

_SLACK: Final = 1e-12  # by which probabilities may add up to more than 1, as in NumPy
_FEW: Final = 16  # dimensions that are summed term by term, in order; more by exact sums
_NOTHING: Final = 2.0**-44  # of a variance: what is left of one that others explain


def dirichlet(self: Draws, alpha: Any, size: Any = None, chunks: Any = None) -> Array:
    """Proportions that add up to 1, of shape parameters ``alpha`` >= 0 (k,): (*size, k).

    Gamma variates over their exact sum, by their logarithms: none underflows.
    """
    weights = parameter("alpha", numbers("alpha", alpha), NOT_NEGATIVE)
    (k,) = _one_axis("alpha", weights.shape)
    shape = (*drawn_shape(size), k)
    if k == 0:
        return shown(zeros(shape), chunks)
    if not np.any(weights.known):
        raise ParameterError("alpha: at least one must be above 0")
    logs = log_gammas(self, self.bit_generator.keys(2), shape, weights.value)
    parts = sc.exp(logs - logs.max(axis=-1, keepdims=True))
    return shown(parts / parts.sum(axis=-1, keepdims=True), chunks)


def multinomial(self: Draws, n: Any, pvals: Any, size: Any = None, chunks: Any = None) -> Array:
    """How often each of k outcomes comes in ``n`` trials: (*size, k), int64.

    ``pvals`` (..., k) are its probabilities; ``n`` and the leading axes broadcast to ``size``.
    The last is taken as what the others leave of 1.
    """
    trials = counts("n", n, COUNT)
    chances = _chances(pvals)
    lines = parameter("pvals", chances[..., 0])
    shape = drawn_shape(size, trials, lines)
    left: Any = broadcast_to(_array(trials.value), shape)
    rest = np.ones(chances.shape[:-1])
    columns = []
    for j in range(chances.shape[-1] - 1):
        with np.errstate(all="ignore"):
            share = np.where(rest > 0, np.clip(chances[..., j] / rest, 0.0, 1.0), 0.0)
        chance = float(share) if share.ndim == 0 else asarray(share)
        keys = self.bit_generator.keys(2)
        columns.append(_own_stage(binomials(self, keys, shape, left, chance)))
        left, rest = left - columns[-1], np.maximum(rest - chances[..., j], 0.0)
    return shown(_side_by_side([*columns, left]), chunks)


def multivariate_hypergeometric(
    self: Draws,
    colors: Any,
    nsample: Any,
    size: Any = None,
    method: str = "marginals",
    chunks: Any = None,
) -> Array:
    """How many of each of k colors are among ``nsample`` things taken: (*size, k), int64.

    ``colors`` (k,) says how many there are of each. ``method`` is NumPy's, and changes nothing.
    """
    if method not in ("count", "marginals"):
        raise ParameterError(f"method must be 'count' or 'marginals', not {method!r}")
    named = counts("colors", colors, COUNT)
    (k,) = _one_axis("colors", named.shape)
    sizes = [int(n) for n in np.asarray(named.known)]
    sample = counts("nsample", nsample, COUNT)
    if not sample.is_number:
        raise ParameterError("nsample must be one integer")
    total = sum(sizes)
    if total >= 10**9:
        raise ParameterError(f"sum(colors) must be below 10**9, not {total}")
    if sample.value > total:
        raise ParameterError(f"nsample > sum(colors): {sample.value} of {total}")
    shape = drawn_shape(size)
    if k == 0:
        return shown(zeros((*shape, 0), "int64"), chunks)
    left: Any = full(shape, sample.value, "int64")
    columns = []
    for good in sizes[:-1]:
        total -= good
        keys = self.bit_generator.keys(2)
        columns.append(_own_stage(hypergeometrics(self, keys, shape, good, total, left)))
        left = left - columns[-1]
    return shown(_side_by_side([*columns, left]), chunks)


def multivariate_normal(
    self: Draws,
    mean: Any,
    cov: Any,
    size: Any = None,
    check_valid: str = "warn",
    tol: float = 1e-8,
    *,
    method: str = "svd",
    chunks: Any = None,
) -> Array:
    """Normals of ``mean`` (k,) and covariance ``cov`` (k, k), in memory: (*size, k).

    Whatever ``method`` says, the factor is Cholesky's, by plain sums in a fixed order: those of
    linear algebra libraries differ in their last places from machine to machine. A covariance
    that is not positive semidefinite within ``tol`` is told of, as ``check_valid`` says.
    """
    centre, factor = _mean_and_factor(mean, cov, check_valid, tol, method)
    k = len(centre)
    shape = drawn_shape(size)
    (normals,) = sources(self, ["normal"], (*shape, k))
    if k <= _FEW:
        vectors = asarray(centre)
        for j in range(k):
            vectors = vectors + normals[..., j : j + 1] * asarray(factor[:, j].copy())
    else:
        vectors = asarray(centre) + (normals[..., None, :] * asarray(factor)).sum(axis=-1)
    return shown(broadcast_to(vectors, (*shape, k)), chunks)


def _array(value: Any) -> Array:
    return value if isinstance(value, Array) else full((), value, "int64")


def _one_axis(name: str, shape: Shape) -> Shape:
    if len(shape) != 1:
        raise ParameterTypeError(f"{name} must have one axis, not the shape {shape}")
    return shape


def _own_stage(values: Array) -> Array:
    """``values`` as a stage of its own: computed once, however often it is read."""
    return values.sum(axis=())


def _side_by_side(columns: list[Array]) -> Array:
    """Arrays of one shape along a new last axis."""
    k = len(columns)
    place = arange(k)
    values = columns[-1][..., None]
    for j, column in reversed(list(enumerate(columns[:-1]))):
        values = sc.where(place == j, column[..., None], values)
    return broadcast_to(values, (*columns[0].shape, k))


def _chances(pvals: Any) -> NDArray[np.float64]:
    chances = numbers("pvals", pvals)
    if not chances.ndim or not chances.shape[-1]:
        raise ShapeError(f"pvals must hold at least one probability, not the shape {chances.shape}")
    bad = ~((chances >= 0) & (chances <= 1))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        place = ", ".join(map(str, at))
        raise ParameterError(
            f"pvals < 0, pvals > 1 or pvals is NaN: pvals[{place}] is {chances[at]}"
        )
    totals = chances[..., :-1].sum(axis=-1)
    if (totals > 1 + _SLACK).any():
        raise ParameterError(f"sum(pvals[:-1]) > 1.0: it is {totals.max()}")
    return chances


def _mean_and_factor(
    mean: Any, cov: Any, check_valid: str, tol: float, method: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if method not in ("svd", "eigh", "cholesky"):
        raise ParameterError(f"method must be one of {{'eigh', 'svd', 'cholesky'}}, not {method!r}")
    if check_valid not in ("warn", "raise", "ignore"):
        raise ParameterError("check_valid must equal 'warn', 'raise', or 'ignore'")
    centre, spread = numbers("mean", mean), numbers("cov", cov)
    if centre.ndim != 1:
        raise ShapeError(f"mean must be 1 dimensional, not of shape {centre.shape}")
    if spread.shape != (len(centre), len(centre)):
        raise ShapeError(
            f"cov must be 2 dimensional and square, as long as mean: {spread.shape} for "
            f"{len(centre)} means"
        )
    if not (np.isfinite(centre).all() and np.isfinite(spread).all()):
        raise ParameterError("mean and cov must be finite")
    factor, missed = _cholesky(spread)
    asymmetric = np.abs(spread - spread.T).max(initial=0.0)
    if max(missed, asymmetric) > tol * max(1.0, np.abs(spread).max(initial=0.0)):
        words = "covariance is not symmetric positive-semidefinite"
        if check_valid == "raise":
            raise ParameterError(f"{words}; check_valid='ignore' draws all the same")
        if check_valid == "warn":
            warnings.warn(words, RuntimeWarning, stacklevel=3)
    return centre, factor


def _cholesky(cov: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """L with L L^T = ``cov``, and by how much that is missed where there is none."""
    k = len(cov)
    factor = np.zeros((k, k))
    missed = 0.0
    for j in range(k):
        # math.fsum and the root are correctly rounded: the same factor on every machine.
        rest = math.fsum([cov[j, j], *(-(x * x) for x in factor[j, :j].tolist())])
        pivot = math.sqrt(rest) if rest > _NOTHING * abs(cov[j, j]) else 0.0
        missed = max(missed, -rest)
        factor[j, j] = pivot
        for i in range(j + 1, k):
            products = -(factor[i, :j] * factor[j, :j])
            above = math.fsum([cov[i, j], *products.tolist()])
            if pivot:
                factor[i, j] = above / pivot
            else:
                missed = max(missed, abs(above))
    return factor, missed
