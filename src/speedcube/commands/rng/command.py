"""The command ``speedcube rng``: check every option, write words until somebody stops it."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ...dataclass import dataclass
from ...engine import rungs
from ...engine.rungs import Rung
from ...errors import ParameterError, SpeedcubeError
from ...exit_codes import BROKEN_PIPE, DONE, FAILED
from .. import options, terminal
from .layouts import Layout, Pieces, dealt, layout

WIDTHS: Final = (32, 64)


@dataclass(frozen=True)
class RngRequest:
    """What was asked for, every option checked; ``size`` in bytes, None without end."""

    layout: Layout
    seed: int
    bits: int
    size: int | None
    rung: Rung


def checked(name: str, seed: int, bits: int, size: int | None, on: str) -> RngRequest:
    """The request that the options make; a `SpeedcubeError` where one of them is wrong."""
    chosen = layout(name)
    if seed < 0:
        raise ParameterError(f"--seed {seed}: a seed is an integer >= 0")
    if bits not in WIDTHS:
        raise ParameterError(f"--bits {bits}: words have 32 or 64 bits")
    if size is not None and size < 0:
        raise ParameterError(f"--bytes {size}: give 0 or more, or leave it out for no end")
    rung, *others = options.rungs_of(options.rung_names(on), "speedcube rng")
    if others:
        raise ParameterError(f"--on {on!r} names {1 + len(others)} rungs; the words come from one")
    _check_output()
    return RngRequest(chosen, seed, bits, size, rung)


def _check_output() -> None:
    if sys.stdout is None:
        raise ParameterError("standard output is closed; pipe it into a battery, or into a file")
    if sys.stdout.isatty():
        raise ParameterError(
            "standard output is a terminal, and words are binary; pipe them into a battery "
            "(| dieharder -a -g 200) or into a file (> words.bin)"
        )


def run(request: RngRequest) -> int:
    """Write; the exit code."""
    rung = request.rung
    try:
        rung = rungs.started(rung)
        return _written(request, request.layout(request.seed, rung), sys.stdout.fileno())
    except SpeedcubeError as err:
        terminal.complain("rng", err)
        return FAILED


def _written(request: RngRequest, pieces: Pieces, file: int) -> int:
    """Pieces into ``file``, up to the size asked for, each made while the one before is written.

    Past Python's own buffer, so that nothing is left to be written when the reader has gone.
    """
    left = request.size
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, pieces)
        while left is None or left > 0:
            words = dealt(coming.result(), request.bits)
            if left is None or left > words.nbytes:
                coming = pool.submit(next, pieces)
            data = words.data.cast("B")[:left]
            left = None if left is None else left - len(data)
            try:
                while data:
                    data = data[os.write(file, data) :]
            except BrokenPipeError:
                return BROKEN_PIPE
            except OSError as err:
                terminal.complain("rng", f"standard output: {err.strerror}")
                return FAILED
    return DONE
