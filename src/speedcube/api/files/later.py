"""A write that is not done yet: Dask's Delayed, with a plan."""

from __future__ import annotations

from dask.delayed import Delayed

from ...engine.writing.write import Write
from ...plan.writing import WritePlan


class Writing(Delayed):  # type: ignore[misc]
    """What ``compute=False`` gives: ``compute()`` writes, `plan` says what that will do."""

    __slots__ = ("_write",)

    def __init__(self, write: Write) -> None:
        key = f"speedcube-write-{id(write)}"
        super().__init__(key, {key: (write.write,)})
        object.__setattr__(self, "_write", write)

    def plan(self) -> WritePlan:
        """The blocks, how many are made at a time, and the bytes of a worker at most.

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
        plan: WritePlan = self._write.plan()
        return plan
