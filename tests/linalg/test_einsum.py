"""`einsum` is NumPy's, of every kind of subscripts; what has no product of matrices has a law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ParameterError, ShapeError

RNG: Final = np.random.default_rng(1)
# Those with a law: views, sums, and dot products of vectors.
EXACT: Final = (
    "ii", "ii->i", "ij->ji", "ij->", "ij->j", "i,i", "i,j", "i,j->ji", "ij,ij", "ij,ij->i",
    "ij,ij->j", "ij,ij->ij", "ij,ji", "...i->...", "...i->i...", "i...,i...->...", "iij->j",
    "ijij", "ijij->ij", "iji->j", "ijk->kji", "ij,i->ij", "ij,->ij", ",ij", ",", "ij,kl->ijkl",
    "ij,kl->", "ij,kl->jl", "a,a,a->a",
)  # fmt: skip
PRODUCTS: Final = (
    "ij,jk", "ij,jk->ki", "ij,kj->ik", "ijk,ikl->ijl", "bij,bjk->ikb", "ij,jk,kl->il",
    "ij,jk,kl", "i,ij,j->", "...ij,...jk->...ik", "...ij,jk", "ij...,jk...->ik...", "iij,jk->ik",
    "ij,j", "ij,i->j", "ijk,jil->kl", "ab,bc,cd,de->ae", "abc,cd,def->abef",
)  # fmt: skip


def operands(text: str, dtype: str) -> list[Any]:
    inputs = text.split("->")[0].split(",")
    letters = sorted({*"".join(inputs).replace(".", "")})
    sizes = {letter: k + 2 for k, letter in enumerate(letters)}
    shapes = [
        [*([3, 2] if "." in one and one[0] == "." else []), *(sizes[c] for c in one if c != ".")]
        + ([3, 2] if "." in one and one[0] != "." else [])
        for one in inputs
    ]
    if dtype == "bool":
        return [np.asarray(RNG.random(shape) < 0.4) for shape in shapes]
    return [np.asarray(RNG.normal(size=shape) * 3).astype(dtype) for shape in shapes]


_SLOW: Final = [pytest.param(dtype, marks=pytest.mark.slow) for dtype in ("float32", "int64")]


@pytest.mark.parametrize("dtype", ["float64", "int16", *_SLOW, "bool"])
def test_every_kind_of_subscripts(dtype: str) -> None:
    for text in (*EXACT, *PRODUCTS):
        arrays = operands(text, dtype)
        wanted = np.einsum(text, *arrays)
        for optimize in (False, "optimal") if text.count(",") > 1 else (False,):
            lazy = np.einsum(text, *map(sc.asarray, arrays), optimize=optimize)
            assert isinstance(lazy, sc.Array)
            got = lazy.compute(on="core")
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), text
            if wanted.dtype.kind == "f":
                near = 1e-11 if dtype == "float64" else 1e-2
                np.testing.assert_allclose(got, wanted, rtol=near, atol=near, err_msg=text)
            else:
                np.testing.assert_array_equal(got, wanted, err_msg=text)


def test_what_is_no_product_of_matrices_has_a_law() -> None:
    for text in EXACT:
        assert sc.einsum(text, *operands(text, "float64")).explain().covered, text
    for text in PRODUCTS:
        assert not sc.einsum(text, *operands(text, "float64")).explain().covered, text
        assert sc.einsum(text, *operands(text, "int32")).explain().covered, text


def test_lists_of_numbers_are_subscripts() -> None:
    a, b = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5))
    x, y = sc.asarray(a), sc.asarray(b)
    np.testing.assert_allclose(sc.einsum(x, [0, 1], y, [1, 2], [0, 2]).compute(), a @ b)
    np.testing.assert_allclose(sc.einsum(x, [0, 1], y, [1, 2]).compute(), a @ b)
    np.testing.assert_array_equal(sc.einsum(x, [..., 0], [0, ...]).compute(), a.T)


def test_sizes_of_one_are_spread_and_dtype_casts() -> None:
    a, b = RNG.normal(size=(3, 1)), RNG.normal(size=(4, 5))
    np.testing.assert_allclose(sc.einsum("ij,jk->ik", a, b).compute(), np.einsum("ij,jk->ik", a, b))
    got = sc.einsum("ij->i", np.ones((2, 3), "int8"), dtype="float32")
    assert got.dtype == np.float32
    with pytest.raises(TypeError, match="does not cast"):
        sc.einsum("ij->i", a, dtype="int8")


def test_the_path_is_numpys() -> None:
    arrays = operands("ab,bc,cd,de->ae", "float64")
    lazy = list(map(sc.asarray, arrays))
    assert (
        sc.einsum_path("ab,bc,cd,de->ae", *lazy)[0] == np.einsum_path("ab,bc,cd,de->ae", *arrays)[0]
    )
    assert np.einsum_path("ab,bc,cd,de->ae", *lazy)[0][0] == "einsum_path"


X: Final = sc.ones((3, 4))
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no arrays": (lambda: sc.einsum(), ParameterError, "takes subscripts and arrays"),
    "too few": (lambda: sc.einsum("ij,jk", X), ParameterError, "names 2 operands, and 1 are given"),
    "a sign": (lambda: sc.einsum("i$", X), ParameterError, "'$' in 'i$' is not a label"),
    "axes": (lambda: sc.einsum("ijk", X), ParameterError, "names 3 axes, and the operand has 2"),
    "unknown": (lambda: sc.einsum("ij->ik", X), ParameterError, "has 'k' only in its result"),
    "twice": (lambda: sc.einsum("ij->ii", X), ParameterError, "has 'i' twice in its result"),
    "arrows": (lambda: sc.einsum("ij->i->j", X), ParameterError, "may have one arrow"),
    "comma": (lambda: sc.einsum("ij->i,j", X), ParameterError, "has a comma in its result"),
    "dots": (lambda: sc.einsum("i.j", X), ParameterError, "is not a label"),
    "ellipses": (lambda: sc.einsum("......", X), ParameterError, "more than one ellipsis"),
    "lost": (lambda: sc.einsum("...i->i", X), ParameterError, "no ellipsis in its result"),
    "sizes": (lambda: sc.einsum("ij,ij", X, X.T), ShapeError, "'i' has 3 elements in one operand"),
    "number": (lambda: sc.einsum(X, [0, 99]), ParameterError, "from 0 to 51"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_subscripts_are_refused(name: str) -> None:
    call, kind, message = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


MIXED: Final = (
    ("bool", "float64"), ("int8", "float32"), ("uint8", "int64"), ("bool", "int64"),
    ("float64", "bool"), ("float32", "float64"), ("int8", "complex128"),
)  # fmt: skip


@pytest.mark.parametrize(("left", "right"), MIXED)
def test_operands_of_two_dtypes_are_summed_in_their_common_one(left: str, right: str) -> None:
    """An axis of one operand alone, too: bools are counted, and bytes do not wrap."""
    for text in ("abc,b->a", "abc,b->", "ab,cd->ad"):
        first, second = (
            (np.abs(RNG.normal(size=[7] * len(one)) * 90 + 40) % 120).astype(kind)
            for one, kind in zip(text.split("->")[0].split(","), (left, right), strict=True)
        )
        got = sc.einsum(text, first, second).compute()
        wanted = np.einsum(text, first, second)
        assert got.dtype == wanted.dtype
        assert np.allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize(("text", "shapes"), [("ii", [(1, 3)]), ("ii->i", [(3, 1)]),
                                              ("iij,j->i", [(1, 3, 2), (2,)])])  # fmt: skip
def test_a_diagonal_has_two_equal_axes(text: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [np.ones(shape) for shape in shapes]
    with pytest.raises(ValueError, match="collapsing index 'i'"):
        np.einsum(text, *arrays)
    with pytest.raises(ShapeError, match="'i' names two axes of one operand"):
        sc.einsum(text, *arrays)
