"""Tensors, NumPy arrays and bytes as entries of a safetensors file, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from ...dataclass import dataclass
from ...errors import CheckpointError

if TYPE_CHECKING:
    import torch

# Bytes an element, by safetensors' names for dtypes.
WIDTHS: Final = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
    **dict.fromkeys(("F8_E4M3FNUZ", "F8_E5M2FNUZ"), 1),
}


class Refusal(Exception):
    """What a value is that cannot be saved; who knows where it stands makes the error of it."""


class StoredType(NamedTuple):
    """How a dtype is stored: the dtype in the file, and an axis added after the others."""

    code: str
    tail: tuple[int, ...] = ()


_BOTH: Final = {
    "bool": StoredType("BOOL"),
    "complex128": StoredType("F64", (2,)),  # which safetensors has not: real and imaginary part
    "complex64": StoredType("C64"),
    **{f"float{bits}": StoredType(f"F{bits}") for bits in (16, 32, 64)},
    **{f"int{bits}": StoredType(f"I{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": StoredType(f"U{bits}") for bits in (8, 16, 32, 64)},
}
_TORCH: Final = _BOTH | {
    "bfloat16": StoredType("BF16"),
    "complex32": StoredType("F16", (2,)),
    "float8_e4m3fn": StoredType("F8_E4M3"),
    "float8_e5m2": StoredType("F8_E5M2"),
    "float8_e4m3fnuz": StoredType("F8_E4M3FNUZ"),
    "float8_e5m2fnuz": StoredType("F8_E5M2FNUZ"),
    "float8_e8m0fnu": StoredType("F8_E8M0"),
    "float4_e2m1fn_x2": StoredType("U8"),
}
# NumPy's names carry the byte order, since arrays in either order come back as they were.
_ORDERS: Final[tuple[Literal["<", ">"], ...]] = ("<", ">")
_NUMPY: Final = {
    np.dtype(name).newbyteorder(order).str: stored
    for name, stored in _BOTH.items()
    for order in _ORDERS
}
_BYTES: Final = {"bytes": StoredType("U8")}


@dataclass(frozen=True)
class SavedLeaf:
    """One array to be written.

    ``kind`` is what it comes back as, ``dtype`` its name there; ``code`` and ``shape`` are what
    the file says. ``data()`` makes the bytes, in C order and little-endian, when they are wanted:
    one tensor of a GPU at a time is in the host's memory. Leaves of equal ``key`` are one array.
    """

    kind: str
    dtype: str
    code: str
    shape: tuple[int, ...]
    key: Hashable
    data: Callable[[], memoryview]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * WIDTHS[self.code]


def of_tensor(tensor: torch.Tensor) -> SavedLeaf:
    """Return the leaf of a dense tensor on any device; `Refusal` says what it is not."""
    import torch

    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_nested:
        raise Refusal("a nested tensor: pass a list of its parts, unbind()")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        way = "full_tensor() or to_local()" if hasattr(tensor, "full_tensor") else "a plain tensor"
        raise Refusal(f"a tensor of the subclass {type(tensor).__name__}: pass {way}")
    if tensor.layout is not torch.strided:
        raise Refusal(f"a tensor of the layout {tensor.layout}: pass to_dense()")
    if tensor.device.type == "meta":
        raise Refusal("a tensor on the device meta, which has no data")
    if dtype not in _TORCH:
        raise Refusal(f"a tensor of the dtype {dtype}, which has no place in safetensors")
    code, tail = _TORCH[dtype]
    place = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), dtype)
    key = place if tensor.numel() else id(tensor)
    flags = tensor.is_conj(), tensor.is_neg()  # views that negate what they read

    def data() -> memoryview:
        plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        return memoryview(plain.reshape(-1).view(torch.uint8).numpy())

    return SavedLeaf("tensor", dtype, code, (*tensor.shape, *tail), ("tensor", key, *flags), data)


def of_array(array: np.ndarray[Any, Any], kind: str = "array") -> SavedLeaf:
    """Return the leaf of a NumPy array of numbers; `Refusal` for one of anything else."""
    if type(array) is not np.ndarray:
        raise Refusal(f"an array of the subclass {type(array).__name__}: pass np.asarray()")
    dtype = array.dtype.str
    if dtype not in _NUMPY:
        raise Refusal(f"an array of the dtype {array.dtype}: only numbers and bool can be saved")
    code, tail = _NUMPY[dtype]
    place = (array.__array_interface__["data"][0], array.shape, array.strides, dtype)
    key = place if array.size and kind == "array" else id(array)

    def data() -> memoryview:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return little.reshape(-1).view(np.uint8).data

    return SavedLeaf(kind, dtype, code, (*array.shape, *tail), (kind, key), data)


def of_bytes(value: bytes) -> SavedLeaf:
    """Return the leaf of bytes."""
    return SavedLeaf(
        "bytes", "bytes", "U8", (len(value),), ("bytes", id(value)), lambda: memoryview(value)
    )


def check(kind: str, dtype: Any, code: str, shape: tuple[int, ...]) -> None:
    """Raise unless an entry of this code and shape can come back as that kind and dtype."""
    known = _KINDS[kind].dtypes
    stored = known.get(dtype) if type(dtype) is str else None
    if stored is None:
        raise CheckpointError(f"{dtype!r:.80} is not a dtype that a value of kind {kind} can have")
    if code != stored.code or shape[len(shape) - len(stored.tail) :] != stored.tail:
        raise CheckpointError(f"a {kind} of {dtype} cannot be stored as {code} {list(shape)}")
    if (kind == "scalar" and shape != stored.tail) or (kind == "bytes" and len(shape) != 1):
        raise CheckpointError(f"a {kind} cannot have the shape {list(shape)}")


def restore(kind: str, dtype: str, shape: tuple[int, ...], raw: np.ndarray[Any, Any]) -> Any:
    """Return the array, tensor, scalar or bytes that ``check`` has let through, over ``raw``."""
    tail = _KINDS[kind].dtypes[dtype].tail
    return _KINDS[kind].restore(raw, dtype, shape[: len(shape) - len(tail)])


def _tensor(raw: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    import torch

    if not hasattr(torch, dtype):
        raise CheckpointError(f"this PyTorch ({torch.__version__}) has no dtype {dtype}")
    return torch.from_numpy(raw).view(getattr(torch, dtype)).reshape(shape)


def _array(raw: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    wanted = np.dtype(dtype)
    return raw.view(wanted.newbyteorder("<")).reshape(shape).astype(wanted, copy=False)


def _scalar(raw: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
    return _array(raw, dtype, shape)[()]


def _bytes(raw: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> bytes:
    return raw.tobytes()


class _ValueKind(NamedTuple):
    dtypes: dict[str, StoredType]
    restore: Callable[[np.ndarray[Any, Any], str, tuple[int, ...]], Any]


_KINDS: Final = {
    "tensor": _ValueKind(_TORCH, _tensor),
    "array": _ValueKind(_NUMPY, _array),
    "scalar": _ValueKind(_NUMPY, _scalar),
    "bytes": _ValueKind(_BYTES, _bytes),
}
KINDS: Final = frozenset(_KINDS)
