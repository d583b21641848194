"""What is only copied from memory to memory: made at once, with nothing else looked for."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube import errors
from speedcube.api.array import Array
from speedcube.engine import compute as engine
from speedcube.engine.pieces.carried import carrier_of
from speedcube.engine.pieces.lines import lines_at_once
from speedcube.engine.pieces.moves import put_in_place, rearranged
from speedcube.engine.small.again import few_structure
from speedcube.expr import gather

RNG = np.random.default_rng(15)
ROWS = RNG.integers(-30, 30, 50)
PROGRAMS = {
    "concatenate": lambda m, x: m.concatenate([x, x[:3], x], axis=0),
    "side by side": lambda m, x: m.concatenate([x, x], axis=-1),
    "stack": lambda m, x: m.stack([x, x, x], axis=1),
    "a new last axis": lambda m, x: m.stack([x, x], axis=-1),
    "roll": lambda m, x: m.roll(x, 3, axis=0),
    "both rolled": lambda m, x: m.roll(x, (1, -2), axis=(0, 1)),
    "pad": lambda m, x: m.pad(x, 2),
    "pad before": lambda m, x: m.pad(x, ((1, 0), (0, 3)), constant_values=7),
    "four sides": lambda m, x: m.pad(x, 1, constant_values=((1, 2), (3, 4))),
    "edges": lambda m, x: m.pad(x, 2, mode="edge"),
    "tile": lambda m, x: m.tile(x, (1, 2)),
    "repeat": lambda m, x: m.repeat(x, 2, axis=1),
    "take": lambda m, x: m.take(x, ROWS, axis=0),
    "rows": lambda m, x: x[ROWS],
}
ARRAYS = {
    "as it is": lambda x: x,
    "turned": lambda x: np.ascontiguousarray(x.T).T,
    "some rows": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1],
}


@pytest.fixture
def nothing_else(monkeypatch):
    """Nobody looks at the program for anything else."""

    def looked(*_, **__):
        raise AssertionError("looked at")

    for name in ("few_structure", "check_laws"):
        monkeypatch.setattr(engine, name, looked)
    monkeypatch.setattr(engine.ahead, "values", looked)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool", "float16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_are_made_before_anything_else_is_looked_for(nothing_else, name, dtype):
    x = (RNG.normal(size=(30, 40)) * 9).astype(dtype)
    wanted = PROGRAMS[name](np, x)
    assert_same_bits(PROGRAMS[name](sc, sc.asarray(x)).compute(on="core"), wanted)


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("layout", ARRAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_of_every_layout_are_numpys(name, layout, on):
    for shape in ((30, 40), (30, 3), (31, 1)):
        x = ARRAYS[layout](RNG.normal(size=shape))
        array = sc.asarray(x)
        assert_same_bits(PROGRAMS[name](sc, array).compute(on=on), PROGRAMS[name](np, x))
        z = x + 1j
        made, wanted = PROGRAMS[name](sc, sc.asarray(z)).compute(on=on), PROGRAMS[name](np, z)
        assert_same_bits(made.real, wanted.real)
        assert_same_bits(made.imag, wanted.imag)


def test_what_is_written_before_computing_is_seen():
    x = RNG.normal(size=(30, 4))
    made = [program(sc, sc.asarray(x)) for program in PROGRAMS.values()]
    x[...] = RNG.normal(size=x.shape)
    for one, program in zip(made, PROGRAMS.values(), strict=True):
        assert_same_bits(one.compute(on="core"), program(np, x))


def test_what_is_computed_is_no_copy():
    x = sc.asarray(RNG.normal(size=(6, 5)))
    assert carrier_of(sc.concatenate([x, x])._expr) is put_in_place
    assert carrier_of(sc.tile(x, (1, 2))._expr) is rearranged
    assert carrier_of(sc.take(x, [1, 2], axis=0)._expr) is lines_at_once
    for one in (x, x + 1, x.sum(axis=0), sc.concatenate([x, x + 1]), sc.concatenate([x] * 17)):
        assert carrier_of(one._expr) is None
    assert carrier_of(sc.roll(x + 1, 1, axis=0)._expr) is None
    assert sc.concatenate([x] * 100).shape == (600, 5)


def test_arrays_are_put_together_as_ever_when_shapes_were_met():
    x, y = sc.ones((2, 3)), sc.ones((2, 4))
    assert sc.concatenate([x, y], axis=1).shape == (2, 7)
    with pytest.raises(errors.AxisError, match="must be an integer, not True"):
        sc.concatenate([x, y], axis=True)
    for _ in range(2):
        with pytest.raises(errors.ShapeError, match="along axis 1 array 0 has 3, array 1 has 4"):
            sc.concatenate([x, y], axis=0)
    with pytest.raises(errors.DTypeError, match="cannot become None"):
        sc.concatenate([x, sc.ones((2, 3), "float32")], casting="no")
    assert sc.concatenate([x, sc.ones((1, 3), int)]).dtype == "float64"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("extent", [5, 127, 128, 300])
def test_all_indices_are_checked_whatever_their_dtype(dtype, extent):
    x = np.arange(extent * 2.0).reshape(extent, 2)
    array, limits = sc.asarray(x), np.iinfo(dtype)
    for index in (0, extent - 1, extent, -1, -extent, -extent - 1, limits.max, limits.min):
        if not limits.min <= index <= limits.max:
            continue
        rows = np.array([[0, index]], dtype)
        if -extent <= index < extent:
            assert_same_bits(sc.take(array, rows, axis=0).compute(), x.take(rows, 0))
            assert_same_bits(array[rows[0][::-1]].compute(), x[rows[0][::-1]])
            continue
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0"):
            sc.take(array, rows, axis=0)
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0"):
            array[rows[0]]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lines_at_indices_are_the_same_nodes_as_of_any_array(monkeypatch, axis):
    whole = sc.asarray(RNG.normal(size=(8, 9, 10)))
    index = sc.asarray(np.array([[0, 2], [1, 1]]))
    arrays = [whole, whole[1:, ::2, ::-1], whole.transpose(1, 2, 0), whole[:, :, :3]]
    quick = [sc.take(x, index, axis=axis)._expr for x in arrays]
    monkeypatch.setattr(gather, "Stored", int)  # as of what lies elsewhere
    for x, expr in zip(arrays, quick, strict=True):
        general = gather.take_several(x._expr, [index._expr], [axis], axis)
        one, other = few_structure(expr), few_structure(general)
        assert one.key == other.key
        assert [c.value for c in one.constants] == [c.value for c in other.constants]
        places = [(leaf.offset, leaf.strides) for leaf in one.data]
        assert places == [(leaf.offset, leaf.strides) for leaf in other.data]
        wanted = np.take(x.compute(), index.compute(), axis)
        assert_same_bits(Array(expr).compute(on="core"), wanted)


def test_masks_are_refused_as_ever():
    x, mask = sc.ones((3, 4)), sc.ones((3, 4, 1)) > 0
    with pytest.raises(errors.AxisError, match="too many indices: 3 for an array of 2"):
        x[mask]
    with pytest.raises(errors.AxisError, match="along axis 1 the mask has 3 elements"):
        x[sc.ones((3, 3)) > 0]
    y = np.arange(12.0).reshape(3, 4)
    for chosen in (y[:, 0] > 3, y > 5, y[:, 0] > 99):
        assert_same_bits(sc.asarray(y)[sc.asarray(chosen)].compute(), y[chosen])
