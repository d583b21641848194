"""Programs of fixed text that bring elements in memory into an order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Radix:
    """A step of a sort by digits of numbers of ``dtype``, with their ``places`` or without."""

    dtype: str
    step: str
    places: bool = False


@dataclass(frozen=True)
class Deal:
    """A kernel that deals numbers of ``dtype`` out by a few ``bounds``."""

    dtype: str
    bounds: int
