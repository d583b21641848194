"""Numbers in complex expressions that numbers make: the bits of the nodes that they replace."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.nodes import Const, Leaf, Map, const, leaves
from speedcube.expr.pairs.node import parts
from speedcube.expr.pairs.numbers import folded

SPECIAL = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e308, 5e-324, 0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["add", "subtract", "multiply"])
def test_two_numbers_are_one(op: str, dtype: str) -> None:
    for a, b in itertools.product(SPECIAL, SPECIAL):
        made = folded(Map(op, (const(a, dtype, (3,)), const(b, dtype, (3,))), (3,), dtype))
        assert isinstance(made, Leaf)
        assert isinstance(made.source, Const)
        assert (made.shape, made.dtype) == ((3,), dtype)
        with np.errstate(all="ignore"):
            wanted = getattr(np, op)(np.dtype(dtype).type(a), np.dtype(dtype).type(b))
        value = np.dtype(dtype).type(made.source.value)
        if np.isnan(wanted):
            wanted = np.dtype(dtype).type(np.nan)
        assert value.tobytes() == wanted.tobytes(), (a, b)


def test_what_numbers_lead_to_stays() -> None:
    x = sc.asarray(np.arange(3.0))
    re, im = map(folded, parts((x * 1j)._expr))
    assert [len(leaves(one)) for one in (re, im)] == [3, 3]
    assert {re.op, im.op} == {"subtract", "add"}
    assert isinstance(im.args[1].source, Const)
    assert im.args[1].source.value == 0.0
    same = (x + x * 2.0)._expr
    assert folded(same) is same
    whole = Map("add", (const(1, "int64"), const(2, "int64")), (), "int64")
    assert folded(whole) is whole


def test_what_is_read_twice_stays_one() -> None:
    number = Map("add", (const(1.0, "float64", (3,)), const(2.0, "float64", (3,))), (3,), "float64")
    both = Map("add", (number, sc.asarray(np.ones(3))._expr), (3,), "float64")
    made = folded(Map("multiply", (both, both), (3,), "float64"))
    assert isinstance(made, Map)
    assert made.args[0] is made.args[1]
    assert made.args[0] is not both


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (5, 3), (9000,)])
def test_numbers_beside_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    size = math.prod(shape)
    special = np.resize(np.array(SPECIAL), size).reshape(shape)
    with np.errstate(all="ignore"):
        x = special.astype(dtype) if dtype != "int32" else np.arange(size).reshape(shape)
        x = x.astype(dtype)
        y = np.flip(x).copy()
        for number in (
            1j,
            2 - 1j,
            complex(-0.0, -0.0),
            complex(math.inf, 0.0),
            complex(0, math.nan),
        ):
            for ask in (
                lambda a, b, z=number: a + z,
                lambda a, b, z=number: a - z,
                lambda a, b, z=number: z - a,
                lambda a, b, z=number: a * z,
                lambda a, b, z=number: z * a + b,
                lambda a, b, z=number: (a + z) * z - b,
            ):
                wanted = np.asarray(ask(x, y))
                ours = ask(sc.asarray(x), sc.asarray(y))
                made = [np.asarray(ours.compute(on=on)) for on in ("core", "cores:2")]
                again = np.asarray(ours.compute(on="core"))
                assert made[0].tobytes() == made[1].tobytes() == again.tobytes()
                assert made[0].dtype == wanted.dtype
                for one, two in ((made[0].real, wanted.real), (made[0].imag, wanted.imag)):
                    assert np.array_equal(one, two, equal_nan=True)
                    known = ~np.isnan(two)
                    assert np.array_equal(np.signbit(one)[known], np.signbit(two)[known])
