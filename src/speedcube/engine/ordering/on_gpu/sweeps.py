"""All elements of an array through one kernel of a GPU, some billions in a launch."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Final

import numpy as np

from ....dataclass import dataclass
from ....expr.nodes import Expr, Leaf, Map, StageResult, Stored, c_strides
from ....expr.piecewise.regions import pieced
from ....expr.space import build, tile
from ....kernel.cuda.compile import Fixed
from ....kernel.cuda.prelude import THREADS
from ....kernel.lower.lower import lower_counting
from ....plan.stages import Part, Stage, cut_stage
from ... import gpu
from ...boxes import Stop
from ...gpu import LAUNCH, Launcher, launching
from ...prepare import Prepared, prepare, prepared_of, remembered
from ...results import Destination
from ...scans.matrices import even_step
from ..elements import Array, Inputs, Store

SCATTERED: Final = 1 << 32  # elements of a launch, where each goes to a place of its own

# Of parts: those of their arguments, and the stages that make all elements.
_args: Final[weakref.WeakKeyDictionary[Part, dict[int, Part]]] = weakref.WeakKeyDictionary()
_stages: Final[weakref.WeakKeyDictionary[Part, Stage]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class DeviceWork:
    """The elements of ``part``, on GPU ``device``; ``store`` is what stores elements there."""

    part: Part
    inputs: Inputs
    device: int
    stop: Stop
    store: Store
    kept: list[StageResult] = field(default_factory=list)  # sources that inputs tell by identity

    @property
    def root(self) -> Expr:
        return self.part.root

    @property
    def size(self) -> int:
        return math.prod(self.root.shape)

    def of(self, root: Expr) -> DeviceWork:
        """The elements of ``root`` instead, one of those that the part's are made of."""
        part = Part(root, (), None, 0, 0)
        return DeviceWork(part, self.inputs, self.device, self.stop, self.store, self.kept)

    def of_arg(self, root: Expr) -> DeviceWork:
        """The same, of an argument that lives as long as the part: its kernel is kept for it."""
        known = _args.setdefault(self.part, {})
        part = known.get(id(root))
        if part is None:
            part = known[id(root)] = Part(root, (), None, 0, 0)
        return DeviceWork(part, self.inputs, self.device, self.stop, self.store, self.kept)

    def several(self, *roots: Expr) -> DeviceWork:
        """The elements of ``roots``, of one shape, beside each other."""
        return self.of(Map("several", roots, roots[0].shape, roots[-1].dtype))

    def in_one_kernel(self) -> DeviceWork:
        """The same; several, of which one is in pieces, lie in the GPU's memory then."""
        root = self.root
        if not isinstance(root, Map) or not any(map(pieced, root.args)):
            return self
        inputs, roots = dict(self.inputs), []
        for arg in root.args:
            result = StageResult(arg.shape, arg.dtype)
            inputs[id(result)] = self.of(arg).whole()
            roots.append(Leaf(result, arg.shape, 0, c_strides(arg.shape)))
            self.kept.append(result)
        work = DeviceWork(self.part, inputs, self.device, self.stop, self.store, self.kept)
        return work.several(*roots)

    @property
    def is_one_kernel(self) -> bool:
        """Whether one kernel computes all elements."""
        return not pieced(self.root) and self.size > 0

    @contextmanager
    def sweeping(self, kind: str, brackets: int = 0) -> Iterator[ElementSweep]:
        """A kernel with a sink of ``kind`` over all elements."""
        key = ("sweep", kind, brackets)
        prepared = remembered(self.part, key, lambda: _prepared(self.root, kind, brackets))
        with launching(prepared, self.inputs, self.device) as launcher:
            yield ElementSweep(launcher, self.stop)

    def flat(self) -> Any:
        """All elements in C order where they lie so in the GPU's memory; else None."""
        root = self.root
        if not isinstance(root, Leaf) or even_step(root.shape, root.strides) != 1:
            return None
        array: Any = self.inputs.get(id(root.source))
        if array is None and isinstance(root.source, Stored):
            array = root.source.buffer
        if not hasattr(type(array), "__cuda_array_interface__") or array.dtype != root.dtype:
            return None
        if not array.flags.c_contiguous:
            return None
        return array.reshape(-1)[root.offset : root.offset + self.size]

    def elements(self, start: int, stop: int) -> Any:
        """Elements ``[start, stop)`` in C order, to be read only: of one kernel."""
        import cupy

        flat = self.flat()
        if flat is not None:
            return flat[start:stop]
        stage = cut_stage(self.root, None, (), (), 1)
        prepared = prepare(stage, stage.parts[0], None, gpu=True)
        out = cupy.empty(stop - start, self.root.dtype)
        with launching(prepared, self.inputs, self.device) as launcher:
            for first, last, block in gpu.spans(launcher, start, stop):
                low, high = max(start, first), min(stop, last)
                out[low - start : high - start] = block[low - first : high - first]
        return out

    def whole(self) -> Any:
        """All elements in C order, in memory of the GPU that is their own."""
        stage = _stages.get(self.part)
        if stage is None:
            stage = _stages[self.part] = cut_stage(self.root, None, (), (), 1)
        out = Destination(self.root.shape, self.root.dtype, self.device)
        for part in stage.parts:
            self.store(stage, part, out, self.inputs)
        return out.take().reshape(-1)

    def runs(self, count: int, length: int) -> Any:
        """``count`` runs of ``length`` neighbours at places that a hash gives, each a row."""
        import cupy

        stage = cut_stage(self.root, None, (), (), 1)
        prepared = prepare(stage, stage.parts[0], None, gpu=True)
        share = hashed_share(np.arange(1, count + 1, dtype=np.uint64))
        starts = np.sort((share * (self.size - length)).astype(np.int64)).tolist()
        table = cupy.empty((count, length), self.root.dtype)
        with launching(prepared, self.inputs, self.device) as launcher:
            for row, start in enumerate(starts):
                for first, last, block in gpu.spans(launcher, start, start + length):
                    low, high = max(start, first), min(start + length, last)
                    table[row, low - start : high - start] = block[low - first : high - first]
        return table


def hashed_share(numbers: Any) -> Any:
    """Numbers from 0 to 1 that a hash gives for ``numbers``, uint64: on the host or a GPU."""
    with np.errstate(over="ignore"):
        mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _prepared(root: Expr, kind: str, brackets: int) -> Prepared:
    assert isinstance(root, (Leaf, Map))
    space = build(root, tuple(range(len(root.shape))), (), None, reduction=True)
    tiling = tile(space, gpu=True)
    return prepared_of(space, tiling, lower_counting(root, space, tiling, kind, brackets))


@dataclass(frozen=True, eq=False)
class ElementSweep:
    """A kernel that adds all elements to the words that it is given."""

    launcher: Launcher
    stop: Stop

    def run(self, out: Any, most: int | None = None) -> None:
        """Add all elements to ``out``."""
        for _ in self.launches(out, most or LAUNCH):
            pass

    def launches(self, out: Any, most: int) -> Iterator[None]:
        """The same, by launches of about ``most`` elements at most; each has been done."""
        import cupy

        launcher, reduced = self.launcher, self.launcher.prepared.loops[1]
        for step in launcher.windows(1, most):
            for first in range(0, reduced, step):
                if self.stop.is_set():
                    raise KeyboardInterrupt
                last = min(reduced, first + step)
                pieces = max(1, min((last - first) * launcher.row_tiles, launcher.resident))
                launcher.launch((0, 1), (first, last), pieces, out)
                cupy.cuda.get_current_stream().synchronize()
                yield


def run_fixed(program: Fixed, device: int, size: int, words: tuple[int, ...]) -> None:
    """Run a kernel whose elements lie in memory, ``size`` of them."""
    kernel, resident = gpu.gpu_kernel(program, device)
    blocks = max(1, min(resident, -(-size // THREADS)))
    kernel.function((blocks,), (THREADS,), (*np.array(words, np.uint64),))


def array_of_words(count: int) -> Array:
    """Words of a kernel before it runs, on the host."""
    return np.zeros(count, np.uint64)
