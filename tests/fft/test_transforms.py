"""Fourier transforms beside NumPy's: values, dtypes, shapes, errors; lazy, and marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

RNG = np.random.default_rng(2)
REAL: Any = RNG.normal(size=(6, 8))
DATA: dict[str, Any] = {
    "float64": REAL,
    "complex128": REAL + 1j * REAL[::-1],
    "float32": REAL.astype("float32"),
    "complex64": (REAL + 1j * REAL[::-1]).astype("complex64"),
    "float16": REAL.astype("float16"),
    "int32": (REAL * 9).astype("int32"),
    "bool": REAL > 0,
}
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((name, options) for name in ONE for options in (
        {}, {"n": 5}, {"n": 12, "axis": 0}, {"norm": "ortho"}, {"axis": 0, "norm": "forward"},
    )),
    *((name, options) for name in SEVERAL for options in (
        {}, {"s": (4, 9), "axes": (0, 1)}, {"axes": (1, 0), "norm": "ortho"},
        {"s": (-1, 3), "axes": (0, 1)},
    )),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DATA)
@pytest.mark.parametrize(("name", "options"), CALLS)
def test_as_numpy_has_them(dtype: str, name: str, options: dict[str, Any]) -> None:
    data = DATA[dtype]
    if name in ("rfft", "ihfft", "rfftn", "rfft2") and data.dtype.kind == "c":
        with pytest.raises(TypeError, match="takes real numbers"):
            getattr(sc.fft, name)(sc.asarray(data), **options)
        return
    want = getattr(np.fft, name)(data, **options)
    lazy = getattr(sc.fft, name)(sc.asarray(data), **options)
    assert isinstance(lazy, sc.Array)
    assert (lazy.dtype, lazy.shape) == (want.dtype, want.shape)
    got = lazy.compute(on="core")
    # The same library made both.
    assert got.dtype == want.dtype
    assert got.tobytes() == np.ascontiguousarray(want).tobytes()


def test_what_surrounds_them_is_fused() -> None:
    x = sc.asarray(REAL)
    back = sc.fft.ifft(sc.fft.fft(x * 2) * 0.5).real
    assert np.allclose(back.compute(), REAL)
    power = (abs(sc.fft.rfft(x, axis=0)) ** 2).sum(axis=0)
    assert np.allclose(power.compute(), (abs(np.fft.rfft(REAL, axis=0)) ** 2).sum(axis=0))
    assert np.allclose((sc.fft.fft(x) + 1).compute(on="cores"), np.fft.fft(REAL) + 1)


def test_views_of_complex_data_are_read_where_they_lie() -> None:
    z = DATA["complex128"]
    for key in (np.s_[::2], np.s_[:, ::-1], np.s_[1:4, 3:], np.s_[2]):
        assert np.array_equal(sc.fft.fft(sc.asarray(z)[key]).compute(), np.fft.fft(z[key]))
    assert np.array_equal(sc.fft.fft(sc.asarray(z).T).compute(), np.fft.fft(z.T))


def test_numpy_finds_them() -> None:
    x = sc.asarray(REAL)
    for name in (*ONE, *SEVERAL, "fftshift", "ifftshift"):
        lazy = getattr(np.fft, name)(x)
        assert isinstance(lazy, sc.Array)
        assert np.allclose(lazy.compute(), getattr(np.fft, name)(REAL))


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("d", [1.0, 0.1, -3])
def test_frequencies_have_numpys_bits(n: int, d: float) -> None:
    for name in ("fftfreq", "rfftfreq"):
        want = getattr(np.fft, name)(n, d)
        assert getattr(sc.fft, name)(n, d).compute().tobytes() == want.tobytes()
    x = np.arange(n)
    assert np.array_equal(sc.fft.fftshift(x).compute(), np.fft.fftshift(x))
    assert np.array_equal(sc.fft.ifftshift(x).compute(), np.fft.ifftshift(x))


BAD: list[tuple[Any, Any, str]] = [
    (lambda m: m.fft(np.ones(3), 0), ValueError, "fft needs at least one point, not 0"),
    (lambda m: m.fft(np.ones(0)), ValueError, "fft needs at least one point, not 0"),
    (lambda m: m.irfft(np.ones(1)), ValueError, "irfft needs at least one point, not 0"),
    (
        lambda m: m.fft(np.ones(3), axis=3),
        IndexError,
        "axis 3 is out of range for an array of 1 axes",
    ),
    (lambda m: m.fft(np.float64(1)), IndexError, "axis -1 is out of range for an array of 0 axes"),
    (lambda m: m.fft(np.ones(3), 2.5), TypeError, "n must be an integer, not 2.5"),
    (lambda m: m.fft(np.ones(3), norm="x"), ValueError, "norm must be one of"),
    (lambda m: m.rfft(np.ones(3, complex)), TypeError, "rfft takes real numbers, not complex128"),
    (lambda m: m.fft2(np.ones(3)), IndexError, "axis -2 is out of range for an array of 1 axes"),
    (
        lambda m: m.fftn(np.ones((3, 3)), (2,), (0, 1)),
        ValueError,
        "s has 1 sizes, and there are 2 axes",
    ),
    (lambda m: m.rfftn(np.ones((3, 3)), axes=()), IndexError, "axes is empty"),
    (lambda m: m.fftfreq(2.5), ValueError, "n must be an integer"),
    (lambda m: m.fftfreq(0), ZeroDivisionError, "zero"),
    (lambda m: m.fft(np.array(["a"])), TypeError, "str"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_input_is_numpys_error(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind):
        call(np.fft)
    with pytest.raises(kind, match=message):
        call(sc.fft)


def test_they_have_no_law() -> None:
    lazy = sc.fft.fft(sc.asarray(REAL))
    assert "no law: pocketfft" in repr(lazy)
    assert "pocketfft, about n eps" in str(lazy.explain())
    with (
        pytest.raises(errors.LawError, match="fft does not promise the same bits everywhere"),
        sc.on(strict=True),
    ):
        lazy.compute()


def test_several_axes_of_none() -> None:
    assert sc.fft.fftn(3.0).compute() == 3.0


@pytest.mark.gpu
def test_a_gpu_transforms() -> None:
    for name in (*ONE, *SEVERAL):
        got = getattr(sc.fft, name)(sc.asarray(REAL)).compute(on="gpu")
        assert np.allclose(got, getattr(np.fft, name)(REAL))
