"""From files and the host's memory to a GPU: the bits of arrays that are there."""

from __future__ import annotations

import sys
from concurrent import futures
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda_host import COMPILER, ONE, DeviceArray, HostKernels, fake_cupy
from oracle import assert_same_bits

import speedcube as sc
from speedcube.api.files.opening import read_by_tiles
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.boxes import Stop
from speedcube.engine.staging import boxes, copies, lanes
from speedcube.engine.staging.room import Room
from speedcube.engine.streams import worker
from speedcube.expr.nodes import StageResult, Tiled
from speedcube.expr.sources.tiled import Box
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import reads, streams
from speedcube.plan.plan import Resources, make_plan
from speedcube.plan.reads import BoxRead

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    return HostKernels([], tmp_path_factory.mktemp("staging"))


@pytest.fixture
def cupy(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr(streams, "BLOCK", 1 << 15)
    monkeypatch.setattr(boxes, "PIECE", 1 << 12)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))
    monkeypatch.setattr(lanes, "_idle", type(lanes._idle)(list))
    return module


def on_gpu(array: Any) -> Any:
    (result,) = engine.compute_all([array._expr], ONE, to="numpy")
    return np.asarray(result)


PROGRAMS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "columns": lambda x: x.mean(axis=0),
    "rows": lambda x: x.sum(axis=2),
    "extremes": lambda x: x.max(axis=0),
    "places": lambda x: x.argmax(axis=0),
    "reversed": lambda x: x[::-1, :, ::3] * 2,
    "neighbours": lambda x: (x[1:] - x[:-1]).std(axis=0),
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "padded": lambda x: sc.pad(x, 1).sum(axis=1),
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("program", ["columns", "places", "reversed", "padded"])
def test_files_are_read_into_the_gpu(
    cupy: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    at_once: bool,
) -> None:
    np.save(tmp_path / "x.npy", DATA)
    array, run = sc.open(tmp_path / "x.npy"), PROGRAMS[program]
    counts: list[int] = []
    read = boxes.read_there

    def counted(blocks: Any, stop: Stop, device: int) -> Any:
        found = list(blocks)
        counts.append(len(found))
        for block, arrays in read(iter(found), stop, device):
            assert all(type(one) is DeviceArray for one in arrays.values())
            yield block, arrays

    monkeypatch.setattr(worker, "read_there", counted)
    if not at_once:
        monkeypatch.setattr(worker, "room_there", lambda device: 1 << 10)
    assert_same_bits(on_gpu(run(array)), np.asarray(run(sc.asarray(DATA)).compute(on="core")))
    assert counts
    assert all((count == 1) == at_once for count in counts)


def test_a_file_that_ends_early_is_an_error_and_lanes_come_back(
    cupy: ModuleType, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", DATA)
    array = sc.open(tmp_path / "x.npy")
    on_gpu(array.sum())
    made = len(lanes._idle[0])
    assert 1 <= made <= min(lanes.MOST, lanes.machine.cores())
    with (tmp_path / "x.npy").open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(ValueError, match="ends before its last element"):
        on_gpu(array.sum())
    assert len(lanes._idle[0]) == made


@pytest.mark.parametrize(("rows", "straight"), [(1, True), (7, False)])
def test_chunks_that_fit_a_buffer_are_decoded_there(
    cupy: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, straight: bool
) -> None:
    zarr = pytest.importorskip("zarr")
    path = str(tmp_path / "x.zarr")
    made = zarr.create_array(path, shape=DATA.shape, dtype="f8", chunks=(rows, 11, 37))
    made[...] = DATA
    monkeypatch.setattr(lanes, "PIECE", 1 << 12)
    taken: list[int] = []
    buffer = boxes.LARGE_CHUNKS.buffer
    monkeypatch.setattr(
        boxes.LARGE_CHUNKS, "buffer", lambda count: taken.append(count) or buffer(count)
    )
    want = np.asarray(sc.asarray(DATA).mean(axis=0).compute(on="core"))
    assert_same_bits(on_gpu(sc.open(path).mean(axis=0)), want)
    assert bool(taken) != straight


class Counting:
    """A reader that notes the boxes it is asked for."""

    label, shape = "counting", (50, 6, 40)

    def __init__(self, chunks: tuple[int, ...]) -> None:
        self.chunks, self.asked = chunks, list[Box]()

    def read(self, box: Box, out: Any) -> None:
        self.asked.append(box)
        out[...] = np.arange(12_000.0).reshape(self.shape)[box]


@pytest.mark.parametrize("chunks", [(7, 6, 40), (1, 6, 40), (50, 6, 40), (1, 1, 40)])
@pytest.mark.parametrize("room", [100, 700, 2000, 50_000])
@pytest.mark.parametrize(
    "box",
    [(slice(0, 50), slice(0, 6)), (slice(3, 47), slice(1, 4)), (slice(2, 41, 3), slice(2, 3))],
)
def test_pieces_cover_a_box_and_cut_no_chunk_along_their_axis(
    monkeypatch: pytest.MonkeyPatch, chunks: tuple[int, ...], room: int, box: tuple[slice, ...]
) -> None:
    monkeypatch.setattr(boxes, "PIECE", 8 * room)
    reader = Counting(chunks)
    whole = tuple(slice(s.start, s.stop, s.step or 1) for s in (*box, slice(0, 40)))
    wanted = np.arange(12_000.0).reshape(reader.shape)[whole]
    read = BoxRead(Tiled(reader, "float64"), whole, StageResult(wanted.shape, "float64"))
    seen = np.full(wanted.size, np.nan)
    for piece, first in boxes.pieces_of(read):
        values = np.arange(12_000.0).reshape(reader.shape)[piece].reshape(-1)
        place = seen[first // 8 : first // 8 + values.size]
        assert np.isnan(place).all()
        place[...] = values
        begin, step = piece[0].start, piece[0].step
        assert begin == whole[0].start or step > 1 or begin % chunks[0] == 0
        assert values.size <= max(room, chunks[0] * 240)
    np.testing.assert_array_equal(seen, wanted.reshape(-1))


def test_a_reader_may_cut_chunks_that_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "PIECE", 8 * 240 * 5)
    reader = Counting((50, 6, 40))
    whole = tuple(slice(0, n, 1) for n in reader.shape)
    read = BoxRead(Tiled(reader, "float64"), whole, StageResult(reader.shape, "float64"))
    assert len(list(boxes.pieces_of(read))) == 1
    reader.cuts = (1, 6, 40)  # type: ignore[attr-defined]
    assert len(list(boxes.pieces_of(read))) == 10


def test_the_plan_counts_the_buffers(tmp_path: Path) -> None:
    array = read_by_tiles(Counting((1, 6, 40)), np.dtype("float64")).sum()
    there, here = (
        make_plan(array._expr, Resources("one", 1, gpu=gpu), "", 4096).peak_bytes
        for gpu in (True, False)
    )
    ahead = (reads.blocks_there(96_000) - reads.AHEAD) * 96_000
    assert there - here == lanes.MOST * 2 * lanes.PIECE + ahead


def test_what_is_larger_than_a_buffer_goes_through_it(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "PIECE", 1000)
    monkeypatch.setattr(boxes, "PIECE", 1000)
    reader = Counting((50, 6, 40))
    assert on_gpu(read_by_tiles(reader, np.dtype("float64")).sum()) == 12_000 * 11_999 / 2
    assert len(reader.asked) == 1


def test_blocks_on_their_way_fill_the_room_and_are_two_where_each_is_larger() -> None:
    sizes = 1, 8 << 20, 32 << 20, 100 << 20, 1 << 30
    assert [reads.blocks_there(size) for size in sizes] == [16, 16, 8, 2, 2]


def test_large_chunks_wait_for_room_and_their_memory_is_used_again() -> None:
    room, turns = Room(3000), list[str]()
    with room.kept(), futures.ThreadPoolExecutor(1) as other:

        def third() -> None:
            with room.buffer(1500):
                turns.append("third")

        with room.buffer(1500) as first, room.buffer(1500) as second:
            assert first is not second
            waiting = other.submit(third)
            with pytest.raises(futures.TimeoutError):
                waiting.result(0.1)
            turns.append("two")
        waiting.result(10)
        with room.buffer(1500) as again:
            assert again is first or again is second
        with room.buffer(2900) as large:  # two of them have room, however large
            assert large.size == 2900
            assert room.taken == 2900
            assert sum(one.size for one in room._idle) <= 100
    assert turns == ["two", "third"]
    assert not room._idle
    assert not room.taken


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "bool", "float16"])
@pytest.mark.parametrize("pinned", [False, True])
def test_large_arrays_are_copied_by_several_threads(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch, dtype: str, pinned: bool
) -> None:
    monkeypatch.setattr(copies, "LEAST", 1000)
    monkeypatch.setattr(copies, "PIECE", 4096)
    monkeypatch.setattr(cupy, "asarray", None)
    kind = SimpleNamespace(type=1 if pinned else 0)
    monkeypatch.setattr(cupy.cuda.runtime, "pointerGetAttributes", lambda _: kind)
    if pinned:
        monkeypatch.setattr(copies, "crew", None)
    array = (DATA * 100).astype(dtype)
    there = copies.device_copy(array)
    assert type(there) is DeviceArray
    assert_same_bits(np.asarray(there), array)


def test_small_arrays_are_cupys(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "crew", None)
    assert_same_bits(np.asarray(copies.device_copy(DATA)), DATA)


def test_reading_stops(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, stop = Counting((1, 6, 40)), Stop()
    array = read_by_tiles(reader, np.dtype("float64"))
    blocks = streams.blocks_of(array._expr)
    for number, _ in enumerate(boxes.read_there(blocks, stop, 0)):
        stop.set()
        assert not number
    assert len(reader.asked) < 50


@pytest.mark.gpu
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_files_on_a_gpu_have_the_bits_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, at_once: bool
) -> None:
    data = np.random.default_rng(4).normal(size=(900, 110, 370))  # nine blocks
    np.save(tmp_path / "x.npy", data)
    array, run = sc.open(tmp_path / "x.npy"), PROGRAMS[program]
    if not at_once:
        monkeypatch.setattr(worker, "room_there", lambda device: 1 << 20)
    wanted = np.asarray(run(sc.asarray(data)).compute(on="gpu"))
    for _ in range(2):  # lanes are used again
        assert_same_bits(np.asarray(run(array).compute(on="gpu")), wanted)


@pytest.mark.gpu
def test_host_arrays_on_a_gpu_have_their_bits() -> None:
    import cupy

    data = np.random.default_rng(5).normal(size=9_000_001)
    wanted = np.asarray((sc.asarray(data) * 2).compute(on="core"))
    memory = cupy.cuda.alloc_pinned_memory(data.nbytes)
    pinned = np.frombuffer(memory, "float64", data.size)
    pinned[...] = data
    for array in (data, pinned, data[::-1]):
        for _ in range(3):
            got = (sc.asarray(array) * 2).compute(on="gpu")
            assert_same_bits(got, wanted[::-1] if array.strides[0] < 0 else wanted)
