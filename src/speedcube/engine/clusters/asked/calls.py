"""The calls of a plan: what its tasks call, and how its results are put together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ....dataclass import dataclass
from ....late import task_spec
from .joining import Array, chain_parts, join_parts, laid_out


@dataclass(frozen=True, eq=False)
class PlanCall:
    """What a task calls; an argument that is a `TaskRef` stands for another call's result, a
    future for what lies on a cluster.

    ``worker`` counts the workers: each is to have its share. ``what``: the stage it is of; none:
    what it raises stays as it is. ``aside``: nobody reads what it gives.
    """

    name: str
    worker: int
    function: Any
    arguments: tuple[Any, ...]
    what: str = ""
    aside: bool = False

    @property
    def needs(self) -> list[str]:
        """The names of the calls whose results this one reads."""
        return [str(one.key) for one in self.arguments if type(one) is task_spec.TaskRef]


@dataclass(frozen=True)
class Whole:
    """A result that this process makes of so many values, as ``join`` would (None: of one)."""

    count: int = 1
    join: PlanCall | None = None

    def of(self, values: list[Array]) -> Array:
        """The result; ``values`` go as they are copied."""
        if self.join is None:
            return values.pop()
        first = self.join.arguments[: -self.count]
        if self.join.function is join_parts:
            return laid_out(values, *first)
        return chain_parts(*first, laid_out(values, 0))


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of a plan, each after those that it needs; which of them give its results.

    ``wholes``: how each result is put together of those; none: each is one. ``here``: the names of
    calls that this process makes instead.
    """

    all: tuple[PlanCall, ...]
    results: tuple[str, ...]
    wholes: tuple[Whole, ...] = ()
    here: frozenset[str] = frozenset()

    def whole(self, values: list[Any]) -> Iterator[Any]:
        """Each result; ``values``, which those of ``results`` gave, go."""
        values.reverse()
        for whole in self.wholes or [Whole()] * len(values):
            yield whole.of([values.pop() for _ in range(whole.count)])


def taken_here(calls: Sequence[PlanCall], results: Sequence[str], here: Collection[str]) -> Calls:
    """Those of ``calls`` that ``results`` need, of which those ``here`` are put together here."""
    by_name = {call.name: call for call in calls}
    names: list[str] = []
    wholes = []
    for name in results:
        needs = by_name[name].needs if name in here else [name]
        wholes.append(Whole(len(needs), by_name[name] if name in here else None))
        names += needs
    needed, open_ = set[str](), [*names]
    while open_:
        name = open_.pop()
        if name not in needed:
            needed.add(name)
            open_ += by_name[name].needs
    used = tuple(call for call in calls if call.name in needed)
    return Calls(used, tuple(names), tuple(wholes), frozenset(here))
