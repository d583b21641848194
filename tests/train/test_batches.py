"""`train.batches`: every row once an epoch, the same global batches whatever the ranks."""

from __future__ import annotations

import gc
import itertools
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube import train
from speedcube.engine import prepare, tiers
from speedcube.engine.writer import Writer
from speedcube.errors import ParameterError, ParameterTypeError, RungError
from speedcube.train.data import batches as module
from speedcube.train.data.order import CHUNK, epoch_key
from speedcube.train.data.shares import LAST, Shares
from speedcube.train.ranks import context

torch = pytest.importorskip("torch", reason="torch is an extra, and not installed here")

RNG = sc.random.default_rng(11)


def order(n: int, seed: int, epoch: int) -> np.ndarray:
    """The order that the documentation names."""
    child = sc.random.SeedSequence(seed, spawn_key=(2**32 - 1, epoch))
    return sc.random.default_rng(child).permutation(n).compute(on="core")


def ranks(n: int, batch: int, world: int, **how: Any) -> list[list[np.ndarray]]:
    """The rows of each batch of each rank."""
    rows = torch.arange(n)
    return [
        [b.numpy() for b in train.batches(rows, batch, rank=r, world_size=world, **how)]
        for r in range(world)
    ]


def joined(ranks_batches: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Global batches: of each, the parts of the ranks in their order."""
    assert len({len(of_rank) for of_rank in ranks_batches}) == 1, (
        "DDP needs as many batches on each rank"
    )
    return [np.concatenate(parts) for parts in zip(*ranks_batches, strict=True)]


@given(
    rows=st.integers(1, 10**18),
    each=st.integers(1, 10**6),
    world=st.integers(1, 100),
    last=st.sampled_from(sorted(LAST)),
    data=st.data(),
)
def test_the_ranks_share_out_the_places(
    rows: int, each: int, world: int, last: str, data: st.DataObject
) -> None:
    batch = each * world
    assume(last != "drop" or batch <= rows)
    shares = [Shares(rows, batch, last, rank, world) for rank in range(world)]
    (count,) = {s.count for s in shares}
    assert count == (rows // batch if last == "drop" else -(-rows // batch))
    number = data.draw(st.sampled_from([0, count // 2, count - 1]))
    size = min(batch, rows - number * batch) if last == "short" else batch
    spans = [s.span(number) for s in shares]
    ends = [number * batch, *(end for _, end in spans)]
    assert [begin for begin, _ in spans] == ends[:-1]
    assert ends[-1] == number * batch + size == number * batch + shares[0].size(number)
    sizes = [end - begin for begin, end in spans]
    assert max(sizes) - min(sizes) <= (size < batch)


@settings(max_examples=8, deadline=None)
@given(
    n=st.integers(1, 300),
    eighths=st.integers(1, 12),
    seed=st.integers(0, 2**70),
    epoch=st.integers(0, 2**40),
    last=st.sampled_from(sorted(LAST)),
)
def test_the_global_batches_are_the_same_for_any_number_of_ranks(
    n: int, eighths: int, seed: int, epoch: int, last: str
) -> None:
    batch = 8 * eighths
    if last == "drop" and batch > n:
        last = "short"
    expected = order(n, seed, epoch)
    if last == "pad":
        expected = np.resize(expected, -(-n // batch) * batch)
    elif last == "drop":
        expected = expected[: n // batch * batch]
    wanted = np.split(expected, range(batch, len(expected), batch))
    for world in (1, 2, 4, 8):
        batches = joined(ranks(n, batch, world, seed=seed, epoch=epoch, last=last))
        assert [b.tolist() for b in batches] == [b.tolist() for b in wanted], (world, last)


@pytest.mark.parametrize("n", [960, 1000, 3 * CHUNK // 2])
def test_every_row_comes_once_an_epoch(n: int) -> None:
    by_rank = ranks(n, 96, 4, last="short")
    rows = np.concatenate([row for of_rank in by_rank for row in of_rank])
    assert (np.sort(rows) == np.arange(n)).all()


def test_every_epoch_and_every_seed_has_an_order_of_its_own() -> None:
    orders = {
        (seed, epoch): tuple(np.concatenate(joined(ranks(64, 64, 1, seed=seed, epoch=epoch))))
        for seed in (0, 1, (1, 2))
        for epoch in range(4)
    }
    assert len(set(orders.values())) == 12


def test_the_key_of_an_epoch_is_that_of_the_permutation() -> None:
    assert epoch_key(3, 4) != epoch_key(3, 5)
    assert (order(50, 3, 4) == np.concatenate(ranks(50, 50, 1, seed=3, epoch=4)[0])).all()


def test_a_pass_goes_on_in_the_middle() -> None:
    x = torch.arange(1000)
    whole = [b.tolist() for b in train.batches(x, 96, 5, 2, last="short")]
    assert len(whole) == 11
    for start in range(12):
        rest = train.batches(x, 96, 5, 2, last="short", start=start)
        assert (len(rest), rest.batches_left) == (11 - start, 11 - start)
        assert [b.tolist() for b in rest] == whole[start:]


def test_it_says_where_it_is() -> None:
    short = train.batches(torch.arange(100), 30, last="short")
    assert (len(short), short.next_batch, short.batches_left) == (4, 0, 4)
    for number, _ in enumerate(short):
        assert (short.next_batch, short.batches_left) == (number + 1, 3 - number)
    assert repr(short) == "<4 batches of 30 from 100 rows, rank 0 of 1, on cpu; next: 4>"
    first = [b.tolist() for b in short]
    assert first == [b.tolist() for b in short], "a second pass has the same batches"
    assert [short.rows(k) for k in range(4)] == [30, 30, 30, 10]
    with pytest.raises(ParameterError, match="no batch 4; the last is 3"):
        short.rows(4)


LAST_OF_TEN: dict[str, tuple[int, list[int]]] = {
    "drop": (1, [2, 2, 2, 2]),  # batches; rows of each rank's last
    "pad": (2, [2, 2, 2, 2]),
    "short": (2, [0, 1, 0, 1]),
}


@pytest.mark.parametrize("last", LAST)
def test_the_rule_for_the_last_batch(last: str) -> None:
    by_rank = ranks(10, 8, 4, last=last)
    count, sizes = LAST_OF_TEN[last]
    assert [len(of_rank) for of_rank in by_rank] == [count] * 4
    assert [len(of_rank[-1]) for of_rank in by_rank] == sizes


def test_short_batches_weigh_their_rows_as_documented() -> None:
    """Summed losses over ``rows(k) / world_size``, averaged over ranks: the mean over rows."""
    values = torch.arange(10.0)
    by_rank = [train.batches(values, 8, last="short", rank=r, world_size=4) for r in range(4)]
    for k, parts in enumerate(zip(*by_rank, strict=True)):
        averaged = sum(part.sum() / (by_rank[0].rows(k) / 4) for part in parts) / 4
        assert averaged == pytest.approx(float(torch.cat(parts).mean()))


def test_the_structure_is_kept() -> None:
    x, y = torch.arange(40.0).reshape(20, 2), np.arange(20)
    rows = order(20, 0, 0)[:5]
    (one, *_) = train.batches(x, 5)
    assert torch.equal(one, x[rows])
    for kind in (tuple, list):
        (first, *_) = train.batches(kind([x, y]), 5)
        assert type(first) is kind
        assert torch.equal(first[0], x[rows])
        assert first[1].tolist() == rows.tolist()
    (named, *_) = train.batches({"images": x, 7: y}, 5)
    assert list(named) == ["images", 7]
    assert named[7].tolist() == rows.tolist()


DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_kept(dtype: str) -> None:
    values = np.arange(60).reshape(20, 3).astype(dtype)
    vector = values[:, 0].copy()  # of which PyTorch has other kernels
    (first, *_) = train.batches((values, sc.asarray(values), torch.from_numpy(values)), 5)
    (flat, *_) = train.batches(vector, 5)
    assert flat.dtype == getattr(torch, dtype)
    assert (flat.numpy() == vector[order(20, 0, 0)[:5]]).all()
    rows = order(20, 0, 0)[:5]
    for tensor in first:
        assert tensor.dtype == getattr(torch, dtype)
        assert tensor.device == torch.device("cpu")
        assert (tensor.numpy() == values[rows]).all()


def test_bfloat16_and_complex_tensors() -> None:
    for dtype in (torch.bfloat16, torch.complex64):
        x = torch.arange(20).to(dtype)
        (first, *_) = train.batches(x, 5)
        assert torch.equal(first, x[order(20, 0, 0)[:5]])


def test_data_is_read_where_it_lies(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(30.0))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    x = np.arange(30.0)
    epoch = train.batches((mapped, x), 30)
    x *= 2
    (read, late) = next(iter(epoch))
    assert torch.equal(late, 2 * read), "what the array holds when the batch is made counts"


EXPRESSIONS: dict[str, sc.Array] = {
    "normals": RNG.standard_normal((500, 6), dtype="float32"),
    "one column": RNG.random(500),
    "three axes": RNG.standard_normal((500, 3, 4)),
    "backwards": RNG.standard_normal((1000, 8))[::-2, ::3],
    "a transpose": RNG.standard_normal((6, 500)).T,
    "standardised": (lambda x: (x - x.mean(axis=0)) / x.std(axis=0))(RNG.gamma(2.0, size=(500, 5))),
    "stored and drawn": sc.asarray(np.arange(2000.0).reshape(500, 4)) + RNG.random((500, 4)),
    "gamma": RNG.gamma(0.7, size=(500, 3)),
    "integers": RNG.integers(0, 10, (500, 2), dtype="int8"),
    "coordinates": sc.arange(1000).reshape(500, 2) * 3,
    "a constant": sc.ones((500, 2), dtype="float16"),
    "running sums": RNG.random((500, 3)).cumsum(axis=0),
    "no columns": sc.ones((500, 0)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_speedcube_arrays_give_their_own_bits(name: str) -> None:
    x = EXPRESSIONS[name]
    expected = x.compute(on="core")[order(500, 3, 1)]
    by_rank = [
        list(train.batches(x, 96, 3, 1, last="short", rank=r, world_size=2)) for r in range(2)
    ]
    whole = torch.cat([part for parts in zip(*by_rank, strict=True) for part in parts]).numpy()
    assert whole.dtype == expected.dtype
    assert whole.tobytes() == expected.tobytes()


def test_an_array_larger_than_any_memory_needs_none() -> None:
    n = 10**12
    x = sc.random.default_rng(0).standard_normal((n, 4), dtype="float32")
    resumed = train.batches((x, sc.arange(n)), 1024, 1, 9, start=123_456, rank=3, world_size=4)
    assert len(resumed) == n // 1024 - 123_456
    rows, places = next(iter(resumed))
    child = sc.random.SeedSequence(1, spawn_key=(2**32 - 1, 9))
    begin = 123_456 * 1024 + 768
    expected = sc.random.default_rng(child).permutation(n)[begin : begin + 256].compute(on="core")
    assert (places.numpy() == expected).all()
    for k in (0, 100, 255):
        assert rows[k].numpy().tobytes() == x[int(places[k])].compute(on="core").tobytes()


def test_kernels_write_into_the_tensors_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def call(self: Writer, out: Any, inputs: Any) -> None:
        written.append(out.__array_interface__["data"][0])
        real(self, out, inputs)

    real = Writer.__call__
    monkeypatch.setattr(Writer, "__call__", call)
    rows = next(iter(train.batches(RNG.random((64, 3)), 16)))
    assert len(written) == 2, "the order's kernel and the rows'"
    assert rows.data_ptr() == written[1]


def test_kernels_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches, epochs and seeds are arguments: after the first batch none is made."""
    x = RNG.standard_normal((3 * CHUNK, 2), dtype="float32")
    arrays = (x, torch.arange(3 * CHUNK))
    next(iter(train.batches(arrays, 512, rank=1, world_size=2)))

    def refuse(*args: Any) -> None:
        raise AssertionError("a kernel is made again")

    monkeypatch.setattr(prepare, "lower", refuse)
    monkeypatch.setattr(tiers, "build", refuse)
    monkeypatch.setattr(tiers, "load", refuse)
    for seed, epoch in itertools.product((0, 1), (0, 1)):
        resumed = train.batches(arrays, 512, seed, epoch, rank=1, world_size=2, start=300)
        rows, places = list(resumed)[-1]
        k = int(places[7])
        monkeypatch.undo() if (seed, epoch) == (1, 1) else None
    assert rows[7].numpy().tobytes() == x[k].compute(on="core").tobytes()


def test_the_ranks_of_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    rows = [b.tolist() for b in train.batches(torch.arange(20), 10)]
    assert rows == [b.tolist() for b in ranks(20, 10, 2)[1]]


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(RungError, match="batches cannot be made on cuda: torch sees 0 GPUs"):
        train.batches(torch.arange(20), 5, device="cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(module, "cupy_problem", lambda: "CuPy is not installed (pip ...)")
    with pytest.raises(RungError, match=r"on cuda:1: .* CuPy is not installed \(pip"):
        train.batches(torch.arange(20), 5, device="cuda:1")


@pytest.mark.parametrize("make", [lambda: sc.asarray(np.ones((50, 2))), lambda: sc.ones(50) * 2])
def test_what_is_kept_for_an_array_goes_with_it(make: Any) -> None:
    x = make()
    assert len(list(train.batches(x, 10))) == 5
    alive = weakref.ref(x._expr)
    del x
    gc.collect()
    assert alive() is None


X = torch.arange(20)
REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "other lengths": (
        {"arrays": (X, X[:3])},
        ParameterError,
        r"arrays\[0\] has 20, arrays\[1\] ha",
    ),
    "lengths by name": ({"arrays": {"a": X, "b": X[:3]}}, ParameterError, r"arrays\['b'\] has 3"),
    "no rows": ({"arrays": X[:0]}, ParameterError, "the arrays have no rows"),
    "no arrays": ({"arrays": ()}, ParameterError, "arrays is empty"),
    "a number": ({"arrays": 3}, ParameterTypeError, "arrays must be a torch tensor, .* not int"),
    "nested": ({"arrays": [[1, 2]]}, ParameterTypeError, r"arrays\[0\] must be .* not list"),
    "no axis": ({"arrays": torch.tensor(1)}, ParameterTypeError, r"no axis of rows: its shape is"),
    "text": ({"arrays": np.array(["a"])}, ParameterTypeError, "cannot be read as a torch tensor"),
    "flipped": ({"arrays": np.arange(9)[::-1]}, ParameterTypeError, "arrays cannot be read .* neg"),
    "sparse": ({"arrays": torch.eye(3).to_sparse()}, ParameterTypeError, "must be a dense tensor"),
    "too large": ({"batch_size": 21}, ParameterError, "more than the 20 rows .* last='short'"),
    "none": ({"batch_size": 0}, ParameterError, "batch_size must be 1 or more, not 0"),
    "half": ({"batch_size": 2.5}, ParameterTypeError, "batch_size must be an integer, not 2.5"),
    "no divisor": (
        {"batch_size": 10, "rank": 0, "world_size": 4},
        ParameterError,
        "10 do not divide by 4 ranks; 8 or 12 would",
    ),
    "fewer than ranks": (
        {"batch_size": 3, "rank": 0, "world_size": 4},
        ParameterError,
        "3 do not divide by 4 ranks; 4 would",
    ),
    "rank alone": ({"rank": 1}, ParameterError, "rank=1 and world_size=None: give both"),
    "rank beyond": ({"rank": 2, "world_size": 2}, ParameterError, "between 0 and world_size - 1"),
    "rule": ({"last": "keep"}, ParameterError, r"last='keep' is not a rule .* 'drop' \(left out"),
    "rules": ({"last": ["drop"]}, ParameterError, r"last=\['drop'\] is not a rule"),
    "mask": ({"arrays": np.ma.zeros(9)}, ParameterTypeError, r"arrays has a mask, .* pass filled"),
    "start": ({"start": 5}, ParameterError, "start=5 is not a batch of this epoch, which has 4"),
    "before": ({"start": -1}, ParameterError, "start=-1 is not a batch"),
    "epoch": ({"epoch": -1}, ParameterError, "epoch must be 0 or more, not -1"),
    "no seed": ({"seed": None}, ParameterError, "seed must be a number that all ranks"),
    "negative seed": ({"seed": -2}, ParameterError, "a seed is an integer >= 0"),
    "device": ({"device": "gpu"}, ParameterTypeError, "device='gpu' is not a device of torch"),
    "meta": ({"device": "meta"}, ParameterError, "on 'cpu' and 'cuda' devices, not on meta"),
    "elsewhere": (
        {"arrays": torch.empty(9, device="meta"), "device": "cpu"},
        ParameterError,
        "arrays is on meta and batches are wanted on cpu; move it",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    how, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        train.batches(**{"arrays": X, "batch_size": 5, **how})


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_tensor_is_refused(layout: torch.layout) -> None:
    nested = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=layout)
    with pytest.raises(ParameterTypeError, match="arrays must be a dense tensor, and is nested"):
        train.batches(nested, 1)


def test_the_ranks_and_the_device_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "inside", lambda: True)
    monkeypatch.setattr(context, "rank", lambda: 1)
    monkeypatch.setattr(context, "world_size", lambda: 2)
    monkeypatch.setattr(context, "device", lambda: torch.device("cpu"))
    epoch = train.batches(torch.arange(60), 20, 4, 5)
    assert repr(epoch) == "<3 batches of 20 from 60 rows, rank 1 of 2, on cpu; next: 0>"
    assert [b.tolist() for b in epoch] == [b.tolist() for b in ranks(60, 20, 2, seed=4, epoch=5)[1]]
    monkeypatch.setattr(context, "device", lambda: torch.device("meta"))
    with pytest.raises(ParameterError, match="on 'cpu' and 'cuda' devices, not on meta"):
        train.batches(torch.arange(60), 20)


# On a GPU ------------------------------------------------------------------------------------


@pytest.fixture
def no_synchronising() -> Iterator[None]:
    """PyTorch refuses what would wait for the GPU, such as a copy to the host."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it may not find every one
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_gpu_gives_the_same_bits(name: str) -> None:
    x = EXPRESSIONS[name]
    how = {"last": "short", "rank": 1, "world_size": 2}
    here = list(train.batches(x, 96, 3, 1, **how))
    there = list(train.batches(x, 96, 3, 1, device="cuda", **how))
    for a, b in zip(here, there, strict=True):
        assert b.device == torch.device("cuda", 0)
        assert a.numpy().tobytes() == b.cpu().numpy().tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("stream", ["default", "own"])
def test_the_kernels_of_a_gpu_write_into_the_tensors_memory(
    stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cupy

    written = []

    def call(self: Writer, out: Any, inputs: Any) -> None:
        assert isinstance(out, cupy.ndarray)
        assert all(isinstance(array, cupy.ndarray) for array in inputs.values())
        written.append((out.data.ptr, cupy.cuda.get_current_stream().ptr))
        real(self, out, inputs)

    real = Writer.__call__
    monkeypatch.setattr(Writer, "__call__", call)
    chosen = torch.cuda.Stream() if stream == "own" else torch.cuda.default_stream()
    with torch.cuda.stream(chosen):
        rows = list(train.batches(RNG.random((64, 3)), 16, device="cuda"))
    assert [ptr for ptr, _ in written[1:]] == [row.data_ptr() for row in rows]
    assert {used for _, used in written} == {chosen.cuda_stream}


@pytest.mark.gpu
@pytest.mark.usefixtures("no_synchronising")
def test_a_pass_does_not_wait_for_the_gpu() -> None:
    x = torch.arange(100_000, device="cuda")
    y = RNG.random((100_000, 4), dtype="float32")
    for rows, values in train.batches((x, y), 1024):
        assert rows.device == values.device == torch.device("cuda", 0)
        rows.sum()


@pytest.mark.gpu
def test_host_memory_goes_to_the_gpu() -> None:
    values = np.random.default_rng(0).random((20_000, 8), dtype=np.float32)
    labels = torch.arange(20_000)
    rows = order(20_000, 0, 0)
    busy = torch.empty(1 << 24, device="cuda")
    moved = []
    for x, y, z in train.batches((values, labels, sc.arange(20_000)), 512, device="cuda"):
        busy.sin_()  # the batch waits in the stream while the next is copied
        assert x.device == y.device == z.device == torch.device("cuda", 0)
        moved.append((x * 2, y + 0, z))
    doubled, places, same = (torch.cat(column).cpu().numpy() for column in zip(*moved, strict=True))
    rows = rows[: len(places)]
    assert (places == rows).all()
    assert (same == rows).all()
    assert doubled.tobytes() == (values[rows] * 2).tobytes()


@pytest.mark.gpu
def test_a_tensor_of_a_gpu_is_not_taken_to_the_host() -> None:
    x = torch.arange(20, device="cuda")
    assert next(iter(train.batches(x, 5))).device == x.device
    with pytest.raises(ParameterError, match="arrays is on cuda:0 and batches are wanted on cpu"):
        train.batches(x, 5, device="cpu")
