"""The directory that a block of ``speedcube.on`` keeps its long computations in."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from ...errors import CheckpointError, ParameterTypeError
from ...files import OWN_FOLDER

folder: Final[ContextVar[Path | None]] = ContextVar("speedcube_checkpoint", default=None)


def checked_folder(given: Any) -> Path:
    """``given`` as a directory, made if there is none; `CheckpointError` if nobody can write there.

    It is made absolute: who changes the working directory goes on in the same one.
    """
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        raise ParameterTypeError(f"checkpoint={given!r}: give a directory for long computations")
    path = Path(os.path.abspath(os.fspath(given)))
    try:
        path.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    except OSError as err:
        raise CheckpointError(f"{path} cannot keep computations: {err.strerror}") from err
    if not os.access(path, os.W_OK | os.X_OK):
        raise CheckpointError(
            f"{path} cannot keep computations: you may not write there; give a directory of yours"
        )
    return path
