"""The same bits everywhere: threads, targets, tilings, chunk hints, -ffast-math libraries."""

from __future__ import annotations

import ctypes
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.commands.verify.expressions import SHARED, SMALL
from speedcube.commands.verify.hash_list import digest
from speedcube.engine import cpu, tiers
from speedcube.kernel.llvm.simd import has_fma, targets


def _rng() -> sc.random.Generator:
    return sc.random.default_rng(2026)


@pytest.fixture(scope="module")
def core() -> dict[str, str]:
    """The hash of every expression on one core."""
    return {name: digest(make().compute(on="core")) for name, make in SHARED.items()}


@pytest.mark.parametrize("rung", ["cores:1", "cores:2", "cores:3", "cores:4"])
@pytest.mark.parametrize("name", SHARED)
def test_threads(core: dict[str, str], name: str, rung: str) -> None:
    assert digest(SHARED[name]().compute(on=rung)) == core[name]


@pytest.mark.parametrize("target", targets()[1:])
@pytest.mark.parametrize("name", SMALL)
def test_targets(monkeypatch: pytest.MonkeyPatch, name: str, target: str) -> None:
    """AVX-512, AVX2 and plain code; plain has no fma instruction and calls libm's."""
    best = SMALL[name]().compute(on="core")
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "targets", lambda: (target,))
    assert_same_bits(SMALL[name]().compute(on="core"), best, target)


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("name", SMALL)
def test_quick_and_full_code(monkeypatch: pytest.MonkeyPatch, name: str, target: str) -> None:
    """What is compiled for little work, and for much."""
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "targets", lambda: (target,))
    computed = []
    for pays in (1 << 60, 0):
        monkeypatch.setattr(tiers, "FULL_PAYS", pays)
        monkeypatch.setattr(cpu, "tiers", lambda program, t: tiers.Tiers(program, t))
        computed.append(SMALL[name]().compute(on="core"))
    assert_same_bits(computed[0], computed[1])


_BOTH = np.array([0xFFF8 << 48, 0x7FF8 << 48, 0x7FF0 << 48 | 7, 0xFFF0 << 48], np.uint64)


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arithmetic_makes_one_nan(monkeypatch: pytest.MonkeyPatch, dtype: str, target: str) -> None:
    """Processors make different NaNs and hand different ones on; NumPy's is what is stored."""
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "targets", lambda: (target,))
    word = f"u{np.dtype(dtype).itemsize}"
    nan = int(np.array(np.nan, dtype).view(word))
    data = np.resize(_BOTH.view("float64"), 100)
    with np.errstate(invalid="ignore"):
        x = sc.asarray(data.astype(dtype))
    negative = sc.asarray(np.full(100, -1.0, dtype))
    arrays = {
        "0 / 0": negative * 0 / (negative * 0),
        "inf - inf": (x - x),
        "sqrt(-1)": sc.sqrt(negative),
        "handed on": (1 + x)[:3],
        "negated": (-x)[:3],
        "chosen": sc.where(x > 0, 1, x)[:3],
        "cast": x.astype("float32" if dtype == "float64" else "float64").astype(dtype)[:3],
    }
    for name, lazy in arrays.items():
        assert set(lazy.compute(on="core").view(word).tolist()) == {nan}, name
    assert not sc.signbit(arrays["0 / 0"]).compute(on="core").any()
    # What was stored is given back as it is, and its sign can be read.
    assert np.array_equal(x[::-1].compute(on="core").view(word), np.asarray(x)[::-1].view(word))
    assert sc.signbit(x)[:2].compute(on="core").tolist() == [True, False]


def test_targets_of_this_machine() -> None:
    assert targets()[-1] == "plain"
    if "avx2" in targets():
        assert has_fma()


def _is_wide(name: str) -> bool:
    """Whether many terms of its sum go to the limbs: slow where calls are short."""
    return name.startswith("wild") or name in ("wide-range", "modulo")


@pytest.mark.parametrize("call", [1, 700, 5000])
@pytest.mark.parametrize("name", [n for n in SHARED if not _is_wide(n)])
def test_small_calls(
    core: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str, call: int
) -> None:
    """Where a kernel's calls end decides nothing (a row a call for the narrow ones only)."""
    if call == 1 and name not in ("argmin", "uniform-axis", "integers-sum"):
        call = 1024
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "CALL", call)
    monkeypatch.setattr(cpu, "RECORDS", 7)
    assert digest(SHARED[name]().compute(on="core")) == core[name]


@pytest.mark.parametrize("chunks", [10, (7, 300), "auto", -1], ids=str)
def test_chunk_hints(core: dict[str, str], chunks: Any) -> None:
    x = _rng().normal(10, 1, size=(300, 300), chunks=chunks)
    assert digest((x + 1)[::2, ::2].sum().compute(on="core")) == core["published"]


def test_the_rest_of_a_program_changes_no_bits(core: dict[str, str]) -> None:
    """Computing other things first, or the same thing twice, gives the same bits."""
    for name in reversed(SHARED):
        assert digest(SHARED[name]().compute(on="core")) == core[name], name


def test_slices_of_a_result_are_the_slice_computed_alone() -> None:
    x = sc.exp(_rng().normal(size=(130, 257))) * 3
    values = x.compute(on="core")
    for item in [
        (slice(3, 90, 7), slice(None)),
        (5,),
        (slice(None), 200),
        (slice(None, None, -2),),
    ]:
        assert_same_bits(x[item].compute(on="core"), values[item], item)


# A library that flushes subnormals ---------------------------------------------------------------

_FTZ_PROGRAM = """
import ctypes, sys
import numpy as np
import speedcube as sc

ctypes.CDLL(sys.argv[1])
flushed = np.float64(5e-324) * np.float64(1.0) == 0
tiny = sc.asarray(np.array([5e-324, 1e-310, -3e-323]))
tiny32 = sc.asarray(np.array([1, 71362], np.uint32).view(np.float32))  # no rounding here
print(int(flushed))
for rung in ("core", "cores:2"):
    print((tiny * 1.0).compute(on=rung).tobytes().hex())
    print((tiny32 * np.float32(1)).compute(on=rung).tobytes().hex())
    print(tiny.sum().compute(on=rung).tobytes().hex())
    print(tiny32.mean().compute(on=rung).tobytes().hex())
    print((tiny > 0).compute(on=rung).tobytes().hex())
    print(tiny.max().compute(on=rung).tobytes().hex())
    x = (sc.random.default_rng(2026).normal(10, 1, size=(300, 300)) + 1)[::2, ::2].sum()
    print(x.compute(on=rung).tobytes().hex())
print(int(np.float64(5e-324) * np.float64(1.0) == 0))
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc makes the -ffast-math library")
def test_subnormals_survive_a_fast_math_library(tmp_path: Path) -> None:
    """Its start-up code sets flush-to-zero; kernels set their own mode and put it back."""
    source, library = tmp_path / "fast.c", tmp_path / "libfast.so"
    source.write_text("double twice(double x) { return 2 * x; }\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", "-ffast-math", "-o", library, source], check=True
    )
    plain = tmp_path / "libplain.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", plain, source], check=True)
    printed = {}
    for name in (library, plain):
        done = subprocess.run(
            [sys.executable, "-c", _FTZ_PROGRAM, str(name)],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
        printed[name] = done.stdout.split()
    fast, exact = printed[library], printed[plain]
    assert exact[0] == exact[-1] == "0"
    assert fast[0] == fast[-1], "the caller's mode is put back"
    assert fast[1:-1] == exact[1:-1]
    tiny = np.array([5e-324, 1e-310, -3e-323])
    assert exact[1] == (tiny * 1.0).tobytes().hex()


@contextmanager
def flush_to_zero() -> Iterator[None]:
    """Bits 15 and 6 of MXCSR set by hand, through glibc's fenv."""
    libm = ctypes.CDLL("libm.so.6")
    environment = (ctypes.c_uint32 * 8)()
    libm.fegetenv(environment)
    before = environment[7]
    environment[7] = before | 0x8040
    libm.fesetenv(environment)
    try:
        yield
    finally:
        environment[7] = before
        libm.fesetenv(environment)


def _is_flushed() -> bool:
    return bool(np.float64(5e-324) * np.float64(1.0) == 0)


TINY = np.array([1, 20240225, 2**52 - 7], np.uint64).view(np.float64)
TINY32 = np.array([1, 71362, 2**23 - 3], np.uint32).view(np.float32)
SUBNORMAL: dict[str, Callable[[], sc.Array]] = {
    "product": lambda: sc.asarray(TINY) * 1.0,
    "product32": lambda: sc.asarray(TINY32) * 1.0,
    "comparison": lambda: sc.asarray(TINY) > 0,
    "max": lambda: sc.asarray(TINY).max(),
    "sum": lambda: sc.asarray(TINY).sum(),
    "sum32": lambda: sc.asarray(TINY32).sum(),
    "mean": lambda: sc.asarray(TINY).mean(),
    "mean32": lambda: sc.asarray(TINY32).mean(),
    "var": lambda: (sc.asarray(TINY) * 2.0**560).var(),
    "cast": lambda: (sc.asarray(TINY32).astype("float64") * 2.0**-900).sum(),
    "constant": lambda: sc.full(3, TINY.tolist()[1]) * 3.0,
    "exp": lambda: sc.exp(sc.asarray(np.array([-740.0, -745.0, -708.5]))),
}


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="MXCSR is x86-64's"
)
@pytest.mark.parametrize("rung", ["core", "cores:2"])
@pytest.mark.parametrize("name", SUBNORMAL)
def test_flush_to_zero_in_the_calling_thread(name: str, rung: str) -> None:
    wanted = SUBNORMAL[name]().compute(on="core")
    assert np.all(wanted != 0), "the case is about subnormals"
    with flush_to_zero():
        before = _is_flushed()
        computed = SUBNORMAL[name]().compute(on=rung)
        after = _is_flushed()
    assert before
    assert after, "the caller's mode is put back"
    assert_same_bits(computed, wanted)


# Golden values ----------------------------------------------------------------------------------


def test_golden_values(golden: Path, update_golden: bool) -> None:
    """The first eight values of each distribution, readable, for other implementations."""
    arrays = {
        "normal": _rng().normal(size=2048),
        "normal32": _rng().normal(size=2048, dtype="float32"),
        "uniform": _rng().random(2048),
        "uniform32": _rng().random(2048, dtype="float32"),
        "exponential": _rng().exponential(size=2048),
        "exponential32": _rng().exponential(size=2048, dtype="float32"),
        "integers": _rng().integers(0, 10**6, 2048),
        "wide": _rng().integers(-(2**62), 2**62, 2048),
    }
    computed = {}
    for name, array in arrays.items():
        values = array.compute(on="core")[[0, 1, 2, 511, 512, 1023, 1024, 2047]]
        computed[name] = [v.hex() if isinstance(v, float) else v for v in values.tolist()]
    path = golden / "stream-v1.json"
    if update_golden:
        path.write_text(json.dumps(computed, indent=1, sort_keys=True) + "\n")
    assert json.loads(path.read_text()) == computed
