"""The driver's working directory and environment, for ranks on its own machine's cluster.

Its workers are processes that began with an earlier job, and what forks the ranks with them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from ..dataclass import dataclass

OF_WORKERS: Final = ("CUDA_VISIBLE_DEVICES",)  # which a rank gets for its GPUs


@dataclass(frozen=True)
class Environment:
    """A directory ("": unknown), and variables that were set or, None, removed."""

    folder: str
    variables: tuple[tuple[str, str | None], ...]

    def enter(self) -> None:
        """Make them this process's."""
        with suppress(OSError):  # it may be gone
            os.chdir(self.folder)
        for name, value in self.variables:
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def since(before: Mapping[str, str]) -> Environment:
    """The directory, and what has changed in the environment since it was ``before``."""
    now = dict(os.environ)
    changed = {name: now.get(name) for name in {*before, *now} - {*OF_WORKERS}}
    folder = ""
    with suppress(OSError):
        folder = os.getcwd()
    return Environment(
        folder,
        tuple((name, value) for name, value in changed.items() if value != before.get(name)),
    )
