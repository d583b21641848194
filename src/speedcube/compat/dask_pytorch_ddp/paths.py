"""Files written below a directory, at paths that came from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...errors import ParameterError
from ...files import write_whole

_CIRCLE: Final = "its symbolic links go in a circle"


def write_below(root: Path, path: str, data: bytes) -> Path:
    """Write ``data`` to ``root / path``, all of it or nothing; the file it is in.

    Raises
    ------
    ParameterError
        ``path`` leads out of ``root``, by itself or through a symbolic link, or names no file.
    OSError, ValueError
        The system cannot write it: a NUL or a name too long, a directory in its place, a full disk.
    """
    target = _below(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, data)
    return target


def _below(root: Path, path: str) -> Path:
    try:
        home, target = root.resolve(), (root / path).resolve()
    except RuntimeError as err:  # of Python before 3.13
        raise ParameterError(_CIRCLE) from err
    if target.resolve() != target:  # behind a circle links are left as they are
        raise ParameterError(_CIRCLE)
    if not target.is_relative_to(home):
        raise ParameterError(f"it leads out of the prefix, to {str(target)!r}")
    if target == home or path.endswith("/"):
        raise ParameterError("it names no file")
    return target
