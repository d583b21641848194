"""What a stage stores on a GPU: launches with all arguments in place but where arrays lie.

A program of many stages is a thousand launches of a few microseconds each, so nothing of one is
worked out twice. One thread at a time has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ... import dtypes
from ...expr.nodes import StageResult, Stored, c_strides
from ...kernel.lower.parameters import refresh
from ...plan.regions import regions_of
from ...plan.stages import Stage
from ..gpu import Launcher, Packed, to_device
from ..prepare import Prepared, prepare

InMemory: TypeAlias = Stored | StageResult
Addresses: TypeAlias = Mapping[int, int]  # of position 0 of each source, by its id


class DirectLaunch:
    """One launch of a kernel that stores its elements, ``place`` bytes behind a result's first."""

    def __init__(self, prepared: Prepared, launcher: Launcher, place: int) -> None:
        blocks, geometry = launcher.stored((0, prepared.loops[0]))
        addresses = len(geometry) + launcher.count
        words = [*geometry, *launcher.params, *launcher.addresses, *launcher.tables, 0]
        self.packed = Packed(launcher.kernel, len(words))
        self.packed.words[:] = words
        self.tables = launcher.offsets  # which this keeps
        read = [
            (addresses + k, leaf.source)
            for k, leaf in enumerate(prepared.space.leaves)
            if isinstance(leaf.source, (Stored, StageResult))
        ]
        self.places = _stretches([(at, id(source)) for at, source in read])
        self.reads = [source for _, source in read]
        self.params = slice(len(geometry), addresses)
        self.prepared, self.place = prepared, place
        self.blocks = blocks

    def __call__(self, addresses: Addresses, out: int, stream: int) -> None:
        """Launch it on ``stream``, the result lying at ``out``."""
        words, prepared = self.packed.words, self.prepared
        if prepared.uniforms:
            refresh(prepared.uniforms, prepared.params)
            words[self.params] = prepared.params[: self.params.stop - self.params.start]
        for at, name in self.places:
            words[at] = addresses[name]
        words[-1] = out + self.place
        self.packed.launch(self.blocks, stream)


def _stretches(places: list[tuple[int, int]]) -> list[tuple[slice, int]]:
    """``places``, a word and its source's name each, with neighbours of one source as one."""
    found: list[tuple[slice, int]] = []
    for at, name in places:
        if found and found[-1][1] == name and found[-1][0].stop == at:
            found[-1] = slice(found[-1][0].start, at + 1), name
        else:
            found.append((slice(at, at + 1), name))
    return found


@dataclass(frozen=True, eq=False)
class DirectLaunches:
    """All launches that store a stage's result, and the sources they read from memory."""

    stage: Stage
    each: tuple[DirectLaunch, ...]
    reads: tuple[InMemory, ...]


def launches_of(stage: Stage, device: int) -> DirectLaunches | None:
    """What stores all of ``stage``, region by region; None if it takes more than a launch each."""
    part = stage.parts[0]
    if stage.source is not None or not math.prod(stage.shape):
        return None
    strides, size = c_strides(stage.shape), dtypes.itemsize(stage.dtype)
    kernels = [
        (prepare(one.stage, one.part, strides), sum(map(int.__mul__, one.at, strides)))
        for one in regions_of(stage, part)
    ] or [(prepare(stage, part, None), 0)]
    each = []
    for prepared, first in kernels:
        launcher = Launcher(prepared, None, device)
        if list(launcher.pieces()) != [(0, prepared.loops[0])]:
            return None
        each.append(DirectLaunch(prepared, launcher, first * size))
    reads = {id(source): source for launch in each for source in launch.reads}
    return DirectLaunches(stage, tuple(each), tuple(reads.values()))


class DeviceMemory:
    """Where the arrays of one run lie on the current device: those ``ready``, and what is read."""

    def __init__(self, ready: dict[int, Any]) -> None:
        import cupy

        self.ready, self.empty = ready, cupy.empty
        self.stream = int(cupy.cuda.get_current_stream().ptr)
        self.addresses: dict[int, int] = {}
        self.owners: dict[int, Any] = {}

    def store(self, launches: DirectLaunches) -> None:
        """DirectLaunch what stores a stage's result."""
        stage, addresses = launches.stage, self.addresses
        for source in launches.reads:
            if id(source) not in addresses:
                self._find(source)
        array = self.empty(stage.shape, stage.dtype)
        address = int(array.data.ptr)
        for each in launches.each:
            each(addresses, address, self.stream)
        self.ready[id(stage.result)] = array
        addresses[id(stage.result)] = address

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
