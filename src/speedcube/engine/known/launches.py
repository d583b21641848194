"""What makes a stage's result on a GPU: launches with all arguments in place but addresses.

A program of many stages is a thousand launches of a few microseconds each, so nothing of one is
worked out twice. One thread at a time has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Reduced, StageResult, Stored, c_strides
from ...kernel.lower.parameters import now, refresh
from ...kernel.program import Program
from ...plan.regions import regions_of
from ...plan.stages import Stage
from ..boxes import Stop
from ..finished.launch import OnceForAll
from ..gpu import Launcher, compile_all, to_device
from ..gpu_records import run_some
from ..prepare import Prepared, prepare, prepare_many
from ..results import values
from ..staging.packed import Packed

InMemory: TypeAlias = Stored | StageResult


class DirectLaunches:
    """All launches that store a stage's result, and the sources they read from memory.

    Their arguments lie side by side: an address that several take is written once.
    """

    def __init__(self, stage: Stage, kernels: Sequence[tuple[Prepared, Launcher, int]]) -> None:
        """``kernels``, each with how many bytes behind the result's first element it begins."""
        self.stage, self.kernels = stage, kernels
        self.params: list[slice] = []  # of each launch
        words: list[Any] = []
        ends, blocks, outs, read = [0], [], [], list[tuple[int, InMemory]]()
        for prepared, launcher, _ in kernels:
            count, geometry = launcher.stored((0, prepared.loops[0]))
            first = len(words) + len(geometry)
            self.params.append(slice(first, first + launcher.count))
            read += _read(prepared, first + launcher.count)
            words += [*geometry, *launcher.params, *launcher.addresses, *launcher.tables, 0]
            blocks.append(count)
            outs.append(len(words) - 1)
            ends.append(len(words))
        self.words: Any = np.array(words, np.uint64)
        self.each = [
            (Packed(launcher.kernel, end - begin, self.words[begin:end]), count)
            for (_, launcher, _), begin, end, count in zip(
                kernels, ends[:-1], ends[1:], blocks, strict=True
            )
        ]
        self.reads = tuple({id(source): source for _, source in read}.values())
        self.places = _stretches([(at, id(source)) for at, source in read])
        self.outs = np.array(outs)
        self.begins = np.array([place for _, _, place in kernels], np.uint64)
        self._note()

    def run(self, memory: DeviceMemory, array: Any) -> None:
        """Store the stage's result in ``array``."""
        for source, seen in self.seen:
            if now(source) is not seen:
                self._refresh()
                break
        words, addresses = self.words, memory.addresses
        for at, name in self.places:
            words[at] = addresses[name]
        words[self.outs] = self.begins + np.uint64(array.data.ptr)
        for packed, blocks in self.each:
            packed.launch(blocks, memory.stream)

    def _note(self) -> None:
        """The constants and keys that the arguments are made of."""
        sources = [one.source for prepared, _, _ in self.kernels for one in prepared.uniforms]
        self.seen = [(one, now(one)) for one in {id(one): one for one in sources}.values()]

    def _refresh(self) -> None:
        """Take the constants and keys that there are now."""
        for (prepared, _, _), params in zip(self.kernels, self.params, strict=True):
            refresh(prepared.uniforms, prepared.params)
            self.words[params] = prepared.params[: params.stop - params.start]
        self._note()


def _stretches(places: list[tuple[int, int]]) -> list[tuple[Any, int]]:
    """``places``, a word and its source's name each: all words of a source together."""
    words: dict[int, list[int]] = {}
    for at, name in places:
        words.setdefault(name, []).append(at)
    return [(np.array(some), name) for name, some in words.items()]


def launches_of(stage: Stage, device: int) -> DirectLaunches | None:
    """What stores all of ``stage``, region by region; None if it takes more than a launch each."""
    if not _is_stored(stage):
        return None
    size = dtypes.itemsize(stage.dtype)
    found = []
    for prepared, first in _stored(stage):
        launcher = Launcher(prepared, None, device)
        if list(launcher.pieces()) != [(0, prepared.loops[0])]:
            return None
        found.append((prepared, launcher, first * size))
    return DirectLaunches(stage, found)


def _is_stored(stage: Stage) -> bool:
    return stage.source is None and math.prod(stage.shape) > 0


def _stored(stage: Stage) -> list[tuple[Prepared, int]]:
    """What stores each region of ``stage``, and at which of its elements."""
    part, strides = stage.parts[0], c_strides(stage.shape)
    return [
        (prepare(one.stage, one.part, strides, gpu=True), sum(map(int.__mul__, one.at, strides)))
        for one in regions_of(stage, part)
    ] or [(prepare(stage, part, None, gpu=True), 0)]


@dataclass(frozen=True, eq=False)
class ResultLaunch:
    """The launch that makes a reduction's results, and the sources that it reads from memory."""

    stage: Stage
    launch: OnceForAll
    places: list[tuple[Any, int]]
    reads: tuple[InMemory, ...]
    device: int

    def run(self, memory: DeviceMemory, array: Any) -> None:
        """Make the stage's results in ``array``; those that are not certain by records."""
        launch, words = self.launch, self.launch.words
        prepared = launch.prepared
        if prepared.uniforms:
            refresh(prepared.uniforms, prepared.params)
            words[launch.params] = prepared.params[: launch.params.stop - launch.params.start]
        for at, name in self.places:
            words[at] = memory.addresses[name]
        failed = launch(int(array.data.ptr), memory.stream)
        if failed is None or len(failed):
            self._repair(memory, array.reshape(-1), failed)

    def _repair(self, memory: DeviceMemory, results: Any, failed: NDArray[np.int64] | None) -> None:
        stage = self.stage
        assert isinstance(stage.source, Reduced)
        wanted = np.arange(results.size) if failed is None else failed
        inputs = {id(need): memory.ready[id(need)] for need in stage.needs}
        records = prepare(stage, stage.parts[0], None, gpu=True)
        for places, some in run_some(records, inputs, self.device, Stop(), wanted):
            results[places[0] : places[-1] + 1].set(values(stage.source, some))


def results_launch(stage: Stage, device: int) -> ResultLaunch | None:
    """What makes all results of the reduction ``stage``; None if it takes more than one launch."""
    prepared = _finished(stage)
    if prepared is None:
        return None
    launch = OnceForAll(prepared, device)
    if not launch.is_all:
        return None
    read = _read(prepared, launch.addresses)
    sources = {id(source): source for _, source in read}
    places = _stretches([(at, id(source)) for at, source in read])
    return ResultLaunch(stage, launch, places, tuple(sources.values()), device)


def _finished(stage: Stage) -> Prepared | None:
    """What finishes all results of the reduction ``stage`` in one kernel; None where none does."""
    part = stage.parts[0]
    if not isinstance(stage.source, Reduced) or stage.op == "prod" or regions_of(stage, part):
        return None
    prepared = prepare_many(stage, part, gpu=True)
    if prepared is None or prepared.program.sink.dtype != stage.dtype or 0 in stage.shape:
        return None
    return prepared


def compile_together(stages: Sequence[Stage], device: int) -> None:
    """Compile what the launches of ``stages`` take, several kernels at once."""
    programs: dict[Program, None] = {}
    for stage in stages:
        if _is_stored(stage):
            programs |= {prepared.program: None for prepared, _ in _stored(stage)}
        elif (prepared := _finished(stage)) is not None:
            programs[prepared.program] = None
    compile_all([*programs], device)


def _read(prepared: Prepared, first: int) -> list[tuple[int, InMemory]]:
    """The sources that lie in memory, each with the word of its address, of which ``first`` is."""
    return [
        (first + k, leaf.source)
        for k, leaf in enumerate(prepared.space.leaves)
        if isinstance(leaf.source, (Stored, StageResult))
    ]


class DeviceMemory:
    """Where the arrays of one run lie on the current device: those ``ready``, and what is read."""

    def __init__(self, ready: dict[int, Any]) -> None:
        import cupy

        self.ready, self.empty = ready, cupy.empty
        self.stream = int(cupy.cuda.get_current_stream().ptr)
        self.addresses: dict[int, int] = {}
        self.owners: dict[int, Any] = {}

    def make(self, launches: DirectLaunches | ResultLaunch) -> None:
        """Launch what makes a stage's result."""
        stage, addresses = launches.stage, self.addresses
        for source in launches.reads:
            if id(source) not in addresses:
                self._find(source)
        array = self.empty(stage.shape, stage.dtype)
        launches.run(self, array)
        self.ready[id(stage.result)] = array
        addresses[id(stage.result)] = int(array.data.ptr)

    def _find(self, source: InMemory) -> None:
        stored = isinstance(source, Stored)
        array = source.buffer if isinstance(source, Stored) else self.ready[id(source)]
        if not stored and isinstance(array, np.ndarray):
            array = np.ascontiguousarray(array, dtype=source.dtype)
        self.owners[id(source)], self.addresses[id(source)] = to_device(array)

    def forget(self, name: int) -> None:
        """Let go of the array of the source with this id: it is not read any more."""
        self.owners.pop(name, None)
        self.addresses.pop(name, None)
