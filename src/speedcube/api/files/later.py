"""A write that is not done yet: Dask's Delayed, with a plan."""

from __future__ import annotations

from functools import partial

from dask.delayed import Delayed

from ...engine.writing.write import Write, write_all
from ...plan.writing import WritePlan


class Writing(Delayed):  # type: ignore[misc]
    """What ``compute=False`` gives: ``compute()`` writes, `plan` says what that will do."""

    __slots__ = ("_writes",)

    def __init__(self, *writes: Write) -> None:
        key = f"speedcube-write-{id(writes)}"
        super().__init__(key, {key: (partial(write_all, writes),)})
        object.__setattr__(self, "_writes", writes)

    def plan(self) -> WritePlan:
        """The blocks, how many are made at a time, and the bytes of a worker at most.

        Where `store` was given arrays of several shapes, which are written one after the other:
        the plan that takes the most memory.

        Returns
        -------
        WritePlan
            Its ``repr`` is a table.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.save("numbers.npy", sc.arange(4), compute=False).plan().result_bytes
        32
        """
        plans: list[WritePlan] = [one.plan() for one in self._writes]
        return max(plans, key=lambda plan: plan.peak_bytes)
