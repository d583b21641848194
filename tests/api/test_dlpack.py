"""Arrays of other libraries as sources: DLPack in CPU memory, and what cannot be read."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.errors import DTypeError, RungError


class Foreign:
    """An array of some library: it speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


DTYPES = ["bool", "int8", "int16", "int32", "int64"]
DTYPES += ["uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    values = np.arange(24).astype(dtype).reshape(4, 6)
    x = sc.asarray(Foreign(values))
    assert (x.shape, x.dtype) == ((4, 6), values.dtype)
    assert_same_bits(x.compute(on="core"), values)


@pytest.mark.parametrize("view", ["[::2, ::3]", "[::-1]", ".T", "[2]", "[:, :0]", "[1, 1]"])
def test_strided_arrays(view: str) -> None:
    values = np.arange(42.0).reshape(6, 7)
    part = eval(f"np.asarray(values{view})", {"np": np, "values": values})
    assert_same_bits((sc.asarray(Foreign(part)) * 2).compute(on="core"), part * 2)


def test_nothing_is_copied() -> None:
    """What the other library's array holds when `compute` runs is what counts."""
    values = np.zeros(1000)
    total = sc.asarray(Foreign(values)).sum()
    assert total.compute(on="core") == 0
    values[:] = 3.0
    assert total.compute(on="core") == 3000


def test_the_memory_is_kept_alive() -> None:
    x = sc.asarray(Foreign(np.full(100_000, 1.5)))
    np.zeros(100_000)
    assert x.sum().compute() == 150_000


def test_operators_take_foreign_arrays() -> None:
    values = np.arange(5.0)
    x = sc.ones(5)
    assert_same_bits((x + Foreign(values)).compute(on="core"), values + 1)
    assert_same_bits(sc.maximum(Foreign(values), 2.0).compute(on="core"), np.maximum(values, 2))


def test_our_arrays_as_dtype() -> None:
    x = sc.asarray(Foreign(np.arange(5)), dtype="float32")
    assert_same_bits(x.compute(on="core"), np.arange(5, dtype="float32"))


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra, and not installed here")
    tensor = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    total = sc.asarray(tensor.T).sum(axis=0)
    assert_same_bits(total.compute(on="core"), tensor.T.numpy().sum(axis=0))
    tensor += 1
    assert_same_bits(total.compute(on="core"), tensor.T.numpy().sum(axis=0))
    with pytest.raises(DTypeError, match="cannot be read through DLPack"):
        sc.asarray(torch.ones(3, dtype=torch.bfloat16))


# What cannot be read -----------------------------------------------------------------------------


class Refusing(Foreign):
    def __dlpack__(self, **how: Any) -> Any:
        raise BufferError("not a dense array")


def test_a_library_that_refuses() -> None:
    with pytest.raises(DTypeError) as caught:
        sc.asarray(Refusing(np.ones(3)))
    text = str(caught.value)
    assert "this Refusing cannot be read through DLPack (not a dense array)" in text
    assert "give a dense array of numbers in CPU or CUDA memory" in text


def test_a_dtype_without_kernels() -> None:
    with pytest.raises(DTypeError, match="is not supported; supported: bool, int8"):
        sc.asarray(np.ones(3, np.longdouble))


class OnGpu(Foreign):
    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class CudaArray:
    __cuda_array_interface__ = {"version": 3}  # noqa: RUF012


@pytest.mark.parametrize("array", [OnGpu(np.ones(3)), CudaArray()], ids=["dlpack", "interface"])
def test_gpu_memory_without_cupy(monkeypatch: pytest.MonkeyPatch, array: Any) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RungError) as caught:
        sc.asarray(array)
    text = str(caught.value)
    assert "this array lies in GPU memory" in text
    assert "pip install speedcube[cuda13], or copy the array to the CPU" in text


class CupyArray(np.ndarray):
    """What we use of a CuPy array, in host memory."""

    __cuda_array_interface__ = {"version": 3}  # noqa: RUF012


def test_a_cupy_array_on_a_cpu_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused at `compute`, not copied behind the user's back; it can still be described."""
    cupy = ModuleType("cupy")
    cupy.asarray = lambda value: value  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    x = sc.asarray(np.arange(6.0).view(CupyArray)) + 1
    assert (x.shape, x.dtype) == ((6,), np.float64)
    for rung in ("core", "cores:2"):
        with pytest.raises(DTypeError) as caught:
            x.compute(on=rung)
        text = str(caught.value)
        assert "a CuPy array cannot be read on a CPU rung" in text
        assert "use on='gpu', or copy it with cupy.asnumpy" in text
