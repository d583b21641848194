"""Where a command's output goes: to a reader, who may leave, and into files, checked beforehand."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import ParameterError
from ..files import write_whole
from ..shown import lines

if TYPE_CHECKING:
    from rich.console import Console

PICTURES: Final = (".png", ".svg")


def screen(**options: Any) -> Console:
    """A console that raises `BrokenPipeError`, where rich would end the process with code 1."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Screen(**options)


def printed(show: Callable[[], None]) -> bool:
    """Whether what ``show()`` prints was read: the reader of a pipe (``| head``) may leave."""
    try:
        show()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return False
    return True


def say(text: object) -> None:
    """``text`` on the standard output stream, whoever wrote parts of it."""
    print(lines(text))


def tell(text: object) -> None:
    """``text`` on the standard error stream, whoever wrote parts of it."""
    print(lines(text), file=sys.stderr)


def complain(program: str, message: object) -> None:
    """``message`` of the command ``program`` on the standard error stream."""
    tell(f"speedcube {program}: {message}")


def check_output(option: str, path: str | Path) -> None:
    """`ParameterError` unless ``path`` can be written."""
    problem = _problem(str(path))
    if problem:
        raise ParameterError(
            f"{option} {str(path)!r} cannot be written: {problem}; "
            "name a file in a directory that exists and can be written to"
        )


def _problem(path: str) -> str | None:
    file = Path(path)
    if not path:
        return "that is not a file name"
    if file.is_dir():
        return "that is a directory"
    if not file.parent.is_dir():
        return f"there is no directory {str(file.parent)!r}"
    if file.exists():
        return None if os.access(file, os.W_OK) else "no permission to write to it"
    try:
        tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as err:
        return f"no file can be made in {str(file.parent)!r} ({err.strerror})"
    return None


def check_picture(option: str, path: str | Path) -> None:
    """`ParameterError` unless a picture can be drawn and written to ``path``."""
    if Path(path).suffix.lower() not in PICTURES:
        raise ParameterError(
            f"{option} takes a file ending in {' or '.join(PICTURES)}, not {str(path)!r}"
        )
    check_matplotlib(option)
    check_output(option, path)


def check_matplotlib(option: str) -> None:
    """`ParameterError` unless matplotlib can be imported."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as err:
        raise ParameterError(
            f"{option} draws with matplotlib, which cannot be imported ({err}); "
            f"pip install speedcube[plots], or leave {option} out"
        ) from err


def write(path: str | Path, text: str) -> None:
    """``text`` into ``path``: all of it or, if that fails, the file as it was."""
    file, content = Path(path).resolve(), text.encode()
    if file.exists() and not file.is_file():  # a pipe or a device cannot be replaced
        file.write_bytes(content)
        return
    try:
        write_whole(file, content)
    except PermissionError:  # the file may be written to, its directory not
        file.write_bytes(content)
