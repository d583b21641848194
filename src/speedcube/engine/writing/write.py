"""From arrays and targets to a plan, and from that to what is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Final

from ...dataclass import dataclass
from ...errors import MemoryLimitError, ParameterError, WorkerError
from ...expr.nodes import Expr, Shape
from ...plan.cutting.scratch import by_scratch
from ...plan.streams import readers_in
from ...plan.writing import (
    ENCODING,
    MEMORY,
    OVERHEAD,
    WriteGrid,
    WritePlan,
    block_bytes,
    decoded,
    element_bytes,
    read_bytes,
    reals,
    touched,
    write_grid,
)
from .. import machine
from ..compute import staged_values
from ..foreign.planned import going_on
from ..foreign.pulled import pulling
from ..known.drawn import drawing_again
from ..routines.strictness import check_laws
from ..rungs import Rung
from ..streams.boxwise import SortRoom
from ..streams.decoded import keeping, sources_of, tiled_bytes, within
from .by_scratch import ScratchRun, room_beside
from .how import HowToWrite, rung_of
from .itself import check_reads, is_in_place
from .progress import Meter
from .run import WriteRun, block_sizes, told
from .settling import bytes_of_settling, digest, settled, settled_first
from .shares import Written, threads_of, write_on_client
from .target import Begun, WriteTarget

_LEAST: Final = 32_000_000  # bytes for blocks, however much is held beside them
_AHEAD: Final = 1  # threads more than cores: one waits for its disk
_AROUND_GPU: Final = 8  # threads that read and encode beside one that computes
_ON_THE_WAY: Final = 4  # blocks that workers compute and send, while this process writes one


@dataclass(eq=False)
class Write:
    """``roots``, which have one shape, into ``targets``, one each."""

    roots: Sequence[Expr]
    targets: Sequence[WriteTarget]
    how: HowToWrite
    held: int = field(init=False)
    before: int = field(init=False)
    before_kept: int = field(init=False)
    earlier: Begun | None = field(init=False, default=None)
    rung: Rung = field(init=False)
    given: Sequence[Expr] = field(init=False)  # the arrays as users wrote them

    def __post_init__(self) -> None:
        check_laws(self.roots)
        self.given = self.roots
        self.rung = rung_of(self.how, math.prod(self.roots[0].shape))
        if not self.rung.devices:
            self.roots = pulling(self.roots, self.rung.kind == "client")
            self.roots = self._going_on(self.roots)
        self._weigh()
        most = self._most
        if self.before > most and not self.rung.devices:  # sorts need not be made in memory
            room = SortRoom(max(_LEAST, most - OVERHEAD - 2 * _LEAST), self.rung.workers)
            self.roots = self._going_on(self.roots, room)
            self._weigh()

    def _weigh(self) -> None:
        sizes = bytes_of_settling(self.roots, self.rung, self.how.prefers_gpu)
        self.held, self.before, self.before_kept = sizes

    @property
    def _most(self) -> int:
        """Bytes of what is made before: those that somebody gave, or half of what is free."""
        return self.how.memory if self.how.memory != MEMORY else machine.free_memory() // 2

    def _going_on(self, roots: Sequence[Expr], room: SortRoom | None = None) -> Sequence[Expr]:
        return going_on(roots, self.rung, partial(staged_values, rung=self.rung), room)

    def plan(self) -> WritePlan:
        """What `write` would do."""
        plan = self._planned()
        again, size = decoded(self.roots, plan.grid.extents), self._source_bytes
        kept = min(1.0, plan.kept_bytes / size) if size else 0.0
        plan = replace(plan, times=again - (again - 1) * kept)
        if self.rung.kind not in ("core", "cores") or self._in_order:
            return plan
        room = room_beside(self.targets, self._room, self._threads, self.rung.workers)
        return by_scratch(plan, self.roots, self._unit if self.earlier is None else None, room)

    @property
    def _source_bytes(self) -> int:
        return sum(map(tiled_bytes, sources_of(reals(self.roots)).values()))

    def _planned(self) -> WritePlan:
        grid, at_once = self._grid(self.roots)
        block = block_bytes(self.roots, grid.extents)
        whole = min(grid.count, at_once)
        label = ", ".join(target.label for target in self.targets)
        reads = grid.count * read_bytes(self.roots, grid.extents)
        size = element_bytes(self.roots) * math.prod(grid.shape)
        made = tuple(one.passes for one in readers_in(reals(self.roots)) if hasattr(one, "passes"))
        plan = WritePlan(
            label, self.rung.name, grid, whole, block, self._held, self.before, reads, size, made
        )
        if self.rung.kind not in ("core", "cores"):
            return plan.after(self.before_kept)
        if not self.before:
            return self._reading_once(plan)
        kept = self._kept_bytes(plan, settled_first(self.roots))
        return plan.keeping(kept) if kept else plan.after(self.before_kept)

    def _kept_bytes(self, plan: WritePlan, also: Sequence[Expr]) -> int:
        """Bytes of decoded chunks that are kept for the blocks, and that ``also`` reads."""
        each = [sources_of(reals(some)) for some in (also, self.roots)]
        return within(each, plan.peak_bytes, self.how.memory, machine.free_memory())

    def _reading_once(self, plan: WritePlan) -> WritePlan:
        """``plan``, or one of fewer blocks at once, and the chunks kept that all of them read."""
        again, cores = touched(self.roots, plan.grid.extents), self.rung.workers
        size = self._source_bytes
        if again <= 1 or not size:
            return plan

        def seconds(one: WritePlan) -> float:
            read = again - (again - 1) * one.kept_bytes / size
            return read / cores + ENCODING / min(one.at_once, cores)

        fewer = [replace(plan, at_once=n) for n in range(plan.at_once, 0, -1)]
        kept = [one.keeping(self._kept_bytes(one, self.roots)) for one in fewer]
        return min([plan, *kept], key=seconds)

    def write(self, before: Sequence[WriteTarget] = ()) -> None:
        """Write the blocks that are not there, then mark the targets whole.

        Those ``before`` are written already.
        """
        plan = self.plan()
        self._check_memory(plan)
        check_reads(self.given, self.roots, self.targets, before, plan.grid)
        for target in self.targets:
            target.open()
        with drawing_again(), keeping(plan.kept_bytes):
            self.roots, self.held = settled(self.roots, self.rung, self.how.prefers_gpu)
            try:
                self._write()
            finally:
                for target in self.targets:
                    target.leave()

    def _write(self) -> None:
        what = digest(self.roots)
        if len(self.targets) == 1:
            self.earlier = self.targets[0].earlier()
        if self.earlier is not None and self.earlier.what != what:
            raise ParameterError(
                f"{self.targets[0].label} holds blocks of another computation, or of other data: "
                "compute the same as then, or begin anew, without resume="
            )
        plan = self.plan()
        begun = Begun(what, plan.grid.extents, plan.grid.count)
        try:
            for target in self.targets:
                target.begin(begun)
        except OSError as err:
            raise told(err, self.targets, None) from err
        numbers = self._missing(plan.grid)
        earlier = plan.result_bytes - block_sizes(self.roots, plan.grid, numbers)
        found = plan.grid.count - len(numbers)
        meter = Meter(plan.label, plan.result_bytes, earlier, self.how.show, plan.grid.count, found)
        meter.begin()
        self._run(plan, numbers, meter)
        if self._by_workers:
            self._check_there(plan.grid)
        for target in self.targets:
            target.finish()

    def _check_there(self, grid: WriteGrid) -> None:
        """What other machines wrote lies where this one looks for it."""
        lost = len(self._missing(grid))
        if lost:
            raise WorkerError(
                f"{lost:,} of {grid.count:,} blocks of {self.targets[0].label} were written where "
                "this machine does not see them: name a place that all workers share"
            )

    def _check_memory(self, plan: WritePlan) -> None:
        free = machine.free_memory()
        if plan.peak_bytes > free:
            raise MemoryLimitError(
                f"writing {plan.label} takes {plan.peak_bytes:,} bytes a worker and {free:,} are "
                "free: give smaller chunks or shards, which are held whole, or a smaller memory="
            )

    def _run(self, plan: WritePlan, numbers: Sequence[int], meter: Meter) -> None:
        if self._by_workers:
            written = Written(tuple(self.roots), tuple(self.targets), plan.grid)
            if write_on_client(self.rung, written, numbers, plan.at_once, meter):
                for target in self.targets:
                    target.clear()
            return
        device = None if self.rung.kind in ("core", "cores") else self.rung
        if plan.scratch is not None:
            by = ScratchRun(self.roots, self.targets, plan.grid, plan.scratch, meter)
            by.write(numbers, plan.at_once)
            return
        run = WriteRun(self.roots, self.targets, plan.grid, device, meter)
        run.write(numbers, min(plan.at_once, max(1, len(numbers))))

    @cached_property
    def _by_workers(self) -> bool:
        """Whether a client's workers write; this process does where a block must be made once.

        What a lost worker wrote in place of what it read, others would read again.
        """
        if self.rung.kind != "client" or not all(target.travels for target in self.targets):
            return False
        return not is_in_place(self.given, self.targets)

    def _missing(self, grid: WriteGrid) -> list[int]:
        done = set.intersection(*(set(target.done()) for target in self.targets))
        return [number for number in range(grid.count) if number not in done]

    def _grid(self, roots: Sequence[Expr]) -> tuple[WriteGrid, int]:
        first = self.targets[0].first
        room = self._room
        if self.earlier is None:
            return write_grid(roots, self._unit, first, self._threads, room)
        extents = self.earlier.extents
        at_once = room // max(1, block_bytes(roots, extents))
        return WriteGrid(roots[0].shape, extents, first), max(1, min(self._threads, at_once))

    @property
    def _unit(self) -> Shape:
        """What all targets store in one piece, or several."""
        units = zip(*(target.unit for target in self.targets), strict=True)
        return tuple(math.lcm(*each) for each in units)

    @property
    def _room(self) -> int:
        """Bytes for all blocks at a time."""
        return max(_LEAST, self.how.memory - OVERHEAD - self._held)

    @property
    def _held(self) -> int:
        """Bytes of what was computed before, and of what makes results of scans box by box."""
        found = readers_in(reals(self.roots))
        names = ("working_bytes", "shared_bytes")
        return self.held + sum(int(getattr(one, name, 0)) for one in found for name in names)

    @property
    def _in_order(self) -> bool:
        """Whether each block comes after the one before it, or is made by passes."""
        passes = any(hasattr(one, "passes") for one in readers_in(reals(self.roots)))
        return passes or not all(target.at_once for target in self.targets)

    @property
    def _threads(self) -> int:
        """Threads of a worker."""
        if self._in_order:
            return 1
        if self.rung.kind == "client":
            return threads_of(self.rung) if self._by_workers else _ON_THE_WAY
        if self.rung.devices:
            return min(machine.cores(), _AROUND_GPU)
        return self.rung.workers + (self.rung.workers > 1) * _AHEAD


def write_all(writes: Sequence[Write]) -> None:
    """Write each of ``writes``; what they read that is computed whole is computed once."""
    roots = [root for one in writes for root in one.roots]
    if len(writes) > 1 and any(one.held for one in writes):
        first = writes[0]
        found, held = settled(roots, first.rung, first.how.prefers_gpu)
        for one in writes:
            one.roots, found = found[: len(one.roots)], found[len(one.roots) :]
            one.held = held
    before: list[WriteTarget] = []
    for one in writes:
        one.write(before)
        before += one.targets
