"""`Array`'s methods and attributes of the Array API that are no computation."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...errors import AxisError, ParameterError, UnsupportedError
from ...expr import build
from ...expr.graph import below
from ...expr.nodes import Leaf, Stored, const
from ...expr.pairs.node import is_pair, pair, parts
from ..devices import checked_device, checked_order
from ..stored import leaf_of
from . import evaluation, shapes
from .lazy import A, Lazy

VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def namespace(self: Lazy, *, api_version: str | None = None) -> ModuleType:
    """Return the module that has the functions for this array: ``speedcube``.

    Parameters
    ----------
    api_version : str, optional
        A version of the Array API: ``"2021.12"`` to ``"2025.12"``.

    Returns
    -------
    module
        The module.

    Examples
    --------
    >>> sc.ones(3).__array_namespace__() is sc
    True
    """
    if api_version not in (None, *VERSIONS):
        raise ParameterError(
            f"speedcube knows the Array API in the versions {', '.join(VERSIONS)}, not "
            f"{api_version!r}"
        )
    return sys.modules["speedcube"]


def device(self: Lazy) -> str:
    """Where the values lie, or will be made first of all: ``"cpu"``, ``"cuda:0"`` ..."""
    if not self._gpu:
        return "cpu"
    for node in below(self._expr):
        if isinstance(node, Leaf) and isinstance(node.source, Stored) and node.source.on_device:
            return f"cuda:{getattr(getattr(node.source.buffer, 'device', None), 'id', 0)}"
    return "cuda:0"


def to_device(self: A, device: Any, /, *, stream: Any = None) -> A:
    """Move the array to a device.

    Nothing is computed for it: it says which memory the values are to lie in. Data that lie in the
    other memory are computed at once, there, and copied.

    Parameters
    ----------
    device : str
        ``"cpu"``, ``"cuda:0"`` ...
    stream : None
        There is no choice: CuPy's current stream is used.

    Returns
    -------
    Array
        The array there.

    Raises
    ------
    ValueError
        If there is no such device.

    Examples
    --------
    >>> sc.ones(3).to_device("cpu").device
    'cpu'
    """
    if stream is not None:
        raise UnsupportedError("to_device takes no stream: CuPy's current stream is used")
    on_gpu = checked_device("to_device", device)
    if on_gpu == self._gpu:
        return self
    moved = self
    if not on_gpu and _has_data_on_gpu(self):
        values = np.asarray(evaluation.compute(self))
        moved = self._rebuilt(leaf_of(values)[0])
    return moved._rebuilt(moved._expr, on_gpu)


def _has_data_on_gpu(array: Lazy) -> bool:
    leaves = (node for node in below(array._expr) if isinstance(node, Leaf))
    return any(isinstance(one.source, Stored) and one.source.on_device for one in leaves)


def matrix_transpose(self: A) -> A:
    """The matrices of the last two axes, each transposed."""
    ndim = len(self._expr.shape)
    if ndim < 2:
        raise AxisError(f"a matrix has two axes; this array has {ndim}, and .mT needs them")
    return shapes.swapaxes(self, -1, -2)


def real(self: A) -> A:
    """The real part; of real numbers, the array itself."""
    if not is_pair(self._expr):
        return self
    return self._view(parts(self._expr)[0], self._grid)


def imag(self: A) -> A:
    """The imaginary part; of real numbers, zeros."""
    if is_pair(self._expr):
        return self._view(parts(self._expr)[1], self._grid)
    return self._view(const(0, self._expr.dtype, self._expr.shape), self._grid)


def conjugate(self: A) -> A:
    """Return the complex conjugate: the other sign of the imaginary part.

    Returns
    -------
    Array
        Of the same dtype; real numbers as they are.

    Examples
    --------
    >>> sc.asarray([1.0, 2.0 + 3.0j]).conj().compute()
    array([1.-0.j, 2.-3.j])
    """
    if is_pair(self._expr):
        re, im = parts(self._expr)
        return self._view(pair(re, build.elementwise("negative", [im])), self._grid)
    return self._view(self._expr, self._grid)  # another one, to be assigned to


def copy(self: A, order: str = "C") -> A:
    """Return an array of its own with the same values: assignment to one leaves the other.

    No data are copied: what `asarray` was given is read when it is computed. `speedcube.array`
    copies data at once.

    Parameters
    ----------
    order : {"C", "F", "A", "K"}
        NumPy's word for the layout in memory; it decides no value.

    Returns
    -------
    Array
        The other array.

    Examples
    --------
    >>> sc.arange(3).copy().compute()
    array([0, 1, 2])
    """
    checked_order("copy", order)
    return self._view(self._expr, self._grid)


def dlpack(
    self: Lazy,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """Compute the values and hand them over through DLPack.

    Parameters
    ----------
    stream : optional
        The stream that the consumer will use; for arrays on a GPU.
    max_version : tuple of int, optional
        The newest version of DLPack that the consumer knows.
    dl_device : tuple of int, optional
        Where the consumer wants the values.
    copy : bool, optional
        False is refused: the values are computed into new memory.

    Returns
    -------
    PyCapsule
        The values.

    Raises
    ------
    ValueError
        With ``copy=False``.

    Examples
    --------
    >>> np.from_dlpack(sc.arange(3))
    array([0, 1, 2])
    """
    if copy is False:
        raise ParameterError(
            "copy=False is not possible: the values of this array are computed into new memory"
        )
    values = evaluation.compute(self, to="cupy" if self._gpu else "numpy")
    if not self._gpu:
        values = np.asarray(values)
    options = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    return values.__dlpack__(
        stream=stream, **{key: value for key, value in options.items() if value is not None}
    )


def dlpack_device(self: Lazy) -> tuple[int, int]:
    """Return the kind and the number of the device that `__dlpack__` hands the values over on.

    Returns
    -------
    tuple of int
        ``(1, 0)`` for memory of the CPU, ``(2, k)`` for that of GPU k.

    Examples
    --------
    >>> sc.arange(3).__dlpack_device__()[1]
    0
    """
    where = device(self)
    return (2, int(where.partition(":")[2])) if self._gpu else (1, 0)
