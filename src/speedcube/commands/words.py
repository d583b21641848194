"""Help texts: paragraphs that are wrapped once, by the terminal they are read on; a greeting."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

from ..__about__ import __version__

GREETING: Final = f"""\
speedcube {__version__}: arrays with the same bits on every machine.
  speedcube doctor    what this machine has, and what it lacks
  speedcube verify    does it give the bits it should?
  speedcube ladder    one expression on all it has, beside Dask
  speedcube --help    all commands; --help after one: its options"""


def unwrapped(text: str) -> str:
    """``text`` with each of its paragraphs on one line, and plain where it was marked as code."""
    paragraphs = [" ".join(one.split()) for one in text.split("\n\n")]
    return "\n\n".join(one for one in paragraphs if one).replace("``", "")


class WrappedOnce(TyperGroup):
    """Typer's group of commands, whose help texts do not keep the line ends of their source."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.help = unwrapped(command.help)
        return command
