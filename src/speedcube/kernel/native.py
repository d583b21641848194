"""LLVM text to machine code: targets chosen at run time, objects cached, functions callable.

Three targets: ``avx512`` and ``avx2`` where the CPU has them, ``plain`` (the architecture's
baseline) everywhere. Without FMA hardware ``plain`` calls libm's fma: the same bits, slowly.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm

from ..errors import KernelError
from .cache import KernelCache, content_key

_AVX2: Final = "+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+f16c,+sse4.2,+sse4.1,+ssse3,+sse3"
_AVX512: Final = f"{_AVX2},+avx512f,+avx512dq,+avx512bw,+avx512vl,+avx512cd"
# LLVM tunes AVX-512 machines for 256-bit vectors by default; ours want all of the register.
FEATURES: Final = {
    "avx512": f"{_AVX512},-prefer-256-bit",
    "avx2": _AVX2,
    "plain": "",
}


@cache
def host_features() -> frozenset[str]:
    """Names of the features this CPU has."""
    found: Any = llvm.get_host_cpu_features()
    return frozenset(name for name, on in found.items() if on)


@cache
def targets() -> tuple[str, ...]:
    """The targets this CPU can run, best first."""
    have = host_features()
    found = []
    for name in ("avx512", "avx2"):
        if all(f[1:] in have for f in FEATURES[name].split(",") if f.startswith("+")):
            found.append(name)
    return (*found, "plain")


def has_fma() -> bool:
    """Whether fused multiply-add is an instruction here."""
    return "fma" in host_features() or platform.machine() in ("aarch64", "arm64")


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine(target: str) -> Any:
    """A target machine; each engine takes one and frees it with itself, so none is shared."""
    _initialise()
    # The small code model folds constants into memory operands (the large one rebuilds each);
    # `plain` without FMA calls libm, which may lie further away than small can reach.
    model = "small" if target != "plain" else "large"
    return llvm.Target.from_default_triple().create_target_machine(
        cpu="x86-64" if platform.machine() in ("x86_64", "AMD64") else "",
        features=FEATURES[target],
        opt=2,
        codemodel=model,
        jit=True,
    )


def compile_object(source: str, target: str) -> bytes:
    """Machine code of ``source`` for ``target``."""
    machine = _machine(target)
    try:
        module = llvm.parse_assembly(source)
        module.verify()
    except RuntimeError as err:
        raise KernelError(f"LLVM refused a kernel: {str(err)[:2000]}") from err
    # The text is already vectors in straight lines: registers for allocas, then a tidy-up, is all
    # that helps. The standard -O2 pipeline takes seven times as long for the same speed.
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


@dataclass(frozen=True)
class NativeKernel:
    """A loaded kernel: call it with five addresses (the GIL is released while it runs)."""

    source: str
    target: str
    function: Callable[[int, int, int, int, int], None]
    engine: Any  # keeps the code in memory


_SIGNATURE: Final = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)


def load_object(machine_code: bytes, source: str, target: str) -> NativeKernel:
    """Machine code, callable."""
    _initialise()
    empty = llvm.parse_assembly("")
    # One block for all sections (use_lmm): the small code model needs them within 2 GB of each
    # other, and a CUDA context leaves little room between its reservations.
    engine = llvm.create_mcjit_compiler(empty, _machine(target), use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    address = engine.get_function_address("kernel")
    if not address:
        raise KernelError("a compiled kernel has no entry point")
    return NativeKernel(source, target, _SIGNATURE(address), engine)


_OBJECT_MAGICS: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe")


def _is_object(code: bytes) -> bool:
    """Whether ``code`` begins as an object file does: LLVM aborts the process on other bytes."""
    return len(code) > 64 and code[:4] in _OBJECT_MAGICS


def build(source: str, target: str, store: KernelCache) -> NativeKernel:
    """The kernel of ``source``: from the cache, or compiled and put there."""
    key = content_key("llvm", llvm.llvm_version_info, target, FEATURES[target], source)
    machine_code = store.get(key)
    if machine_code is not None and _is_object(machine_code):
        try:
            return load_object(machine_code, source, target)
        except (RuntimeError, KernelError):
            store.discard(key)
    machine_code = compile_object(source, target)
    store.put(key, machine_code)
    return load_object(machine_code, source, target)
