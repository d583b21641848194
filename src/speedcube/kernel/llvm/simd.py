"""Which vector instructions this CPU has, and which of them kernels are made for.

Three targets: ``avx512`` and ``avx2`` where the CPU has them, ``plain`` (the architecture's
baseline) everywhere. Without FMA hardware ``plain`` calls libm's fma: the same bits, slowly.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from ...errors import ParameterError

SIMD: Final = "SPEEDCUBE_SIMD"  # of the environment: the best target to use
_AVX2: Final = "+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+f16c,+sse4.2,+sse4.1,+ssse3,+sse3"
_AVX512: Final = f"{_AVX2},+avx512f,+avx512dq,+avx512bw,+avx512vl,+avx512cd"
# LLVM tunes AVX-512 machines for 256-bit vectors by default; ours want all of the register.
FEATURES: Final = {
    "avx512": f"{_AVX512},-prefer-256-bit",
    "avx2": _AVX2,
    "plain": "",
}


@cache
def llvm() -> Any:
    """LLVM, for who computes: to load it takes a twentieth of what the package takes."""
    import llvmlite.binding

    return llvmlite.binding


@cache
def host_features() -> frozenset[str]:
    """Names of the features this CPU has."""
    features: Any = llvm().get_host_cpu_features()
    return frozenset(name for name, on in features.items() if on)


# Processors that know what is read next along a line of memory, and are hindered by being told: on
# a Zen 4 the largest of 32 MB takes 1.0 ms, and 1.7 ms with what is asked for ahead. A Zen 5 takes
# a fifth less with it.
_FORESEEING: Final = frozenset(("znver4",))


@cache
def foresees() -> bool:
    """Whether this CPU finds what is read next by itself."""
    return str(llvm().get_host_cpu_name()) in _FORESEEING


@cache
def adds_beside() -> bool:
    """Whether this CPU adds and multiplies with units that are not the same, as AMD's have been
    since the first Zen. On others (an Intel of 2023) sums of squares take a tenth longer so.
    """
    return str(llvm().get_host_cpu_name()).startswith("znver")


def features(target: str) -> str:
    """What LLVM is told of ``target`` on this CPU.

    AMD's processors load one element after the other sooner than by an instruction that gathers:
    3e6 float64 at rising indices 4.4 ms on a Zen 4, else 7.3.
    """
    return f"{FEATURES[target]},+prefer-no-gather" if adds_beside() else FEATURES[target]


@cache
def runnable() -> tuple[str, ...]:
    """The targets this CPU can run, best first."""
    have = host_features()
    names = []
    for name in ("avx512", "avx2"):
        if all(f[1:] in have for f in FEATURES[name].split(",") if f.startswith("+")):
            names.append(name)
    return (*names, "plain")


@cache
def targets() -> tuple[str, ...]:
    """The targets kernels are made for here, best first: `runnable`, from $SPEEDCUBE_SIMD on.

    The environment is asked once: small computations want to know each time.
    """
    able, best = runnable(), os.environ.get(SIMD)
    if not best:
        return able
    if best not in able:
        raise ParameterError(
            f"{SIMD}={best} is not a target of this CPU; it has {', '.join(able)}: "
            f"name one of them, or unset {SIMD}"
        )
    return able[able.index(best) :]


@contextmanager
def limited(target: str | None) -> Iterator[None]:
    """Kernels are made for ``target`` inside (None: as always), in every thread."""
    before = os.environ.get(SIMD)
    _limit(before if target is None else target)
    try:
        yield
    finally:
        _limit(before)


def _limit(target: str | None) -> None:
    if target is not None:
        os.environ[SIMD] = target
    else:
        os.environ.pop(SIMD, None)
    targets.cache_clear()


def has_fma() -> bool:
    """Whether fused multiply-add is an instruction here."""
    return "fma" in host_features() or platform.machine() in ("aarch64", "arm64")
