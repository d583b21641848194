"""What programs have of NumPy beside mathematics, with the import changed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api import of_numpy

X = sc.asarray([1.0, 2.5, 4.0])


@pytest.mark.parametrize("name", of_numpy.own.__all__)
def test_a_name_of_numpys_is_numpys(name: str) -> None:
    assert getattr(sc, name) is getattr(np, name)


@pytest.mark.parametrize("name", ["exceptions", "polynomial", "testing", "typing"])
def test_a_module_of_numpys_is_numpys(name: str) -> None:
    assert getattr(sc, name) is getattr(np, name)
    assert name in dir(sc)


TEXT = "# a b\n1 2\n3 4\n5 6\n"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (TEXT, {}),
        (TEXT, {"dtype": int, "usecols": 1}),
        (TEXT, {"unpack": True}),
        (TEXT.replace(" ", ","), {"delimiter": ",", "skiprows": 1, "max_rows": 2}),
        ("", {}),
    ],
)
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_loadtxt(text: str, given: dict[str, Any]) -> None:
    got = sc.loadtxt(io.StringIO(text), **given)
    assert type(got) is sc.Array
    wanted = np.loadtxt(io.StringIO(text), **given)
    np.testing.assert_array_equal(got.compute(), wanted)
    assert got.dtype == wanted.dtype
    if given.get("unpack"):
        a, b = got
        assert float((a * b).sum()) == 44


def test_genfromtxt_and_what_has_names() -> None:
    got = sc.genfromtxt(io.StringIO("1,2\n,4\n"), delimiter=",")
    assert float(sc.nansum(got)) == 7
    records = sc.genfromtxt(io.StringIO("a b\n1 2\n3 4\n"), names=True)
    assert type(records) is np.ndarray
    assert float(sc.sum(records["b"])) == 6
    words = sc.loadtxt(io.StringIO("x y\n"), dtype=str)
    assert words.tolist() == ["x", "y"]
    fields = sc.loadtxt(io.StringIO(TEXT), dtype=[("a", int), ("b", float)], unpack=True)
    assert [type(one) for one in fields] == [sc.Array, sc.Array]


def test_files_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    (X * 2).tofile(path)
    assert sc.fromfile(path).compute().tolist() == [2, 5, 8]
    assert sc.fromfile(path, count=1, offset=8).compute().tolist() == [5]
    assert sc.frombuffer(path.read_bytes()).compute().tolist() == [2, 5, 8]
    sc.save(tmp_path / "a.npy", X)
    assert type(sc.load(tmp_path / "a.npy")) is sc.Array
    sc.savez(tmp_path / "a.npz", one=X, two=X * 2)
    with sc.load(tmp_path / "a.npz") as several:
        assert several["two"].tolist() == [2, 5, 8]
    sc.savetxt(tmp_path / "a.txt", X.reshape(3, 1) * [1, 2], fmt="%.1f")
    assert (tmp_path / "a.txt").read_text() == "1.0 2.0\n2.5 5.0\n4.0 8.0\n"
    mapped = sc.memmap(tmp_path / "m", "float64", "w+", shape=(3,))
    mapped[:] = X + 1
    mapped.flush()
    assert float(sc.sum(sc.memmap(tmp_path / "m", "float64", "r"))) == 10.5


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        sc.load(tmp_path / "a.npy")
    with pytest.raises(FileNotFoundError):
        sc.load(tmp_path / "b.npy")
    with pytest.raises(ValueError, match="could not convert"):
        sc.loadtxt(io.StringIO("1 x\n"))


def test_printing_takes_values() -> None:
    assert sc.array2string(X * 2) == "[2. 5. 8.]"
    assert sc.array_repr(X) == "array([1. , 2.5, 4. ])"
    with sc.printoptions(precision=1):
        assert sc.array_str(X / 3) == "[0.3 0.8 1.3]"
    assert sc.format_float_positional(X[1]) == "2.5"


def test_an_ndarray_is_ours_or_numpys() -> None:
    for one in (X, np.arange(3), X + 1, sc.asarray(1.0)):
        assert isinstance(one, sc.ndarray)
    for other in (1, [1], np.float64(1), None):
        assert not isinstance(other, sc.ndarray)
    assert issubclass(np.ndarray, sc.ndarray)
    assert not issubclass(list, sc.ndarray)
    made = sc.ndarray((2, 3), "int8")
    assert (type(made), made.shape, made.dtype) == (sc.Array, (2, 3), np.int8)

    def f(x: sc.ndarray, y: sc.ndarray[Any, Any], z: sc.typing.NDArray[np.float64]) -> None:
        """Annotations of programs are read when the function is made."""

    f(X, X, X)


def test_polynomials_and_walks_of_numpys() -> None:
    line = sc.poly1d([2, 1])
    np.testing.assert_array_equal(line(X), [3, 6, 9])
    fitted = sc.polynomial.Polynomial.fit(X, 2 * X + 1, 1).convert()
    np.testing.assert_allclose(fitted.coef, [1, 2])
    np.testing.assert_array_equal(sc.polynomial.polynomial.polyval(X, [1, 2]), [3, 6, 9])
    assert [float(one) for one in sc.nditer(X)] == [1, 2.5, 4]
    with pytest.raises(ValueError, match="read-only"):
        sc.nditer(X + 1, op_flags=[["readwrite"]])
    assert sc.broadcast(X, sc.ones((2, 1))).shape == (2, 3)
    sc.testing.assert_allclose(X * 2, [2, 5, 8])
    with pytest.raises(AssertionError):
        sc.testing.assert_array_equal(X, [1, 2, 4])
    assert sc.indices(size for size in (1, 2)).shape == (2, 1, 2)
