"""Functions that make, join, cut and describe arrays, beside NumPy's: values, shapes and dtypes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import speedcube as sc
from speedcube import errors
from speedcube.expr.interpret import interpret
from speedcube.kernel.lower.reference import draw

DTYPES: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
KINDS: Final = (ValueError, IndexError, TypeError)
COMPILED: Final = ((3, 4), (4, 4), (12,))
SHAPES: Final = ((), (0,), (1,), (5,), (3, 4), (1, 0), (2, 3, 4), (4, 4))


def values(shape: tuple[int, ...], dtype: str) -> Any:
    numbers = np.random.default_rng(7).integers(-9 if dtype[0] in "if" else 0, 10, shape)
    made = np.asarray(numbers).astype(dtype)
    if dtype[0] == "f" and made.size > 3:
        made.reshape(-1)[:3] = (np.nan, -0.0, np.inf)
    return made


def evaluated(array: sc.Array) -> Any:
    """The values, by NumPy's interpreter of the expression; of some by a kernel."""
    if array.shape in COMPILED and array.dtype in ("float64", "int32"):
        return np.asarray(array.compute(on="core"))
    return np.asarray(interpret(array._expr, draw))


def same(ours: Any, numpys: Any) -> None:
    """The same arrays: shapes, dtypes and bits but for NaN's, in the same lists and tuples."""
    if isinstance(numpys, (list, tuple)):
        assert type(ours) is type(numpys)
        assert len(ours) == len(numpys)
        for one, other in zip(ours, numpys, strict=True):
            same(one, other)
        return
    if isinstance(numpys, (bool, np.bool, int, float, str, np.dtype, type)):
        assert ours == numpys
        return
    assert isinstance(ours, sc.Array)
    assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
    got = evaluated(ours)
    np.testing.assert_array_equal(got, numpys)
    if got.dtype.kind == "f":
        numbers = ~np.isnan(got)
        assert (np.signbit(got) == np.signbit(numpys))[numbers].all()


def both(call: Callable[..., Any], *inputs: Any) -> None:
    """``call(library, *arrays)`` of NumPy and ours gives the same, or both refuse it alike."""
    try:
        with np.errstate(all="ignore"):
            wanted = call(np, *inputs)
    except Exception as error:
        kinds = tuple(kind for kind in KINDS if isinstance(error, kind))
        with pytest.raises(kinds) as caught:
            call(sc, *map(sc.asarray, inputs))
        assert isinstance(caught.value, errors.SpeedcubeError), repr(caught.value)
    else:
        same(call(sc, *map(sc.asarray, inputs)), wanted)


# Of one array ------------------------------------------------------------------------------------

OF_ONE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "mT": lambda xp, x: x.mT,
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "real": lambda xp, x: (x.real, xp.real(x), x.imag, xp.imag(x)),
    "copy": lambda xp, x: (x.copy(), xp.copy(x)),
    "conj": lambda xp, x: (xp.conj(x), xp.conjugate(x)),
    "F": lambda xp, x: xp.reshape(x, -1, order="F"),
    "ravel": lambda xp, x: (xp.ravel(x), xp.ravel(x, "F"), x.ravel("A"), x.T.ravel("A")),
    "reshape F": lambda xp, x: x.reshape((2, -1), order="F"),
    "tril": lambda xp, x: (xp.tril(x), xp.tril(x, 1), xp.triu(x, -1)),
    "triu": lambda xp, x: (xp.triu(x), xp.triu(x, 9), xp.tril(x, -9)),
    "diag": lambda xp, x: (xp.diag(x), xp.diag(x, 1), xp.diag(x, -2), xp.diag(x, 9)),
    "diagflat": lambda xp, x: xp.diagflat(x, 1),
    "diagonal": lambda xp, x: (xp.diagonal(x), xp.diagonal(x, -1), x.diagonal(1, -1, 0)),
    "diagonal of a map": lambda xp, x: (x + x).diagonal(offset=1),
    "diagonal of pieces": lambda xp, x: xp.concatenate([x, x], axis=-1).diagonal(2),
    "diagonal, axes": lambda xp, x: xp.diagonal(x, 0, 2, 1),
    "trace": lambda xp, x: (xp.trace(x > 0), xp.trace(xp.astype(x > 0, "int8"), 1)),
    "trace, axes": lambda xp, x: xp.trace(x > 0, 0, -1, 0, dtype="float32"),
    "atleast": lambda xp, x: (xp.atleast_1d(x), xp.atleast_2d(x), xp.atleast_3d(x)),
    "atleast of two": lambda xp, x: xp.atleast_2d(x, x),
    "expand_dims": lambda xp, x: (xp.expand_dims(x, (0, -1)), xp.expand_dims(x, [1])),
    "moveaxis": lambda xp, x: xp.moveaxis(x, (0, -1), (-1, 0)),
    "moveaxis twice": lambda xp, x: xp.moveaxis(x, (0, 0), (1, 0)),
    "moveaxis uneven": lambda xp, x: xp.moveaxis(x, (0, 1), 0),
    "rollaxis": lambda xp, x: (xp.rollaxis(x, 1), xp.rollaxis(x, 0, 2), xp.rollaxis(x, -1, 1)),
    "flips": lambda xp, x: (xp.fliplr(x), xp.flipud(x)),
    "transpose": lambda xp, x: (xp.transpose(x), xp.permute_dims(x, tuple(range(x.ndim))[::-1])),
    "squeeze": lambda xp, x: (xp.squeeze(x), x[..., None].squeeze(-1)),
    "squeeze an axis": lambda xp, x: xp.squeeze(x, 0),
    "unstack": lambda xp, x: (xp.unstack(x), xp.unstack(x, axis=-1)),
    "unstack nothing": lambda xp, x: xp.unstack(x, axis=1),
    "array_split": lambda xp, x: xp.array_split(x, 3),
    "array_split last": lambda xp, x: xp.array_split(x, [1, 3, 9], axis=-1),
    "split": lambda xp, x: xp.split(x, 2),
    "split at": lambda xp, x: xp.split(x, [1, -1], axis=1),
    "hsplit": lambda xp, x: xp.hsplit(x, 2),
    "vsplit": lambda xp, x: xp.vsplit(x, 2),
    "dsplit": lambda xp, x: xp.dsplit(x, 2),
    "split nothing": lambda xp, x: xp.array_split(x, 0),
    "resize": lambda xp, x: (xp.resize(x, (3, 5)), xp.resize(x, 2), xp.resize(x, (0, 2))),
    "delete": lambda xp, x: (
        xp.delete(x, 1),
        xp.delete(x, slice(1, None, 2)),
        xp.delete(x, [0, -1]),
    ),
    "delete rows": lambda xp, x: (xp.delete(x, -1, 0), xp.delete(x, slice(2, 0, -1), axis=0)),
    "delete a mask": lambda xp, x: xp.delete(x, np.arange(x.size) % 2 == 0),
    "delete beyond": lambda xp, x: xp.delete(x, 99),
    "insert": lambda xp, x: (xp.insert(x, 1, 5), xp.insert(x, -1, [6, 7])),
    "insert several": lambda xp, x: xp.insert(x, [0, 1, 0], [1, 2, 3]),
    "insert rows": lambda xp, x: (xp.insert(x, 1, 5, axis=0), xp.insert(x, [1], 3, axis=-1)),
    "insert a row": lambda xp, x: xp.insert(x, 1, x[0], axis=0),
    "insert a slice": lambda xp, x: xp.insert(x, slice(0, 3, 2), 4),
    "insert beyond": lambda xp, x: xp.insert(x, 99, 4),
    "insert what does not fit": lambda xp, x: xp.insert(x, [0, 1], [1, 2, 3]),
    "kron": lambda xp, x: xp.kron(x, xp.asarray(np.eye(2, dtype="int8"))),
    "outer": lambda xp, x: xp.outer(x, x[..., :1]),
    "block": lambda xp, x: (xp.block([x, x]), xp.block([[x], [x]]), xp.block(x)),
    "block of rows": lambda xp, x: xp.block([[x, x * 1], [x, x]]),
    "block unevenly": lambda xp, x: xp.block([[x, x], x]),
    "block nothing": lambda xp, x: xp.block([[x], []]),
    "block of tuples": lambda xp, x: xp.block([(x, x)]),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[..., :1], 1),
    "broadcast unfit": lambda xp, x: xp.broadcast_arrays(x, xp.zeros((7, 7))),
    "meshgrid": lambda xp, x: xp.meshgrid(x, x[..., :2]),
    "meshgrid, ij": lambda xp, x: xp.meshgrid(x, [1, 2], [0.5], indexing="ij"),
    "meshgrid, sparse": lambda xp, x: xp.meshgrid(x, x, sparse=True),
    "likes": lambda xp, x: (xp.zeros_like(x), xp.ones_like(x, dtype="int8"), xp.full_like(x, 1)),
    "likes of a shape": lambda xp, x: xp.ones_like(x, shape=(2, 2)),
    "empty_like": lambda xp, x: xp.empty_like(x).shape,
    "told": lambda xp, x: (
        xp.ndim(x),
        xp.shape(x),
        xp.size(x),
        xp.iscomplexobj(x),
        xp.isrealobj(x),
    ),
    "size of axes": lambda xp, x: xp.size(x, 1),
    "types": lambda xp, x: (
        xp.result_type(x, 1.0),
        xp.result_type(x, "int8"),
        xp.can_cast(x, "f4"),
    ),
    "min_scalar_type": lambda xp, x: xp.min_scalar_type(x) if x.ndim else 0,
    "from indices": lambda xp, x: tuple(map(xp.asarray, xp.diag_indices_from(x))),
    "triangle of it": lambda xp, x: tuple(map(xp.asarray, xp.tril_indices_from(x, 1))),
    "upper triangle": lambda xp, x: tuple(map(xp.asarray, xp.triu_indices_from(x))),
    "astype": lambda xp, x: (xp.astype(x, "float32"), xp.astype(x, x.dtype, copy=False)),
    "concat": lambda xp, x: xp.concat([x, x], axis=0, dtype="float64"),
    "casting": lambda xp, x: xp.concatenate([x, x], dtype="int8", casting="no"),
    "repeat": lambda xp, x: (xp.repeat(x, 2), xp.tile(x, 2), xp.roll(x, 1)),
    "rot90": lambda xp, x: xp.rot90(x),
    "asanyarray": lambda xp, x: (xp.asanyarray(x), xp.ascontiguousarray(x)),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_array(name: str) -> None:
    call = OF_ONE[name]
    for k, shape in enumerate(SHAPES):
        for dtype in (DTYPES[k % len(DTYPES)], DTYPES[(5 * k + 11) % len(DTYPES)]):
            both(call, values(shape, dtype))


@pytest.mark.parametrize("name", [n for n in OF_ONE if "asanyarray" not in n])
def test_numpys_function_finds_it(name: str) -> None:
    """``np.f(x)`` of our array, for those that NumPy's protocol has."""
    x = values((3, 4), "int32")
    ours = _Protocol()
    try:
        wanted = OF_ONE[name](np, x)
    except Exception:
        return
    same(OF_ONE[name](ours, sc.asarray(x)), wanted)


class _Protocol:
    """NumPy, but for those functions that make arrays of nothing or ask no other library."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        plain = ("asarray", "zeros", "conj", "conjugate", "concat", "permute_dims")
        return (
            getattr(sc, name) if name in plain or not hasattr(function, "__wrapped__") else function
        )


# Of nothing but numbers --------------------------------------------------------------------------

OF_NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "zeros": lambda xp: (xp.zeros(3, dtype=None), xp.ones((2, 1), bool), xp.zeros((), "int8")),
    "full": lambda xp: (xp.full(2, 7), xp.full((1, 2), 1.5, "float32", order="F")),
    "eye": lambda xp: (xp.eye(3, 4, 1, int), xp.eye(2), xp.identity(3, "int8"), xp.eye(3, k=-5)),
    "tri": lambda xp: (xp.tri(3), xp.tri(2, 4, 1, int), xp.tri(3, k=-1)),
    "arange": lambda xp: (xp.arange(5), xp.arange(1, 9, 3), xp.arange(5, 0, -2), xp.arange(0.5, 2)),
    "arange of NumPy's": lambda xp: (
        *(xp.arange(np.uint8(3)), xp.arange(np.uint8(1), np.int8(5), np.uint64(1))),
        *(
            xp.arange(np.float32(3)),
            xp.arange(np.uint64(2)),
            xp.arange(np.array(4)),
            xp.arange(True),
        ),
    ),
    "arange of a dtype": lambda xp: (xp.arange(3, dtype="uint8"), xp.arange(3, dtype=np.float16)),
    "linspace": lambda xp: (xp.linspace(0, 1, 5), xp.linspace(2, 3, 4, endpoint=False)),
    "linspace of few": lambda xp: (xp.linspace(2, 3, 1), xp.linspace(2, 3, 0)),
    "linspace of integers": lambda xp: xp.linspace(0, 9, 4, dtype="int64"),
    "linspace of arrays": lambda xp: xp.linspace(xp.asarray([0, 1]), xp.asarray([4, 9]), 5),
    "linspace along": lambda xp: xp.linspace(xp.asarray([0.0, 1]), 8, 5, endpoint=False, axis=1),
    "linspace, the step": lambda xp: xp.linspace(0, 1, 5, retstep=True)[1] == 0.25,
    "indices": lambda xp: (xp.indices((2, 3)), xp.indices((2, 3), "int8"), xp.indices((4,))),
    "indices, sparse": lambda xp: xp.indices((2, 3), sparse=True),
    "indices of nothing": lambda xp: xp.indices(()),
    "fromfunction": lambda xp: xp.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
    "mgrid": lambda xp: (
        xp.mgrid[0:3, 1:9:2],
        xp.mgrid[-1:1:5j],
        xp.mgrid[0:4],
        xp.mgrid[0:1:3j, 0:2],
    ),
    "ogrid": lambda xp: (xp.ogrid[0:3, 1:9:2], xp.ogrid[0:2, 0:1:3j], xp.ogrid[0:1:0.25]),
    "triangles": lambda xp: tuple(
        map(xp.asarray, (*xp.tril_indices(3, 1), *xp.triu_indices(3, -1, 4)))
    ),
    "diag_indices": lambda xp: tuple(map(xp.asarray, xp.diag_indices(3, 3))),
    "ix_": lambda xp: xp.ix_([0, 2], [True, False, True], []),
    "ix_ of a matrix": lambda xp: xp.ix_([[0, 2]]),
    "broadcast_shapes": lambda xp: xp.broadcast_shapes((3, 1), (1, 4), 4),
    "broadcast_shapes, unfit": lambda xp: xp.broadcast_shapes((3, 2), (3,)),
    "result_type": lambda xp: (xp.result_type("int8", "uint8"), xp.promote_types("f4", "i8")),
    "can_cast": lambda xp: (
        xp.can_cast("int64", "int32"),
        xp.can_cast("int64", "int32", "same_kind"),
    ),
    "isdtype": lambda xp: (
        xp.isdtype(xp.int8, "integral"),
        xp.isdtype(xp.float32, ("bool", "numeric")),
    ),
    "finfo": lambda xp: (
        float(xp.finfo(xp.float32).eps),
        xp.finfo("f8").bits,
        float(xp.finfo("f2").max),
    ),
    "iinfo": lambda xp: (xp.iinfo("uint8").max, xp.iinfo(xp.int64).min, xp.iinfo("int8").bits),
    "no float": lambda xp: xp.finfo("int8"),
    "no integer": lambda xp: xp.iinfo("float32"),
    "constants": lambda xp: (xp.pi, xp.e, xp.inf, xp.euler_gamma, xp.isscalar(xp.nan)),
    "a scalar": lambda xp: xp.float32(1.5) == 1.5 and xp.int8(3) == 3 and xp.bool(1) == True,  # noqa: E712
    "array": lambda xp: (xp.array([1, 2], ndmin=3), xp.array(2.5), xp.array([[1], [2]], "int8")),
    "negative": lambda xp: xp.zeros(-1),
    "a size of text": lambda xp: xp.zeros("3"),
    "a number for a dtype": lambda xp: xp.zeros(3, 3),
    "an unknown dtype": lambda xp: xp.ones(3, "float99"),
    "an unknown order": lambda xp: xp.zeros(3, order="Z"),
    "an unknown device": lambda xp: xp.zeros(3, device="tpu"),
    "a negative number": lambda xp: xp.linspace(0, 1, -1),
    "no copy of a list": lambda xp: xp.asarray([1, 2], copy=False),
    "no copy of a reshape": lambda xp: xp.reshape(xp.asarray(np.ones((3, 4)).T), 12, copy=False),
    "geomspace of zero": lambda xp: xp.geomspace(0, 10),
    "another indexing": lambda xp: xp.meshgrid([1], [2], indexing="yx"),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_of_numbers(name: str) -> None:
    both(OF_NUMBERS[name])


def test_powers_at_even_distances_are_near_numpys() -> None:
    starts, stops = np.array([1.0, 2.0, -3.0]), np.array([10.0, 2.0, -30.0])
    for ours, numpys in (
        (sc.logspace(0, 3, 7), np.logspace(0, 3, 7)),
        (sc.logspace(0, 3, 4, False, 2, "float32"), np.logspace(0, 3, 4, False, 2, "float32")),
        (sc.logspace(starts, stops, 3, axis=1), np.logspace(starts, stops, 3, axis=1)),
        (sc.logspace(0, 1, 3, base=[2, 3]), np.logspace(0, 1, 3, base=[2, 3])),
        (sc.geomspace(1, 1000, 7), np.geomspace(1, 1000, 7)),
        (sc.geomspace(-1, -1000, 4, endpoint=False), np.geomspace(-1, -1000, 4, endpoint=False)),
        (sc.geomspace(starts, stops, 5, axis=-1), np.geomspace(starts, stops, 5, axis=-1)),
        (sc.geomspace(256, 1, 9, dtype=int), np.geomspace(256, 1, 9, dtype=int)),
        (sc.geomspace(2, 4, 1), np.geomspace(2, 4, 1)),
    ):
        assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
        np.testing.assert_allclose(
            ours.compute(), numpys, rtol=1e-14 if ours.itemsize == 8 else 1e-6
        )


# Pads --------------------------------------------------------------------------------------------

PADS: Final[dict[str, dict[str, Any]]] = {
    "linear_ramp": {"end_values": (3, -2)},
    "maximum": {"stat_length": 2},
    "mean": {},
    "minimum": {"stat_length": ((1, 2),)},
    "reflect": {"reflect_type": "odd"},
    "symmetric": {"reflect_type": "odd"},
    "empty": {},
}


@pytest.mark.parametrize("mode", PADS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64", "bool"])
def test_what_is_put_round_is_numpys(mode: str, dtype: str) -> None:
    options = {"end_values": (1, 0)} if dtype == "bool" and mode == "linear_ramp" else PADS[mode]
    options = {"end_values": (3, 7)} if dtype == "uint8" and mode == "linear_ramp" else options
    for shape in ((5,), (3, 4), (1, 3), (2, 1, 3)):
        x = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
        for widths in (2, ((0, 3),), (7, 1)):
            if dtype == "bool" and mode in ("reflect", "symmetric"):
                continue  # NumPy subtracts bools there, and refuses
            ours = sc.pad(x, widths, mode, **options)
            numpys = np.pad(x, widths, mode, **options)
            assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
            if mode != "empty":
                rtol = 0 if dtype[0] != "f" else 1e-6 if dtype == "float32" else 1e-14
                np.testing.assert_allclose(
                    evaluated(ours).astype(float), numpys.astype(float), rtol, rtol * 9
                )


def test_a_function_pads_at_once() -> None:
    def tens(vector: Any, widths: Any, axis: int, kwargs: Any) -> None:
        vector[: widths[0]] = 10 * (axis + 1)
        vector[vector.size - widths[1] :] = kwargs["last"]

    x = np.arange(6).reshape(2, 3)
    same(sc.pad(sc.asarray(x), 1, tens, last=5), np.pad(x, 1, tens, last=5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pad_puts_medians_round_an_array(dtype: str) -> None:
    x = np.array([[3, 1, 2, 9], [4, 7, 1, 1], [0, 5, 5, 1]]).astype(dtype)
    for lengths in (None, 1, 2, ((2, 3), (1, 4))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = np.pad(x, ((1, 2), (0, 3)), "median", stat_length=lengths)
        same(np.pad(sc.asarray(x), ((1, 2), (0, 3)), "median", stat_length=lengths), wanted)


# Random arrays -----------------------------------------------------------------------------------

ARRAYS: Final = arrays.arrays(
    st.sampled_from(DTYPES), arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
)
NUMBERS: Final = st.integers(-6, 6)


@given(ARRAYS, st.data())
def test_random_arrays_are_joined_and_cut_as_numpys(x: Any, data: st.DataObject) -> None:
    k = data.draw(st.integers(-x.ndim, x.ndim))
    extent = x.shape[k] if -x.ndim <= k < x.ndim else 3
    places = data.draw(
        st.one_of(
            NUMBERS,
            st.lists(NUMBERS, max_size=3),
            st.builds(slice, NUMBERS, NUMBERS, st.sampled_from([None, 1, 2, -1])),
            st.lists(st.booleans(), min_size=extent, max_size=extent).map(
                lambda mask: np.array(mask, bool)
            ),
        )
    )
    axis = data.draw(st.sampled_from([None, k]))
    call = data.draw(
        st.sampled_from(
            [
                lambda xp, a: xp.delete(a, places, axis),
                lambda xp, a: xp.insert(a, places, 1, axis),
                lambda xp, a: xp.array_split(a, 2, k),
                lambda xp, a: xp.diagonal(a, k, 0, -1),
                lambda xp, a: xp.tril(a, k),
                lambda xp, a: xp.moveaxis(a, k, 0),
                lambda xp, a: xp.reshape(a, (a.shape[0], -1), order="F"),
                lambda xp, a: xp.kron(a, a[..., :1]),
                lambda xp, a: xp.block([[a], [a]]),
                lambda xp, a: xp.resize(a, (3, abs(k))),
            ]
        )
    )
    both(call, x)


# What is large, and what cannot be ---------------------------------------------------------------


def test_what_is_huge_is_an_expression_or_refused() -> None:
    """A PB of padding, of repeats and of inserted rows needs no memory until it is read."""
    x = sc.arange(2**40)
    assert sc.pad(x, 2**50)[2**50 + 5].compute() == 5
    assert sc.repeat(sc.arange(3), [1, 2**50, 1])[2**50].compute() == 1
    assert sc.insert(x, [5, -1], [7, 8])[-2].compute() == 8
    assert sc.delete(x, [5, 2**39])[2**39].compute() == 2**39 + 2
    assert sc.delete(x, slice(10, 2**39)).size == 2**39 + 10
    assert sc.tril(sc.broadcast_to(x, (2**20, 2**40)))[0, :2].compute().tolist() == [0, 0]
    assert sc.diag(sc.arange(2**30))[7, 6:9].compute().tolist() == [0, 7, 0]
    assert sc.trace(sc.ones((2**20, 2**20))).compute() == 2**20
    assert sc.mgrid[0 : 2**30, 0 : 2**30][1, 5, 6].compute() == 6
    for ask in (
        lambda: sc.delete(sc.arange(2**52), np.ones(3, bool)),
        lambda: sc.tril_indices(2**24),
        lambda: sc.repeat(sc.arange(100), [2**50] * 100),
    ):
        with pytest.raises((errors.MemoryLimitError, errors.ShapeError)):
            ask()


def test_the_strategies_of_the_array_api_know_the_namespace() -> None:
    """`hypothesis.extra.array_api` finds dtypes and versions in it."""
    from hypothesis.extra.array_api import make_strategies_namespace

    found = make_strategies_namespace(sc)

    @given(found.real_dtypes(), found.array_shapes(max_dims=3, max_side=4))
    def check(dtype: Any, shape: tuple[int, ...]) -> None:
        made = sc.ones(shape, dtype=dtype)
        assert (made.dtype, made.shape) == (dtype, shape)
        assert sc.isdtype(dtype, ("integral", "real floating"))

    check()


def test_places_that_are_lazy_are_computed() -> None:
    """How many there are is a size: of `delete`, `insert` and `split`, as of `repeat`."""
    x = np.arange(6)
    places = np.nonzero(sc.asarray(x) % 2)[0]
    assert sc.delete(x, places).tolist() == [0, 2, 4]
    assert sc.insert(x, places + 0, 9).tolist() == np.insert(x, [1, 3, 5], 9).tolist()
    assert [one.tolist() for one in sc.split(x, places)] == [[0], [1, 2], [3, 4], [5]]
