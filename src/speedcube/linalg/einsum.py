"""`einsum`: diagonals and sums of one operand are ours, products of two those of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..api.array import Array, array_of
from ..api.methods.keywords import converted, put
from ..api.shapes import broadcast_to
from ..errors import ShapeError
from . import subscripts
from .calls import as_dtype, turned
from .contraction import contracted
from .subscripts import Labels, Subscripts


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: str = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> Array:
    """Multiply arrays along axes that share a letter, and sum over letters that go.

    Diagonals are views. A sum over letters of one operand is exact, rounded once, and so is that of
    products of two arrays all of whose letters go or stay in both; other products are `matmul`'s.
    Several operands are multiplied two at a time.

    Parameters
    ----------
    *operands : str and arrays, or arrays and lists
        Subscripts such as "ij,jk->ik", with "..." for any axes; then the arrays.
    out : Array, optional
        Takes the result.
    dtype : dtype, optional
        What operands are cast to.
    order : str
        There is no layout in memory: it decides nothing.
    casting : str
        By which of NumPy's rules.
    optimize : bool, str or path
        In which order several operands are multiplied, as in `numpy.einsum_path`: from the left
        where it is False.

    Returns
    -------
    Array
        The result, lazy.

    Raises
    ------
    ValueError
        For subscripts that are wrong, or do not fit the arrays.

    Examples
    --------
    >>> sc.einsum("ij,jk->ik", [[1, 2], [3, 4]], [[1, 0], [1, 1]]).compute()
    array([[3, 2],
           [7, 4]])
    """
    known, listed = subscripts.read(operands, np.ndim)
    arrays = [array_of(one) for one in listed]
    common = dtypes.promote(*(one._expr.dtype for one in arrays))
    if dtype is not None:
        common = dtypes.check(dtype)
        arrays = [converted("einsum", one, common, casting) for one in arrays]
    arrays = [_in_common(one, common) for one in arrays]
    _check_sizes(known, arrays)
    terms = [_Term(array, labels) for array, labels in zip(arrays, known.operands, strict=True)]
    for places in _path(known, arrays, optimize):
        taken = [terms[k] for k in places]
        terms = [term for k, term in enumerate(terms) if k not in places]
        needed = {*known.result, *(label for term in terms for label in term.labels)}
        terms.append(_joined(taken, needed))
    (last,) = terms
    found = last.without({*last.labels} - {*known.result})
    axes = [found.labels.index(label) for label in known.result]
    shape = tuple(found.array.shape[k] for k in axes)
    return put(out, as_dtype(turned(found.array, axes, shape), common), "einsum")


def _in_common(array: Array, common: str) -> Array:
    """An operand in what all are computed in, before any of its axes is summed.

    Bytes and bools that are summed by themselves would wrap, or be counted once. What is real stays
    real beside complex operands: no sum of it needs a second part.
    """
    if common in dtypes.COMPLEX and array._expr.dtype not in dtypes.COMPLEX:
        common = dtypes.PARTS[common]
    return as_dtype(array, common)


def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which `einsum` would multiply several operands, and a table of its cost.

    Parameters
    ----------
    *operands : str and arrays, or arrays and lists
        As of `einsum`.
    optimize : bool, str or path
        NumPy's: "greedy" or "optimal".

    Returns
    -------
    tuple of list and str
        NumPy's answer, which shapes decide alone.

    Raises
    ------
    ValueError
        For subscripts that are wrong, or do not fit the arrays.

    Examples
    --------
    >>> sc.einsum_path("ij,jk,kl->il", sc.ones((2, 2)), sc.ones((2, 5)), sc.ones((5, 2)))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    known, listed = subscripts.read(operands, np.ndim)
    arrays = [array_of(one) for one in listed]
    _check_sizes(known, arrays)
    path, text = np.einsum_path(*_stand_ins(known, arrays), optimize=optimize)
    return list(path), str(text)


def _stand_ins(known: Subscripts, arrays: Sequence[Array]) -> list[Any]:
    """Text and arrays of these shapes, which need no memory, for NumPy."""
    labels = list(dict.fromkeys(label for each in known.operands for label in each))
    letters = {label: subscripts.letter(k) for k, label in enumerate(labels)}
    inputs = ",".join("".join(letters[label] for label in each) for each in known.operands)
    text = f"{inputs}->{''.join(letters[label] for label in known.result)}"
    sizes = _sizes(known, arrays)
    shapes = [tuple(sizes[label] for label in each) for each in known.operands]
    return [text, *(np.broadcast_to(np.float64(0), shape) for shape in shapes)]


def _path(known: Subscripts, arrays: Sequence[Array], optimize: Any) -> list[tuple[int, ...]]:
    """Which operands are multiplied, step by step; what is made goes last."""
    if len(arrays) < 2:
        return []
    if optimize is False or optimize is None or len(arrays) == 2:
        steps: list[tuple[int, ...]] = [(0, 1)]
        return steps + [(0, len(arrays) - 1 - k) for k in range(1, len(arrays) - 1)]
    path, _ = np.einsum_path(*_stand_ins(known, arrays), optimize=optimize)
    return [tuple(sorted(step)) for step in path[1:]]


def _sizes(known: Subscripts, arrays: Sequence[Array]) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for array, labels in zip(arrays, known.operands, strict=True):
        for label, size in zip(labels, array.shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


def _check_sizes(known: Subscripts, arrays: Sequence[Array]) -> None:
    sizes = _sizes(known, arrays)
    for array, labels in zip(arrays, known.operands, strict=True):
        for label, size in zip(labels, array.shape, strict=True):
            if size not in (1, sizes[label]):
                axis = f"{label!r}" if isinstance(label, str) else "an axis of the ellipsis"
                raise ShapeError(
                    f"einsum: {axis} has {sizes[label]} elements in one operand and {size} in "
                    f"another, of shape {array.shape}"
                )


class _Term:
    """An operand, each of whose axes has another label."""

    def __init__(self, array: Array, labels: Labels) -> None:
        self.array, self.labels = array, labels
        for label in dict.fromkeys(labels):
            while self.labels.count(label) > 1:
                self._diagonal(label)

    def _diagonal(self, label: Any) -> None:
        """The diagonal of the first two axes with ``label``, which goes last."""
        first = self.labels.index(label)
        second = self.labels.index(label, first + 1)
        sizes = self.array.shape[first], self.array.shape[second]
        if sizes[0] != sizes[1]:
            raise ShapeError(
                f"einsum: {label!r} names two axes of one operand, of {sizes[0]} and {sizes[1]} "
                f"elements; it has shape {self.array.shape}"
            )
        self.array = self.array.diagonal(0, first, second)
        rest = [one for k, one in enumerate(self.labels) if k not in (first, second)]
        self.labels = (*rest, label)

    def without(self, gone: set[Any]) -> _Term:
        """The exact sums over the labels ``gone``."""
        axes = tuple(k for k, label in enumerate(self.labels) if label in gone)
        if not axes:
            return self
        kind = self.array.dtype.kind
        if kind == "b":
            summed = self.array.any(axis=axes)
        else:
            summed = self.array.sum(axis=axes, dtype=self.array.dtype)
        return _Term(summed, tuple(label for label in self.labels if label not in gone))


def _joined(terms: Sequence[_Term], needed: set[Any]) -> _Term:
    """The product of ``terms``, summed over what is not ``needed`` later."""
    if len(terms) == 1:
        return terms[0].without({*terms[0].labels} - needed)
    if len(terms) > 2:
        first = _joined(terms[:2], needed | {one for t in terms[2:] for one in t.labels})
        return _joined([first, *terms[2:]], needed)
    x, y = terms
    x = x.without({*x.labels} - needed - {*y.labels})
    y = y.without({*y.labels} - needed - {*x.labels})
    x, y = _same_sizes(x, y)
    both = [label for label in x.labels if label in y.labels]
    gone = [label for label in both if label not in needed]
    batch = [label for label in both if label in needed]
    array = contracted(
        "einsum",
        x.array,
        y.array,
        [x.labels.index(label) for label in gone],
        [y.labels.index(label) for label in gone],
        [x.labels.index(label) for label in batch],
        [y.labels.index(label) for label in batch],
    )
    rest = [*(one for one in x.labels if one not in both), *(o for o in y.labels if o not in both)]
    return _Term(array, (*batch, *rest))


def _same_sizes(x: _Term, y: _Term) -> tuple[_Term, _Term]:
    """Both with axes of size 1 spread to the other's."""
    sizes = dict(zip(x.labels, x.array.shape, strict=True))
    for label, size in zip(y.labels, y.array.shape, strict=True):
        if sizes.get(label, size) != size:
            break
    else:  # as nearly always
        return x, y
    wanted = {
        label: max(sizes[label], size) if min(sizes[label], size) else 0
        for label, size in zip(y.labels, y.array.shape, strict=True)
        if label in sizes
    }
    return _spread(x, wanted), _spread(y, wanted)


def _spread(term: _Term, wanted: dict[Any, int]) -> _Term:
    shape = tuple(
        wanted.get(label, size) for label, size in zip(term.labels, term.array.shape, strict=True)
    )
    if shape == term.array.shape:
        return term
    return _Term(broadcast_to(term.array, shape), term.labels)
