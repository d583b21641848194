"""What is wrong in a call that has no one argument of a kind: NumPy's exception type, our message.

Functions that change what they are given, that take functions or text, keys of arrays, sizes that
no memory has. `test_bad_arguments` has all others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import SpeedcubeError

NUMBERS: Final = np.arange(12.0).reshape(3, 4)

CALLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "put far": lambda m, x: m.put(x, [12], 1),
    "put text": lambda m, x: m.put(x, [0], "x"),
    "put mode": lambda m, x: m.put(x, [0], 1, mode="nonsense"),
    "put negative": lambda m, x: m.put(x, [-13], 1),
    "put ragged": lambda m, x: m.put(x, [[1], [2, 3]], 1),
    "put text index": lambda m, x: m.put(x, "a", 1),
    "put none": lambda m, x: m.put(None, [0], 1),
    "putmask shape": lambda m, x: m.putmask(x, np.ones(5, bool), 1),
    "putmask text": lambda m, x: m.putmask(x, x > 3, "x"),
    "putmask list": lambda m, x: m.putmask([1, 2], [True, False], 1),
    "putmask complex": lambda m, x: m.putmask(x, x > 3, 1j),
    "place shape": lambda m, x: m.place(x, np.ones(5, bool), [1]),
    "place nothing": lambda m, x: m.place(x, x > 3, []),
    "place text": lambda m, x: m.place(x, x > 3, ["x"]),
    "place list": lambda m, x: m.place([1], [True], [2]),
    "copyto shape": lambda m, x: m.copyto(x, np.ones(5)),
    "copyto text": lambda m, x: m.copyto(x, "x"),
    "copyto casting": lambda m, x: m.copyto(x, 1j),
    "copyto unknown casting": lambda m, x: m.copyto(x, 1, casting="nonsense"),
    "copyto where": lambda m, x: m.copyto(x, 1, where=np.ones(7, bool)),
    "copyto list": lambda m, x: m.copyto([1], [2]),
    "copyto where floats": lambda m, x: m.copyto(x, 1, where=np.ones((3, 4))),
    "fill_diagonal line": lambda m, x: m.fill_diagonal(x[0].copy(), 1),
    "fill_diagonal text": lambda m, x: m.fill_diagonal(x, "x"),
    "fill_diagonal cube": lambda m, x: m.fill_diagonal(m.zeros((2, 3, 2)), 1),
    "put_along_axis far": lambda m, x: m.put_along_axis(x, np.full((1, 4), 3), 1, 0),
    "put_along_axis axis": lambda m, x: m.put_along_axis(x, np.zeros((1, 4), int), 1, 2),
    "put_along_axis floats": lambda m, x: m.put_along_axis(x, np.zeros((1, 4)), 1, 0),
    "put_along_axis ndim": lambda m, x: m.put_along_axis(x, np.zeros(4, int), 1, 0),
    "select lengths": lambda m, x: m.select([x > 1], [x, x]),
    "select none": lambda m, x: m.select([], []),
    "select floats": lambda m, x: m.select([x], [x]),
    "select shape": lambda m, x: m.select([np.ones(5, bool)], [x]),
    "select text": lambda m, x: m.select("a", "b"),
    "choose far": lambda m, x: m.choose(np.array([0, 5]), [[1, 2], [3, 4]]),
    "choose floats": lambda m, x: m.choose(np.array([0.5]), [[1], [2]]),
    "choose shape": lambda m, x: m.choose(np.array([0, 1]), [[1, 2, 3], [4, 5, 6]]),
    "choose none": lambda m, x: m.choose(np.array([0]), []),
    "choose mode": lambda m, x: m.choose(np.array([0]), [[1]], mode="nonsense"),
    "compress axis": lambda m, x: m.compress([True], x, axis=2),
    "compress long": lambda m, x: m.compress([True] * 5, x, axis=0),
    "compress 2d": lambda m, x: m.compress([[True]], x),
    "compress text axis": lambda m, x: m.compress([True], x, axis="x"),
    "apply_over_axes axis": lambda m, x: m.apply_over_axes(m.sum, x, [5]),
    "apply_over_axes func": lambda m, x: m.apply_over_axes(3, x, [0]),
    "fromiter number": lambda m, x: m.fromiter(3, float),
    "fromiter short": lambda m, x: m.fromiter([1, 2], float, 5),
    "fromiter text": lambda m, x: m.fromiter(["a"], float),
    "fromiter dtype": lambda m, x: m.fromiter([1], "nonsense"),
    "mask_indices n": lambda m, x: m.mask_indices(-1, m.triu),
    "mask_indices text": lambda m, x: m.mask_indices("x", m.triu),
    "mask_indices func": lambda m, x: m.mask_indices(3, 3),
    "piecewise counts": lambda m, x: m.piecewise(x, [x > 1], [1, 2, 3]),
    "piecewise shape": lambda m, x: m.piecewise(x, [np.ones(5, bool)], [1]),
    "einsum text": lambda m, x: m.einsum("nonsense", x),
    "einsum sizes": lambda m, x: m.einsum("ij,ij", x, np.ones((4, 4))),
    "einsum none": lambda m, x: m.einsum(),
    "einsum axes": lambda m, x: m.einsum("ijk", x),
    "einsum number": lambda m, x: m.einsum(3, x),
    "einsum output": lambda m, x: m.einsum("ij->k", x),
    "einsum_path text": lambda m, x: m.einsum_path("ij,jk", x),
    "empty negative": lambda m, x: m.empty(-1),
    "empty text": lambda m, x: m.empty("x"),
    "empty_like shape": lambda m, x: m.empty_like(x, shape=(-1,)),
    "empty dtype": lambda m, x: m.empty(3, "nonsense"),
    "repeat huge": lambda m, x: m.repeat(x, 2**60),
    "repeat huge axis": lambda m, x: m.repeat(x, 2**60, axis=0),
    "tile huge": lambda m, x: m.tile(x, 2**60),
    "repeat negative": lambda m, x: m.repeat(x, -1),
    "repeat lengths": lambda m, x: m.repeat(x, [1, 2], axis=0),
    "repeat text": lambda m, x: m.repeat(x, "x"),
    "pad huge": lambda m, x: m.pad(x, 2**60),
    "pad PB": lambda m, x: np.asarray(m.pad(x, 2**25)),
    "pad negative": lambda m, x: m.pad(x, -1),
    "pad float": lambda m, x: m.pad(x, 1.5),
    "pad text": lambda m, x: m.pad(x, "x"),
    "pad shape": lambda m, x: m.pad(x, [(1, 2, 3)]),
    "pad mode": lambda m, x: m.pad(x, 1, "nonsense"),
    "pad empty": lambda m, x: m.pad(m.zeros((0, 2)), 1, "edge"),
    "pad word": lambda m, x: m.pad(x, 1, "edge", constant_values=3),
    "resize huge": lambda m, x: m.resize(x, (2**60, 2**60)),
    "arange huge": lambda m, x: np.asarray(m.arange(1e30)),
    "linspace negative": lambda m, x: m.linspace(0, 1, -1),
    "arange step": lambda m, x: m.arange(0, 5, 0),
    "arange nan": lambda m, x: m.arange(0, np.nan),
    "eye huge": lambda m, x: np.asarray(m.eye(2**40)),
    "zeros huge": lambda m, x: np.asarray(m.zeros(2**62)),
    "ones negative": lambda m, x: m.ones((2, -3)),
    "take far": lambda m, x: m.take(x, [12]),
    "take mode": lambda m, x: m.take(x, [0], mode="nonsense"),
    "take axis": lambda m, x: m.take(x, [0], axis=5),
    "take empty": lambda m, x: m.take(m.zeros(0), [0]),
    "index ragged": lambda m, x: x[[[1], [2, 3]]],
    "index objects": lambda m, x: x[np.array([1, None], object)],
    "index dict": lambda m, x: x[{}],
    "slice text": lambda m, x: x["a":"b"],
    "slice float": lambda m, x: x[0.5:],
    "slice step 0": lambda m, x: x[::0],
    "index huge": lambda m, x: x[2**70],
    "mask long": lambda m, x: x[np.ones(5, bool)],
    "mask axis": lambda m, x: x[:, np.ones(3, bool)],
    "two ellipses": lambda m, x: x[..., ...],
    "apart": lambda m, x: x[[0, 1], [0, 1, 2]],
    "many": lambda m, x: x[0, 0, 0],
    "set ragged": lambda m, x: x.__setitem__(0, [[1], [2, 3]]),
    "set text": lambda m, x: x.__setitem__(0, "x"),
    "set shape": lambda m, x: x.__setitem__(0, [1, 2]),
    "set mask shape": lambda m, x: x.__setitem__(x > 3, [1, 2, 3]),
    "set far": lambda m, x: x.__setitem__(3, 1),
    "set complex": lambda m, x: x.__setitem__(0, 1j),
    "set none": lambda m, x: x.__setitem__(0, {}),
    "set huge int": lambda m, x: m.arange(3).__setitem__(0, 2**70),
    "set slice step 0": lambda m, x: x.__setitem__(slice(None, None, 0), 1),
    "ix_ 2d": lambda m, x: m.ix_(x),
    "ix_ text": lambda m, x: m.ix_("a"),
    "unravel far": lambda m, x: m.unravel_index(99, (3, 4)),
    "ravel_multi far": lambda m, x: m.ravel_multi_index(([5], [5]), (3, 4)),
    "ravel_multi mode": lambda m, x: m.ravel_multi_index(([0], [0]), (3, 4), mode="nonsense"),
    "stack shapes": lambda m, x: m.stack([x, x[0]]),
    "stack none": lambda m, x: m.stack([]),
    "concatenate none": lambda m, x: m.concatenate([]),
    "concatenate shapes": lambda m, x: m.concatenate([x, x[:, :2]]),
    "concatenate numbers": lambda m, x: m.concatenate([1, 2]),
    "block ragged": lambda m, x: m.block([[x], [x, x]]),
    "hstack text": lambda m, x: m.hstack(3),
    "split uneven": lambda m, x: m.split(x, 2),
    "array_split 0": lambda m, x: m.array_split(x, 0),
    "delete far": lambda m, x: m.delete(x, 9, 0),
    "insert far": lambda m, x: m.insert(x, 9, 1, 0),
    "add strings": lambda m, x: x + "a",
    "add dict": lambda m, x: x + {},
    "shift float": lambda m, x: x << 1,
    "matmul shapes": lambda m, x: x @ x,
    "matmul number": lambda m, x: x @ 3,
    "reshape": lambda m, x: x.reshape(5),
    "astype": lambda m, x: x.astype("nonsense"),
    "transpose": lambda m, x: x.transpose(0, 0),
    "squeeze": lambda m, x: x.squeeze(0),
    "int of many": lambda m, x: int(x),
    "bool of many": lambda m, x: bool(x),
    "bool of none": lambda m, x: bool(m.zeros(0)),
    "len of number": lambda m, x: len(m.asarray(3)),
    "iter of number": lambda m, x: list(m.asarray(3)),
    "item far": lambda m, x: x.item(99),
    "neg of bool": lambda m, x: -(x > 3),
    "minus of bools": lambda m, x: (x > 3) - (x > 3),
    "uint8 300": lambda m, x: m.arange(3, dtype="uint8") + 300,
    "pow": lambda m, x: m.arange(3) ** -1,
}

# Python's own words, or NumPy's of a list: nothing of ours is asked before they are said.
NOT_OURS: Final = frozenset(
    (
        *("apply_over_axes func", "fromiter number", "mask_indices text", "mask_indices func"),
        *("add strings", "add dict", "len of number", "iter of number", "put ragged"),
    )
)
# NumPy's kind comes of what happens to be tried first: text as a number, a size as a C integer.
OTHERWISE: Final = {
    **dict.fromkeys(("put text", "putmask text", "place text", "fill_diagonal text"), TypeError),
    **{"ix_ text": TypeError, "einsum number": ValueError},
    **{"resize huge": ValueError, "zeros huge": MemoryError, "pad PB": MemoryError},
}


def error_of(m: Any, call: Callable[[Any, Any], Any]) -> Exception | None:
    x = NUMBERS.copy() if m is np else sc.asarray(NUMBERS) + 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = call(m, x)
            if isinstance(made, sc.Array):
                made.compute(on="core")
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("what", CALLS)
def test_what_numpy_refuses_is_refused_alike(what: str) -> None:
    numpys, ours = error_of(np, CALLS[what]), error_of(sc, CALLS[what])
    assert numpys is not None
    kinds = [k for k in type(numpys).__mro__ if not k.__name__.startswith(("_", "UFunc"))]
    assert isinstance(ours, OTHERWISE.get(what, kinds[0])), (ours, numpys)
    if what not in NOT_OURS:
        assert isinstance(ours, SpeedcubeError), (ours, numpys)


def test_a_refused_index_names_take() -> None:
    for key in ("a", 1.5, [0.5], {}, [[1], [2, 3]]):
        with pytest.raises((IndexError, ValueError), match=r"take\(x, indices, axis\)"):
            sc.arange(5)[key]
    with pytest.raises(ValueError, match="is ragged: its lists differ in length"):
        sc.arange(5)[[[1], [2, 3]]]


def test_what_is_no_real_number_is_not_put_into_real_numbers() -> None:
    """NumPy refuses it too; an imaginary part was once lost without a word."""
    x = sc.zeros(3)
    for value in (1j, np.complex64(1j)):
        with pytest.raises(TypeError, match=r"is complex, and the array has dtype float64"):
            x[0] = value
    assert x.tolist() == [0.0, 0.0, 0.0]
    z = sc.zeros(2, "complex128")
    z[0] = 1j
    assert z.tolist() == [1j, 0j]
