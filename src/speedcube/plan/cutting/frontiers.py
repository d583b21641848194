"""Where long programs of one shape are cut: all at once, where they hand little on.

A kernel has a limit. Where a loop goes on with several values, such as a state and what has become
of it, each cut of one of them would leave the others to be made from the beginning again. So those
that are needed beyond a place are kept there together, by one pass, and nothing is made twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from ...dataclass import dataclass
from ...expr.nodes import Leaf, Map, Node
from .. import costs

# What a kernel between two such places has: at least, so that the narrowest of some can be taken,
# and at most. What is light comes on top.
_LEAST: Final = costs.MOST // 4
_MOST: Final = costs.MOST - 32
_FEW: Final = 8  # values that are handed on
_LIGHT: Final = 2  # what is no heavier and reads no other operation is made again

Levels: TypeAlias = list[int]


@dataclass(frozen=True, eq=False)
class Frontiers:
    """The ids of the maps that are ``kept``, and of all that kernels between them are made of."""

    kept: set[int] = field(default_factory=set)
    within: set[int] = field(default_factory=set)


def frontiers(nodes: Sequence[Node]) -> Frontiers:
    """Where the programs among ``nodes``, each after its own, are cut."""
    found = Frontiers()
    for maps in _long_programs([node for node in nodes if isinstance(node, Map)]):
        program = _Program(maps)
        for levels in (program.soonest(), program.latest()):
            kept = program.kept(levels)
            if kept is not None:
                found.kept.update(kept)
                found.within.update(map(id, maps))
                break
    return found


def _long_programs(maps: Sequence[Map]) -> Iterator[list[Map]]:
    """Maps that take one another as arguments, if they are too many for a kernel."""
    if sum(map(costs.weight, maps)) <= costs.MOST:
        return
    above: dict[int, int] = {id(one): id(one) for one in maps}

    def top(place: int) -> int:
        while above[place] != place:
            above[place] = above[above[place]]
            place = above[place]
        return place

    for one in maps:
        for arg in one.args:
            if isinstance(arg, Map) and arg.shape == one.shape:
                above[top(id(arg))] = top(id(one))
    groups: dict[int, list[Map]] = {}
    for one in maps:
        groups.setdefault(top(id(one)), []).append(one)
    for group in groups.values():
        if sum(map(costs.weight, group)) > costs.MOST and math.prod(group[0].shape) > 1:
            yield group


class _Program:
    """Maps of one shape, each after its own; their places in that order are their numbers."""

    def __init__(self, maps: Sequence[Map]) -> None:
        self.maps = maps
        place = {id(one): k for k, one in enumerate(maps)}
        self.args = [[place[id(arg)] for arg in one.args if id(arg) in place] for one in maps]
        self.weights = [costs.weight(one) for one in maps]
        self.is_light = [
            weight <= _LIGHT and all(isinstance(arg, Leaf) for arg in one.args)
            for one, weight in zip(maps, self.weights, strict=True)
        ]

    def soonest(self) -> Levels:
        """Each operation's place when all are done as soon as they can be."""
        levels: Levels = []
        for args in self.args:
            levels.append(1 + max((levels[arg] for arg in args), default=-1))
        return levels

    def latest(self) -> Levels:
        """And when all are done as late as they can be."""
        levels = [max(self.soonest())] * len(self.maps)
        for number in reversed(range(len(self.maps))):
            for arg in self.args[number]:
                levels[arg] = min(levels[arg], levels[number] - 1)
        first = min(levels)
        return [level - first for level in levels]

    def kept(self, levels: Levels) -> set[int] | None:
        """The maps that the kernels of ``levels`` hand on; None where they are too many, or one.

        One value is as well kept wherever a kernel is full.
        """
        last = list(levels)  # where each is needed
        for number, args in enumerate(self.args):
            for arg in args:
                last[arg] = max(last[arg], levels[number])
        count = max(levels) + 1
        heavy, change = [0] * count, [0] * (count + 1)
        for number, level in enumerate(levels):
            heavy[level] += self.weights[number]
            if last[number] > level and not self.is_light[number]:
                change[level] += 1
                change[last[number]] -= 1
        places = _narrow(heavy, change)
        if places is None:
            return None
        handed = {
            id(self.maps[number])
            for number, level in enumerate(levels)
            if not self.is_light[number] and any(level <= at < last[number] for at in places)
        }
        return handed if len(handed) > len(places) else None


def _narrow(heavy: Sequence[int], change: Sequence[int]) -> list[int] | None:
    """The levels after which to cut; None where a kernel or what it hands on would be too much."""
    places: list[int] = []
    weight = live = 0
    best: tuple[int, int] | None = None  # how much is live after which level
    since = 0  # what is heavy after that
    for level, own in enumerate(heavy):
        if weight + own > _MOST:
            if best is None or best[0] > _FEW:
                return None
            places.append(best[1])
            weight, best = since, None
        weight += own
        live += change[level]
        since += own
        if weight >= _LEAST and (best is None or live <= best[0]):
            best, since = (live, level), 0
    return places
