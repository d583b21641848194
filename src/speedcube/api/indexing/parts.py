"""What changes an array but by a key: ``x.real = value``, ``x.resize(5)``; ``del x[0]``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import DTypeError, ParameterError
from ...expr import build
from ...expr.nodes import const
from ...expr.pairs.node import is_pair, pair
from ..methods import standard

if TYPE_CHECKING:
    from ..array import Array


def set_real(self: Array, value: Any) -> None:
    """``x.real = value``: the imaginary parts stay; of real numbers, ``x[...] = value``."""
    if self.dtype.kind != "c":
        self[...] = value
        return
    part = _assigned(standard.real(self), value)
    self._rebind(_joined(self, part, standard.imag(self)))


def set_imag(self: Array, value: Any) -> None:
    """``x.imag = value``: the real parts stay; real numbers have no other."""
    if self.dtype.kind != "c":
        raise DTypeError(
            f"an array of {self.dtype} has no imaginary part to assign to: "
            "x = x.astype('complex128') first"
        )
    part = _assigned(standard.imag(self), value)
    self._rebind(_joined(self, standard.real(self), part))


def _assigned(part: Array, value: Any) -> Array:
    """``part`` with ``value`` in all of it, broadcast and cast as by any assignment."""
    part[...] = value
    return part


def _joined(like: Array, real: Array, imag: Array) -> Array:
    assert is_pair(like._expr)
    return like._view(pair(real._expr, imag._expr), like._grid)


def refuse_to_delete(self: Array, key: Any) -> NoReturn:
    """``del x[key]``: a ValueError, as NumPy's."""
    raise ParameterError(
        "cannot delete elements of an array: speedcube.delete(x, index, axis) is one without them"
    )


def resize(self: Array, *new_shape: Any, refcheck: bool = True) -> None:
    """Give the array another size from now on: elements are cut off, or zeros come after them.

    `speedcube.resize`, a function, repeats the elements instead.

    Parameters
    ----------
    *new_shape : int, or one tuple of int
        The new sizes.
    refcheck : bool
        NumPy's word for who else reads the memory; others keep what they had, whatever it says.

    Raises
    ------
    ValueError
        For a negative size.

    Examples
    --------
    >>> x = sc.asarray([3, 1, 2])
    >>> x.resize(5)
    >>> x.compute()
    array([3, 1, 2, 0, 0])
    """
    if not new_shape:
        return
    shape = build.check_shape(new_shape[0] if len(new_shape) == 1 else new_shape)
    line, size = self.reshape(-1), math.prod(shape)
    if size > line.size:
        zeros = build.cast(const(0, "int8", (size,)), str(self.dtype))
        longer = self._view(zeros, None)
        longer[: line.size] = line
        line = longer
    self._rebind(line[:size].reshape(shape))
