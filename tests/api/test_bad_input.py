"""Bad input: one of our errors, at once; it says what was asked and what is possible."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.engine import machine

A = sc.ones((3, 4))
INTS = sc.ones(3, "int64")
BYTES = sc.ones(3, "uint8")


def rng() -> sc.random.Generator:
    return sc.random.default_rng(0)


DTYPES = (
    "supported: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "float16, float32, float64"
)

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # Shapes
    "broadcast": (
        lambda: A + sc.ones(3),
        errors.ShapeError,
        "shapes (3, 4) and (3,) do not broadcast: axis -1 has sizes [3, 4]",
    ),
    "broadcast-where": (
        lambda: sc.where(A > 0, sc.ones(5), 0),
        errors.ShapeError,
        "shapes (3, 4) and (5,) do not broadcast",
    ),
    "broadcast-to": (
        lambda: sc.broadcast_to(A, (3, 5)),
        errors.ShapeError,
        "cannot broadcast shape (3, 4) to (3, 5)",
    ),
    "broadcast-to-fewer-axes": (
        lambda: sc.broadcast_to(A, 4),
        errors.ShapeError,
        "cannot broadcast shape (3, 4) to (4,)",
    ),
    "reshape": (
        lambda: A.reshape(5, 5),
        errors.ShapeError,
        "cannot reshape 12 elements to (5, 5) (25 elements)",
    ),
    "reshape-two-unknown": (
        lambda: A.reshape(-1, -1),
        errors.ShapeError,
        "only one size can be -1 in (-1, -1)",
    ),
    "reshape-uneven": (lambda: A.reshape(-1, 5), errors.ShapeError, "12 elements to (-1, 5)"),
    "squeeze": (lambda: A.squeeze(0), errors.ShapeError, "cannot squeeze axis 0 of size 3"),
    # Indices and axes
    "index": (lambda: A[3], errors.AxisError, "index 3 is out of bounds for axis 0 with size 3"),
    "negative-index": (lambda: A[:, -5], errors.AxisError, "index -5 is out of bounds for axis 1"),
    "too-many-indices": (
        lambda: A[0, 0, 0],
        errors.AxisError,
        "too many indices: 3 for an array of 2 dimensions",
    ),
    "float-index": (
        lambda: A[1.5],
        errors.AxisError,
        "1.5 is not an index: indices are integers, slices, None, '...', and arrays",
    ),
    "text-index": (lambda: A["a"], errors.AxisError, "'a' is not an index"),
    "floats-index": (lambda: A[[0.5]], errors.AxisError, "an array of float64 is not an index"),
    "list-index": (lambda: A[[0, 3]], errors.AxisError, "index 3 is out of bounds for axis 0"),
    "lazy-index": (
        lambda: A[:, sc.asarray([0, -5])],
        errors.AxisError,
        "index -5 is out of bounds for axis 1 with size 4",
    ),
    "mask-index": (
        lambda: A[np.ones((3, 3), bool)],
        errors.AxisError,
        "the mask of shape (3, 3) does not fit the array of shape (3, 4): along axis 1 the mask "
        "has 3 elements, the array 4",
    ),
    "indices-apart": (
        lambda: A[[0, 1], [0, 1, 2]],
        errors.AxisError,
        "indices of shapes (2,) and (3,) do not broadcast together",
    ),
    "two-ellipses": (lambda: A[..., ...], errors.AxisError, "only one ellipsis"),
    "zero-step": (lambda: A[::0], errors.AxisError, "slice step cannot be zero"),
    "float-slice": (lambda: A[:1.5], errors.AxisError, "slice bounds must be integers or None"),
    "axis": (
        lambda: A.sum(axis=2),
        errors.AxisError,
        "axis 2 is out of range for an array of 2 dimensions",
    ),
    "negative-axis": (lambda: A.mean(axis=-3), errors.AxisError, "axis -3 is out of range"),
    "axis-twice": (
        lambda: A.sum(axis=(0, -2)),
        errors.AxisError,
        "an axis is given twice in (0, -2)",
    ),
    "axis-text": (lambda: A.sum(axis="x"), errors.AxisError, "axis must be an integer, not 'x'"),
    "axis-float": (lambda: A.sum(axis=1.0), errors.AxisError, "axis must be an integer, not 1.0"),
    "argmin-two-axes": (
        lambda: A.argmin(axis=(0, 1)),
        errors.AxisError,
        "argmin takes one axis or None, not (0, 1)",
    ),
    "transpose": (
        lambda: A.transpose(0, 0),
        errors.AxisError,
        "axes (0, 0) are not a permutation of 2 axes",
    ),
    "swapaxes": (lambda: sc.swapaxes(A, 0, 2), errors.AxisError, "axis 2 is out of range"),
    "expand-dims": (lambda: sc.expand_dims(A, 4), errors.AxisError, "axis 4 is out of range"),
    # Sizes
    "negative-size": (
        lambda: rng().normal(size=-1),
        errors.ShapeError,
        "sizes must be 0 or more, not -1 in -1",
    ),
    "negative-size-in-tuple": (
        lambda: sc.zeros((2, -3)),
        errors.ShapeError,
        "sizes must be 0 or more, not -3 in (2, -3)",
    ),
    "float-size": (
        lambda: rng().random((2, 3.0)),
        errors.ShapeError,
        "sizes must be integers, not 3.0 in (2, 3.0)",
    ),
    "bool-size": (
        lambda: rng().random(True),
        errors.ShapeError,
        "sizes must be integers, not True",
    ),
    "text-size": (lambda: rng().random("3"), errors.ShapeError, "sizes must be integers, not '3'"),
    "array-size": (
        lambda: rng().random(np.array([2.0, 3.0])),
        errors.ShapeError,
        "sizes must be integers",
    ),
    "endless-size": (
        lambda: rng().random((2**40, 2**40)),
        errors.ShapeError,
        "has 2**63 elements or more; positions are 63-bit numbers",
    ),
    "linspace": (lambda: sc.linspace(0, 1, -1), errors.ShapeError, "sizes must be 0 or more"),
    "eye": (lambda: sc.eye(2.5), errors.ShapeError, "sizes must be integers, not 2.5"),
    "arange-to-nan": (lambda: sc.arange(0, math.nan), errors.ParameterError, "nan"),
    "arange-to-infinity": (lambda: sc.arange(0, math.inf), errors.ParameterError, "inf"),
    "arange-step-0": (lambda: sc.arange(0, 5, 0), errors.ParameterError, "step must not be 0"),
    # Parameters of distributions
    "scale": (lambda: rng().normal(0, -1, 3), errors.ParameterError, "scale < 0: scale is -1.0"),
    "scale-nan": (
        lambda: rng().normal(0, math.nan, 3),
        errors.ParameterError,
        "scale must not be NaN",
    ),
    "scale-text": (
        lambda: rng().normal(0, "a", 3),
        errors.ParameterError,
        "scale must be a number, not 'a'",
    ),
    "loc-nan": (lambda: rng().normal(math.nan, 1, 3), errors.ParameterError, "loc must not be NaN"),
    "exponential-scale": (
        lambda: rng().exponential(-2, 3),
        errors.ParameterError,
        "scale < 0: scale is -2",
    ),
    "uniform-infinite": (
        lambda: rng().uniform(0, math.inf, 3),
        errors.ParameterError,
        "high - low must be finite: low is 0.0, high is inf",
    ),
    "uniform-too-wide": (
        lambda: rng().uniform(-1.7e308, 1.7e308, 3),
        errors.ParameterError,
        "high - low must be finite",
    ),
    "integers-empty": (
        lambda: rng().integers(5, 5, 3),
        errors.ParameterError,
        "low >= high: low is 5, high is 5",
    ),
    "integers-outside": (
        lambda: rng().integers(0, 300, 3, dtype="uint8"),
        errors.ParameterError,
        "[0, 299] is out of bounds for uint8",
    ),
    "integers-half": (
        lambda: rng().integers(0.5, 5, 3),
        errors.ParameterError,
        "low must be an integer, not 0.5",
    ),
    "integers-float-dtype": (
        lambda: rng().integers(0, 5, 3, dtype="float64"),
        errors.DTypeError,
        "integers gives integer dtypes, not float64",
    ),
    "normal-int-dtype": (
        lambda: rng().normal(size=3, dtype="int32"),
        errors.DTypeError,
        "normal gives float32 or float64, not int32",
    ),
    "half-draws": (
        lambda: rng().uniform(size=3, dtype="float16"),
        errors.DTypeError,
        "uniform gives float32 or float64; for float16 call .astype('float16')",
    ),
    "seed-negative": (
        lambda: sc.random.default_rng(-1),
        errors.ParameterError,
        "a seed is an integer >= 0 or a sequence of them, not -1",
    ),
    "seed-text": (lambda: sc.random.RandomState("x"), errors.ParameterError, "not 'x'"),
    "seed-generator": (
        lambda: sc.random.default_rng(np.random.default_rng(0)),
        errors.ParameterError,
        "pass the seed it was made from",
    ),
    "sum-of-objects": (
        lambda: sc.sum(np.array([1, None])),
        errors.DTypeError,
        "object arrays are not supported; convert to a number dtype first",
    ),
    "sum-of-text": (
        lambda: sc.sum(np.array(["a", "b"])),
        errors.DTypeError,
        "dtype 'str32' is not supported; supported: bool, int8",
    ),
    "sum-to-objects": (lambda: A.sum(dtype=object), errors.DTypeError, "'object' is not supported"),
    "floor-of-complex": (
        lambda: sc.floor([1j, 2]),
        errors.DTypeError,
        "floor takes real numbers, not complex128: give it .real, .imag or abs(x)",
    ),
    "argmin-of-text": (
        lambda: sc.argmin(np.array(["b", "a"])),
        errors.DTypeError,
        "'str32' is not supported",
    ),
    "remainder-of-complex": (
        lambda: sc.remainder(A, np.array(1j)),
        errors.DTypeError,
        "remainder takes real numbers, not complex128",
    ),
    "less-than-text": (lambda: sc.less(A, "a"), errors.DTypeError, "'a' is neither a number"),
    "ddof": (
        lambda: A.var(ddof=-1),
        errors.ParameterError,
        "ddof must be 0 or more, and finite, not -1",
    ),
    "endless ddof": (
        lambda: A.std(ddof=float("inf")),
        errors.ParameterError,
        "ddof must be 0 or more, and finite, not inf",
    ),
    "round-decimals": (
        lambda: sc.round(A > 0, 2),
        errors.DTypeError,
        "round of bool takes decimals=0 only, not 2",
    ),
    # Dtypes
    "unknown-dtype": (
        lambda: sc.zeros(3, "nonsense"),
        errors.DTypeError,
        f"unknown dtype 'nonsense'; {DTYPES}",
    ),
    "wide-complex-dtype": (
        lambda: A.astype(np.clongdouble),
        errors.DTypeError,
        f"is not supported; {DTYPES}",
    ),
    "long-double-data": (
        lambda: sc.asarray(np.ones(3, np.longdouble)),
        errors.DTypeError,
        "is not supported; supported: bool, int8",
    ),
    "object-data": (
        lambda: sc.asarray(np.array([1, None])),
        errors.DTypeError,
        "object arrays are not supported; convert to a number dtype first",
    ),
    "text-data": (lambda: sc.asarray(["a"]), errors.DTypeError, "'str32' is not supported"),
    "structured-data": (
        lambda: sc.asarray(np.zeros(3, "i4,f8")),
        errors.DTypeError,
        "is not supported",
    ),
    "dates": (
        lambda: sc.asarray(np.array(["2020-01-01"], "M8[D]")),
        errors.DTypeError,
        "dtype 'datetime64[D]' is not supported",
    ),
    "none": (lambda: sc.asarray(None), errors.DTypeError, "object arrays are not supported"),
    "ragged-list": (lambda: sc.asarray([[1], [1, 2]]), errors.ShapeError, "inhomogeneous"),
    "float-and": (lambda: A & 1, errors.DTypeError, "bitwise_and takes int8"),
    "float-shift": (lambda: A << 1, errors.DTypeError, "left_shift takes int8"),
    "float-invert": (lambda: ~A, errors.DTypeError, "invert takes int8"),
    "bool-minus-bool": (lambda: (A > 0) - (A > 0), errors.DTypeError, "subtract takes"),
    "byte-plus-300": (lambda: BYTES + 300, errors.DTypeError, "300"),
    "byte-plus-minus-1": (lambda: BYTES + -1, errors.DTypeError, "-1"),
    "int-plus-2**70": (lambda: INTS + 2**70, errors.DTypeError, str(2**70)),
    "full-300-of-bytes": (lambda: sc.full(3, 300, "uint8"), errors.RangeError, "300"),
    # Powers
    "power-of-bytes-300": (lambda: BYTES**300, errors.DTypeError, "300 does not fit"),
    "integer-to-the--1": (
        lambda: INTS**-1,
        errors.ParameterError,
        "integers to negative integer powers are not allowed",
    ),
    # Functions of things that are no arrays
    "clip-text": (lambda: sc.clip(A, "a"), errors.DTypeError, "'a'"),
    "add-text": (lambda: sc.add(A, "a"), errors.DTypeError, "'a'"),
    "add-none": (lambda: sc.add(None, A), errors.DTypeError, "None"),
    # Targets
    "source": (
        lambda: A.source("metal"),
        errors.ParameterError,
        "unknown target 'metal'; targets: cpu, cuda, ir",
    ),
    "to": (lambda: A.compute(on="core", to="torch"), errors.ParameterError, "to='torch'"),
    "to-its-rung": (
        lambda: A.compute(on="core", to="rung"),
        errors.ParameterError,
        "to='rung' is not possible on core; use to='numpy'",
    ),
    "to-cupy-on-a-core": (
        lambda: A.compute(on="core", to="cupy"),
        errors.ParameterError,
        "to='cupy' is not possible on core; use to='numpy'",
    ),
    # Rungs
    "unknown-rung": (
        lambda: A.compute(on="gpuz"),
        errors.RungError,
        "unknown rung 'gpuz' (did you mean 'gpu'?); rungs here: core",
    ),
    "no-threads": (
        lambda: A.compute(on="cores:0"),
        errors.RungError,
        "'cores:0' asks for 0 threads; at least 1 is needed",
    ),
    "minus-one-thread": (lambda: A.compute(on="cores:-1"), errors.RungError, "unknown rung"),
    "core-with-number": (
        lambda: A.compute(on="core:1"),
        errors.RungError,
        "rung 'core:1' takes no such number",
    ),
    "unknown-scheduler": (
        lambda: A.compute(scheduler="nope"),
        errors.RungError,
        "unknown rung 'nope'",
    ),
    "plan-too": (lambda: A.plan(on="gpuz"), errors.RungError, "unknown rung 'gpuz'"),
    # Extremes of nothing
    "min-of-nothing": (
        lambda: sc.zeros(0).min().compute(on="core"),
        errors.ShapeError,
        "min of no elements: axes (0,) of shape (0,) are empty",
    ),
    "argmax-of-nothing": (
        lambda: sc.zeros((3, 0)).argmax(axis=1).compute(on="core"),
        errors.ShapeError,
        "argmax of no elements: axes (1,) of shape (3, 0) are empty",
    ),
    # Memory
    "too-large": (
        lambda: sc.zeros((10**7, 10**7)).compute(on="core"),
        errors.MemoryLimitError,
        "three ways out",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        ask()


def test_comparing_with_a_number_outside_the_dtype_is_numpys_answer() -> None:
    """NumPy compares exactly: every byte is below 300 and above -1."""
    assert (BYTES < 300).all().compute(on="core")
    assert (BYTES > -1).all().compute(on="core")
    assert not (BYTES == 256).any().compute(on="core")


@pytest.mark.parametrize(
    "kind", [k for k in vars(errors).values() if isinstance(k, type)], ids=lambda k: k.__name__
)
def test_one_tree(kind: type[Exception]) -> None:
    """Each error is a SpeedcubeError and the built-in that a NumPy user would catch."""
    assert issubclass(kind, errors.SpeedcubeError)
    if kind is not errors.SpeedcubeError:
        known = (AttributeError, IndexError, OSError, MemoryError, RuntimeError, TypeError)
        assert issubclass(kind, (*known, ValueError))


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda: A + sc.ones(3), ValueError),
        (lambda: A[9], IndexError),
        (lambda: A.astype(object), TypeError),
        (lambda: sc.zeros((10**7, 10**7)).compute(on="core"), MemoryError),
    ],
    ids=["shape", "index", "dtype", "memory"],
)
def test_errors_are_the_built_in_ones_too(ask: Callable[[], Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        ask()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: A + "x", "unsupported operand type"),
        (lambda: A + None, "unsupported operand type"),
        (lambda: "x" ** A, "unsupported operand type"),
        (
            lambda: float(A),
            "only arrays of one element can become a scalar; this one has shape (3, 4)",
        ),
        (lambda: len(sc.full((), 1)), "len() of a 0-d array"),
        (
            lambda: {A: 1},
            "unhashable type: 'Array'; a number is hashed (shape ()), and this array has shape",
        ),
        (lambda: np.isnat(A), "numpy.isnat does not take speedcube arrays"),
        (
            lambda: sc.add(A, 1, out=[0]),
            "add: out= (or +=) takes an array of speedcube or of NumPy",
        ),
        (lambda: np.is_busday(A), "numpy.is_busday does not take speedcube arrays"),
    ],
    ids=["text", "none", "rpow", "float", "len", "hash", "ufunc", "out", "dates"],
)
def test_pythons_own_type_errors(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=re.escape(message)):
        ask()


def test_many_elements_are_neither_true_nor_false() -> None:
    with pytest.raises(ValueError, match=r"^an array of shape .* ask x\.any\(\) or x\.all\(\)$"):
        bool(A)


# Rungs this machine lacks ------------------------------------------------------------------------


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu_count", lambda: 0)
    monkeypatch.setattr(machine, "gpu_probe", lambda: (0, "no NVIDIA driver is installed"))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("rung", ["gpu", "gpu:3", "gpus", "gpus:4", "gpus:0,2,5", "cuda-cluster"])
def test_a_rung_without_a_gpu(rung: str) -> None:
    with pytest.raises(errors.RungError) as caught:
        A.compute(on=rung)
    text = str(caught.value)
    assert "no GPU is visible: no NVIDIA driver is installed" in text
    assert f"asked for {rung!r}" in text
    assert re.search(r"rungs here: core(, cores)?\Z", text)


@pytest.mark.usefixtures("no_gpu")
def test_an_array_of_a_cupy_state_without_a_gpu() -> None:
    state = type("RandomState", (), {"__module__": "cupy.random._generator"})
    x = sc.random.RandomState(1, RandomState=state).normal(size=10)
    with pytest.raises(errors.RungError, match="no GPU is visible"):
        x.sum().compute(scheduler="single-threaded")
    assert x.shape == (10,), "it can still be looked at"
    assert math.isfinite(x.sum().compute(on="core")), "and computed elsewhere"


def test_hidden_gpus_are_named_as_the_reason() -> None:
    program = (
        "import speedcube as sc\n"
        "try: sc.ones(3).compute(on='gpu')\n"
        "except sc.errors.RungError as err: print(err)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("no GPU is visible: CUDA_VISIBLE_DEVICES hides every GPU")


def test_an_unreachable_scheduler_is_given_up_within_five_seconds() -> None:
    begin = time.monotonic()
    with pytest.raises(errors.SchedulerError, match=r"tcp://127\.0\.0\.1:9") as caught:
        A.sum().compute(on="tcp://127.0.0.1:9")
    assert time.monotonic() - begin < 8, "5 s to wait, the rest to import distributed"
    assert isinstance(caught.value, ConnectionError)


def test_an_absent_scheduler_file() -> None:
    with pytest.raises(errors.SchedulerError, match="no such scheduler file: '/nowhere/sched"):
        A.sum().compute(on="/nowhere/scheduler.json")


def test_the_rung_is_restored_after_an_error() -> None:
    with pytest.raises(errors.ShapeError), sc.on("cores:2"):
        _ = A + sc.ones(3)
    assert "least predicted time" in A.plan().reason


# Files ------------------------------------------------------------------------------------------


class Bomb:
    """Unpickling this makes a file appear."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


def test_pickled_arrays_are_never_unpickled(tmp_path: Path) -> None:
    bomb, file = tmp_path / "exploded", tmp_path / "objects.npy"
    np.save(file, np.array([Bomb(bomb)], object), allow_pickle=True)
    with pytest.raises(errors.UnsafeFileError, match="pickled files are never loaded"):
        sc.from_npy(file)
    assert not bomb.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x93NUM", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x80\x04K\x01.", b"text\n", bytes(99)],
    ids=["empty", "magic-cut", "header-cut", "zip", "pickle", "text", "zeros"],
)
def test_files_that_are_no_npy(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(content)
    with pytest.raises(errors.UnsafeFileError, match=r"x\.npy cannot be read"):
        sc.from_npy(file)


def test_a_truncated_npy(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.arange(1000.0))
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(errors.UnsafeFileError, match=r"x\.npy cannot be read"):
        sc.from_npy(file)


def test_an_absent_npy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.npy"):
        sc.from_npy(tmp_path / "x.npy")


def test_an_npy_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    assert sc.from_npy(file).sum(axis=0).compute().tolist() == [12.0, 15.0, 18.0, 21.0]


# Ctrl-C -----------------------------------------------------------------------------------------

_LONG = """
import signal, sys
import speedcube as sc
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a script's background
x = sc.random.default_rng(0).normal(size=(10**6, 10**6)).sum()
(x + 0).plan(on=sys.argv[1])
print("started", flush=True)
try:
    x.compute(on=sys.argv[1])
except KeyboardInterrupt:
    print(float(sc.ones(10).sum().compute(on=sys.argv[1])), flush=True)
"""


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_ctrl_c_stops_a_long_computation(rung: str) -> None:
    """Hours of work stop within five seconds, and the process goes on being useful."""
    with subprocess.Popen(
        [sys.executable, "-c", _LONG, rung], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(1.0)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=20)
        finally:
            process.kill()
        took = time.monotonic() - begin
    assert out == "10.0\n"
    assert process.returncode == 0
    assert took < 5, f"{took:.1f} s"
