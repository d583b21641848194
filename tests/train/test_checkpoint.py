"""What checkpoints hold comes back: values, types, bits; and which of them are kept and taken."""

from __future__ import annotations

import json
import random
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.optim.lr_scheduler import LinearLR, MultiStepLR, SequentialLR

from speedcube.errors import CheckpointError
from speedcube.train import checkpoint
from speedcube.train.ranks import rng

TORCH = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
]
NUMPY = ["?", "i1", "<u2", ">i4", "<i8", "<f2", ">f4", "<f8", "<c8", ">c16"]


def same(a: Any, b: Any) -> bool:
    """Whether two values have the same types, shapes and bits all through."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        raw = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(*raw)
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        keys = zip(a, b, strict=True) if len(a) == len(b) else [(0, 1)]
        return all(same(x, y) for x, y in keys) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return repr(a) == repr(b)


def numbers(draw: st.DrawFn, width: int, boolean: bool) -> tuple[list[int], bytearray]:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = int(np.prod(shape, dtype=int)) * width
    raw = bytearray(draw(st.binary(min_size=count, max_size=count)))
    return shape, bytearray(byte & 1 for byte in raw) if boolean else raw


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    dtype = getattr(torch, draw(st.sampled_from(TORCH)))
    shape, raw = numbers(draw, dtype.itemsize, dtype is torch.bool)
    flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    shaped = flat.reshape(shape)
    return shaped.movedim(0, -1) if shape and draw(st.booleans()) else shaped


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    dtype = np.dtype(draw(st.sampled_from(NUMPY)))
    shape, raw = numbers(draw, dtype.itemsize, dtype.kind == "b")
    array = np.frombuffer(raw, dtype).reshape(shape)
    array = array[..., ::-1].T if shape and draw(st.booleans()) else array
    return array.flat[0] if array.size and dtype.isnative and draw(st.booleans()) else array


# A NaN among the keys comes back, too, but as another object, by which nothing can be looked up.
findable = st.floats(allow_nan=False)
halves = st.text("a\ud83d\ude00", max_size=4)  # of characters, which JSON puts together
keys = st.one_of(st.text(max_size=5), halves, st.integers(), st.booleans(), st.none(), findable)
scalars = st.one_of(
    keys, st.floats(), st.binary(max_size=9), st.just(-(2**70)), tensors(), arrays()
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(keys, st.integers(), max_size=3).map(Counter),
    ),
    max_leaves=12,
)


@given(values)
@settings(max_examples=150, deadline=None)
def test_any_nesting_comes_back_with_its_types_and_bits(value: Any) -> None:
    assert same(checkpoint.unpack(checkpoint.pack(value)), value)


@given(values)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_checkpoint_on_disk_holds_what_was_saved(tmp_path: Path, value: Any) -> None:
    saved = checkpoint.save(tmp_path, 3, value, keep=1)
    newest = checkpoint.newest(tmp_path)
    assert newest is not None
    assert (newest.step, newest.path, newest.skipped) == (3, saved.path, ())
    assert same(newest.value, value)


def test_optimizers_and_models_go_on_from_a_checkpoint(tmp_path: Path) -> None:
    def fresh() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        model(torch.rand(8, 4)).square().sum().backward()
        optimizer.step()

    model, optimizer = fresh()
    step(model, optimizer)
    value = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    checkpoint.save(tmp_path, 1, value, {0: rng.capture()})
    step(model, optimizer)
    other, its_optimizer = fresh()
    state = checkpoint.newest(tmp_path)
    assert state is not None
    other.load_state_dict(state["model"])
    its_optimizer.load_state_dict(state["optimizer"])
    rng.restore(state.rng())
    step(other, its_optimizer)
    assert same(dict(other.state_dict()), dict(model.state_dict()))
    assert same(its_optimizer.state_dict(), optimizer.state_dict())


def test_schedules_with_milestones_go_on_from_a_checkpoint() -> None:
    def two_milestones() -> SequentialLR:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 1.0)
        warm, steps = LinearLR(optimizer, total_iters=3), MultiStepLR(optimizer, [2, 2, 4])
        return SequentialLR(optimizer, [warm, steps], [3])

    def rates(schedule: SequentialLR, count: int) -> list[float]:
        rates = []
        for _ in range(count):
            schedule.optimizer.step()
            schedule.step()
            rates += schedule.get_last_lr()
        return rates

    whole, begun, resumed = rates(two_milestones(), 9), two_milestones(), two_milestones()
    rates(begun, 1)
    resumed.load_state_dict(checkpoint.unpack(checkpoint.pack(begun.state_dict())))
    resumed.optimizer.load_state_dict(begun.optimizer.state_dict())
    assert rates(resumed, 8) == whole[1:]


def test_relatives_of_dict_and_tuple_come_back_as_those() -> None:
    value = {"size": torch.Size([2, 3]), "ordered": OrderedDict(b=1, a=2)}
    assert repr(checkpoint.unpack(checkpoint.pack(value))) == repr(
        {"size": (2, 3), "ordered": {"b": 1, "a": 2}}
    )


def test_tensors_of_one_memory_are_written_once_and_stay_one() -> None:
    weight = torch.rand(1000)
    value = {"in": weight, "out": weight.detach(), "half": weight[:500], "conj": [0, 0]}
    packed = checkpoint.pack(value)
    assert len(packed) < 4000 + 2000 + 1000
    back = checkpoint.unpack(packed)
    assert back["in"] is back["out"]
    assert torch.equal(back["half"], weight[:500])
    z = torch.tensor([1 + 2j])
    assert checkpoint.unpack(checkpoint.pack([z, z.conj(), z.expand(3)]))[1].tolist() == [1 - 2j]


def test_a_small_view_does_not_bring_its_whole_memory() -> None:
    assert len(checkpoint.pack(torch.zeros(1_000_000)[:2])) < 1000


def test_the_safetensors_library_reads_the_files(tmp_path: Path) -> None:
    value = {"model": {"a.b": torch.arange(3.0), "a": {"b": torch.ones(2, dtype=torch.bfloat16)}}}
    saved = checkpoint.save(tmp_path, 1, value)
    with safetensors.safe_open(saved.path / "rank-0.safetensors", "pt") as file:
        assert sorted(file.keys()) == ["checkpoint.model.a.b", "checkpoint.model.a.b~2"]
        assert file.get_tensor("checkpoint.model.a.b").tolist() == [0.0, 1.0, 2.0]
        assert file.get_tensor("checkpoint.model.a.b~2").dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"optimizer": {"state": [{1}]}}, r'checkpoint\["optimizer"\]\["state"\]\[0\] .* type set'),
        ({"f": [print]}, r'checkpoint\["f"\]\[0\] cannot be saved: it is of type builtin_function'),
        ({"a": {(1, 2): 3}}, r'checkpoint\["a"\] .* a dict with a key of type tuple'),
        ({3: torch.eye(2).to_sparse()}, r"checkpoint\[3\] .* pass to_dense\(\)"),
        ([torch.empty(2, device="meta")], r"checkpoint\[0\] .* device meta, which has no data"),
        ([np.array(["x"])], r"checkpoint\[0\] .* an array of the dtype <U1"),
        ([np.array([{}], object)], r"checkpoint\[0\] .* an array of the dtype object"),
        ([np.longdouble(1)], r"checkpoint\[0\] .* an array of the dtype float128|longdouble"),
        ([np.ma.zeros(2)], r"checkpoint\[0\] .* subclass MaskedArray: pass np.asarray"),
        ([1 << 500_000], r"checkpoint\[0\] .* an integer of 500001 bits"),
        ([1j], r"checkpoint\[0\] cannot be saved: it is of type complex"),
        ("," * 4_000_000, "and up to 4000006 values, at most .* long texts into bytes"),
        ("." * (64 << 20), r"takes 671089\d\d bytes and .*, at most 67108864 and"),
    ],
)
def test_what_cannot_be_saved_is_named_with_its_place(
    tmp_path: Path, value: Any, message: str
) -> None:
    checkpoint.save(tmp_path, 1, "old")
    with pytest.raises(CheckpointError, match=message):
        checkpoint.save(tmp_path, 2, value)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "step-00000001"]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_tensor_is_refused(layout: torch.layout) -> None:
    nested = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=layout)
    with pytest.raises(CheckpointError, match=r"value\[0\] cannot be saved: it is a nested tensor"):
        checkpoint.pack([nested])


def test_metrics_that_could_not_be_read_back_cost_no_checkpoint(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 1, "old")
    with pytest.raises(CheckpointError, match=r"would have \d+ bytes, at most 16777216 are read"):
        checkpoint.save(tmp_path, 2, "new", keep=1, metrics={"text": "x" * (16 << 20)})
    with pytest.raises(CheckpointError, match="holds more than 4000000 values"):
        checkpoint.save(tmp_path, 2, "new", keep=1, metrics={"text": "," * 4_000_000})
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "step-00000001"]


@pytest.mark.parametrize("step", [-1, 10**18, 1.0, True, "1", None])
def test_a_step_that_no_name_has_is_refused(tmp_path: Path, step: Any) -> None:
    with pytest.raises(CheckpointError, match=f"step={step!r}: give an integer from 0 to 9{{18}}"):
        checkpoint.save(tmp_path, step, 1)
    assert not list(tmp_path.iterdir())
    assert checkpoint.save(tmp_path, np.int64(10**18 - 1), 1).step == 10**18 - 1
    assert checkpoint.newest(tmp_path).step == 10**18 - 1  # type: ignore[union-attr]


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(CheckpointError, match="nests more than 64 deep"):
        checkpoint.pack(value)


def test_steps_in_order_the_last_are_kept(tmp_path: Path) -> None:
    for step in (1, 2, 3, 10**9):
        checkpoint.save(tmp_path / "a" / "b", step, step, keep=2)
    names = sorted(path.name for path in (tmp_path / "a" / "b").glob("step-*"))
    assert names == ["step-00000003", "step-1000000000"]
    assert checkpoint.newest(tmp_path / "a" / "b").value == 10**9  # type: ignore[union-attr]
    with pytest.raises(CheckpointError, match="keep=0: at least one checkpoint is kept"):
        checkpoint.save(tmp_path / "a" / "b", 2, 2, keep=0)


def test_a_step_saved_again_replaces_the_older_one(tmp_path: Path) -> None:
    for value in "abc":
        saved = checkpoint.save(tmp_path, 7, value, keep=3)
    assert saved.path.name == "step-00000007.3"
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-00000007.3"]
    assert checkpoint.newest(tmp_path).value == "c"  # type: ignore[union-attr]


def test_a_damaged_later_one_costs_no_valid_one(tmp_path: Path) -> None:
    for step in (10, 12):
        checkpoint.save(tmp_path, step, step)
    (tmp_path / "step-00000012" / "manifest.json").write_bytes(b"")
    checkpoint.save(tmp_path, 11, 11, keep=1)
    newest = checkpoint.newest(tmp_path)
    assert newest is not None
    assert newest.value == 11
    ((path, reason),) = newest.skipped
    assert path.name == "step-00000012"
    assert "manifest.json is not what a checkpoint has there" in reason


def test_none_that_is_valid_is_an_error_and_not_a_new_start(tmp_path: Path) -> None:
    saved = checkpoint.save(tmp_path, 1, torch.zeros(9))
    file = saved.path / "rank-0.safetensors"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    with pytest.raises(
        CheckpointError, match=r"none of the 1 checkpoints .* its SHA-256 does not match"
    ):
        checkpoint.newest(tmp_path)
    with pytest.raises(CheckpointError, match=r"rank-0.safetensors is damaged"):
        _ = checkpoint.load(saved.path).value


def test_each_rank_finds_its_own_value(tmp_path: Path) -> None:
    pending = checkpoint.begin(tmp_path, 5)
    files = [
        checkpoint.write_rank(
            pending.path, rank, {"rank": torch.tensor(rank)}, {rank: f"rng{rank}"}
        )
        for rank in range(3)
    ]
    assert checkpoint.newest(tmp_path) is None
    checkpoint.commit(pending, 3, files, {"loss": float("nan"), "epoch": 2})
    newest = checkpoint.newest(tmp_path, world_size=3)
    assert newest is not None
    assert [int(newest.of(rank)["rank"]) for rank in range(3)] == [0, 1, 2]
    assert [newest.rng(rank) for rank in range(3)] == ["rng0", "rng1", "rng2"]
    assert newest.of(2).rng() == "rng2"
    assert repr(newest.metrics) == "{'loss': nan, 'epoch': 2}"
    with pytest.raises(CheckpointError, match="has ranks 0 to 2, not 3"):
        newest.of(3)
    with pytest.raises(CheckpointError, match="a value of each of 3 ranks, and this job has 2"):
        checkpoint.newest(tmp_path, world_size=2)


def test_one_value_serves_any_number_of_ranks(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 5, {"w": 1}, {0: "a", 1: "b"}, world_size=2)
    newest = checkpoint.newest(tmp_path, world_size=4)
    assert newest is not None
    assert [newest.of(rank)["w"] for rank in range(4)] == [1] * 4
    assert newest.of(3).value is newest.value  # one file is read once
    assert [newest.of(rank).rng() for rank in range(4)] == ["a", "b", None, None]


def test_a_missing_rank_is_no_checkpoint(tmp_path: Path) -> None:
    pending = checkpoint.begin(tmp_path, 5)
    files = [checkpoint.write_rank(pending.path, rank, rank, {}) for rank in range(2)]
    (pending.path / files[1].name).unlink()
    with pytest.raises(CheckpointError, match=r"rank 1 wrote .* all hosts of a job that saves per"):
        checkpoint.commit(pending, 2, files)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    with pytest.raises(CheckpointError, match="needs the file of rank 0 or of each"):
        checkpoint.commit(checkpoint.begin(tmp_path, 5), 3, files)


def test_a_checkpoint_reads_like_its_dict(tmp_path: Path) -> None:
    saved = checkpoint.save(tmp_path, 2, {"w": torch.ones(2), "epoch": 4})
    assert "w" in saved
    assert "v" not in saved
    assert list(saved) == list(saved.keys()) == ["w", "epoch"]
    assert (saved.get("epoch"), saved.get("v", 0)) == (4, 0)
    assert saved["w"].device.type == "cpu"
    assert checkpoint.load(saved.path).of(0, "meta")["w"].device.type == "meta"
    assert repr(saved) == f"Checkpoint(step=2, world_size=1, path='{saved.path}')"
    manifest = json.loads((saved.path / "manifest.json").read_text())
    assert manifest["versions"].keys() == {"python", "speedcube", "numpy", "torch"}


def draws() -> list[Any]:
    return [torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random(), random.gauss(0, 1)]


def test_the_random_generators_go_on_where_they_were(tmp_path: Path) -> None:
    random.gauss(0, 1)  # leaves a second one, which is state too
    np.random.standard_normal()
    state = rng.capture()
    wanted = [*draws(), np.random.standard_normal()]
    checkpoint.save(tmp_path, 1, {}, {0: state})
    saved = checkpoint.newest(tmp_path)
    assert saved is not None
    for again in (state, checkpoint.unpack(checkpoint.pack(state)), saved.rng()):
        draws()
        rng.restore(again)
        assert [*draws(), np.random.standard_normal()] == wanted


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (("python", "words"), np.zeros(3, np.uint32)),
        (("numpy", "state", "pos"), 10**6),
        (("numpy", "state", "key"), np.zeros(3, np.uint32)),
        (("torch",), np.zeros(5056, np.uint8)),
        (("torch",), np.zeros(3, np.float32)),
        (("numpy",), None),
    ],
)
def test_what_is_no_state_is_refused(where: tuple[str, ...], wrong: Any) -> None:
    good = rng.capture()
    state = checkpoint.unpack(checkpoint.pack(good))
    inner = state
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = wrong
    with pytest.raises(CheckpointError, match="not a state of the random generators"):
        rng.restore(state)
    rng.restore(good)
