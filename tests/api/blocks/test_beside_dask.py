"""dask.array's functions of blocks: each program once with dask.array, once with speedcube."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import dask
import dask.array as da
import numpy as np
import pytest

import speedcube as sc

DATA: Final = np.arange(48.0).reshape(6, 8) * 1.5
CUBE: Final = np.arange(60).reshape(3, 4, 5)


def made(m: ModuleType, values: Any = DATA, chunks: Any = (4, 3)) -> Any:
    return m.from_array(values, chunks=chunks)


def told(block: Any, block_id: Any = None, block_info: Any = None) -> Any:
    """Where a block lies, and what it is told of itself, in one number."""
    where, out = block_info[0], block_info[None]
    start = [a for a, _ in where["array-location"]]
    total = sum(map(int, (*where["chunk-location"], *where["num-chunks"], *out["chunk-shape"])))
    return block * 0 + total + 100 * start[0] + 1000 * start[-1] + sum(block_id)


def stats(block: Any) -> Any:
    return block.mean(axis=-1), block.max(axis=-1)


Program = Callable[[ModuleType], Any]
PROGRAMS: Final[dict[str, Program]] = {
    "map_blocks": lambda m: m.map_blocks(lambda b: b * 2 + b.shape[0], made(m)),
    "method": lambda m: made(m).map_blocks(np.sqrt),
    "of two": lambda m: m.map_blocks(np.add, made(m), made(m, CUBE[0, 0, 0], ())),
    "of two shapes": lambda m: m.map_blocks(np.add, made(m), made(m, DATA[0], (3,))),
    "with others": lambda m: made(m).map_blocks(lambda b, k, n=0: b * k + n, 3, n=2),
    "block_info": lambda m: made(m).map_blocks(told, dtype=float),
    "no arrays": lambda m: m.map_blocks(
        lambda block_info=None: np.full((2, 2), block_info[None]["chunk-location"][0]),
        chunks=((2, 2), (2,)),
        dtype=int,
    ),
    "drop_axis": lambda m: made(m, chunks=(2, 8)).map_blocks(
        lambda b: b.sum(axis=1), drop_axis=1
    ),
    "new_axis": lambda m: made(m).map_blocks(
        lambda b: b[..., None] * np.arange(3), new_axis=2, chunks=((4, 2), (3, 3, 2), (3,))
    ),
    "changed chunks": lambda m: made(m).map_blocks(
        lambda b: b[:1, :2], chunks=((1, 1), (2, 2, 2)), dtype=float
    ),
    "dtype": lambda m: made(m).map_blocks(lambda b: b > 3),
    "meta": lambda m: made(m).map_blocks(
        lambda b: b.astype("f4"), meta=np.empty((0, 0), "float32")
    ),
    "writes into its block": lambda m: made(m).map_blocks(lambda b: np.negative(b, out=b)),
    "map_overlap": lambda m: m.map_overlap(
        lambda b: b + np.roll(b, 1, 0) - np.roll(b, -1, 1), made(m), depth=1, boundary="reflect"
    ),
    "map_overlap of axes": lambda m: made(m).map_overlap(
        lambda b: np.roll(b, 2, 1), depth={1: 2}, boundary={1: "periodic"}
    ),
    "map_overlap, untrimmed": lambda m: made(m).map_overlap(
        lambda b: b[1:-1, 1:-1] * b[2:, :-2], depth=1, boundary=0, trim=False
    ),
    "map_overlap of two": lambda m: m.map_overlap(
        lambda a, b: a + b, made(m), made(m, DATA + 1, (2, 8)), depth=1, boundary="nearest"
    ),
    "overlap": lambda m: m.overlap.overlap(made(m), 1, "periodic"),
    "trim_internal": lambda m: m.overlap.trim_internal(
        m.overlap.overlap(made(m), {0: 1, 1: 2}, {0: 1.5, 1: "reflect"}), {0: 1, 1: 2}
    ),
    "trim_overlap": lambda m: m.overlap.trim_overlap(m.overlap.overlap(made(m), 1, 0), 1, 0),
    "windows": lambda m: m.overlap.sliding_window_view(made(m), (2, 3)),
    "blockwise": lambda m: m.blockwise(
        np.multiply.outer, "ij", made(m, DATA[0], 3), "i", made(m, DATA[1], 5), "j", dtype=float
    ),
    "blockwise, contracted": lambda m: m.blockwise(
        lambda a, b: a @ b, "ik", made(m), "ij", made(m, DATA.T, (3, 2)), "jk",
        dtype=float, concatenate=True,
    ),
    "atop": lambda m: m.blockwise(np.negative, "ij", made(m), "ij", dtype=float),
    "apply_gufunc": lambda m: m.apply_gufunc(
        lambda v: v.mean(axis=-1), "(i)->()", made(m, chunks=(2, 8)), output_dtypes=float
    ),
    "apply_gufunc, two results": lambda m: m.apply_gufunc(
        stats, "(i)->(),()", made(m), output_dtypes=(float, float), allow_rechunk=True
    ),
    "apply_gufunc, vectorized": lambda m: m.apply_gufunc(
        lambda u, v: (u * v).sum(), "(i),(i)->()", made(m, chunks=(2, 8)), made(m, DATA[0], 8),
        vectorize=True, output_dtypes=float,
    ),
    "apply_gufunc, axis": lambda m: m.apply_gufunc(
        lambda v: v.sum(axis=-1), "(i)->()", made(m, chunks=(6, 3)), axis=0, keepdims=True,
        output_dtypes=float,
    ),
    "gufunc": lambda m: m.gufunc(
        lambda v: np.ptp(v, axis=-1), signature="(i)->()", output_dtypes=float
    )(made(m), allow_rechunk=True),
    "as_gufunc": lambda m: m.as_gufunc("(i)->(j)", output_dtypes=float, output_sizes={"j": 2})(
        lambda v: v[..., :2]
    )(made(m), allow_rechunk=True),
    "apply_along_axis": lambda m: m.apply_along_axis(
        lambda v: v.max() - v.min(), 0, made(m), dtype="float64", shape=()
    ),
    "reduction": lambda m: m.reduction(
        made(m), lambda b, axis, keepdims: b.max(axis=axis, keepdims=keepdims),
        lambda b, axis, keepdims: b.max(axis=axis, keepdims=keepdims), axis=1, dtype=float,
    ),
    "apply_along_axis, one block": lambda m: m.apply_along_axis(
        lambda v, k: np.sort(v)[k:], -1, made(m, chunks=(6, 8)), 3, dtype="float32", shape=(5,)
    ),
    "apply_along_axis, cut": lambda m: m.apply_along_axis(
        np.sort, 0, made(m), dtype="float64", shape=(6,)
    ),
    "reduction, one block": lambda m: m.reduction(
        made(m, CUBE, (3, 4, 5)), np.sum, lambda b, axis, keepdims, dtype: (
            np.sum(b, axis=axis, keepdims=keepdims).astype(dtype)
        ), axis=[-1, 0], keepdims=True, dtype="float32", split_every=2, name="mine",
    ),
    "reduction, all of one block": lambda m: m.reduction(
        made(m, chunks=-1), lambda b, axis, keepdims: (b * b).sum(axis=axis, keepdims=keepdims),
        lambda b, axis, keepdims: np.sqrt(b.sum(axis=axis, keepdims=keepdims)), dtype=float,
    ),
    "reduction, one block with weights": lambda m: m.reduction(
        made(m, chunks=-1),
        lambda b, weights, axis, keepdims: (b * weights).sum(axis=axis, keepdims=keepdims),
        np.sum, dtype=float, weights=DATA[0],
    ),
    "reduction, all": lambda m: m.reduction(made(m), np.min, np.min, dtype=float, split_every=2),
    "rechunk": lambda m: m.rechunk(made(m), (2, 8)),
    "rechunk, then blocks": lambda m: made(m).rechunk({0: 3}).map_blocks(lambda b: b - b[0]),
    "coarsen": lambda m: m.coarsen(np.max, made(m, chunks=(2, 4)), {0: 2, 1: 4}),
    "coarsen, trimmed": lambda m: m.coarsen(
        np.min, made(m, chunks=(6, 8)), {0: 4}, trim_excess=True
    ),
    "coarsen by another": lambda m: m.coarsen(
        lambda b, axis=None: b.max(axis=axis), made(m, chunks=(2, 4)), {0: 2, 1: 2}
    ),
    "shuffle": lambda m: made(m).shuffle([[5, 0], [2], [1, 4, 3]], 0),
    "reshape_blockwise": lambda m: m.reshape_blockwise(made(m, CUBE, 2), (12, 5)),
    "from_delayed": lambda m: m.from_delayed(dask.delayed(np.ones)((3, 2)), (3, 2), float) + 1,
    "from a thing": lambda m: m.from_array(Thing(), chunks=2) * 2,
    "blocks": lambda m: made(m).blocks[1, 0:2],
    "blocks by a list": lambda m: made(m).blocks[:, [2, 0]],
    "partitions": lambda m: made(m).partitions[..., -1],
    "vindex": lambda m: made(m).vindex[[0, 5, 2], [7, 0, 3]],
    "vindex of an axis": lambda m: made(m, CUBE, 2).vindex[:, [3, 0], [4, 1]],
    "of an expression": lambda m: (made(m) * 2 + 1)[::2].map_blocks(lambda b: b - 1),
    "of a mean": lambda m: (made(m) - made(m).mean(axis=0)).map_blocks(np.abs),
    "of blocks of blocks": lambda m: (
        made(m).map_blocks(np.sqrt) + made(m).map_blocks(np.square)
    ).map_blocks(lambda b: b[::-1]),
    "of a part of blocks": lambda m: made(m).map_blocks(np.sqrt)[1:, ::2].map_blocks(np.negative),
    "of stacked": lambda m: m.stack([made(m), made(m) + 1]).map_blocks(lambda b: b * 3),
    "empty": lambda m: made(m, DATA[:0], (1, 3)).map_blocks(lambda b: b + 1, dtype=float),
    "no axes": lambda m: made(m, np.array(3.0), ()).map_blocks(lambda b: b + 1),
    "unknown sizes": lambda m: m.map_blocks(
        lambda b: b[b > 5], made(m, DATA[0], 3), chunks=((float("nan"),) * 3,), dtype=float
    ),
}  # fmt: skip


class Thing:
    """What has a shape, a dtype and slices, as files do."""

    shape, dtype, ndim = (5,), np.dtype("int32"), 1

    def __getitem__(self, item: Any) -> Any:
        return np.arange(5, dtype="int32")[item]


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
        return
    assert isinstance(ours, sc.Array)
    assert ours.dtype == theirs.dtype
    if not any(np.isnan(extent) for extent in theirs.shape):
        assert ours.chunks == theirs.chunks
        assert (ours.chunksize, ours.npartitions) == (theirs.chunksize, theirs.npartitions)
        assert ours.shape == theirs.shape
    right = theirs.compute(scheduler="sync")
    np.testing.assert_array_equal(ours.compute(), right)
    np.testing.assert_array_equal((ours + 1).compute(on="cores:2"), right + 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_dask_does(name: str) -> None:
    same(PROGRAMS[name](sc), PROGRAMS[name](da))


def test_gaps_are_filled_as_dask_fills_them() -> None:
    """dask.array needs bottleneck for it, ours nothing."""
    x = np.array([[np.nan, 1, np.nan, np.nan], [2, np.nan, 3, np.nan], [np.nan] * 4])
    ours = sc.from_array(x, chunks=(2, 2))
    right = [[np.nan, 1, 1, 1], [2, 2, 3, 3], [np.nan] * 4]
    np.testing.assert_array_equal(sc.push(ours, None, 1).compute(), right)
    down = [[np.nan, 1, np.nan, np.nan], [2, 1, 3, np.nan], [2, np.nan, 3, np.nan]]
    np.testing.assert_array_equal(sc.push(ours, 1, 0).compute(), down)


ONE_BLOCK: Final = """
import sys, numpy as np, speedcube as sc
x = sc.asarray(np.arange(12.0).reshape(3, 4)) + 1
y = sc.apply_along_axis(np.sort, 0, x)
z = sc.reduction(x, np.max, np.min, axis=1, dtype=x.dtype)
x[0, 0] = 50.0  # which is not theirs
print(type(y).__name__, y.shape, y.compute().tolist()[0], (z * 2).compute().tolist())
print("dask.array" in sys.modules)
"""


def test_one_block_needs_no_array_of_dasks() -> None:
    run = subprocess.run(
        [sys.executable, "-c", ONE_BLOCK], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [
        "Array (3, 4) [1.0, 2.0, 3.0, 4.0] [8.0, 16.0, 24.0]",
        "False",
    ]


def test_what_a_function_gives_of_one_block_is_held_against_what_was_said() -> None:
    x = made(sc, chunks=-1)
    with pytest.raises(ValueError, match=r"reduction gave an array of shape \(6, 1\), and \(6,\)"):
        sc.reduction(x, np.sum, lambda b, axis, keepdims: b, axis=1, dtype=float).compute()
    with pytest.raises(ValueError, match="Must specify dtype"):
        sc.reduction(x, np.sum, np.sum, axis=1)
    for ours in (False, True):
        with pytest.raises(np.exceptions.AxisError):
            (sc if ours else da).reduction(made(sc if ours else da), np.sum, np.sum, 2, dtype="f8")


STUBS: Final = sorted(
    {"apply_gufunc", "blockwise", "coarsen", "from_array", "from_delayed", "from_npy_stack"}
    | {"from_tiledb", "from_zarr", "map_blocks", "map_overlap", "push", "rechunk", "reduction"}
    | {"reshape_blockwise", "shuffle", "store", "to_hdf5", "to_npy_stack", "to_tiledb"}
    | {"apply_along_axis", "unify_chunks"}
)


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


OURS: Final = {"from_zarr": "missing"}  # what Dask has not


@pytest.mark.parametrize("name", STUBS)
def test_a_signature_is_dasks(name: str) -> None:
    mine = [one for one in parameters(getattr(sc, name)) if one[0] != OURS.get(name)]
    assert mine == parameters(getattr(da, name))
    assert len(mine) == len(parameters(getattr(sc, name))) - (name in OURS)


@pytest.mark.parametrize(
    "name", ["overlap", "sliding_window_view", "trim_internal", "trim_overlap"]
)
def test_a_signature_of_overlap_is_dasks(name: str) -> None:
    assert parameters(getattr(sc.overlap, name)) == parameters(getattr(da.overlap, name))


def test_every_attribute_of_dasks_arrays_is_there() -> None:
    missing = {name for name in dir(da.Array) if name[0] != "_"} - set(dir(sc.Array))
    assert missing == set()


def test_what_follows_is_one_kernel_and_the_function_runs_once_a_block() -> None:
    seen = []

    def noting(block: Any) -> Any:
        seen.append(block.shape)
        return block * 2

    y = made(sc).map_blocks(noting, dtype=float)
    z = (y + 1).sum(axis=0) * 3
    assert len(z.plan(on="core").stages) == 2
    seen.clear()  # Dask has looked with an empty block
    np.testing.assert_array_equal(z.compute(), (DATA * 2 + 1).sum(axis=0) * 3)
    assert sorted(seen) == sorted((a, b) for a in (4, 2) for b in (3, 3, 2))


@pytest.mark.parametrize("rung", ["core", "cores:2", "cores:3"])
def test_blocks_are_those_of_the_chunks_on_every_rung(rung: str) -> None:
    x = sc.random.default_rng(0).normal(size=(50, 40), chunks=(20, 15))
    sizes = sc.map_blocks(lambda b: np.full(b.shape, b.size), x, dtype=int)
    right = np.multiply.outer(np.repeat([20, 20, 10], [20, 20, 10]), [15] * 30 + [10] * 10)
    np.testing.assert_array_equal(sizes.compute(on=rung), right)


def test_explain_says_that_no_law_covers_it() -> None:
    told_of = (made(sc).map_blocks(lambda block: np.sqrt(block)) + 1).explain()
    assert not told_of.covered
    (step,) = [one for one in told_of.steps if one.law == "not covered"]
    assert step.node == "map_blocks(lambda)"
    assert "blocks of x.chunks" in step.how
    assert "map_blocks(lambda) + 1" in repr(made(sc).map_blocks(lambda block: block) + 1)


def test_a_ufunc_of_numpys_is_one_operation_with_its_law() -> None:
    x = made(sc)
    for ours in (x.map_blocks(np.sqrt), sc.map_blocks(np.add, x, x)):
        assert ours.explain().covered
        assert ours.chunks == x.chunks
    np.testing.assert_array_equal(sc.map_blocks(np.add, x, x).compute(), DATA + DATA)
    assert not x.map_blocks(np.sqrt, dtype=float).explain().covered  # Dask's keywords: Dask's way


def test_a_slice_of_an_overlap_reads_what_it_needs() -> None:
    x = sc.asarray(np.arange(400.0).reshape(20, 20), chunks=(5, 5))
    for boundary in ("none", "reflect", "periodic", "nearest", 7.0):
        ours = sc.overlap.overlap(x, 2, boundary)
        assert ours.explain().covered
        theirs = da.overlap.overlap(da.from_array(x.compute(), chunks=(5, 5)), 2, boundary)
        assert ours.chunks == theirs.chunks
        np.testing.assert_array_equal(ours[3:9, -4:].compute(), theirs[3:9, -4:].compute())
    with pytest.raises(ValueError, match="larger than"):
        sc.overlap.overlap(x, 21, "none")
    with pytest.raises(ValueError, match="larger than smallest chunksize"):
        sc.overlap.overlap(x, 6, "none", allow_rechunk=False)


def test_the_source_is_never_written_to() -> None:
    data = DATA.copy()
    x = made(sc, data)
    x.map_blocks(lambda b: np.negative(b, out=b)).compute()
    np.testing.assert_array_equal(data, DATA)
    held = (x * 1).persist()
    held.map_blocks(lambda b: np.negative(b, out=b)).compute()
    np.testing.assert_array_equal(held.compute(), DATA)


# Bad input ---------------------------------------------------------------------------------------


def raising(block: Any) -> Any:
    if block.size > 1:
        raise ZeroDivisionError("my own")
    return block


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_a_function_that_raises_is_seen_with_its_own_line(rung: str) -> None:
    with pytest.raises(ZeroDivisionError, match="my own") as found:
        made(sc).map_blocks(raising).compute(on=rung)
    lines = [entry.statement for entry in found.traceback]
    assert any('raise ZeroDivisionError("my own")' in str(line) for line in lines)


def test_blocks_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"map_blocks.* of shape \(1, \d\), and \(\d, \d\) was"):
        made(sc).map_blocks(lambda b: b[:1], dtype=float).compute()
    with pytest.raises(ValueError, match="chunks="):
        (made(sc).map_blocks(lambda b: b[:1], dtype=float) + 1).map_blocks(np.sqrt).compute()


def test_blocks_of_another_dtype_are_refused_or_converted() -> None:
    with pytest.raises(TypeError, match=r"gave float64, and int32 was announced.*dtype='float64'"):
        made(sc).map_blocks(lambda b: b / 2, dtype="int32").compute()
    y = made(sc).map_blocks(lambda b: b.astype("int16"), dtype="float64")
    assert y.compute().dtype == "float64"


def test_more_axes_than_said_are_refused_by_dask() -> None:
    y = made(sc).map_blocks(lambda b: b[None], enforce_ndim=True, dtype=float)
    with pytest.raises(ValueError, match="Dimension mismatch"):
        y.compute()


def test_a_dtype_that_cannot_be_found_is_dasks_error() -> None:
    with pytest.raises(ValueError, match="inference failed in `map_blocks`"):
        made(sc).map_blocks(lambda b, missing: b)
    with pytest.raises(np.exceptions.AxisError):
        sc.reduction(made(sc), np.max, np.max, axis=7, dtype=float)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        made(sc).map_blocks(np.sqrt, new_axis="x", dtype=float)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.blocks[9, 9], IndexError, "index 9"),
        (lambda x: x.blocks[0, 0, 0], IndexError, "too many indices: 3"),
        (lambda x: x.blocks[[0], [1]], ValueError, "one list"),
        (lambda x: x.blocks[None], ValueError, "cannot add an axis"),
        (lambda x: sc.coarsen(np.sum, x, {0: 4}), ValueError, "trim_excess=True"),
        (lambda x: sc.shuffle(x, [1, 2], 0), ValueError, "lists of positions"),
        (lambda x: sc.from_array(x), ValueError, "does not take a lazy array"),
        (lambda x: sc.from_array(np.ones(3), chunks=(2, 2)), ValueError, "chunks"),
        (lambda x: x.map_overlap(np.sqrt, depth=9, boundary=0).compute(), ValueError, "overlap"),
        (lambda x: sc.apply_gufunc(np.sum, "(i)->()", x), ValueError, "allow_rechunk"),
        (lambda x: sc.apply_gufunc(np.sum, "i->", x), ValueError, "signature"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(made(sc))


# From and to elsewhere ---------------------------------------------------------------------------


def test_delayed_chunks_have_their_own_values() -> None:
    parts = (made(sc) + 1).to_delayed()
    assert parts.shape == (2, 3)
    np.testing.assert_array_equal(parts[1, 2].compute(), DATA[4:, 6:] + 1)


def test_files_and_back(tmp_path: Any) -> None:
    x = made(sc) + 1
    sc.to_npy_stack(tmp_path / "stack", x)
    np.testing.assert_array_equal(sc.from_npy_stack(tmp_path / "stack").compute(), DATA + 1)
    target, other = np.zeros((6, 8)), np.zeros((8, 8))
    sc.store([x, x], [target, other], regions=[None, (slice(1, 7), slice(None))])
    np.testing.assert_array_equal(target, DATA + 1)
    np.testing.assert_array_equal(other[1:7], DATA + 1)


def test_what_has_no_kernels_stays_dasks() -> None:
    texts = made(sc).map_blocks(lambda b: b.astype(str), dtype="U8")
    assert isinstance(texts, da.Array)
    assert texts.compute()[0, 1] == "1.5"


def test_a_graph_of_many_chunks_of_a_mean_computes_the_mean_once() -> None:
    x = sc.from_array(DATA, chunks=1)
    tasks = dict((x - x.mean()).to_dask_array().dask)
    assert len(tasks) == 48 + 1  # each chunk, and what they are cut from


def test_chunks_that_are_not_needed_are_not_made() -> None:
    seen = []

    def noting(block: Any, block_info: Any = None) -> Any:
        if block_info:
            seen.append(tuple(block_info[0]["chunk-location"]))
        return block * 2

    y = made(sc).map_blocks(noting, dtype=float)
    part = y[1:3, :4] - y[:2, 1:5]
    assert "(3, 5)" in repr(part.plan(on="core").deferred[0].shape)
    np.testing.assert_array_equal(part.compute(), (DATA[1:3, :4] - DATA[:2, 1:5]) * 2)
    assert sorted(set(seen)) == [(0, 0), (0, 1)]
    assert y[3, 7].compute() == DATA[3, 7] * 2
