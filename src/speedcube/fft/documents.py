"""The documents of Fourier transforms, which differ in a line and an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_SIZE = {
    "n": """\
    n : int, optional
        How many points are transformed: those of the axis, cut or filled with zeros.
    axis : int
        The axis.
""",
    "s": """\
    s : sequence of int, optional
        How many points of each axis are transformed: cut, or filled with zeros; -1: all.
    axes : sequence of int, optional
        The axes; all, or the last ones that ``s`` has sizes for.
""",
}


def document(what: str, takes: str, gives: str, example: str, size: str = "n") -> Callable[[F], F]:
    """Give a transform its document."""

    def documented(function: F) -> F:
        function.__doc__ = f"""{what}

    It is pocketfft's, or cuFFT's on a GPU; no law covers its bits.

    Parameters
    ----------
    a : array
        {takes}
{_SIZE[size]}    norm : {{"backward", "ortho", "forward"}}, optional
        Which direction is divided by the number of points; "ortho": both by its root.
    out : array, optional
        What becomes the result.

    Returns
    -------
    Array
        {gives}

    Raises
    ------
    ValueError
        For no points, or another ``norm``.
    IndexError
        For an axis that there is not.
    TypeError
        For what takes real numbers and gets complex ones, and for sizes that are no integers.

    Examples
    --------
    {example}
    """
        return function

    return documented
