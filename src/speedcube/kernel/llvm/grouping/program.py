"""What a kernel that adds up numbers by group is made from."""

from __future__ import annotations

from ....dataclass import dataclass


@dataclass(frozen=True)
class Grouped:
    """A kernel that adds up numbers of ``dtype`` by group, with a bound of what that misses.

    ``rows``: the rows of one group, column by column; else element by element, each with its group.
    ``squares``: and their squares. ``skip``: NaN is none of them.
    """

    dtype: str
    rows: bool
    squares: bool
    skip: bool


@dataclass(frozen=True)
class Foremost:
    """A kernel that finds which element of ``dtype`` comes first in its group.

    ``by_value``: the least one; else by position. ``last``: the greatest, or the last one.
    ``skip``: NaN is none of them. ``zeros``: -0 is 0.
    """

    dtype: str
    by_value: bool
    last: bool
    skip: bool
    zeros: bool


@dataclass(frozen=True)
class DealtToGroups:
    """A kernel that deals numbers of ``dtype``, or their ``places``, out to their groups."""

    dtype: str
    places: bool


@dataclass(frozen=True)
class TreesOfGroups:
    """A kernel that multiplies numbers of ``dtype`` by group, where they lie so or ``scattered``.

    ``skip``: NaN is 1.
    """

    dtype: str
    skip: bool
    scattered: bool
