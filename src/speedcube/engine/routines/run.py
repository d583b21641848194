"""A routine of a library called with the arguments of its stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...errors import MatrixError, RungError
from ...expr.nodes import Expr, Leaf, Stored, Through, c_strides
from ...expr.routines.row import Routine, call_of, made, seen
from ...expr.routines.table import ROUTINES
from ...plan.stages import Stage
from ..boxes import Stop
from ..cpu import host_array
from ..ordering.elements import AllElements, Array, Inputs, Store, elements_of
from ..staging.late import sweeps
from .by_kernels import by_kernels
from .threads import blas_threads


def run_routine(stage: Stage, inputs: Inputs, device: int | None, stop: Stop, store: Store) -> Any:
    """The result of ``stage``, on GPU ``device`` or, where CuPy has no such routine, the host."""
    source = stage.source
    assert isinstance(source, Through)
    source = replace(source, arg=stage.root)
    routine = ROUTINES[source.op]
    if device is not None and routine.on_gpu:
        return _on_gpu(
            routine, source, sweeps.DeviceWork(stage.parts[0], inputs, device, stop, store)
        )
    whole: dict[int, Any] = {}
    how = inputs, device, stop, store, stage.threads, stage.parts[0]
    for arg in source.args:
        if id(arg) not in whole:
            (elements,) = elements_of((arg,), *how)
            whole[id(arg)] = _host(elements)
    parts = _seen(source, whole, np.lib.stride_tricks.as_strided)
    with blas_threads(stage.threads), np.errstate(all="ignore"), explained(source.op):
        return made(np, replace(routine, run=by_kernels(routine)), source, parts)


# What LAPACK finds wrong, and what to do about it.
_WAYS_OUT: Final = {
    "Singular": "the matrix has no inverse; pinv and lstsq take any",
    "positive definite": "see eigvalsh(a): all of its eigenvalues must be positive",
    "infs or NaNs": "see isfinite(a).all(): NaN and infinities have no eigenvalues",
    "converge": "see isfinite(a).all(): NaN and infinities have no decomposition",
}


# Of cuSOLVER's routines, what LAPACK says where they fail.
_OF_CUSOLVER: Final = {
    "getrf": "Singular matrix",
    "potrf": "Matrix is not positive definite",
    "gesvd": "SVD did not converge",
    "syevd": "Eigenvalues did not converge",
    "heevd": "Eigenvalues did not converge",
    "geev": "Eigenvalues did not converge",
}


@contextmanager
def explained(op: str) -> Iterator[None]:
    """A block in which errors of LAPACK and cuSOLVER say what to do."""
    try:
        yield
    except np.linalg.LinAlgError as err:
        raise explanation(op, err) from err


def explanation(op: str, err: np.linalg.LinAlgError) -> MatrixError:
    """What ``err``, of LAPACK or cuSOLVER, means, and what to do."""
    text = str(err).rstrip(".")
    if "cuSOLVER" in text:
        text = next((says for name, says in _OF_CUSOLVER.items() if name in text), text)
    ways = (way for word, way in _WAYS_OUT.items() if word in text)
    return MatrixError(f"{op}: {text}: {next(ways, 'see the matrix')}")


def _seen(source: Through, whole: dict[int, Any], strided: Any) -> list[Any]:
    views = call_of(source).views
    return [seen(whole[id(a)], v, strided) for a, v in zip(source.args, views, strict=True)]


def _host(elements: AllElements) -> Array:
    """All elements of an argument, where they lie if they do."""
    root = elements.root
    if isinstance(root, Leaf):
        base: Any = None
        if isinstance(root.source, Stored) and not root.source.on_device:
            base = host_array(root.source)
        elif id(root.source) in elements.inputs:
            base = elements.inputs[id(root.source)]
            if hasattr(type(base), "__cuda_array_interface__"):
                base = base.get()
        if base is not None and base.dtype == root.dtype and base.flags.aligned:
            return window(base, root)
    return elements.whole().reshape(root.shape)


def window(base: Array, leaf: Leaf) -> Array:
    """What ``leaf`` reads of ``base``, where it lies: to be read only."""
    size = base.itemsize
    straight = leaf.shape == base.shape and not leaf.offset and base.flags.c_contiguous
    if straight and leaf.strides == c_strides(leaf.shape):
        return base
    interface = {
        "version": 3,
        "typestr": base.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(step * size for step in leaf.strides),
        "data": (base.ctypes.data + leaf.offset * size, True),
    }
    return np.asarray(_Window(interface, base))


class _Window:
    """Memory that ``owner`` keeps, for NumPy."""

    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__, self.owner = interface, owner


def _on_gpu(routine: Routine, source: Through, work: sweeps.DeviceWork) -> Any:
    import cupy
    import cupyx

    with cupy.cuda.Device(work.device):
        whole: dict[int, Any] = {}
        for arg in source.args:
            if id(arg) not in whole:
                whole[id(arg)] = _device(arg, work)
        parts = _seen(source, whole, cupy.lib.stride_tricks.as_strided)
        with device_errors(source.op), cupyx.errstate(linalg="raise"):
            return made(cupy, routine, source, parts)


@contextmanager
def device_errors(op: str) -> Iterator[None]:
    """A block in which CuPy's errors say what to do, those of missing libraries, too."""
    try:
        with explained(op):
            yield
    except (ImportError, OSError, RuntimeError) as err:
        missing = _missing_library(str(err))
        if missing is None:
            raise
        raise RungError(
            f"{op} on a GPU needs {missing}, which CuPy cannot load ({err}): "
            f"pip install {_WHEELS[missing]}, or compute on another rung (on='cores')"
        ) from err


# CUDA's libraries and the wheels that have them, for CUDA 13; those for CUDA 12 end in -cu12.
_WHEELS: Final = {
    "cuBLAS": "nvidia-cublas (CUDA 12: nvidia-cublas-cu12)",
    "cuSOLVER": "nvidia-cusolver (CUDA 12: nvidia-cusolver-cu12)",
    "cuFFT": "nvidia-cufft (CUDA 12: nvidia-cufft-cu12)",
    "cuSPARSE": "nvidia-cusparse (CUDA 12: nvidia-cusparse-cu12)",
    "nvJitLink": "nvidia-nvjitlink (CUDA 12: nvidia-nvjitlink-cu12)",
}


def _missing_library(text: str) -> str | None:
    """The library of CUDA's that ``text``, an error of the loader, is about; None of others."""
    lower = text.lower()
    if not any(
        word in lower for word in ("cannot open", "not found", "failed to load", "no module")
    ):
        return None
    return next((name for name in _WHEELS if name.lower() in lower), None)


def _device(arg: Expr, work: sweeps.DeviceWork) -> Any:
    """All elements of an argument in the GPU's memory, where they lie if they do."""
    import cupy

    if isinstance(arg, Leaf):
        base: Any = work.inputs.get(id(arg.source))
        if base is None and isinstance(arg.source, Stored) and arg.source.on_device:
            base = arg.source.buffer
        is_here = hasattr(type(base), "__cuda_array_interface__") and base.dtype == arg.dtype
        if is_here and base.flags.c_contiguous:
            strides = tuple(step * base.itemsize for step in arg.strides)
            flat = base.reshape(-1)[arg.offset :]
            return cupy.lib.stride_tricks.as_strided(flat, arg.shape, strides)
    return work.of_arg(arg).whole().reshape(arg.shape)
