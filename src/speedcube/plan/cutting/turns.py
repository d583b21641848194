"""On which side of what a loop has kept the parts of an expression were made.

A loop may go on with several values, of which its stages take one: the weights of a model, beside
the momentum that they are moved by. Where steps are kept of the one, what the other was made of
until then is a kernel that grows with each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...expr.nodes import Expr, Leaf, Map, StageResult
from .. import costs

GOES_ON: Final = "steps of a loop go on from it"
_LEAST: Final = 2  # what is lighter is made again
_NO_TURN: Final = -1  # of what reads nothing that a stage leaves: data, and drawn numbers


class Turns:
    """How often a loop has kept what it goes on from, by what stages leave, and maps of it."""

    __slots__ = ("_maps", "_results")

    def __init__(self) -> None:
        self._results: dict[int, int] = {}
        self._maps: dict[int, int] = {}

    def note_result(self, result: StageResult, root: Expr) -> None:
        """A stage leaves ``result`` of ``root``."""
        self._results[id(result)] = max(self._last(root), 0)

    def begun_by(self, kept: Leaf) -> Leaf:
        """What is ``kept``, which begins a turn."""
        self._results[id(kept.source)] += 1
        return kept

    def note(self, one: Map, args: Sequence[Expr]) -> None:
        """``one`` is made of ``args``."""
        last = max(map(self._last, args))
        if last > _NO_TURN:
            self._maps[id(one)] = last

    def before(self, args: Sequence[Expr], weights: costs.Weights) -> list[int]:
        """The numbers of those ``args`` that are of a turn before another one's, and not light."""
        turns = list(map(self._last, args))
        last = max(turns)
        old = [k for k, turn in enumerate(turns) if _NO_TURN < turn < last]
        return [k for k in old if weights.of(args[k]) >= _LEAST]

    def _last(self, root: Expr) -> int:
        """The last turn of what ``root`` reads."""
        if isinstance(root, Leaf):
            return self._results.get(id(root.source), _NO_TURN)
        return self._maps.get(id(root), _NO_TURN)
