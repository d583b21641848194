"""A nested value as JSON with names in the place of its arrays, and back.

Numbers, strings, None, booleans and lists stand for themselves. Everything else is an object:

    {"dict": [[key, value], ...]}       keys with their types, in order
    {"counter": [[key, value], ...]}    a ``Counter``, which PyTorch's MultiStepLR holds
    {"tuple": [value, ...]}
    {"int": "-0x123..."}                beyond 64 bits
    {"float": "7ff8000000000000"}       NaN and infinities, as the bits of a double
    {"str": "eda080..."}                with surrogates, which JSON pairs: its UTF-8
    {"tensor": name, "dtype": dtype}    an entry of the file; also "array", "scalar", "bytes"
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from typing import Any, Final

import numpy as np

from ...errors import CheckpointError
from . import leaves
from .leaves import Refusal, SavedLeaf

DEEPEST: Final = 64  # nested containers, both ways
_MOST_DIGITS: Final = 100_000  # hexadecimal ones, of an integer
_HEX: Final = re.compile(r"-?0x[0-9a-f]+")
_DOUBLE: Final = re.compile(r"[0-9a-f]{16}")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")

Path = tuple[Any, ...]


def place(path: Path) -> str:
    """Return where a value stands, as Python: ``checkpoint["optimizer"]["state"][0]``."""
    return str(path[0]) + "".join(
        f'["{key:.60}"]' if type(key) is str else f"[{key!r:.40}]" for key in path[1:]
    )


class Encoder:
    """Values as JSON nodes; what is no JSON goes to ``leaves``, by name.

    A tensor that is met again, as tied weights are, is one leaf under its first name.
    """

    def __init__(self) -> None:
        self.leaves: dict[str, SavedLeaf] = {}
        self._names: dict[Hashable, str] = {}

    def node(self, value: Any, path: Path) -> Any:
        """Return the node of ``value``, which stands at ``path``.

        Raises
        ------
        CheckpointError
            With the place of a value of another type, or deeper than ``DEEPEST`` containers.
        """
        if len(path) > DEEPEST:
            raise CheckpointError(
                f"{place(path[:4])}... cannot be saved: it nests more than {DEEPEST} deep"
            )
        encode = _ENCODERS.get(type(value)) or _by_base(value)
        try:
            return encode(self, value, path)
        except Refusal as refusal:
            raise CheckpointError(
                f"{place(path)} cannot be saved: it is {refusal}. A checkpoint holds dicts, lists, "
                "tuples, tensors, NumPy arrays, numbers, strings, bytes and None"
            ) from None

    def leaf(self, leaf: SavedLeaf, path: Path) -> dict[str, str]:
        """Return the node of an array, which is written once however often it is met."""
        name = self._names.get(leaf.key)
        if name is None:
            name = self._names[leaf.key] = self._fresh(path)
            self.leaves[name] = leaf
        return {leaf.kind: name, "dtype": leaf.dtype}

    def _fresh(self, path: Path) -> str:
        stem = ".".join(map(str, path)).encode(errors="backslashreplace").decode()
        name, number = stem, 2
        while name in self.leaves:
            name, number = f"{stem}~{number}", number + 1
        return name


def _plain(encoder: Encoder, value: Any, path: Path) -> Any:
    return value


def _str(encoder: Encoder, value: str, path: Path) -> Any:
    if _SURROGATE.search(value) is None:
        return value
    return {"str": value.encode("utf-8", "surrogatepass").hex()}


def _int(encoder: Encoder, value: int, path: Path) -> Any:
    if -(2**63) <= value < 2**64:
        return value
    if value.bit_length() > 4 * _MOST_DIGITS:
        raise Refusal(f"an integer of {value.bit_length()} bits")
    return {"int": hex(value)}


def _float(encoder: Encoder, value: float, path: Path) -> Any:
    return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}


def _list(encoder: Encoder, value: list[Any], path: Path) -> Any:
    return [encoder.node(item, (*path, index)) for index, item in enumerate(value)]


def _tuple(encoder: Encoder, value: tuple[Any, ...], path: Path) -> Any:
    return {"tuple": [encoder.node(item, (*path, index)) for index, item in enumerate(value)]}


def _dict(encoder: Encoder, value: dict[Any, Any], path: Path) -> Any:
    for key in value:
        if type(key) not in _KEYS:
            raise Refusal(f"a dict with a key of type {type(key).__name__}")
    pairs = ((encoder.node(key, path), key, item) for key, item in value.items())
    return {"dict": [[name, encoder.node(item, (*path, key))] for name, key, item in pairs]}


def _counter(encoder: Encoder, value: Counter[Any], path: Path) -> Any:
    return {"counter": _dict(encoder, value, path)["dict"]}


def _bytes(encoder: Encoder, value: bytes, path: Path) -> Any:
    return encoder.leaf(leaves.of_bytes(value), path)


def _tensor(encoder: Encoder, value: Any, path: Path) -> Any:
    return encoder.leaf(leaves.of_tensor(value), path)


def _array(encoder: Encoder, value: np.ndarray[Any, Any], path: Path) -> Any:
    return encoder.leaf(leaves.of_array(value), path)


def _scalar(encoder: Encoder, value: np.generic, path: Path) -> Any:
    return encoder.leaf(leaves.of_array(np.asarray(value), "scalar"), path)


def _by_base(value: Any) -> _Encode:
    """Return the encoder of a value known by its base class."""
    import torch

    bases: dict[type, _Encode] = {
        torch.Tensor: _tensor,
        np.ndarray: _array,
        np.generic: _scalar,
        torch.Size: _tuple,
    }
    return next((encode for base, encode in bases.items() if isinstance(value, base)), _refuse)


def _refuse(encoder: Encoder, value: Any, path: Path) -> Any:
    raise Refusal(f"of type {type(value).__name__}")


_Encode = Callable[[Encoder, Any, Path], Any]
_KEYS: Final = frozenset({str, int, bool, type(None), float})
_ENCODERS: Final[dict[type, _Encode]] = {
    **dict.fromkeys((bool, type(None)), _plain),
    **dict.fromkeys((dict, OrderedDict, defaultdict), _dict),
    Counter: _counter,
    str: _str,
    int: _int,
    float: _float,
    list: _list,
    tuple: _tuple,
    bytes: _bytes,
}


def decode(node: Any, resolve: Callable[[str, str, Any], Any], depth: int = 0) -> Any:
    """Return the value of a node; ``resolve(kind, name, dtype)`` finds its arrays.

    Raises
    ------
    CheckpointError
        For a node that ``Encoder`` does not make.
    """
    if depth > DEEPEST:
        raise CheckpointError(f"a value nests more than {DEEPEST} deep")
    if type(node) is list:
        return [decode(item, resolve, depth + 1) for item in node]
    if type(node) is not dict:
        return node  # str, int, float, bool, None: there is nothing else in JSON
    tag = next(iter(node), "")
    if tag in leaves.KINDS and list(node) == [tag, "dtype"] and type(node[tag]) is str:
        return resolve(tag, node[tag], node["dtype"])
    if len(node) != 1 or tag not in _DECODERS:
        raise CheckpointError(f"a value of an unknown kind: {', '.join(node)!r:.80}")
    return _DECODERS[tag](node[tag], resolve, depth)


def _items(content: Any, resolve: Any, depth: int) -> tuple[Any, ...]:
    if type(content) is not list:
        raise CheckpointError("a tuple that is not a list of values")
    return tuple(decode(content, resolve, depth))


def _pairs(content: Any, resolve: Any, depth: int) -> dict[Any, Any]:
    if type(content) is not list or any(type(p) is not list or len(p) != 2 for p in content):
        raise CheckpointError("a dict that is not a list of pairs")
    pairs = {_key(key): decode(item, resolve, depth + 1) for key, item in content}
    if len(pairs) != len(content):
        raise CheckpointError("a dict with a key twice")
    return pairs


def _counts(content: Any, resolve: Any, depth: int) -> Counter[Any]:
    return Counter(_pairs(content, resolve, depth))


def _key(node: Any) -> Any:
    key = decode(node, no_array, DEEPEST)
    if type(key) not in _KEYS:
        raise CheckpointError(f"a key of type {type(key).__name__}")
    return key


def no_array(kind: str, name: str, dtype: Any) -> Any:
    """Refuse an array: what `decode` takes where only plain values belong."""
    raise CheckpointError("an array in the place of a plain value")


def _wide(content: Any, resolve: Any, depth: int) -> int:
    if type(content) is not str or len(content) > _MOST_DIGITS + 3 or not _HEX.fullmatch(content):
        raise CheckpointError("an integer that is not a hexadecimal number")
    return int(content, 16)


def _special(content: Any, resolve: Any, depth: int) -> float:
    if type(content) is not str or not _DOUBLE.fullmatch(content):
        raise CheckpointError("a float that is not the bits of one")
    value: float = struct.unpack(">d", bytes.fromhex(content))[0]
    return value


def _text(content: Any, resolve: Any, depth: int) -> str:
    try:
        return bytes.fromhex(content).decode("utf-8", "surrogatepass")
    except (TypeError, ValueError):
        raise CheckpointError("a text that is not the bytes of one") from None


_DECODERS: Final[dict[str, Callable[[Any, Any, int], Any]]] = {
    "tuple": _items,
    "dict": _pairs,
    "counter": _counts,
    "str": _text,
    "int": _wide,
    "float": _special,
}
