"""Programs step by step on a rung: NumPy's functions, and kernels or routines for what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Through
from ...expr.pairs.node import is_pair, parts
from ..ordering.run import few_made
from ..results import joined
from ..routines import direct, quick
from ..rungs import Rung
from ..small.known import value
from .choice import Limits
from .walk import made_of


@dataclass(frozen=True)
class StepByStep:
    """What makes programs on ``rung``; ``rest`` makes what is neither one kernel nor a routine."""

    rung: Rung
    rest: Callable[[Expr], Any]

    def several(self, roots: Sequence[Expr], most: int | None = None) -> list[Any] | None:
        """The values of ``roots``; None where a node is too large, or lies elsewhere.

        It has ``most`` elements, by default as many as one of a program of several kernels.
        """
        each = [parts(root) if is_pair(root) else (root,) for root in roots]
        reals = [one for some in each for one in some]
        made = made_of(reals, Limits.several if most is None else most, self.kernel)
        if made is None:
            return None
        found = iter([array[()] for array in made])
        return [joined(list(islice(found, len(some)))) for some in each]

    def new(self, root: Expr) -> Any:
        """The value of a program whose one kernel is not there yet; None of others."""
        made = self.several([root], Limits.first)
        return None if made is None else made[0]

    def kernel(self, root: Expr) -> Any:
        """The value of one operation on arrays."""
        if direct.is_routine(root):
            assert isinstance(root, Leaf)
            if (call := quick.ready(root)) is not None:
                return quick.value(call, self.rung.workers)
            if made := direct.values((root,), self.rung, False):
                return made[0]
        source = root.source if type(root) is Leaf else None
        found = few_made(source) if type(source) is Through else value(root, self.rung.kind)
        return self.rest(root) if found is None else found


def new_of(steps: StepByStep | None) -> Callable[[Expr], Any] | None:
    """What makes a program whose kernel is not there yet, if ``steps`` may make any."""
    return None if steps is None else steps.new
