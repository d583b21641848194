"""The flag that makes running parts leave after their current call."""

from __future__ import annotations


class Stop:
    """Raised once, never lowered; a plain attribute, because every small compute makes one."""

    __slots__ = ("raised",)

    def __init__(self) -> None:
        self.raised = False

    def set(self) -> None:
        self.raised = True

    def is_set(self) -> bool:
        return self.raised
