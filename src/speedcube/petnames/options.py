"""What the options of ``speedcube petnames`` say, each checked before anything runs."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeVar

from ..commands.options import rung_names
from ..engine import rungs
from ..engine.clusters.rung_names import is_name as is_rung
from ..errors import ParameterError
from .names.alphabet import is_name

Number = TypeVar("Number", int, float)

TRAIN_PACKAGES: Final = ("torch", "safetensors")
SWEEP_PACKAGES: Final = ("pandas", "pyarrow")  # of its table; what it draws with is asked apart
MAX_START: Final = 16  # letters
MAX_SEED: Final = 2**63 - 1


def check_packages(names: Sequence[str] = TRAIN_PACKAGES, extra: str = "train") -> None:
    """`ParameterError` unless the packages that ``names`` lists are installed, as by ``extra``."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise ParameterError(
            f"{' and '.join(missing)} cannot be imported; pip install speedcube[{extra}]"
        )


def check_on(on: str | None) -> None:
    """`ParameterError` or `RungError` where ``on`` names rungs that are not one of this machine.

    A cluster's address is for `speedcube.train.run` to try.
    """
    if on is None:
        return
    names = rung_names(on)
    if len(names) > 1:
        raise ParameterError(f"--on {on!r} names {len(names)} rungs; training runs on one")
    if is_rung(names[0]):
        rungs.describe(names[0], "speedcube petnames", needs_cupy=False)


def check_count(option: str, value: int, most: int) -> None:
    """`ParameterError` unless ``value`` is one of 1 to ``most``."""
    if not 1 <= value <= most:
        raise ParameterError(f"{option} {value}: give a number from 1 to {most:,}")


def numbers(option: str, text: str, kind: type[Number]) -> list[Number]:
    """The numbers that ``text`` lists, as "0.001,0.004"."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "numbers" if kind is float else "whole numbers"
        raise ParameterError(f"{option} {text!r}: give {what} with commas between them") from None


def check_seed(seed: int) -> None:
    """`ParameterError` unless ``seed`` is one."""
    if not 0 <= seed <= MAX_SEED:
        raise ParameterError(f"--seed {seed}: a seed is an integer from 0 to 2**63 - 1")


def check_positive(option: str, value: float, most: float) -> None:
    """`ParameterError` unless ``value`` is above 0 and at most ``most``."""
    if not (math.isfinite(value) and 0 < value <= most):
        raise ParameterError(f"{option} {value:g}: give a number above 0, at most {most:g}")


def start(text: str) -> str:
    """The beginning of names that ``text`` asks for, as the network writes it."""
    lower = text.lower()
    if lower and not is_name(lower):
        wrong = sorted({letter for letter in lower if not is_name(letter)})
        raise ParameterError(
            f"--start {text!r} has {', '.join(map(repr, wrong))}; names are made of a-z, hyphen, "
            "full stop and space"
        )
    if lower.startswith(" ") or "  " in lower:
        raise ParameterError(f"--start {text!r}: no name begins with a space or has two in a row")
    if len(lower) > MAX_START:
        raise ParameterError(
            f"--start {text!r} has {len(lower)} characters; give at most {MAX_START}"
        )
    return lower


def check_directory(option: str, path: Path) -> None:
    """`ParameterError` unless files can be made in ``path``, which may have to be made itself."""
    there = next((parent for parent in (path, *path.parents) if parent.exists()), Path())
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as err:
        raise ParameterError(
            f"{option} {str(path)!r}: no file can be made in {str(there)!r} "
            f"({err.strerror or err}); name a directory that can be written to"
        ) from err
