"""`speedcube doctor` on this machine, against what other sources say of it.

Machines that are not at hand are simulated in commands/test_doctor_simulated.py.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
import pytest
from typer.testing import CliRunner

import speedcube as sc
from speedcube import cli
from speedcube.commands.doctor import facts as facts_module
from speedcube.commands.doctor.facts import Facts, gather
from speedcube.commands.doctor.host import Cache
from speedcube.commands.doctor.report import judge
from speedcube.commands.doctor.rungs import rung_states
from speedcube.engine import machine, rungs

RUN = CliRunner()


@cache
def here() -> Facts:
    """This machine."""
    return gather()


# ------------------------------------------------------------------- this machine, for real

CPUINFO = Path("/proc/cpuinfo")
AVX2 = {"avx", "avx2", "fma", "bmi1", "bmi2", "abm", "popcnt", "f16c"}
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"}


def _cpuinfo(key: str) -> list[str]:
    if not CPUINFO.exists():
        pytest.skip("this system has no /proc/cpuinfo to compare with")
    lines = CPUINFO.read_text().splitlines()
    return [line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the flags' names are those of x86")
def test_simd_is_what_the_kernel_lists() -> None:
    flags = set(_cpuinfo("flags")[0].split())
    expected = "avx512" if flags >= AVX512 else "avx2" if flags >= AVX2 else "plain"
    assert here().cpu.simd == expected
    assert here().cpu.fma == ("fma" in flags)
    family, model = (_cpuinfo(key)[0] for key in ("cpu family", "model"))
    assert here().cpu.name == f"{_cpuinfo('model name')[0]} (family {family}, model {model})"


def test_cores_are_those_of_the_affinity() -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system has no CPU affinity to compare with")
    bound = len(os.sched_getaffinity(0))
    assert here().cpu.affinity == bound
    assert 1 <= here().cpu.cores <= bound <= here().cpu.logical == os.cpu_count()


def test_memory_is_what_proc_says() -> None:
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        pytest.skip("this system has no /proc/meminfo to compare with")
    (total,) = [line for line in meminfo.read_text().splitlines() if line.startswith("MemTotal")]
    assert here().memory.total == int(total.split()[1]) * 1024
    assert 0 < here().memory.free <= here().memory.total


def test_versions_are_those_of_the_loaded_modules() -> None:
    versions = {package.name: package.version for package in here().packages}
    assert versions["numpy"] == np.__version__
    assert versions["llvmlite"] == llvmlite.__version__
    assert here().system.python == platform.python_version()


def test_rungs_are_the_engines() -> None:
    states = {state.rung: state for state in rung_states(here())}
    assert list(states) == ["core", "cores", "gpu", "gpus", "cuda-cluster"]
    for name in ("core", "cores"):
        assert states[name].available == (name in rungs.available())
    assert len(here().gpus.visible) == machine.gpu_count()
    assert all(state.available or state.reason for state in states.values())
    assert here().unknown == ()


def test_the_cache_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "kernels"
    monkeypatch.setenv("SPEEDCUBE_CACHE_DIR", str(directory))
    empty = gather().cache
    assert empty == Cache(str(directory), True, False, True, 0, 0, "")
    assert not directory.exists(), "looking must not create the directory"
    code = "import speedcube as sc; sc.asarray([0.5, 1.5]).sum().compute(on='core')"
    subprocess.run([sys.executable, "-c", code], env=_environ(), check=True)
    sizes = [file.stat().st_size for file in directory.glob("*.kernel")]
    assert len(sizes) >= 1
    assert gather().cache == Cache(str(directory), True, True, True, len(sizes), sum(sizes), "")


def _environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def test_what_cannot_be_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise ValueError("no such thing here")

    for name in ("cpu", "memory", "gpus", "packages", "kernel_cache"):
        monkeypatch.setattr(facts_module, name, fails)
    facts = gather()
    assert [item.what for item in facts.unknown] == [
        "packages", "GPUs", "processor", "memory", "kernel cache",
    ]  # fmt: skip
    assert facts.unknown[0].why == "ValueError: no such thing here"
    result = RUN.invoke(cli.app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert "memory: could not be found out (ValueError: no such thing here)" in result.output


# ------------------------------------------------------------------- the command line


def test_json_has_its_schema() -> None:
    result = RUN.invoke(cli.app, ["doctor", "--json"])
    assert result.exit_code == (0 if judge(here()).healthy else 1)
    report = json.loads(result.output)
    assert report["schema"] == 1
    assert list(report) == [
        "schema", "healthy", "system", "cpu", "memory", "gpus", "packages", "imports", "cache",
        "rungs", "unknown", "findings",
    ]  # fmt: skip
    assert report["system"]["speedcube"] == sc.__version__
    assert set(report["rungs"][0]) == {"rung", "available", "workers", "reason", "command"}
    assert report["rungs"][0] == {
        "rung": "core", "available": True, "workers": 1, "reason": "", "command": "",
    }  # fmt: skip
    assert report["cache"]["directory"] == os.environ["SPEEDCUBE_CACHE_DIR"]
    assert isinstance(report["findings"], list)


def test_a_process_of_its_own_prints_tables() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "speedcube", "doctor"],
        capture_output=True, text=True, env=_environ(), check=False,
    )  # fmt: skip
    assert run.stderr == ""
    assert run.returncode == (0 if judge(here()).healthy else 1)
    assert f"speedcube {sc.__version__}, Python {platform.python_version()}" in run.stdout
    assert f"{here().cpu.cores} usable of {here().cpu.logical}" in run.stdout
    assert "│core " in run.stdout


def test_a_broken_machine_exits_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("SPEEDCUBE_CACHE_DIR", str(file))
    result = RUN.invoke(cli.app, ["doctor"])
    assert result.exit_code == 1
    assert "broken: the kernel cache" in result.output
    assert result.output.endswith("Broken: 1.\n")


def test_bad_use_exits_with_2_and_help_names_the_codes() -> None:
    assert RUN.invoke(cli.app, ["doctor", "--nonsense"]).exit_code == 2
    text = " ".join(
        RUN.invoke(cli.app, ["doctor", "--help"], env={"COLUMNS": "300"}).output.split()
    )
    assert "Exit code: 0 nothing is broken" in text
    assert "1 something is" in text
    assert "2 bad use" in text


# ------------------------------------------------------------------- a real GPU


@pytest.mark.gpu
@pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here")
def test_a_real_gpu_is_described_as_cupy_describes_it() -> None:
    import cupy

    assert len(here().gpus.visible) == cupy.cuda.runtime.getDeviceCount()
    for gpu in here().gpus.visible:
        properties = cupy.cuda.runtime.getDeviceProperties(gpu.number)
        assert gpu.name == properties["name"].decode()
        assert gpu.compute_capability == f"{properties['major']}.{properties['minor']}"
        assert gpu.memory == properties["totalGlobalMem"]
        assert gpu.multiprocessors == properties["multiProcessorCount"]
        assert gpu.free is None or 0 < gpu.free <= gpu.memory
    version = cupy.cuda.runtime.driverGetVersion()
    assert here().gpus.cuda == f"{version // 1000}.{version % 1000 // 10}"
    assert here().imports.tried
    assert here().imports.cupy_problem == ""
    available = {state.rung for state in rung_states(here()) if state.available}
    assert available - {"cuda-cluster"} == set(rungs.available())


@pytest.mark.gpu
@pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here")
def test_looking_makes_no_context_on_a_gpu() -> None:
    code = """
import ctypes
from speedcube.commands.doctor.report import examine
assert examine().facts.gpus.visible
driver, device = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
flags, active = ctypes.c_uint(), ctypes.c_int(-1)
for number in range(len(examine().facts.gpus.visible)):
    assert driver.cuDeviceGet(ctypes.byref(device), number) == 0
    state = driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
    assert (state, active.value) == (0, 0)
print("no context")
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environ(), check=False
    )
    assert run.stdout == "no context\n", run.stderr
