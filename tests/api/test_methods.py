"""`Array`'s methods that NumPy's arrays have in more forms than one."""

from __future__ import annotations

import operator
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import SpeedcubeError

VALUES = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("args", [(5,), (-1,), (1, 2), ((1, 2),), (-1, -1), ((1,),)])
def test_item_takes_places(args: tuple[object, ...]) -> None:
    item = sc.asarray(VALUES).item(*args)
    assert type(item) is float
    assert item == VALUES.item(*args)  # type: ignore[call-overload]


@pytest.mark.parametrize("args", [(), (12,), (0, 4), (0, 0, 0), ("a",), (1.5,)])
def test_item_refuses_what_numpy_refuses(args: tuple[object, ...]) -> None:
    with pytest.raises(Exception) as numpys:  # noqa: PT011
        VALUES.item(*args)  # type: ignore[call-overload]
    kinds = (numpys.type, TypeError) if not args else (numpys.type,)
    with pytest.raises(kinds) as ours:
        sc.asarray(VALUES).item(*args)
    assert not args or isinstance(ours.value, SpeedcubeError)


def test_values_are_written_as_numpy_writes_them(tmp_path: Path) -> None:
    x = sc.asarray(VALUES)
    assert x.tobytes() == VALUES.tobytes()
    assert x.tobytes("F") == VALUES.tobytes("F")
    x.tofile(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == VALUES.tobytes()


def test_no_shape_is_no_shape() -> None:
    with pytest.raises(TypeError, match="needs a shape"):
        sc.zeros(1).reshape()


def test_the_trace_is_a_method_too() -> None:
    assert sc.asarray(VALUES).trace(1).item() == VALUES.trace(1)


def test_what_python_makes_of_fill_values() -> None:
    assert sc.full((2, 2), [1, 2]).tolist() == [[1, 2], [1, 2]]
    assert sc.full((2, 2), sc.arange(2), dtype="float32").dtype == np.float32
    for ask in (
        lambda: sc.full(3, 300, "uint8"),
        lambda: np.full_like(sc.zeros(3, "uint8"), -1),
        lambda: np.insert(sc.zeros(3, "uint8"), 0, [1, 300]),
    ):
        with pytest.raises(OverflowError, match=r"does not fit uint8|out of bounds for uint8"):
            ask()


def test_no_step_and_no_piece_divide_by_zero() -> None:
    for ask in (lambda: sc.arange(0, 1, 0), lambda: sc.split(VALUES, 0)):
        with pytest.raises(ZeroDivisionError):
            ask()
    with pytest.raises(TypeError, match="two numbers at most"):
        sc.arange(3, dtype=bool)
    assert sc.arange(2, dtype=bool).tolist() == [False, True]


def test_text_equals_no_array() -> None:
    assert not sc.array_equal(VALUES, "a")
    assert not sc.array_equiv([1, 2], ["a", "b"])


def test_ends_of_differences_are_cast_as_numpy_casts() -> None:
    small = np.array([250, 3, 7], "uint8")
    with pytest.raises(TypeError, match="same_kind"):
        sc.ediff1d(small, to_begin=-1)
    assert sc.ediff1d(small, to_begin=small[:1]).tolist() == [250, 9, 4]


def test_compress_and_dot_fill_out() -> None:
    x, chosen, product = sc.arange(4), sc.zeros(2, dtype=int), sc.zeros((), dtype=int)
    assert x.compress([1, 0, 0, 1], out=chosen) is chosen
    assert x.dot(x, product) is product
    assert chosen.tolist() == [0, 3]
    assert product.item() == 14


def test_numbers_are_hashed_as_what_they_are() -> None:
    """A program that counts the elements it walks over is one of NumPy's."""
    x = sc.asarray([3, 1, 3, 2, 1, 3])
    counts: dict[Any, int] = {}
    for one in x:
        counts[one] = counts.get(one, 0) + 1
    assert [*counts.values()] == [3, 2, 1]
    assert counts[3] == counts[x.max()] == counts[np.int64(3)] == 3
    assert len({*x, 1, 2.0, 3}) == 3
    assert hash(x.mean()) == hash(float(np.mean([3, 1, 3, 2, 1, 3])))
    for not_one in (x, x[:1], x[None]):
        with pytest.raises(TypeError, match="unhashable type"):
            hash(not_one)


@pytest.mark.parametrize("convert", [int, float, complex, operator.index, bool])
@pytest.mark.parametrize("value", [3, [3], [[3]], [1, 2], [], 3.5, [3.5], True, [True]])
def test_an_element_with_axes_becomes_a_number_where_the_installed_numpy_lets_it(
    convert: Callable[[Any], Any], value: Any
) -> None:
    def outcome(array: Any) -> Any:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                return convert(array), [one.category for one in said]
            except (TypeError, ValueError) as error:
                return TypeError if isinstance(error, TypeError) else ValueError

    # A number of NumPy's is our array without axes: what sums are.
    numpys = np.asarray(value) if np.ndim(value) else np.asarray(value)[()]
    assert outcome(sc.asarray(value)) == outcome(numpys)


def test_the_smallest_dtype_of_a_number_without_axes() -> None:
    for value in (3, -300, 2.5, 1e50, True, 1 + 1j, [3], [2.5]):
        wanted = np.min_scalar_type(np.asarray(value))
        assert np.min_scalar_type(sc.asarray(value)) == wanted  # type: ignore[arg-type]
        assert sc.min_scalar_type(sc.asarray(value)) == wanted


EDGES = [
    *(
        [1.0, 2.0],
        [1.5],
        [np.nan],
        [0.1],
        [1e300],
        [-0.0],
        [np.inf],
        [2.0**63],
        [1e30],
        [],
        [70000],
    ),
    *([2**53 + 1], [2**53], [2**63 - 1], [-1], [300], [1 + 0j], [1 + 1j], [0.1j], [2**63], [True]),
]


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy has no casting='same_value'"
)
@pytest.mark.parametrize("values", EDGES)
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"]
)
def test_what_keeps_its_value_is_cast(values: Any, dtype: str) -> None:
    given = np.asarray(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = given.astype(dtype, casting="same_value")  # type: ignore[call-overload]
        except ValueError:
            with pytest.raises(ValueError, match="keeps its value"):
                sc.asarray(given).astype(dtype, casting="same_value")
            return
    found = sc.asarray(given).astype(dtype, casting="same_value")
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.compute(), wanted)


@pytest.mark.parametrize("shape", [(), (4,), (3, 4), (3, 1), (0, 2), (2, 3, 4)])
def test_flags_are_those_of_the_values(shape: tuple[int, ...]) -> None:
    x = sc.ones(shape).T
    values = np.empty(x.shape)
    assert x.flags == sc.ones(shape[::-1]).flags == values.flags
    assert (x.flags.c_contiguous, x.flags["F_CONTIGUOUS"], x.flags.fnc) == (
        *(values.flags.c_contiguous, values.flags.f_contiguous, values.flags.fnc),
    )
    assert x.flags.c_contiguous == x.compute().flags.c_contiguous
    assert repr(x.flags) == repr(values.flags)
    assert pickle.loads(pickle.dumps(x.flags)) == x.flags
    with pytest.raises(KeyError, match="Unknown flag"):
        x.flags["NOTHING"]


def test_flags_are_not_set() -> None:
    x = sc.ones((10**7, 10**7))  # of which no memory is taken
    assert x.flags.writeable
    said = r"not computed yet: values = x.compute\(\); values.flags.writeable = False"
    with pytest.raises(ValueError, match=said):
        x.flags.writeable = False
    with pytest.raises(ValueError, match=said):
        x.flags["WRITEABLE"] = False
    linalg = pytest.importorskip("scipy.linalg")
    a = np.arange(9.0).reshape(3, 3) + 3 * np.eye(3)
    np.testing.assert_array_equal(
        linalg.solve_sylvester(*map(sc.asarray, (a, a + 1, a))),
        linalg.solve_sylvester(a, a + 1, a),
    )
