"""A program to machine code: in one of two styles, cached as an object, callable."""

from __future__ import annotations

import ctypes
import platform
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from itertools import count
from typing import Any, Final, TypeAlias

from ... import dtypes
from ...dataclass import dataclass
from ...errors import KernelError
from .. import elf
from ..cache import KernelCache, content_key, generator
from ..orders import Order
from ..program import Folded, Program, Scan, Sieve, Tally, Weigh
from .files.pieces import PiecesOfFile, emit_pieces
from .folded.columns import FoldedColumns
from .folded.which import rows_of
from .grouping.deal import emit_dealt
from .grouping.near import emit_grouped
from .grouping.places import emit_foremost
from .grouping.products import emit_trees
from .grouping.program import DealtToGroups, Foremost, Grouped, TreesOfGroups
from .loops import Loops, Nest
from .many.columns import ColumnLoops
from .many.integers import rows_of as sums_of
from .memory import LINE
from .nests.together import TogetherColumns, TogetherRows
from .ordering.table import EMITTERS
from .scans.emit import emit_scan
from .simd import adds_beside, features, foresees, llvm
from .text import Style

# Kernels of fixed text, over elements in memory.
Small: TypeAlias = (
    Order
    | Scan
    | Tally
    | Sieve
    | Weigh
    | Grouped
    | Foremost
    | DealtToGroups
    | TreesOfGroups
    | PiecesOfFile
)
# Those whose text does not depend on how many numbers a register has.
_FIXED: Final[dict[type[Any], Callable[[Any], str]]] = {
    **EMITTERS,
    Foremost: emit_foremost,
    DealtToGroups: emit_dealt,
    TreesOfGroups: emit_trees,
    PiecesOfFile: emit_pieces,
}


class ByTarget(dict[str, Style]):
    """Styles by target, each made when it is first asked for: LLVM knows what the CPU is like."""

    def __init__(self, **shapes: tuple[int, bool, int]) -> None:
        super().__init__()
        self._shapes = shapes

    def __missing__(self, target: str) -> Style:
        apart = target != "plain" and adds_beside()
        style = Style(*self._shapes[target], not foresees(), adds_beside=apart)
        self[target] = style
        return style


# A quick kernel is short text, compiled in a third of the time; a full one has enough independent
# chains in a vector to hide latencies, but few enough to stay in registers. Measured on the
# published expression, ms to compile and ns a normal: AVX-512 44 and 4.6 against 127 and 3.2 (with
# 16 lanes 82 and 3.7), AVX2 44 and 6.4 against 152 and 5.0 (with 32 lanes 226 and 6.1).
QUICK: Final = ByTarget(avx512=(8, True, 16), avx2=(8, True, 8), plain=(4, True, 8))
FULL: Final = ByTarget(avx512=(32, False, 16), avx2=(16, False, 8), plain=(8, False, 8))
# A vector of samplers goes on until each of its elements is accepted: it has fewer of them. Nor is
# there quick code: they are long, and with fewer chains in a vector would wait for each.
RAGGED: Final = ByTarget(avx512=(16, False, 16), avx2=(8, False, 8), plain=(4, False, 8))


def styles(program: Program, target: str) -> tuple[Style, Style]:
    """The styles of quick and of full code."""
    drawn, folded = any(leaf.stream is not None for leaf in program.leaves), program.sink.folded
    if program.sink.kind == "together":
        parts = [program.part(k) for k in range(len(program.sink.parts))]
        each = [styles(one, target) for one in parts]
        quick, full = each[0]
        return (
            replace(quick, lanes=min(one[0].lanes for one in each)),
            replace(full, lanes=min(one[1].lanes for one in each)),
        )
    if program.sink.many is not None and not drawn:
        lanes = SUM_LANES[target] // min(2, program.sink.many.sums)  # more fill the registers
        one_register = program.sink.many.onto or (foresees() and _read_whole(program))
        if one_register and not program.sink.rows:
            lanes = min(lanes, VECTOR[target] // 8)
        return (replace(QUICK[target], lanes=lanes),) * 2
    if program.ragged:
        return RAGGED[target], RAGGED[target]
    if folded is not None and not drawn:
        style = replace(QUICK[target], lanes=_fold_lanes(program, folded, target))
        return style, style
    if program.streams:
        # A vector is a line of memory: processors see best what comes next where each instruction
        # reads line after line. Sums of 8 MB: 290 us, with vectors of four lines 350.
        widest = _widest(program)
        line = LINE // 2 if foresees() and _is_copy(program, widest) else LINE
        style = replace(FULL[target], lanes=line // widest)
        return style, style
    return replace(QUICK[target], calls=True), FULL[target]


def _is_copy(program: Program, widest: int) -> bool:
    """Whether so little is done that only the way to memory and back counts.

    A Zen 4 takes two halves of a line sooner than all of it: sums of 8 MB 490 us, else 640. Not
    where results are shorter: there would be too few in a vector.
    """
    same = dtypes.itemsize(program.sink.dtype) == widest > 1
    return same and len(program.element.instrs) <= _FEW_STEPS


def _read_whole(program: Program) -> bool:
    """Whether elements of eight bytes are read: a register's come from one line of memory.

    Of eight rows at once, which a Zen 4 reads in 2.0 ms where it takes 2.3 from two lines each.
    """
    return any(
        leaf.kind == "stored" and dtypes.itemsize(leaf.dtype) == 8 for leaf in program.leaves
    )


SUM_LANES: Final = {"avx512": 16, "avx2": 8, "plain": 4}
VECTOR: Final = {"avx512": 64, "avx2": 32, "plain": 16}  # bytes
MOST_LANES: Final = 128
_FEW_STEPS: Final = 11  # of a body: an addition with its NaN takes 8
_CHAINS: Final = 4  # vectors along a row that are folded at once; across, rows are


def _fold_lanes(program: Program, folded: Folded, target: str) -> int:
    """Lanes such that the widest number of a body fills a register, or a few along a row.

    Words that wait for nothing but memory come sooner to a Zen 4 one register at a time: the
    largest of 32 MB of integers 0.9 ms, else 1.8.
    """
    one = foresees() and not (folded.floats or folded.first)
    several = _CHAINS if folded.rows and not one else 1
    return min(MOST_LANES, VECTOR[target] // _widest(program) * several)


def _widest(program: Program) -> int:
    """Bytes of the widest number of an element's body."""
    return max(dtypes.itemsize(instr.type) for instr in program.element.instrs)


@cache
def _initialise() -> None:
    llvm().initialize_native_target()
    llvm().initialize_native_asmprinter()


def _machine(target: str) -> Any:
    """A target machine; a linker takes one and frees it with itself, so none is shared."""
    _initialise()
    host = llvm().Target.from_default_triple()
    return host.create_target_machine(
        cpu="x86-64" if platform.machine() in ("x86_64", "AMD64") else "",
        features=features(target),
        opt=2,
        reloc="pic",  # the address of a table may not fit 32 bits
        codemodel="small",  # constants are memory operands; the large one rebuilds each
        jit=True,
    )


def compile_object(source: str, target: str) -> bytes:
    """Machine code of ``source`` for ``target``."""
    machine = _machine(target)
    try:
        module = llvm().parse_assembly(source)
        module.verify()
    except RuntimeError as err:
        raise KernelError(f"LLVM refused a kernel: {str(err)[:2000]}") from err
    # The text is already vectors in straight lines: registers for allocas and fewer blocks are all
    # that helps. Combining instructions takes 5 ms and gains nothing; the standard -O2 pipeline
    # takes seven times as long for the same speed.
    passes = llvm().create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    builder = llvm().create_pass_builder(machine, llvm().create_pipeline_tuning_options())
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


Function = Callable[[int, int, int, int, int], None]


@dataclass(frozen=True)
class NativeKernel:
    """A loaded kernel: call it with five addresses (the GIL is released while it runs)."""

    function: Function
    memory: Any  # holds the code for as long as this object lives


_SIGNATURE: Final = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)

_numbers = count()
_lock = threading.Lock()  # kernels do not keep their linker: there must be one, even at a race


@cache
def _linker() -> Any:
    """LLVM's linker for this process. JITLink: MCJIT takes six times as long for each kernel.

    It puts the sections of an object side by side, as the small code model asks for, and reaches
    functions that lie further away (libm's fma) through stubs of its own.
    """
    return llvm().create_lljit_compiler(_machine("plain"), use_jit_link=True, suppress_errors=True)


def load_object(machine_code: bytes) -> NativeKernel:
    """Machine code, callable."""
    library = llvm().JITLibraryBuilder().add_current_process().add_object_img(machine_code)
    with _lock:
        linker = _linker()
    memory = library.export_symbol("kernel").link(linker, f"kernel{next(_numbers)}")
    return NativeKernel(_SIGNATURE(memory["kernel"]), memory)


@lru_cache(maxsize=64)
def source(program: Program | Small, target: str, style: Style) -> str:
    """The LLVM text of ``program``."""
    if isinstance(program, Scan):
        return emit_scan(program, style.lanes)
    if isinstance(program, Grouped):
        return emit_grouped(program, style.lanes)
    emit = _FIXED.get(type(program))
    if emit is not None:
        return emit(program)
    assert isinstance(program, Program)
    sink = program.sink
    kinds: dict[str, tuple[type[Nest], type[Nest]]] = {
        "many": (ColumnLoops, sums_of(sink.many)),
        "folded": (FoldedColumns, rows_of(sink.folded)),
        "together": (TogetherColumns, TogetherRows),
    }
    return kinds.get(sink.kind, (Loops, Loops))[sink.rows](program, style).emit()


def _key(program: Program | Small, target: str, style: Style) -> bytes:
    # Of the program, not of its text, which takes as long to print as machine code to load.
    version = llvm().llvm_version_info
    return content_key("llvm", version, generator("llvm"), target, features(target), style, program)


def is_stored(program: Program | Small, target: str, style: Style, store: KernelCache) -> bool:
    """Whether `load` may find it; this is not counted as a miss of the cache."""
    return store.holds(_key(program, target, style))


def load(
    program: Program | Small, target: str, style: Style, store: KernelCache
) -> NativeKernel | None:
    """The kernel from the cache, or None; an entry that cannot be loaded is removed.

    LLVM's linker ends the process where an object is damaged, so none is given to it unchecked.
    """
    key = _key(program, target, style)
    machine_code = store.get(key)
    if machine_code is None:
        return None
    if elf.fault(machine_code, elf.NATIVE) is None:
        with suppress(RuntimeError, KernelError):
            return load_object(machine_code)
    store.discard(key)
    return None


def build(program: Program | Small, target: str, style: Style, store: KernelCache) -> NativeKernel:
    """The kernel, compiled and put into the cache."""
    machine_code = compile_object(source(program, target, style), target)
    if elf.fault(machine_code, elf.NATIVE) is None:  # else no process would take it from there
        store.put(_key(program, target, style), machine_code)
    return load_object(machine_code)
