"""Results that a GPU's kernels finish: the launches, and which results they could not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Position, Reduced, Stored
from ...kernel.cuda.many.batches import by_segments
from ...kernel.cuda.many.state import state_words
from ...kernel.cuda.many.teams import Extents, Team, team_of
from .. import gpu
from ..boxes import Stop
from ..gpu import Launcher
from ..gpu_records import run_some
from ..prepare import Prepared
from ..results import values

Array: TypeAlias = NDArray[Any]
Geometry: TypeAlias = tuple[list[Any], int]  # the words of a launch, and its thread blocks

# Results that may fail before all are made by records: runs side by side take a launch each.
ROOM, _SHARE = 1 << 12, 64


# Bytes of a device's memory that a part's launches may keep for the next time.
KEPT: Final = 1 << 24


@dataclass(frozen=True, eq=False)
class FinishedPart:
    """A part whose results GPU ``device`` finishes, in ``out`` if that is there."""

    prepared: Prepared
    inputs: Mapping[int, Array]
    device: int
    out: Any = None

    def run(self, source: Reduced, records: Prepared, stop: Stop) -> Any:
        """The results, on the device if ``out`` is; those that are not certain from ``records``.

        None where those are too many.
        """
        import cupy

        with cupy.cuda.Device(self.device):
            place = self.out if self._fits() else None
            results = self.memory() if place is None else place
            with self.launches() as launches:
                launches.run(results, stop)
                failed = launches.failed()
            if failed is None:
                return None
            if place is None:
                results = results.get()
            for places, some in run_some(records, self.inputs, self.device, stop, failed):
                exact = values(source, some)
                if place is None:
                    results[places] = exact
                else:
                    results.reshape(-1)[places[0] : places[-1] + 1].set(exact)
        with np.errstate(over="ignore"):
            return results if place is not None else results.astype(source.dtype, copy=False)

    def _fits(self) -> bool:
        return fits(self.out, self.prepared.program.sink.dtype, self.device)

    def memory(self) -> Any:
        """Memory for the results on the current device."""
        import cupy

        return cupy.empty(results_of(self.prepared), self.prepared.program.sink.dtype)

    @contextmanager
    def launches(self) -> Iterator[Launches]:
        """What is launched on the current device: as an earlier computation left it, if it can."""
        if not self._stays():
            yield self._launches()
            return
        idle: list[Launches] = self.prepared.frames.setdefault(("finished", self.device), [])
        try:
            launches = idle.pop()
        except IndexError:
            launches = self._launches()
        else:
            launches.launcher.start(self.inputs)
        yield launches
        launches.launcher.owners.clear()  # they are the user's
        if launches.bytes <= KEPT:
            idle.append(launches)

    def _stays(self) -> bool:
        """Whether the next computation reads the same memory."""
        sources = (leaf.source for leaf in self.prepared.space.leaves)
        return not self.inputs and all(
            source.on_device for source in sources if isinstance(source, Stored)
        )

    def _launches(self) -> Launches:
        return launches_with(Launcher(self.prepared, self.inputs, self.device))


@dataclass(frozen=True, eq=False)
class Launches:
    """Launches that make results, each with its geometry words and its thread blocks.

    ``places`` begins with the places of results that were not certain; how many those are is
    counted in ``pinned`` memory, which the host reads without a copy. Of parts it is counted in
    ``arrived`` which are there, and they wait in ``partial``.
    """

    launcher: Launcher
    geometries: tuple[Geometry, ...]
    pinned: Any
    places: Any
    arrived: Any
    partial: Any

    def __post_init__(self) -> None:
        self._count[0] = 0

    @cached_property
    def _count(self) -> Array:
        return np.frombuffer(self.pinned, np.uint64, 1)

    @property
    def bytes(self) -> int:
        """Of the memory that launches need besides inputs and results."""
        return int(self.arrived.nbytes + self.places.nbytes + self.partial.nbytes)

    def run(self, results: Any, stop: Stop) -> None:
        """Launch, and wait: in a copy, that would hold the GIL, and others could not launch."""
        import cupy

        for number in range(len(self.geometries)):
            if stop.is_set():
                break
            self.launch(results, number)
            cupy.cuda.get_current_stream().synchronize()

    def launch(self, results: Any, number: int = 0) -> None:
        """Launch without waiting."""
        words, blocks = self.geometries[number]
        outs = results if isinstance(results, tuple) else (results,)
        self.launcher.call(blocks, words, *outs, *self.memory)

    @property
    def memory(self) -> tuple[Any, ...]:
        """What a kernel takes after its results."""
        failed, room = np.uint64(self.pinned.ptr), np.uint64(len(self.places))
        return failed, self.places, room, self.arrived, self.partial

    def failed(self) -> Array | None:
        """The places of the results that are not certain; None where they are too many."""
        count = int(self._count[0])
        if not count:
            return _NONE
        self._count[0] = 0
        if count > len(self.places):
            return None
        return np.sort(self.places[:count].get().astype(np.int64))


_NONE: Final = np.empty(0, np.int64)


def launches_with(launcher: Launcher) -> Launches:
    """The launches of the kernel of ``launcher``, with the memory that they need."""
    import cupy

    extents = _extents(launcher)
    team = team_of(extents, launcher.resident)
    room = ROOM + results_of(launcher.prepared) // _SHARE
    return Launches(
        launcher,
        tuple(_geometries(launcher, extents, team)),
        cupy.cuda.alloc_pinned_memory(8),
        cupy.empty(room, np.uint64),
        cupy.zeros(team.blocks if team.parts > 1 else 0, np.uint64),
        cupy.empty(team.partial_words(extents.words), np.float64),
    )


def fits(out: Any, dtype: str, device: int) -> bool:
    """Whether a kernel of ``device`` that gives ``dtype`` can give it there."""
    return (
        hasattr(out, "__cuda_array_interface__")
        and out.dtype == dtype
        and bool(out.flags.c_contiguous)
        and int(out.device.id) == device
    )


def results_of(prepared: Prepared) -> int:
    """Results of each kind that a kernel finishes."""
    space = prepared.space
    return math.prod(
        n for n, reduced in zip(space.extents, space.reduced, strict=True) if not reduced
    )


def _extents(launcher: Launcher) -> Extents:
    prepared = launcher.prepared
    many = prepared.program.sink.many
    assert many is not None
    tiles = launcher.row_tiles if by_segments(prepared.program) else 0
    return Extents(
        many.rows,
        many.short,
        _mixed(prepared),
        state_words(prepared.program),
        *prepared.loops,
        tiles,
    )


def _mixed(prepared: Prepared) -> bool:
    """Whether some leaves lie along the tile loop, and others along the reduced loop outside it.

    Positions lie nowhere: they are counted.
    """
    lane, reduced = prepared.tiling.first, prepared.program.reduced
    if not reduced:
        return False
    leaves = zip(prepared.space.leaves, prepared.space.strides, strict=True)
    read = [strides for leaf, strides in leaves if not isinstance(leaf.source, Position)]
    here, outside = ({abs(strides[k]) for strides in read} for k in (lane, lane - 1))
    return 1 in here and 1 in outside


def _geometries(launcher: Launcher, extents: Extents, team: Team) -> list[Geometry]:
    """The geometry of each launch, and its thread blocks."""
    first = team.geometry(extents)
    words = [*first, *launcher.words[len(first) :]]
    each = min(gpu.GRID, max(1, gpu.LAUNCH * team.units // launcher.prepared.visits))
    ranges = [(u, min(team.units, u + each)) for u in range(0, team.units, each)]
    return [
        ([np.uint64(word % 2**64) for word in (begin, end, *words[2:])], end - begin)
        for begin, end in ranges
    ]
