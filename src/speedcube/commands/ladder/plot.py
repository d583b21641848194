"""The articles' bar picture: seconds on each rung, log scale, ours beside Dask's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import ParameterError
from ...numbers import seconds_text
from ..terminal import check_matplotlib, check_picture
from .result import Climb


def bars(result: Climb, path: str | Path | None = None) -> Any:
    """The picture as a matplotlib figure, written to ``path`` (``.png`` or ``.svg``) if given."""
    if not result.rungs:
        raise ParameterError("there is no rung to draw; climb one first")
    if path is None:
        check_matplotlib("plot")
    else:
        check_picture("plot", path)
    # Not pyplot: it would choose a backend for the whole process.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.2 + 1.4 * len(result.rungs), 3.8), layout="constrained")
    axes = figure.subplots()
    _ours(axes, result)
    _dask(axes, result)
    axes.set_yscale("log")
    axes.set_ylabel("seconds (log scale)")
    axes.set_xticks(range(len(result.rungs)), [r.rung for r in result.rungs])
    axes.set_title(result.expression.replace("; ", "\n"), fontsize=8)
    axes.margins(y=0.15)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure


def _ours(axes: Any, result: Climb) -> None:
    seconds = [r.seconds for r in result.rungs]
    positions = [k - 0.2 for k in range(len(seconds))]
    drawn = axes.bar(positions, seconds, 0.4, label="speedcube", color="#1f77b4")
    axes.bar_label(drawn, [seconds_text(s) for s in seconds], fontsize=8)


def _dask(axes: Any, result: Climb) -> None:
    """Bars for the rungs that Dask ran on."""
    ran = [(k + 0.2, r) for k, r in enumerate(result.rungs) if r.dask_seconds is not None]
    if not ran:
        return
    scaled = any(r.dask_scaled for _, r in ran)
    label = "Dask (~ scaled up from a smaller shape)" if scaled else "Dask"
    drawn = axes.bar(
        [position for position, _ in ran], [r.dask_seconds for _, r in ran], 0.4, label=label,
        color="#ff7f0e",
    )  # fmt: skip
    texts = [f"{'~' if r.dask_scaled else ''}{seconds_text(r.dask_seconds)}" for _, r in ran]
    axes.bar_label(drawn, texts, fontsize=8)
