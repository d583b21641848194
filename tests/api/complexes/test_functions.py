"""Functions of complex arrays beside NumPy's, as users call them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

# Calls of NumPy's functions with matrices A and B, lines V and W, and N, a matrix with NaN.
CALLS: Final = """
    nansum(N); nansum(N,axis=0); nanmean(N); nanmean(N,axis=1); nanprod(N,axis=0); nanvar(N)
    nanstd(N,axis=1); nanmax(N); nanmin(N,axis=0); nanargmax(N); nancumsum(N,axis=1)
    nancumprod(N,axis=1); isclose(A,A+1e-12); allclose(A,A+1e-12); array_equal(A,A)
    array_equal(N,N,equal_nan=True); array_equiv(A,A); iscomplex(A); isreal(A)
    iscomplexobj(A); isrealobj(A); real_if_close(A.real+0j); real_if_close(A); nan_to_num(N)
    around(A*10,1); convolve(V,W); correlate(V,W); correlate(V,W,'full')
    convolve(V,W.real,'same'); polyval(V,W); polyadd(V,W); polymul(V,W); polyder(V)
    polyint(V); cov(A); corrcoef(A); cov(A,B); average(A); average(A,axis=0,weights=[1,2,3,4])
    average(A,weights=abs(A)); trapezoid(A); trapezoid(A,axis=0); diff(A); diff(A,n=2,axis=0)
    gradient(V); gradient(A)[0]; ediff1d(V); interp([0.5,1.5],[0,1,2],W[:3]); angle(A)
    angle(A,deg=True); unwrap(angle(V)); cross(A[:,:3],B[:,:3]); outer(V,W); kron(V,W)
    vander(W); median(A); median(A,axis=0); unique(np.round(A)); sort(A); sort_complex(V)
    argsort(A,axis=0); searchsorted(sort(V),V); clip(A,0,1+1j); where(A.real>0); nonzero(A)
    count_nonzero(A); cumsum(A,axis=0); cumprod(A); prod(A); sinc(A); float_power(A,2)
    power(A,B); square(A); exp2(A); linspace(0,1j,5); linspace(1+1j,2,4); full_like(A,2j)
    ones_like(A); empty_like(A).shape; zeros_like(A); eye(3,dtype=complex)
    identity(2,dtype=complex); diag(V); trace(A); tril(A); triu(A,1); roll(A,3)
    pad(A,2,constant_values=1j); pad(V,2,mode='mean'); pad(V,3,mode='reflect'); tile(V,2)
    repeat(V,2); flip(A); rot90(A); insert(V,1,5j); delete(V,2); append(V,W); block([A,B])
    hstack([A,B]); array_split(V,3)[0]; take(V,[1,3])
    take_along_axis(A,argsort(A,axis=1),axis=1); compress([True,False,True],V)
    extract(A.real>0,A); choose([0,1,0],[V[:3],W[:3]]); select([A.real>0],[A],2j)
    meshgrid(V,W)[0]; broadcast_to(V,(2,6)); moveaxis(A,0,1); expand_dims(V,0)
    squeeze(V[None]); ravel(A); atleast_2d(V); ascontiguousarray(A); result_type(A,1)
    common_type(A); min_scalar_type(1j); can_cast(A.dtype,'complex64'); geomspace(1,1j,4)
    logspace(0,1j,3); arange(4,dtype=complex); poly(W); polydiv(V,W)[0]; nanmedian(A)
    trim_zeros(V); apply_along_axis(lambda x:x.sum(),0,A); vdot(A,B); dot(V,V); matmul(V,V)
    vecdot(A,B); sum(A,where=A.real>0); mean(A,where=A.real>0); var(A,where=A.real>0)
    std(A,ddof=1); sum(A,initial=2j); prod(A,initial=2j); max(A,initial=9j); any(A)
    all(A,axis=0); multiply(A,2,dtype='complex64'); fromiter([1j,2],complex); isin(V,W)
    union1d(V,W); intersect1d(V,W); setdiff1d(V,W); reciprocal(A); true_divide(A,B)
    logical_or(A,B); positive(A); conjugate(A); fmax(A,B); fmin(A,B); maximum(A,B)
    nan_to_num(N,nan=1.0); asarray_chkfinite(A); cumulative_sum(V); split(A,2)[1]; resize(V,9)
    rollaxis(A,1); average(A,axis=1,returned=True)[1]
    histogram2d(A.real.ravel(),A.imag.ravel())[0]; argwhere(A); flatnonzero(V)
"""


def _matrix(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))


A, B = _matrix(0), _matrix(1)
V, W, N = A[0], B[1][:4], A.copy()
N[1, 2], N[3, 3] = np.nan, np.nan * 1j
DATA: Final = {"A": A, "B": B, "V": V, "W": W, "N": N}


def _called(call: str, module: Any, data: dict[str, Any]) -> tuple[Any, ...]:
    names = {name: getattr(module, name, None) for name in sc.__all__}
    found = eval(call, {**names, **data, "abs": abs, "np": np})
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "call", [call.strip() for line in CALLS.split("\n") for call in line.split(";") if call.strip()]
)
def test_it_is_numpys(call: str) -> None:
    ours = {name: sc.asarray(array) for name, array in DATA.items()}
    wanted, got = _called(call, np, DATA), _called(call, sc, ours)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        value = np.asarray(one) if isinstance(one, sc.Array) else one
        assert np.shape(value) == np.shape(other)
        if not isinstance(other, (np.ndarray, np.generic)):
            assert value == other
            continue
        assert np.asarray(value).dtype == other.dtype
        np.testing.assert_allclose(value, other, rtol=1e-11, atol=1e-13)


def test_sums_are_exact() -> None:
    """Terms that cancel, in each part alone."""
    a = np.array([1e100 + 1j, 1 - 1e200j, -1e100 + 1e200j, 1e-30])
    assert sc.asarray(a).sum().compute() == 1 + 1j
    assert sc.asarray(a).mean().compute() == 0.25 + 0.25j
    assert sc.asarray(a).cumsum().compute()[-1] == 1 + 1j


def test_dot_products_are_exact_in_each_part() -> None:
    """The two products of a part cancel, and neither is rounded before."""
    x = np.array([1 + 2.0**-40 + (1 - 2.0**-40) * 1j])
    y = np.array([1 - 2.0**-40 + (1 + 2.0**-40) * 1j])
    assert sc.dot(x, y).compute().real == 0
    assert sc.dot(x, y[::-1].conj()).compute().imag == -(2.0**-38)
    z = np.array([1 + 2.0**-30 + 2.0**-31 * 1j])
    assert sc.vdot(z, z).compute() == 1 + 2.0**-29 + 2.0**-60 + 2.0**-62
    assert sc.dot(z, z).compute().imag == 2.0**-30 * (1 + 2.0**-30)


def test_order_is_numpys_with_nan_and_ties() -> None:
    rng = np.random.default_rng(2)
    a = np.round(rng.normal(size=(5, 40))) + 1j * np.round(rng.normal(size=(5, 40)))
    a.ravel()[[3, 50, 77]] = [np.nan + 1j, complex(2, np.nan), np.nan]
    x = sc.asarray(a)
    for axis in (None, 0, 1):
        for name in ("sort", "argsort", "max", "min", "argmax", "argmin"):
            how = {"kind": "stable"} if "sort" in name else {}
            got = np.asarray(getattr(sc, name)(x, axis=axis))
            np.testing.assert_array_equal(got, getattr(np, name)(a, axis=axis, **how), name)
    np.testing.assert_array_equal(np.sort_complex(x[0]).compute(), np.sort_complex(a[0]))
    with pytest.raises(ValueError, match="of no elements"):
        sc.max(sc.zeros((0, 3), complex), axis=0)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 1025])
def test_products_follow_the_tree(count: int) -> None:
    """Neighbours first, whatever the rung: the same bits, and NumPy's within rounding."""
    rng = np.random.default_rng(count)
    a = np.exp(1j * rng.normal(size=(2, count)))
    product, running = sc.prod(sc.asarray(a), axis=1), sc.cumprod(sc.asarray(a), axis=1)
    np.testing.assert_allclose(product.compute(), a.prod(axis=1), rtol=1e-12)
    np.testing.assert_allclose(running.compute(), a.cumprod(axis=1), rtol=1e-12)
    level = a
    while level.shape[1] > 1:
        even = level.shape[1] // 2 * 2
        x, y = level[:, 0:even:2], level[:, 1:even:2]
        pairs = np.empty(x.shape, complex)
        pairs.real = x.real * y.real - x.imag * y.imag
        pairs.imag = x.real * y.imag + x.imag * y.real
        level = np.concatenate([pairs, level[:, even:]], axis=1)
    if count:
        assert product.compute(on="core").tobytes() == level[:, 0].tobytes()
    assert product.compute(on="cores:2").tobytes() == product.compute(on="core").tobytes()
    assert running.compute(on="cores:2").tobytes() == running.compute(on="core").tobytes()
