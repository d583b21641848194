"""The names in a directory of checkpoints.

step-00000012           a checkpoint
step-00000012.2         the same step, written again after a restart: the later one counts
.step-00000012.9f3a...  one that is being written, or that is being removed
.lock                   held by the process that writes
"""

from __future__ import annotations

import os
import re
import secrets
from numbers import Integral
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...errors import CheckpointError

_STEPS: Final = 10**18
_NAME: Final = re.compile(r"step-(\d{8,18})(?:\.([1-9]\d{0,8}))?", re.ASCII)
_PENDING: Final = re.compile(r"\.step-\d{8,18}\.[0-9a-f]{16}", re.ASCII)


class Name(NamedTuple):
    """The name of a checkpoint; names order as the checkpoints were written."""

    step: int
    generation: int = 1

    def __str__(self) -> str:
        again = f".{self.generation}" if self.generation > 1 else ""
        return f"step-{self.step:08}{again}"

    @classmethod
    def of_step(cls, step: Any) -> Name:
        """Return the first name of a step; `CheckpointError` where `parse` would not find it."""
        if isinstance(step, bool) or not isinstance(step, Integral) or not 0 <= int(step) < _STEPS:
            raise CheckpointError(f"step={step!r:.40}: give an integer from 0 to {_STEPS - 1}")
        return cls(int(step))

    @classmethod
    def parse(cls, name: str) -> Name | None:
        """Return the name that ``str`` writes so, or None."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        parsed = cls(int(match[1]), int(match[2] or 1))
        return parsed if str(parsed) == name else None


def pending(step: int) -> str:
    """Return a new name for a checkpoint that is being written."""
    return f".step-{step:08}.{secrets.token_hex(8)}"


def listing(root: Path) -> list[Name]:
    """Return the checkpoints in a directory, the newest first; none if there is no directory."""
    try:
        parsed = map(Name.parse, os.listdir(root))
    except FileNotFoundError:
        return []
    return sorted((name for name in parsed if name is not None), reverse=True)


def litter(root: Path) -> list[Path]:
    """Return what was being written or removed when a process ended."""
    return [root / name for name in os.listdir(root) if _PENDING.fullmatch(name)]
