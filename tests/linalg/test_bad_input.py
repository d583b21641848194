"""Bad input to matrices and spectra: NumPy's exception types, with messages of ours; edges."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import SpeedcubeError

RNG: Final = np.random.default_rng(5)
ARRAYS: Final[dict[str, Any]] = {
    "a": RNG.normal(size=(3, 3)),
    "wide": RNG.normal(size=(3, 4)),
    "v": RNG.normal(size=3),
    "zero": np.zeros((3, 3)),
    "singular": np.ones((4, 4)),
    "stack": np.stack([np.eye(3), np.zeros((3, 3))]),
    "negative": -np.eye(3),
    "nan": np.full((3, 3), np.nan),
    "inf": np.array([[1.0, np.inf], [0.0, 1.0]]),
    "none": np.empty((0, 0)),
    "rows": np.empty((0, 3)),
    "columns": np.empty((3, 0)),
    "scalar": np.float64(3.0),
    "words": np.eye(2, dtype="float16"),
    "z": RNG.normal(size=4) + 1j,
    "empty": np.empty(0),
}

BAD: Final = """
    np.linalg.inv(singular)
    np.linalg.inv(zero)
    np.linalg.inv(stack)
    np.linalg.inv(wide)
    np.linalg.inv(v)
    np.linalg.inv(words)
    np.linalg.det(wide)
    np.linalg.slogdet(wide)
    np.linalg.solve(zero, v)
    np.linalg.solve(wide, v)
    np.linalg.solve(a, v[:2])
    np.linalg.solve(a, wide[:2])
    np.linalg.solve(stack, v)
    np.linalg.solve(v, v)
    np.linalg.cholesky(negative)
    np.linalg.cholesky(zero)
    np.linalg.cholesky(wide)
    np.linalg.cholesky(v)
    np.linalg.eig(wide)
    np.linalg.eigh(wide)
    np.linalg.eig(nan)
    np.linalg.eigvals(inf)
    np.linalg.eigvalsh(v)
    np.linalg.svd(nan)
    np.linalg.svd(v)
    np.linalg.svd(scalar)
    np.linalg.qr(v)
    np.linalg.qr(a, 'nothing')
    np.linalg.lstsq(a, v[:2])
    np.linalg.lstsq(v, v)
    np.linalg.pinv(v)
    np.linalg.matrix_power(wide, 2)
    np.linalg.matrix_power(zero, -1)
    np.linalg.matrix_power(a, 1.5)
    np.linalg.norm(a, 'nothing')
    np.linalg.norm(a, ord=3)
    np.linalg.norm(v, 'fro')
    np.linalg.norm(stack, axis=(0, 0))
    np.linalg.norm(a, axis=(0, 5))
    np.linalg.cond(v)
    np.linalg.multi_dot([a])
    np.linalg.multi_dot([wide, wide])
    np.linalg.tensorinv(wide)
    np.linalg.tensorinv(a, ind=0)
    np.linalg.tensorsolve(wide, v)
    np.matmul(wide, a)
    np.matmul(a, wide[:2])
    np.matmul(a, scalar)
    np.matmul(stack, np.ones((3, 3, 3)))
    np.dot(wide, wide)
    np.inner(wide, a)
    np.vdot(a, wide)
    np.vecdot(v, v[:2])
    np.tensordot(a, wide, ((0,), (1,)))
    np.tensordot(a, wide, 3)
    np.tensordot(a, a, ((0, 5), (0, 1)))
    np.einsum('ij,jk', wide, wide)
    np.einsum('ij->k', a)
    np.einsum('ij->ii', a)
    np.einsum('i', a)
    np.einsum('ijk', a)
    np.einsum('ij,jk->ik', a)
    np.einsum('i1', a)
    np.einsum('ij->->', a)
    np.einsum('i.j', a)
    np.einsum('i...j...', a)
    np.einsum('ij-ij', a)
    np.einsum('', a)
    np.fft.fft(v, 0)
    np.fft.fft(v, -1)
    np.fft.fft(empty)
    np.fft.rfft(empty)
    np.fft.rfft(z)
    np.fft.ihfft(z)
    np.fft.rfftn(z)
    np.fft.irfft(v, 0)
    np.fft.irfft(z[:1])
    np.fft.hfft(z[:1])
    np.fft.fft(scalar)
    np.fft.fft(v, axis=2)
    np.fft.fft(v, axis=0.5)
    np.fft.fft(v, norm='nothing')
    np.fft.fft(v, n=2.5)
    np.fft.fft2(v)
    np.fft.fftn(a, s=(2,), axes=(0, 1))
    np.fft.fftn(a, s=(0, 2), axes=(0, 1))
    np.fft.fftn(a, axes=(0, 3))
    np.fft.rfftn(a, axes=())
    np.fft.fftfreq(2.5)
    np.fft.fftfreq(0)
"""
# What computes at the edges, and what comes out.
EDGES: Final = """
    np.linalg.det(zero)
    np.linalg.det(none)
    np.linalg.inv(none)
    np.linalg.slogdet(zero)
    np.linalg.pinv(zero)
    np.linalg.pinv(rows)
    np.linalg.matrix_rank(singular)
    np.linalg.matrix_rank(zero)
    np.linalg.svd(columns, compute_uv=False)
    np.linalg.qr(rows, 'r')
    np.linalg.eigvalsh(none)
    np.linalg.norm(rows)
    np.linalg.norm(empty)
    np.linalg.solve(none, empty)
    np.linalg.cholesky(none)
    np.linalg.matrix_power(a, 0)
    np.linalg.norm(nan)
    np.linalg.norm(inf)
    np.linalg.det(nan)
    np.matmul(columns, rows)
    np.matmul(rows, a)
    np.matmul(rows, wide)
    np.dot(empty, empty)
    np.tensordot(a, a, 0)
    np.einsum('ij->', rows)
    np.einsum('ij,jk', columns, rows)
    np.einsum('ii', a)
    np.fft.fft(v, 1)
    np.fft.fft(z[:1])
    np.fft.ifft(v, 7)
    np.fft.fft(np.arange(101.0))
    np.fft.rfft(np.arange(97.0))
    np.fft.irfft(z, 1)
    np.fft.irfft(z, 13)
    np.fft.hfft(z, 11)
    np.fft.fft(rows)
    np.fft.fft(a, 2)
    np.fft.fftn(a, s=(5, 7), axes=(0, 1))
    np.fft.rfftfreq(1)
    np.fft.fftshift(empty)
"""


def evaluated(text: str, module: Any, convert: Any) -> Any:
    names = {name: convert(array) for name, array in ARRAYS.items()}
    value = eval(text, {"np": module, **names})
    if isinstance(value, tuple):
        return tuple(np.asarray(one) for one in value)
    return np.asarray(value)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("text", lines(BAD))
def test_bad_input_raises_what_numpy_raises(text: str) -> None:
    with pytest.raises(Exception) as wanted:  # noqa: PT011  (whatever NumPy says)
        evaluated(text, np, np.asarray)
    takes_arrays = "freq" not in text
    for module in (sc, np)[: 1 + takes_arrays]:  # ours; NumPy's called with arrays of ours
        with pytest.raises(wanted.type) as caught:
            evaluated(text, module, sc.asarray)
        assert isinstance(caught.value, SpeedcubeError), repr(caught.value)
        assert len(str(caught.value)) > 12


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("text", lines(EDGES))
def test_edges_give_what_numpy_gives(text: str) -> None:
    wanted = evaluated(text, np, np.asarray)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = evaluated(text, sc, sc.asarray)
    pairs = zip(wanted, got, strict=True) if isinstance(wanted, tuple) else [(wanted, got)]
    for right, value in pairs:
        assert (value.dtype, value.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(value, right, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_products_of_integers_wrap(dtype: str) -> None:
    most = np.iinfo(dtype).max
    a = RNG.integers(most // 2, most, (40, 50), dtype=dtype)
    b = RNG.integers(most // 2, most, (50, 30), dtype=dtype)
    for got, wanted in (
        (sc.asarray(a) @ sc.asarray(b), a @ b),
        (sc.einsum("ij,jk->ki", a, b), np.einsum("ij,jk->ki", a, b)),
        (sc.tensordot(a, b, 1), np.tensordot(a, b, 1)),
        (sc.vdot(a, a), np.vdot(a, a)),
        (sc.linalg.matrix_power(sc.asarray(a[:, :40]), 5), np.linalg.matrix_power(a[:, :40], 5)),
    ):
        value = np.asarray(got)
        assert value.dtype == wanted.dtype
        assert (value == wanted).all()


def test_what_is_wrong_with_one_matrix_of_a_stack_is_said() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="pinv and lstsq take any"):
        sc.linalg.inv(sc.asarray(ARRAYS["stack"])).compute()
    with pytest.raises(np.linalg.LinAlgError, match=r"isfinite\(a\)\.all\(\)"):
        sc.linalg.svd(sc.asarray(ARRAYS["nan"]))[1].compute()
    with pytest.raises(np.linalg.LinAlgError, match=r"isfinite\(a\)\.all\(\)"):
        sc.linalg.eig(sc.asarray([[np.nan, 1.0], [1.0, 2.0]]))
