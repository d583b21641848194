"""The ladder as a picture: a dot for each time, on a log axis; ours beside Dask's.

Dots and not bars: a log axis has no zero, so the length of a bar would say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from ...numbers import seconds_text
from ..terminal import check_matplotlib, check_picture
from .result import Climb

_WIDTH: Final = 7.0  # inches
_AROUND: Final = (0.06, 0.26)  # of the axis' length, beside the dots: labels stand there
_APART: Final = 0.14  # of a rung's height, from its middle to either dot


def dots(result: Climb, path: str | Path | None = None) -> Any:
    """The picture as a matplotlib figure, written to ``path`` (``.png`` or ``.svg``) if given."""
    if not result.rungs:
        raise ParameterError("there is no rung to draw; climb one first")
    if path is None:
        check_matplotlib("plot")
    else:
        check_picture("plot", path)
    # Not pyplot: it would choose a backend for the whole process.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, 1.9 + 0.55 * len(result.rungs)), layout="constrained")
    axes = figure.subplots()
    places = range(len(result.rungs))
    ran = [(k, one) for k, one in enumerate(result.rungs) if one.dask_seconds is not None]
    scaled = any(one.dask_scaled for _, one in ran)
    ours = [(k - _APART, one.seconds, "") for k, one in enumerate(result.rungs)]
    dasks = [(k + _APART, float(r.dask_seconds or 0), "~" * bool(r.dask_scaled)) for k, r in ran]
    _drawn(axes, ours, "speedcube", "o", "#1f77b4")
    theirs = "Dask (~ scaled up from a smaller shape)" if scaled else "Dask"
    _drawn(axes, dasks, theirs, "s", "#d95f02")
    axes.set_xscale("log")
    axes.set_xlim(*_limits([seconds for _, seconds, _ in ours + dasks]))
    axes.set_ylim(len(places) - 0.5, -0.5)  # the first rung above
    axes.set_yticks(places, [r.rung for r in result.rungs])
    axes.set_xlabel("seconds (log scale)")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_title(result.expression.replace("; ", "\n"), fontsize=9)
    figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure


def _drawn(
    axes: Any, marks: Sequence[tuple[float, float, str]], label: str, shape: str, colour: str
) -> None:
    """A dot for each (place, seconds, what stands before them), with its seconds beside it."""
    if not marks:
        return
    times = [seconds for _, seconds, _ in marks]
    axes.plot(times, [k for k, *_ in marks], shape, label=label, color=colour, markersize=8)
    for k, seconds, before in marks:
        axes.annotate(
            f"{before}{seconds_text(seconds)}", (seconds, k), (8, 0), textcoords="offset points",
            va="center", fontsize=9,
        )  # fmt: skip


def _limits(times: Sequence[float]) -> tuple[float, float]:
    """The ends of a log axis on which there is room around ``times``: a decade at least."""
    low, high = math.log10(min(times)), math.log10(max(times))
    if high - low < 1:
        low, high = (low + high - 1) / 2, (low + high + 1) / 2
    left, right = _AROUND
    length = (high - low) / (1 - left - right)
    return 10 ** (low - left * length), 10 ** (high + right * length)
