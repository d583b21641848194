"""`speedcube doctor` on simulated machines.

Nothing here is measured: whole machines are `Facts` written down as data, the driver's libraries
are stand-ins with their functions, CUDA wheels are metadata folders in a temporary directory, and
the CuPy that fails is a module written for it.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from speedcube import cli
from speedcube.commands.doctor import command, host
from speedcube.commands.doctor import imports as imports_module
from speedcube.commands.doctor.facts import Facts, System, Unknown
from speedcube.commands.doctor.findings import findings
from speedcube.commands.doctor.gpus import Gpu, Gpus, gpus, pci_gpus
from speedcube.commands.doctor.host import Cache, Cpu, Memory
from speedcube.commands.doctor.imports import NOT_TRIED, Imports
from speedcube.commands.doctor.packages import Package, get, packages
from speedcube.commands.doctor.report import judge, to_json
from speedcube.commands.doctor.rungs import RungState, rung_states

RUN = CliRunner()

# ------------------------------------------------------------------- simulated machines

H200 = Gpu(0, "NVIDIA H200", "9.0", 150 * 10**9, 149 * 10**9, 132, 2, False)
PASCAL = Gpu(0, "NVIDIA GeForce GTX 1080", "6.1", 8 * 10**9, None, 20, 32, False)
GEFORCE = Gpu(0, "NVIDIA GeForce RTX 5090", "12.0", 32 * 10**9, None, 170, 64, False)
WORKS = Imports(True, "13.0", "13.0", "", "")

HEALTHY = Facts(
    system=System("0.1.0", "3.12.3", "Linux x86_64", "6.1", "pip", ""),
    cpu=Cpu("a processor", 8, 8, 4, 8, "avx2", ("avx2", "plain"), True),
    memory=Memory(64 * 10**9, 60 * 10**9, None),
    gpus=Gpus(None, None, 0, (), None, None, "no NVIDIA driver (libcuda.so.1) is installed"),
    packages=(Package("numpy", "2.4.6", None),),
    imports=NOT_TRIED,
    cache=Cache("/cache", False, True, True, 3, 4096, ""),
    rungs=("core", "cores"),
)
CUPY12, CUPY13 = (Package(f"cupy-cuda{m}x", "14.2.0", str(m)) for m in (12, 13))
DASK_CUDA = Package("dask-cuda", "26.10.0", "13")
TORCH12, TORCH13 = Package("torch", "2.9.1", "12.8"), Package("torch", "2.15.0", "13.0")
TORCH_CPU = Package("torch", "2.15.0+cpu", None)
NCCL12 = Package("nvidia-nccl-cu12", "2.27.5", "12", ("torch", "xgboost"))
NCCL13 = Package("nvidia-nccl-cu13", "2.30.7", "13", ("torch",))


def machine_with(
    *visible: Gpu, cuda: str = "13.0", wheels: tuple[Package, ...] = (), **changes: Any
) -> Facts:
    """`HEALTHY` with GPUs and packages."""
    seen = Gpus("580.1", cuda, len(visible), visible, None, 0, "")
    cupy = any(wheel.is_cupy for wheel in wheels)
    here = ["core", "cores"] + ["gpu"] * cupy + ["gpus"] * (cupy and len(visible) > 1)
    facts = replace(HEALTHY, gpus=seen, packages=wheels, imports=WORKS, rungs=tuple(here))
    return replace(facts, **changes)


def codes(facts: Facts) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in findings(facts)]


def test_a_healthy_machine_has_no_findings() -> None:
    assert codes(HEALTHY) == []
    two = machine_with(H200, replace(H200, number=1), wheels=(CUPY13, DASK_CUDA))
    assert codes(two) == []
    assert [(s.rung, s.workers) for s in rung_states(two) if s.available] == [
        ("core", 1), ("cores", 8), ("gpu", 1), ("gpus", 2), ("cuda-cluster", 2),
    ]  # fmt: skip


def test_a_cpu_without_fma_or_avx2_works_slowly() -> None:
    old = replace(HEALTHY.cpu, simd="plain", targets=("plain",), fma=False)
    (finding,) = findings(replace(HEALTHY, cpu=old))
    assert (finding.level, finding.code) == ("warning", "no-fma")
    assert "works, with the same bits, but slowly" in finding.text
    (finding,) = findings(replace(HEALTHY, cpu=replace(old, fma=True)))
    assert (finding.level, finding.code) == ("warning", "no-avx2")
    (finding,) = findings(replace(HEALTHY, cpu=replace(old, fma=True, limited=True)))
    assert (finding.level, finding.command) == ("note", "unset SPEEDCUBE_SIMD")
    assert "SPEEDCUBE_SIMD=plain keeps kernels from better instructions" in finding.text


# (facts, the command for rung gpu, a part of its reason)
LACKS: dict[str, tuple[Facts, str, str]] = {
    "no GPU": (HEALTHY, "", "no NVIDIA GPU is in this machine"),
    "no driver": (
        replace(
            HEALTHY,
            gpus=replace(HEALTHY.gpus, in_machine=1),
            system=replace(HEALTHY.system, driver_installer="sudo ubuntu-drivers install"),
        ),
        "sudo ubuntu-drivers install",
        "no NVIDIA driver",
    ),
    "hidden": (
        replace(
            machine_with(),
            gpus=Gpus("580.1", "13.0", 2, (), "-1", 100, "CUDA_VISIBLE_DEVICES hides every GPU"),
        ),
        "unset CUDA_VISIBLE_DEVICES",
        "hides every GPU",
    ),
    "fabric": (
        replace(machine_with(), gpus=Gpus("580.1", "13.0", 8, (), None, 802, "error 802")),
        "sudo systemctl start nvidia-fabricmanager",
        "error 802",
    ),
    "no CuPy": (
        machine_with(H200),
        "python -m pip install 'speedcube[cuda13]'",
        "CuPy is not installed",
    ),
    "no CuPy, old driver": (
        machine_with(H200, cuda="12.4"),
        "python -m pip install 'speedcube[cuda12]'",
        "CuPy is not installed",
    ),
    "no CuPy, old GPU": (
        machine_with(PASCAL),
        "python -m pip install 'speedcube[cuda12]'",
        "CuPy is not installed",
    ),
    "no CuPy, torch for 12": (
        machine_with(H200, wheels=(TORCH12,)),
        "python -m pip install 'speedcube[train-cuda12]'",
        "CuPy is not installed",
    ),
    "no CuPy, uv": (
        machine_with(H200, system=replace(HEALTHY.system, installer="uv")),
        "uv pip install 'speedcube[cuda13]'",
        "CuPy is not installed",
    ),
    "CuPy fails": (
        machine_with(H200, wheels=(CUPY13,), imports=replace(WORKS, cupy_problem="OSError: x")),
        "python -m pip uninstall -y cupy-cuda13x && python -m pip install 'speedcube[cuda13]'",
        "does not work: OSError: x",
    ),
    "forbidden": (
        machine_with(replace(H200, prohibited=True), wheels=(CUPY13,)),
        "sudo nvidia-smi -i 0 -c DEFAULT",
        "compute mode forbids",
    ),
}


@pytest.mark.parametrize("name", LACKS)
def test_an_absent_gpu_rung_says_why_and_how(name: str) -> None:
    facts, command, reason = LACKS[name]
    states = {state.rung: state for state in rung_states(facts)}
    for rung in ("gpu", "gpus", "cuda-cluster"):
        assert not states[rung].available
        assert reason in states[rung].reason
        assert states[rung].command == command


def test_one_gpu_has_no_gpus_and_needs_dask_cuda_for_a_cluster() -> None:
    states = {s.rung: s for s in rung_states(machine_with(H200, wheels=(CUPY13,)))}
    assert states["gpu"].available
    assert states["gpus"] == RungState("gpus", False, 0, "it needs two GPUs, and one is visible")
    assert states["cuda-cluster"].reason == "dask-cuda is not installed"
    assert states["cuda-cluster"].command == "python -m pip install 'speedcube[cuda13]'"
    hidden = replace(machine_with(H200).gpus, in_machine=8, setting="3")
    facts = machine_with(H200, wheels=(CUPY13,), gpus=hidden)
    states = {s.rung: s for s in rung_states(facts)}
    assert states["gpus"].reason == "CUDA_VISIBLE_DEVICES=3 shows one GPU of 8"
    assert states["gpus"].command == "unset CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("cpu", "reason", "command"),
    [
        (replace(HEALTHY.cpu, cores=1, logical=1, affinity=1), "this machine has one core", ""),
        (
            replace(HEALTHY.cpu, cores=1, affinity=1),
            "this process is bound to one of 8 cores",
            "taskset --cpu-list 0-7 speedcube ladder",
        ),
        (replace(HEALTHY.cpu, cores=1), "the container's quota allows one of 8 cores", ""),
    ],
    ids=["one core", "affinity", "quota"],
)
def test_why_there_is_no_rung_cores(cpu: Cpu, reason: str, command: str) -> None:
    state = rung_states(replace(HEALTHY, cpu=cpu, rungs=("core",)))[1]
    assert state == RungState("cores", False, 0, reason, command)


# (facts, findings, the command of the first)
PIP, GONE = "python -m pip install", "python -m pip uninstall -y"
FAULTS: dict[str, tuple[Facts, list[str], str]] = {
    "torch for 12 beside CuPy for 13": (
        machine_with(H200, wheels=(CUPY13, TORCH12, NCCL12)),
        ["mixed-cuda"],
        f"{GONE} nvidia-nccl-cu12 torch && {PIP} 'speedcube[cuda13,train]'",
    ),
    "CuPy for 12 beside torch for 13": (
        machine_with(H200, wheels=(CUPY12, TORCH13, NCCL13)),
        ["mixed-cuda"],
        f"{GONE} nvidia-nccl-cu13 torch && {PIP} 'speedcube[train-cuda12]'",
    ),
    "one library twice: the one kept is installed again": (
        machine_with(H200, wheels=(CUPY13, NCCL12, NCCL13)),
        ["mixed-cuda"],
        f"{GONE} nvidia-nccl-cu12 nvidia-nccl-cu13 && "
        f"{PIP} 'speedcube[cuda13]' nvidia-nccl-cu13==2.30.7",
    ),
    "two CuPy wheels": (
        machine_with(H200, wheels=(CUPY12, CUPY13)),
        ["two-cupy", "mixed-cuda"],
        f"{GONE} cupy-cuda12x cupy-cuda13x && {PIP} 'speedcube[cuda13]'",
    ),
    "two CuPy wheels of one CUDA": (
        machine_with(H200, wheels=(Package("cupy", "13.0.0", None), CUPY13)),
        ["two-cupy"],
        f"{GONE} cupy cupy-cuda13x && {PIP} 'speedcube[cuda13]'",
    ),
    "mixed without a GPU": (
        replace(HEALTHY, packages=(CUPY12, TORCH13)),
        ["mixed-cuda"],
        f"{GONE} torch && {PIP} 'speedcube[train-cuda12]'",
    ),
    "driver too old for CuPy": (
        machine_with(H200, cuda="12.4", wheels=(CUPY13,)),
        ["cupy-too-new"],
        f"{GONE} cupy-cuda13x && {PIP} 'speedcube[cuda12]'",
    ),
    "GPU too old for CuPy": (
        machine_with(PASCAL, wheels=(CUPY13,)),
        ["cupy-too-new", "slow-float64"],
        f"{GONE} cupy-cuda13x && {PIP} 'speedcube[cuda12]'",
    ),
    "CuPy fails": (
        machine_with(H200, wheels=(CUPY13,), imports=replace(WORKS, cupy_problem="it crashed")),
        ["cupy-fails"],
        f"{GONE} cupy-cuda13x && {PIP} 'speedcube[cuda13]'",
    ),
    "dask-cuda fails": (
        machine_with(
            H200, wheels=(CUPY13, DASK_CUDA), imports=replace(WORKS, dask_cuda_problem="no dask")
        ),
        ["dask-cuda-fails"],
        f"{GONE} dask-cuda rapids-dask-dependency && {PIP} 'speedcube[cuda13]'",
    ),
    "driver does not start": (
        replace(machine_with(), gpus=Gpus(None, "13.0", 1, (), None, 803, "error 803")),
        ["driver"],
        "sudo reboot",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_its_remedy_is_one_command(name: str) -> None:
    facts, expected, command = FAULTS[name]
    faults = findings(facts)
    assert [finding.code for finding in faults] == expected
    assert faults[0].level == "broken"
    assert faults[0].command == command
    assert not judge(facts).healthy
    assert json.loads(to_json(judge(facts)))["healthy"] is False


def test_a_mix_names_its_wheels_and_what_the_remedy_costs() -> None:
    torch = replace(TORCH12, needed_by=("accelerate",))  # comes back, so accelerate loses nothing
    (finding,) = findings(machine_with(H200, wheels=(CUPY13, torch, NCCL12)))
    assert "CUDA 12: torch 2.9.1, nvidia-nccl-cu12 2.27.5; CUDA 13: cupy-cuda13x" in finding.text
    assert finding.text.endswith("Afterwards install again for CUDA 13: xgboost")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (machine_with(H200), [("warning", "no-cupy")]),
        (machine_with(GEFORCE, wheels=(CUPY13,)), [("note", "slow-float64")]),
        (machine_with(H200, wheels=(CUPY13, TORCH_CPU)), [("note", "torch-cpu")]),
        (replace(HEALTHY, cpu=replace(HEALTHY.cpu, cores=2)), [("note", "fewer-cores")]),
        (replace(HEALTHY, gpus=replace(HEALTHY.gpus, in_machine=1)), [("warning", "no-driver")]),
        (replace(HEALTHY, gpus=replace(HEALTHY.gpus, init_status=100)), []),
        (replace(HEALTHY, gpus=replace(HEALTHY.gpus, init_status=999)), []),
        (LACKS["hidden"][0], []),
        (replace(HEALTHY, unknown=(Unknown("GPUs", "why"),)), [("warning", "unknown")]),
    ],
    ids=[
        "no CuPy", "little float64", "torch for CPUs", "fewer cores", "no driver",
        "a driver without a GPU", "a container's driver", "hidden on purpose", "unknown",
    ],
)  # fmt: skip
def test_what_is_no_fault_leaves_the_exit_code_0(
    facts: Facts, expected: list[tuple[str, str]]
) -> None:
    assert codes(facts) == expected
    assert judge(facts).healthy


def test_a_wrong_name_in_visible_devices_is_found() -> None:
    seen = replace(machine_with(H200).gpus, setting="0,9", in_machine=8)
    (finding,) = findings(machine_with(H200, wheels=(CUPY13,), gpus=seen))
    assert (finding.level, finding.code) == ("warning", "visible-devices")
    assert "CUDA_VISIBLE_DEVICES=0,9 names 2 GPUs and 1 GPU is visible" in finding.text


# ------------------------------------------------------------------- the kernel cache and memory


@pytest.mark.parametrize("named", [True, False], ids=["asked for", "default"])
def test_a_cache_that_is_a_file_is_broken_if_asked_for(tmp_path: Path, named: bool) -> None:
    file = tmp_path / "file"
    file.write_text("not a directory")
    environ = {"SPEEDCUBE_CACHE_DIR": "x"} if named else {}
    inside = host.kernel_cache(file / "kernels", environ)
    assert inside.problem == f"{file} is not a directory"
    cache = host.kernel_cache(file, environ)
    assert not cache.writable
    assert cache.problem == "it is not a directory"
    (finding,) = findings(replace(HEALTHY, cache=cache))
    assert (finding.code, finding.level) == ("cache", "broken" if named else "warning")
    assert str(file) in finding.text
    default = 'export SPEEDCUBE_CACHE_DIR="$(mktemp -d)"'
    assert finding.command == ("unset SPEEDCUBE_CACHE_DIR" if named else default)


def test_a_cache_that_others_may_write_to_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    cache = host.kernel_cache(tmp_path, {})
    assert (cache.writable, cache.problem) == (
        False,
        "others may write to it, so what lies in it may be theirs (delete it)",
    )
    (finding,) = findings(replace(HEALTHY, cache=cache))
    assert finding.command == f"rm -r {tmp_path}"


def test_a_directory_that_cannot_be_written_is_found_by_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**options: Any) -> None:
        raise OSError(28, "No space left on device")

    tmp_path.chmod(0o700)
    monkeypatch.setattr(host.tempfile, "TemporaryFile", full)
    assert host.kernel_cache(tmp_path, {}).problem == "No space left on device"


def test_a_containers_memory_limit_counts_where_it_is_smaller(tmp_path: Path) -> None:
    assert host.memory(tmp_path).limit is None
    (tmp_path / "memory.max").write_text("max\n")
    assert host.memory(tmp_path).limit is None
    (tmp_path / "memory.max").write_text("123456789\n")
    assert host.memory(tmp_path).limit == 123456789
    faults = findings(replace(HEALTHY, memory=Memory(10**11, 10**10, 10**9)))
    assert [f.code for f in faults] == ["memory-limit"]
    assert "1.0 GB" in faults[0].text


def test_remedies_keep_their_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "examine", lambda: judge(machine_with(H200)))
    result = RUN.invoke(cli.app, ["doctor"])
    assert result.exit_code == 0
    assert result.output.count("    python -m pip install 'speedcube[cuda13]'\n") == 1


def test_a_command_for_two_findings_is_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    two = judge(machine_with(H200, wheels=(CUPY12, CUPY13)))
    monkeypatch.setattr(command, "examine", lambda: two)
    result = RUN.invoke(cli.app, ["doctor"])
    assert result.exit_code == 1
    assert result.output.count("cupy-cuda12x cupy-cuda13x && python -m pip install") == 1
    assert result.output.endswith("Broken: 2.\n")


# ------------------------------------------------------------------- simulated wheels


def wheel(folder: Path, name: str, version: str, *requires: str) -> None:
    """The metadata of an installed wheel, without the wheel."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")


def installed(folder: Path) -> tuple[Package, ...]:
    return packages(metadata.distributions(path=[str(folder)]))


@pytest.mark.parametrize(
    ("name", "version", "cuda"),
    [
        ("cupy-cuda12x", "14.2.0", "12"),
        ("cupy_cuda13x", "14.2.0", "13"),
        ("cupy-cuda110", "12.0.0", "11"),
        ("cupy", "14.2.0", None),
        ("nvidia-cublas-cu12", "12.9.2.10", "12"),
        ("nvidia-cublas", "13.6.1.10", "13"),
        ("nvidia-cublas-cu13", "0.0.1", None),
        ("nvidia-cuda-nvrtc", "13.4.59", "13"),
        ("nvidia-cusparse", "12.8.6.49", None),
        ("nvidia-ml-py", "13.615.1", None),
        ("cuda-bindings", "12.9.4", "12"),
        ("cuda-core", "1.2.2", None),
        ("jax-cuda13-plugin", "0.11.2", "13"),
        ("torch", "2.9.1+cu128", "12.8"),
        ("torch", "2.9.1+cpu", None),
        ("numpy", "2.4.6", None),
    ],
)
def test_the_cuda_of_a_wheel(tmp_path: Path, name: str, version: str, cuda: str | None) -> None:
    wheel(tmp_path, name, version)
    packages = installed(tmp_path)
    assert [package.cuda for package in packages] == [cuda] * len(packages)
    assert bool(packages) == (cuda is not None or name in ("cupy", "torch", "numpy"))


def test_torch_says_its_cuda_in_its_own_file(tmp_path: Path) -> None:
    wheel(tmp_path, "torch", "2.15.0", "nvidia-nccl-cu13==2.30.7; platform_system == 'Linux'")
    wheel(tmp_path, "nvidia-nccl-cu13", "2.30.7")
    wheel(tmp_path, "numpy", "2.4.6")
    wheel(
        tmp_path,
        "xgboost",
        "3.2.0",
        "numpy",
        "nvidia-nccl-cu12 ; extra == 'gpu'",
        "nvidia_nccl_cu13",
    )
    (tmp_path / "torch").mkdir()
    text = "__version__ = '2.15.0+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\nhip = None\n"
    (tmp_path / "torch" / "version.py").write_text(text)
    packages = installed(tmp_path)
    assert get(packages, "torch") == Package("torch", "2.15.0", "13.0")
    assert get(packages, "numpy") == Package("numpy", "2.4.6", None)
    nccl = get(packages, "nvidia-nccl-cu13")
    assert nccl == Package("nvidia-nccl-cu13", "2.30.7", "13", ("torch", "xgboost"))
    (tmp_path / "torch" / "version.py").write_text("cuda: Optional[str] = None\n")
    assert get(installed(tmp_path), "torch") == Package("torch", "2.15.0", None)


def test_dask_cuda_has_the_cuda_of_the_bindings(tmp_path: Path) -> None:
    wheel(tmp_path, "dask-cuda", "26.10.0")
    wheel(tmp_path, "cuda-bindings", "13.5.0")
    packages = installed(tmp_path)
    assert get(packages, "dask-cuda") == Package("dask-cuda", "26.10.0", "13")
    wheel(tmp_path, "cupy-cuda12x", "14.2.0")
    facts = machine_with(H200, wheels=installed(tmp_path))
    mixed = next(f for f in findings(facts) if f.code == "mixed-cuda")
    assert "CUDA 13: cuda-bindings 13.5.0" in mixed.text


# ------------------------------------------------------------------- a simulated driver

UUID = bytes(range(16))
UUID_TEXT = b"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"


class Cuda:
    """libcuda.so.1 with one GPU; records that nothing which makes a context is called."""

    def __init__(self, status: int = 0) -> None:
        self.status = status

    def cuInit(self, flags: int) -> int:
        return self.status

    def cuDriverGetVersion(self, out: Any) -> int:
        out._obj.value = 12080
        return 0

    def cuDeviceGet(self, out: Any, number: int) -> int:
        out._obj.value = 40 + number
        return 0

    def cuDeviceGetName(self, out: Any, size: int, device: ctypes.c_int) -> int:
        out.value = b"Simulated GPU"
        return 0

    def cuDeviceTotalMem_v2(self, out: Any, device: ctypes.c_int) -> int:
        out._obj.value = 80 * 10**9
        return 0

    def cuDeviceGetAttribute(self, out: Any, which: int, device: ctypes.c_int) -> int:
        assert device.value == 40
        out._obj.value = {16: 132, 20: 0, 75: 9, 76: 0, 87: 2}[which]
        return 0

    def cuDeviceGetUuid(self, out: Any, device: ctypes.c_int) -> int:
        out[:] = UUID
        return 0


class NvmlLibrary:
    """libnvidia-ml.so.1 of a machine with eight GPUs."""

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlSystemGetDriverVersion(self, out: Any, size: int) -> int:
        out.value = b"580.159.03"
        return 0

    def nvmlDeviceGetCount_v2(self, out: Any) -> int:
        out._obj.value = 8
        return 0

    def nvmlDeviceGetHandleByUUID(self, name: bytes, out: Any) -> int:
        return 0 if name == UUID_TEXT else 6

    def nvmlDeviceGetMemoryInfo(self, handle: Any, out: Any) -> int:
        out[:] = (80 * 10**9, 79 * 10**9, 10**9)
        return 0


def loader(**libraries: Any) -> Callable[[str], Any]:
    def load(name: str) -> Any:
        key = "nvml" if "nvidia-ml" in name else "cuda"
        if key not in libraries:
            raise OSError(f"{name}: cannot open shared object file")
        return libraries[key]

    return load


def test_the_driver_is_asked_without_a_context(tmp_path: Path) -> None:
    devices = gpus((1, ""), {"CUDA_VISIBLE_DEVICES": "2"}, loader(cuda=Cuda(), nvml=NvmlLibrary()))
    gpu = Gpu(0, "Simulated GPU", "9.0", 80 * 10**9, 79 * 10**9, 132, 2, False)
    assert devices == Gpus("580.159.03", "12.8", 8, (gpu,), "2", 0, "")


def test_without_nvml_the_bus_is_counted(tmp_path: Path) -> None:
    for name, vendor, kind in [
        ("0000:00:01.0", "0x10de", "0x030200"),
        ("0000:00:02.0", "0x10de", "0x040300"),  # a graphics card's sound
        ("0000:00:03.0", "0x8086", "0x030000"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    assert pci_gpus(tmp_path) == 1
    assert pci_gpus(tmp_path / "absent") is None
    devices = gpus((1, ""), {}, loader(cuda=Cuda()), tmp_path)
    assert (devices.driver, devices.in_machine, devices.visible[0].free) == (None, 1, None)
    devices = gpus((0, "none"), {}, loader(), tmp_path)
    assert devices == Gpus(None, None, 1, (), None, None, "none")


def test_a_driver_that_does_not_start_shows_nothing(tmp_path: Path) -> None:
    devices = gpus((0, "error 802"), {}, loader(cuda=Cuda(802), nvml=NvmlLibrary()))
    assert (devices.visible, devices.init_status, devices.in_machine) == ((), 802, 8)


# ------------------------------------------------------------------- the child that tries CuPy


def _fake_module(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise ImportError('libnvrtc.so.13: none\\nmore')", "ImportError: libnvrtc.so.13: none"),
        ("import os; os.write(2, b'dead'); os._exit(7)", "ended Python (exit status 7): dead"),
        ("import time; time.sleep(60)", "importing CuPy took more than 0.5 s"),
    ],
    ids=["raises", "ends the process", "hangs"],
)  # fmt: skip
def test_a_cupy_that_fails_only_harms_its_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    _fake_module(tmp_path, "cupy", text)
    monkeypatch.syspath_prepend(str(tmp_path))
    limit = 0.5 if "sleep" in text else imports_module.LIMIT
    outcome = imports_module.imports(["sm_90"], dask_cuda=False, limit=limit)
    assert outcome.tried
    assert problem in outcome.cupy_problem
    assert "\n" not in outcome.cupy_problem


def test_a_dask_cuda_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_module(tmp_path, "cupy", "raise ImportError('simulated')")
    _fake_module(tmp_path, "dask_cuda", "raise RuntimeError('dask is too new')")
    monkeypatch.syspath_prepend(str(tmp_path))
    outcome = imports_module.imports([], dask_cuda=True)
    assert outcome.cupy_problem == "ImportError: simulated"
    assert outcome.dask_cuda_problem == "RuntimeError: dask is too new"
