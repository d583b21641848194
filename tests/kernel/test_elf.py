"""Objects are checked before they are linked: ours pass, and no damaged one ends a process."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import tiers
from speedcube.engine.compute import plan_for
from speedcube.engine.prepare import prepare
from speedcube.engine.small import known
from speedcube.kernel import cache, elf
from speedcube.kernel.cache import KernelCache
from speedcube.kernel.llvm.compile import FULL, _key, compile_object, load, source
from speedcube.kernel.llvm.simd import runnable, targets

ROOT: Final = Path(__file__).resolve().parents[2]
MUTANTS: Final = ROOT / "tests" / "support" / "object_mutants.py"
X: Final = np.arange(300.0) - 7


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelCache:
    """An empty cache that computations use."""
    empty = KernelCache(tmp_path / "k")
    monkeypatch.setattr(tiers, "kernel_cache", lambda: empty)
    tiers.tiers.cache_clear()
    known._known.clear()
    known._met.clear()
    return empty


KERNELS: Final[dict[str, Callable[[], Any]]] = {
    "elements": lambda: sc.exp(sc.asarray(X)) + 1,
    "sum": lambda: (sc.asarray(X) * 2 + 1).sum(),
    "draws": lambda: sc.random.default_rng(3).normal(size=50).max(),
}


def _fill(store: KernelCache) -> list[bytes]:
    """A few kernels, compiled into ``store``: their objects."""
    for make in KERNELS.values():
        make().compute(on="core")
    objects = [path.read_bytes()[-_length(path) :] for path in store.directory.glob("*.kernel")]
    assert len(objects) >= 3
    return objects


def _length(path: Path) -> int:
    return path.stat().st_size - 82


def test_our_objects_pass(store: KernelCache) -> None:
    assert [elf.fault(code, elf.NATIVE) for code in _fill(store)] == [None] * len(_fill(store))


@pytest.mark.slow
@pytest.mark.parametrize("target", runnable())
def test_all_our_objects_pass(tmp_path: Path, target: str) -> None:
    """One that does not is not kept, so it would be compiled by every process."""
    code = (
        "import texts; from speedcube.kernel.cache import kernel_cache\n"
        "for make in texts.EXPRESSIONS.values(): make().compute(on='core')\n"
        "store = kernel_cache(); print(store.hits + store.misses, store.hits)"
    )
    here = {"SPEEDCUBE_CACHE_DIR": str(tmp_path / "k"), "SPEEDCUBE_SIMD": target}
    here["PYTHONPATH"] = str(ROOT / "tools")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **here}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    asked, hits = map(int, done.stdout.split())
    assert asked == hits > 30


def test_what_is_no_object_of_ours_is_named(store: KernelCache) -> None:
    code = _fill(store)[0]
    named = {
        b"": "too short",
        bytes(4000): "no 64-bit ELF",
        random.Random(1).randbytes(4000): "no 64-bit ELF",
        code[:4] + b"\1" + code[5:]: "no 64-bit ELF",  # of 32 bits
        code[:16] + b"\3\0" + code[18:]: "no object to be linked",
        code[:18] + b"\x03\x00" + code[20:]: "for machine 3",
        code[:-1]: "sections lie outside",
        code.replace(b"\0kernel\0", b"\0kermit\0"): "it offers 'kermit'",
        code.replace(b".note.GNU-stack\0", b".nota.GNU-stack\0"): "a section '.nota.GNU-stack'",
    }
    for raw, reason in named.items():
        assert reason in str(elf.fault(raw, elf.NATIVE))
    assert elf.fault(code, None) is not None, "of a processor that nobody tried"


def test_an_object_that_asks_for_other_functions_is_not_linked() -> None:
    text = (
        "declare i32 @system(ptr) nounwind\n"
        "define void @kernel(ptr %p) nounwind { call i32 @system(ptr %p) ret void }"
    )
    code = compile_object(text, targets()[0])
    assert elf.fault(code, elf.NATIVE) == "it asks for 'system'"
    writes = "@state = global i64 0\ndefine void @kernel() { store i64 1, ptr @state ret void }"
    assert "a section" in str(elf.fault(compile_object(writes, targets()[0]), elf.NATIVE))


def _link(folder: Path, seed: int, count: int) -> int:
    """How many mutants passed the check; a death of the process fails the test."""
    command = [sys.executable, str(MUTANTS), str(folder), str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"seed {seed}, exit {done.returncode}: {done.stderr[-600:]}"
    return int(done.stdout)


def test_damaged_objects_end_no_process(store: KernelCache) -> None:
    _fill(store)
    passed = _link(store.directory, 20261122, 3000)
    assert 100 < passed < 1500, "some damage is none, such as a name that nobody reads"


@pytest.mark.slow
def test_many_damaged_objects_end_no_process(
    store: KernelCache, request: pytest.FixtureRequest
) -> None:
    _fill(store)
    seed = int(request.config.getoption("hypothesis_seed"))  # new with -m slow, and shown
    print(f"python {MUTANTS} {store.directory} {seed} 60000")
    _link(store.directory, seed, 60_000)


def test_results_are_right_whatever_others_have_signed(store: KernelCache) -> None:
    """Header and hash as whoever knows the format writes them; the payload is anything.

    Machine code that is damaged, or another kernel's, is an object like any other: the tag alone
    tells it from ours.
    """
    program = _program()
    target = targets()[0]
    key = _key(program, target, FULL[target])
    code = compile_object(source(program, target, FULL[target]), target)
    rng = random.Random(5)
    forger = KernelCache(store.directory.parent / "forger")
    payloads = [*_module(MUTANTS).mutants([code], 5, 50), *(rng.randbytes(900) for _ in range(10))]
    for _ in range(50):  # bits of the machine code
        at = rng.randrange(64, len(code) // 2)
        payloads.append(code[:at] + bytes([code[at] ^ 1 << rng.randrange(8)]) + code[at + 1 :])
    payloads += [*_fill(store), code]
    for payload in payloads:
        store.path(key).write_bytes(forger._header(key, payload) + payload)
        store.path(key).chmod(0o600)
        assert load(program, target, FULL[target], store) is None
        assert not store.path(key).exists()
    tiers.tiers.cache_clear()
    known._known.clear()
    known._met.clear()
    assert (sc.asarray(np.arange(5.0)) * 3).compute(on="core").tolist() == [0, 3, 6, 9, 12]


def _program() -> Any:
    expression = (sc.asarray(np.arange(5.0)) * 3)._expr
    stage = plan_for(expression, "core", None, False)[0].stages[-1]
    return prepare(stage, stage.parts[0], None).program


# Other machines -----------------------------------------------------------------------------------


_CUDA: Final = """
__constant__ int table[3] = {1, 2, 3};
extern "C" __global__ void kernel(int *a) { a[threadIdx.x] = table[blockIdx.x % 3]; }
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cubins_are_checked(tmp_path: Path, architecture: str) -> None:
    (tmp_path / "k.cu").write_text(_CUDA)
    command = ["nvcc", "-cubin", f"-arch={architecture}", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, check=True, cwd=tmp_path)
    code = (tmp_path / "k.cubin").read_bytes()
    assert elf.fault(code, elf.CUBIN) is None
    assert elf.fault(code, elf.NATIVE) is not None
    assert elf.fault(code.replace(b"\0kernel\0", b"\0kermit\0"), elf.CUBIN) is not None
    assert elf.fault(code[: len(code) // 2], elf.CUBIN) is not None
    found = [elf.fault(m, elf.CUBIN) for m in _module(MUTANTS).mutants([code], 7, 500)]
    assert sum(fault is not None for fault in found) > 200


def test_this_processors_objects_are_known() -> None:
    assert elf.NATIVE is not None
    assert cache.MOST > 1 << 20
