"""What the options of several commands say, each checked before anything runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

from ..engine import rungs
from ..engine.clusters.rung_names import is_name
from ..engine.rungs import Rung
from ..errors import ParameterError

Prices: TypeAlias = dict[str, float]


def rung_names(text: str) -> list[str]:
    """The names in a comma list; numbers after a comma belong to the rung before: gpus:0,2."""
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if names and ":" in names[-1] and part.isascii() and part.isdecimal():
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    if not names:
        raise _no_rung(f"--on {text!r}")
    return names


def _no_rung(said: str) -> ParameterError:
    return ParameterError(f"{said} names no rung; rungs here: {', '.join(rungs.available())}")


def every_rung() -> list[str]:
    """The names of all rungs of this machine, a CUDA cluster too where one can be started."""
    names = list(rungs.available())
    return names + ["cuda-cluster"] * ("gpu" in names and find_spec("dask_cuda") is not None)


def rungs_of(on: Sequence[Any], reason: str = "the ladder") -> list[Rung]:
    """The rungs ``on``, checked to exist here; a CUDA cluster is not started yet."""
    if not len(on):
        raise _no_rung(f"on={on!r}")
    return [
        rungs.describe(one, reason) if is_name(one) else rungs.resolve(one, None, 0, False)
        for one in on
    ]


def prices(text: str | None) -> Prices:
    """``gpu=3.50,cpu=0.10`` as dollars an hour of one GPU and of one core."""
    by_kind: Prices = {}
    for part in [] if text is None else text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            price = float(value)
        except ValueError:
            price = math.nan
        if name not in ("gpu", "cpu") or name in by_kind or not 0 <= price < math.inf:
            raise ParameterError(
                "--price takes dollars an hour of one GPU and of one core, like "
                f"gpu=3.50,cpu=0.10 (one of them will do), not {text!r}"
            )
        by_kind[name] = price
    return by_kind


def check_repeat(repeat: int | None, name: str) -> None:
    """`ParameterError` unless there is at least one timed run."""
    if repeat is not None and repeat < 1:
        raise ParameterError(
            f"{name} {repeat}: at least 1 timed run follows the first one; give 1 or more"
        )
