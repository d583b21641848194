"""Complex arrays beside NumPy: where they come from, what they are, and their arithmetic."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Final

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.api.complexes.of_parts import complex_of
from speedcube.errors import DTypeError

DTYPES: Final = ("complex64", "complex128")
SHAPES: Final = ((), (0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 3, 2))


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)


def equal(ours: Any, numpys: Any) -> None:
    """The same bits, shape and dtype."""
    got = np.asarray(ours)
    assert (got.shape, got.dtype) == (np.shape(numpys), np.asarray(numpys).dtype)
    np.testing.assert_array_equal(got, numpys)


def near(ours: Any, numpys: Any, ulps: float = 4) -> None:
    """Within ulps of the modulus."""
    got, wanted = np.asarray(ours), np.asarray(numpys)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    bound = ulps * np.finfo(wanted.dtype).eps * np.abs(wanted)
    assert (np.abs(got - wanted) <= bound).all()


# What NumPy's vector kernels contract into fused operations is near; the rest has NumPy's bits.
EXACT: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "divide": lambda a, b: a / b,
    "negative": lambda a, b: -a,
    "add a number": lambda a, b: a + 2.5,
    "a number less": lambda a, b: 1j - a,
    "equal": lambda a, b: a == b,
    "not equal": lambda a, b: a != np.conj(a),
    "less": lambda a, b: a < b,
    "maximum": lambda a, b: np.maximum(a, b),
    "real": lambda a, b: a.real,
    "imag": lambda a, b: np.imag(a),
    "conj": lambda a, b: np.conj(a),
    "isfinite": lambda a, b: np.isfinite(a / 0),
    "logical": lambda a, b: np.logical_and(a, b - b),
    "where": lambda a, b: np.where(a.real > 0, a, b),
    "rint": lambda a, b: np.rint(a),
    "as a real": lambda a, b: a.imag + a,
    "transposed": lambda a, b: a.T,
    "reversed": lambda a, b: np.flip(a),
    "all": lambda a, b: np.all(a),
    "count": lambda a, b: np.count_nonzero(a - a),
    "raveled": lambda a, b: a.reshape(-1),
    "rolled": lambda a, b: np.roll(a, 1),
    "stacked": lambda a, b: np.stack([a, b.real], axis=-1),
    "repeated": lambda a, b: np.repeat(a, 2),
    "new axis": lambda a, b: a[None, ..., None],
}
NEAR: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "multiply": lambda a, b: a * b,
    "by a number": lambda a, b: a * 2.5,
    "by a complex number": lambda a, b: a * (1 - 2j),
    "square": lambda a, b: np.square(a),
    "modulus": lambda a, b: abs(a),
    "angle": lambda a, b: np.angle(a),
    "power": lambda a, b: a**3,
    "root": lambda a, b: np.sqrt(a),
    "inverse": lambda a, b: np.reciprocal(a),
    "sign": lambda a, b: np.sign(a),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*EXACT, *NEAR])
def test_each_element_is_numpys(name: str, dtype: str) -> None:
    for shape in SHAPES:
        a, b = drawn(shape, dtype), drawn(shape, dtype, 1)
        x, y = sc.asarray(a), sc.asarray(b)
        call = EXACT.get(name) or NEAR[name]
        (equal if name in EXACT else near)(call(x, y), call(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("on", ["core", "cores:2", "synchronous"])
def test_every_rung_has_the_same_bits(on: str, dtype: str) -> None:
    a, b = drawn((300, 500), dtype), drawn((300, 500), dtype, 1)
    x, y = sc.asarray(a), sc.asarray(b)
    where = {"scheduler": on} if on == "synchronous" else {"on": on}
    made = sc.exp(x) * y.T.conj().T / (1 + abs(x)), x[::2, ::-1] - 1j, (x * y).sum(axis=0)
    values = sc.compute(*made, **where)
    for value, array in zip(values, made, strict=True):
        assert value.tobytes() == array.compute(on="core").tobytes()
    near(values[0], np.exp(a) * b.conj() / (1 + abs(a)), 12)


def test_parts_are_stored_side_by_side() -> None:
    """A large result is written in place, and the two parts are one pass over the data."""
    a = drawn((200_000,), "complex128")
    x = sc.asarray(a)
    plan = (x + 1j).plan(on="core")
    assert len(plan.passes) == 1
    assert len(plan.stages) == 2
    assert [len(root) for root in plan.roots] == [2]
    assert plan.result_bytes == a.nbytes
    assert plan.peak_bytes < a.nbytes + (1 << 26)
    result = (x + 1j).compute(on="core")
    assert result.flags.c_contiguous
    assert result.flags.writeable
    assert not np.shares_memory(result, a)
    equal(result, a + 1j)


def test_data_are_read_in_place() -> None:
    a = drawn((6, 8), "complex128")
    for view in (a, a[::2], a[:, ::-3], a.T, a.real + 0j):
        x = sc.asarray(view)
        equal(x, view)
        view[0, 0] = 7 - 1j
        assert x[0, 0].compute() == 7 - 1j
    kept = sc.array(a)
    a[...] = 0
    assert kept[1, 1].compute() != 0
    x = sc.asarray([[1, 2j], [3.5, sc.asarray(4)]])
    equal(x, np.array([[1, 2j], [3.5, 4]]))
    equal(sc.asarray(3 - 2j), np.asarray(3 - 2j))


def test_what_makes_them() -> None:
    equal(sc.zeros(2, complex), np.zeros(2, complex))
    equal(sc.ones((2, 1), sc.complex64), np.ones((2, 1), np.complex64))
    equal(sc.full(3, 1 - 2j), np.full(3, 1 - 2j))
    equal(sc.arange(3) * 1j, np.arange(3) * 1j)
    equal(sc.asarray([1, 2], dtype=complex), np.array([1, 2], complex))
    x = sc.asarray([1.5, -0.0])
    made = complex_of(x, np.array([[-0.0], [np.nan]])).compute()
    assert made.shape == (2, 2)
    assert np.signbit(made.real[0]).tolist() == [False, True]
    assert np.signbit(made.imag[0]).all()
    assert str(complex_of(sc.ones(1, "float32"), sc.ones(1, "float16")).dtype) == "complex64"
    with pytest.raises(DTypeError, match="the parts of a complex number must be real"):
        complex_of(made, 1.0)


def test_dtypes_promote_as_numpys() -> None:
    for one in ("bool", "int8", "int64", "float16", "float32", "float64", *DTYPES):
        for other in DTYPES:
            x, y = sc.ones(2, one), sc.ones(2, other)
            assert (x + y).dtype == (np.ones(2, one) + np.ones(2, other)).dtype
            assert sc.result_type(x, y) == np.result_type(one, other)
        assert (sc.ones(2, one) + 1j).dtype == (np.ones(2, one) + 1j).dtype
    a = drawn((5,), "complex128")
    for name in ("complex64", "complex128", "bool"):
        equal(sc.asarray(a).astype(name), a.astype(name))
    assert sc.finfo(sc.complex64).eps == np.finfo(np.complex64).eps
    assert sc.isdtype(sc.cdouble, "complex floating")
    assert sc.can_cast(sc.complex64, sc.complex128)
    assert not sc.can_cast(sc.complex64, sc.float64)
    assert sc.iscomplexobj(sc.ones(1) * 1j)


def test_assignment_is_numpys() -> None:
    a = drawn((4, 5), "complex128")
    x = sc.array(a)
    for z in (a, x):
        z[0] = 2 - 1j
        z[1:3, ::2] = [1, 1j, 2]
        z[:, 1] += 1j
        z[z == 1j] = 9
        z[[3], [4]] = -1
    equal(x, a)
    x *= 2
    equal(x, a * 2)
    y = sc.ones(3)
    with pytest.raises(TypeError, match="in place keeps the dtype float64"):
        y += 1j
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        equal(x.astype("float32"), (a * 2).real.astype("float32"))
    mask = a.real > 0
    equal(sc.asarray(a)[mask], a[mask])
    equal(sc.asarray(a)[[2, 0]], a[[2, 0]])


def test_it_is_a_dask_collection() -> None:
    a = drawn((6, 4), "complex64")
    x = sc.asarray(a, chunks=(2, 4))
    equal(dask.compute(x + 1, x.real)[0], a + 1)
    (held,) = dask.persist(x - 1j)
    equal(held, a - np.complex64(1j))
    equal(x.persist(), a)
    equal(x.to_dask_array().compute(), a)
    assert x.to_dask_array().chunks == ((2, 2, 2), (4,))
    equal(pickle.loads(pickle.dumps(x * 0.5)), a * np.float32(0.5))
    da = pytest.importorskip("dask.array")
    equal(sc.from_dask_array(da.from_array(a, chunks=3)) + 0, a)
    with sc.cache("1MB") as kept:
        first, again = (x + 2).compute(), (x + 2).compute()
    assert kept.used
    equal(first, again)


def test_it_speaks_python() -> None:
    x = sc.asarray([1 + 2j, -3.0])
    assert complex(x[0]) == 1 + 2j
    assert x[1].item() == -3
    assert x.tolist() == [1 + 2j, -3]
    assert f"{x[0]:.1f}" == "1.0+2.0j"
    assert (1 + 2j) in x
    assert 5j not in x
    assert bool(x[0])
    assert "complex128" in repr(x)
    assert x.nbytes == 32
    assert x.explain().covered
    equal(np.asarray(x, dtype="complex64"), np.array([1 + 2j, -3], np.complex64))
    equal(np.from_dlpack(x), np.array([1 + 2j, -3]))


REFUSED: Final = """
    floor ceil trunc fix cbrt fmod remainder floor_divide arctan2 hypot signbit copysign logaddexp
    bitwise_and left_shift gcd modf frexp nextafter heaviside deg2rad fabs"""


@pytest.mark.parametrize("name", REFUSED.split())
def test_what_numpy_refuses_is_refused(name: str) -> None:
    a = drawn((3,), "complex128")
    function = getattr(np, name)
    args = [a] * getattr(function, "nin", 1)
    with pytest.raises(TypeError):
        function(*args)
    with pytest.raises(TypeError):
        getattr(sc, name)(*map(sc.asarray, args))


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_part_is_assigned_to(shape: tuple[int, ...], dtype: str, part: str) -> None:
    values = (7, np.nan, -0.0, drawn(shape, dtype).imag[::-1] if shape else 2.5)
    for value in values:
        a = drawn(shape, dtype)
        x = sc.array(a)
        before = x + 0
        setattr(x, part, value)
        changed = a.copy()
        setattr(changed, part, value)
        equal(x, changed)
        assert np.asarray(x).tobytes() == changed.tobytes()
        equal(before, a)


def test_a_part_of_real_numbers_is_assigned_to() -> None:
    x = sc.array([1.0, 2.0])
    x.real = [3, 4]
    assert x.tolist() == [3.0, 4.0]
    with pytest.raises(TypeError, match="float64 has no imaginary part to assign to"):
        x.imag = 1
    z = sc.array([1j, 2j])
    with pytest.raises(ValueError, match=r"broadcast|shape"):
        z.real = [1, 2, 3]
