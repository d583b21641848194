"""Products of several matrices: chains in the cheapest order, and powers."""

from __future__ import annotations

import operator
from typing import Any

from ..api.array import Array, array_of
from ..api.methods.keywords import put
from ..api.namespace.diagonals import eye
from ..api.shapes import broadcast_to
from ..errors import MatrixError, ParameterTypeError, ShapeError
from .calls import of_matrices
from .products import matmul
from .solving import inv


def multi_dot(arrays: Any, *, out: Any = None) -> Array:
    """Multiply several matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array
        Matrices; the first and the last may be vectors.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        The product.

    Raises
    ------
    ValueError
        For fewer than two arrays, or shapes that do not fit.

    Examples
    --------
    >>> sc.linalg.multi_dot([[[1, 2], [3, 4]], [[1, 0], [0, 1]], [1, 1]]).compute()
    array([3, 7])
    """
    chain = [array_of(one) for one in arrays]
    if len(chain) < 2:
        raise ShapeError(f"multi_dot takes two arrays or more, not {len(chain)}")
    for k, one in enumerate(chain):
        ends = k in (0, len(chain) - 1)
        if one.ndim != 2 and not (ends and one.ndim == 1):
            raise MatrixError(
                f"multi_dot takes matrices, and a vector first and last; array {k} has shape "
                f"{one.shape}"
            )
    left = chain[0][None, :] if chain[0].ndim == 1 else chain[0]
    right = chain[-1][:, None] if chain[-1].ndim == 1 else chain[-1]
    product = _chain([left, *chain[1:-1], right])
    product = product[0] if chain[0].ndim == 1 else product
    return put(out, product[..., 0] if chain[-1].ndim == 1 else product, "multi_dot")


def _chain(chain: list[Array]) -> Array:
    """The product by dynamic programming: the cheapest way for each run of neighbours."""
    sizes = [chain[0].shape[0], *(one.shape[1] for one in chain)]
    best: dict[tuple[int, int], tuple[int, int]] = {(k, k): (0, k) for k in range(len(chain))}
    for length in range(1, len(chain)):
        for first in range(len(chain) - length):
            last = first + length
            best[first, last] = min(
                (
                    best[first, k][0]
                    + best[k + 1, last][0]
                    + sizes[first] * sizes[k + 1] * sizes[last + 1],
                    k,
                )
                for k in range(first, last)
            )

    def product(first: int, last: int) -> Array:
        if first == last:
            return chain[first]
        cut = best[first, last][1]
        return matmul(product(first, cut), product(cut + 1, last))

    return product(0, len(chain) - 1)


def matrix_power(a: Any, n: Any) -> Array:
    """Multiply square matrices by themselves, by squaring.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.
    n : int
        How often; negative: their inverses.

    Returns
    -------
    Array
        The powers.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square; when computed, if ``n`` is negative and one is singular.

    Examples
    --------
    >>> sc.linalg.matrix_power([[1, 1], [0, 1]], 5).compute()
    array([[1, 5],
           [0, 1]])
    """
    array = of_matrices("matrix_power", a, square=True)
    try:
        count = operator.index(n)
    except TypeError as err:
        raise ParameterTypeError(f"matrix_power takes a whole exponent, not {n!r}") from err
    if count == 0:
        return broadcast_to(eye(array.shape[-1], dtype=array.dtype), array.shape)
    base, count = (inv(array), -count) if count < 0 else (array, count)
    power: Array | None = None
    while True:
        count, odd = divmod(count, 2)
        if odd:
            power = base if power is None else matmul(power, base)
        if not count:
            assert power is not None
            return power
        base = matmul(base, base)
